//! `dwell net localize`: which segment is to blame for a slow path.

use super::answer::{Answer, granularity, route};
use super::arguments::LocalizeArguments;
use super::map::Map;
use crate::Failure;
use crate::messages;
use crate::output;
use crate::units::time_flag;
use anyhow::{Context, anyhow};
use dwell_capture::Name;
use dwell_capture::file::Decompressed;
use dwell_network::localize::file::{self, Names};
use dwell_network::localize::{Apart, Localization, Reading, Readings, ReadingsError, Routes, Settings};
use dwell_report::json;
use dwell_report::net::{self as report, Intervals, LOCALIZE_SCHEMA, LocalizeReport, Route};
use dwell_report::text::moment;
use dwell_types::Nanos;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(arguments: &LocalizeArguments) -> Result<ExitCode, Failure> {
    let files: Vec<(Option<&str>, PathBuf)> = arguments.measurements.iter().map(|text| split(text)).collect();
    let inputs = files.iter().map(|(_, path)| path).chain([&arguments.map.topology]);
    output::check_stdin(inputs.clone())?;
    arguments.report.check(inputs, arguments.plot.as_ref(), [])?;
    let map = Map::read(&arguments.map.topology, &arguments.map.routing)?;
    let (segments, instrumented) = map.instrument(&arguments.chosen);
    let routes = Routes::new(&segments);
    let asked = arguments.path.as_ref().map(|ends| between(&map, &routes, ends)).transpose()?;
    let paths = asked.clone().unwrap_or_else(|| (0..routes.paths()).collect());
    let (readings, mut warnings) = read(&map, &routes, &files, arguments)?;
    let mut to = arguments.report.open()?;
    let picture = super::picture::open(&map, arguments.plot.as_ref())?;

    let settings = Settings { baseline: arguments.baseline, false_alarms: arguments.false_alarms };
    let found = Localization::new(&routes, &readings, &paths, &settings);
    let answer = Answer { map: &map, routes: &routes, readings: &readings, found: &found };
    warnings.extend(answer.warnings());
    let starts = readings.starts();
    let report = LocalizeReport {
        schema: LOCALIZE_SCHEMA,
        warnings,
        instrumented,
        granularity: segments.granularity().map(granularity),
        intervals: Intervals {
            count: starts.len(),
            baseline: settings.baseline,
            first_ns: starts[0],
            last_ns: starts[starts.len() - 1],
        },
        false_alarms: settings.false_alarms,
        segment_alarm: found.segment_alarm,
        path_alarm: found.path_alarm,
        segments: answer.segments(),
        judged_paths: paths.len(),
        incomplete_paths: found.paths.iter().filter(|(_, verdict)| verdict.is_none()).count(),
        slow_paths: found.paths.iter().filter_map(|(_, verdict)| verdict.as_ref()).filter(|v| found.is_slow(v)).count(),
        path_lines: answer.paths(asked.is_some()),
        changes: answer.changes(),
        network: map.network.clone(),
    };
    messages::warn(&report.warnings);
    let writers = [report::table::write_localize, json::write, report::csv::write_localize];
    super::write(&report, arguments.report.format(), &mut to, writers)?;
    output::finish(to, None, picture, |image, to| {
        super::picture::write(&map, &segments, |routers| answer.shade(routers), image, to)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `SEGMENT=FILE`, or `FILE`, whose name may contain `=` if such a file exists.
fn split(text: &str) -> (Option<&str>, PathBuf) {
    match text.split_once('=').filter(|_| !Path::new(text).exists()) {
        Some((segment, file)) => (Some(segment), file.into()),
        None => (None, text.into()),
    }
}

/// The paths between two routers.
fn between(map: &Map, routes: &Routes, ends: &str) -> Result<Vec<usize>, Failure> {
    let usage = |what: String| Failure::usage(format!("--path {ends}: {what}"));
    let [from, to] = map.routers("--path", ends)?[..] else {
        return Err(usage("expected two routers, separated by a comma".to_owned()));
    };
    if let Some(&end) = [from, to].iter().find(|&&end| !map.topology.has_server(end)) {
        return Err(usage(format!("no measurement server at {}", map.topology.name(end))));
    }
    let paths = routes.paths_between(from, to);
    if paths.is_empty() { Err(usage("no path between them".to_owned())) } else { Ok(paths) }
}

/// The segment through the named routers, or the only one between two of them.
fn segment(map: &Map, routes: &Routes, names: &str) -> Result<u32, Failure> {
    let routers = map.routers("--measurements", names)?;
    if let Some(segment) = routes.find(&routers) {
        return Ok(segment);
    }
    let usage = |what: &str| Failure::usage(format!("--measurements {names}: {what}"));
    let [from, to] = routers[..] else {
        return Err(usage("not a segment: dwell net paths lists them"));
    };
    let mut candidates = routes.between(from, to);
    match (candidates.next(), candidates.next()) {
        (Some(segment), None) => Ok(segment),
        (None, _) => Err(usage("not a segment: dwell net paths lists them")),
        (Some(_), Some(_)) => Err(usage("more than one segment: name the routers between as well")),
    }
}

fn read(
    map: &Map,
    routes: &Routes,
    files: &[(Option<&str>, PathBuf)],
    arguments: &LocalizeArguments,
) -> Result<(Readings, Vec<String>), Failure> {
    let names = Names::new(&map.topology, routes);
    let mut read: Vec<(u32, Reading)> = Vec::new();
    // The file and line of each.
    let mut places: Vec<(&Path, u64)> = Vec::new();
    let mut warnings = Vec::new();
    for (named, path) in files {
        let asked = named.map(|names| segment(map, routes, names)).transpose()?;
        let measurements = Decompressed::open(path, None).with_context(|| Name(path).to_string())?;
        warnings.extend(file::read(path, BufReader::new(measurements), |row| {
            // The segment of the file if it has one, otherwise the one named in the row.
            let segment = asked.map_or_else(|| names.find(path, &row), Ok)?;
            read.push((segment, row.reading));
            places.push((path, row.line));
            Ok(())
        })?);
    }
    if arguments.interval.is_none()
        && let Some(apart) = Apart::of(&read)
    {
        return Err(misaligned(&apart).into());
    }
    let step_ns = arguments.interval.map_or(1, Nanos::get);
    let readings = Readings::new(&read, step_ns).map_err(|error| {
        let ReadingsError::Twice(twice) = error else { return error.into() };
        let Route { from, to, .. } = route(&map.topology, routes.routers(twice.segment));
        let [(first, line), (second, other)] = twice.readings.map(|reading| places[reading]);
        let at = moment(twice.start_ns);
        let first = if first == second { String::new() } else { format!("{}: ", Name(first)) };
        anyhow!(
            "{}: line {other}: '{from}' to '{to}' has two measurements of the interval at {at}, the other is in {first}line \
             {line}",
            Name(second)
        )
    })?;
    let (intervals, baseline) = (readings.starts().len(), arguments.baseline);
    if intervals <= baseline {
        return Err(
            anyhow!("{intervals} intervals: expected more than the {baseline} of the baseline (--baseline)").into()
        );
    }
    Ok((readings, warnings))
}

/// The error for segments that were measured at different times.
fn misaligned(apart: &Apart) -> anyhow::Error {
    let &Apart { starts_ns: [first, second], step_ns } = apart;
    let step = Nanos::new(step_ns);
    anyhow!(
        "segments were measured at different times: intervals of {step} begin at {} and {} later; align them with \
         --interval {}",
        moment(first),
        Nanos::new(second.saturating_sub(first)),
        time_flag(step)
    )
}
