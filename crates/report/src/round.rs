//! Round numbers: 1, 2 and 5 times powers of ten.

/// The round numbers from 1 to below 10.
pub(crate) const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

/// The largest of the edges 0, ±1, ±2, ±5, ±10, … at or below `value`, down to `-i64::MAX`.
pub(crate) fn edge_below(value: i64) -> i64 {
    match value {
        i64::MIN..0 => -edge_above(-(value + 1)),
        0 => 0,
        _ => {
            let (decade, digit) = leading(value);
            decade * steps().rev().find(|&step| step <= digit).unwrap_or(1)
        }
    }
}

/// The smallest of these edges above `value`, up to `i64::MAX`.
pub(crate) fn edge_above(value: i64) -> i64 {
    match value {
        i64::MIN..0 => -edge_below(-(value + 1)),
        0 => 1,
        _ => {
            let (decade, digit) = leading(value);
            decade.saturating_mul(steps().find(|&step| step > digit).unwrap_or(10))
        }
    }
}

/// The power of ten at or below a positive number, and the first digit.
fn leading(value: i64) -> (i64, i64) {
    let decade = 10i64.pow(value.ilog10());
    (decade, value / decade)
}

fn steps() -> impl DoubleEndedIterator<Item = i64> {
    STEPS.into_iter().map(|step| step as i64)
}

/// The largest round number at or below a positive one, but for errors of rounding.
pub(crate) fn down(value: f64) -> f64 {
    around(value).rev().find(|&round| round <= value * (1.0 + 1e-9)).unwrap_or(value)
}

/// The smallest round number at or above a positive one, but for errors of rounding.
pub(crate) fn up(value: f64) -> f64 {
    around(value).find(|&round| round >= value * (1.0 - 1e-9)).unwrap_or(value)
}

/// The round numbers around a positive one.
fn around(value: f64) -> impl DoubleEndedIterator<Item = f64> {
    let decade = 10f64.powi(value.log10().floor() as i32);
    STEPS.into_iter().chain([10.0]).map(move |step| step * decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_one_two_and_five() {
        let mut edges = vec![-10];
        while edges.len() < 12 {
            edges.push(edge_above(edges[edges.len() - 1]));
        }
        assert_eq!(edges, [-10, -5, -2, -1, 0, 1, 2, 5, 10, 20, 50, 100]);
        for (delay, edge) in
            [(0, 0), (1, 1), (3, 2), (7, 5), (99, 50), (100, 100), (-1, -1), (-3, -5), (-99, -100), (-100, -100)]
        {
            assert_eq!(edge_below(delay), edge, "{delay}");
        }
        // The largest round number that fits; beyond it, edges end at the limits.
        const LAST: i64 = 5_000_000_000_000_000_000;
        assert_eq!((edge_below(i64::MAX), edge_above(LAST)), (LAST, i64::MAX));
        assert_eq!((edge_below(i64::MIN), edge_above(-i64::MAX)), (-i64::MAX, -LAST));
    }
}
