//! Plots of a network map.

use super::Map;
use crate::output::{self, Output};
use anyhow::{Result, bail};
use dwell_network::layout;
use dwell_network::segments::Segments;
use dwell_report::plot::{self, Image, MapLink, MapPicture, MapRouter};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

/// How a segment is drawn on the map.
#[derive(Clone, Copy)]
pub(super) struct Shade {
    /// Its mean delay, if known.
    pub(super) delay_ns: Option<f64>,
    /// Whether it is slower or lossier than usual.
    pub(super) alarm: bool,
}

/// Opens the file of a plot, if one is requested and the map is not too large for it.
pub(super) fn open(map: &Map, asked: Option<&(PathBuf, Image)>) -> Result<Option<(Output, Image)>> {
    if asked.is_some() && map.topology.routers() > layout::MOST {
        bail!("--plot: the map has more than {} routers", layout::MOST);
    }
    Output::picture(asked)
}

/// Places all routers; each link gets its part of the delay of the shortest segment that contains it.
fn draw(map: &Map, segments: &Segments, shade: impl Fn(&[u32]) -> Option<Shade>) -> Option<MapPicture> {
    let places = layout::layout(&map.topology)?;
    let mut over: HashMap<(u32, u32), (usize, Shade)> = HashMap::new();
    for routers in segments.iter() {
        let Some(shade) = shade(routers) else { continue };
        let hops = routers.len() - 1;
        for link in routers.windows(2) {
            let known = over.entry((link[0], link[1])).or_insert((hops, shade));
            if hops < known.0 {
                *known = (hops, shade);
            }
        }
    }
    let link = |(from, to): (u32, u32)| {
        let known = over.get(&(from, to));
        MapLink {
            from: from as usize,
            to: to as usize,
            delay_ns: known.and_then(|(hops, shade)| Some(shade.delay_ns? / *hops as f64)),
            alarm: known.is_some_and(|(_, shade)| shade.alarm),
        }
    };
    let routers = (0..).zip(places).map(|(router, place)| MapRouter {
        name: map.topology.name(router).to_owned(),
        place,
        instrumented: segments.is_instrumented(router),
    });
    let network = &map.network;
    Some(MapPicture {
        title: network.source.rsplit('/').next().unwrap_or(&network.source).to_owned(),
        subtitle: format!("{} routers, {} links, {} segments", network.routers, network.links, segments.len()),
        routers: routers.collect(),
        links: map.topology.ends().map(link).collect(),
    })
}

/// Writes a plot, and warns of names that it cannot show.
pub(super) fn write(
    map: &Map,
    segments: &Segments,
    shade: impl Fn(&[u32]) -> Option<Shade>,
    image: Image,
    to: &mut Output,
) -> io::Result<()> {
    let picture = draw(map, segments, shade).ok_or(io::ErrorKind::FileTooLarge)?;
    output::warn_of_letters(image, picture.routers.iter().map(|router| router.name.as_str()));
    plot::write_map(&picture, image, to)
}
