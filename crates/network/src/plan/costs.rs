use super::Cost;
use crate::Topology;
use dwell_logs::{Lines, LogError};
use std::collections::HashMap;
use std::path::Path;

/// The cost of every router, from a CSV with the columns `router` and `cost`; 1 for routers that are not listed. With a
/// warning if its last line may be cut off.
pub fn costs(path: &Path, topology: &Topology) -> Result<(Vec<Cost>, Option<String>), LogError> {
    let mut lines = Lines::open(path, None)?;
    let ([router, cost], []) = lines.columns(["router", "cost"], [])?;
    let mut costs: HashMap<String, Cost> = HashMap::new();
    while lines.advance()? {
        let (router, cost) = (lines.field(router), lines.field(cost));
        if topology.find(router).is_none() {
            return Err(lines.error(format!("the map has no router '{router}'")));
        }
        let cost = cost.parse().map_err(|what: String| lines.error(what))?;
        if costs.contains_key(router) {
            return Err(lines.error(format!("the cost of '{router}' a second time")));
        }
        costs.insert(router.to_owned(), cost);
    }
    let cost_of = |router: u32| costs.get(topology.name(router)).copied().unwrap_or(Cost::ONE);
    Ok(((0..topology.routers() as u32).map(cost_of).collect(), lines.whole()?))
}
