//! Settled: where the election makes clusters, every node follows a super-peer that is up, serves under the term the node
//! knows, and is within the horizon.

use super::{Settled, SettledNode};

pub(super) const NAME: &str = "super-peer-in-reach";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.clusters.iter().filter_map(move |clusters| {
        let violation = move |node: &SettledNode| match node.leader {
            None => clusters.neglected.contains(&node.id).then(|| format!("node {} follows nobody", node.id)),
            Some((leader, term)) => match settled.node(leader) {
                None => Some(format!("node {} follows {leader}, which is not up", node.id)),
                Some(led) if !led.leads() => Some(format!("node {} follows {leader}, which does not serve", node.id)),
                Some(led) if led.leader != Some((leader, term)) => {
                    let number = term.number;
                    Some(format!("node {} follows {leader} under term {number}, which {leader} does not", node.id))
                }
                Some(_) if !clusters.possibly_near(node.id).any(|near| near == leader) => {
                    Some(format!("node {} follows {leader}, which is more than {} hops away", node.id, clusters.horizon))
                }
                Some(_) => None,
            },
        };
        let mut violations = settled.nodes.iter().filter_map(violation);
        let first = violations.next();
        let more = violations.count();
        first.map(|first| if more == 0 { first } else { format!("{first} (and {more} more of {})", settled.nodes.len()) })
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, clustered};
    use super::*;
    use protocol::NodeId;
    use protocol::base::term::Term;

    /// Findings in a line of two clusters, 0 to 2 around 1 and 3 to 5 around 4, after a change.
    fn found(change: impl FnOnce(&mut Settled)) -> Vec<String> {
        let mut settled = clustered();
        change(&mut settled);
        check(&settled).collect()
    }

    #[test]
    fn a_network_in_clusters_passes() {
        assert_eq!(found(|_| {}), NOTHING);
    }

    #[test]
    fn a_node_without_a_super_peer_is_reported_where_it_could_have_one() {
        assert_eq!(found(|settled| settled.nodes[0].leader = None), NOTHING);
        let neglected = found(|settled| {
            settled.nodes[0].leader = None;
            settled.clusters.as_mut().unwrap().neglected.insert(0);
        });
        assert_eq!(neglected, ["node 0 follows nobody"]);
    }

    #[test]
    fn a_super_peer_that_is_down_or_does_not_serve_or_is_too_far_is_reported() {
        let leader = |settled: &mut Settled, node: usize, leader: usize| {
            settled.nodes[node].leader = settled.nodes[leader].leader;
        };
        assert_eq!(found(|settled| leader(settled, 0, 4)), ["node 0 follows 4, which is more than 1 hops away"]);
        assert_eq!(found(|settled| _ = settled.nodes.pop()), NOTHING);
        let down = found(|settled| _ = settled.nodes.remove(4));
        assert_eq!(down, ["node 3 follows 4, which is not up (and 1 more of 5)"]);
        let resigned = found(|settled| leader(settled, 4, 1));
        assert!(resigned[0].starts_with("node 3 follows 4, which does not serve"), "{resigned:?}");
        let outdated = found(|settled| settled.nodes[0].leader = Some((1, Term { number: 9, by: NodeId(1) })));
        assert_eq!(outdated, ["node 0 follows 1 under term 9, which 1 does not"]);
    }
}
