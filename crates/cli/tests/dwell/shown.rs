//! The output shown in the documentation is what the commands print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Documents and folders of documents, relative to the root of the repository.
const TEXTS: [&str; 4] = ["README.md", "docs", "crates", "testdata"];
/// A line that stands for any number of omitted lines.
const LEFT_OUT: [&str; 3] = ["…", "[…]", "..."];

/// A command as shown in a document, and the output below it.
struct Shown {
    /// Its position: document and line.
    place: String,
    command: String,
    lines: Vec<String>,
}

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// All documents at a path or below it, sorted.
fn texts(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return path.extension().filter(|e| *e == "md").map(|_| path.to_owned()).into_iter().collect();
    }
    let mut below: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    below.sort();
    below.iter().flat_map(|path| texts(path)).collect()
}

/// The commands in those fenced blocks of a document that begin with `$ dwell`, and the number of these blocks.
fn shown(name: &str, text: &str) -> (usize, Vec<Shown>) {
    let (mut blocks, mut shown) = (0, Vec::<Shown>::new());
    // States: outside of all blocks, in the first line of one, in a block that is run, in another block.
    let (mut inside, mut first, mut run) = (false, false, false);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            (inside, first) = (!inside, !inside);
            continue;
        }
        if first {
            run = line.starts_with("$ dwell");
            blocks += usize::from(run);
            first = false;
        }
        match line.strip_prefix("$ ") {
            _ if !inside || !run => {}
            Some(command) => {
                let place = format!("{name}:{}", number + 1);
                shown.push(Shown { place, command: command.to_owned(), lines: Vec::new() });
            }
            None => shown.last_mut().unwrap().lines.push(line.trim_end().to_owned()),
        }
    }
    (blocks, shown)
}

/// Describes where the printed output differs from that shown; `None` if it does not.
fn difference(shown: &[String], printed: &[String]) -> Option<String> {
    let parts: Vec<&[String]> = shown.split(|line| LEFT_OUT.contains(&line.trim())).collect();
    let mut rest = printed;
    for (number, part) in parts.iter().enumerate() {
        // The first part must match at the beginning of the output, the last one at its end.
        let last = rest.len().checked_sub(part.len());
        let found = match number {
            0 if parts.len() == 1 => (rest == *part).then_some(0),
            0 => rest.starts_with(part).then_some(0),
            _ if number + 1 == parts.len() => last.filter(|_| rest.ends_with(part)),
            _ => last.and_then(|last| (0..=last).find(|&at| rest[at..].starts_with(part))),
        };
        let Some(at) = found else {
            let missing = part.iter().find(|line| !rest.contains(line));
            let wrong = missing.map_or_else(|| "lines are in another order or number".into(), |l| format!("no '{l}'"));
            return Some(format!("{wrong}; printed is\n{}", printed.join("\n")));
        };
        rest = &rest[at + part.len()..];
    }
    None
}

/// For every digit shown, a copy in which this digit is wrong.
fn with_a_wrong_digit(shown: &[String]) -> impl Iterator<Item = Vec<String>> {
    let digits = shown.iter().enumerate().flat_map(|(number, line)| {
        line.match_indices(|c: char| c.is_ascii_digit()).map(move |(at, digit)| (number, at, digit))
    });
    digits.map(|(number, at, digit)| {
        let mut wrong = shown.to_vec();
        wrong[number].replace_range(at..at + 1, if digit == "7" { "8" } else { "7" });
        wrong
    })
}

/// Runs a shown command in a folder that has the committed captures but is not the repository.
fn printed(folder: &Path, command: &str) -> Vec<String> {
    let binaries = Path::new(env!("CARGO_BIN_EXE_dwell")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("({command}) 2>&1")]).current_dir(folder).env_clear().env("PATH", path);
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{command}: {}\n{printed}", output.status);
    printed.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Runs each command of a block that begins with `$ dwell`. The output must equal that shown, except for trailing
/// spaces and what `…` stands for. Plots must equal those of the same name in `docs/images`.
#[test]
fn texts_show_what_is_printed() {
    /// Commands that take longer are listed.
    const LONG: Duration = Duration::from_secs(2);
    let root = root();
    let (mut blocks, mut commands, mut digits, mut pictures) = (0, 0, 0, Vec::new());
    let mut wrong = Vec::new();
    for path in TEXTS.iter().flat_map(|text| texts(&root.join(text))) {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let (more, shown) = shown(&name, &fs::read_to_string(&path).unwrap());
        blocks += more;
        for Shown { place, command, lines } in shown {
            let folder = tempfile::tempdir().unwrap();
            std::os::unix::fs::symlink(root.join("testdata"), folder.path().join("testdata")).unwrap();
            let start = Instant::now();
            let printed = printed(folder.path(), &command);
            commands += 1;
            if start.elapsed() > LONG {
                eprintln!("{place}: takes {:.1?}: {command}", start.elapsed());
            }
            if let Some(difference) = difference(&lines, &printed) {
                wrong.push(format!("{place}: $ {command}\n{difference}"));
                continue;
            }
            for twin in with_a_wrong_digit(&lines) {
                digits += 1;
                assert!(self::difference(&twin, &printed).is_some(), "{place}: one digit may be anything: {twin:#?}");
            }
            for written in crate::run::names(folder.path()) {
                let kept = root.join("docs/images").join(&written);
                if kept.exists() {
                    if fs::read(&kept).unwrap() != fs::read(folder.path().join(&written)).unwrap() {
                        wrong.push(format!("{place}: docs/images/{written} is not what this draws: $ {command}"));
                    }
                    pictures.push(written);
                }
            }
        }
    }
    eprintln!("{commands} commands in {blocks} blocks, {digits} digits, {} pictures: {pictures:?}", pictures.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(blocks > 10 && digits > 1000, "{blocks} blocks, {digits} digits");
    pictures.sort();
    pictures.dedup();
    assert_eq!(pictures, crate::run::names(&root.join("docs/images")), "every picture has a command that draws it");
}

#[test]
fn parts_are_shown_in_their_order() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let differs = |shown: &str| difference(&lines(shown), &lines("a\nb\nc\nd\ne")).is_some();
    for same in ["a\nb\nc\nd\ne", "a\n…", "…\ne", "…", "a\n[…]\nc\n...\ne", "a\nb\n…\nd\n…", "a\nb\nc\nd\ne\n…"]
    {
        assert!(!differs(same), "{same}");
    }
    for other in ["", "a", "b\n…", "…\nd", "a\n…\nd\n…\nc\n…", "a\nc\n…", "…\nb\nd\n…", "a\n…\na\nb\nc\nd\ne"]
    {
        assert!(differs(other), "{other}");
    }
    let text = "```\n$ dwell a\nx \n$ dwell b | head\n```\n\n```\ndwell c\n```\n$ dwell d\n";
    let (blocks, shown) = shown("text", text);
    let commands: Vec<_> = shown.iter().map(|s| (s.place.as_str(), s.command.as_str(), s.lines.len())).collect();
    assert_eq!((blocks, commands), (1, vec![("text:2", "dwell a", 1), ("text:4", "dwell b | head", 0)]));
}
