//! The key of a group, and the tags it makes.

use crate::base::ids::NodeId;
use core::hash::Hasher;
use siphasher::sip::SipHasher24;

/// The secret shared by the nodes of one group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// Length of a tag, in bytes.
    pub const TAG: usize = 8;

    /// Creates a key from its bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Derives a key from the name of a group: it separates groups, but anyone who knows the name knows the key.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let half = |salt: u8| {
            let mut hasher = SipHasher24::new_with_key(&[salt; 16]);
            hasher.write(name.as_bytes());
            hasher.finish().to_le_bytes()
        };
        Self::join(half(1), half(2))
    }

    /// Derives the key of a group with these members, so that nodes configured with different members refuse each
    /// other's frames.
    #[must_use]
    pub fn for_group(&self, members: &[NodeId]) -> Self {
        let half = |salt: u8| {
            let mut hasher = SipHasher24::new_with_key(&self.0);
            hasher.write_u8(salt);
            for member in members {
                hasher.write(&member.0.to_le_bytes());
            }
            hasher.finish().to_le_bytes()
        };
        Self::join(half(1), half(2))
    }

    fn join(first: [u8; 8], second: [u8; 8]) -> Self {
        let mut key = [0; 16];
        for (byte, value) in key.iter_mut().zip(first.into_iter().chain(second)) {
            *byte = value;
        }
        Self(key)
    }

    /// Computes the tag of `bytes`: `SipHash-2-4`.
    #[must_use]
    pub fn tag(&self, bytes: &[u8]) -> [u8; Self::TAG] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish().to_le_bytes()
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)") // a key must not appear in a log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_siphash_2_4_as_published() {
        // The reference vector of Aumasson and Bernstein: key 00..0f, input 00..0e, output 0xa129ca6149be45e5.
        let key = Key::new(core::array::from_fn(|i| u8::try_from(i).unwrap_or(0)));
        let input: [u8; 15] = core::array::from_fn(|i| u8::try_from(i).unwrap_or(0));
        assert_eq!(key.tag(&input), [0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1]);
    }

    #[test]
    fn different_names_give_different_keys() {
        assert_ne!(Key::from_name("kitchen"), Key::from_name("garage"));
        assert_eq!(Key::from_name("kitchen"), Key::from_name("kitchen"));
    }
}
