//! What the nodes of one network share.

use crate::scenario::Scenario;
use firmware::page::Secret;
use protocol::Timing;
use protocol::wire::Key;

/// What the nodes of one network share.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name, from which the key is made.
    pub name: String,
    /// Over how many hops the link carries.
    pub hops: u8,
    /// How long things take.
    pub timing: Timing,
    /// Bits of the boards' config pages that are set besides.
    pub board_options: u32,
}

impl Group {
    /// The group of a scenario's nodes.
    #[must_use]
    pub fn of(scenario: &Scenario, board_options: u32) -> Self {
        Self { name: scenario.name.clone(), hops: scenario.hops, timing: scenario.timing, board_options }
    }

    /// The bytes of the key.
    #[must_use]
    pub fn key_bytes(&self) -> [u8; 16] {
        key_bytes(&self.name)
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(self.key_bytes())
    }
}

/// The key of a group that has nothing but a name.
#[must_use]
pub fn key_bytes(name: &str) -> [u8; 16] {
    Secret::of_group(name).0
}
