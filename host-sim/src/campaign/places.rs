//! The places of nodes in drawn radio networks.
//!
//! With a range of 15 m, frames reach up to 19 m now and then. The places below leave no pair of nodes between the two, so
//! that links are sure or missing.

use crate::base::rng::Rng;
use std::f64::consts::TAU;
use std::fmt::Write as _;

/// Shapes of a scenario, and those that are written as positions.
pub(super) const SHAPES: &[&str] =
    &["line", "ring", "star", "grid", "geometric", "complete", "barbell", "cliques", "clusters"];

/// The distance between the middles of neighbouring cliques and bridges.
const STEP: f64 = 11.0;
/// The distance of a cluster from the bridge amid three of them.
const ARM: f64 = 14.0;

/// Returns the positions of nodes in a shape that scenarios have no word for; `None` if they have one.
pub(super) fn positions(shape: &str, nodes: u32, rng: &mut Rng) -> Option<String> {
    let middles: Vec<(f64, f64, bool)> = match shape {
        // Two cliques, and a line of bridges between them.
        "barbell" => {
            let bridges = rng.between(1, 3);
            (0..bridges + 2).map(|at| (at as f64 * STEP, 0.0, at == 0 || at == bridges + 1)).collect()
        }
        // Cliques in a row, joined by one node each.
        "cliques" => (0..5).map(|at| (f64::from(at) * STEP, 0.0, at % 2 == 0)).collect(),
        // Three clusters around a bridge.
        "clusters" => {
            let arm = |at: u32| TAU * f64::from(at) / 3.0;
            let arms = (0..3).map(|at| (ARM * arm(at).cos(), ARM * arm(at).sin(), true));
            std::iter::once((0.0, 0.0, false)).chain(arms).collect()
        }
        _ => return None,
    };
    // One node each, then the cliques grow in turns.
    let cliques: Vec<_> = middles.iter().filter(|(.., grows)| *grows).collect();
    let places = middles.iter().chain(cliques.iter().copied().cycle()).take(nodes as usize);
    let mut text = String::from("[");
    for (number, (x, y, _)) in places.enumerate() {
        let angle = number as f64 * 2.4; // about the golden angle: no two places are the same
        let radius = if number < middles.len() { 0.0 } else { 0.9 };
        let _ = write!(text, "[{:.2}, {:.2}], ", x + radius * angle.cos(), y + radius * angle.sin());
    }
    text.push(']');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Stream;

    #[test]
    fn links_are_sure_or_missing_and_connect_all_nodes() {
        let mut rng = Rng::new(1, Stream::Campaign);
        for (shape, nodes) in ["barbell", "cliques", "clusters"].into_iter().flat_map(|shape| [(shape, 2), (shape, 30)])
        {
            let text = format!("points = {}", positions(shape, nodes, &mut rng).unwrap());
            let table: toml::Table = toml::from_str(&text).unwrap();
            let points: Vec<[f64; 2]> = table["points"].clone().try_into().unwrap();
            let apart = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
            let mut reached = vec![points[0]];
            for _ in 0..points.len() {
                let near = |point: &&[f64; 2]| reached.iter().any(|&other| apart(**point, other) <= 15.0);
                reached = points.iter().filter(near).copied().collect();
            }
            assert_eq!((points.len(), reached.len()), (nodes as usize, nodes as usize), "{shape}");
            let pairs = points.iter().flat_map(|&a| points.iter().map(move |&b| apart(a, b)));
            assert!(pairs.into_iter().all(|apart| apart <= 15.0 || apart > 18.75), "{shape} of {nodes}");
        }
        assert_eq!(positions("line", 4, &mut rng), None);
    }
}
