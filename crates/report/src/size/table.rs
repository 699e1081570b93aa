//! Human-readable answers: what was sized, and a table of its errors.

use super::{Bank, Exact, ExpectedError, Parameters, Size, SizeReport, Traffic};
use crate::grid::Grid;
use crate::text;
use dwell_types::Nanos;
use std::io::{self, Write};

/// Writes the answer to a question.
pub fn write(report: &SizeReport, to: &mut impl Write) -> io::Result<()> {
    match &report.traffic {
        Traffic::Rtt { .. } => write_rtt(report, to),
        Traffic::Owd { .. } => write_owd(report, to),
        Traffic::Flows { .. } => write_flows(report, to),
        Traffic::Queue { .. } => write_queue(report, to),
    }
}

fn write_rtt(report: &SizeReport, to: &mut impl Write) -> io::Result<()> {
    if let Some(Exact { open_requests, most_open_requests, command, .. }) = &report.exact {
        let [usual, most] = [*open_requests, *most_open_requests].map(whole);
        writeln!(to, "{usual} requests are open on average, hardly ever more than {most}")?;
        match command {
            Some(command) => writeln!(to, "every exchange: {command}")?,
            None => writeln!(to, "every exchange: needs more memory than this machine has")?,
        }
    }
    if let Some(Size { errors, command: Some(command), .. }) = report.sizes.last() {
        let is_enough = |asked: f64| errors.iter().filter_map(|line| line.error).all(|error| error <= asked);
        match report.asked_error.is_none_or(is_enough) {
            true => writeln!(to, "sampled:        {command}")?,
            false => writeln!(to, "sampled:        no size that this machine has memory for has so small an error")?,
        }
    }
    writeln!(to)?;
    let mut grid = Grid::default();
    grid.row(["memory", "slots", "probability", "samples", "p50", "p95", "p99"]);
    for Size { memory_bytes, parameters, errors, .. } in &report.sizes {
        let Parameters::Fridge { slots, entry_probability } = *parameters else { continue };
        let samples = errors.iter().find_map(|line| line.samples).unwrap_or_default();
        let mut cells = vec![
            text::exact_bytes(*memory_bytes as usize),
            text::count(slots.into()),
            precise(entry_probability),
            whole(samples),
        ];
        cells.extend(errors.iter().map(error));
        grid.row(cells);
    }
    grid.write_right(to)?;
    /// With fewer requests, finding the probability takes a good part of them.
    const MANY: f64 = 1e4;
    let is_short = matches!(
        report.traffic,
        Traffic::Rtt { requests_per_second, span_ns, .. } if requests_per_second * span_ns as f64 / 1e9 < MANY
    );
    let is_certain = |size: &Size| matches!(size.parameters, Parameters::Fridge { entry_probability: 1.0, .. });
    let cost = if is_short && !report.sizes.iter().all(is_certain) {
        "and needs a good\npart of so few requests for that: errors may be ten times these. p50, p95, p99: standard errors; 95%\n\
         of runs err by less than twice that."
    } else {
        "at up to 1.4 times these\nerrors. p50, p95, p99: standard errors; 95% of runs err by less than twice that."
    };
    writeln!(to, "\nprobability: that a request enters the fridge, which finds it at run time, {cost}")
}

fn write_owd(report: &SizeReport, to: &mut impl Write) -> io::Result<()> {
    for size in &report.sizes {
        let Parameters::Lda { cells, cell_bits, banks } = &size.parameters else { continue };
        let bytes = text::count(size.memory_bytes);
        let cells = text::count(*cells as u64);
        writeln!(to, "{bytes} bytes per interval at each point: {cells} cells of {cell_bits} bits")?;
        command(size, to)?;
        let mut grid = Grid::default();
        grid.row(["rows", "sampled"]);
        for &Bank { rows, probability } in banks {
            grid.row([text::count(rows.into()), precise(probability)]);
        }
        writeln!(to)?;
        grid.write_right(to)?;
        let mut grid = Grid::default();
        grid.row(["loss", "packets", "error of the mean"]);
        for line in &size.errors {
            let [loss, samples] = [line.loss_share, line.samples].map(Option::unwrap_or_default);
            grid.row([precise(loss), whole(samples), error(line)]);
        }
        writeln!(to)?;
        grid.write_right(to)?;
    }
    writeln!(
        to,
        "\npackets: sampled for the mean. error of the mean: standard error; 95% of intervals err by less\nthan twice \
         that."
    )
}

fn write_flows(report: &SizeReport, to: &mut impl Write) -> io::Result<()> {
    for size in &report.sizes {
        let Parameters::Lds { rows, columns, cells_per_flow, rates, cell_bits } = &size.parameters else { continue };
        let bytes = text::count(size.memory_bytes);
        let columns = text::count((*columns).into());
        writeln!(to, "{bytes} bytes per interval at each point: {rows} rows of {columns} cells of {cell_bits} bits")?;
        writeln!(to, "(timestamp sum, digest, packet count); {cells_per_flow} per flow and row")?;
        if rates.iter().any(|&rate| rate < 1.0) {
            let rates: Vec<String> = rates.iter().map(|&rate| precise(rate)).collect();
            writeln!(to, "rows sample {} of the packets", rates.join(", "))?;
        }
        command(size, to)?;
        let mut grid = Grid::default();
        grid.row(["packets", "error of the mean"]);
        for line in &size.errors {
            grid.row([text::count(line.flow_packets.unwrap_or_default()), error(line)]);
        }
        writeln!(to)?;
        grid.write_right(to)?;
    }
    writeln!(to, "\npackets: size of a flow. error of the mean: the median over such flows; –: most have no estimate.")
}

fn write_queue(report: &SizeReport, to: &mut impl Write) -> io::Result<()> {
    for size in &report.sizes {
        let Parameters::Conquest { snapshots, windows_ns, counter, rows, columns } = &size.parameters else { continue };
        let windows: Vec<String> = windows_ns.iter().map(|&window| Nanos::new(window).to_string()).collect();
        let bytes = text::count(size.memory_bytes);
        writeln!(to, "{bytes} bytes: {snapshots} snapshots of windows of {}", windows.join(", "))?;
        let columns = text::count((*columns).into());
        match rows {
            Some(rows) => writeln!(to, "each {rows} rows of {columns} counters ({counter})")?,
            None => writeln!(to, "each {columns} entries ({counter})")?,
        }
        command(size, to)?;
        let mut grid = Grid::default();
        for line in &size.errors {
            let parts: [(&str, Option<f64>); 5] = [
                ("error of a flow's share of the queue", line.error),
                ("  due to windows", line.windows_error),
                ("  due to counters", line.counters_error),
                ("culprit precision", line.precision),
                ("culprit recall", line.recall),
            ];
            for (name, share) in parts {
                grid.row([name.into(), text::or_dash(share, precise)]);
            }
        }
        writeln!(to)?;
        grid.write(to)?;
    }
    let packets = report.sizes.iter().flat_map(|size| &size.errors).filter_map(|line| line.samples).sum();
    writeln!(to, "\nerror: mean over the {} simulated packets that reached the threshold.", whole(packets))
}

/// The command that uses this sketch.
fn command(size: &Size, to: &mut impl Write) -> io::Result<()> {
    match &size.command {
        Some(command) => writeln!(to, "as in {command}"),
        None => writeln!(to, "in the library only: the commands divide this memory in another way"),
    }
}

fn whole(number: f64) -> String {
    text::count(number.round() as u64)
}

/// An error in percent, or as a factor from twice on; a dash without samples, or where rates are absurd.
fn error(line: &ExpectedError) -> String {
    match line.error {
        Some(share) if share < 1.0 => precise(share),
        Some(share) if share.is_finite() => format!("×{:.1}", 1.0 + share),
        _ => text::DASH.into(),
    }
}

/// A share in percent, with two significant digits: here shares of millions of packets are not all "<0.1%". A share below 1
/// is never written as 100%: a recall of 100% misses nothing, and a probability of 100% leaves nothing out.
fn precise(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0%".into(),
        percent if (99.5..100.0).contains(&percent) => ">99%".into(),
        percent if percent >= 9.95 => format!("{percent:.0}%"),
        percent if percent >= 0.995 => format!("{percent:.1}%"),
        percent if percent >= 0.0995 => format!("{percent:.2}%"),
        percent if percent >= 0.00095 => format!("{percent:.3}%"),
        _ => "<0.001%".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_two_digits_and_become_factors() {
        let error = |share| error(&ExpectedError { error: share, ..ExpectedError::default() });
        let shares = [None, Some(0.0), Some(4e-6), Some(0.000_12), Some(0.0123), Some(0.42), Some(1.0), Some(11.04)];
        assert_eq!(shares.map(error), ["–", "0%", "<0.001%", "0.012%", "1.2%", "42%", "×2.0", "×12.0"]);
        assert_eq!([0.994, 0.996, 1.0, 1.5].map(precise), ["99%", ">99%", "100%", "150%"]);
        assert_eq!([f64::NAN, f64::INFINITY].map(|share| error(Some(share))), ["–", "–"]);
    }
}
