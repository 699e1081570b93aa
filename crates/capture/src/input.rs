use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A capture as users name it: a path, or `-` for standard input; `FILE%INTERFACE` stands for the packets of one
/// interface only, as in IPv6 addresses with zones (RFC 4007 §11).
///
/// ```
/// use dwell_capture::Input;
/// use std::path::Path;
///
/// assert_eq!(Input::parse(Path::new("-%eth0")), Input { file: Path::new("-"), interface: Some("eth0") });
/// assert_eq!(Input::parse(Path::new("-")), Input { file: Path::new("-"), interface: None });
/// // No file of any such name exists, so that this is not taken apart.
/// assert_eq!(Input::parse(Path::new("100%.pcap")), Input { file: Path::new("100%.pcap"), interface: None });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The file, or `-`.
    pub file: &'a Path,
    /// The interface's name or number; `None` for all.
    pub interface: Option<&'a str>,
}

impl<'a> Input<'a> {
    /// Takes a name apart at the first `%` behind the name of a file, unless there is a file of the whole name.
    pub fn parse(name: &'a Path) -> Self {
        let parts = || {
            let bytes = name.as_os_str().as_bytes();
            let file = |at: usize| Path::new(OsStr::from_bytes(&bytes[..at]));
            let is_file = |&at: &usize| bytes[at] == b'%' && (is_stdin(file(at)) || file(at).exists());
            let at = (0..bytes.len()).find(is_file)?;
            let interface = str::from_utf8(&bytes[at + 1..]).ok().filter(|interface| !interface.is_empty())?;
            Some(Self { file: file(at), interface: Some(interface) })
        };
        let whole = Self { file: name, interface: None };
        if name.exists() { whole } else { parts().unwrap_or(whole) }
    }

    /// Whether this is a regular file, which can be read more than once.
    pub fn is_file(&self) -> bool {
        self.file.is_file()
    }
}

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}
