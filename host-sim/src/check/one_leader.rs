//! Settled: at most one node leads each component, and one leads each region that can be led.

use super::Settled;

pub(super) const NAME: &str = "one-leader";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    let contested = settled.led_by_one().into_iter().filter_map(|component| {
        let leaders: Vec<u32> = component.iter().filter(|node| node.leads()).map(|node| node.id).collect();
        (leaders.len() > 1).then(|| {
            let (count, some) = (leaders.len(), &leaders[..leaders.len().min(5)]);
            format!("{count} nodes lead in one component of {}: {some:?}", component.len())
        })
    });
    let led = |region: u32| settled.nodes.iter().any(|node| node.region == region && node.leads());
    let mut regions: Vec<u32> = settled.nodes.iter().map(|node| node.region).collect();
    regions.sort_unstable();
    regions.dedup();
    regions.retain(|&region| settled.can_be_led(region));
    let leaderless = regions.into_iter().filter(move |&region| !led(region)).map(|region| {
        let nodes = settled.nodes.iter().filter(|node| node.region == region);
        let lowest = nodes.clone().map(|node| node.id).min().unwrap_or(0);
        format!("nobody leads the {} nodes around node {lowest}", nodes.count())
    });
    contested.chain(leaderless)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::agreeing;
    use super::*;

    #[test]
    fn two_leaders_in_one_component_are_reported_and_in_two_are_not() {
        let mut settled = agreeing(4, 3);
        assert_eq!(check(&settled).count(), 0);
        settled.nodes[0].leader = settled.nodes[0].leader.map(|(_, term)| (0, term));
        let found: Vec<String> = check(&settled).collect();
        assert_eq!(found, ["2 nodes lead in one component of 4: [0, 3]"]);
        settled.nodes[0].component = 1;
        assert_eq!(check(&settled).count(), 0);
    }

    #[test]
    fn a_region_without_a_leader_is_reported_unless_it_has_no_quorum_or_no_candidate() {
        let mut settled = agreeing(3, 2);
        settled.nodes.iter_mut().for_each(|node| node.leader = None);
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["nobody leads the 3 nodes around node 0"]);
        assert_eq!(check(&Settled { quorum: 4, ..settled.clone() }).count(), 0);
        settled.nodes.iter_mut().for_each(|node| node.candidate = None);
        assert_eq!(check(&settled).count(), 0);
    }

    #[test]
    fn a_lone_node_leads_once_it_has_waited_for_company() {
        let mut settled = agreeing(1, 0);
        settled.nodes[0].leader = None;
        (settled.nodes[0].hold, settled.settle_time, settled.at) = (60, 10, 69);
        assert_eq!(check(&settled).count(), 0);
        settled.at = 70;
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["nobody leads the 1 nodes around node 0"]);
    }
}
