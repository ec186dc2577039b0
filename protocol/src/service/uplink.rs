//! The elected uplink: nodes submit messages, the elected gateway publishes them at a broker, and what the broker has for
//! a node comes back to it. Three state machines without a socket or a clock, for the hosts of nodes and of consumers:
//!
//! - [`Client`], at every node: keeps a few messages and submits the first one again until it is stored.
//! - [`Gateway`], at every node that has an uplink: while its node is the acting leader it claims the uplink, publishes
//!   what clients submit, and answers.
//! - [`Guard`], at a consumer: accepts each message once and in order, and none of a gateway that was superseded.
//!
//! Client and gateway speak through the service [`requests`]: a submission is a repeatable
//! request, so it finds the next leader by itself, and being stored is its answer. What it is repeated for is ended by the
//! guard, which knows every message by its origin, the origin's boot and its number.
//!
//! # Stored means accepted
//! A leader may be paused for as long as it takes to elect another, and wake up in the midst of publishing. It cannot know
//! that in time, but the broker does: it takes one message after the other. A gateway therefore publishes a claim
//! with its fence, the term of its leadership, before anything else, and it subscribes to claims. All subscribers see
//! claims and messages in one order. Whatever is published under a fence lower than the highest claim before it
//! counts for nobody: the guard refuses it, and its own gateway, which receives the claim before the broker's
//! acknowledgement, does not tell its client that it is stored. A message whose client was told so is one that every
//! guard accepts.
//!
//! # Paper
//! Fencing tokens as in M. Burrows: The Chubby lock service for loosely-coupled distributed systems, OSDI 2006
//! (sequencers), with the broker in the place of the file server. The end-to-end acknowledgement and the check for
//! duplicates at the end follow J. Saltzer, D. Reed, D. Clark: End-to-end arguments in system design, ACM TOCS 1984.
//!
//! # Assumes
//! One broker that hands every subscriber what it accepted, in the order in which it accepted it, and that keeps what it
//! acknowledged. Terms that grow: of one leader per group in mode *quorum*; in mode *available* two parts of a
//! partitioned network both claim, and the lower one's clients are refused until they are one again. With
//! clusters each super-peer has a fence of its own ([`Fence::scope`]).
//!
//! # Messages
//! Submission (request): number, downlink received, payload. Stored (answer): nothing, or a downlink. Claim and message at the
//! broker: see [`Upload`].
//!
//! # Cost
//! A request and an answer for every message, a publication with its acknowledgement, and one claim for every leadership.
//!
//! # Departures
//! - No queue survives a gateway: what it has not stored, the clients still have.
//! - A downlink waits at the gateway for the client's next submission, as to a node that sleeps between its messages. It is
//!   lost with the gateway: whoever commands a node waits for the node's own message.
//!
//! # Limits
//! [`PAYLOAD_MAX`] bytes; [`CLIENT_QUEUE_MAX`] messages at a client, of which the oldest is dropped and counted;
//! [`GATEWAY_QUEUE_MAX`] at a gateway, which refuses more as busy; [`DOWNLINKS_MAX`] downlinks, of which the oldest is
//! dropped and counted.

mod client;
mod gateway;
mod guard;
mod upload;

pub use client::{Client, ClientNotice};
pub use gateway::{Gateway, GatewayCounters, GatewayState, Publication};
pub use guard::{Guard, Verdict};
pub use upload::{Fence, TEXT_MAX, Text, Upload, UploadId};

use crate::service::requests;
use heapless::Vec;

/// The longest payload, in bytes.
pub const PAYLOAD_MAX: usize = 24;
/// Messages a client keeps until they are stored.
pub const CLIENT_QUEUE_MAX: usize = 8;
/// Messages a gateway keeps until the broker has acknowledged them.
pub const GATEWAY_QUEUE_MAX: usize = 16;
/// Downlinks a gateway keeps until their clients have them.
pub const DOWNLINKS_MAX: usize = 8;

/// What a client submits, or is sent.
pub type Payload = Vec<u8, PAYLOAD_MAX>;

/// Number of a message, and of the downlink received last.
const SUBMISSION_HEADER: usize = 6;
const _: () = assert!(SUBMISSION_HEADER + PAYLOAD_MAX <= requests::PAYLOAD_MAX, "a submission fits a request");

/// The name of a downlink: the end of the gateway's term, and a number that is never 0.
type DownlinkName = [u8; 2];
const NO_DOWNLINK: DownlinkName = [0, 0];

/// What a client asks its gateway to store.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Submission {
    number: u32,
    /// The downlink that the client received last.
    received: DownlinkName,
    payload: Payload,
}

impl Submission {
    fn to_bytes(&self) -> requests::Bytes {
        joined(&[&self.number.to_le_bytes(), &self.received, &self.payload])
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (&received, payload) = rest.split_first_chunk()?;
        Some(Self { number: u32::from_le_bytes(*number), received, payload: Payload::from_slice(payload).ok()? })
    }
}

/// Joins parts that fit a request together.
fn joined(parts: &[&[u8]]) -> requests::Bytes {
    let mut bytes = requests::Bytes::new();
    for part in parts {
        let _ = bytes.extend_from_slice(part); // it fits: see above
    }
    bytes
}

#[cfg(test)]
mod tests;
