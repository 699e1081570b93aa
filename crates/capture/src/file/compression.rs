mod ahead;
mod zstd;

use self::ahead::Ahead;
use self::zstd::Zstd;
use super::Source;
use flate2::{Decompress, FlushDecompress, Status};
use liblzma::stream as xz;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;

/// Memory limit for decompressing xz: its strongest preset (`xz -9`) has a window of 64 MiB and takes 65.
const XZ_MEMORY_BYTES: u64 = 80 << 20;

/// Number of compressed bytes per read.
const INPUT_BYTES: usize = 128 << 10;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Xz,
    Zstd,
}

impl Compression {
    /// Recognises the compression from the first bytes of a file.
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            // A frame, or the skippable frame that parallel compressors write first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        })
    }
}

/// Why decompressed data ends early.
pub(super) enum Unread {
    /// The operating system reported an error.
    Io(io::Error),
    /// The file ends inside the compressed stream.
    Cut(Compression),
    /// The compressed data cannot be used.
    Flawed(Compression, Flaw),
}

/// Why compressed data cannot be used.
#[derive(Clone)]
pub(super) enum Flaw {
    Corrupt(String),
    /// It needs a larger window than is allowed.
    TooLarge,
}

impl Flaw {
    /// What was expected and what was found.
    pub(super) fn words(self, compression: Compression) -> (String, String) {
        let larger = |most: String, program: &str| {
            let expected = format!("{compression} data with a window of at most {most} MiB");
            (expected, format!("a larger one: decompress it in a pipe, {program} FILE | dwell … -"))
        };
        match (self, compression) {
            (Self::Corrupt(reason), _) => (format!("sound {compression} data"), reason),
            (Self::TooLarge, Compression::Zstd) => larger((zstd::WINDOW_BYTES >> 20).to_string(), "zstd -dc --long=31"),
            // What it needs besides the window is less than one step of the sizes that xz has.
            (Self::TooLarge, Compression::Xz | Compression::Gzip) => larger("64".to_owned(), "xz -dc"),
        }
    }
}

/// The bytes of a file, decompressed if it is compressed.
pub(super) enum Input<R> {
    Direct(Direct<R>),
    Ahead(Ahead),
}

impl<R: Read> Input<R> {
    /// Recognises the compression of the data in `reader`.
    pub(super) fn new(reader: R) -> Result<Self, Unread> {
        Direct::new(reader).map(Self::Direct)
    }

    /// Bytes of the file on disk, possibly compressed, that were read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Self::Direct(input) => input.bytes_read(),
            Self::Ahead(input) => input.bytes_read(),
        }
    }

    /// Reads at least one byte, except at the end.
    pub(super) fn read(&mut self, output: &mut [u8]) -> Result<usize, Unread> {
        match self {
            Self::Direct(input) => input.read(output),
            Self::Ahead(input) => input.read(output),
        }
    }
}

impl<R: Read + Send + 'static> Input<R> {
    /// From now on decompresses in another thread, if the data is compressed.
    pub(super) fn ahead(self) -> io::Result<Self> {
        match self {
            Self::Direct(input) if input.decompressor.is_some() => Ahead::new(input).map(Self::Ahead),
            _ => Ok(self),
        }
    }
}

/// Decompresses when it is read.
pub(super) struct Direct<R> {
    reader: R,
    /// Bytes read from `reader` so far.
    bytes_read: u64,
    /// The bytes by which the compression was recognised, as far as they have not been passed on yet.
    head: Vec<u8>,
    decompressor: Option<Box<Decompressor>>,
}

impl<R: Read> Direct<R> {
    fn new(reader: R) -> Result<Self, Unread> {
        let mut input = Self { reader, bytes_read: 0, head: Vec::new(), decompressor: None };
        let mut head = [0; 6];
        let mut length = 0;
        while length < head.len() {
            match input.read_file(&mut head[length..]).map_err(Unread::Io)? {
                0 => break,
                count => length += count,
            }
        }
        input.head.extend_from_slice(&head[..length]);
        if let Some(compression) = Compression::of(&input.head) {
            input.decompressor = Some(Box::new(Decompressor::new(compression).map_err(Unread::Io)?));
        }
        Ok(input)
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn read(&mut self, output: &mut [u8]) -> Result<usize, Unread> {
        let Some(mut decompressor) = self.decompressor.take() else {
            return self.read_file(output).map_err(Unread::Io);
        };
        let result = decompressor.read(output, |buffer| self.read_file(buffer));
        self.decompressor = Some(decompressor);
        result
    }

    fn read_file(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.head.is_empty() {
            let count = self.head.len().min(buffer.len());
            for (to, from) in buffer.iter_mut().zip(self.head.drain(..count)) {
                *to = from;
            }
            return Ok(count);
        }
        loop {
            match self.reader.read(buffer) {
                Ok(count) => {
                    self.bytes_read += count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The bytes of any file, pipe or standard input, decompressed if they are gzip, xz or zstd data. Corrupt or truncated
/// data is an error, for which [`is_cut`] holds if it is truncated; after a [`Stop`](super::Stop) the error is one for
/// which [`is_stopped`](super::is_stopped) holds.
pub struct Decompressed {
    input: Input<Source>,
    bytes_total: Option<u64>,
}

impl fmt::Debug for Decompressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressed").field("bytes_read", &self.bytes_read()).finish_non_exhaustive()
    }
}

impl Decompressed {
    /// Opens a path; `-` is standard input.
    pub fn open(path: &Path, stop: Option<&super::Stop>) -> io::Result<Self> {
        let source = Source::open(path, stop)?;
        let bytes_total = source.length();
        Ok(Self { input: Input::new(source)?.ahead()?, bytes_total })
    }

    /// Size of the file on disk, in bytes; `None` for a pipe.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Bytes of the file on disk, possibly compressed, that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }
}

/// Whether an error says that compressed data is truncated.
pub fn is_cut(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.input.read(buffer)?)
    }
}

impl From<Unread> for io::Error {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Io(error) => error,
            Unread::Cut(how) => Self::new(io::ErrorKind::UnexpectedEof, format!("the {how} data is truncated")),
            Unread::Flawed(how, flaw) => {
                let (expected, found) = flaw.words(how);
                Self::new(io::ErrorKind::InvalidData, format!("expected {expected}, found {found}"))
            }
        }
    }
}

/// Decompresses a sequence of any number of gzip members, xz streams or zstd frames.
struct Decompressor {
    compression: Compression,
    codec: Codec,
    /// Compressed bytes; those in `position..length` are not used yet.
    buffer: Vec<u8>,
    position: usize,
    length: usize,
    file_ended: bool,
    /// What was found in the same call as valid bytes, which must be returned first.
    flaw: Option<Flaw>,
}

enum Codec {
    /// `None` between two gzip members.
    Gzip(Option<Decompress>),
    Xz(xz::Stream),
    Zstd(Zstd),
}

/// The outcome of one call of a codec.
struct Step {
    consumed: usize,
    produced: usize,
    state: State,
}

enum State {
    /// More data can follow.
    Open,
    /// The data is complete.
    Done,
    Flawed(Flaw),
}

impl State {
    fn corrupt(reason: impl Into<String>) -> Self {
        Self::Flawed(Flaw::Corrupt(reason.into()))
    }
}

impl Decompressor {
    fn new(compression: Compression) -> io::Result<Self> {
        let codec = match compression {
            Compression::Gzip => Codec::Gzip(None),
            Compression::Xz => Codec::Xz(xz::Stream::new_stream_decoder(XZ_MEMORY_BYTES, xz::CONCATENATED)?),
            Compression::Zstd => Codec::Zstd(Zstd::new()?),
        };
        let buffer = vec![0; INPUT_BYTES];
        Ok(Self { compression, codec, buffer, position: 0, length: 0, file_ended: false, flaw: None })
    }

    fn read(
        &mut self,
        output: &mut [u8],
        mut read_file: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<usize, Unread> {
        loop {
            if let Some(flaw) = &self.flaw {
                return Err(Unread::Flawed(self.compression, flaw.clone()));
            }
            if self.position == self.length && !self.file_ended {
                // Only then, so that nothing is decompressed again after an error.
                let length = read_file(&mut self.buffer).map_err(Unread::Io)?;
                (self.position, self.length) = (0, length);
                self.file_ended = self.length == 0;
            }
            let input = &self.buffer[self.position..self.length];
            let step = self.codec.step(input, output, self.file_ended);
            self.position += step.consumed;
            let stuck = step.consumed == 0 && step.produced == 0;
            match step.state {
                State::Flawed(flaw) => self.flaw = Some(flaw),
                State::Done if step.produced == 0 => return Ok(0),
                State::Open if stuck && self.file_ended => return Err(Unread::Cut(self.compression)),
                State::Open if stuck && self.position < self.length => {
                    self.flaw = Some(Flaw::Corrupt("data that cannot be decompressed".to_owned()));
                }
                _ => {}
            }
            if step.produced > 0 {
                return Ok(step.produced);
            }
        }
    }
}

impl Codec {
    fn step(&mut self, input: &[u8], output: &mut [u8], file_ended: bool) -> Step {
        match self {
            Self::Gzip(member) => gzip_step(member, input, output, file_ended),
            Self::Xz(stream) => xz_step(stream, input, output, file_ended),
            Self::Zstd(zstd) => zstd.step(input, output, file_ended),
        }
    }
}

impl Step {
    /// Nothing to do between two members or frames: done if the file has ended, too.
    fn idle(file_ended: bool) -> Self {
        Self { consumed: 0, produced: 0, state: if file_ended { State::Done } else { State::Open } }
    }
}

fn gzip_step(member: &mut Option<Decompress>, input: &[u8], output: &mut [u8], file_ended: bool) -> Step {
    if input.is_empty() && member.is_none() {
        return Step::idle(file_ended);
    }
    if member.is_none() && input[0] == 0 {
        // Tapes and some writers pad a block after a member with zeros; gzip itself accepts that, too.
        let zeros = input.iter().take_while(|&&byte| byte == 0).count();
        return Step { consumed: zeros, produced: 0, state: State::Open };
    }
    let stream = member.get_or_insert_with(|| Decompress::new_gzip(15));
    let (consumed, produced) = (stream.total_in(), stream.total_out());
    let result = stream.decompress(input, output, FlushDecompress::None);
    let consumed = (stream.total_in() - consumed) as usize;
    let produced = (stream.total_out() - produced) as usize;
    let state = match result {
        Ok(Status::StreamEnd) => {
            *member = None;
            State::Open
        }
        Ok(Status::Ok | Status::BufError) => State::Open,
        Err(error) => State::corrupt(error.message().unwrap_or("corrupt data")),
    };
    Step { consumed, produced, state }
}

fn xz_step(stream: &mut xz::Stream, input: &[u8], output: &mut [u8], file_ended: bool) -> Step {
    let action = if file_ended { xz::Action::Finish } else { xz::Action::Run };
    let (consumed, produced) = (stream.total_in(), stream.total_out());
    let result = stream.process(input, output, action);
    let state = match result {
        Ok(xz::Status::StreamEnd) => State::Done,
        Ok(_) => State::Open,
        Err(xz::Error::MemLimit) => State::Flawed(Flaw::TooLarge),
        Err(error) => State::corrupt(error.to_string()),
    };
    Step {
        consumed: (stream.total_in() - consumed) as usize,
        produced: (stream.total_out() - produced) as usize,
        state,
    }
}
