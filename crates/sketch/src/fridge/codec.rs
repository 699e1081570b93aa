//! Serialization of a fridge: one that is read continues as the original would have.
//!
//! ```text
//! u64          slots
//! u8           bits of a fingerprint
//! u8           1 entries hold tokens, 2 p is found, 4 product limit, 8 repeats are ambiguous, 16 p is still 1 because there is room
//! f64 u8       base and step of p
//! u64          series
//! i64 u64      expiry, seed
//! i64          latest moment
//! u64 u64      insertions from one choice of p to the next, and when it is due
//! 9 × u64      for each series: requests, not admitted, matched, evicted, expired, ambiguous; responses, unmatched; resolved
//! …            slots, insertions, repeats, profile of delays, censored responses: see the respective files
//! ```

use super::censoring::Censoring;
use super::history::History;
use super::repeated::Repeated;
use super::sketch::Fridge;
use super::slot::Table;
use super::{EntryProbability, Params, Profile};
use crate::codec::{CodecError, Kind, MOST_COUNTED, Reader, Writer};
use crate::{Fates, Terms};
use dwell_types::{Nanos, Repeat, Timestamp};

const TOKENS: u8 = 1;
const SEARCHES: u8 = 2;
const LIMIT: u8 = 4;
const AMBIGUOUS: u8 = 8;
const FILLING: u8 = 16;

impl Fridge {
    /// Serializes the fridge; equal contents give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new(Kind::Fridge);
        let flags = [
            (self.table.layout().has_tokens(), TOKENS),
            (!self.is_fixed, SEARCHES),
            (self.censoring.is_some(), LIMIT),
            (self.terms.repeat == Repeat::Ambiguous, AMBIGUOUS),
            (self.is_filling, FILLING),
        ];
        to.u64(self.slots().into());
        to.u8(self.fingerprint_bits() as u8);
        to.u8(flags.into_iter().filter(|flag| flag.0).map(|flag| flag.1).sum());
        self.probability.write(&mut to);
        to.u64(self.terms.tags.into());
        to.i64(self.terms.expiry.get());
        to.u64(self.terms.seed);
        to.i64(self.latest.as_nanos());
        to.u64(self.window);
        to.u64(self.next_choice);
        self.fates.iter().for_each(|fates| write(fates, &mut to));
        self.table.write(&mut to);
        self.history.write(&mut to);
        if let Some(repeated) = &self.repeated {
            repeated.write(&mut to);
        }
        self.profile.write(&mut to);
        if let Some(censoring) = &self.censoring {
            censoring.write(&mut to);
        }
        to.finish()
    }

    /// Reads a fridge written by [`Fridge::to_bytes`]. Any other bytes are rejected with an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut from = Reader::new(bytes, Kind::Fridge)?;
        let slots = from.small("number of slots")?;
        let fingerprint_bits = from.u8()?;
        let flags = from.u8()?;
        if flags >= 2 * FILLING {
            return Err(CodecError::Value("flags"));
        }
        let has = |flag| flags & flag != 0;
        let probability = EntryProbability::read(&mut from)?;
        let tags = from.small("number of series")?;
        let repeat = if has(AMBIGUOUS) { Repeat::Ambiguous } else { Repeat::Ignored };
        let terms = Terms { tags, repeat, expiry: Nanos::new(from.i64()?), seed: from.u64()? };
        let params = Params {
            slots,
            fingerprint_bits: Some(fingerprint_bits.into()),
            has_tokens: has(TOKENS),
            entry_probability: (!has(SEARCHES)).then_some(probability.base()),
            product_limit: has(LIMIT),
        };
        let needed = params.table_bytes(&terms).map_err(|_| CodecError::Value("slots"))?;
        // No more memory is allocated than there are bytes.
        if tags == 0 || terms.expiry < Nanos::ZERO || needed > bytes.len() {
            return Err(CodecError::Value("series, expiry or number of slots"));
        }
        let mut fridge = Self::new(params, terms).map_err(|_| CodecError::Value("slots"))?;
        fridge.is_filling = has(FILLING);
        fridge.latest = Timestamp::from_nanos(from.i64()?);
        (fridge.window, fridge.next_choice) = (from.u64()?, from.u64()?);
        for fates in &mut fridge.fates {
            *fates = read(&mut from)?;
        }
        fridge.table = Table::read(fridge.table, tags, &mut from)?;
        fridge.history = History::read(fridge.history, &mut from)?;
        fridge.repeated = fridge.repeated.map(|repeated| Repeated::read(repeated, &mut from)).transpose()?;
        *fridge.profile = Profile::read(has(LIMIT), terms.expiry, &mut from)?;
        fridge.restore(probability);
        let (gate, p) = (fridge.gate, fridge.probability);
        let censoring = fridge.censoring.map(|censoring| Censoring::read(*censoring, gate, p, &mut from));
        fridge.censoring = censoring.transpose()?.map(Box::new);
        let until = fridge.next_choice.checked_sub(fridge.history.inserted());
        if until.is_none_or(|until| until == 0 || until > fridge.window) || fridge.window > MOST_COUNTED {
            return Err(CodecError::Value("time of the next choice"));
        }
        from.finish()?;
        Ok(fridge)
    }
}

/// Writes the counts of a series; how many requests wait is known from the slots.
fn write(fates: &Fates, to: &mut Writer) {
    let &Fates { seen, not_admitted, matched, evicted, expired, ambiguous, pending: _, responses, unmatched, resolved } =
        fates;
    let all = [seen, not_admitted, matched, evicted, expired, ambiguous, responses, unmatched, resolved];
    all.into_iter().for_each(|count| to.u64(count));
}

/// Reads them; rejects impossible numbers, and parts greater than the whole.
fn read(from: &mut Reader<'_>) -> Result<Fates, CodecError> {
    let mut all = [0; 9];
    for count in &mut all {
        *count = from.u64()?;
    }
    let [seen, not_admitted, matched, evicted, expired, ambiguous, responses, unmatched, resolved] = all;
    if all.iter().any(|&count| count > MOST_COUNTED) || unmatched > responses {
        return Err(CodecError::Value("counts"));
    }
    let pending = 0;
    Ok(Fates { seen, not_admitted, matched, evicted, expired, ambiguous, pending, responses, unmatched, resolved })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{head, seal};
    use crate::test_support::{request, response, terms};
    use crate::{Event, Meter};
    use dwell_types::{Match, hash};

    /// Requests, some of them repeated, and responses, some of them without a request.
    fn stream(tags: u16, len: u64) -> Vec<Event> {
        let event = |i: u64| {
            let random = hash::finish(i);
            let id = hash::finish((1 << 32) | ((i - random % i.clamp(1, 300)) / 2));
            let event = if random >> 60 < 9 { request(id, 1_000 * i as i64) } else { response(id, 1_000 * i as i64) };
            Event { token: (random >> 32) as u32 % 5, tag: (random >> 40) as u16 % tags, ..event }
        };
        (1..len).map(event).collect()
    }

    fn kinds() -> Vec<Fridge> {
        let single = Params { slots: 300, ..Params::new(300) };
        let params = [
            single,
            Params { product_limit: true, ..single },
            Params { entry_probability: Some(0.4), has_tokens: true, ..single },
            Params { fingerprint_bits: Some(24), slots: 77, ..single },
        ];
        let both = [Match::Dns, Match::TcpTs].map(|matching| terms(matching, Nanos::from_secs(1)));
        let each = params.into_iter().flat_map(|params| both.map(|terms| Fridge::new(params, terms)));
        each.map(Result::unwrap).collect()
    }

    /// Written and read at any moment, a fridge continues as if nothing had happened.
    #[test]
    fn a_fridge_that_is_read_goes_on() {
        for (mut fridge, mut whole) in kinds().into_iter().zip(kinds()) {
            let events = stream(fridge.terms.tags, 20_000);
            let (mut samples, mut expected) = (Vec::new(), Vec::new());
            whole.update(&events, &mut expected);
            for part in events.chunks(64 * 30) {
                fridge.update(part, &mut samples);
                let bytes = fridge.to_bytes();
                fridge = Fridge::from_bytes(&bytes).unwrap();
                assert!(fridge.to_bytes() == bytes, "one content, one form");
            }
            assert_eq!(samples, expected);
            assert_eq!((fridge.fates(), fridge.state_bytes()), (whole.fates(), whole.state_bytes()));
        }
    }

    /// With any byte changed, even with a valid checksum, bytes are rejected or give a working fridge.
    #[test]
    fn hostile_bytes_do_no_harm() {
        for mut fridge in kinds() {
            let events = stream(fridge.terms.tags, 3_000);
            fridge.update(&events, &mut Vec::new());
            let bytes = fridge.to_bytes();
            for cut in [0, 5, 13, 100, bytes.len() - 1] {
                assert!(Fridge::from_bytes(&bytes[..cut]).is_err());
            }
            let body = &bytes[..bytes.len() - 8];
            let mut accepted = 0;
            for i in 0..4_000u64 {
                let random = hash::finish(i);
                let mut body = body.to_vec();
                let at = head(Kind::Fridge).len() + random as usize % (body.len() - 6);
                body[at] = (random >> 40) as u8;
                let Ok(mut other) = Fridge::from_bytes(&seal(body)) else { continue };
                accepted += 1;
                let tags = other.terms.tags;
                let events: Vec<Event> =
                    events[..500].iter().map(|event| Event { tag: event.tag % tags, ..*event }).collect();
                other.update(&events, &mut Vec::new());
                let _ = (other.fates(), other.risk(0));
            }
            assert!(accepted > 1_000, "{accepted}");
        }
    }
}
