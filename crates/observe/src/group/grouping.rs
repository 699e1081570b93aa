use super::fields::{FIELDS, PORT};
use crate::role::Role;
use dwell_types::Address;
use std::fmt;
use std::str::FromStr;

/// The fields that define a group: a comma-separated list of
///
/// - `src`, `dst`: the address of the request's sender or receiver; `src/24` its first 24 bits with IPv4 and twice as
///   many with IPv6, `src/48` (more than 32) the whole address with IPv4 and 48 bits with IPv6, `src/24/56` both as
///   given;
/// - `client`, `server`: the same of the end that opened the connection, and of that which accepted it, whichever of them asks;
///   without a handshake, of the end with the higher port, and of that with the lower one;
/// - `src-port`, `dst-port`, and `port`: that of the server;
/// - `vlan`: the outermost VLAN id; `dscp`; `protocol`.
///
/// ```
/// use dwell_observe::group::Grouping;
/// let grouping: Grouping = "src/24,vlan".parse()?;
/// assert_eq!(grouping.to_string(), "src/24/48,vlan");
/// # Ok::<(), dwell_observe::group::GroupingError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    ends: Ends,
    /// Of the first end, and of the second.
    pub(super) addresses: [Option<Lengths>; 2],
    /// Which of the [`FIELDS`].
    pub(super) fields: [bool; FIELDS.len()],
}

/// Which end of a packet is the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ends {
    /// The one that sends the request: `src`, then `dst`.
    #[default]
    ByRequest,
    /// The one that opened the connection: `client`, then `server`.
    ByRole,
}

impl Ends {
    const ALL: [Self; 2] = [Self::ByRequest, Self::ByRole];

    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::ByRequest => ["src", "dst"],
            Self::ByRole => ["client", "server"],
        }
    }
}

/// How many bits of an address count: `0..=32` with IPv4, `0..=128` with IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    v4: u8,
    v6: u8,
}

/// Why a text is not a grouping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupingError {
    /// There is no such part.
    Unknown(String),
    /// The part takes no prefix length, or the length is invalid.
    Length(String),
    /// The part is named twice.
    Twice(String),
    /// The part names an end by its role where another one is named by the request, or the other way round.
    Mixed(String),
}

impl fmt::Display for GroupingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(part) => {
                let [names @ .., last] = FIELDS.map(|field| field.name);
                let names = names.join(", ");
                write!(
                    f,
                    "unknown group '{part}': expected src, dst, client, server (each with /N or /N4/N6), {names} or {last}, separated by commas"
                )
            }
            Self::Length(part) => write!(
                f,
                "no prefix length in '{part}': expected src/N or dst/N with N up to 128, or src/N4/N6 with N4 up to 32 and \
                 N6 up to 128"
            ),
            Self::Twice(part) => write!(f, "group '{part}' is given twice"),
            Self::Mixed(part) => write!(
                f,
                "group '{part}' cannot be combined with the end before it: client and server are told apart by who \
                 opened the connection, src and dst by who asks"
            ),
        }
    }
}

impl std::error::Error for GroupingError {}

impl Lengths {
    pub(super) const WHOLE: Self = Self { v4: 32, v6: 128 };

    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str, most: u8| text.parse::<u8>().ok().filter(|&n| n <= most);
        if let Some((v4, v6)) = text.split_once('/') {
            return Some(Self { v4: number(v4, 32)?, v6: number(v6, 128)? });
        }
        let length = number(text, 128)?;
        Some(if length <= 32 { Self { v4: length, v6: length * 2 } } else { Self { v4: 32, v6: length } })
    }

    #[inline]
    pub(super) const fn of(self, address: Address) -> u8 {
        if address.is_v4() { self.v4 } else { self.v6 }
    }
}

impl Grouping {
    /// Whether a request with the packet's `own` key, or with the reversed one, has the packet's source as first end, which has
    /// this role. Where nothing tells who serves, as between servers of NTP, it is who is asked.
    #[inline]
    pub(crate) fn begins_with_source(&self, role: Option<Role>, own: bool) -> bool {
        match (self.ends, role) {
            (Ends::ByRequest, _) | (Ends::ByRole, None) => own,
            (Ends::ByRole, Some(role)) => role == Role::Client,
        }
    }

    /// Whether it matters which end serves.
    pub(super) fn needs_roles(&self) -> bool {
        self.ends == Ends::ByRole || self.fields[PORT]
    }

    /// The ends whose addresses count, by name.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, usize, Lengths)> {
        let named = self.ends.names().into_iter().zip(self.addresses).enumerate();
        named.filter_map(|(end, (name, lengths))| Some((name, end, lengths?)))
    }

    /// Adds one part.
    fn add(&mut self, part: &str) -> Result<(), GroupingError> {
        let (name, lengths) = part.split_once('/').map_or((part, None), |(name, rest)| (name, Some(rest)));
        let ends = Ends::ALL.into_iter().find_map(|ends| Some((ends, ends.names().iter().position(|&n| n == name)?)));
        let is_given = if let Some((ends, end)) = ends {
            if self.ends != ends && self.addresses != [None; 2] {
                return Err(GroupingError::Mixed(part.to_owned()));
            }
            self.ends = ends;
            let lengths = lengths.map_or(Some(Lengths::WHOLE), Lengths::parse);
            let lengths = lengths.ok_or_else(|| GroupingError::Length(part.to_owned()))?;
            self.addresses[end].replace(lengths).is_some()
        } else {
            let field = FIELDS.iter().position(|field| field.name == name);
            let field = field.ok_or_else(|| GroupingError::Unknown(part.to_owned()))?;
            if lengths.is_some() {
                return Err(GroupingError::Length(part.to_owned()));
            }
            std::mem::replace(&mut self.fields[field], true)
        };
        if is_given { Err(GroupingError::Twice(part.to_owned())) } else { Ok(()) }
    }
}

impl FromStr for Grouping {
    type Err = GroupingError;

    fn from_str(text: &str) -> Result<Self, GroupingError> {
        let mut grouping = Self::default();
        for part in text.split(',') {
            grouping.add(part)?;
        }
        Ok(grouping)
    }
}

/// `src/24/48,vlan`: parses back to the same grouping.
impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = |(name, _, lengths): (&str, usize, Lengths)| match lengths {
            Lengths::WHOLE => name.to_owned(),
            Lengths { v4, v6 } => format!("{name}/{v4}/{v6}"),
        };
        let mut parts: Vec<_> = self.named().map(address).collect();
        let fields = FIELDS.iter().zip(self.fields).filter(|(_, given)| *given);
        parts.extend(fields.map(|(field, _)| field.name.to_owned()));
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_and_print() {
        for (text, printed) in [
            ("src", "src"),
            ("src/24", "src/24/48"),
            ("dst/48", "dst/32/48"),
            ("src/24/56,dst/32", "src/24/56,dst/32/64"),
            ("dst/0", "dst/0/0"),
            ("server/24,client", "client,server/24/48"),
            ("src-port,server", "server,src-port"),
            ("port,vlan,dscp,protocol,src-port,dst-port", "src-port,dst-port,port,vlan,dscp,protocol"),
        ] {
            let grouping: Grouping = text.parse().unwrap();
            assert_eq!(grouping.to_string(), printed);
            assert_eq!(printed.parse(), Ok(grouping));
        }
        let error = |text: &str| text.parse::<Grouping>().unwrap_err();
        assert_eq!(error("src/129"), GroupingError::Length("src/129".into()));
        assert_eq!(error("src/33/64"), GroupingError::Length("src/33/64".into()));
        assert_eq!(error("vlan/4"), GroupingError::Length("vlan/4".into()));
        assert_eq!(error("src,src/24"), GroupingError::Twice("src/24".into()));
        assert_eq!(error("server,server/8"), GroupingError::Twice("server/8".into()));
        assert_eq!(error("src,server"), GroupingError::Mixed("server".into()));
        assert_eq!(error("server,vlan,dst/8"), GroupingError::Mixed("dst/8".into()));
        assert_eq!(error(""), GroupingError::Unknown(String::new()));
        assert_eq!(error("src, dst"), GroupingError::Unknown(" dst".into()));
    }
}
