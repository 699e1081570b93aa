//! Filters every observation of a rule: most concern nothing that the rule's meter holds.

use super::Settings;
use crate::{Gate, Meter, Terms};
use dwell_types::{ExchangeId, Leg, Match, Repeat, Sighting, Timestamp};

// Responses without a recent request.
mod asked;
use asked::Asked;
// Responses that repeat an earlier one.
mod answered;
use answered::Answered;
// Requests that repeat an earlier one.
mod recent;
use recent::Recent;

/// Decides which observations of a rule are passed to its meter, and counts the others.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) gate: Gate,
    /// The tag of the first group of each leg that this rule has.
    pub(super) first_tag: [u16; Leg::ALL.len()],
    /// Responses and requests, by tag, that were not passed to the meter.
    pub(super) turned_away: Box<[[u64; 2]]>,
    /// Boxed: most methods have none, and the size of this struct counts.
    futile: Option<Box<Futile>>,
}

/// Recognises many responses that cannot match, as long as the meter remembers every request; and after that many
/// requests that only repeat, where equal requests are one exchange.
///
/// Two of three TCP segments repeat an earlier acknowledgement, and 98 of 100 that might end a handshake do not.
#[derive(Clone, Debug)]
struct Futile {
    known: Known,
    /// Unmatched responses already reported to the meter, by tag; empty if it does not remember every request.
    told: Vec<u64>,
}

/// How futile observations are recognised.
#[derive(Clone, Debug)]
enum Known {
    /// Responses without a request, for handshakes and responses of data, which nearly every segment may be.
    Asked(Asked),
    /// Repeated responses, for acknowledgements.
    Answered(Answered),
    /// Repeated requests, where equal ones are one exchange. While the meter remembers every request it recognises them
    /// itself; then repeated responses are recognised here, where there is memory for that.
    Recent { asked: Recent, answered: Option<Answered>, remembers_all: bool },
}

impl Door {
    /// For a rule that is not measured.
    pub(super) fn none() -> Self {
        Self { gate: Gate::OPEN, first_tag: [0; Leg::ALL.len()], turned_away: Box::default(), futile: None }
    }

    /// For the observations of this rule and its meter, which is empty.
    ///
    /// Turns away responses that cannot match, as long as the meter remembers every request that came within the
    /// expiry, if there is memory for that; and repeated requests, where equal ones are one exchange, once it does not:
    /// where it has dropped the first copy it would take the next one for another exchange, with a shorter delay.
    pub(super) fn new(settings: &Settings, matching: Match, meter: &dyn Meter) -> Self {
        let Terms { tags, expiry, .. } = settings.terms(matching);
        let (is_bounded, remembers_all) = (settings.method.is_bounded(), meter.remembers_all());
        let asked = || Asked::within(settings.door_bytes(), expiry).filter(|_| remembers_all);
        let answered = || Answered::within(settings.door_bytes()).filter(|_| remembers_all);
        let recent = || Recent::within(settings.repeat_bytes(), expiry);
        let known = match matching {
            Match::TcpHandshake | Match::TcpResponse => asked().map(Known::Asked),
            Match::TcpTs if is_bounded => Some(Known::Recent { asked: recent(), answered: answered(), remembers_all }),
            Match::TcpAck | Match::TcpTs => answered().map(Known::Answered),
            Match::QuicSpin if is_bounded => Some(Known::Recent { asked: recent(), answered: None, remembers_all }),
            Match::TcpFlow
            | Match::Dns
            | Match::Ntp
            | Match::IcmpEcho
            | Match::QuicHandshake
            | Match::QuicSpin
            | Match::Events => None,
        };
        let futile = known.map(|known| {
            let told = vec![0; if known.turns_responses_away() { tags.into() } else { 0 }];
            Box::new(Futile { known, told })
        });
        let mut door =
            Self { gate: meter.gate(), turned_away: vec![[0; 2]; tags.into()].into(), futile, ..Self::none() };
        for (i, &leg) in matching.legs(settings.has_inside).iter().enumerate() {
            door.first_tag[leg as usize] = i as u16 * settings.distinct_groups();
        }
        door
    }

    /// Whether unmatched responses are turned away.
    pub(super) fn turns_responses_away(&self) -> bool {
        self.futile.as_ref().is_some_and(|futile| futile.known.turns_responses_away())
    }

    /// Rebuilds the set of awaited ids when it is full, from a meter that was given everything admitted so far.
    #[inline]
    pub(super) fn learn(&mut self, meter: &dyn Meter, now: Timestamp) {
        if let Some(Known::Asked(asked)) = self.futile.as_mut().map(|futile| &mut futile.known)
            && asked.is_full()
        {
            asked.make_room(now, meter.open_ids());
        }
    }

    /// From now on only the gate turns responses away.
    #[inline]
    pub(super) fn forget_futile(&mut self) {
        match self.futile.as_deref_mut() {
            Some(Futile { known: Known::Recent { answered, remembers_all, .. }, told }) => {
                (*answered, *remembers_all, *told) = (None, false, Vec::new());
            }
            _ => self.futile = None,
        }
    }

    /// Whether a request that is `wanted` only repeats an earlier one. A meter that remembers every request decides
    /// that itself: it knows when the first of them expires.
    #[inline(always)]
    pub(super) fn is_mere_repeat(&mut self, wanted: bool, request: &Sighting) -> bool {
        // Resolved at compile time: other rules pay nothing.
        if request.series.matching.repeat() == Repeat::Ambiguous || !wanted {
            return false;
        }
        match self.futile.as_deref_mut() {
            Some(Futile { known: Known::Recent { asked, remembers_all, .. }, .. }) => {
                asked.is_repeated(request.id, request.at) && !*remembers_all
            }
            _ => false,
        }
    }

    /// Reports the unmatched responses since the last call: tag and number.
    pub(super) fn tell(&mut self, mut tell: impl FnMut(usize, u64)) {
        let Some(futile) = &mut self.futile else { return };
        for (tag, (told, &[responses, _])) in futile.told.iter_mut().zip(&self.turned_away).enumerate() {
            if *told < responses {
                tell(tag, responses - *told);
                *told = responses;
            }
        }
    }

    /// Whether a sighting that is `wanted` must be passed to the meter.
    ///
    /// Inlined where the rule is known, this is little more than a comparison.
    #[inline(always)]
    pub(super) fn admits(&mut self, wanted: bool, seen: &Sighting, is_request: bool) -> bool {
        if !self.gate.admits_if(wanted, seen.id) {
            return false;
        }
        let Some(futile) = &mut self.futile else { return true };
        match (&mut futile.known, is_request) {
            (Known::Asked(asked), true) => asked.ask(seen.id),
            (Known::Asked(asked), false) => return asked.is_asked(seen.id),
            (Known::Answered(answered) | Known::Recent { answered: Some(answered), .. }, true) => {
                answered.ask(seen.id, seen.at);
            }
            (Known::Answered(answered) | Known::Recent { answered: Some(answered), .. }, false) => {
                return !answered.is_repeated(seen.id, seen.at);
            }
            (Known::Recent { answered: None, .. }, _) => (),
        }
        true
    }

    /// Whether the meter may need a response whose id has the same upper half as this one.
    #[inline(always)]
    pub(super) fn may_admit(&self, id: ExchangeId) -> bool {
        if !self.gate.admits(id) {
            return false;
        }
        match self.futile.as_ref().map(|futile| &futile.known) {
            Some(Known::Asked(asked)) => asked.is_asked(id),
            _ => true,
        }
    }

    /// Counts an observation that is turned away, if `is_one`; not of a rule that is not measured.
    #[inline(always)]
    pub(super) fn turn_away(&mut self, is_one: bool, tag: u16, is_request: bool) {
        if let Some(counts) = self.turned_away.get_mut(usize::from(tag)) {
            counts[usize::from(is_request)] += u64::from(is_one);
        }
    }

    /// Bytes by which it may still grow.
    pub(super) fn growth(&self) -> usize {
        match self.futile.as_ref().map(|futile| &futile.known) {
            Some(Known::Asked(asked)) => asked.growth(),
            Some(Known::Answered(_) | Known::Recent { .. }) | None => 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.turned_away) + self.futile.as_ref().map_or(0, |futile| futile.bytes())
    }
}

impl Known {
    fn turns_responses_away(&self) -> bool {
        !matches!(self, Self::Recent { answered: None, .. })
    }
}

impl Futile {
    fn bytes(&self) -> usize {
        let known = match &self.known {
            Known::Asked(asked) => asked.bytes(),
            Known::Answered(answered) => answered.bytes(),
            Known::Recent { asked, answered, .. } => asked.bytes() + answered.as_ref().map_or(0, Answered::bytes),
        };
        size_of::<Self>() + known + self.told.capacity() * size_of::<u64>()
    }
}

/// The half of an id that is common to exchanges that are tested together.
#[inline(always)]
const fn upper(id: ExchangeId) -> u32 {
    (id.0 >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exact;
    use crate::rtt::{Method, RttMeter};
    use dwell_types::{Observation, Series, Sink, hash};

    /// What a door holds is counted, while it comes and goes.
    #[test]
    fn all_bytes_are_counted() {
        let door = |method, matching| {
            let settings = Settings { groups: 3, ..Settings::new(method, vec![matching], 2 << 20) };
            Door::new(&settings, matching, &Exact::new(settings.terms(matching)))
        };
        let (counts, told, own) = (3 * 16, 3 * 8, size_of::<Futile>());
        assert_eq!(door(Method::Auto, Match::Dns).bytes(), counts);
        assert_eq!(door(Method::Exact, Match::TcpTs).bytes(), counts + own + told + (1 << 14));
        assert_eq!(door(Method::Auto, Match::QuicSpin).bytes(), counts + own + (1 << 14));
        let mut both = door(Method::Auto, Match::TcpTs);
        assert_eq!(both.bytes(), counts + own + told + (1 << 14) + (1 << 14));
        both.forget_futile();
        assert_eq!(both.bytes(), counts + own + (1 << 14));
    }

    /// Two of three responses only repeat one and are turned away, until requests that are never answered fill the
    /// table: from then on those responses, too, are among those that were at risk, once each.
    #[test]
    fn who_was_turned_away_was_at_risk() {
        let mut meter = RttMeter::new(&Settings::new(Method::Auto, vec![Match::TcpAck], 2 << 20)).unwrap();
        assert!(meter.doors[Match::TcpAck as usize].turns_responses_away());
        let series = Series { matching: Match::TcpAck, leg: Leg::Both, group: 0 };
        let requests = 300_000;
        for i in 0..requests {
            let seen = Sighting {
                id: ExchangeId(hash::finish(i)),
                at: Timestamp::from_nanos(i as i64 * 1_000),
                token: 0,
                series,
            };
            meter.take(Observation::Request(seen));
            (0..3 * (i % 2)).for_each(|_| meter.take(Observation::Response(seen)));
        }
        meter.flush();
        let risk = meter.rules[0].meter.risk(0).expect("the table is full");
        // Of 450,000, those after that come in threes, most of which are sampled: a standard error is below 1,000.
        let share = risk.at_risk[1] / (1.5 * requests as f64);
        assert!((share - 1.0).abs() < 0.02, "{share}");
    }
}
