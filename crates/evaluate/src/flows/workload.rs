use crate::grid::Entry;
use crate::value::{Invalid, LONGEST_MS, all_within, available, runnable, time, whole, within};
use dwell_simulate::crossing::flows::{FlowSettings, FlowWorkload};
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
    pub(super) settings: FlowSettings,
    /// Shares of the flows in each class but the first.
    pub(super) classes: Vec<f64>,
}

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    /// The stream, with `share` of its flows.
    fn items(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        /// Ten billion packets, of which a flow has 53 on average.
        const MOST_FLOWS: u64 = 100_000_000;
        const MOST_LEVELS: f64 = 1e8;
        /// A flow of the stream, its next packet, its true delays and their estimates.
        const FLOW_BYTES: f64 = 128.0;
        let flows = whole("flows", self.flows.into(), 1..=MOST_FLOWS)?;
        let flows = (flows as f64 * share).ceil() as u32;
        available("flows", f64::from(flows) * FLOW_BYTES)?;
        let settings = match self.coherence_ms {
            Some(ms) => {
                // The levels of all moments are kept, and flows begin for 2 ms each.
                let least = 0.001f64.max(f64::from(flows) * 2.0 / MOST_LEVELS);
                FlowSettings::one_queue(flows, time("coherence_ms", ms, least..=LONGEST_MS)?)
            }
            None => FlowSettings::two_modes(flows),
        };
        let loss = within("loss", self.loss, 0.0..1.0)?;
        let references = within("references", self.references, 0.0..=1e6)?;
        runnable("references", (references * settings.span.get() as f64 / 1e9).max(1.0))?;
        let settings = settings.with_loss(loss).with_references(references);
        let classes = self.classes.clone();
        all_within("classes", &classes, 0.0..=1.0)?;
        within("classes", classes.iter().sum(), 0.0..=1.0)?;
        // Rejects invalid settings without generating the whole stream.
        FlowWorkload::new(&FlowSettings { flows: flows.min(1), ..settings.clone() }, 0)
            .map_err(|problem| Invalid::new("settings", problem))?;
        Ok(vec![(self.name.clone(), Stream { settings, classes })])
    }
}
