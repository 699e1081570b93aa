//! What must hold for every input, whatever it is. The targets in `fuzz_targets/` make inputs of raw bytes and call
//! these.

pub mod capture;
pub mod compressed;
pub mod headers;
pub mod lda;
pub mod lds;
pub mod logs;
pub mod maps;
pub mod measurements;
pub mod messages;
pub mod pair;
pub mod store;

// The command is no library: its readers of logs are built here once more.
#[allow(dead_code, reason = "the command uses more of it")]
#[path = "../../crates/cli/src/events.rs"]
mod events;
#[allow(dead_code, reason = "the command uses more of it")]
#[path = "../../crates/cli/src/lines.rs"]
mod lines;
#[allow(dead_code, reason = "the command uses more of it")]
#[path = "../../crates/cli/src/log.rs"]
mod log;
#[path = "../../crates/cli/src/queue/sojourns.rs"]
mod sojourns;
