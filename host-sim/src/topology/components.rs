//! Which nodes hang together, and how many hops apart they are.

use super::Links;

/// The component of a node that is in none: one that is down.
pub const NOWHERE: u32 = u32::MAX;

/// The connected components of a network, by links that work both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    of: Vec<u32>,
    sizes: Vec<u32>,
}

impl Components {
    /// The components of the nodes that are `up`, joined by links that are `open` and at least of `quality` in both
    /// directions.
    pub fn find(links: &Links, quality: u8, up: impl Fn(u32) -> bool, open: impl Fn(u32, u32) -> bool) -> Self {
        let mut of = vec![NOWHERE; links.nodes() as usize];
        let mut sizes = Vec::new();
        let mut stack = Vec::new();
        for start in 0..links.nodes() {
            if of[start as usize] != NOWHERE || !up(start) {
                continue;
            }
            let number = sizes.len() as u32;
            let mut size = 0;
            of[start as usize] = number;
            stack.push(start);
            while let Some(node) = stack.pop() {
                size += 1;
                for link in links.of(node) {
                    let other = link.hearer();
                    let joined = link.quality() >= quality
                        && of[other as usize] == NOWHERE
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

    /// Which component a node is in; [`NOWHERE`] if it is down.
    #[must_use]
    pub fn of(&self, node: u32) -> u32 {
        self.of[node as usize]
    }

    /// How many components there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// How many nodes are in a component.
    #[must_use]
    pub fn size(&self, component: u32) -> u32 {
        self.sizes[component as usize]
    }

    /// The component with the most nodes.
    #[must_use]
    pub fn largest(&self) -> Option<u32> {
        (0..self.sizes.len() as u32).max_by_key(|&component| (self.size(component), u32::MAX - component))
    }
}

/// How many hops each node is from `start`; `None` where there is no way.
#[must_use]
pub fn hops_from(links: &Links, start: u32, usable: impl Fn(u32, u32) -> bool) -> Vec<Option<u32>> {
    let mut hops = vec![None; links.nodes() as usize];
    hops[start as usize] = Some(0);
    let mut wave = vec![start];
    for distance in 1.. {
        let mut next = Vec::new();
        for node in wave {
            for link in links.of(node) {
                let other = link.hearer();
                if hops[other as usize].is_none() && usable(node, other) {
                    hops[other as usize] = Some(distance);
                    next.push(other);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        wave = next;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Chance;
    use crate::topology::OneWay;

    const BOTH_WAYS: OneWay = OneWay { share: Chance::NEVER, seed: 0 };

    fn line(nodes: u32) -> Links {
        Links::by_rule(nodes, &BOTH_WAYS, |node| {
            [node.checked_sub(1), (node + 1 < nodes).then_some(node + 1)].into_iter().flatten()
        })
    }

    #[test]
    fn a_node_that_is_down_parts_a_line() {
        let parts = Components::find(&line(5), 255, |node| node != 2, |_, _| true);
        assert_eq!((0..5).map(|node| parts.of(node)).collect::<Vec<_>>(), [0, 0, NOWHERE, 1, 1]);
        assert_eq!((parts.count(), parts.size(0), parts.largest()), (2, 2, Some(0)));
    }

    #[test]
    fn a_link_closed_in_one_direction_joins_nothing() {
        let parts = Components::find(&line(4), 255, |_| true, |from, to| (from, to) != (2, 1));
        assert_eq!((0..4).map(|node| parts.of(node)).collect::<Vec<_>>(), [0, 0, 1, 1]);
    }

    #[test]
    fn hops_count_from_the_start() {
        let hops = hops_from(&line(4), 1, |from, to| (from, to) != (2, 3));
        assert_eq!(hops, [Some(1), Some(0), Some(1), None]);
    }
}
