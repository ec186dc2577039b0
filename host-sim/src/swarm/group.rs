//! What the nodes of one network share.

use crate::scenario::Scenario;
use firmware::page::{Secret, options};
use protocol::mandate::Mode;
use protocol::wire::Key;
use protocol::{NodeId, Timing};

/// What the nodes of one network share.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name, from which the key is made.
    pub name: String,
    /// Over how many hops the link carries.
    pub hops: u8,
    /// How many members it has; 0 where nothing works on a group.
    pub members: u8,
    /// How long things take.
    pub timing: Timing,
    /// Bits of the boards' config pages that are set besides.
    pub board_options: u32,
}

impl Group {
    /// The group of a scenario's nodes.
    #[must_use]
    pub fn of(scenario: &Scenario, board_options: u32) -> Self {
        let members = if scenario.is_group() { scenario.nodes } else { 0 };
        let quorum = if scenario.mode == Mode::Quorum { options::QUORUM } else { 0 };
        Self {
            name: scenario.name.clone(),
            hops: scenario.hops,
            members: u8::try_from(members).unwrap_or(u8::MAX),
            timing: scenario.timing,
            board_options: board_options | quorum,
        }
    }

    /// The bytes of the key.
    #[must_use]
    pub fn key_bytes(&self) -> [u8; 16] {
        key_bytes(&self.name)
    }

    /// The key that frames are sealed with.
    #[must_use]
    pub fn key(&self) -> Key {
        let key = Key::new(self.key_bytes());
        let members: Vec<NodeId> = (0..u32::from(self.members)).map(NodeId).collect();
        if members.is_empty() { key } else { key.for_group(&members) }
    }
}

/// The key of a group that has nothing but a name.
#[must_use]
pub fn key_bytes(name: &str) -> [u8; 16] {
    Secret::of_group(name).0
}
