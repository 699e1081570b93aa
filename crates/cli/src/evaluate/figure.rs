use crate::messages;
use crate::output::Output;
use anyhow::Result;
use dwell_evaluate::record::Results;
use dwell_evaluate::{Definition, Extent};
use dwell_report::plot::{self, Image};
use std::path::{Path, PathBuf};

/// Draws `figure.svg`, and with `has_png` also `figure.png`, next to results of full size whose definition describes a
/// figure; returns the paths.
pub(super) fn write(definition: &Definition, results: &Results, folder: &Path, has_png: bool) -> Result<Vec<PathBuf>> {
    if definition.figure.is_none() && has_png {
        messages::say(&format!("no figure: {} has no table [figure]", definition.name));
    }
    if definition.figure.is_none() || results.size != Extent::Full.name() {
        return Ok(Vec::new());
    }
    let Some(sweep) = results.sweep(definition) else {
        messages::say("no figure: there are no results for it");
        return Ok(Vec::new());
    };
    let draw = |(name, image): (&str, Image)| {
        let path = folder.join(name);
        let mut to = Output::file(&path)?;
        plot::write_sweep(&sweep, image, &mut to)?;
        to.finish()?;
        Ok(path)
    };
    let png = has_png.then_some(("figure.png", Image::Png));
    [("figure.svg", Image::Svg)].into_iter().chain(png).map(draw).collect()
}
