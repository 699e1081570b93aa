/// Probability that a frozen filter of `bits` bits (*n*) and `hashes` functions (*k*) matches an id that is not in it,
/// if the number of ids in it is Poisson with mean `load`: Σⱼ P(j) E[(set bits/*n*)^*k* | *j* ids].
///
/// The thesis's .6185^(*n*/*load*) (eq. 4.5) assumes the mean load in every filter and *k* unrounded: too low, by a
/// factor of 2,000 at *n* = 1,024, *k* = 36 and 19.6 ids. `bits` and `load` must be above zero, and `load` at most 10⁹.
pub fn false_positive_probability(bits: u32, hashes: u32, load: f64) -> f64 {
    let spread = 12.0 * load.sqrt() + 40.0;
    let (first, last) = ((load - spread).max(0.0).floor(), (load + spread).ceil());
    let mut ln_probability = ln_poisson(first, load);
    let (mut sum, mut ids) = (0.0, first);
    while ids <= last {
        sum += ln_probability.exp() * given_ids(bits, hashes, ids);
        ids += 1.0;
        ln_probability += (load / ids).ln();
    }
    // Rounding, and no bits.
    sum.min(1.0)
}

/// E[(set bits/*n*)^*k*] for a given number of ids, by the mean *f* and the variance of the share of set bits:
/// *f*^*k* exp(*k*(*k* − 1) var / 2*f*²).
fn given_ids(bits: u32, hashes: u32, ids: f64) -> f64 {
    let (n, k) = (f64::from(bits), f64::from(hashes));
    let clear = (1.0 - 1.0 / n).powf(ids * k);
    let set = 1.0 - clear;
    if set <= 0.0 {
        return 0.0;
    }
    // Two bits are both clear with probability (1 − 2/n)^jk.
    let variance = (clear + (n - 1.0) * (1.0 - 2.0 / n).max(0.0).powf(ids * k)) / n - clear * clear;
    set.powf(k) * (k * (k - 1.0) / 2.0 * variance.max(0.0) / (set * set)).exp()
}

/// ln P(*j*) for a Poisson variable with the given mean.
fn ln_poisson(ids: f64, mean: f64) -> f64 {
    ids * mean.ln() - mean - ln_factorial(ids)
}

/// ln *j*!: summed up to 255, above by Stirling's series, with an error below 10⁻¹³.
fn ln_factorial(j: f64) -> f64 {
    if j < 256.0 {
        return (2..=j as u32).map(|i| f64::from(i).ln()).sum();
    }
    let squared = j * j;
    j * j.ln() - j + (std::f64::consts::TAU * j).ln() / 2.0 + (1.0 - 1.0 / (30.0 * squared)) / (12.0 * j)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2¹⁹ bits in 512 filters, 1,000 requests per second, 10 s; a test in `timebloom/ring` measures the same.
    #[test]
    fn the_mixture_is_far_above_the_mean_load() {
        let load = 10_000.0 / 511.0;
        let mixture = false_positive_probability(1024, 36, load);
        assert!((mixture / 2.455e-8 - 1.0).abs() < 0.001, "{mixture}");
        assert!((0.6185f64.powf(1024.0 / load) / 1.2e-11 - 1.0).abs() < 0.05);
    }

    #[test]
    fn no_probability_is_above_one() {
        for (bits, hashes, load) in [(1024, 7, 1e9), (0, 1, 1.0), (0, 7, 1e3), (1, 1, 1e6)] {
            let probability = false_positive_probability(bits, hashes, load);
            assert!((0.999..=1.0).contains(&probability), "{bits} {hashes} {load}: {probability}");
        }
    }

    #[test]
    fn steady_loads_meet_the_textbook() {
        let n = 1 << 20;
        let textbook = (1.0 - (-7.0 * 1e5 / f64::from(n)).exp()).powi(7);
        assert!((false_positive_probability(n, 7, 1e5) / textbook - 1.0).abs() < 1e-3);
        assert!((ln_factorial(255.0) + 256f64.ln() - ln_factorial(256.0)).abs() < 1e-10);
        let sum = false_positive_probability(1, 1, 3.0);
        assert!((sum - (1.0 - (-3f64).exp())).abs() < 1e-12, "one bit is set unless nothing came: {sum}");
    }
}
