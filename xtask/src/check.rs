//! All checks that must pass before a change is merged; they need no network.

use anyhow::{Context, Result, bail, ensure};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds that each fuzz target runs; `DWELL_FUZZ_SECONDS` overrides.
const FUZZ_SECONDS: u64 = 60;

/// A check and its name.
type Check = (&'static str, fn() -> Result<()>);

/// Runs all checks, or those named.
pub(crate) fn run(names: &[String]) -> Result<()> {
    const CHECKS: [Check; 6] =
        [("format", format), ("lint", lint), ("docs", docs), ("testdata", testdata), ("fuzz", fuzz), ("test", test)];
    let known = CHECKS.map(|(name, _)| name);
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no check is called {unknown}; there are {}", known.join(", "));
    }
    for (name, check) in CHECKS {
        if names.is_empty() || names.iter().any(|n| n == name) {
            eprintln!("== {name}");
            check().with_context(|| format!("check {name}"))?;
        }
    }
    Ok(())
}

/// The repository's root: the folder above that of this package when it was compiled.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

fn has(arguments: &[&str]) -> bool {
    cargo(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn format() -> Result<()> {
    succeed(&mut cargo(&["fmt", "--all", "--check"]))
}

fn lint() -> Result<()> {
    const CLIPPY: [&str; 2] = ["clippy", "--quiet"];
    const STRICT: [&str; 3] = ["--", "--deny", "warnings"];
    succeed(&mut cargo(&[&CLIPPY[..], &["--workspace", "--all-targets"], &STRICT].concat()))?;
    // Lints the fuzz targets even if they cannot be run. Nothing is linked, so no fuzzer has to be compiled.
    let fuzz = [&CLIPPY[..], &["--manifest-path", "fuzz/Cargo.toml"], &STRICT].concat();
    succeed(cargo(&fuzz).env("CUSTOM_LIBFUZZER_PATH", "/none/libfuzzer.a"))
}

fn docs() -> Result<()> {
    succeed(
        cargo(&["doc", "--workspace", "--no-deps", "--quiet", "--document-private-items"])
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )
}

/// Verifies the checksums of the committed captures.
fn testdata() -> Result<()> {
    succeed(Command::new("sha256sum").current_dir(root().join("testdata")).args(["--check", "--quiet", "SHA256SUMS"]))
}

/// How many fuzz targets run at once.
const FUZZED_AT_ONCE: usize = 2;

/// Runs every fuzz target for a while, with a fixed seed so that the check is reproducible. Needs cargo-fuzz, and
/// enables the compiler's unstable flags by `RUSTC_BOOTSTRAP`.
fn fuzz() -> Result<()> {
    if !has(&["fuzz", "--version"]) {
        eprintln!("skipped: cargo-fuzz is not installed (cargo install cargo-fuzz)");
        return Ok(());
    }
    let seconds = match env::var("DWELL_FUZZ_SECONDS") {
        Ok(text) => text.parse().with_context(|| format!("DWELL_FUZZ_SECONDS: a number, not '{text}'"))?,
        Err(_) => FUZZ_SECONDS,
    };
    let bootstrap = |arguments: &[&str]| {
        let mut command = cargo(arguments);
        command.env("RUSTC_BOOTSTRAP", "1");
        command
    };
    succeed(&mut bootstrap(&["fuzz", "build", "--sanitizer", "none"]))?;
    let listed = cargo(&["fuzz", "list"]).output().context("cargo fuzz list")?;
    ensure!(listed.status.success() && !listed.stdout.is_empty(), "cargo fuzz list: {}", listed.status);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let limit = format!("-max_total_time={seconds}");
    let options = ["--", &limit, "-seed=1", "-verbosity=0", "-rss_limit_mb=512"];
    for targets in listed.lines().collect::<Vec<_>>().chunks(FUZZED_AT_ONCE) {
        eprintln!("-- {}, {seconds} s", targets.join(" and "));
        let run = |target| bootstrap(&[&["fuzz", "run", "--sanitizer", "none", target], &options[..]].concat());
        let start = |command: &mut Command| command.spawn().with_context(|| format!("{command:?}"));
        let running = targets.iter().map(|target| start(&mut run(target))).collect::<Result<Vec<_>>>()?;
        // Waits for all of them, even if one has failed.
        let ended: Vec<_> = running.into_iter().map(|mut child| child.wait()).collect();
        for (target, status) in targets.iter().zip(ended) {
            let status = status.with_context(|| format!("fuzz target {target}"))?;
            ensure!(status.success(), "fuzz target {target}: {status}");
        }
    }
    Ok(())
}

/// All tests; last, so that the output ends with their summary.
fn test() -> Result<()> {
    succeed(&mut cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    if has(&["nextest", "--version"]) {
        succeed(&mut cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]))
    } else {
        succeed(&mut cargo(&["test", "--workspace", "--lib", "--bins", "--tests"]))
    }
}
