use crate::grid::{Entry, Named};
use crate::value::Invalid;
use dwell_simulate::crossing::flows::{FlowSettings, FlowWorkload};
use dwell_types::Nanos;
use serde::Deserialize;

/// One entry of `[[flows.workloads]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadEntry {
    name: String,
    /// Number of flows.
    flows: u32,
    /// Delays depend on the time, in slices of this length, instead of on the flow.
    coherence_ms: Option<f64>,
    /// Share of the packets lost.
    #[serde(default)]
    loss: f64,
    /// Probes per second, for methods that use them.
    #[serde(default)]
    references: f64,
    /// Shares of the flows in each class but the first.
    #[serde(default)]
    classes: Vec<f64>,
}

/// A stream with checked settings.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) name: String,
    pub(super) settings: FlowSettings,
    /// Shares of the flows in each class but the first.
    pub(super) classes: Vec<f64>,
}

impl Entry for WorkloadEntry {
    type Item = Stream;

    /// The stream, with `share` of its flows.
    fn items(&self, share: f64) -> Result<Vec<Stream>, Invalid> {
        let flows = (f64::from(self.flows) * share).ceil() as u32;
        let settings = match self.coherence_ms {
            Some(ms) => FlowSettings::one_queue(flows, Nanos::new((ms * 1e6) as i64)),
            None => FlowSettings::two_modes(flows),
        };
        let settings = settings.with_loss(self.loss).with_references(self.references);
        let classes = self.classes.clone();
        if classes.iter().any(|share| !(0.0..=1.0).contains(share)) || classes.iter().sum::<f64>() > 1.0 {
            return Err(Invalid::new("classes", "expected shares of the flows, 1 together at most"));
        }
        // Rejects invalid settings without generating the whole stream.
        FlowWorkload::new(&FlowSettings { flows: flows.min(1), ..settings.clone() }, 0)
            .map_err(|problem| Invalid::new("settings", problem))?;
        Ok(vec![Stream { name: self.name.clone(), settings, classes }])
    }
}

impl Named for Stream {
    fn name(&self) -> &str {
        &self.name
    }
}
