//! The bytes of a frame.
//!
//! ```text
//! version | sender, incarnation, seq (postcard) | kind | destination (postcard) | body (postcard) | tag
//!    1    |              3 to 15               |  1   |                        |                 |  8
//!                  in clear                    |                   encrypted                    |
//! ```
//!
//! The version is the upper half of the first byte; the lower half is the number of the key. Kind, destination and body are
//! encrypted by the group's [`Cipher`], Ascon-AEAD128 under a [`Key`] unless a radio brings its own; the tag covers what
//! stands in clear too. Sender, incarnation and sequence number never repeat together: they are the nonce. `docs/wire.md`
//! describes every field.
//!
//! [`open`] turns bytes into a [`Packet`] and is total: every input gives a packet or a [`DropReason`]. Without the key
//! nobody makes a frame that opens (one guess in 2^64 succeeds), or reads one. A holder of the key can send as any node:
//! insiders are trusted.

mod frame;
mod kind;
mod message;
mod reach;
mod route;
mod sealed;

pub use crate::base::cipher::{Cipher, Nonce, TAG_BYTES, Tag};
pub use crate::base::key::Key;
pub use crate::base::keyring::Keyring;
pub use frame::{
    Attempt, BOOTS_MAX, Boots, Destination, DropReason, NEIGHBOURS_MAX, Origin, Packet, Recipients, Relays,
    ReliableHeader,
};
pub use kind::{Kind, Stage};
pub use message::{Delivery, Kinded, Message, NoMessage, Payload};
pub(crate) use message::{impl_message, one_of_payloads};
pub use reach::Reach;
pub use sealed::{SealedFrame, open, seal};

/// The longest frame: what an IEEE 802.15.4 data frame with short addresses has room for (125 less a header of 9).
pub const FRAME_MAX: usize = 116;

/// The first byte of a frame that is sealed with key 0: version 2 of this format.
pub const VERSION: u8 = 2 << 4;

/// Encodes `value` with postcard, as the body of a frame; `None` where it does not fit.
pub fn encode<T: serde::Serialize>(value: &T, buffer: &mut [u8]) -> Option<usize> {
    postcard::to_slice(value, buffer).ok().map(|written| written.len())
}

/// Returns how many bytes a number takes in a frame.
pub(crate) fn encoded_bytes(number: u32) -> usize {
    let bits = u32::BITS.saturating_sub(number.leading_zeros()).max(1);
    usize::try_from(bits.div_ceil(7)).unwrap_or(5)
}

/// Decodes a value that takes up all of `bytes`; `None` for anything else.
#[must_use]
pub fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        Ok((_, _)) | Err(_) => None,
    }
}
