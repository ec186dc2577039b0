//! Connected components and hop counts.

use super::{Link, Links};
use std::collections::BTreeSet;

/// The component of a node that is down.
pub const NO_COMPONENT: u32 = u32::MAX;

/// The connected components of a network, by bidirectional links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    of: Vec<u32>,
    sizes: Vec<u32>,
}

impl Components {
    /// Finds the components of the nodes that are `up`, joined by links that are `open` and of at least `quality` in
    /// both directions.
    pub(crate) fn find(links: &Links, quality: u8, up: impl Fn(u32) -> bool, open: impl Fn(u32, u32) -> bool) -> Self {
        let mut of = vec![NO_COMPONENT; links.nodes() as usize];
        let mut sizes = Vec::new();
        let mut stack = Vec::new();
        for start in 0..links.nodes() {
            if of[start as usize] != NO_COMPONENT || !up(start) {
                continue;
            }
            let number = sizes.len() as u32;
            let mut size = 0;
            of[start as usize] = number;
            stack.push(start);
            while let Some(node) = stack.pop() {
                size += 1;
                for link in links.of(node) {
                    let other = link.receiver();
                    let joined = link.quality() >= quality
                        && of[other as usize] == NO_COMPONENT
                        && up(other)
                        && open(node, other)
                        && open(other, node)
                        && links.quality(other, node) >= quality;
                    if joined {
                        of[other as usize] = number;
                        stack.push(other);
                    }
                }
            }
            sizes.push(size);
        }
        Self { of, sizes }
    }

    /// Returns the same components, with nodes renumbered: `old[new]`.
    pub(crate) fn renumbered(mut self, old: &[u32]) -> Self {
        self.of = old.iter().map(|&node| self.of(node)).collect();
        self
    }

    /// Returns the component of a node; [`NO_COMPONENT`] if it is down.
    pub(crate) fn of(&self, node: u32) -> u32 {
        self.of[node as usize]
    }

    /// Returns how many components there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    pub(crate) fn largest(&self) -> Option<u32> {
        (0..).zip(&self.sizes).max_by_key(|&(component, size)| (size, u32::MAX - component)).map(|(largest, _)| largest)
    }
}

/// Returns how many hops each node is from `start`; `None` if there is no route.
pub(crate) fn hops_from(links: &Links, start: u32, usable: impl Fn(u32, u32) -> bool) -> Vec<Option<u32>> {
    let mut hops = vec![None; links.nodes() as usize];
    hops[start as usize] = Some(0);
    let mut frontier = vec![start];
    for distance in 1.. {
        let mut next = Vec::new();
        for node in frontier {
            for link in links.of(node) {
                let other = link.receiver();
                if hops[other as usize].is_none() && usable(node, other) {
                    hops[other as usize] = Some(distance);
                    next.push(other);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        frontier = next;
    }
    hops
}

/// Returns the nodes within so many hops of `start`, itself first.
pub(crate) fn nodes_within(links: &Links, start: u32, hops: u8, usable: impl Fn(u32, &Link) -> bool) -> Vec<u32> {
    let mut found = vec![start];
    let mut seen = BTreeSet::from([start]);
    let mut frontier = 0..1;
    for _ in 0..hops {
        for at in frontier.clone() {
            let node = found[at];
            for link in links.of(node).iter().filter(|link| usable(node, link)) {
                if seen.insert(link.receiver()) {
                    found.push(link.receiver());
                }
            }
        }
        frontier = frontier.end..found.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::topology::OneWay;

    fn line(nodes: u32) -> Links {
        Links::by_rule(nodes, &OneWay::NONE, |node| {
            [node.checked_sub(1), (node + 1 < nodes).then_some(node + 1)].into_iter().flatten()
        })
    }

    #[test]
    fn a_node_that_is_down_splits_a_line() {
        let components = Components::find(&line(5), 255, |node| node != 2, |_, _| true);
        assert_eq!((0..5).map(|node| components.of(node)).collect::<Vec<_>>(), [0, 0, NO_COMPONENT, 1, 1]);
        assert_eq!((components.count(), components.sizes.as_slice(), components.largest()), (2, &[2, 2][..], Some(0)));
    }

    #[test]
    fn a_one_way_link_joins_nothing() {
        let components = Components::find(&line(4), 255, |_| true, |from, to| (from, to) != (2, 1));
        assert_eq!((0..4).map(|node| components.of(node)).collect::<Vec<_>>(), [0, 0, 1, 1]);
    }

    #[test]
    fn nodes_within_some_hops_are_found() {
        let all = |_: u32, _: &Link| true;
        assert_eq!(nodes_within(&line(5), 1, 0, all), [1]);
        assert_eq!(nodes_within(&line(5), 1, 2, all), [1, 0, 2, 3]);
        assert_eq!(nodes_within(&line(5), 1, 9, |_, link| link.receiver() != 2), [1, 0]);
    }

    #[test]
    fn hops_count_from_the_start() {
        let hops = hops_from(&line(4), 1, |from, to| (from, to) != (2, 3));
        assert_eq!(hops, [Some(1), Some(0), Some(1), None]);
    }
}
