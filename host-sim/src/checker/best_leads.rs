//! Settled: no node of a part is better than the one that leads it.
//!
//! A leader that stayed in office over the last disturbance has the incumbent's margin, and where capacities are
//! measured with noise everybody has: that margin is what keeps noise from changing leaders. So it has against a node
//! that lost its records: that one was kept out of the election. And so it has where a leader needs a majority: it may have
//! been elected, and settled, long before it was heard by enough to lead.

use super::{Settled, SettledNode};
use protocol::capacity::{Capacity, Standing};

pub(super) const NAME: &str = "best-leads";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.parts().into_iter().filter_map(|part| {
        let (leader, _) = part.iter().find_map(|node| node.leader)?;
        let leader = settled.node(leader)?; // who is not up is reported elsewhere
        let Some(standing) = leader.standing else {
            return Some(format!("node {} leads, and it cannot lead", leader.name));
        };
        let allowed = allowance(settled, leader, standing);
        let rivals = part.iter().filter(|node| !node.yielded).filter_map(|node| Some((node.standing?, node.blank)));
        let best = rivals
            .filter(|&(rival, blank)| rival > if blank { allowed.max(standing.as_incumbent()) } else { allowed })
            .map(|(rival, _)| rival)
            .max()?;
        let (better, worse) = (best.capacity.get(), standing.capacity.get());
        Some(format!("node {} of capacity {worse} leads, node {} has {better}", leader.name, best.id.0))
    })
}

/// The best standing the leader may leave unchallenged.
fn allowance(settled: &Settled, leader: &SettledNode, standing: Standing) -> Standing {
    if settled.noise > 0.0 {
        let stretch = (1.0 + settled.noise) / (1.0 - settled.noise).max(0.01);
        let stretched = (f64::from(standing.capacity.get()) * stretch).ceil() as u16;
        let capacity = Capacity::new(stretched).max(standing.capacity.as_incumbent());
        Standing { capacity, ..standing }
    } else if leader.incumbent || settled.quorum > 1 {
        standing.as_incumbent()
    } else {
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::super::settled::agreeing;
    use super::*;

    #[test]
    fn the_best_of_a_part_passes() {
        assert_eq!(check(&agreeing(4, 3)).count(), 0);
    }

    #[test]
    fn a_lesser_leader_is_reported_unless_it_was_in_office() {
        let mut settled = agreeing(4, 2);
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["node 2 of capacity 102 leads, node 3 has 103"]);
        settled.nodes[2].incumbent = true;
        assert_eq!(check(&settled).count(), 0);
        settled.nodes[3].standing = settled.nodes[3].standing.map(|standing| standing.as_incumbent().as_incumbent());
        assert_eq!(check(&settled).count(), 1, "far better than the margin");
    }

    #[test]
    fn where_a_leader_needs_a_majority_it_may_have_settled_before_it_led() {
        let mut settled = agreeing(4, 2);
        settled.quorum = 3;
        assert_eq!(check(&settled).count(), 0);
        settled.nodes[3].standing = settled.nodes[3].standing.map(|standing| standing.as_incumbent().as_incumbent());
        assert_eq!(check(&settled).count(), 1, "far better than the margin");
    }

    #[test]
    fn a_better_node_that_was_asked_to_yield_need_not_lead() {
        let mut settled = agreeing(4, 2);
        settled.nodes[3].yielded = true;
        assert_eq!(check(&settled).count(), 0);
    }

    #[test]
    fn a_slightly_better_node_that_lost_its_records_need_not_lead() {
        let mut settled = agreeing(4, 2);
        settled.nodes[3].blank = true;
        assert_eq!(check(&settled).count(), 0);
        settled.nodes[3].standing = settled.nodes[3].standing.map(|standing| standing.as_incumbent().as_incumbent());
        assert_eq!(check(&settled).count(), 1, "far better than the margin");
    }

    #[test]
    fn noise_excuses_what_it_may_have_caused() {
        let mut settled = agreeing(4, 2);
        settled.noise = 0.05;
        assert_eq!(check(&settled).count(), 0);
    }

    #[test]
    fn a_leader_that_cannot_lead_is_reported() {
        let mut settled = agreeing(4, 3);
        settled.nodes[3].standing = None;
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["node 3 leads, and it cannot lead"]);
    }
}
