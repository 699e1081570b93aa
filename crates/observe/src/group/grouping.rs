use super::fields::FIELDS;
use dwell_types::Address;
use std::fmt;
use std::str::FromStr;

/// The fields that define a group: a comma-separated list of
///
/// - `src`, `dst`: the address of the request's sender or receiver; `src/24` its first 24 bits with IPv4 and twice as
///   many with IPv6, `src/48` (more than 32) the whole address with IPv4 and 48 bits with IPv6, `src/24/56` both as
///   given;
/// - `src-port`, `dst-port`, and `port`: the lower of the two, usually that of the service;
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
    pub(super) source: Option<Lengths>,
    pub(super) destination: Option<Lengths>,
    /// Which of the [`FIELDS`].
    pub(super) fields: [bool; FIELDS.len()],
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
}

impl fmt::Display for GroupingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(part) => {
                let [names @ .., last] = FIELDS.map(|field| field.name);
                let names = names.join(", ");
                write!(
                    f,
                    "unknown group '{part}': expected src, dst (each with /N or /N4/N6), {names} or {last}, separated by commas"
                )
            }
            Self::Length(part) => write!(
                f,
                "no prefix length in '{part}': expected src/N or dst/N with N up to 128, or src/N4/N6 with N4 up to 32 and \
                 N6 up to 128"
            ),
            Self::Twice(part) => write!(f, "group '{part}' is given twice"),
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

impl FromStr for Grouping {
    type Err = GroupingError;

    fn from_str(text: &str) -> Result<Self, GroupingError> {
        let mut grouping = Self::default();
        for part in text.split(',') {
            let (name, lengths) = part.split_once('/').map_or((part, None), |(name, rest)| (name, Some(rest)));
            let address = |was: &mut Option<Lengths>| {
                let lengths = lengths.map_or(Some(Lengths::WHOLE), Lengths::parse);
                let lengths = lengths.ok_or_else(|| GroupingError::Length(part.to_owned()))?;
                Ok(was.replace(lengths).is_some())
            };
            let twice = match name {
                "src" => address(&mut grouping.source)?,
                "dst" => address(&mut grouping.destination)?,
                _ => {
                    let field = FIELDS.iter().position(|field| field.name == name);
                    let field = field.ok_or_else(|| GroupingError::Unknown(part.to_owned()))?;
                    if lengths.is_some() {
                        return Err(GroupingError::Length(part.to_owned()));
                    }
                    std::mem::replace(&mut grouping.fields[field], true)
                }
            };
            if twice {
                return Err(GroupingError::Twice(part.to_owned()));
            }
        }
        Ok(grouping)
    }
}

/// `src/24/48,vlan`: parses back to the same grouping.
impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        let mut part = |name: &str, lengths: Option<Lengths>| {
            write!(f, "{comma}{name}")?;
            comma = ",";
            match lengths {
                Some(lengths) if lengths != Lengths::WHOLE => write!(f, "/{}/{}", lengths.v4, lengths.v6),
                _ => Ok(()),
            }
        };
        for (name, lengths) in [("src", self.source), ("dst", self.destination)] {
            if lengths.is_some() {
                part(name, lengths)?;
            }
        }
        for (field, given) in FIELDS.iter().zip(self.fields) {
            if given {
                part(field.name, None)?;
            }
        }
        Ok(())
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
        assert_eq!(error(""), GroupingError::Unknown(String::new()));
        assert_eq!(error("src, dst"), GroupingError::Unknown(" dst".into()));
    }
}
