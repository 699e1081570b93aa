//! Compares counts on real captures with those of tshark, in the folder that `DWELL_DATA` names: its `MANIFEST.tsv`
//! lists files and, for each file, tshark's numbers of handshakes (connections with a SYN-ACK), `tcp.analysis.ack_rtt`
//! and `dns.time`.
//!
//! Requests are matched as simply as possible: the first open one with an id is kept, a response removes it. The rules
//! by which the numbers may differ are those of `docs/guide/counts.md`; the cases of each rule are counted here
//! independently of tshark.

use dwell_capture::{CaptureFiles, FrameSource};
use dwell_observe::packet::{Packet, Tcp, Transport};
use dwell_observe::parse::{Key, parse};
use dwell_observe::{Observer, Settings};
use dwell_types::{ExchangeId, FlowKey, Frame, Leg, Match, Observation, Sighting};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The counts of one file.
#[derive(Default)]
struct Counts {
    /// Samples by rule and leg.
    samples: BTreeMap<(Match, Leg), u64>,
    /// `tcp-ack` samples with a delay of zero.
    immediate: u64,
    /// `tcp-ack` samples of segments whose IP length exceeds the length in the capture's record.
    longer_than_record: u64,
    /// `tcp-ack` samples whose ACK number is lower than that of an ACK seen before.
    older_ack: u64,
    /// Handshakes that were requested and answered a second time.
    handshake_again: u64,
    /// Packets of multicast DNS.
    multicast_dns: u64,
    /// DNS messages over UDP that the capture cuts.
    cut_dns: u64,
    /// DNS responses over TCP.
    tcp_dns: u64,
}

impl Counts {
    fn of(&self, matching: Match, leg: Leg) -> u64 {
        self.samples.get(&(matching, leg)).copied().unwrap_or(0)
    }
}

/// A request without a response so far.
struct Asked {
    sighting: Sighting,
    /// Number of its frame.
    frame: u64,
    longer_than_record: bool,
}

/// The highest acknowledgement number of one side, and the frame where it was first seen.
struct Acknowledged {
    number: u32,
    frame: u64,
}

fn is_older(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether the segment has more payload than the frame's record says was on the wire.
fn longer_than_record(frame: &Frame<'_>, segment: &Tcp<'_>) -> bool {
    let not_captured = (frame.wire_length as usize).saturating_sub(frame.bytes.len());
    segment.payload_length as usize > segment.payload.len() + not_captured
}

fn count(path: &Path) -> Counts {
    let matches = vec![Match::TcpHandshake, Match::TcpAck, Match::Dns, Match::QuicSpin];
    let mut observer = Observer::new(Settings { matches, ..Settings::default() });
    let mut source = CaptureFiles::open([path]).expect("a capture of the manifest");
    let mut open: HashMap<(Match, ExchangeId), Asked> = HashMap::new();
    let mut answered: HashSet<ExchangeId> = HashSet::new();
    let mut acknowledged: HashMap<FlowKey, Acknowledged> = HashMap::new();
    let mut counts = Counts::default();
    let mut number = 0;
    while let Some(frame) = source.next_frame().expect("a capture of the manifest") {
        number += 1;
        let packet = parse(frame.link, frame.bytes, frame.wire_length, Key::Inner).ok();
        let key = packet.map(|packet| packet.flow).unwrap_or_default();
        let cut = frame.bytes.len() < frame.wire_length as usize;
        if let Some(Packet { transport: Transport::Udp(_), .. }) = packet {
            counts.multicast_dns += u64::from(key.destination_port == 5353);
            counts.cut_dns += u64::from(cut && (key.source_port == 53 || key.destination_port == 53));
        }
        let segment = match packet {
            Some(Packet { transport: Transport::Tcp(segment), .. }) => Some(segment),
            _ => None,
        };
        if let Some(segment) = segment {
            if segment.has(Tcp::SYN) {
                acknowledged.remove(&key);
            }
            let now = Acknowledged { number: segment.acknowledgement, frame: number };
            match acknowledged.get_mut(&key) {
                _ if !segment.has(Tcp::ACK) => {}
                Some(last) if is_older(segment.acknowledgement, last.number.wrapping_add(1)) => {}
                Some(last) => *last = now,
                None => {
                    acknowledged.insert(key, now);
                }
            }
        }
        observer.observe(&frame, &mut |seen| match seen {
            Observation::Request(sighting) => {
                let longer_than_record = segment.is_some_and(|segment| longer_than_record(&frame, &segment));
                let asked = Asked { sighting, frame: number, longer_than_record };
                open.entry((sighting.series.matching, sighting.id)).or_insert(asked);
            }
            Observation::Response(sighting) => {
                let series = sighting.series;
                counts.tcp_dns += u64::from(series.matching == Match::Dns && segment.is_some());
                let Some(asked) = open.remove(&(series.matching, sighting.id)) else { return };
                assert_eq!(asked.sighting.series, series, "a response has another series than its request");
                *counts.samples.entry((series.matching, series.leg)).or_default() += 1;
                if series.matching == Match::TcpAck {
                    if asked.longer_than_record {
                        counts.longer_than_record += 1;
                    } else if sighting.at == asked.sighting.at {
                        counts.immediate += 1;
                    } else {
                        counts.older_ack +=
                            u64::from(acknowledged[&key].frame > asked.frame && acknowledged[&key].frame < number);
                    }
                }
                if series.leg == Leg::Beyond {
                    counts.handshake_again += u64::from(!answered.insert(sighting.id));
                }
            }
        });
    }
    if let Some(quic) = observer.pairing().quic()
        && quic.connections > 0
    {
        println!("{}: {quic:?}", path.display());
    }
    counts
}

#[test]
fn counts_agree_with_tshark() {
    let Some(folder) = std::env::var_os("DWELL_DATA").map(PathBuf::from) else {
        println!("skipped: DWELL_DATA names no folder");
        return;
    };
    let Ok(manifest) = std::fs::read_to_string(folder.join("MANIFEST.tsv")) else {
        println!("skipped: no MANIFEST.tsv in {}", folder.display());
        return;
    };
    let mut lines = manifest.lines();
    let header: Vec<_> = lines.next().unwrap().split('\t').collect();
    let column = |name: &str| header.iter().position(|&h| h == name).unwrap();
    let [path, handshakes, acks, dns] = ["path", "handshakes", "ack_rtt_samples", "dns_response_times"].map(column);

    let (mut files, mut wrong) = (0, 0);
    for line in lines {
        let fields: Vec<_> = line.split('\t').collect();
        // Solaris' snoop format is not supported; files of other kinds contain no packets.
        if !fields[path].starts_with("captures/") || [".snoop", ".csv"].iter().any(|end| fields[path].ends_with(end)) {
            continue;
        }
        files += 1;
        let counts = count(&folder.join(fields[path]));
        let theirs = |column: usize| fields[column].parse::<u64>().unwrap_or(0);

        let ours = counts.of(Match::TcpHandshake, Leg::Beyond);
        let handshakes_agree = ours - counts.handshake_again == theirs(handshakes);
        let explained = counts.immediate + counts.longer_than_record + counts.older_ack;
        let acks_agree = counts.of(Match::TcpAck, Leg::Both) - explained == theirs(acks);
        // Without cut messages, multicast and TCP the numbers are equal; TCP may add samples, multicast ones are
        // missing here.
        let dns_here = counts.of(Match::Dns, Leg::Both);
        let least = if counts.multicast_dns > 0 { 0 } else { theirs(dns) };
        let most = theirs(dns) + counts.tcp_dns;
        let dns_agrees = counts.cut_dns > 0 || (least..=most).contains(&dns_here);

        for (name, agree, here, there) in [
            ("handshakes", handshakes_agree, ours, theirs(handshakes)),
            ("acks", acks_agree, counts.of(Match::TcpAck, Leg::Both), theirs(acks)),
            ("dns", dns_agrees, dns_here, theirs(dns)),
        ] {
            if here != there || !agree {
                let verdict = if agree { "explained" } else { "WRONG" };
                println!("{:48} {name:10} {here:7} here {there:7} tshark  {verdict}", fields[path]);
                println!(
                    "    {} immediate, {} longer than their record, {} by an older ACK, {} handshakes again,",
                    counts.immediate, counts.longer_than_record, counts.older_ack, counts.handshake_again
                );
                println!(
                    "    {} packets of multicast DNS, {} cut, {} responses over TCP",
                    counts.multicast_dns, counts.cut_dns, counts.tcp_dns
                );
            }
            wrong += u32::from(!agree);
        }
    }
    println!("{files} files");
    assert!(files > 0 && wrong == 0, "{wrong} counts are not explained");
}
