//! `dwell owd sketch`: sketches the packets that pass one point, interval by interval.

use super::arguments::SketchArguments;
use super::sketches::{cutter, params};
use super::weights::Weights;
use crate::Failure;
use crate::messages;
use crate::output::Output;
use crate::points::Point;
use crate::progress::Bar;
use crate::signals::Signals;
use anyhow::Result;
use dwell_capture::Name;
use dwell_observe::crossing::Directions;
use dwell_sketch::summary::{FlowList, Message, Shares, Summary};
use dwell_types::{Address, FlowKey, Nanos};
use foldhash::HashMap;
use std::io::Write;
use std::process::ExitCode;

/// The source of the first packet between each pair of addresses, the lower one first.
#[derive(Default)]
struct FirstSources(HashMap<[Address; 2], Address>);

impl FirstSources {
    /// Maximum number of pairs remembered.
    const MOST: usize = 1 << 16;

    /// The source of earlier packets between these addresses, if they went the other way.
    fn opposite(&mut self, key: &FlowKey) -> Option<Address> {
        let mut pair = [key.source, key.destination];
        pair.sort_unstable();
        match self.0.get(&pair) {
            Some(&first) => (first != key.source).then_some(first),
            None => {
                if self.0.len() < Self::MOST {
                    self.0.insert(pair, key.source);
                }
                None
            }
        }
    }
}

/// `dwell owd sketch`.
pub(super) fn sketch(arguments: &SketchArguments, signals: &Signals) -> Result<ExitCode, Failure> {
    arguments.check()?;
    let weights = Weights::new(arguments.expected.weights.as_deref(), &arguments.point, signals.stop())?;
    let flow_bytes = arguments.flows.then_some(arguments.flow_bytes);
    let params = params(arguments.sketch_bytes, flow_bytes, &weights, &arguments.expected, &arguments.point)?;
    let mut flows = FlowList::new(if arguments.flows { Shares::MOST_LISTED } else { 0 });
    let mut cutter = cutter(&params, &arguments.point, arguments.shift)?;
    let directions = Directions::given(&arguments.point.from, false);
    let mut sources = arguments.point.from.is_empty().then(FirstSources::default);
    let reading = arguments.point.reading(arguments.group);
    let mut point = Point::open(&arguments.capture, &reading, &directions, Nanos::ZERO, signals.stop())?;
    let mut to = Output::file(&arguments.output)?;
    let mut progress = Bar::of_bytes(point.state().bytes_total());
    let mut packets = 0u64;
    while let Some(seen) = point.peek() {
        let opposite = |(sources, key): (&mut FirstSources, FlowKey)| Some((sources.opposite(&key)?, key.source));
        if let Some((one, other)) = sources.as_mut().zip(point.key()).and_then(opposite) {
            let name = Name(&arguments.capture);
            return Err(Failure::usage(format!(
                "{name}: holds packets from {one} to {other} and back, and sketches cannot tell directions apart: \
                 name the sender's side with --from PREFIX"
            )));
        }
        let class = weights.class(seen, &point);
        let listed = flows.update(&seen.crossing, class, || point.flow_name());
        cutter.update_flow(&seen.crossing, class, listed);
        write(cutter.take(), &mut to)?;
        point.advance()?;
        packets += 1;
        progress.step(|| point.state().bytes_read());
    }
    progress.end();
    cutter.end();
    let code = signals.end(point.is_stopped(), point.state().is_damaged());
    write(cutter.take(), &mut to)?;
    if arguments.flows {
        to.write_all(&Message::Flows(flows).to_bytes())?;
    }
    to.finish()?;
    messages::warn(point.warnings().into_iter().chain(point.too_long()));
    let doubt = if arguments.point.from.is_empty() { "" } else { ": is --from the sender's side?" };
    let empty = || format!("no packet was sketched, so that there is nothing to join{doubt}");
    messages::warn((packets == 0).then(empty));
    messages::warn(signals.warning(point.is_stopped()));
    Ok(code)
}

fn write(summaries: Vec<Summary>, to: &mut Output) -> Result<()> {
    for summary in summaries {
        to.write_all(&Message::Summary(summary).to_bytes())?;
    }
    Ok(())
}
