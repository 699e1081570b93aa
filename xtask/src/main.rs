//! Development tasks: `cargo xtask <task>`. One module per task; this file only selects it.

use std::process::ExitCode;

// All checks that must pass before a change is merged.
mod check;
// Makes the repository's own captures.
#[cfg(target_os = "linux")]
mod record;

const USAGE: &str = "\
usage: cargo xtask check [NAME…]    run every check, or those named: format lint docs testdata fuzz test
       cargo xtask record [NAME…]   make the captures of testdata/ anew (root, Linux)
       cargo xtask truth [NAME…]    derive the truth of exchanges in them anew, after a change of the rules (Linux)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first().map(|(task, rest)| (task.as_str(), rest)) {
        Some(("check", names)) => check::run(names),
        #[cfg(target_os = "linux")]
        Some(("record", names)) => record::run(names),
        #[cfg(target_os = "linux")]
        Some(("truth", names)) => record::derive(names),
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
