//! The keys of a group while it changes from one to the next.
//!
//! First every node gets the new key besides the old one: it opens frames of both and seals with the old one, so that it is
//! understood by nodes that have only that. Then one node gets the new key alone. Whoever opens a frame of the new key
//! seals with it from then on, and so does soon everybody. Then the old key can be taken away.

use crate::base::cipher::{Cipher, NUMBER_MAX, Nonce, Tag};
use crate::base::ids::NodeId;
use crate::base::key::Key;

/// A key with its number, and the one before it where the group still changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyring {
    key: Key,
    number: u8,
    previous: Option<Key>,
    /// Whether frames are sealed with `key`: nobody is known to have it before.
    changed: bool,
}

impl Keyring {
    /// Creates a ring of one key; only the lowest four bits of its number count.
    #[must_use]
    pub const fn new(key: Key, number: u8) -> Self {
        Self { key, number: number & NUMBER_MAX, previous: None, changed: true }
    }

    /// The same with the key before, whose number is one lower; 15 comes before 0.
    #[must_use]
    pub fn after(self, previous: Key) -> Self {
        Self { previous: Some(previous), changed: false, ..self }
    }

    /// The key that frames are sealed with.
    fn sealing(&self) -> &Key {
        self.previous.as_ref().filter(|_| !self.changed).unwrap_or(&self.key)
    }

    const fn previous_number(&self) -> u8 {
        self.number.wrapping_sub(1) & NUMBER_MAX
    }

    fn by_number(&self, number: u8) -> Option<&Key> {
        if number == self.number {
            return Some(&self.key);
        }
        self.previous.as_ref().filter(|_| number == self.previous_number())
    }
}

impl Cipher for Keyring {
    fn number(&self) -> u8 {
        if self.changed { self.number } else { self.previous_number() }
    }

    fn knows(&self, number: u8) -> bool {
        self.by_number(number).is_some()
    }

    fn on_opened(&mut self, number: u8) {
        self.changed |= number == self.number;
    }

    fn for_group(&self, members: &[NodeId]) -> Self {
        let previous = self.previous.as_ref().map(|previous| previous.for_group(members));
        Self { key: self.key.for_group(members), previous, ..*self }
    }

    fn seal(&self, nonce: &Nonce, header: &[u8], text: &mut [u8]) -> Tag {
        self.sealing().seal(nonce, header, text)
    }

    fn fingerprint(&self) -> u16 {
        self.sealing().fingerprint()
    }

    fn open(&self, number: u8, nonce: &Nonce, header: &[u8], text: &mut [u8], tag: &Tag) -> Option<()> {
        // A key by itself has the number 0.
        self.by_number(number)?.open(0, nonce, header, text, tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Key = Key::new([1; 16]);
    const NEW: Key = Key::new([2; 16]);

    /// Sends a frame from one ring to the other; returns whether it opened.
    fn sends(from: &Keyring, to: &mut Keyring) -> bool {
        let (mut text, number) = (*b"text", from.number());
        let tag = from.seal(&[9; 16], &[number], &mut text);
        let opened = to.open(number, &[9; 16], &[number], &mut text, &tag).is_some();
        if opened {
            assert_eq!(&text, b"text");
            to.on_opened(number);
        }
        opened
    }

    #[test]
    fn a_group_changes_its_key_and_nobody_is_cut_off() {
        let mut nodes = [0; 3].map(|_| Keyring::new(OLD, 15));
        let all_hear_all = |nodes: &mut [Keyring; 3]| {
            for from in 0..3 {
                let sender = nodes[from].clone();
                assert!(nodes.iter_mut().all(|to| sends(&sender, to)), "{from}");
            }
        };
        for index in 0..3 {
            nodes[index] = Keyring::new(NEW, 16).after(OLD);
            all_hear_all(&mut nodes);
        }
        for index in 0..3 {
            nodes[index] = Keyring::new(NEW, 16);
            all_hear_all(&mut nodes);
        }
        let late = Keyring::new(OLD, 15);
        assert!(!sends(&late, &mut nodes[0]), "the old key is worth nothing");
    }

    #[test]
    fn the_fingerprint_is_that_of_the_key_that_seals() {
        let mut ring = Keyring::new(NEW, 4).after(OLD);
        assert_eq!(ring.fingerprint(), OLD.fingerprint());
        ring.on_opened(4);
        assert_eq!((ring.fingerprint(), ring.fingerprint() == OLD.fingerprint()), (NEW.fingerprint(), false));
    }

    #[test]
    fn a_frame_of_the_old_key_changes_nothing() {
        let mut ring = Keyring::new(NEW, 4).after(OLD);
        assert!(sends(&Keyring::new(OLD, 3), &mut ring));
        assert_eq!(ring.number(), 3);
        assert!(!sends(&Keyring::new(OLD, 4), &mut ring), "another key of that number");
        assert_eq!(ring.number(), 3);
    }
}
