//! The `dwell` command.
fn main() {}
