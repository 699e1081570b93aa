//! `dwell rtt`: response times. The path of a packet through dwell, from the capture to the report.

use crate::Failure;
use crate::frames;
use crate::messages;
use crate::progress::Bar;
use crate::signals::Signals;
use anyhow::anyhow;
use dwell_capture::{CaptureError, CaptureFiles, FrameSource, InputState};
use dwell_logs::{EventLog, LogError};
use dwell_observe::Observer;
use dwell_observe::parse::{self, Key};
use dwell_sketch::reuse::Reuse;
use dwell_sketch::rtt::{RttMeter, Settings};
use dwell_sketch::top_flows::TopFlows;
use dwell_types::{Frame, LinkType, Match, Observation, Sink};
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

// Command-line arguments.
mod arguments;
pub(crate) use arguments::{Arguments, matching, methods};
use arguments::{BY_TCPDUMP, Writing};
// How the memory is divided.
mod memory;
use memory::{Share, flows, meter, names};
// Delays that are known beforehand.
mod prior;
// Assigns samples to packets and flows.
mod followed;
use followed::{FlowPacket, Followed};
// What reports contain besides delays: from packets, or from a log.
mod observed;
use observed::Observed;
// Packets that were captured twice.
mod copies;
use copies::Copies;
// Reports, one or one per interval, and the files that they are written to.
mod intervals;
mod reports;
use reports::Reports;
mod outputs;
use outputs::Outputs;
// Warnings by what was counted.
mod warnings;

pub(crate) fn run(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    arguments.check()?;
    match &arguments.events {
        Some(path) => measure_events(arguments, path, signals),
        None => measure_packets(arguments, signals),
    }
}

fn measure_packets(arguments: &Arguments, signals: &Signals) -> Result<ExitCode, Failure> {
    let paths = arguments.paths();
    let mut source = CaptureFiles::open(paths.iter().copied()).map_err(not_opened)?.until(signals.stop());
    let is_pipe = source.bytes_total().is_none();
    if is_pipe && arguments.interval.is_some() && arguments.report.format().writing() == Writing::AtEnd {
        messages::say("all intervals are written at the end; --format jsonl or csv writes each one as it ends");
    }
    let mut observer = observer(arguments);
    let settings = settings(arguments, arguments.matches(), arguments.group.is_some())?;
    let (flows, taken) = flows(arguments, &settings).unzip();
    let overhead = observer.overhead();
    let mut meter = meter(arguments, settings, |memory| overhead.of(memory), taken)?;
    let mut outputs = Outputs::open(arguments)?;
    let mut followed = (outputs.wants_samples() || flows.is_some()).then(|| Followed::new(flows, arguments.ambiguous));
    let mut reports = Reports::new(arguments, paths.iter().map(|p| p.display().to_string()).collect());
    let mut progress = Bar::of_bytes(source.bytes_total());
    let mut copies = Copies::new(arguments.seed);
    let mut left = arguments.count.unwrap_or(u64::MAX);

    while let Some(frame) = source.next_frame()? {
        if let Some(at) = frame.at {
            if reports.is_interval_over(at) {
                give(&mut followed, &mut meter, &mut outputs, &observer)?;
                reports.end_interval(at, &mut meter, &observed(&observer, &followed), &mut outputs)?;
                followed.iter_mut().filter_map(|followed| followed.flows.as_mut()).for_each(TopFlows::reset);
            }
            reports.see(at);
        }
        if let Some(followed) = &mut followed {
            let Frame { at, link, bytes, wire_length } = frame;
            let packet = at.and_then(|_| flow_packet(link, bytes, wire_length, arguments.key));
            followed.follow(packet, &mut meter);
        }
        copies.see(&frame);
        observer.observe(&frame, &mut meter);
        // Samples must not be held back while this waits for more packets.
        let is_used_up = followed.is_some() && source.is_used_up();
        if is_used_up || followed.as_ref().is_some_and(Followed::is_full) {
            give(&mut followed, &mut meter, &mut outputs, &observer)?;
        }
        if is_used_up {
            outputs.flush_samples()?;
        }
        progress.step(|| source.bytes_read());
        left -= 1;
        if left == 0 || outputs.samples.has_failed() {
            break;
        }
    }

    progress.end();
    give(&mut followed, &mut meter, &mut outputs, &observer)?;
    reports.warn(source.warnings().iter().map(ToString::to_string));
    reports.warn(frames::warnings(&observer, &arguments.inside));
    reports.warn_of_copies(&copies);
    reports.warn(outputs.samples.warning());
    let code = reports.see_end(source.is_stopped(), source.is_damaged() || outputs.samples.has_failed(), signals);
    reports.finish(&mut meter, &observed(&observer, &followed), outputs)?;
    Ok(code)
}

/// Why a capture cannot be opened; if it does not exist and may be meant as a filter, also what to do instead.
fn not_opened(error: CaptureError) -> anyhow::Error {
    let name = error.path().to_string_lossy();
    let is_filter = name.contains(' ') || !name.contains(['.', '/']);
    match &error {
        CaptureError::Io { error: why, .. } if why.kind() == ErrorKind::NotFound && is_filter => {
            anyhow!("{error}; {BY_TCPDUMP}")
        }
        _ => error.into(),
    }
}

/// What reports contain on packets besides delays.
fn observed<'a>(observer: &'a Observer, followed: &'a Option<Followed>) -> Observed<'a> {
    Observed::Packets(observer, followed.as_ref().and_then(|followed| followed.flows.as_ref()))
}

/// Passes on the samples of the followed packets, if there are any.
#[inline(never)]
fn give(
    followed: &mut Option<Followed>,
    meter: &mut RttMeter,
    outputs: &mut Outputs,
    observer: &Observer,
) -> Result<(), Failure> {
    let Some(followed) = followed else { return Ok(()) };
    Ok(followed.give(meter, outputs, |group| observer.group_name(group))?)
}

fn measure_events(arguments: &Arguments, path: &Path, signals: &Signals) -> Result<ExitCode, Failure> {
    let names = names(arguments);
    let most_groups = usize::from(arguments.max_groups);
    let bytes = |share: Share| share.of(arguments.memory);
    let mut events = EventLog::open(path, most_groups, names.map(bytes), arguments.seed, Some(signals.stop()))?;
    let settings = settings(arguments, vec![Match::Events], events.has_groups())?;
    let names = names.filter(|_| events.has_groups());
    let mut reuse = Reuse::default();
    // Without what the names may still take, which they get beside the tables.
    let tables = events.state_bytes() + size_of_val(&reuse) - names.map_or(0, bytes);
    let mut meter = meter(arguments, settings, |_| tables, names)?;
    let mut outputs = Outputs::open(arguments)?;
    let mut followed = Followed::new(None, arguments.ambiguous);
    let mut reports = Reports::new(arguments, vec![path.display().to_string()]);
    let mut progress = Bar::of_bytes(events.lines().bytes_total());

    while let Some(seen) = events.next_observation()? {
        if reports.is_interval_over(events.at()) {
            followed.give(&mut meter, &mut outputs, |group| events.group_name(group))?;
            reports.end_interval(events.at(), &mut meter, &Observed::Events(&events, &reuse), &mut outputs)?;
        }
        reports.see(events.at());
        if outputs.wants_samples() {
            followed.follow(None, &mut meter);
        }
        match &seen {
            Observation::Request(request) => reuse.see_request(request.id),
            Observation::Response(response) => reuse.see_response(response.id),
        }
        meter.take(seen);
        // Samples must not be held back while this waits for more lines.
        let is_used_up = outputs.wants_samples() && events.lines().is_used_up();
        if is_used_up || followed.is_full() {
            followed.give(&mut meter, &mut outputs, |group| events.group_name(group))?;
        }
        if is_used_up {
            outputs.flush_samples()?;
        }
        progress.step(|| events.lines().bytes_read());
        if outputs.samples.has_failed() {
            break;
        }
    }

    progress.end();
    followed.give(&mut meter, &mut outputs, |group| events.group_name(group))?;
    reports.warn(events.warnings());
    reports.warn(warnings::reused(&meter, &reuse));
    reports.warn(outputs.samples.warning());
    let is_damaged = events.lines().is_damaged() || outputs.samples.has_failed();
    let code = reports.see_end(events.lines().is_stopped(), is_damaged, signals);
    reports.finish(&mut meter, &Observed::Events(&events, &reuse), outputs)?;
    Ok(code)
}

fn observer(arguments: &Arguments) -> Observer {
    Observer::new(dwell_observe::Settings {
        matches: arguments.matches(),
        key: arguments.key,
        inside: arguments.inside.clone(),
        group: arguments.group,
        max_groups: usize::from(arguments.max_groups),
        seed: arguments.seed,
        ids: arguments.method.ids(),
        memory: arguments.memory,
    })
}

fn settings(arguments: &Arguments, matches: Vec<Match>, has_groups: bool) -> Result<Settings, LogError> {
    Ok(Settings {
        matches,
        has_inside: !arguments.inside.is_empty(),
        groups: if has_groups { arguments.max_groups + 1 } else { 1 },
        method: arguments.method,
        memory: arguments.memory,
        expiry: arguments.expiry,
        parameters: arguments.parameters(arguments.prior.as_deref().map(prior::read).transpose()?),
        ambiguous: arguments.ambiguous,
        seed: arguments.seed,
        has_intervals: arguments.interval.is_some(),
        keeps_samples: arguments.wants_samples() || arguments.flows,
    })
}

/// The flow of a frame that will be observed. It is not inlined and takes the frame's fields separately, so that
/// the main loop of most runs, which do not need it, keeps its registers and does not spill the frame to memory.
#[inline(never)]
fn flow_packet(link: LinkType, bytes: &[u8], wire_length: u32, key: Key) -> Option<FlowPacket> {
    let packet = parse::parse(link, bytes, wire_length, key).ok()?;
    Some((packet.flow, packet.length))
}
