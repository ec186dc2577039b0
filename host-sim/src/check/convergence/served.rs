//! Which nodes of a network of clusters have a super-peer within the horizon.

use std::collections::BTreeSet;

/// Who is served, and by whom, as far as it was looked at.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) horizon: u8,
    nodes: Vec<bool>,
    unserved: usize,
    /// By super-peer, the nodes that follow it.
    followers: Vec<BTreeSet<u32>>,
    /// The nodes to look at again.
    doubtful: BTreeSet<u32>,
}

impl Served {
    pub(super) fn new(horizon: u8, nodes: usize) -> Self {
        let (unserved, followers) = (nodes, vec![BTreeSet::new(); nodes]);
        Self { horizon, nodes: vec![false; nodes], unserved, followers, doubtful: BTreeSet::new() }
    }

    /// A node follows another leader, or serves no more: it and its followers are to be looked at again.
    pub(super) fn on_follows(&mut self, node: u32, before: Option<u32>, leader: Option<u32>) {
        if let Some(followers) = before.and_then(|before| self.followers.get_mut(before as usize)) {
            followers.remove(&node);
        }
        if let Some(followers) = leader.and_then(|leader| self.followers.get_mut(leader as usize)) {
            followers.insert(node);
        }
        self.doubtful.insert(node);
        self.doubtful.extend(&self.followers[node as usize]);
    }

    pub(super) fn doubt_all(&mut self) {
        self.doubtful.extend(0..self.nodes.len() as u32);
    }

    pub(super) fn take_doubtful(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.doubtful)
    }

    pub(super) fn set(&mut self, node: u32, served: bool) {
        let before = std::mem::replace(&mut self.nodes[node as usize], served);
        self.unserved = self.unserved + usize::from(before) - usize::from(served);
    }

    pub(super) fn is(&self, node: u32) -> bool {
        self.nodes[node as usize]
    }

    pub(super) fn all(&self) -> bool {
        self.unserved == 0
    }
}
