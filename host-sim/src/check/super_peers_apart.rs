//! Settled: where the election makes clusters, no super-peer is within the horizon of another, by links on which every frame
//! arrives.

use super::Settled;

pub(super) const NAME: &str = "super-peers-apart";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.clusters.iter().flat_map(move |clusters| {
        let serving = settled.nodes.iter().filter(|node| node.leads());
        serving.flat_map(move |node| {
            let pairs = clusters.surely_near(node.id).filter(|&other| other > node.id);
            pairs.map(|other| format!("super-peers {} and {other} are within {} hops", node.id, clusters.horizon))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, clustered};
    use super::*;

    #[test]
    fn two_super_peers_within_the_horizon_are_reported() {
        let mut settled = clustered();
        assert_eq!(check(&settled).collect::<Vec<_>>(), NOTHING);
        let clusters = settled.clusters.as_mut().unwrap();
        clusters.add(1, 4, false);
        clusters.add(4, 1, false);
        assert_eq!(check(&settled).count(), 0, "a bad link joins nobody");
        let clusters = settled.clusters.as_mut().unwrap();
        clusters.add(1, 4, true);
        clusters.add(4, 1, true);
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["super-peers 1 and 4 are within 1 hops"]);
    }
}
