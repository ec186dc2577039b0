//! Settled: no node of a component outranks its leader; where the lowest is to win, none ranks below it.
//!
//! Four cases allow the leader the incumbent's margin: it has led since before the last disturbance; capacities are
//! measured with noise (the margin is what keeps noise from changing leaders); the better node lost its records, and so
//! was kept out of the election; or leaders need a quorum, and this one may have been elected long before enough nodes
//! could be reached.
//!
//! Where the election makes clusters, no node outranks all super-peers within its horizon.

use super::{Clusters, Settled, SettledNode};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::election::Winner;

pub(super) const NAME: &str = "best-leads";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    let unserving = settled.clusters.iter().flat_map(|clusters| outranks_its_super_peers(settled, clusters));
    let led = settled.led_by_one().into_iter().filter_map(|component| {
        let (leader, _) = component.iter().find_map(|node| node.leader)?;
        let leader = settled.node(leader)?; // another checker reports a leader that is down
        let Some(candidate) = leader.candidate else {
            return Some(format!("node {} leads, and it cannot lead", leader.id));
        };
        let allowed = allowance(settled, leader, candidate);
        let outranks = |rival: Candidate, blank: bool| match settled.winner {
            Winner::Highest => rival > if blank { allowed.max(candidate.as_incumbent()) } else { allowed },
            // An incumbent has no margin here; what noise, a quorum and lost records explain is allowed all the same.
            Winner::Lowest if settled.noise > 0.0 || settled.quorum > 1 || blank => rival.as_incumbent() < candidate,
            Winner::Lowest => rival < candidate,
        };
        let rivals = component.iter().filter(|node| !node.yielded).filter_map(|node| Some((node.candidate?, node.blank)));
        let rivals = rivals.filter(|&(rival, blank)| outranks(rival, blank)).map(|(rival, _)| rival);
        let best = match settled.winner {
            Winner::Highest => rivals.max()?,
            Winner::Lowest => rivals.min()?,
        };
        let (better, worse) = (best.capacity.get(), candidate.capacity.get());
        Some(format!("node {} of capacity {worse} leads, node {} has {better}", leader.id, best.id.0))
    });
    led.chain(unserving)
}

/// Finds the nodes that should be super-peers themselves.
fn outranks_its_super_peers(settled: &Settled, clusters: &Clusters) -> impl Iterator<Item = String> {
    settled.nodes.iter().filter(|node| !node.leads() && !node.yielded).filter_map(move |node| {
        let candidate = node.candidate?;
        let near = || clusters.possibly_near(node.id).filter_map(|id| settled.node(id));
        let outranked = |leader: &SettledNode| {
            let rank = leader.candidate?;
            // Who has served for some beacons stays against any that is not an eighth better.
            Some(candidate > allowance(settled, leader, rank).max(rank.as_incumbent()))
        };
        let served = near().next().is_some(); // another checker reports a node without a super-peer
        (served && near().all(|leader| outranked(leader).unwrap_or(true))).then(|| {
            let horizon = clusters.horizon;
            format!("node {} of capacity {} outranks all super-peers within {horizon} hops", node.id, candidate.capacity.get())
        })
    })
}

/// The best candidate that may stay below the leader.
fn allowance(settled: &Settled, leader: &SettledNode, candidate: Candidate) -> Candidate {
    if settled.noise > 0.0 {
        let stretch = (1.0 + settled.noise) / (1.0 - settled.noise).max(0.01);
        let stretched = (f64::from(candidate.capacity.get()) * stretch).ceil() as u16;
        let capacity = Capacity::new(stretched).max(candidate.capacity.as_incumbent());
        Candidate { capacity, ..candidate }
    } else if leader.incumbent || settled.quorum > 1 {
        candidate.as_incumbent()
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{agreeing, clustered};
    use super::*;

    /// Node 2 of 4 leads, though node 3 is slightly better, in a network changed by `change`.
    fn lesser_leader(change: impl FnOnce(&mut Settled)) -> Settled {
        let mut settled = agreeing(4, 2);
        change(&mut settled);
        settled
    }

    #[test]
    fn the_best_of_a_component_passes_and_a_lesser_leader_is_reported() {
        assert_eq!(check(&agreeing(4, 3)).count(), 0);
        let found: Vec<_> = check(&lesser_leader(|_| {})).collect();
        assert_eq!(found, ["node 2 of capacity 102 leads, node 3 has 103"]);
    }

    #[test]
    fn a_lesser_leader_within_the_margin_passes_where_the_margin_applies() {
        type Change = fn(&mut Settled);
        let cases: [(&str, Change); 3] = [
            ("the leader is the incumbent", |settled| settled.nodes[2].incumbent = true),
            ("a leader needs a quorum", |settled| settled.quorum = 3),
            ("the better node lost its records", |settled| settled.nodes[3].blank = true),
        ];
        for (case, change) in cases {
            let mut settled = lesser_leader(change);
            assert_eq!(check(&settled).count(), 0, "{case}");
            let far_better = |candidate: Candidate| candidate.as_incumbent().as_incumbent();
            settled.nodes[3].candidate = settled.nodes[3].candidate.map(far_better);
            assert_eq!(check(&settled).count(), 1, "{case}, but far beyond the margin");
        }
    }

    #[test]
    fn a_better_node_that_yielded_or_that_noise_hides_need_not_lead() {
        assert_eq!(check(&lesser_leader(|settled| settled.nodes[3].yielded = true)).count(), 0);
        assert_eq!(check(&lesser_leader(|settled| settled.noise = 0.05)).count(), 0);
    }

    #[test]
    fn where_the_lowest_wins_any_other_leader_is_reported() {
        let lowest = |leader| Settled { winner: Winner::Lowest, ..agreeing(4, leader) };
        assert_eq!(check(&lowest(0)).count(), 0);
        let found: Vec<_> = check(&lowest(3)).collect();
        assert_eq!(found, ["node 3 of capacity 103 leads, node 0 has 100"]);
        assert_eq!(check(&Settled { quorum: 3, ..lowest(3) }).count(), 0, "within the margin of a quorum");
    }

    #[test]
    fn a_leader_that_cannot_lead_is_reported() {
        let mut settled = agreeing(4, 3);
        settled.nodes[3].candidate = None;
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["node 3 leads, and it cannot lead"]);
    }

    #[test]
    fn in_clusters_a_node_that_outranks_all_super_peers_within_its_horizon_is_reported() {
        let mut settled = clustered();
        assert_eq!(check(&settled).count(), 0, "none is an eighth better than a super-peer that serves");
        let far_better = |settled: &mut Settled, node: usize| {
            let candidate = settled.nodes[node].candidate;
            settled.nodes[node].candidate = candidate.map(|candidate| candidate.as_incumbent().as_incumbent());
        };
        far_better(&mut settled, 2);
        far_better(&mut settled, 5);
        let found: Vec<_> = check(&settled).collect();
        let outranks = |node: u32, capacity: u32| {
            format!("node {node} of capacity {capacity} outranks all super-peers within 1 hops")
        };
        assert_eq!(found, [outranks(2, 128), outranks(5, 132)]);
        let clusters = settled.clusters.as_mut().unwrap();
        clusters.add(2, 4, false);
        settled.nodes[5].candidate = None;
        far_better(&mut settled, 4);
        assert_eq!(check(&settled).count(), 0, "a better one within the horizon serves");
    }
}
