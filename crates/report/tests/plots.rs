//! Plots: their size, their content, and that they are reproducible. They are left in `target/tmp` for inspection.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use dwell_report::plot::{self, Image};
use dwell_report::rtt::RttReport;
use std::collections::HashMap;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

fn file(name: &str, bytes: &[u8]) {
    fs::write(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name), bytes).unwrap();
}

fn pixels(bytes: &[u8]) -> HashMap<[u8; 3], usize> {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    assert_eq!((info.width, info.height), (1_800, 1_200));
    let mut colours = HashMap::new();
    for pixel in data.chunks_exact(3) {
        *colours.entry([pixel[0], pixel[1], pixel[2]]).or_default() += 1;
    }
    colours
}

#[test]
fn distribution_functions() {
    for (name, report, curves) in [("exact", common::exact(), 4), ("sampled", common::sampled(), 5)] {
        let mut png = Vec::new();
        plot::write(&report, Image::Png, &mut png).unwrap();
        file(&format!("rtt-{name}.png"), &png);
        let colours = pixels(&png);
        let palette =
            [[0x00, 0x72, 0xb2], [0xd5, 0x5e, 0x00], [0x00, 0x9e, 0x73], [0xcc, 0x79, 0xa7], [0xe6, 0x9f, 0x00]];
        for (i, colour) in palette.iter().enumerate() {
            let drawn = colours.get(colour).copied().unwrap_or(0);
            assert_eq!(drawn > 200, i < curves, "{name}: {drawn} pixels of curve {i}");
        }
        assert!(colours[&[255, 255, 255]] > 1_000_000, "{name} is mostly white");

        let mut svg = Vec::new();
        plot::write(&report, Image::Svg, &mut svg).unwrap();
        file(&format!("rtt-{name}.svg"), &svg);
        let text = String::from_utf8(svg).unwrap();
        assert!(text.starts_with("<svg width=\"900\" height=\"600\" viewBox=\"0 0 3600 2400\""), "{}", &text[..80]);
        assert!(text.trim_end().ends_with("</svg>") && !text.contains("NaN"));
        for label in ["\n1 ms\n", "\n100 ms\n", "\n100%\n", "tcp-ack", "p99"] {
            assert!(text.contains(label), "{name} lacks {label:?}");
        }
        let mut again = Vec::new();
        plot::write(&report, Image::Svg, &mut again).unwrap();
        assert_eq!(again, text.as_bytes(), "{name} repeats");
    }
}

#[test]
fn series() {
    let mut png = Vec::new();
    plot::write_series(&common::series(0.05), Image::Png, &mut png).unwrap();
    file("rtt-series.png", &png);
    assert!(pixels(&png).get(&[0x00, 0x72, 0xb2]).copied().unwrap_or(0) > 200);
    let mut svg = Vec::new();
    plot::write_series(&common::series(0.05), Image::Svg, &mut svg).unwrap();
    file("rtt-series.svg", &svg);
    let text = String::from_utf8(svg).unwrap();
    for label in ["tcp-ack outward", "tcp-ack inward", "22:14:00", "p50", "p95", "p99"] {
        assert!(text.contains(&format!("\n{label}\n")), "lacks {label:?}");
    }
}

/// What makes quantiles uncertain where every exchange was measured: repeated requests, or only the bins of delays, which
/// have no bands in a distribution function.
#[test]
fn bands_are_explained_by_their_cause() {
    let bands = |report: &RttReport| {
        let (mut function, mut series) = (Vec::new(), Vec::new());
        plot::write(report, Image::Svg, &mut function).unwrap();
        plot::write_series(std::slice::from_ref(report), Image::Svg, &mut series).unwrap();
        [function, series].map(|svg| {
            let text = String::from_utf8(svg).unwrap();
            let (_, rest) = text.split_once("Bands: ")?;
            rest.split('.').next().map(str::to_owned)
        })
    };
    let binned = {
        let mut report = common::bounded();
        report.results[0].ambiguous_samples = 0;
        report
    };
    assert_eq!(bands(&binned), [None, Some("the bins in which delays are stored".to_owned())]);
    let mut repeated = common::bounded();
    repeated.results[0].cdf.last_mut().unwrap().share.low = 0.9;
    assert_eq!(bands(&repeated), [(); 2].map(|()| Some("what repeated requests leave open".to_owned())));
    // Those of short delays, which change no quantile that is shown.
    let mut few = common::exact();
    few.results[0].ambiguous_samples = 40;
    few.results[0].cdf[0].share.high = 0.1;
    assert_eq!(bands(&few)[0], bands(&repeated)[0]);
    assert_eq!(bands(&common::exact()), [None, None]);
    assert_eq!(bands(&common::sampled()), [(); 2].map(|()| Some("95% intervals".to_owned())));
}

#[test]
fn nothing_to_draw_is_said() {
    let mut report = common::exact();
    report.results.drain(..4);
    for write in [|r| (vec![r], false), |r| (vec![r], true)] {
        let (reports, series) = write(report.clone());
        let mut svg = Vec::new();
        match series {
            true => plot::write_series(&reports, Image::Svg, &mut svg).unwrap(),
            false => plot::write(&reports[0], Image::Svg, &mut svg).unwrap(),
        }
        assert!(String::from_utf8(svg).unwrap().contains("No exchange was measured."), "series: {series}");
    }
}

#[test]
fn the_file_name_says_which_image() {
    let of = |name: &str| Image::of(Path::new(name));
    assert_eq!((of("a.svg"), of("b/c.PNG")), (Some(Image::Svg), Some(Image::Png)));
    assert_eq!((of("a.jpg"), of("png"), of("")), (None, None, None));
}
