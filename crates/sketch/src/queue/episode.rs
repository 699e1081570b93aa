use super::flows::{FlowInQueue, FlowSizes, Flows, Packet};
use crate::conquest::Queued;
use dwell_types::{Departure, Nanos, Timestamp};

/// The definition of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EpisodeParams {
    /// It begins with the first packet that waited at least this long, *τ*, and ends with the last one.
    pub(super) threshold: Nanos,
    /// Packets that waited that long belong to one episode if they depart at most this far apart.
    pub(super) quiet: Nanos,
    /// Maximum number of flows kept per episode, at least one.
    pub(super) flows: usize,
    /// Maximum number of culprits reported.
    pub(super) top: usize,
}

/// An episode of congestion: from the first departure after a long wait to the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// The first departure of a packet that waited for *τ*.
    pub start: Timestamp,
    /// The last one.
    pub end: Timestamp,
    /// The longest delay.
    pub peak_delay: Nanos,
    /// The mean delay in nanoseconds, of all packets that departed during the episode and whose arrival was seen.
    pub mean_delay: f64,
    /// Packets that departed during the episode.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those of them that are culprits.
    pub culprit_packets: u64,
    /// The largest queue that a packet of the episode found, in bytes or packets.
    pub deepest: u64,
    /// The flows with culprits, those with the most bytes first.
    pub culprits: Vec<FlowInQueue>,
    /// The sizes of all flows in the episode; `None` if there were too many to keep.
    pub sizes: Option<FlowSizes>,
}

/// Finds episodes in the sequence of departures.
#[derive(Clone, Debug)]
pub(super) struct Episodes {
    params: EpisodeParams,
    latest: Timestamp,
    open: Option<Open>,
    flows: Flows,
    ended: Vec<Episode>,
}

/// An episode that may continue.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: Timestamp,
    /// The last departure after a long wait.
    end: Timestamp,
    /// Packets up to `end`, and those since.
    sum: Sum,
    since: Sum,
}

/// Sums over packets.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u64,
    bytes: u64,
    culprits: u64,
    delays: u64,
    delay: i128,
    peak: Nanos,
    deepest: u64,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.culprits += other.culprits;
        self.delays += other.delays;
        self.delay += other.delay;
        self.peak = self.peak.max(other.peak);
        self.deepest = self.deepest.max(other.deepest);
    }
}

impl Episodes {
    pub(super) fn new(params: EpisodeParams) -> Self {
        let flows = Flows::new(params.flows);
        Self { params, latest: Timestamp::MIN, open: None, flows, ended: Vec::new() }
    }

    /// Processes the next departure, with what was in the queue with it; `name` is called if its flow is new to an
    /// episode.
    pub(super) fn update(&mut self, departure: &Departure, queued: Option<&Queued>, name: impl FnOnce() -> String) {
        let at = departure.departed.max(self.latest);
        self.latest = at;
        let delay = departure.delay().filter(|&delay| delay >= Nanos::ZERO);
        let is_long = delay >= Some(self.params.threshold);
        if self.open.is_some_and(|open| at - open.end > self.params.quiet) {
            self.end();
        }
        if !is_long && self.open.is_none() {
            return;
        }
        let open = self.open.get_or_insert(Open { start: at, end: at, sum: Sum::default(), since: Sum::default() });
        open.since.add(&Sum {
            packets: 1,
            bytes: departure.bytes.into(),
            culprits: u64::from(queued.is_some_and(|queued| queued.is_culprit)),
            delays: u64::from(delay.is_some()),
            delay: delay.map_or(0, |delay| delay.get().into()),
            peak: delay.unwrap_or_default(),
            deepest: queued.map_or(0, |queued| queued.queue_size),
        });
        if is_long {
            open.end = at;
            open.sum.add(&std::mem::take(&mut open.since));
        }
        let packet = Packet {
            flow: departure.flow,
            bytes: departure.bytes,
            is_long,
            is_culprit: queued.is_some_and(|queued| queued.is_culprit),
            share: queued.and_then(|queued| queued.share).unwrap_or(0.0),
        };
        self.flows.add(&packet, name);
    }

    /// Ends the current episode: no more packets follow, or none that belong to it.
    pub(super) fn end(&mut self) {
        let Some(Open { start, end, sum, .. }) = self.open.take() else { return };
        self.ended.push(Episode {
            start,
            end,
            peak_delay: sum.peak,
            mean_delay: sum.delay as f64 / sum.delays as f64,
            packets: sum.packets,
            bytes: sum.bytes,
            culprit_packets: sum.culprits,
            deepest: sum.deepest,
            culprits: self.flows.culprits(self.params.top),
            sizes: self.flows.sizes(),
        });
        self.flows.clear();
    }

    /// Whether there are episodes to take.
    #[inline]
    pub(super) const fn has_some(&self) -> bool {
        !self.ended.is_empty()
    }

    /// The episodes that ended since the last call.
    pub(super) fn take(&mut self) -> Vec<Episode> {
        std::mem::take(&mut self.ended)
    }

    /// Heap bytes with this many flows, without names.
    pub(super) const fn bytes(flows: usize) -> usize {
        Flows::bytes(flows)
    }

    /// Heap bytes, except for episodes not yet taken.
    pub(super) fn heap_bytes(&self) -> usize {
        self.flows.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::FlowId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const THRESHOLD: Nanos = Nanos::new(50);
    const QUIET: i64 = 30;

    fn params(flows: usize) -> EpisodeParams {
        EpisodeParams { threshold: THRESHOLD, quiet: Nanos::new(QUIET), flows, top: usize::MAX }
    }

    type Packets = Vec<(Departure, Option<Queued>)>;

    /// Up to 300 departures of 12 flows, up to 20 ns apart after up to 100 ns; some arrivals are not known.
    fn any_packets() -> impl Strategy<Value = Packets> {
        let one = (0..20i64, 0..100i64, 0..12u64, 1..2_000u32, any::<u8>());
        prop::collection::vec(one, 1..300).prop_map(|packets| {
            let mut now = 0;
            let depart = |(gap, delay, flow, bytes, random): (i64, i64, u64, u32, u8)| {
                now += gap;
                let arrived = (random > 20).then_some(Timestamp::from_nanos(now - delay));
                let departed = Timestamp::from_nanos(now);
                let queued = arrived.map(|_| Queued {
                    flow_size: bytes.into(),
                    queue_size: 3 * u64::from(bytes),
                    share: Some(f64::from(random) / 256.0),
                    is_culprit: delay >= THRESHOLD.get() && random > 100,
                    is_complete: true,
                });
                (Departure { arrived, departed, flow: FlowId(flow), bytes }, queued)
            };
            packets.into_iter().map(depart).collect()
        })
    }

    fn found(packets: &Packets, flows: usize) -> Vec<Episode> {
        let mut episodes = Episodes::new(params(flows));
        for (departure, queued) in packets {
            episodes.update(departure, queued.as_ref(), || format!("f{}", departure.flow.0));
        }
        episodes.end();
        // Names have up to three letters.
        assert!(episodes.heap_bytes() <= Episodes::bytes(flows) + 8 * flows);
        episodes.take()
    }

    /// Index of the first and the last packet of each episode, by the definition.
    fn by_definition(packets: &Packets) -> Vec<(usize, usize)> {
        let is_long = |place: &usize| packets[*place].0.delay() >= Some(THRESHOLD);
        let mut found: Vec<(usize, usize)> = Vec::new();
        for place in (0..packets.len()).filter(is_long) {
            match found.last_mut() {
                Some((_, last)) if (packets[place].0.departed - packets[*last].0.departed).get() <= QUIET => {
                    *last = place;
                }
                _ => found.push((place, place)),
            }
        }
        found
    }

    fn bytes_of_flows(packets: &[(Departure, Option<Queued>)]) -> BTreeMap<String, u64> {
        let mut flows = BTreeMap::new();
        for (departure, _) in packets {
            *flows.entry(format!("f{}", departure.flow.0)).or_default() += u64::from(departure.bytes);
        }
        flows
    }

    /// Flows of 1 to 200 bytes.
    #[test]
    fn sizes_of_flows_are_ranked() {
        let mut episodes = Episodes::new(params(200));
        for flow in 1..=200 {
            let departure = Departure {
                arrived: Some(Timestamp::from_nanos(0)),
                departed: Timestamp::from_nanos(THRESHOLD.get()),
                flow: FlowId(flow),
                bytes: flow as u32,
            };
            episodes.update(&departure, None, || format!("f{flow}"));
        }
        episodes.end();
        let sizes = FlowSizes { flows: 200, p50: 100, p90: 180, p99: 198, max: 200 };
        assert_eq!(episodes.take()[0].sizes, Some(sizes));
    }

    proptest! {
        #[test]
        fn episodes_are_what_they_are_defined_as(packets in any_packets()) {
            let episodes = found(&packets, 12);
            let expected = by_definition(&packets);
            prop_assert_eq!(episodes.len(), expected.len());
            for (episode, (first, last)) in episodes.iter().zip(expected) {
                let own = &packets[first..=last];
                prop_assert_eq!((episode.start, episode.end), (own[0].0.departed, own[own.len() - 1].0.departed));
                prop_assert_eq!(episode.packets, own.len() as u64);
                prop_assert_eq!(episode.bytes, own.iter().map(|(d, _)| u64::from(d.bytes)).sum::<u64>());
                let delays: Vec<i64> = own.iter().filter_map(|(d, _)| d.delay()).map(Nanos::get).collect();
                prop_assert_eq!(Some(episode.peak_delay.get()), delays.iter().copied().max());
                let mean = delays.iter().sum::<i64>() as f64 / delays.len() as f64;
                prop_assert!((episode.mean_delay - mean).abs() < 1e-9);
                let queued = || own.iter().filter_map(|(_, queued)| *queued);
                prop_assert_eq!(Some(episode.deepest), queued().map(|queued| queued.queue_size).max());
                let culprits = || own.iter().filter(|(_, queued)| queued.is_some_and(|queued| queued.is_culprit));
                prop_assert_eq!(episode.culprit_packets, culprits().count() as u64);

                let flows = bytes_of_flows(own);
                let sizes = episode.sizes.unwrap();
                prop_assert_eq!(sizes.flows, flows.len() as u64);
                prop_assert_eq!(Some(&sizes.max), flows.values().max());
                let mut sorted: Vec<u64> = flows.values().copied().collect();
                sorted.sort_unstable();
                prop_assert_eq!(sizes.p50, sorted[sorted.len().div_ceil(2) - 1]);
                prop_assert_eq!(episode.culprits.iter().map(|flow| flow.culprit_packets).sum::<u64>(), episode.culprit_packets);
                for pair in episode.culprits.windows(2) {
                    prop_assert!(pair[0].bytes >= pair[1].bytes);
                }
                for flow in &episode.culprits {
                    prop_assert_eq!((flow.bytes, flow.most_bytes), (flows[&flow.name], flows[&flow.name]));
                    let shares = own.iter().filter(|(d, _)| format!("f{}", d.flow.0) == flow.name && d.delay() >= Some(THRESHOLD));
                    let peak = shares.filter_map(|(_, queued)| queued.and_then(|queued| queued.share)).fold(0.0, f64::max);
                    prop_assert_eq!(flow.peak_share, peak);
                }
            }
        }

        /// With room for only a few flows, the bounds of a flow's bytes contain the true value, and no distribution is
        /// given.
        #[test]
        fn a_small_table_bounds_the_bytes(packets in any_packets()) {
            for (episode, (first, last)) in found(&packets, 4).iter().zip(by_definition(&packets)) {
                let flows = bytes_of_flows(&packets[first..=last]);
                prop_assert!(episode.sizes.is_none() || flows.len() <= 4);
                for flow in &episode.culprits {
                    let truth = flows[&flow.name];
                    prop_assert!(flow.bytes <= truth && truth <= flow.most_bytes, "{truth} {flow:?}");
                }
            }
        }
    }
}
