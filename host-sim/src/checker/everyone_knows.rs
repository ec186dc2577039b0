//! Settled: everybody in a part follows the same node, which leads under the term they know and can be reached.

use super::{Settled, SettledNode};

pub(super) const NAME: &str = "everyone-knows";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.parts().into_iter().filter_map(|part| {
        let can_be_led = settled.can_be_led(part[0].region);
        let followed = part.iter().find_map(|node| node.leader);
        let complaint = |node: &SettledNode| match (node.leader, followed) {
            (None, _) => can_be_led.then(|| format!("node {} follows nobody", node.name)),
            (Some((leader, _)), Some((other, _))) if leader != other => {
                Some(format!("node {} follows {leader}, others in its part follow {other}", node.name))
            }
            (Some((leader, term)), _) => match settled.node(leader) {
                None => Some(format!("node {} follows {leader}, which is not up", node.name)),
                Some(led) if led.region != node.region => {
                    Some(format!("node {} follows {leader}, which it cannot reach", node.name))
                }
                Some(led) if led.leader != Some((leader, term)) => {
                    let number = term.number;
                    Some(format!("node {} follows {leader} under term {number}, which {leader} does not", node.name))
                }
                Some(_) => None,
            },
        };
        let mut complaints = part.iter().filter_map(|node| complaint(node));
        let first = complaints.next()?;
        let more = complaints.count();
        Some(if more == 0 { first } else { format!("{first} (and {more} more in its part of {})", part.len()) })
    })
}

#[cfg(test)]
mod tests {
    use super::super::settled::agreeing;
    use super::*;
    use protocol::NodeId;
    use protocol::clock::Term;

    fn found(settled: &Settled) -> Vec<String> {
        check(settled).collect()
    }

    #[test]
    fn an_agreeing_network_passes() {
        assert!(found(&agreeing(4, 3)).is_empty());
    }

    #[test]
    fn a_node_that_follows_nobody_or_another_is_reported() {
        let mut settled = agreeing(4, 3);
        settled.nodes[1].leader = None;
        assert_eq!(found(&settled), ["node 1 follows nobody"]);
        let mut settled = agreeing(4, 3);
        settled.nodes[1].leader = settled.nodes[1].leader.map(|(_, term)| (2, term));
        assert_eq!(found(&settled), ["node 1 follows 2, others in its part follow 3"]);
    }

    #[test]
    fn a_leader_that_is_down_or_out_of_reach_or_of_another_term_is_reported() {
        let mut settled = agreeing(3, 2);
        settled.nodes.pop();
        assert_eq!(found(&settled), ["node 0 follows 2, which is not up (and 1 more in its part of 2)"]);
        let mut settled = agreeing(3, 2);
        (settled.nodes[2].part, settled.nodes[2].region) = (1, 1);
        assert_eq!(found(&settled), ["node 0 follows 2, which it cannot reach (and 1 more in its part of 2)"]);
        let mut settled = agreeing(2, 1);
        settled.nodes[0].leader = Some((1, Term { number: 7, by: NodeId(0) }));
        assert_eq!(found(&settled), ["node 0 follows 1 under term 7, which 1 does not"]);
    }
}
