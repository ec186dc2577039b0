//! Settled: at most one node leads in each part of the network, and one does in each region where one can.

use super::Settled;

pub(super) const NAME: &str = "one-leader";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    let crowded = settled.parts().into_iter().filter_map(|part| {
        let leaders: Vec<u32> = part.iter().filter(|node| node.leads()).map(|node| node.name).collect();
        (leaders.len() > 1).then(|| {
            let (count, some) = (leaders.len(), &leaders[..leaders.len().min(5)]);
            format!("{count} nodes lead in one part of {}: {some:?}", part.len())
        })
    });
    let led = |region: u32| settled.nodes.iter().any(|node| node.region == region && node.leads());
    let mut regions: Vec<u32> = settled.nodes.iter().map(|node| node.region).collect();
    regions.sort_unstable();
    regions.dedup();
    regions.retain(|&region| settled.can_be_led(region));
    let headless = regions.into_iter().filter(move |&region| !led(region)).map(|region| {
        let nodes = settled.nodes.iter().filter(|node| node.region == region);
        format!(
            "nobody leads the {} nodes around node {}",
            nodes.clone().count(),
            nodes.map(|node| node.name).min().unwrap_or(0)
        )
    });
    crowded.chain(headless)
}

#[cfg(test)]
mod tests {
    use super::super::settled::agreeing;
    use super::*;

    #[test]
    fn an_agreeing_network_passes() {
        assert_eq!(check(&agreeing(4, 3)).count(), 0);
    }

    #[test]
    fn two_leaders_in_one_part_are_reported_and_in_two_parts_are_not() {
        let mut settled = agreeing(4, 3);
        settled.nodes[0].leader = settled.nodes[0].leader.map(|(_, term)| (0, term));
        let found: Vec<String> = check(&settled).collect();
        assert_eq!(found, ["2 nodes lead in one part of 4: [0, 3]"]);
        settled.nodes[0].part = 1;
        assert_eq!(check(&settled).count(), 0);
    }

    #[test]
    fn a_part_without_a_majority_need_not_be_led_where_leaders_need_one() {
        let mut settled = agreeing(3, 2);
        settled.nodes.iter_mut().for_each(|node| node.leader = None);
        settled.quorum = 4;
        assert_eq!(check(&settled).count(), 0);
    }

    #[test]
    fn a_part_nobody_leads_is_reported_unless_nobody_can() {
        let mut settled = agreeing(3, 2);
        settled.nodes.iter_mut().for_each(|node| node.leader = None);
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["nobody leads the 3 nodes around node 0"]);
        settled.nodes.iter_mut().for_each(|node| node.standing = None);
        assert_eq!(check(&settled).count(), 0);
    }
}
