use super::choice::{Choice, Described};
use super::merge::Merge;
use super::pcap::{Kind, Pcap};
use super::pcapng::{Pcapng, SECTION_HEADER};
use super::window::Window;
use super::{Record, Trouble};
use crate::{CaptureError, Cut, FrameSource, NoInterface};
use dwell_types::Frame;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One capture, read from anything that yields bytes.
///
/// Bytes are read in blocks of up to 256 KiB; a frame is a slice of the block, unless the file has frames of several
/// interfaces: these are copied, and yielded in order of time ([module](super)).
pub struct CaptureFile<R> {
    path: PathBuf,
    window: Window<R>,
    format: Format,
    /// The interface whose frames are yielded; `None` for all.
    choice: Option<Choice>,
    /// Frames of several interfaces that are held until they are next, unless one is chosen. Boxed, so that what every frame
    /// needs stays close together.
    merge: Box<Merge>,
    /// Frames yielded so far.
    frames: u64,
    cut: Option<Cut>,
    /// Packets that the file says were dropped before they could be captured, once its end has been reached.
    dropped: u64,
    /// The chosen interface, if there is none such and the end has been reached.
    missing: Option<NoInterface>,
}

// With a tag of its own, so that whether it is a pcap file takes one comparison.
#[repr(u8)]
enum Format {
    Pcap(Pcap),
    Pcapng(Box<Pcapng>),
    /// There is nothing more to read.
    Ended,
}

impl Format {
    /// The interface of the last record, where the file describes it.
    fn described(&self) -> Option<Described<'_>> {
        match self {
            Self::Pcapng(pcapng) => pcapng.described(pcapng.last()),
            Self::Pcap(_) | Self::Ended => None,
        }
    }
}

impl<R> fmt::Debug for CaptureFile<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureFile").field("path", &self.path).field("frames", &self.frames).finish_non_exhaustive()
    }
}

impl<R: Read> CaptureFile<R> {
    /// Recognises compression and format of the data in `reader`, and reads the file header.
    ///
    /// `path` is the name used in errors and warnings.
    pub fn open(path: impl Into<PathBuf>, reader: R) -> Result<Self, CaptureError> {
        let path = path.into();
        match recognise(reader) {
            Ok((window, format)) => {
                let (choice, merge) = (None, Box::default());
                Ok(Self { path, window, format, choice, merge, frames: 0, cut: None, dropped: 0, missing: None })
            }
            Err(Unreadable::Empty) => Err(CaptureError::Empty { path }),
            Err(Unreadable::NotACapture(found)) => Err(CaptureError::NotACapture { path, found }),
            Err(Unreadable::Trouble(trouble)) => Err(error(trouble, path, 0)),
        }
    }

    /// Yields only frames of one interface: a pcapng file's, by its name or its number in the section, or one that a
    /// capture of all interfaces of Linux (`tcpdump -i any`, with cooked headers of version 2) numbers.
    pub fn only(self, interface: &str) -> Self {
        Self { choice: Some(Choice::new(interface)), ..self }
    }

    /// Decompresses in a thread of its own, ahead of the frames that are used, if the capture is compressed.
    pub fn ahead(self) -> Result<Self, CaptureError>
    where
        R: Send + 'static,
    {
        match self.window.ahead() {
            Ok(window) => Ok(Self { window, ..self }),
            Err(trouble) => Err(error(trouble, self.path, self.frames)),
        }
    }

    /// The interface that [`CaptureFile::only`] names, if there is none such; known once the end has been reached.
    pub fn missing(&self) -> Option<&NoInterface> {
        self.missing.as_ref()
    }

    /// The name given to [`CaptureFile::open`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Frames yielded so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Bytes read so far: of the compressed file, if it is compressed.
    pub fn bytes_read(&self) -> u64 {
        self.window.bytes_read()
    }

    /// Whether every frame that has been read completely was yielded, or has to wait for one of another interface: for a
    /// pipe, the next call may block.
    pub fn is_used_up(&self) -> bool {
        match &self.format {
            Format::Pcap(pcap) => !pcap.is_whole(self.window.held()),
            Format::Pcapng(pcapng) => self.merge.is_used_up(pcapng, &self.window),
            Format::Ended => true,
        }
    }

    /// Where the file was truncated, if it was and its end has been reached.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Packets that the file says were dropped before they could be captured; known once its end has been reached.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The next record, if it is buffered and nothing about it is unusual: the path of nearly every call.
    ///
    /// This and [`CaptureFile::next`] are two functions so that records travel in registers here: a result that may
    /// also hold an error is passed through memory, which doubles the time per frame.
    #[inline(always)]
    pub(super) fn next_held(&mut self) -> Option<Record> {
        if self.choice.is_some() {
            return None;
        }
        let record = match &self.format {
            Format::Pcap(pcap) => pcap.next_held(&mut self.window),
            Format::Pcapng(pcapng) => pcapng.next_held(&mut self.window),
            Format::Ended => None,
        };
        self.frames += u64::from(record.is_some());
        record
    }

    /// The next record, on the general path.
    #[inline(never)]
    pub(super) fn next(&mut self) -> Result<Option<Record>, CaptureError> {
        let next = loop {
            let next = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.window),
                Format::Pcapng(pcapng) if self.choice.is_none() => self.merge.next(pcapng, &mut self.window),
                Format::Pcapng(pcapng) => pcapng.next(&mut self.window),
                Format::Ended => return Ok(None),
            };
            let Ok(Some(record)) = next else { break next };
            if let Some(choice) = &mut self.choice
                && !choice.takes(&self.window.frame(record), self.format.described())
            {
                continue;
            }
            self.frames += 1;
            return Ok(Some(record));
        };
        self.summarise();
        self.format = Format::Ended;
        let (path, frames) = (self.path.clone(), self.frames);
        match next {
            Ok(_) => Ok(None),
            Err(Trouble::Cut { offset, expected, found }) => {
                self.cut = Some(Cut { path, offset, frames, expected, found });
                Ok(None)
            }
            Err(trouble) => Err(error(trouble, path, frames)),
        }
    }

    /// What the file says about its interfaces as a whole.
    fn summarise(&mut self) {
        let pcapng = if let Format::Pcapng(pcapng) = &self.format { Some(&**pcapng) } else { None };
        let interfaces = pcapng.into_iter().flat_map(Pcapng::all);
        let is_read = |described| self.choice.as_ref().is_none_or(|choice| choice.may_be(described));
        let dropped = interfaces.clone().filter(|(described, _)| is_read(*described)).map(|(_, dropped)| dropped);
        self.dropped = dropped.fold(pcapng.map_or(0, Pcapng::dropped_by_others), u64::saturating_add);
        let described = interfaces.map(|(described, _)| described);
        self.missing = self.choice.as_ref().and_then(|choice| choice.missing(&self.path, described));
    }

    /// The frame of a record of [`CaptureFile::next_held`].
    #[inline(always)]
    pub(super) fn frame_held(&self, record: Record) -> Frame<'_> {
        self.window.frame(record)
    }

    /// The frame of a record of [`CaptureFile::next`].
    pub(super) fn frame(&self, record: Record) -> Frame<'_> {
        self.merge.frame(record).unwrap_or_else(|| self.window.frame(record))
    }
}

impl<R: Read> FrameSource for CaptureFile<R> {
    #[inline(always)]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if let Some(record) = self.next_held() {
            return Ok(Some(self.frame_held(record)));
        }
        Ok(self.next()?.map(|record| self.frame(record)))
    }
}

/// Converts trouble into an error. Truncation is one only in the file header, without which nothing can be read.
fn error(trouble: Trouble, path: PathBuf, frames: u64) -> CaptureError {
    match trouble {
        Trouble::Io { offset, error } => CaptureError::Io { path, offset, frames, error },
        Trouble::Version { offset, expected, found } => CaptureError::Version { path, offset, frames, expected, found },
        Trouble::Cut { offset, expected, found } | Trouble::Damaged { offset, expected, found } => {
            CaptureError::Damaged { path, offset, frames, expected, found }
        }
    }
}

/// Why reading cannot even start.
enum Unreadable {
    Empty,
    NotACapture(String),
    Trouble(Trouble),
}

impl From<Trouble> for Unreadable {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

fn recognise<R: Read>(reader: R) -> Result<(Window<R>, Format), Unreadable> {
    let mut window = Window::new(reader)?;
    window.hold(4)?;
    let held = window.held();
    if let Some(&magic) = held.first_chunk() {
        if let Some(kind) = Kind::of(magic) {
            let format = Format::Pcap(Pcap::open(&mut window, kind)?);
            return Ok((window, format));
        }
        if u32::from_be_bytes(magic) == SECTION_HEADER {
            let format = Format::Pcapng(Box::new(Pcapng::open(&mut window)?));
            return Ok((window, format));
        }
    } else if !window.is_whole() {
        return Err(window.cut(0, "a capture file".to_owned()).into());
    }
    if held.is_empty() {
        return Err(Unreadable::Empty);
    }
    // Buffer as much as is needed to describe what the file looks like.
    window.hold(SHOWN_BYTES)?;
    Err(Unreadable::NotACapture(looks_like(window.held())))
}

/// How many bytes of a file that is not a capture are examined.
const SHOWN_BYTES: usize = 64;

/// Describes a file that is not a capture, by its first bytes.
fn looks_like(head: &[u8]) -> String {
    let kind = match head {
        [b's', b'n', b'o', b'o', b'p', 0, ..] => "a snoop capture",
        [b'T', b'R', b'S', b'N', b'I', b'F', b'F', ..] => "a Sniffer capture",
        [b'G', b'M', b'B', b'U', ..] | [b'R', b'T', b'S', b'S', ..] => "a Microsoft Network Monitor capture",
        [0x7f, b'E', b'L', b'F', ..] => "an ELF program",
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => "bzip2 data",
        [0x04, 0x22, 0x4d, 0x18, ..] => "lz4 data",
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        [b'7', b'z', 0xbc, 0xaf, ..] => "a 7z archive",
        [b'%', b'P', b'D', b'F', ..] => "a PDF document",
        _ if head
            .iter()
            .take(SHOWN_BYTES)
            .all(|&byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..)) =>
        {
            let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(&line[..line.len().min(40)]);
            return format!("text: {:?}", line.trim());
        }
        _ => "an unknown format",
    };
    let bytes: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{kind}: {}", bytes.join(" "))
}
