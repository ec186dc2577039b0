//! The bytes of a frame.
//!
//! ```text
//! version | kind | sender, incarnation, sequence, path (postcard) | body (postcard) | tag
//!    1    |  1   |             4 to 15 + path                     |                 |  4
//! ```
//!
//! [`open`] turns bytes into a [`Packet`] and is total: whatever comes in, a packet or a [`Reason`] comes out. The
//! tag is SipHash-2-4 over all bytes before it, keyed with the group's [`Key`] and cut to four bytes: it refuses
//! frames of other groups, frames broken on the way, and frames forged by somebody without the key (one guess in
//! four thousand million succeeds). It hides nothing, and whoever holds the key can speak as any node: insiders are
//! trusted.

mod any;
mod kind;
mod packet;
mod seal;

pub(crate) use any::any_message;
pub use kind::{Delivery, Kind, Message, Silence, Stage};
pub use packet::{Letter, NEIGHBOURS_MAX, Packet, Path, Reason, To, Writer, open, seal};
pub use seal::Key;

/// The longest frame: what an IEEE 802.15.4 data frame with short addresses has room for (125 less a header of 9).
pub const FRAME_MAX: usize = 116;

/// The version of this format, the first byte of every frame.
pub const VERSION: u8 = 1;

/// Writes `value` in postcard's form; `None` where it does not fit.
pub(crate) fn encode<T: serde::Serialize>(value: &T, buffer: &mut [u8]) -> Option<usize> {
    postcard::to_slice(value, buffer).ok().map(|written| written.len())
}

/// Reads a value that takes all of `bytes`; `None` for anything else.
pub(crate) fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        Ok((_, _)) | Err(_) => None,
    }
}
