//! The destination of a frame, to bytes and from bytes.
//!
//! One byte says which parts follow, so that what a frame does not name costs nothing.

use super::frame::{Boots, Destination, Origin, Recipients, Relays, ReliableHeader, Rest};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use serde::de::DeserializeOwned;

const BROADCAST: u8 = 0;
const NEIGHBOURS: u8 = 1;
const NODE: u8 = 2;
/// To members; the lower bits say what follows.
const MEMBERS: u8 = 0x80;
const RELAYED: u8 = 1;
const NAMED: u8 = 1 << 1;
const ONE_RELAY: u8 = 1 << 2;
const TWO_RELAYS: u8 = 1 << 3;
const ACK: u8 = 1 << 4;

/// Writes a destination; `None` where it does not fit or contradicts itself, and for a relayed message to a neighbour,
/// which nobody relays.
pub(super) fn write(destination: &Destination, rest: &mut Rest<'_>) -> Option<()> {
    let ReliableHeader { origin, attempt, recipients, ack } = match destination {
        Destination::Broadcast => return rest.append(&[BROADCAST]),
        Destination::Neighbours(ids) => {
            rest.append(&[NEIGHBOURS])?;
            return rest.encode(ids);
        }
        Destination::Reliable(header) => header,
    };
    let (set, boots, relays) = match recipients {
        Recipients::Node(node) if origin.is_none() => {
            rest.append(&[NODE])?;
            rest.encode(attempt)?;
            return rest.encode(node);
        }
        Recipients::Node(_) => return None,
        Recipients::Members { set, boots, relays } => (set, boots, *relays),
    };
    if !boots.is_empty() && u32::try_from(boots.len()) != Ok(set.len()) {
        return None;
    }
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let relayed = flag(origin.is_some(), RELAYED);
    let named = flag(!boots.is_empty(), NAMED);
    let one = flag(matches!(relays, Relays::One(_)), ONE_RELAY);
    let two = flag(matches!(relays, Relays::Two(..)), TWO_RELAYS);
    rest.append(&[MEMBERS | relayed | named | one | two | flag(ack.is_some(), ACK)])?;
    if let Some(origin) = origin {
        rest.encode(origin)?;
    }
    rest.encode(attempt)?;
    rest.encode(set)?;
    for boot in boots {
        rest.encode(boot)?;
    }
    match relays {
        Relays::Nobody => {}
        Relays::One(one) => rest.append(&[one])?,
        Relays::Two(one, two) => rest.append(&[one, two])?,
    }
    match ack {
        Some(ack) => rest.encode(ack),
        None => Some(()),
    }
}

/// Reads a destination; returns it and the bytes after it. `None` where it is none, or contradicts itself.
pub(super) fn take(bytes: &[u8]) -> Option<(Destination, &[u8])> {
    let (&tag, mut rest) = bytes.split_first()?;
    let header = match tag {
        BROADCAST => return Some((Destination::Broadcast, rest)),
        NEIGHBOURS => {
            let ids = next(&mut rest)?;
            return Some((Destination::Neighbours(ids), rest));
        }
        NODE => {
            let (attempt, node) = (next(&mut rest)?, next(&mut rest)?);
            ReliableHeader { origin: None, attempt, recipients: Recipients::Node(node), ack: None }
        }
        _ if tag & MEMBERS != 0 => members(tag, &mut rest)?,
        _ => return None,
    };
    (header.attempt.sent_at <= LamportTime::MAX).then_some((Destination::Reliable(header), rest))
}

fn members(tag: u8, rest: &mut &[u8]) -> Option<ReliableHeader> {
    let has = |flag: u8| tag & flag != 0;
    if tag & !(MEMBERS | RELAYED | NAMED | ONE_RELAY | TWO_RELAYS | ACK) != 0 || (has(ONE_RELAY) && has(TWO_RELAYS)) {
        return None;
    }
    let origin: Option<Origin> = if has(RELAYED) { Some(next(rest)?) } else { None };
    let (attempt, set): (_, NodeSet) = (next(rest)?, next(rest)?);
    let mut boots = Boots::new();
    if has(NAMED) {
        for _ in set.slots() {
            boots.push(next(rest)?).ok()?;
        }
    }
    let relays = if has(TWO_RELAYS) {
        Relays::Two(byte(rest)?, byte(rest)?)
    } else if has(ONE_RELAY) {
        Relays::One(byte(rest)?)
    } else {
        Relays::Nobody
    };
    let ack = if has(ACK) { Some(next(rest)?) } else { None };
    Some(ReliableHeader { origin, attempt, recipients: Recipients::Members { set, boots, relays }, ack })
}

/// Takes the next byte.
fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

/// Takes the next value.
fn next<T: DeserializeOwned>(rest: &mut &[u8]) -> Option<T> {
    let (value, after) = postcard::take_from_bytes(rest).ok()?;
    *rest = after;
    Some(value)
}
