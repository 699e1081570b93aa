use super::{Expected, LdaError, Params};

impl Params {
    /// Bytes of the largest sketch that [`Params::for_error`] considers.
    pub const MOST_BYTES: usize = 16 << 20;

    /// The expected effective sample size with this many packets received and lost: *R* Σ *p*ₖ (1 − *p*ₖ/*m*ₖ)^*L*
    /// [kompella12 §III-D, for any α].
    pub fn expected_packets(&self, received: f64, lost: f64) -> f64 {
        let share = self.banks.iter().map(|bank| {
            let per_row = bank.probability / f64::from(bank.rows);
            bank.probability * (1.0 - per_row).powf(lost)
        });
        received * share.sum::<f64>()
    }

    /// The expected standard error of the mean, relative to the mean, of `packets` packets with this share of loss: *c*
    /// √((1 − *S*/*R*)/*S*) for delays whose coefficient of variation *c* is `variation`.
    pub fn expected_error(&self, packets: u64, loss: f64, variation: f64) -> f64 {
        let lost = packets as f64 * loss;
        let received = packets as f64 - lost;
        let sample = self.expected_packets(received, lost);
        variation * ((1.0 - sample / received).max(0.0) / sample).sqrt()
    }

    /// The smallest budget whose [`Params::expected_error`] is at most `error` for every loss in the range: that is,
    /// for the largest, where the sample is smallest.
    pub fn for_error(error: f64, expected: &Expected, variation: f64) -> Result<Self, LdaError> {
        let is_enough =
            |params: &Self| params.expected_error(expected.packets, *expected.loss.end(), variation) <= error;
        let mut few = 0;
        let mut many = match Self::budget_for(0, expected) {
            Err(LdaError::Bytes { needed, .. }) => needed,
            other => return other,
        };
        let mut best = loop {
            match Self::budget_for(many, expected) {
                Ok(params) if is_enough(&params) => break params,
                Ok(_) => (few, many) = (many, 2 * many),
                Err(error) => return Err(error),
            }
            if many > Self::MOST_BYTES {
                return Err(LdaError::Error(error));
            }
        };
        // Bisects to within 1%, or one cell.
        while many - few > (many / 100).max(best.cell.bytes()) {
            let middle = few.midpoint(many);
            match Self::budget_for(middle, expected) {
                Ok(params) if is_enough(&params) => (many, best) = (middle, params),
                Ok(_) | Err(LdaError::Bytes { .. }) => few = middle,
                Err(error) => return Err(error),
            }
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lda::{Bank, CellSize};

    #[test]
    fn a_bank_that_takes_everything_without_loss_has_no_error() {
        let banks = vec![Bank { rows: 64, probability: 1.0 }];
        let params = Params { banks, cell: CellSize::Bits72, seed: 0 };
        assert_eq!(params.expected_packets(1_000.0, 0.0), 1_000.0);
        assert_eq!(params.expected_error(1_000, 0.0, 1.0), 0.0);
        // 64 lost packets leave about 1/e of the rows usable.
        let sample = params.expected_packets(936.0, 64.0);
        assert!((sample / 936.0 - 0.365).abs() < 0.001, "{sample}");
        assert!(
            (params.expected_error(1_000, 0.064, 2.0) - 2.0 * ((1.0 - 0.365) / (936.0 * 0.365f64)).sqrt()).abs() < 1e-4
        );
    }

    #[test]
    fn the_smallest_that_is_enough() {
        let expected = Expected { packets: 100_000, ..Expected::default() };
        let mut last = usize::MAX;
        for error in [0.003, 0.01, 0.03] {
            let params = Params::for_error(error, &expected, 1.0).unwrap();
            let bytes = params.state_bytes();
            assert!(params.expected_error(100_000, 0.1, 1.0) <= error && bytes < last, "{error}: {bytes}");
            if let Ok(less) = Params::budget_for(bytes * 97 / 100, &expected) {
                assert!(less.expected_error(100_000, 0.1, 1.0) > error, "{error}: {bytes}");
            }
            last = bytes;
        }
        assert_eq!(Params::for_error(0.0, &expected, 1.0), Err(LdaError::Error(0.0)));
    }
}
