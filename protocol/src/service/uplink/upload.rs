//! What a gateway publishes, as text that any consumer can read: `TERM.BY[.SCOPE] SEQUENCE BOOT.NUMBER PAYLOAD`.
//!
//! `7.2 13 1.42 21.5` is the 13th message of the gateway that node 2 made leader in term 7: the 42nd of its origin in that
//! one's boot 1, with the payload `21.5`. A claim is the fence alone: `7.2`. With clusters the fence ends with the super-peer.

use super::{PAYLOAD_MAX, Payload};
use crate::base::ids::NodeId;
use crate::base::term::Term;
use heapless::Vec;

/// The longest text: five numbers of ten digits, a boot, six separators and the payload.
pub const TEXT_MAX: usize = 5 * 10 + 3 + 6 + PAYLOAD_MAX;

/// What is published.
pub type Text = Vec<u8, TEXT_MAX>;

/// The right to publish: a leadership. Of two fences with one scope the higher term counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fence {
    /// The term of the gateway's leadership.
    pub term: Term,
    /// The super-peer, where each has a fence of its own; `None` where a group has one gateway.
    pub scope: Option<NodeId>,
}

/// The name of a message: what a consumer must not accept twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct UploadId {
    /// The node that submitted it.
    pub origin: NodeId,
    /// The last byte of that node's incarnation.
    pub boot: u8,
    /// Its number in that boot, from 1.
    pub number: u32,
}

/// A message on its way from a gateway to consumers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The right under which it is published.
    pub fence: Fence,
    /// Its number under that fence, from 1.
    pub sequence: u32,
    /// Its name; the origin is part of the topic.
    pub id: UploadId,
    /// What the origin submitted.
    pub payload: Payload,
}

impl Fence {
    /// Returns the text of a claim.
    #[must_use]
    pub fn to_text(&self) -> Text {
        let mut text = Text::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut Text) {
        write_number(text, self.term.number);
        write_byte(text, b'.');
        write_number(text, self.term.by.0);
        if let Some(NodeId(scope)) = self.scope {
            write_byte(text, b'.');
            write_number(text, scope);
        }
    }

    /// Reads a claim.
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let mut parts = text.split(|&byte| byte == b'.');
        let term = Term { number: number(parts.next()?)?, by: NodeId(number(parts.next()?)?) };
        let scope = match parts.next() {
            Some(part) => Some(NodeId(number(part)?)),
            None => None,
        };
        parts.next().is_none().then_some(Self { term, scope })
    }
}

impl Upload {
    /// Returns the text to publish at the topic of its origin.
    #[must_use]
    pub fn to_text(&self) -> Text {
        let mut text = Text::new();
        self.fence.write(&mut text);
        write_byte(&mut text, b' ');
        write_number(&mut text, self.sequence);
        write_byte(&mut text, b' ');
        write_number(&mut text, u32::from(self.id.boot));
        write_byte(&mut text, b'.');
        write_number(&mut text, self.id.number);
        write_byte(&mut text, b' ');
        let _ = text.extend_from_slice(&self.payload); // it fits: see TEXT_MAX
        text
    }

    /// Reads a message that was published at the topic of `origin`.
    #[must_use]
    pub fn from_text(origin: NodeId, text: &[u8]) -> Option<Self> {
        let mut parts = text.splitn(4, |&byte| byte == b' ');
        let fence = Fence::from_text(parts.next()?)?;
        let sequence = number(parts.next()?)?;
        let mut name = parts.next()?.split(|&byte| byte == b'.');
        let boot = u8::try_from(number(name.next()?)?).ok()?;
        let id = UploadId { origin, boot, number: number(name.next()?)? };
        let payload = Payload::from_slice(parts.next()?).ok()?;
        name.next().is_none().then_some(Self { fence, sequence, id, payload })
    }
}

fn write_byte(text: &mut Text, byte: u8) {
    let _ = text.push(byte); // it fits: see TEXT_MAX
}

/// Writes a number in decimal, without the formatting machinery, which would cost a board more than all of this.
fn write_number(text: &mut Text, mut number: u32) {
    let mut digits: Vec<u8, 10> = Vec::new();
    loop {
        let [digit, ..] = (number % 10).to_le_bytes();
        let _ = digits.push(b'0'.wrapping_add(digit)); // ten digits at most
        number /= 10;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().for_each(|&digit| write_byte(text, digit));
}

/// Reads a number in decimal: digits, as few as it takes, and nothing else.
fn number(text: &[u8]) -> Option<u32> {
    if text.is_empty() || (text.len() > 1 && text.first() == Some(&b'0')) {
        return None;
    }
    text.iter().try_fold(0_u32, |number, &byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u32::from(digit))
    })
}
