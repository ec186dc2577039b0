//! The key of a group.

use zeroize::Zeroize;

/// The secret shared by the nodes of one group. It is wiped from memory when it is dropped, and shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Key {
    /// Creates a key from its bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Derives a key from the name of a group: it separates groups, but anyone who knows the name knows the key.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self([0; 16]).derive(0, name.as_bytes())
    }

    /// Its bytes, for a cipher and for storage.
    #[must_use]
    pub const fn bytes(&self) -> [u8; 16] {
        self.0
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
    fn different_names_give_different_keys() {
        assert_ne!(Key::from_name("kitchen"), Key::from_name("garage"));
        assert_eq!(Key::from_name("kitchen"), Key::from_name("kitchen"));
    }
}
