use crate::output::Output;
use crate::words;
use anyhow::Result;
use dwell_evaluate::figure::{Height, Panel};
use dwell_evaluate::record::Results;
use dwell_evaluate::{Definition, Size};
use dwell_report::plot::{self, Image, Sweep, SweepPanel};
use dwell_report::text;
use std::path::{Path, PathBuf};

/// Draws `figure.svg`, and with `has_png` also `figure.png`, next to results of full size whose definition describes a
/// figure; returns the paths.
pub(super) fn write(definition: &Definition, results: &Results, folder: &Path, has_png: bool) -> Result<Vec<PathBuf>> {
    let Some(figure) = definition.figure.as_ref().filter(|_| results.size == Size::Full.name()) else {
        return Ok(Vec::new());
    };
    let drawn = figure.draw(&results.summaries);
    let mut values = drawn.panels.iter().flat_map(|panel| &panel.curves).flat_map(|(_, values)| values).flatten();
    if values.clone().next().is_none() {
        words::say("no figure: there are no results for it");
        return Ok(Vec::new());
    }
    let bars = if values.any(|value| value.low < value.high) { " Bars: 95% intervals of the mean." } else { "" };
    let panel = |Panel { name, curves }| SweepPanel { name, curves };
    let sweep = Sweep {
        // As the definition says now: a record keeps the words of its run.
        title: definition.title.clone(),
        subtitle: format!("{}, {}; {}.{bars}", drawn.y, text::of(results.seeds, "seed"), definition.source),
        x: drawn.x,
        places: drawn.places,
        y: axis(figure.y, figure.log),
        mark: None,
        panels: drawn.panels.into_iter().map(panel).collect(),
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

fn axis(height: Height, by_logarithm: bool) -> plot::Height {
    match height {
        Height::MedianError | Height::RmsError | Height::TenRmsError => plot::Height::Logarithmic,
        Height::MeanRelativeError | Height::Share => plot::Height::Share,
        Height::Mean | Height::Covered if by_logarithm => plot::Height::Logarithmic,
        Height::Mean | Height::Covered => plot::Height::Linear,
    }
}
