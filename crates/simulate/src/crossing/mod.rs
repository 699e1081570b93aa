//! Packets that pass two points, one after the other.

// Many flows between the two.
pub mod flows;
