//! Several files, given as on the command line.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod common;

use common::{MICROSECONDS, Pcap, Pcapng, gzip};
use dwell_capture::file::{Decompressed, Stop};
use dwell_capture::{CaptureError, CaptureFiles, FrameSource, Input, InputState, Warning};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn capture(seconds: u32, frames: u32) -> Vec<u8> {
    let mut file = Pcap::new(MICROSECONDS, false);
    for i in 0..frames {
        file.record(seconds, i, 2, 2, b"ab");
    }
    file.bytes
}

#[test]
fn files_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), "first.pcap", &capture(1, 3));
    // Truncated in its last record.
    let bytes = capture(2, 3);
    let second = write(folder.path(), "second.pcap", &bytes[..bytes.len() - 1]);
    let packed = gzip(&capture(3, 2));
    let third = write(folder.path(), "third", &packed);
    let fourth = write(folder.path(), "fourth.pcap", &capture(4, 0));
    let mut pcapng = Pcapng::new(true);
    pcapng.interface(101, 0, &[]).enhanced(0, 5_000_000, 1, b"a");
    let fifth = write(folder.path(), "fifth", &pcapng.bytes);

    let mut files = CaptureFiles::open([&first, &second, &third, &fourth, &fifth]).unwrap();
    let total = 3 * 18 + 24 + bytes.len() as u64 - 1 + packed.len() as u64 + 24 + pcapng.bytes.len() as u64;
    assert_eq!(files.bytes_total(), Some(total));
    assert_eq!((files.bytes_read(), files.frames()), (0, 0));
    let mut seen = Vec::new();
    while let Some(frame) = files.next_frame().unwrap() {
        seen.push((frame.at.unwrap().as_nanos() / 1_000_000_000, frame.link.0));
        assert_eq!(files.frames(), seen.len() as u64);
    }
    assert_eq!(seen, [(1, 1), (1, 1), (1, 1), (2, 1), (2, 1), (3, 1), (3, 1), (5, 101)]);
    assert_eq!((files.frames(), files.bytes_read()), (8, total));
    assert!(files.next_frame().unwrap().is_none(), "the end stays the end");

    let [warning @ Warning::Cut(cut)] = files.warnings() else { panic!("{:?}", files.warnings()) };
    assert_eq!((&cut.path, cut.offset, cut.frames), (&second, 60, 2));
    let words = "cut short at byte 60: expected a record of 18 bytes, found 17 bytes; the 2 frames before are used";
    assert_eq!(warning.to_string(), format!("{}: {words}", second.display()));
}

#[test]
fn after_damage_comes_the_next_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = capture(1, 2);
    bytes.extend([0xff; 16]);
    let damaged = write(folder.path(), "damaged.pcap", &bytes);
    let text = write(folder.path(), "text.pcap", b"hello\n");
    let sound = write(folder.path(), "sound.pcap", &capture(2, 1));
    let mut files = CaptureFiles::open([&damaged, &text, &sound]).unwrap();
    let mut seconds = Vec::new();
    while let Some(frame) = files.next_frame().unwrap() {
        seconds.push(frame.at.unwrap().as_nanos() / 1_000_000_000);
    }
    assert_eq!((seconds, files.frames(), files.is_damaged()), (vec![1, 1, 2], 3, true));
    let [Warning::Damaged(first), Warning::Damaged(second)] = files.warnings() else {
        panic!("{:?}", files.warnings())
    };
    assert_eq!((first.path(), first.frames()), (damaged.as_path(), 2));
    assert!(matches!(first, CaptureError::Damaged { offset: 68, .. }), "{first}");
    assert_eq!((second.path(), second.frames()), (text.as_path(), 0));
    let words = "byte 0: expected a pcap or pcapng file, plain or gzip, xz, zstd, found text: \"hello\"";
    assert_eq!(second.to_string(), format!("{}: {words}", text.display()));
    let words = format!("{second}; the rest of the file was not read");
    assert_eq!(files.warnings()[1].to_string(), words);
}

/// Compressed files with larger windows than are allowed are sound, and can be read through a pipe.
#[test]
fn a_window_that_is_too_large_is_told() {
    use liblzma::stream::{Action, Check, Filters, LzmaOptions, MatchFinder, Mode, Stream};
    // A frame with a window of 2 GiB, then its only block: three bytes as they are.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, (3 << 3) | 1, 0, 0, b'a', b'b', b'c'];
    let mut options = LzmaOptions::new_preset(0).unwrap();
    options.dict_size(96 << 20).mode(Mode::Fast).match_finder(MatchFinder::HashChain3);
    let mut stream = Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::None).unwrap();
    let mut packed = Vec::with_capacity(1_000);
    stream.process_vec(&capture(1, 1), &mut packed, Action::Finish).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, most) in [
        ("large.zst", &frame[..], "zstd data with a window of at most 128 MiB"),
        ("large.xz", &packed, "xz data with a window of at most 64 MiB"),
    ] {
        let path = write(folder.path(), name, bytes);
        let error = CaptureFiles::open([&path]).unwrap().next_frame().unwrap_err().to_string();
        assert!(error.contains(&format!("expected {most}, found a larger one: decompress it in a pipe")), "{error}");
        let mut text = Vec::new();
        let error = Decompressed::open(&path, None).unwrap().read_to_end(&mut text).unwrap_err().to_string();
        assert!(error.contains(most), "{error}");
    }
}

/// Progress is counted in bytes of the file, compressed or not.
#[test]
fn decompressed_data_is_read_to_the_end_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [b"at_ns,packet\n1,a\n".repeat(50_000), gzip(&capture(1, 50_000)), Vec::new()] {
        let path = write(folder.path(), "data", &bytes);
        let mut data = Decompressed::open(&path, None).unwrap();
        let total = bytes.len() as u64;
        assert!(data.bytes_read() <= 6, "only what tells the compression");
        data.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!((data.bytes_read(), data.bytes_total()), (total, Some(total)));
    }
}

/// If no file has a frame, damage is an error; a file without frames is not.
#[test]
fn damage_alone_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let none = write(folder.path(), "none.pcap", &capture(1, 0));
    let mut bytes = capture(1, 0);
    bytes.extend([0xff; 16]);
    let damaged = write(folder.path(), "damaged.pcap", &bytes);
    let text = write(folder.path(), "text.pcap", b"hello\n");
    let mut files = CaptureFiles::open([&none, &damaged, &text]).unwrap();
    assert_eq!(files.next_frame().unwrap_err().path(), damaged.as_path());
    assert!(files.next_frame().unwrap().is_none(), "after an error is the end");
    let mut files = CaptureFiles::open([&none]).unwrap();
    assert!(files.next_frame().unwrap().is_none() && files.warnings().is_empty());
}

/// A path that cannot be read is an error before any frame is read.
#[test]
fn paths_are_looked_at_first() {
    let folder = tempfile::tempdir().unwrap();
    let sound = write(folder.path(), "sound.pcap", &capture(2, 1));
    let missing = folder.path().join("missing.pcap");
    let cases = [
        (folder.path(), "expected a capture file, found a directory"),
        (missing.as_path(), "No such file or directory (os error 2)"),
    ];
    for (path, words) in cases {
        let Err(error) = CaptureFiles::open([sound.as_path(), path]) else { panic!("{words}") };
        assert_eq!(error.path(), path);
        assert_eq!(error.to_string(), format!("{}: {words}", path.display()));
    }
    let Err(error) = CaptureFiles::open([&missing]) else { panic!("a missing file was opened") };
    assert!(matches!(error, CaptureError::Io { .. }) && std::error::Error::source(&error).is_some());
}

/// A recorder that has just started a new file leaves an empty one: only a warning next to others, an error alone.
#[test]
fn empty_files_beside_others_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let sound = write(folder.path(), "sound.pcap", &capture(2, 3));
    let empty = write(folder.path(), "empty.pcap", b"");
    let mut files = CaptureFiles::open([&empty, &sound, &empty]).unwrap();
    while files.next_frame().unwrap().is_some() {}
    assert_eq!((files.frames(), files.warnings().len()), (3, 2));
    let words = format!("{}: cut short at byte 0: expected a capture file, found an empty file", empty.display());
    assert_eq!(files.warnings()[0].to_string(), words);
    let Err(error) = CaptureFiles::open([&empty, &empty]) else { panic!("nothing was opened") };
    assert!(matches!(&error, CaptureError::Empty { path } if *path == empty), "{error}");

    // Whether a compressed one is empty is known when it is read.
    let packed = write(folder.path(), "packed", &gzip(b""));
    let mut files = CaptureFiles::open([&packed, &sound, &empty]).unwrap();
    while files.next_frame().unwrap().is_some() {}
    let warned: Vec<&PathBuf> = files.warnings().iter().map(path_of_empty).collect();
    assert_eq!((files.frames(), warned), (3, vec![&packed, &empty]));
    for paths in [&[&packed][..], &[&packed, &packed], &[&empty, &packed]] {
        let mut files = CaptureFiles::open(paths.iter().copied()).unwrap();
        let error = files.next_frame().unwrap_err();
        assert!(matches!(&error, CaptureError::Empty { path } if path == paths[0]), "{error}");
        assert!(files.next_frame().unwrap().is_none() && files.warnings().is_empty());
    }
    // A capture without frames is not empty.
    let none = write(folder.path(), "none.pcap", &capture(1, 0));
    let mut files = CaptureFiles::open([&packed, &none]).unwrap();
    assert!(files.next_frame().unwrap().is_none() && files.warnings().len() == 1);
}

fn path_of_empty(warning: &Warning) -> &PathBuf {
    let Warning::Empty { path } = warning else { panic!("{warning}") };
    path
}

/// A pipe has no length, and is opened only once.
#[cfg(unix)]
#[test]
fn pipes_are_read_like_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let packed = gzip(&capture(7, 1_000));
    let length = packed.len() as u64;
    let writer = std::thread::spawn({
        let path = path.clone();
        move || fs::write(path, packed).unwrap()
    });
    let mut files = CaptureFiles::open([&path]).unwrap();
    assert_eq!(files.bytes_total(), None);
    let mut frames = 0;
    while files.next_frame().unwrap().is_some() {
        frames += 1;
    }
    writer.join().unwrap();
    assert_eq!((frames, files.bytes_read()), (1_000, length));
}

#[test]
fn no_files_have_no_frames() {
    let mut files = CaptureFiles::open(Vec::<PathBuf>::new()).unwrap();
    assert!(files.next_frame().unwrap().is_none());
    assert_eq!(files.bytes_total(), Some(0));
}

/// A pipe that stays open: frames that came before the stop are yielded, and none of the files after the pipe.
#[test]
fn a_stop_ends_reading() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = capture(1, 3);
    let later = write(folder.path(), "later.pcap", &bytes);
    // A whole number of frames, a partial frame, a partial file header, nothing.
    for (length, frames) in [(bytes.len(), 3), (bytes.len() - 1, 2), (10, 0), (0, 0)] {
        let (pipe, mut to) = io::pipe().unwrap();
        to.write_all(&bytes[..length]).unwrap();
        let (asked, mut ask) = io::pipe().unwrap();
        let path = format!("/dev/fd/{}", pipe.as_raw_fd());
        let mut files = CaptureFiles::open([Path::new(&path), &later]).unwrap().until(&Stop::when_readable(asked));
        let asking = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            ask.write_all(&[0]).unwrap();
            ask
        });
        let mut seen = 0;
        while files.next_frame().unwrap().is_some() {
            seen += 1;
        }
        assert_eq!((seen, files.frames(), files.is_stopped()), (frames, frames, true), "{length} bytes");
        assert!(files.warnings().is_empty(), "{length} bytes");
        assert!(files.next_frame().unwrap().is_none(), "stopped is stopped");
        asking.join().unwrap();
    }
}

#[test]
fn without_a_stop_nothing_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "whole.pcap", &capture(1, 3));
    let (asked, _ask) = io::pipe().unwrap();
    let mut files = CaptureFiles::open([path]).unwrap().until(&Stop::when_readable(asked));
    while files.next_frame().unwrap().is_some() {}
    assert_eq!((files.frames(), files.is_stopped()), (3, false));
}

/// Times of all frames, in microseconds since the epoch.
fn times(paths: &[PathBuf]) -> Result<Vec<i64>, CaptureError> {
    let mut files = CaptureFiles::open(paths)?;
    let mut times = Vec::new();
    while let Some(frame) = files.next_frame()? {
        times.push(frame.at.unwrap().as_nanos() / 1_000);
    }
    assert_eq!(files.frames(), times.len() as u64);
    Ok(times)
}

/// The name of a file with an interface behind it.
fn of(path: &Path, interface: &str) -> PathBuf {
    PathBuf::from(format!("{}%{interface}", path.display()))
}

/// Interfaces of pcapng by name and number, in sections of their own.
#[test]
fn packets_of_one_interface() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = Pcapng::new(false);
    file.interface(1, 0, &[(2, b"eth0")]).interface(1, 0, &[(2, b"eth1\0")]).interface(1, 0, &[]);
    file.enhanced(0, 1, 1, b"a").enhanced(1, 2, 1, b"a").obsolete(1, 0, 3, 1, b"a").enhanced(2, 4, 1, b"a");
    file.section(true).interface(1, 0, &[(2, b"eth1")]).enhanced(0, 5, 1, b"a");
    file.interface(1, 0, &[(2, b"idle")]);
    let path = write(folder.path(), "all.pcapng", &file.bytes);
    let times_of = |interface: &str| times(&[of(&path, interface)]);
    assert_eq!(times_of("eth0").unwrap(), [1]);
    assert_eq!(times_of("eth1").unwrap(), [2, 3, 5]);
    assert_eq!(times_of("0").unwrap(), [1, 5]);
    assert_eq!(times_of("1").unwrap(), [2, 3]);
    assert_eq!(times_of("2").unwrap(), [4]);
    assert_eq!(times_of("idle").unwrap(), [], "described, without a packet");
    let words = "expected packets of interface eth7, found only those of 0 (eth0), 0 (eth1), 1 (eth1), 1 (idle), 2";
    assert_eq!(times_of("eth7").unwrap_err().to_string(), format!("{}%eth7: {words}", path.display()));

    // Of several captures, one may lack the interface.
    let other = write(folder.path(), "other.pcap", &capture(7, 1));
    let mut files = CaptureFiles::open([of(&path, "eth0"), of(&other, "eth0")]).unwrap();
    assert!(files.next_frame().unwrap().is_some() && files.next_frame().unwrap().is_none());
    let [Warning::NoInterface(missing)] = files.warnings() else { panic!("{:?}", files.warnings()) };
    assert_eq!((&missing.path, &*missing.wanted, missing.found.len()), (&of(&other, "eth0"), "eth0", 0));
    assert!(!files.is_damaged());

    // What is damaged is said before what is missing.
    let damaged = write(folder.path(), "damaged.pcapng", &[&file.bytes[..], &[9; 40]].concat());
    let error = times(&[of(&damaged, "eth7")]).unwrap_err();
    assert!(matches!(error, CaptureError::Damaged { .. }), "{error}");

    // A file that is truncated is known to have the interface nevertheless.
    let cut = write(folder.path(), "cut.pcapng", &file.bytes[..file.bytes.len() - 1]);
    assert_eq!(times(&[of(&cut, "eth1")]).unwrap(), [2, 3, 5]);
}

/// Of the packets that statistics say were dropped, those of the chosen interface count, in all sections.
#[test]
fn dropped_packets_of_one_interface() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = Pcapng::new(false);
    let statistics = |file: &mut Pcapng, interface: u32, dropped: u64| {
        let [interface, dropped] = [&interface.to_le_bytes()[..], &dropped.to_le_bytes()[..]];
        file.block(5, &[interface, &[0; 8], &[5, 0, 8, 0], dropped].concat());
    };
    file.interface(1, 0, &[(2, b"eth0")]).interface(1, 0, &[(2, b"eth1")]);
    file.enhanced(0, 1, 1, b"a").enhanced(1, 2, 1, b"a");
    statistics(&mut file, 0, 10);
    statistics(&mut file, 1, 200);
    file.section(false).interface(1, 0, &[(2, b"eth1")]).enhanced(0, 3, 1, b"a");
    statistics(&mut file, 0, 3_000);
    let path = write(folder.path(), "all.pcapng", &file.bytes);
    let dropped = |path: &Path| {
        let mut files = CaptureFiles::open([path]).unwrap();
        while files.next_frame().unwrap().is_some() {}
        let dropped = files.warnings().iter().map(|warning| match warning {
            Warning::Dropped { packets, .. } => *packets,
            _ => panic!("{warning}"),
        });
        dropped.sum::<u64>()
    };
    assert_eq!(dropped(&path), 3_210);
    let of_one = ["eth0", "eth1", "0", "1"].map(|interface| dropped(&of(&path, interface)));
    assert_eq!(of_one, [10, 3_200, 3_010, 200]);
}

/// Linux numbers interfaces in the headers of `-i any`, in pcap and in pcapng.
#[test]
fn packets_of_one_interface_among_any() {
    let folder = tempfile::tempdir().unwrap();
    let cooked = |number: u8| [0x08, 0, 0, 0, 0, 0, 0, number, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut pcap = Pcap::with_header(MICROSECONDS, false, (2, 4), 65_535, 276);
    let mut pcapng = Pcapng::new(false);
    pcapng.interface(276, 0, &[(2, b"any")]);
    for (at, number) in [(1, 2), (2, 3), (3, 2), (4, 5)] {
        pcap.record(0, at, 20, 20, &cooked(number));
        pcapng.enhanced(0, u64::from(at), 20, &cooked(number));
    }
    // Cut before its number.
    pcap.record(0, 5, 7, 20, &cooked(2)[..7]);
    for path in [write(folder.path(), "any.pcap", &pcap.bytes), write(folder.path(), "any.pcapng", &pcapng.bytes)] {
        assert_eq!(times(&[of(&path, "2")]).unwrap(), [1, 3]);
        assert_eq!(times(&[of(&path, "3")]).unwrap(), [2]);
        assert_eq!(times(&[of(&path, "5")]).unwrap(), [4]);
        // The pcapng interface 0 is `any`.
        for interface in ["0", "4"] {
            let error = times(&[of(&path, interface)]).unwrap_err().to_string();
            assert!(error.ends_with("found only those of 2, 3, 5"), "{error}");
        }
    }
    assert_eq!(times(&[of(&folder.path().join("any.pcapng"), "any")]).unwrap(), [1, 2, 3, 4]);

    // An error names sixteen interfaces.
    let mut described = Pcapng::new(false);
    for number in 10..40 {
        pcap.record(0, 6, 20, 20, &cooked(number));
        described.interface(1, 0, &[]);
    }
    described.enhanced(0, 1, 1, b"a");
    for (name, bytes, last) in [("many.pcap", pcap.bytes, "22"), ("many.pcapng", described.bytes, "15")] {
        let error = times(&[of(&write(folder.path(), name, &bytes), "99")]).unwrap_err().to_string();
        assert!(error.ends_with(&format!(", {last}")) && error.matches(", ").count() == 16, "{error}");
    }
}

/// Which names are taken apart.
#[test]
fn names_with_a_percent_sign() {
    let folder = tempfile::tempdir().unwrap();
    let plain = write(folder.path(), "100%.pcap", &capture(1, 1));
    assert_eq!(Input::parse(&plain), Input { file: &plain, interface: None });
    let chosen = of(&plain, "eth0");
    assert_eq!(Input::parse(&chosen), Input { file: &plain, interface: Some("eth0") });
    let whole = write(folder.path(), "100%.pcap%eth0", &capture(2, 1));
    assert_eq!(Input::parse(&whole), Input { file: &whole, interface: None });
    let missing = folder.path().join("none.pcap%eth0");
    assert_eq!(Input::parse(&missing), Input { file: &missing, interface: None });
    assert_eq!(Input::parse(&of(&plain, "a%b")), Input { file: &plain, interface: Some("a%b") });
    let nothing = of(&plain, "");
    assert_eq!(Input::parse(&nothing).interface, None);
}
