//! Lines as pping and ePPing write them for ppviz: `<time> <delay> <minimum so far> <flow>`, times in seconds.
//!
//! pping's `-m` puts three byte counts before the flow; ePPing leaves them out, and so do we. ppviz and the scripts for
//! both tools read the second word as the delay and the last one as the flow, `source:port+destination:port`.

use super::samples::Sample;
use dwell_types::{Address, FlowKey, Nanos, hash};
use foldhash::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::IpAddr;

/// Writes samples as lines.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: W,
    smallest: Smallest,
    /// The current line, which is passed to `to` in one piece.
    line: String,
}

impl<W: Write> Writer<W> {
    /// Writes to `to`, which should be buffered.
    pub fn new(to: W) -> Self {
        Self { to, smallest: Smallest::default(), line: String::new() }
    }

    /// Writes one sample as a line. The format has no field for the weight.
    pub fn write(&mut self, sample: &Sample<'_>) -> io::Result<()> {
        let smallest = self.smallest.update(key(sample), sample.delay);
        self.line.clear();
        for time in [sample.at.as_nanos(), sample.delay.get(), smallest.get()] {
            seconds(&mut self.line, time);
            self.line.push(' ');
        }
        match sample.flow {
            Some(flow) => pair(&mut self.line, &flow),
            None => group(&mut self.line, sample),
        }
        self.line.push('\n');
        self.to.write_all(self.line.as_bytes())
    }

    /// Flushes the buffer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Flushes the buffer and returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

/// The key of a minimum: a flow with its match and leg, or a group where the flow is not known.
fn key(sample: &Sample<'_>) -> u64 {
    let state = hash::absorb(hash::start(0), sample.matching.number() << 8 | sample.leg as u64);
    hash::finish(match sample.flow {
        Some(flow) => flow.absorb(state),
        None => hash::bytes(state, sample.group.as_bytes()),
    })
}

/// Nanoseconds as seconds with nine decimals.
fn seconds(line: &mut String, nanos: i64) {
    const SECOND: u64 = 1_000_000_000;
    if nanos < 0 {
        line.push('-');
    }
    let nanos = nanos.unsigned_abs();
    let mut digits = itoa::Buffer::new();
    line.push_str(digits.format(nanos / SECOND));
    line.push('.');
    // The added second yields a tenth digit, which is cut off, so that leading zeros are kept.
    line.push_str(&digits.format(nanos % SECOND + SECOND)[1..]);
}

/// `10.0.0.1:443+10.0.0.2:51000`: IPv6 addresses without brackets, as both programs print them.
fn pair(line: &mut String, flow: &FlowKey) {
    endpoint(line, flow.source, flow.source_port);
    line.push('+');
    endpoint(line, flow.destination, flow.destination_port);
}

fn endpoint(line: &mut String, address: Address, port: u16) {
    let mut digits = itoa::Buffer::new();
    match IpAddr::from(address) {
        IpAddr::V4(address) => {
            for (number, byte) in address.octets().into_iter().enumerate() {
                if number > 0 {
                    line.push('.');
                }
                line.push_str(digits.format(byte));
            }
        }
        IpAddr::V6(address) => _ = write!(line, "{address}"),
    }
    line.push(':');
    line.push_str(digits.format(port));
}

/// `tcp-ack:both+10.0.0.0/24`: a single word with a single plus sign.
fn group(line: &mut String, sample: &Sample<'_>) {
    line.extend([sample.matching.name(), ":", sample.leg.name(), "+"]);
    let is_apart = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '+';
    line.extend(sample.group.chars().map(|letter| if is_apart(letter) { '_' } else { letter }));
}

/// The smallest delay of each flow in bounded memory. Whenever half of it is full, the flows not used since the
/// previous time are dropped: a flow keeps its minimum while fewer than [`Smallest::HALF`] others come in between.
#[derive(Debug, Default)]
struct Smallest {
    recent: HashMap<u64, Nanos>,
    older: HashMap<u64, Nanos>,
}

impl Smallest {
    const HALF: usize = 1 << 15;

    fn update(&mut self, key: u64, delay: Nanos) -> Nanos {
        if let Some(smallest) = self.recent.get_mut(&key) {
            *smallest = delay.min(*smallest);
            return *smallest;
        }
        let smallest = self.older.get(&key).map_or(delay, |&known| known.min(delay));
        if self.recent.len() >= Self::HALF {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
        }
        self.recent.insert(key, smallest);
        smallest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{Leg, Match, Timestamp, protocol};

    fn sample(at: i64, delay: i64, flow: Option<FlowKey>) -> Sample<'static> {
        Sample {
            at: Timestamp::from_nanos(at),
            delay: Nanos::new(delay),
            weight: 2.5,
            inserted_since: 0,
            matching: Match::TcpAck,
            leg: Leg::Both,
            group: "host + port",
            flow,
        }
    }

    fn lines(samples: &[Sample<'_>]) -> String {
        let mut text = Vec::new();
        let mut writer = Writer::new(&mut text);
        samples.iter().for_each(|s| writer.write(s).unwrap());
        writer.finish().unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lines_have_four_words() {
        let flow = FlowKey {
            source: Address::v4(0x0a00_0001),
            destination: Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            source_port: 443,
            destination_port: 51_000,
            protocol: protocol::TCP,
        };
        let text = lines(&[
            sample(1_700_000_000_000_000_001, 12_345_678, Some(flow)),
            sample(1_700_000_001_000_000_000, 22_000_000, Some(flow)),
            sample(1_700_000_002_500_000_000, -5, None),
        ]);
        let expected = "\
            1700000000.000000001 0.012345678 0.012345678 10.0.0.1:443+2001:db8::1:51000\n\
            1700000001.000000000 0.022000000 0.012345678 10.0.0.1:443+2001:db8::1:51000\n\
            1700000002.500000000 -0.000000005 -0.000000005 tcp-ack:both+host___port\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_group_is_one_word_without_control_characters() {
        let text = lines(&[Sample { group: "a\0b\u{1b}[31m\r\n\u{9b}c", ..sample(0, 1, None) }]);
        assert_eq!(text, "0.000000000 0.000000001 0.000000001 tcp-ack:both+a_b_[31m___c\n");
    }

    #[test]
    fn minima_are_kept_in_bounded_room() {
        let mut smallest = Smallest::default();
        assert_eq!(smallest.update(0, Nanos::new(5)).get(), 5);
        for key in 1..Smallest::HALF as u64 {
            smallest.update(key, Nanos::new(9));
        }
        assert_eq!(smallest.update(0, Nanos::new(7)).get(), 5);
        for key in 1..10 * Smallest::HALF as u64 {
            smallest.update(key, Nanos::new(9));
            assert!(smallest.recent.len() + smallest.older.len() <= 2 * Smallest::HALF);
        }
        assert_eq!(smallest.update(0, Nanos::new(7)).get(), 7);
    }
}
