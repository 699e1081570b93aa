//! Parameters that are given instead of found: a meter has exactly these, within the memory, in which others find place
//! as far as it suffices.

use dwell_sketch::Structure;
use dwell_sketch::rivals::timebloom::{Cdf, Policy};
use dwell_sketch::rtt::{GivenFilters, Method, Parameter, Parameters, RttMeter, Settings, SettingsError};
use dwell_types::{Match, Nanos};

/// The structure of the only rule of a meter in this memory, or the memory that is needed.
fn built(settings: &Settings, memory: usize) -> Result<Structure, usize> {
    match RttMeter::new(&Settings { memory, ..settings.clone() }) {
        Ok(meter) => {
            assert!(meter.most_bytes() <= memory, "{memory}: {settings:?}");
            Ok(meter.rules().next().expect("there is a rule").structure)
        }
        Err(SettingsError::Memory { needed, .. }) => Err(needed),
        Err(error) => panic!("{error}: {settings:?}"),
    }
}

/// In as much memory as is said to be needed, and in more, a meter is as given; in less, up to the rounding of tables, it
/// is refused.
fn assert_is_given(settings: &Settings, is_given: impl Fn(Structure) -> bool) {
    let needed = built(settings, 0).expect_err("no memory");
    for memory in [needed, 4 * needed, 1 << 24] {
        let found = built(settings, memory.max(needed)).expect("it is enough");
        assert!(is_given(found), "{memory}: {found:?} {settings:?}");
    }
    let less = needed - needed / 50 - 600;
    assert!(built(settings, less).is_err(), "{needed} is too much: {settings:?}");
}

fn settings(method: Method, parameters: Parameters) -> Settings {
    let matching = if method == Method::Dart { Match::TcpAck } else { Match::Dns };
    Settings { parameters, ..Settings::new(method, vec![matching], 0) }
}

#[test]
fn filters_are_as_given() {
    let some = |all: &[u32]| std::iter::once(None).chain(all.iter().map(|&one| Some(one))).collect::<Vec<_>>();
    for (method, of_filters, place_bits) in [
        (Method::TimeBloom, &[2, 5, 100, 1_000, 4_096][..], 1),
        (Method::BloomTime, &[3, 64], 1),
        (Method::AleU, &[2, 33, 700], 4),
        (Method::AleE, &[2, 21], 4),
        (Method::Ddbf, &[], 36),
    ] {
        for filters in some(of_filters) {
            for bits in some(&[37, 1_000, 70_000]) {
                for hashes in some(&[1, 64]) {
                    let bits = bits.map(u64::from);
                    let given = GivenFilters { filters, bits, hashes };
                    let parameters = Parameters { filters: given, ..Parameters::default() };
                    assert_is_given(&settings(method, parameters), |found| {
                        let Structure::Filters { filters: n, bits: m, hashes: k, .. } = found else { return false };
                        filters.is_none_or(|given| n == given)
                            && bits.is_none_or(|given| m == given / place_bits * place_bits)
                            && hashes.is_none_or(|given| k == given)
                    });
                }
            }
        }
    }
}

#[test]
fn trackers_are_as_given() {
    for (ranges, packets, stages, rounds) in [
        (Some(4), None, None, None),
        (None, Some(9), None, Some(0)),
        (Some(1_000), Some(3_001), Some(8), Some(2)),
        (None, None, Some(1), None),
    ] {
        let parameters = Parameters { ranges, packets, stages, rounds, ..Parameters::default() };
        assert_is_given(&settings(Method::Dart, parameters), |found| {
            let Structure::Trackers(found) = found else { return false };
            ranges.is_none_or(|given| found.ranges == given / 4 * 4)
                && packets.is_none_or(|given| found.packets == given / found.stages * found.stages)
                && stages.is_none_or(|given| found.stages == given)
                && rounds.is_none_or(|given| found.rounds == given)
        });
    }
}

/// `hash-sample` keeps what is given until memory requires it to sample less.
#[test]
fn samples_are_as_given() {
    for (slots, probability, longest) in
        [(Some(64), None, None), (Some(5_000), Some(0.25), Some(Nanos::from_secs(1))), (None, Some(0.01), None)]
    {
        let entry_probabilities = Vec::from_iter(probability);
        let parameters = Parameters { slots, entry_probabilities, longest, ..Parameters::default() };
        assert_is_given(&settings(Method::HashSample, parameters), |found| {
            let Structure::Sample { slots: room, probability: p, longest: lifetime } = found else { return false };
            slots.is_none_or(|given| room <= given as usize && room * 17 > given as usize * 16 - 17 * 8)
                && p == probability.unwrap_or(1.0)
                && lifetime == longest.unwrap_or(Settings::usual_expiry(Match::Dns))
        });
    }
}

#[test]
fn nonsense_is_refused() {
    let error = |method, filters| {
        let parameters = Parameters { filters, ..Parameters::default() };
        let refused = RttMeter::new(&Settings { memory: 1 << 20, ..settings(method, parameters) });
        refused.expect_err("it is out of range").to_string()
    };
    let none = GivenFilters::default();
    assert_eq!(
        [
            error(Method::TimeBloom, GivenFilters { filters: Some(1), ..none }),
            error(Method::AleE, GivenFilters { filters: Some(22), ..none }),
            error(Method::Ddbf, GivenFilters { bits: Some(35), ..none }),
            error(Method::BloomTime, GivenFilters { hashes: Some(65), ..none }),
        ],
        [
            "a window has 2 to 4096 filters, not 1",
            "a window has 2 to 21 filters, not 22",
            "a filter has at least 36 bits, not 35",
            "there are 1 to 64 hash functions, not 65",
        ]
    );
}

/// A parameter that a method does not have is refused: nobody would notice that it does nothing.
#[test]
fn each_method_has_only_its_own_parameters() {
    let none = Parameters::default;
    let second = Nanos::from_secs(1);
    let filters = |filters, bits, hashes| Parameters { filters: GivenFilters { filters, bits, hashes }, ..none() };
    let all = [
        (Parameter::Slots, Parameters { slots: Some(64), ..none() }),
        (Parameter::EntryProbability, Parameters { entry_probabilities: vec![0.5], ..none() }),
        (Parameter::FingerprintBits, Parameters { fingerprint_bits: Some(16), ..none() }),
        (Parameter::Longest, Parameters { longest: Some(second), ..none() }),
        (Parameter::Stages, Parameters { stages: Some(2), ..none() }),
        (Parameter::Rate, Parameters { rate: Some(100.0), ..none() }),
        (Parameter::Filters, filters(Some(4), None, None)),
        (Parameter::Bits, filters(None, Some(640), None)),
        (Parameter::Hashes, filters(None, None, Some(3))),
        (Parameter::Policy, Parameters { policy: Some(Policy::Random), ..none() }),
        (Parameter::Prior, Parameters { prior: Cdf::of_delays(vec![(second, 1.0)]).ok(), ..none() }),
        (Parameter::Ranges, Parameters { ranges: Some(64), ..none() }),
        (Parameter::Packets, Parameters { packets: Some(64), ..none() }),
        (Parameter::Rounds, Parameters { rounds: Some(1), ..none() }),
    ];
    for (parameter, parameters) in all {
        assert!(parameters.given().eq([parameter]));
        for method in Method::ALL {
            let built = RttMeter::new(&Settings { memory: 1 << 20, ..settings(method, parameters.clone()) });
            let expected = (!method.has(parameter)).then_some(SettingsError::NotOf(parameter, method));
            assert_eq!(built.err(), expected, "{method:?} {parameter:?}");
        }
    }
}
