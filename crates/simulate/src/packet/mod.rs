//! Frames of a simulated link.
