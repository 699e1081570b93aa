//! A recorded capture whose frames are sent again.

use anyhow::{Result, anyhow};
use dwell_capture::{CaptureFiles, FrameSource, InputState, Name};
use dwell_report::text;
use dwell_types::{Frame, LinkType, Nanos, Timestamp};
use std::path::{Path, PathBuf};

/// Maps recorded times to simulated ones.
pub(super) struct Pace {
    pub(super) start: Timestamp,
    speed_up: f64,
    /// The last packet's time, in nanoseconds since the start, and the number of packets so far.
    pub(super) last: f64,
    pub(super) count: u64,
}

impl Pace {
    pub(super) const fn new(speed_up: f64) -> Self {
        Self { start: Timestamp::from_nanos(0), speed_up, last: 0.0, count: 0 }
    }

    /// Whether a packet is earlier than its predecessor.
    pub(super) fn is_late(&self, at: Timestamp) -> bool {
        self.count > 0 && self.since(at) < self.last
    }

    fn since(&self, at: Timestamp) -> f64 {
        (at - self.start).get() as f64 / self.speed_up
    }

    /// The number of the next packet and its time, in nanoseconds since the first one; one that is earlier than its
    /// predecessor counts as simultaneous.
    pub(super) fn next(&mut self, at: Timestamp) -> (u64, f64) {
        if self.count == 0 {
            self.start = at;
        }
        self.last = self.since(at).max(self.last);
        self.count += 1;
        (self.count, self.last)
    }

    /// The last packet's time.
    pub(super) fn time(&self) -> Timestamp {
        self.start + Nanos::new(self.last as i64)
    }
}

/// A capture that is replayed frame by frame.
pub(super) struct Replay {
    files: CaptureFiles,
    path: PathBuf,
    /// The link type of all frames, that of the first one.
    pub(super) link: LinkType,
    pub(super) pace: Pace,
    /// Frames so far.
    total: u64,
    /// Frames with an earlier time than the one before them.
    late: u64,
}

impl Replay {
    pub(super) fn open(path: &Path, speed_up: f64) -> Result<Self> {
        let (files, path) = (CaptureFiles::open([path])?, path.to_owned());
        Ok(Self { files, path, link: LinkType::ETHERNET, pace: Pace::new(speed_up), total: 0, late: 0 })
    }

    pub(super) fn name(&self) -> Name<'_> {
        Name(&self.path)
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.files.is_damaged()
    }

    /// What is made of the next frame that has a timestamp, and of that; `None` at the end.
    pub(super) fn next<T>(&mut self, take: impl FnOnce(&Frame<'_>, &mut Pace, Timestamp) -> T) -> Result<Option<T>> {
        while let Some(frame) = self.files.next_frame()? {
            self.total += 1;
            let Some(at) = frame.at else { continue };
            if self.pace.count == 0 {
                self.link = frame.link;
            }
            if frame.link != self.link {
                return Err(anyhow!(
                    "{}: frame {} has another link type ({}) than those before it ({}): one pcap file holds one",
                    Name(&self.path),
                    self.total,
                    frame.link.0,
                    self.link.0
                ));
            }
            self.late += u64::from(self.pace.is_late(at));
            return Ok(Some(take(&frame, &mut self.pace, at)));
        }
        Ok(None)
    }

    /// Warnings about the file; `others` follow those about single frames.
    pub(super) fn warnings(&self, others: impl IntoIterator<Item = String>) -> Vec<String> {
        let name = self.name();
        let mut warnings: Vec<String> = self.files.warnings().iter().map(ToString::to_string).collect();
        let untimed = self.total - self.pace.count;
        if untimed > 0 {
            warnings.push(format!("{name}: {} without a timestamp and left out", text::are(untimed, "frame")));
        }
        warnings.extend(others);
        if self.late > 0 {
            warnings.push(format!(
                "{name}: {} out of time order, arriving with the one before",
                text::are(self.late, "frame")
            ));
        }
        warnings
    }
}
