use super::address::query_key;
use super::event::{Agenda, Event, Kind, Message};
use super::frame::{Builder, IpHeader};
use super::truth::{Copies, Record};
use crate::distribution::rounded;
use dwell_types::{Leg, Match, Nanos, hash};

/// How long a client waits before it repeats a query.
const PATIENCE: i64 = Nanos::from_secs(5).get();

impl Message {
    /// Query `number`, which passes at `at`.
    pub(super) fn query(number: u32, at: i64) -> Self {
        Self { number, kind: Kind::Query, query: Copies::one(at) }
    }

    /// Lets the message pass the point: records the truth, and schedules what follows from it.
    pub(super) fn pass(self, at: i64, record: &mut Record, agenda: &mut Agenda<'_>) {
        let Agenda { events, chance, model } = agenda;
        if self.kind == Kind::Answer {
            record.exchange(Match::Dns, Leg::Both, at, self.query);
            return;
        }
        record.truth.queries += u64::from(self.kind == Kind::Query);
        record.truth.dns.request(self.kind == Kind::Repetition);
        let copies = Copies { answered: at, last: at, ..self.query };
        if self.kind == Kind::Query && chance.happens(model.settings.query_loss) {
            if chance.happens(0.5) {
                events.push(at + PATIENCE, Event::Message(Self { kind: Kind::Repetition, query: copies, ..self }));
            }
            return;
        }
        let delay = rounded(model.beyond.draw(chance)).clamp(1, PATIENCE - 1);
        events.push(at + delay, Event::Message(Self { kind: Kind::Answer, query: copies, ..self }));
    }

    /// Builds the frame of the message. Id, name and address depend on the number alone.
    pub(super) fn frame(self, seed: u64, v6_share: f64, to: &mut Builder) {
        let random = hash::word(hash::start(seed), self.number.into());
        let v6 = ((random >> 32) as f64) < v6_share * (1u64 << 32) as f64;
        let key = query_key(self.number, v6);
        let is_answer = self.kind == Kind::Answer;
        let (key, hops) = if is_answer { (key.reversed(), 57) } else { (key, 63) };
        let ip = IpHeader { identification: random as u16 ^ self.kind as u16, hops };
        to.udp(&key, !is_answer, ip, |bytes| message(random, is_answer, bytes));
    }
}

/// Writes a query for the address of a random name under `.test` (RFC 6761), or its response (RFC 1035 §4).
fn message(random: u64, is_answer: bool, to: &mut [u8]) -> usize {
    to[..2].copy_from_slice(&(random as u16).to_be_bytes());
    // Flags: recursion desired; in a response also the response bit and recursion available.
    to[2..4].copy_from_slice(if is_answer { &[0x81, 0x80] } else { &[0x01, 0x00] });
    to[4..12].copy_from_slice(&[0, 1, 0, u8::from(is_answer), 0, 0, 0, 0]);
    let letters = hash::finish(random);
    let label = 4 + (letters >> 60) as usize % 6;
    to[12] = label as u8;
    for (i, letter) in to[13..13 + label].iter_mut().enumerate() {
        *letter = b'a' + ((letters >> (5 * i)) % 26) as u8;
    }
    let mut at = 13 + label;
    let mut put = |bytes: &[u8]| {
        to[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    // The end of the name, type A, class IN.
    put(b"\x04test\0\0\x01\0\x01");
    if is_answer {
        // The name again by pointer, A, IN, 300 s, four bytes: 192.0.2.1.
        put(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 1]);
    }
    at
}
