//! Frames to observations: header parsing and pairing of requests with responses.
