//! Settled: where the clients of a super-peer are limited, none has a quarter more than it may; and where all capacities are
//! alike, none has more than twice the mean, if that is above the limit's half.

use super::Settled;

pub(super) const NAME: &str = "load-shared";

/// From how many super-peers on a mean says something.
const SUPER_PEERS_MIN: usize = 5;

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    let limit = settled.clusters.as_ref().and_then(|clusters| clusters.clients_max).map(u32::from);
    limit.into_iter().flat_map(move |limit| {
        let clients = settled.clients();
        let worst = clients.iter().map(|(&super_peer, &count)| (count, super_peer)).max();
        let alike = settled.nodes.windows(2).all(|pair| match (pair[0].candidate, pair[1].candidate) {
            (Some(one), Some(other)) => one.capacity == other.capacity,
            _ => true,
        });
        let twice_the_mean = 2 * clients.values().sum::<u32>() / (clients.len() as u32).max(1);
        let most = limit + limit / 4;
        let over = worst.filter(|&(count, _)| count > most);
        let uneven = worst.filter(|&(count, _)| {
            alike && clients.len() >= SUPER_PEERS_MIN && count > twice_the_mean.max(limit / 2)
        });
        let over = over.map(|(count, node)| format!("super-peer {node} has {count} clients, and may have {limit}"));
        let uneven = uneven.map(|(count, node)| format!("super-peer {node} has {count} clients: twice the mean is {twice_the_mean}"));
        over.into_iter().chain(uneven)
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, clustered};
    use super::*;

    #[test]
    fn p1_a_super_peer_with_too_many_clients_is_reported_where_there_is_a_limit() {
        let mut settled = clustered();
        assert_eq!(check(&settled).collect::<Vec<_>>(), NOTHING);
        settled.clusters.as_mut().unwrap().clients_max = Some(2);
        assert_eq!(check(&settled).collect::<Vec<_>>(), NOTHING);
        settled.clusters.as_mut().unwrap().clients_max = Some(1);
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["super-peer 4 has 2 clients, and may have 1"]);
    }

    #[test]
    fn p1_with_capacities_alike_one_with_more_than_twice_the_mean_is_reported() {
        let mut settled = clustered();
        // Six super-peers: one with fourteen clients, the others with none.
        let template = settled.nodes[0];
        settled.nodes = (0..20)
            .map(|id| {
                let leader = if id < 6 { id } else { 0 };
                let term = protocol::base::term::Term { number: 1, by: protocol::NodeId(leader) };
                super::super::SettledNode { id, leader: Some((leader, term)), ..template }
            })
            .collect();
        settled.clusters.as_mut().unwrap().clients_max = Some(16);
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["super-peer 0 has 14 clients: twice the mean is 4"]);
        let more = protocol::base::capacity::Capacity::new(9_000);
        settled.nodes[0].candidate = settled.nodes[0].candidate.map(|candidate| protocol::base::capacity::Candidate { capacity: more, ..candidate });
        assert_eq!(check(&settled).collect::<Vec<_>>(), NOTHING, "it is worth more than the others");
    }
}
