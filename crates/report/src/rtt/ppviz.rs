//! Lines as pping and ePPing write them for ppviz: `<time> <delay> <smallest so far> <flow>`, times in seconds.
//!
//! pping's `-m` puts three byte counts before the flow, which ePPing leaves out, and so do we. ppviz and the scripts
//! around both take the second word as the delay and the last one as the flow, `source:port+destination:port`.

use super::samples::Sample;
use dwell_types::{FlowKey, Leg, Match, Nanos, hash};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};

/// Writes samples as lines.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: W,
    smallest: Smallest,
}

impl<W: Write> Writer<W> {
    /// Writes to `to`, which should be buffered.
    pub fn new(to: W) -> Self {
        Self { to, smallest: Smallest::default() }
    }

    /// Writes the line of one sample. The weight has no place in this format.
    pub fn write(&mut self, sample: &Sample<'_>) -> io::Result<()> {
        let smallest = self.smallest.update(key(sample), sample.delay);
        let at = Seconds(sample.at.as_nanos());
        write!(self.to, "{at} {} {} ", Seconds(sample.delay.get()), Seconds(smallest.get()))?;
        match sample.flow {
            Some(flow) => writeln!(self.to, "{}", Pair(flow)),
            None => writeln!(self.to, "{}", Group { matching: sample.matching, leg: sample.leg, name: sample.group }),
        }
    }

    /// Writes out what is still buffered and gives the writer back.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

/// What has one smallest delay: a flow under one rule and leg, or a group where the flow is not known.
fn key(sample: &Sample<'_>) -> u64 {
    let state = hash::absorb(hash::start(0), (sample.matching as u64) << 8 | sample.leg as u64);
    hash::finish(match sample.flow {
        Some(flow) => flow.absorb(state),
        None => hash::bytes(state, sample.group.as_bytes()),
    })
}

/// Nanoseconds as seconds with nine decimals.
struct Seconds(i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, nanos) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}

/// `10.0.0.1:443+10.0.0.2:51000`: IPv6 addresses without brackets, as both programs print them.
struct Pair(FlowKey);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlowKey { source, source_port, destination, destination_port, .. } = self.0;
        write!(f, "{source}:{source_port}+{destination}:{destination_port}")
    }
}

/// `tcp-ack:both+10.0.0.0/24`: one word, one plus sign.
struct Group<'a> {
    matching: Match,
    leg: Leg,
    name: &'a str,
}

impl fmt::Display for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}+", self.matching, self.leg)?;
        self.name
            .chars()
            .try_for_each(|c| write!(f, "{}", if c.is_whitespace() || c.is_control() || c == '+' { '_' } else { c }))
    }
}

/// The smallest delay of each flow in bounded memory: when half of the room is full, the half not used since is
/// forgotten, so that a flow keeps its minimum while fewer than [`Smallest::HALF`] others come between its samples.
#[derive(Debug, Default)]
struct Smallest {
    recent: HashMap<u64, Nanos>,
    older: HashMap<u64, Nanos>,
}

impl Smallest {
    const HALF: usize = 1 << 15;

    fn update(&mut self, key: u64, delay: Nanos) -> Nanos {
        let known = self.recent.get(&key).or_else(|| self.older.get(&key));
        let smallest = known.map_or(delay, |&k| k.min(delay));
        if self.recent.len() >= Self::HALF && !self.recent.contains_key(&key) {
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
    use dwell_types::{Address, Timestamp, protocol};

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
