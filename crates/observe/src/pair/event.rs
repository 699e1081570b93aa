use dwell_types::{ExchangeId, hash};

/// The id of an exchange that a log names by a text of its own: the same for a request and its response.
pub fn event_id(seed: u64, name: &str) -> ExchangeId {
    ExchangeId(hash::bytes(hash::start(seed), name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_seeds_tell_apart() {
        assert_eq!(event_id(1, "a-17"), event_id(1, "a-17"));
        assert_ne!(event_id(1, "a-17"), event_id(1, "a-18"));
        assert_ne!(event_id(1, "a-17"), event_id(2, "a-17"));
    }
}
