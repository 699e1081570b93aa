//! The direction of packets between two points.

use dwell_types::{Address, Prefix};
use foldhash::HashMap;
use std::sync::Arc;

/// Which packets go from the first point, the sender, to the second, the receiver, and which go back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// All packets go from the sender to the receiver.
    #[default]
    Forward,
    /// Packets from these sources go forward, wherever they go; others are not measured.
    Sources(Vec<Prefix>),
    /// Packets from these addresses to others go forward; those from others to these go back, or are not measured.
    Given {
        /// The sources of the forward direction.
        from: Vec<Prefix>,
        /// Whether the other direction is measured.
        has_back: bool,
    },
    /// Found from the captures. Shared by all points.
    Found(Arc<Found>),
}

/// Where addresses are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub(super) places: HashMap<Address, Place>,
    /// Whether both directions pass the two points. Otherwise packets between addresses of unknown place go forward.
    pub(super) has_back: bool,
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the sender's side: packets from there go forward.
    Sender,
    /// On the receiver's side: packets from there go back.
    Receiver,
    /// A group of neighbours on one link, which no packet from the other side reaches.
    Aside,
}

fn is_in(prefixes: &[Prefix], address: Address) -> bool {
    prefixes.iter().any(|prefix| prefix.contains(address))
}

/// If there are more addresses than this, messages state only their number.
const MOST_NAMED: usize = 8;

impl Directions {
    /// The maximum number of addresses that are found: some 6 MB.
    pub const MOST_FOUND: usize = 1 << 17;

    /// Packets from these sources go forward, or all packets if `from` is empty.
    pub fn of_sources(sources: &[Prefix]) -> Self {
        if sources.is_empty() { Self::Forward } else { Self::Sources(sources.to_vec()) }
    }

    /// The sender has these addresses on its side, or all packets go forward if `from` is empty.
    pub fn given(from: &[Prefix], has_back: bool) -> Self {
        if from.is_empty() { Self::Forward } else { Self::Given { from: from.to_vec(), has_back } }
    }

    /// Whether a packet goes back; `None` if its direction is not measured, if it stays on its side, or if it should
    /// have been found and was not.
    #[inline]
    pub fn is_reverse(&self, source: Address, destination: Address) -> Option<bool> {
        match self {
            Self::Forward => Some(false),
            Self::Sources(sources) => is_in(sources, source).then_some(false),
            Self::Given { from, has_back } => match [source, destination].map(|address| is_in(from, address)) {
                [true, false] => Some(false),
                [false, true] => has_back.then_some(true),
                // Who names all addresses means that all packets go forward.
                [true, true] if from.iter().any(|prefix| prefix.length() == 0 && prefix.contains(source)) => {
                    Some(false)
                }
                [true, true] | [false, false] => None,
            },
            Self::Found(found) => found.is_reverse(source, destination),
        }
    }

    /// Whether a packet goes between two of the addresses that were given as one side.
    pub fn is_within(&self, source: Address, destination: Address) -> bool {
        matches!(self, Self::Given { from, .. } if is_in(from, source) && is_in(from, destination))
    }

    /// Whether the direction of a packet should have been found and was not.
    pub fn is_unknown(&self, source: Address, destination: Address) -> bool {
        let is_unknown = |found: &Found, address| !found.places.contains_key(address);
        matches!(self, Self::Found(found) if is_unknown(found, &source) && is_unknown(found, &destination))
    }

    /// Adds the addresses that others have found and these have not, the lowest up to [`Self::MOST_FOUND`], if as many
    /// directions pass both points.
    pub fn learn(&mut self, others: &Self) {
        if let (Self::Found(found), Self::Found(others)) = (self, others)
            && found.has_back == others.has_back
        {
            let places = &mut Arc::make_mut(found).places;
            let room = Self::MOST_FOUND.saturating_sub(places.len());
            let new = others.places.iter().filter(|(address, _)| !places.contains_key(address));
            let new = lowest(new.map(|(&address, &place)| (address, place)), room);
            places.extend(new);
        }
    }

    /// Whether both directions are measured.
    pub fn has_back(&self) -> bool {
        match self {
            Self::Forward | Self::Sources(_) => false,
            Self::Given { has_back, .. } => *has_back,
            Self::Found(found) => found.has_back,
        }
    }

    /// The sources of the forward direction as text, or their number if too many were found; `None` if these are all that
    /// are measured.
    pub fn sources(&self) -> Option<String> {
        match self {
            Self::Found(found) if found.senders().count() > MOST_NAMED => {
                Some(format!("{} addresses", found.senders().count()))
            }
            _ => self.named_sources(),
        }
    }

    /// The same as a list of prefixes; `None` also if too many were found.
    pub fn named_sources(&self) -> Option<String> {
        let from: Vec<Prefix> = match self {
            Self::Forward => return None,
            Self::Sources(from) | Self::Given { from, .. } => from.clone(),
            Self::Found(found) => {
                let mut forward: Vec<_> = found.senders().collect();
                if forward.is_empty() || forward.len() > MOST_NAMED {
                    return None;
                }
                forward.sort_unstable();
                forward.into_iter().map(|address| Prefix::new(address, 128)).collect()
            }
        };
        Some(from.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }
}

impl Found {
    /// See [`Directions::is_reverse`].
    fn is_reverse(&self, source: Address, destination: Address) -> Option<bool> {
        let is_reverse = match (self.places.get(&source), self.places.get(&destination)) {
            (Some(Place::Aside), _) | (_, Some(Place::Aside)) => return None,
            (Some(from), Some(to)) if from == to => return None,
            (Some(from), _) => *from == Place::Receiver,
            (None, Some(to)) => *to == Place::Sender,
            (None, None) if self.has_back => return None,
            (None, None) => false,
        };
        (self.has_back || !is_reverse).then_some(is_reverse)
    }

    /// The addresses on the sender's side, in no order.
    fn senders(&self) -> impl Iterator<Item = Address> {
        self.places.iter().filter(|&(_, &place)| place == Place::Sender).map(|(&address, _)| address)
    }
}

/// Those with the lowest addresses, at most this many: maps have no order that is the same in every run.
pub(super) fn lowest(places: impl Iterator<Item = (Address, Place)>, most: usize) -> Vec<(Address, Place)> {
    let mut places: Vec<_> = places.collect();
    if places.len() > most {
        places.sort_unstable_by_key(|&(address, _)| address);
        places.truncate(most);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stays on its side is not measured, unless all addresses are named, or only the sources count.
    #[test]
    fn packets_within_a_side_are_not_measured() {
        let [inside, other_inside, outside, other_outside] =
            [0x0a00_0001, 0x0a00_0002, 0xc000_0201, 0xc000_0202].map(Address::v4);
        let pairs = [(inside, outside), (outside, inside), (inside, other_inside), (outside, other_outside)];
        let told = |directions: &Directions| pairs.map(|(from, to)| directions.is_reverse(from, to));
        let (side, all) = (["10.0.0.0/8".parse().unwrap()], ["0.0.0.0/0".parse().unwrap()]);
        assert_eq!(told(&Directions::given(&side, true)), [Some(false), Some(true), None, None]);
        assert_eq!(told(&Directions::given(&side, false)), [Some(false), None, None, None]);
        assert_eq!(told(&Directions::given(&all, true)), [Some(false); 4]);
        assert_eq!(told(&Directions::of_sources(&side)), [Some(false), None, Some(false), None]);
    }

    /// More addresses than are kept: which ones does not depend on the order of a map, which differs between instances.
    #[test]
    fn the_same_addresses_are_learnt_each_time() {
        let found = |addresses: std::ops::Range<u32>| {
            let places = addresses.map(|number| (Address::v4(number), Place::Sender)).collect();
            Directions::Found(Arc::new(Found { places, has_back: true }))
        };
        let learnt = || {
            let mut all = found(0..100_000);
            all.learn(&found(90_000..200_000));
            all
        };
        let most = Directions::MOST_FOUND as u32;
        assert!(learnt() == found(0..most) && learnt() == learnt());
    }
}
