use super::{Direct, Unread};
use std::io::{self, Read};
use std::mem;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// Number of blocks: one in use, one being filled, and two that even out the pace of both sides.
const BLOCKS: usize = 4;

/// Size of a block.
const BLOCK_BYTES: usize = 256 << 10;

/// Decompressed bytes, from a thread that decompresses the next ones while these are used.
pub(in crate::file) struct Ahead {
    filled: Receiver<Result<Block, Unread>>,
    /// Where blocks return to when they are used up.
    used: Sender<Block>,
    block: Block,
    /// Number of bytes of the block that are used.
    position: usize,
    has_ended: bool,
}

struct Block {
    bytes: Box<[u8]>,
    /// Number of bytes that are filled; none at the end of the data.
    length: usize,
    /// Bytes of the file on disk that were read until the block was filled.
    bytes_read: u64,
}

impl Ahead {
    /// Starts a thread for the rest of `input`. It ends with the data, or soon after this is dropped.
    pub(super) fn new<R: Read + Send + 'static>(input: Direct<R>) -> io::Result<Self> {
        let (filled_sender, filled) = mpsc::channel();
        let (used, used_receiver) = mpsc::channel();
        let bytes_read = input.bytes_read();
        let fill = move || fill(input, &used_receiver, &filled_sender);
        thread::Builder::new().name("decompress".to_owned()).spawn(fill)?;
        let [block, others @ ..] = [(); BLOCKS].map(|()| {
            let bytes = vec![0; BLOCK_BYTES].into_boxed_slice();
            Block { bytes, length: 0, bytes_read }
        });
        let this = Self { filled, used, block, position: 0, has_ended: false };
        others.into_iter().for_each(|block| this.give_back(block));
        Ok(this)
    }

    /// Bytes of the file on disk that were read until the current block was filled.
    pub(super) fn bytes_read(&self) -> u64 {
        self.block.bytes_read
    }

    /// Reads at least one byte, except at the end and after an error.
    pub(super) fn read(&mut self, output: &mut [u8]) -> Result<usize, Unread> {
        if self.position == self.block.length && !self.has_ended {
            let block =
                self.filled.recv().unwrap_or_else(|_| Err(Unread::Io(io::Error::other("decompression failed"))));
            self.has_ended = block.as_ref().map_or(true, |block| block.length == 0);
            let used = mem::replace(&mut self.block, block?);
            self.position = 0;
            self.give_back(used);
        }
        let unused = &self.block.bytes[self.position..self.block.length];
        let count = unused.len().min(output.len());
        output[..count].copy_from_slice(&unused[..count]);
        self.position += count;
        Ok(count)
    }

    fn give_back(&self, block: Block) {
        // A thread that has ended needs no blocks; why it ended is among the filled ones.
        let _ = self.used.send(block);
    }
}

/// Fills used blocks until the data or an error ends it, or nobody reads any more.
fn fill(mut input: Direct<impl Read>, used: &Receiver<Block>, filled: &Sender<Result<Block, Unread>>) {
    for mut block in used {
        let result = input.read(&mut block.bytes);
        let is_last = !matches!(result, Ok(1..));
        let block = result.map(|length| Block { length, bytes_read: input.bytes_read(), ..block });
        if filled.send(block).is_err() || is_last {
            break;
        }
    }
}
