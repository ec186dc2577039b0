//! Authenticated encryption: the trait, and Ascon-AEAD128.
//!
//! # Paper
//! M. Sönmez Turan, K. `McKay`, D. Chang, J. Kang, J. Kelsey: *Ascon-Based Lightweight Cryptography Standards for
//! Constrained Devices*. NIST SP 800-232, 2025. The tag is truncated to eight bytes as its section 4.2.1 allows: a forger
//! succeeds with one frame in 2^64.

use crate::base::ids::NodeId;
use crate::base::key::Key;
use ascon_core::State;

/// Length of a tag, in bytes.
pub const TAG_BYTES: usize = 8;

/// The highest number of a key.
pub(crate) const NUMBER_MAX: u8 = 15;

/// A number that no key seals two frames with.
pub type Nonce = [u8; 16];

/// A tag.
pub type Tag = [u8; TAG_BYTES];

/// What seals the frames of a group: a [`Key`], or a radio that has a cipher of its own, such as AES-CCM.
pub trait Cipher: Clone + core::fmt::Debug {
    /// The number of the key that frames are sealed with, 0 to 15. It travels in clear.
    fn number(&self) -> u8;

    /// Returns whether frames sealed with the key of this number can be opened.
    fn knows(&self, number: u8) -> bool;

    /// Notes that a frame sealed with the key of this number was opened.
    fn on_opened(&mut self, _number: u8) {}

    /// Derives the cipher of a group with these members, so that nodes configured with different members refuse each
    /// other's frames.
    #[must_use]
    fn for_group(&self, members: &[NodeId]) -> Self;

    /// Encrypts `text` in place; returns the tag of `header` and text.
    fn seal(&self, nonce: &Nonce, header: &[u8], text: &mut [u8]) -> Tag;

    /// Decrypts `text` in place with the key of this number. `None`, and nothing of the text, where the tag is not that of
    /// header and text.
    fn open(&self, number: u8, nonce: &Nonce, header: &[u8], text: &mut [u8], tag: &Tag) -> Option<()>;

    /// Returns a number that tells the key which seals from others: never 0, at most [`FINGERPRINT_MAX`]. It is stored beside
    /// the key, and never sent.
    fn fingerprint(&self) -> u16;
}

/// The highest fingerprint of a key.
pub const FINGERPRINT_MAX: u16 = (1 << 14) - 1;

/// The initial value of Ascon-AEAD128: 12 and 8 rounds, a tag of 128 bits before it is truncated, blocks of 16 bytes.
const INITIAL: u64 = 0x0000_1000_808c_0001;
/// What separates the header from the text.
const SEPARATOR: u64 = 1 << 63;

/// Length of a block.
const BLOCK_BITS: u32 = 128;

/// Whether bytes are clear before they pass the sponge, or after.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Seal,
    Open,
}

/// The sponge, keyed, and its position in the block, in bits.
struct Sponge {
    state: State,
    at: u32,
}

impl Sponge {
    /// Adds a byte to the block at its place.
    fn add(&mut self, byte: u8) {
        let word = if self.at < 64 { &mut self.state[0] } else { &mut self.state[1] };
        *word ^= u64::from(byte).wrapping_shl(self.at);
    }

    /// Passes one byte: returns it encrypted, or decrypted.
    fn pass(&mut self, byte: u8, direction: Direction) -> u8 {
        let word = if self.at < 64 { self.state[0] } else { self.state[1] };
        let [stream, ..] = word.wrapping_shr(self.at).to_le_bytes();
        let passed = byte ^ stream;
        self.add(if direction == Direction::Open { passed } else { byte });
        self.at = self.at.wrapping_add(8) % BLOCK_BITS;
        if self.at == 0 {
            self.state.permute_n(8);
        }
        passed
    }

    /// Ends a sequence of blocks.
    fn pad(&mut self) {
        self.add(1);
        self.at = 0;
    }
}

/// Passes `text` through the sponge; returns the tag.
fn pass(key: &Key, nonce: &Nonce, header: &[u8], text: &mut [u8], direction: Direction) -> Tag {
    let [(k0, k1), (n0, n1)] = [&key.bytes(), nonce].map(|bytes| {
        let &[low, high] = bytes.as_chunks().0 else { return (0, 0) }; // not reached: they are 16
        (u64::from_le_bytes(low), u64::from_le_bytes(high))
    });
    let mut sponge = Sponge { state: State::new(INITIAL, k0, k1, n0, n1), at: 0 };
    sponge.state.permute_n(12);
    sponge.state[3] ^= k0;
    sponge.state[4] ^= k1;
    for &byte in header {
        sponge.pass(byte, Direction::Seal);
    }
    if !header.is_empty() {
        sponge.pad();
        sponge.state.permute_n(8);
    }
    sponge.state[4] ^= SEPARATOR;
    for byte in text {
        *byte = sponge.pass(*byte, direction);
    }
    sponge.pad();
    sponge.state[2] ^= k0;
    sponge.state[3] ^= k1;
    sponge.state.permute_n(12);
    (sponge.state[3] ^ k0).to_le_bytes()
}

impl Key {
    /// Derives another key from this one. No frame has such a nonce: the last four bytes of theirs are 0.
    pub(super) fn derive(&self, number: u32, context: &[u8]) -> Self {
        let nonce = (u128::from(u32::MAX) << 96 | u128::from(number)).to_le_bytes();
        let mut bytes = [0; 16];
        let _tag = self.seal(&nonce, context, &mut bytes);
        Self::new(bytes)
    }
}

impl Cipher for Key {
    fn number(&self) -> u8 {
        0
    }

    fn knows(&self, number: u8) -> bool {
        number == 0
    }

    fn for_group(&self, members: &[NodeId]) -> Self {
        members.iter().fold(self.clone(), |key, member| key.derive(member.0, &[]))
    }

    fn fingerprint(&self) -> u16 {
        let [low, high, ..] = self.derive(0, b"records").bytes();
        (u16::from_le_bytes([low, high]) & FINGERPRINT_MAX).max(1)
    }

    fn seal(&self, nonce: &Nonce, header: &[u8], text: &mut [u8]) -> Tag {
        pass(self, nonce, header, text, Direction::Seal)
    }

    fn open(&self, number: u8, nonce: &Nonce, header: &[u8], text: &mut [u8], tag: &Tag) -> Option<()> {
        let made = pass(self, nonce, header, text, Direction::Open);
        // All bytes at once, so that the time says nothing about the first wrong one.
        let difference = core::hint::black_box(u64::from_le_bytes(made) ^ u64::from_le_bytes(*tag));
        if self.knows(number) && difference == 0 {
            return Some(());
        }
        text.fill(0);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The bytes 0, 1, 2 and so on: key, nonce, header and text of the published vectors.
    fn counting(count: u8) -> Vec<u8> {
        (0..count).collect()
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect()
    }

    /// Known answers of NIST SP 800-232, with the first eight bytes of each tag: lengths of text and header, text, tag.
    const VECTORS: [(u8, u8, &str, &str); 9] = [
        (0, 0, "", "4427D64B8E1E1451"),
        (0, 5, "", "6279C4882F99DFB6"),
        (1, 0, "E7", "9F58F1F541FC51B5"),
        (7, 9, "6A256FBBD3726C", "3A42F7FF53E518AD"),
        (8, 8, "108640BD71345C6E", "37294FAC4BDDCAD2"),
        (15, 16, "6A28215E4A6023FAE42095318B187F", "DC46412B80E88264"),
        (16, 5, "1F820273C65246B76D4FF8D1ADD72D5C", "CEBBCC91D4DBCBB6"),
        (17, 32, "4C086D27A3B51A2333CFC7F22172A9BCAD", "A92B2A1CDEA6B1B8"),
        (32, 31, "141B8B25E59E0D01B11422D94048C8045EE7744DD0040BF08B6CED0E4F255BBD", "4D4A994B5F271A0A"),
    ];

    fn key() -> Key {
        Key::new(counting(16).try_into().unwrap())
    }

    #[test]
    fn the_cipher_is_ascon_aead128_as_published() {
        let nonce: Nonce = counting(16).try_into().unwrap();
        for (text, header, sealed, tag) in VECTORS {
            let (clear, header) = (counting(text), counting(header));
            let mut text = clear.clone();
            let made = key().seal(&nonce, &header, &mut text);
            assert_eq!((&text, made.to_vec()), (&bytes(sealed), bytes(tag)));
            assert_eq!(key().open(0, &nonce, &header, &mut text, &made), Some(()));
            assert_eq!(text, clear);
        }
    }

    #[test]
    fn text_that_does_not_verify_is_not_shown() {
        let (nonce, mut text) = ([7; 16], *b"do not show this");
        let tag = key().seal(&nonce, b"header", &mut text);
        for (number, header, nonce) in [(0, b"Header", nonce), (0, b"header", [8; 16]), (1, b"header", nonce)] {
            let mut opened = text;
            assert_eq!(key().open(number, &nonce, header, &mut opened, &tag), None);
            assert_eq!(opened, [0; 16]);
        }
    }

    #[test]
    fn other_members_another_order_and_no_members_have_other_keys() {
        let lists: [&[u32]; 5] = [&[], &[1], &[1, 2], &[2, 1], &[1, 2, 3]];
        let derived = lists.map(|ids| key().for_group(&ids.iter().map(|&id| NodeId(id)).collect::<Vec<_>>()));
        for (at, one) in derived.iter().enumerate() {
            assert!(derived.iter().skip(at + 1).all(|other| other != one), "{:?}", lists[at]);
        }
    }
}
