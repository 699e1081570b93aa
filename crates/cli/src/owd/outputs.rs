use super::arguments::{Format, OutputArguments};
use crate::messages;
use crate::output::{self, Output, RowFile};
use anyhow::Result;
use dwell_report::json;
use dwell_report::openmetrics::Label;
use dwell_report::owd::samples::{COLUMNS, Sample};
use dwell_report::owd::{self as report, Interval, OwdReport};
use dwell_report::plot::{self, Image};
use std::path::{Path, PathBuf};

/// Output files, and the intervals for them: written as they end, or kept for the end.
pub(super) struct Outputs {
    report: Output,
    plot: Option<(Output, Image)>,
    cdf: Option<(Output, Image)>,
    pub(super) samples: RowFile,
    format: Format,
    labels: Vec<Label>,
    /// Whether the report includes the intervals.
    has_intervals: bool,
    /// The intervals still needed at the end.
    intervals: Vec<Interval>,
}

impl Outputs {
    /// Opens every file, so that one that cannot be written is reported before the work begins.
    pub(super) fn open(
        arguments: &OutputArguments,
        cdf: Option<&(PathBuf, Image)>,
        samples: Option<&Path>,
        has_intervals: bool,
    ) -> Result<Self> {
        Ok(Self {
            report: arguments.report.open()?,
            plot: Output::picture(arguments.plot.as_ref())?,
            cdf: Output::picture(cdf)?,
            samples: RowFile::open(samples, COLUMNS)?,
            format: arguments.report.format(),
            labels: arguments.metrics.labels.clone(),
            has_intervals: match arguments.report.format() {
                Format::Table => has_intervals,
                Format::Json | Format::Csv => true,
                Format::Jsonl | Format::Openmetrics => false,
            },
            intervals: Vec::new(),
        })
    }

    pub(super) fn write_samples(&mut self, samples: &[Sample]) -> Result<()> {
        samples.iter().try_for_each(|sample| self.samples.write(|rows| rows.write(sample)))
    }

    pub(super) fn take(&mut self, intervals: Vec<Interval>) -> Result<()> {
        for interval in intervals {
            if self.format == Format::Jsonl {
                json::write_line(&interval, &mut self.report)?;
                self.report.publish()?;
            }
            if self.has_intervals || self.plot.is_some() {
                self.intervals.push(interval);
            }
        }
        Ok(())
    }

    /// Writes the report, including its intervals.
    pub(super) fn finish(mut self, mut report: OwdReport) -> Result<()> {
        messages::warn(&report.warnings);
        if self.has_intervals {
            report.intervals = std::mem::take(&mut self.intervals);
        }
        let to = &mut self.report;
        match self.format {
            Format::Table => report::table::write(&report, to.plain())?,
            Format::Json => json::write(&report, to)?,
            Format::Jsonl => json::write_line(&report, to)?,
            Format::Csv => report::csv::write(&report, to)?,
            Format::Openmetrics => report::openmetrics::write(&report, &self.labels, to)?,
        }
        if !self.has_intervals {
            report.intervals = self.intervals;
        }
        let rows = self.samples.into_rows();
        output::finish(self.report, rows, self.plot, |image, to| plot::write_owd(&report, image, to))?;
        output::draw(self.cdf, |image, to| plot::write_owd_cdf(&report, image, to))
    }
}
