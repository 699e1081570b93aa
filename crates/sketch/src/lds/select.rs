use super::compare::upper;
use super::{Comparison, Figure, FlowEstimate};
use crate::estimate::Z95;
use crate::parts::cell::Difference;
use dwell_types::FlowId;

/// Which of a flow's usable cells are used for its delay. All rules look for cells with few packets, which other flows
/// disturb least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The cell with the fewest packets after scaling counts by the inverse of their row's rate, and all cells with at
    /// most this share more [sanjuas11 §2.3.4, §4.2].
    Paper {
        /// *α*: .1 in the paper.
        tolerance: f64,
    },
    /// The same with upper bounds of the scaled counts, so that a row with a low rate does not win by chance. The
    /// tolerance is .1, or none with one cell per flow and row.
    UpperBound,
}

impl Rule {
    /// Cells with at most this share more packets than the one with the fewest are used, too.
    pub(super) fn tolerance(self, cells_per_flow: u32) -> f64 {
        match self {
            Self::Paper { tolerance } => tolerance,
            Self::UpperBound if cells_per_flow == 1 => 0.0,
            Self::UpperBound => 0.1,
        }
    }
}

impl Comparison<'_> {
    /// The estimate for one flow from its least disturbed cells. Only counts, which other flows can only raise, have an
    /// interval: how much of a cell's delay belongs to other flows is unknown.
    pub fn estimate(&self, flow: FlowId, class: u8, rule: Rule) -> FlowEstimate {
        let weight = f64::from(self.sender.weight(class));
        let cells = self.candidates(flow, rule);
        FlowEstimate {
            mean_delay_ns: mean(&cells).map(|mean| Figure { value: self.delay(mean), interval: None }),
            packets: Some(self.least(flow, weight, |cell| self.sent(cell))),
            lost: Some(self.least(flow, weight, |cell| self.lost(cell))),
            bytes: self.bytes(flow),
            spread_ns: spread(&cells, weight),
        }
    }

    /// Bytes of the flow, if the sketch sums them up.
    pub(super) fn bytes(&self, flow: FlowId) -> Option<Figure> {
        let bytes = &self.sender.bytes;
        (!bytes.is_empty()).then(|| self.least(flow, 1.0, |cell| bytes[cell] as f64))
    }

    /// The usable cells that a rule selects, with their rows.
    pub(super) fn candidates(&self, flow: FlowId, rule: Rule) -> Vec<(usize, Difference)> {
        let params = self.sender.params();
        let is_paper = matches!(rule, Rule::Paper { .. });
        let mut cells = Vec::new();
        for (row, &rate) in params.rates.iter().enumerate() {
            for cell in self.sender.cells_of(flow, row) {
                let Some(difference) = self.usable(cell) else { continue };
                let sampled = f64::from(difference.packets);
                cells.push((if is_paper { sampled / rate } else { upper(sampled, rate, Z95) }, (row, difference)));
            }
        }
        let fewest = cells.iter().map(|(count, _)| *count).fold(f64::INFINITY, f64::min);
        cells.retain(|(count, _)| *count <= fewest * (1.0 + rule.tolerance(params.cells_per_flow)));
        cells.into_iter().map(|(_, cell)| cell).collect()
    }
}

/// Mean delay relative to `about`: Σ delays over Σ packets.
fn mean(cells: &[(usize, Difference)]) -> Option<f64> {
    let delay: f64 = cells.iter().map(|(_, cell)| cell.delay_ns as f64).sum();
    let packets: f64 = cells.iter().map(|(_, cell)| f64::from(cell.packets)).sum();
    (packets > 0.0).then(|| delay / packets)
}

/// The spread of delays from that between the means of a row's cells: Σ *n* (*d̄* − *d̄*ᵣ)² divided by the number of
/// cells less one per row. Other flows in the cells raise it. With twelve degrees of freedom its error is a fifth.
pub(super) fn spread(cells: &[(usize, Difference)], weight: f64) -> Option<Figure> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for row in cells.chunk_by(|a, b| a.0 == b.0) {
        let center = mean(row)?;
        let square = |cell: &Difference| {
            let packets = f64::from(cell.packets);
            packets / weight * (cell.delay_ns as f64 / packets - center).powi(2)
        };
        squares += row.iter().map(|(_, cell)| square(cell)).sum::<f64>();
        freedom += row.len() as f64 - 1.0;
    }
    if freedom < 1.0 {
        return None;
    }
    let variance = squares / freedom;
    let bound = |z: f64| (variance * freedom / chi_square(freedom, z)).sqrt();
    Some(Figure::within(variance.sqrt(), bound(Z95), bound(-Z95)))
}

/// Quantile of χ² at the normal quantile `z`, by Wilson and Hilferty; above zero.
fn chi_square(freedom: f64, z: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + z * part.sqrt()).max(0.01).powi(3)
}
