//! What the nodes of one network share.

use crate::scenario::Scenario;
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

/// The key of a group that has nothing but a name: it keeps groups apart, and keeps nobody out who knows the name.
#[must_use]
pub fn key_bytes(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    let named = Key::from_name(name);
    for (number, part) in (0..).zip(bytes.chunks_mut(Key::TAG)) {
        part.copy_from_slice(&named.tag(&[number]));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_make_two_keys_and_every_part_of_a_key_differs() {
        assert_ne!(key_bytes("kitchen"), key_bytes("garage"));
        let key = key_bytes("kitchen");
        assert_ne!(key[..4], key[4..8]);
    }
}
