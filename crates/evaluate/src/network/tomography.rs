//! Tomography: link delays inferred from path delays by least squares.

/// Paths as lists of links.
pub(super) struct Tomography<'a> {
    pub(super) paths: &'a [&'a [u32]],
    pub(super) links: usize,
    /// Weight of the squared link delays relative to squared errors: paths alone do not distinguish all links.
    pub(super) ridge: f64,
}

impl Tomography<'_> {
    /// The link delays that best explain the path delays: (`AᵀA` + *λ*) *x* = *Aᵀy*, by conjugate gradients.
    pub(super) fn solve(&self, delays: &[f64]) -> Vec<f64> {
        let mut solution = vec![0.0; self.links];
        let mut rest = self.onto_links(delays);
        let mut direction = rest.clone();
        let mut square = dot(&rest, &rest);
        let first = square;
        for _ in 0..4 * self.links {
            if square <= first * 1e-24 {
                break;
            }
            let image = self.normal(&direction);
            let step = square / dot(&direction, &image);
            add(&mut solution, &direction, step);
            add(&mut rest, &image, -step);
            let next = dot(&rest, &rest);
            for (direction, rest) in direction.iter_mut().zip(&rest) {
                *direction = rest + next / square * *direction;
            }
            square = next;
        }
        solution
    }

    /// *Aᵀy*.
    fn onto_links(&self, delays: &[f64]) -> Vec<f64> {
        let mut links = vec![0.0; self.links];
        for (path, delay) in self.paths.iter().zip(delays) {
            path.iter().for_each(|&link| links[link as usize] += delay);
        }
        links
    }

    /// (`AᵀA` + *λ*) *x*.
    fn normal(&self, links: &[f64]) -> Vec<f64> {
        let sums: Vec<f64> =
            self.paths.iter().map(|path| path.iter().map(|&link| links[link as usize]).sum()).collect();
        let mut image = self.onto_links(&sums);
        add(&mut image, links, self.ridge);
        image
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_tell_links_apart_give_their_delays() {
        let paths: [&[u32]; 4] = [&[0, 1], &[1, 2], &[0, 2], &[3]];
        let truth = [5.0, 1.0, 7.0, 2.0];
        let delays: Vec<f64> = paths.iter().map(|path| path.iter().map(|&link| truth[link as usize]).sum()).collect();
        let found = Tomography { paths: &paths, links: 4, ridge: 1e-9 }.solve(&delays);
        assert!(found.iter().zip(truth).all(|(found, truth)| (found - truth).abs() < 1e-6), "{found:?}");
        let one = Tomography { paths: &[&[0, 1]], links: 2, ridge: 1e-9 }.solve(&[8.0]);
        assert!(
            one.iter().all(|half| (half - 4.0).abs() < 1e-6),
            "two links that no path separates share alike: {one:?}"
        );
    }
}
