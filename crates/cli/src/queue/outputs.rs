use super::arguments::{Arguments, Format};
use crate::messages;
use crate::output::{self, Output, RowFile};
use anyhow::Result;
use dwell_report::csv::text;
use dwell_report::json;
use dwell_report::plot::{self, Image};
use dwell_report::queue::{self as report, Episode, QueueReport};
use dwell_sketch::conquest::{Queued, Unit};
use dwell_sketch::queue;
use dwell_types::{Departure, Nanos};

/// The output files, and what is still to be written to them.
pub(super) struct Outputs {
    report: Output,
    plot: Option<(Output, Image)>,
    pub(super) packets: RowFile,
    has_rate_change: bool,
    format: Format,
    unit: Unit,
    threshold: Nanos,
    /// Episodes that are still needed at the end.
    episodes: Vec<Episode>,
}

impl Outputs {
    /// Opens every file, so that a write error is found before the work begins.
    pub(super) fn open(arguments: &Arguments) -> Result<Self> {
        let unit = arguments.unit;
        let size = format!("{}_in_queue", unit.name());
        let columns = ["departed_ns", "flow", "delay_ns", &size, "share", "culprit"];
        let columns = columns.into_iter().chain(arguments.rate_change.then_some("rate_change"));
        Ok(Self {
            report: arguments.report.open()?,
            plot: Output::picture(arguments.plot.as_ref())?,
            packets: RowFile::open(arguments.per_packet.as_deref(), columns)?,
            has_rate_change: arguments.rate_change,
            format: arguments.report.format(),
            unit,
            threshold: arguments.threshold,
            episodes: Vec::new(),
        })
    }

    /// Writes the row of one packet: its delay, and the part of the queue that is of its flow.
    pub(super) fn packet(
        &mut self,
        departure: &Departure,
        queued: Option<&Queued>,
        name: impl FnOnce() -> String,
        rate_change: impl FnOnce() -> Option<f64>,
    ) -> Result<()> {
        if !self.packets.is_open() {
            return Ok(());
        }
        let delay = departure.delay().filter(|_| queued.is_some());
        let rate_change = self.has_rate_change.then(|| text(rate_change()));
        let record = [
            departure.departed.as_nanos().to_string(),
            name(),
            text(delay.map(Nanos::get)),
            text(queued.map(|queued| queued.flow_size)),
            text(queued.and_then(|queued| queued.share)),
            text(queued.map(|queued| queued.is_culprit)),
        ];
        self.packets.write(|rows| rows.write(&record.into_iter().chain(rate_change).collect::<Vec<_>>()))
    }

    pub(super) fn take(&mut self, episodes: Vec<queue::Episode>) -> Result<()> {
        for episode in episodes {
            let episode = Episode::new(&episode, self.unit);
            if self.format == Format::Jsonl {
                json::write_line(&episode, &mut self.report)?;
                self.report.publish()?;
            }
            if self.format != Format::Jsonl || self.plot.is_some() {
                self.episodes.push(episode);
            }
        }
        Ok(())
    }

    /// Writes the report, including its episodes.
    pub(super) fn finish(mut self, mut report: QueueReport) -> Result<()> {
        messages::warn(&report.warnings);
        let is_written = self.format == Format::Jsonl;
        if !is_written {
            report.episodes = std::mem::take(&mut self.episodes);
        }
        let to = &mut self.report;
        match self.format {
            Format::Table => report::table::write(&report, self.threshold, to.plain())?,
            Format::Json => json::write(&report, to)?,
            Format::Jsonl => json::write_line(&report, to)?,
            Format::Csv => report::csv::write(&report, to)?,
        }
        output::finish(self.report, self.packets.into_rows(), self.plot, |image, to| {
            if is_written {
                report.episodes = self.episodes;
            }
            plot::write_queue(&report, image, to)
        })
    }
}
