//! Development tasks: `cargo xtask <task>`. One module per task; this file only chooses.

use std::process::ExitCode;

// The repository's own captures.
#[cfg(target_os = "linux")]
mod record;

const USAGE: &str = "usage: cargo xtask record [NAME…]   make the captures of testdata/ anew (root, Linux)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first().map(|(task, rest)| (task.as_str(), rest)) {
        #[cfg(target_os = "linux")]
        Some(("record", names)) => record::run(names),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
