//! Measures how fast frames are generated; with a file name, writes them to a pcap file.
//!
//! `cargo run --release -p dwell-simulate --example packets [small|speed [FILE [SNAP_LENGTH]]]`

use dwell_capture::file::PcapWriter;
use dwell_simulate::packet::{PacketWorkload, Settings};
use dwell_types::LinkType;
use std::error::Error;
use std::fs::File;

/// CPU time of this thread so far, in seconds; more meaningful than wall time on a busy machine.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut settings = match arguments.first().map(String::as_str) {
        None | Some("speed") => Settings::speed(),
        Some("small") => Settings::small(),
        Some(other) => return Err(format!("no preset \"{other}\": expected small or speed").into()),
    };
    if let Some(length) = arguments.get(2) {
        settings.snap_length = length.parse()?;
    }
    let mut workload = PacketWorkload::new(&settings, 1)?;
    let mut writer = match arguments.get(1) {
        Some(path) => Some(PcapWriter::new(File::create(path)?, LinkType::ETHERNET, settings.snap_length)?),
        None => None,
    };
    let started = processor_seconds();
    let (mut kept, mut open) = (0, 0);
    while let Some(frame) = workload.next_frame() {
        kept += frame.bytes.len();
        if let (Some(writer), Some(at)) = (&mut writer, frame.at) {
            writer.write(at, frame.wire_length, frame.bytes)?;
        }
        open = open.max(workload.open_flows());
    }
    if let Some(writer) = writer {
        writer.finish()?;
    }
    let seconds = processor_seconds() - started;
    let truth = workload.truth();
    let frames = truth.frames as f64;
    println!("{frames} frames, {:.1} bytes kept of each, {open} connections open at most", kept as f64 / frames);
    println!("{seconds:.3} s of CPU, {:.2} M frames/s", frames / seconds / 1e6);
    println!("{truth:#?}");
    Ok(())
}
