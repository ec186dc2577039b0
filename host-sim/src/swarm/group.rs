//! The settings that the nodes of one network share.

use crate::scenario::Scenario;
use firmware::storage::config_page::{Secret, options};
use protocol::base::quorum::Mode;
use protocol::wire::Key;
use protocol::{NodeId, Timing};

#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Its name, from which the key is derived.
    pub(super) name: String,
    /// The hop limit of reliable messages.
    pub(super) hops: u8,
    /// The number of members; 0 if no algorithm needs a group.
    pub(super) members: u8,
    pub(super) timing: Timing,
    /// Further option bits of the boards' config pages.
    pub(super) board_options: u32,
}

impl Group {
    pub(super) fn of(scenario: &Scenario, board_options: u32) -> Self {
        let members = if scenario.is_group() { scenario.world.nodes } else { 0 };
        let quorum = if scenario.world.mode == Mode::Quorum { options::QUORUM } else { 0 };
        Self {
            name: scenario.name.clone(),
            hops: scenario.hops,
            members: u8::try_from(members).unwrap_or(u8::MAX),
            timing: scenario.timing,
            board_options: board_options | quorum,
        }
    }

    /// Returns the key that frames are sealed with.
    pub(super) fn key(&self) -> Key {
        let key = Key::new(Secret::of_group(&self.name).0);
        let members: Vec<NodeId> = (0..u32::from(self.members)).map(NodeId).collect();
        if members.is_empty() { key } else { key.for_group(&members) }
    }
}
