//! Settled: all nodes of a component follow the same node, which leads under the term they know and can be reached.

use super::{Settled, SettledNode};

pub(super) const NAME: &str = "everyone-knows";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.led_by_one().into_iter().filter_map(|component| {
        // One whose only candidates are behind links that lose frames may or may not follow one of them.
        let has_candidate = component.iter().any(|node| node.candidate.is_some());
        let can_be_led = has_candidate && settled.can_be_led(component[0].region);
        let followed = component.iter().find_map(|node| node.leader);
        let violation = |node: &SettledNode| match (node.leader, followed) {
            (None, _) => can_be_led.then(|| format!("node {} follows nobody", node.id)),
            (Some((leader, _)), Some((other, _))) if leader != other => {
                Some(format!("node {} follows {leader}, others in its component follow {other}", node.id))
            }
            (Some((leader, term)), _) => match settled.node(leader) {
                None => Some(format!("node {} follows {leader}, which is not up", node.id)),
                Some(led) if led.region != node.region => {
                    Some(format!("node {} follows {leader}, which it cannot reach", node.id))
                }
                Some(led) if led.leader != Some((leader, term)) => {
                    let number = term.number;
                    Some(format!("node {} follows {leader} under term {number}, which {leader} does not", node.id))
                }
                Some(_) => None,
            },
        };
        let mut violations = component.iter().filter_map(|node| violation(node));
        let first = violations.next()?;
        let more = violations.count();
        Some(if more == 0 {
            first
        } else {
            format!("{first} (and {more} more in its component of {})", component.len())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, agreeing};
    use super::*;
    use protocol::NodeId;
    use protocol::base::term::Term;

    /// Findings in an agreeing network of `nodes`, led by the last, after a change.
    fn found(nodes: u32, change: impl FnOnce(&mut Settled)) -> Vec<String> {
        let mut settled = agreeing(nodes, nodes - 1);
        change(&mut settled);
        check(&settled).collect()
    }

    #[test]
    fn an_agreeing_network_passes() {
        assert_eq!(found(4, |_| {}), NOTHING);
    }

    #[test]
    fn a_node_that_follows_nobody_or_another_is_reported() {
        assert_eq!(found(4, |settled| settled.nodes[1].leader = None), ["node 1 follows nobody"]);
        let other = found(4, |settled| settled.nodes[1].leader = settled.nodes[1].leader.map(|(_, term)| (2, term)));
        assert_eq!(other, ["node 1 follows 2, others in its component follow 3"]);
    }

    #[test]
    fn a_leader_that_is_down_or_out_of_reach_or_of_another_term_is_reported() {
        let down = found(3, |settled| _ = settled.nodes.pop());
        assert_eq!(down, ["node 0 follows 2, which is not up (and 1 more in its component of 2)"]);
        let apart = found(3, |settled| (settled.nodes[2].component, settled.nodes[2].region) = (1, 1));
        assert_eq!(apart, ["node 0 follows 2, which it cannot reach (and 1 more in its component of 2)"]);
        let term = Term { number: 7, by: NodeId(0) };
        let outdated = found(2, |settled| settled.nodes[0].leader = Some((1, term)));
        assert_eq!(outdated, ["node 0 follows 1 under term 7, which 1 does not"]);
    }
}
