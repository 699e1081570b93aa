use super::arguments::{Arguments, Format, Writing};
use crate::messages;
use crate::output::{self, Output, RowFile};
use anyhow::Result;
use dwell_report::csv::Rows;
use dwell_report::json;
use dwell_report::openmetrics::Label;
use dwell_report::plot::{self, Image};
use dwell_report::rtt::{RttReport, csv, openmetrics, ppviz, samples, table};
use dwell_sketch::Sample;
use dwell_sketch::distribution::Ambiguous;
use dwell_types::{FlowKey, Series};
use std::collections::BTreeSet;

/// The outputs of a run.
pub(super) struct Outputs {
    report: Output,
    format: Format,
    /// Whether the column names of CSV have been written.
    has_head: bool,
    /// What OpenMetrics has counted, and whether its file is replaced as each interval ends.
    counted: openmetrics::Counted,
    labels: Vec<Label>,
    is_replaced: bool,
    plot: Option<(Output, Image)>,
    pub(super) samples: RowFile,
    ppviz: Option<ppviz::Writer<Output>>,
    unsaid: Unsaid,
    ambiguous: Ambiguous,
}

/// What the lines of ppviz, which come without a report, do not say of the samples.
#[derive(Default)]
struct Unsaid {
    samples: u64,
    ambiguous: u64,
    /// The largest weight.
    weight: f64,
}

impl Unsaid {
    fn add(&mut self, sample: &Sample) {
        self.samples += 1;
        self.ambiguous += u64::from(sample.is_ambiguous());
        self.weight = self.weight.max(sample.weight);
    }

    /// Says how many delays are one of two bounds, as in many captures some are, and warns of weights.
    fn say(&self, ambiguous: Ambiguous) {
        let what = match ambiguous {
            Ambiguous::Drop => "exchanges are left out",
            Ambiguous::Last => "delays are from the last of several requests on",
            Ambiguous::Bounds | Ambiguous::First => "delays are from the first of several requests on",
        };
        if self.ambiguous > 0 {
            messages::say(&format!(
                "{} of {} {what}: which copy was answered is not known (--ambiguous)",
                self.ambiguous, self.samples
            ));
        }
        // Less would be rounded to 1.
        let weighted = (self.weight >= 1.005).then(|| {
            format!(
                "samples stand for up to {:.2} exchanges each, which this format cannot say: use --samples",
                self.weight
            )
        });
        messages::warn(weighted);
    }
}

impl Outputs {
    /// Opens every file, so that one that cannot be written is known before the work begins.
    pub(super) fn open(arguments: &Arguments) -> Result<Self> {
        let (format, report) = (arguments.report.format(), || arguments.report.open());
        let is_ppviz = format.writing() == Writing::Samples;
        Ok(Self {
            // With ppviz the samples are the only report.
            report: if is_ppviz { Output::stdout() } else { report()? },
            format,
            has_head: false,
            counted: openmetrics::Counted::default(),
            labels: arguments.metrics.labels.clone(),
            is_replaced: arguments.interval.is_some(),
            plot: Output::picture(arguments.plot.as_ref())?,
            samples: RowFile::open(arguments.samples.as_deref(), samples::COLUMNS)?,
            ppviz: if is_ppviz { Some(ppviz::Writer::new(report()?)) } else { None },
            unsaid: Unsaid::default(),
            ambiguous: arguments.ambiguous,
        })
    }

    /// Whether the reports of intervals are still needed at the end.
    pub(super) fn needs_reports(&self) -> bool {
        self.plot.is_some() || self.format.writing() == Writing::AtEnd
    }

    /// Writes a report, or counts it, unless the format needs all reports at once.
    pub(super) fn report(&mut self, report: &RttReport) -> Result<()> {
        match self.format {
            Format::Jsonl => json::write_line(report, &mut self.report)?,
            Format::Csv => {
                if !std::mem::replace(&mut self.has_head, true) {
                    csv::write_head(&mut self.report)?;
                }
                csv::write_rows(report, &mut self.report)?;
            }
            Format::Openmetrics => {
                self.counted.add(report);
                if self.is_replaced {
                    self.counted.write(report, &self.labels, &mut self.report)?;
                    self.report.finish_and_begin_anew()?;
                }
                return Ok(());
            }
            Format::Table | Format::Json | Format::Ppviz => return Ok(()),
        }
        self.report.publish()
    }

    pub(super) fn wants_samples(&self) -> bool {
        self.samples.is_open() || self.ppviz.is_some()
    }

    /// Writes a sample. An ambiguous one has the delay chosen by `--ambiguous`, or the longer one with both bounds.
    pub(super) fn sample(&mut self, series: Series, sample: &Sample, group: &str, flow: Option<FlowKey>) -> Result<()> {
        self.unsaid.add(sample);
        let delay = match self.ambiguous {
            Ambiguous::Drop if sample.is_ambiguous() => return Ok(()),
            Ambiguous::Last => sample.since_last,
            _ => sample.since_first,
        };
        let line = samples::Sample {
            at: sample.at,
            delay,
            weight: sample.weight,
            inserted_since: sample.inserted_since,
            matching: series.matching,
            leg: series.leg,
            group,
            flow,
        };
        self.samples.write(|rows| rows.write(&line))?;
        if let Some(ppviz) = &mut self.ppviz {
            ppviz.write(&line)?;
        }
        Ok(())
    }

    /// Flushes all samples so far.
    pub(super) fn flush_samples(&mut self) -> Result<()> {
        self.samples.write(Rows::flush)?;
        if let Some(ppviz) = &mut self.ppviz {
            ppviz.flush()?;
        }
        Ok(())
    }

    /// Writes what can only be written at the end, and completes all files: `reports` are all that are kept, or the
    /// last one.
    pub(super) fn finish(mut self, reports: &[RttReport], is_series: bool) -> Result<()> {
        let to = &mut self.report;
        match (self.format, reports) {
            (Format::Table, [report]) if !is_series => table::write(report, to.plain())?,
            (Format::Table, reports) => table::write_series(reports, to.plain())?,
            (Format::Json, [report]) if !is_series => json::write(report, to)?,
            (Format::Json, reports) => json::write(&reports, to)?,
            // The last interval again, if each replaces the file: another one was begun.
            (Format::Openmetrics, [.., last]) => self.counted.write(last, &self.labels, to)?,
            // Jsonl and CSV are written already, and ppviz has no report.
            (Format::Jsonl | Format::Csv | Format::Ppviz | Format::Openmetrics, _) => (),
        }
        if let Some(ppviz) = self.ppviz {
            ppviz.finish()?.finish()?;
            self.unsaid.say(self.ambiguous);
        }
        output::finish(self.report, self.samples.into_rows(), self.plot, |image, to| {
            let lines = reports.iter().flat_map(|report| &report.results);
            output::warn_of_letters(image, lines.map(|line| line.group.as_str()).collect::<BTreeSet<_>>());
            match reports {
                [report] if !is_series => plot::write(report, image, to),
                reports => plot::write_series(reports, image, to),
            }
        })
    }
}
