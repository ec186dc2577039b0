//! Settled: where the election makes clusters, no super-peer is within the horizon of another, by links on which every frame
//! arrives, unless the clients of both are too many for one.

use super::Settled;

pub(super) const NAME: &str = "super-peers-apart";

/// How far a super-peer's count of its clients may be from the truth.
const COUNT_ERROR: u32 = 8;

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.clusters.iter().flat_map(move |clusters| {
        let clients = settled.clients();
        let serving = settled.nodes.iter().filter(|node| node.leads());
        serving.flat_map(move |node| {
            let of = |node| clients.get(&node).copied().unwrap_or(0);
            // Counted again and again, and a client may have moved since.
            let both_needed = |other| {
                clusters.clients_max.is_some_and(|most| of(node.id) + of(other) + COUNT_ERROR > u32::from(most))
            };
            let near: Vec<u32> = clusters.surely_near(node.id).collect();
            let pairs = near.into_iter().filter(|&other| other > node.id && !both_needed(other)).collect::<Vec<_>>();
            pairs.into_iter().map(|other| format!("super-peers {} and {other} are within {} hops", node.id, clusters.horizon))
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
        settled.clusters.as_mut().unwrap().clients_max = Some(20);
        assert_eq!(check(&settled).count(), 1, "one may serve the clients of both");
        settled.clusters.as_mut().unwrap().clients_max = Some(3);
        assert_eq!(check(&settled).count(), 0, "one may not");
    }
}
