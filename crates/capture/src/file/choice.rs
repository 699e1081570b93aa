use crate::NoInterface;
use dwell_types::{Frame, LinkType};
use std::collections::BTreeSet;
use std::path::Path;

/// The interface whose packets are read, of a capture that holds those of several.
pub(super) struct Choice {
    /// As the user named it.
    wanted: Box<str>,
    /// Whether anything of it was found.
    is_found: bool,
    /// Numbers in Linux' cooked headers, some of them, for the error.
    numbers: BTreeSet<u32>,
}

/// What a pcapng file says about an interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Described<'a> {
    /// Its place in the section.
    pub(super) number: u32,
    pub(super) name: Option<&'a str>,
}

/// How many interfaces an error lists.
const LISTED: usize = 16;

impl Choice {
    pub(super) fn new(interface: &str) -> Self {
        Self { wanted: interface.into(), is_found: false, numbers: BTreeSet::new() }
    }

    /// Whether a frame is of the chosen interface. Frames captured on all interfaces together (`-i any`) have Linux'
    /// number of theirs in the header; it counts, not that of the pcapng interface named `any`.
    pub(super) fn takes(&mut self, frame: &Frame<'_>, described: Option<Described<'_>>) -> bool {
        let by_name = described.is_some_and(|described| self.is_named(described));
        let number = if frame.link == LinkType::LINUX_SLL2 {
            let number = frame.bytes.get(4..8).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
            self.numbers.extend(number.filter(|_| self.numbers.len() < LISTED));
            number
        } else {
            described.map(|described| described.number)
        };
        let takes = by_name || number.is_some_and(|number| self.is(number));
        self.is_found |= takes;
        takes
    }

    /// Whether what is said about an interface may be about the chosen one: of all interfaces together, it is.
    pub(super) fn may_be(&self, described: Described<'_>) -> bool {
        !self.numbers.is_empty() || self.is_described(described)
    }

    fn is_described(&self, described: Described<'_>) -> bool {
        self.is_named(described) || self.numbers.is_empty() && self.is(described.number)
    }

    fn is_named(&self, described: Described<'_>) -> bool {
        described.name == Some(&*self.wanted)
    }

    fn is(&self, number: u32) -> bool {
        self.wanted.parse() == Ok(number)
    }

    /// An error if there was nothing of the interface, not even a description.
    pub(super) fn missing<'a>(
        &self,
        path: &Path,
        described: impl Iterator<Item = Described<'a>> + Clone,
    ) -> Option<NoInterface> {
        if self.is_found || described.clone().any(|it| self.is_described(it)) {
            return None;
        }
        let distinct: BTreeSet<_> = described.collect();
        let described = distinct.into_iter().map(|it| match it.name {
            Some(name) => format!("{} ({name})", it.number),
            None => it.number.to_string(),
        });
        let found = if self.numbers.is_empty() {
            described.take(LISTED).collect()
        } else {
            self.numbers.iter().map(u32::to_string).collect()
        };
        Some(NoInterface { path: path.to_owned(), wanted: self.wanted.to_string(), found })
    }
}
