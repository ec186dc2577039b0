//! Settled: where the super-peers elect a chief, every component of the network has one, a super-peer of it that all know.

use super::Settled;
use std::collections::BTreeSet;

pub(super) const NAME: &str = "one-chief";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    let wanted = settled.clusters.as_ref().is_some_and(|clusters| clusters.has_chief);
    // Parts that only bad links join may or may not know of each other.
    let regions = settled.components().into_iter().filter(move |_| wanted);
    regions.filter_map(|component| {
        let first = component[0].id;
        let known: BTreeSet<Option<u32>> = component.iter().map(|node| node.chief).collect();
        let known: Vec<Option<u32>> = known.into_iter().collect();
        match known[..] {
            [Some(chief)] => {
                let led = settled.node(chief).filter(|node| node.leads() && node.chief == Some(chief));
                let elsewhere = led.is_none_or(|led| led.region != component[0].region);
                elsewhere.then(|| format!("around node {first} all take {chief} for their chief, which is none"))
            }
            // Whoever cannot lead, and is alone with such, has no super-peer and no chief.
            [None] if component.iter().all(|node| node.leader.is_none()) => None,
            _ => Some(format!("around node {first} there are {} opinions of who is chief", known.len())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, clustered};
    use super::*;

    #[test]
    fn p1_a_network_with_one_chief_passes_and_any_other_is_reported() {
        let mut settled = clustered();
        assert_eq!(check(&settled).collect::<Vec<_>>(), NOTHING, "no chief is wanted");
        settled.clusters.as_mut().unwrap().has_chief = true;
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["around node 0 there are 1 opinions of who is chief"]);
        settled.nodes.iter_mut().for_each(|node| node.chief = Some(4));
        assert_eq!(check(&settled).collect::<Vec<_>>(), NOTHING);
        settled.nodes[0].chief = Some(1);
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["around node 0 there are 2 opinions of who is chief"]);
        settled.nodes.iter_mut().for_each(|node| node.chief = Some(5));
        assert_eq!(check(&settled).collect::<Vec<_>>(), ["around node 0 all take 5 for their chief, which is none"]);
    }
}
