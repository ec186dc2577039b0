//! The settings that the nodes of one network share.

use crate::scenario::Scenario;
use firmware::storage::config_page::{Secret, options};
use protocol::base::quorum::Mode;
use protocol::wire::Key;
use protocol::{NodeId, Timing};

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name, from which the key is derived.
    pub name: String,
    /// The hop limit of reliable messages.
    pub hops: u8,
    /// The number of members; 0 if no algorithm needs a group.
    pub members: u8,
    /// The timing.
    pub timing: Timing,
    /// Further option bits of the boards' config pages.
    pub board_options: u32,
}

impl Group {
    /// Returns the group of a scenario's nodes.
    #[must_use]
    pub fn of(scenario: &Scenario, board_options: u32) -> Self {
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

    /// Returns the bytes of the key.
    #[must_use]
    pub fn key_bytes(&self) -> [u8; 16] {
        key_bytes(&self.name)
    }

    /// Returns the key that frames are sealed with.
    #[must_use]
    pub fn key(&self) -> Key {
        let key = Key::new(self.key_bytes());
        let members: Vec<NodeId> = (0..u32::from(self.members)).map(NodeId).collect();
        if members.is_empty() { key } else { key.for_group(&members) }
    }
}

/// Returns the key of a group, derived from its name.
#[must_use]
pub fn key_bytes(name: &str) -> [u8; 16] {
    Secret::of_group(name).0
}
