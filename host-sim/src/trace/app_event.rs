//! Events of applications and of the services that observe them: snapshots, termination detection, the shared clock.

use super::hash::code;
use crate::base::rng::mix;
use protocol::service::snapshot;
use serde::{Serialize, Serializer};

/// A request of the user to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum AppRequest {
    /// Takes a snapshot of all nodes.
    Snapshot,
    /// Detects the termination of the job.
    DetectTermination,
    /// Starts a job.
    Start {
        /// Its units of work.
        units: u32,
    },
}

/// What happens to a request to a super-peer, or to a message of one to its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestStep {
    /// The user makes it.
    Made,
    /// The super-peer's application gets it.
    Handled,
    /// The user gets the answer.
    Answered,
    /// The user gets a refusal.
    Refused,
    /// The user gets neither.
    TimedOut,
    /// The super-peer sends a message to its clients.
    Sent,
    /// A client receives the message.
    Received,
    /// The super-peer learns that its client has received it.
    Delivered,
    /// The super-peer does not learn that.
    Undelivered,
}

/// What happens to a transaction at one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionStep {
    /// The coordinator proposes it, and votes for it.
    Proposed,
    /// A member votes for it.
    Voted,
    /// A member that voted for it cannot find out the decision.
    Blocked,
    /// A member commits it; after a reboot it may do so again.
    Committed,
    /// A member aborts it.
    Aborted,
    /// The coordinator knows that all have committed it.
    Completed,
}

/// An event of an application at one node.
///
/// An amount is of tokens in a bank, and of units of work in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "app_event", rename_all = "kebab-case")]
pub enum AppEvent {
    /// The user makes a request.
    Request {
        /// The request.
        #[serde(flatten)]
        request: AppRequest,
    },
    /// The application sends a message.
    Sends {
        /// The id of the receiver.
        to: u32,
        /// The message's number in this run.
        message: u32,
        /// The amount it carries.
        amount: u32,
    },
    /// The application receives a message.
    Receives {
        /// The id of the sender.
        from: u32,
        /// The message's number in this run; `None` if no node sent it.
        message: Option<u32>,
        /// The amount it carried.
        amount: u32,
    },
    /// A peer is suspected. Messages to it that it has not acknowledged are not sent again, and may or may not arrive.
    PeerDown {
        /// The id of the peer.
        peer: u32,
    },
    /// A peer is reachable.
    PeerUp {
        /// The id of the peer.
        peer: u32,
    },
    /// The application has work.
    Busy,
    /// The application has no work left.
    Idle,
    /// The node records its state for a snapshot.
    Recorded {
        /// The snapshot.
        #[serde(serialize_with = "initiator_boot_and_number")]
        snapshot: snapshot::Id,
        /// The amount the node has.
        amount: u32,
    },
    /// The initiator receives a node's recorded state.
    State {
        /// The snapshot.
        #[serde(serialize_with = "initiator_boot_and_number")]
        snapshot: snapshot::Id,
        /// The id of the node.
        of: u32,
        /// The amount it had.
        amount: u32,
    },
    /// The initiator receives a message that was in a channel.
    Channel {
        /// The snapshot.
        #[serde(serialize_with = "initiator_boot_and_number")]
        snapshot: snapshot::Id,
        /// The id of the sender.
        from: u32,
        /// The id of the receiver.
        to: u32,
        /// The amount it carried.
        amount: u32,
    },
    /// The snapshot is complete.
    Completed {
        /// The snapshot.
        #[serde(serialize_with = "initiator_boot_and_number")]
        snapshot: snapshot::Id,
        /// How many nodes it has.
        nodes: u32,
    },
    /// The snapshot is abandoned.
    Aborted {
        /// The snapshot.
        #[serde(serialize_with = "initiator_boot_and_number")]
        snapshot: snapshot::Id,
        /// The reason.
        #[serde(serialize_with = "description")]
        reason: snapshot::AbortReason,
    },
    /// The node starts a wave of termination detection.
    Wave {
        /// Its number since the node's boot.
        number: u32,
    },
    /// The node knows that the job has terminated.
    Terminated {
        /// The id of the node that detected it.
        by: u32,
        /// The number of the job.
        job: u32,
        /// How many waves it took.
        waves: u32,
    },
    /// The termination of the job cannot be detected any more.
    DetectionAborted {
        /// The reason.
        reason: &'static str,
    },
    /// The node starts a round of clock synchronization, as leader.
    ClockRound {
        /// Its number in this term.
        number: u32,
    },
    /// The shared clock was set for the first time.
    ClockSet,
    /// The shared clock is being adjusted.
    ClockAdjusted {
        /// By how many microseconds.
        by: i32,
    },
    /// The shared clock went back.
    ClockWentBack {
        /// By how many microseconds.
        by: u32,
    },
    /// A request to a super-peer, or a message of one.
    Service {
        /// What happened to it here.
        step: RequestStep,
        /// The id of the node that made it.
        origin: u32,
        /// The boot of that node.
        boot: u8,
        /// The request's number in that boot.
        number: u16,
        /// Whether it may be handled twice.
        repeatable: bool,
    },
    /// The user of a member of the sequencer submits a message.
    Submits {
        /// The member's boot.
        boot: u32,
        /// The message's number in that boot.
        number: u32,
    },
    /// A message was refused: the member has too many that are not delivered yet.
    Refused,
    /// A member of the sequencer delivers the next message.
    Delivers {
        /// The history.
        era: u32,
        /// The message's number in it.
        count: u32,
        /// The id of the member that submitted it.
        origin: u32,
        /// The boot of that member.
        boot: u32,
        /// The message's number in that boot.
        number: u32,
    },
    /// A member of the sequencer does not receive the messages up to this number.
    Missed {
        /// The history.
        era: u32,
        /// The number in it.
        count: u32,
    },
    /// It is unknown whether a message of this member is among those it missed.
    Unknown {
        /// The message's number.
        number: u32,
    },
    /// A step of a transaction.
    Transaction {
        /// What happened to it here.
        step: TransactionStep,
        /// The number of its coordinator's term.
        term: u32,
        /// The id of the node that chose that number.
        by: u32,
        /// The transaction's number in that term.
        number: u32,
    },
    /// A notice of an application of one's own.
    Own {
        /// What it is about.
        name: &'static str,
        /// Its number.
        value: u64,
    },
}

/// Returns an event's tag and data in three words.
pub(super) fn digest(event: &AppEvent) -> (u64, u64, u64) {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let mixed = |id: &snapshot::Id| mix(u64::from(id.number) ^ mix(pair(id.initiator.0, id.incarnation)));
    match event {
        AppEvent::Request { request: AppRequest::Snapshot } => (16, 0, 0),
        AppEvent::Request { request: AppRequest::DetectTermination } => (16, 1, 0),
        AppEvent::Request { request: AppRequest::Start { units } } => (16, 2, u64::from(*units)),
        AppEvent::Sends { to, message, amount } => (0, pair(*to, *message), u64::from(*amount)),
        AppEvent::Receives { from, message, amount } => {
            (1, pair(*from, message.unwrap_or(u32::MAX)), u64::from(*amount) << 1 | u64::from(message.is_none()))
        }
        AppEvent::PeerDown { peer } => (17, u64::from(*peer), 0),
        AppEvent::PeerUp { peer } => (18, u64::from(*peer), 0),
        AppEvent::Busy => (2, 0, 0),
        AppEvent::Idle => (3, 0, 0),
        AppEvent::Recorded { snapshot, amount } => (4, mixed(snapshot), u64::from(*amount)),
        AppEvent::State { snapshot, of, amount } => (5, mixed(snapshot), pair(*of, *amount)),
        AppEvent::Channel { snapshot, from, to, amount } => (6, mixed(snapshot) ^ pair(*from, *to), u64::from(*amount)),
        AppEvent::Completed { snapshot, nodes } => (7, mixed(snapshot), u64::from(*nodes)),
        AppEvent::Aborted { snapshot, reason } => (8, mixed(snapshot), *reason as u64),
        AppEvent::Wave { number } => (9, u64::from(*number), 0),
        AppEvent::Terminated { by, job, waves } => (10, pair(*by, *job), u64::from(*waves)),
        AppEvent::DetectionAborted { reason } => (11, code(reason), 0),
        AppEvent::ClockRound { number } => (12, u64::from(*number), 0),
        AppEvent::ClockSet => (13, 0, 0),
        AppEvent::ClockAdjusted { by } => (14, u64::from(by.cast_unsigned()), 0),
        AppEvent::ClockWentBack { by } => (15, u64::from(*by), 0),
        AppEvent::Service { step, origin, boot, number, repeatable } => {
            let flags = (*step as u64) << 1 | u64::from(*repeatable);
            (20, pair(*origin, u32::from(*boot) << 16 | u32::from(*number)), flags)
        }
        AppEvent::Submits { boot, number } => (25, pair(*boot, *number), 0),
        AppEvent::Refused => (21, 0, 0),
        AppEvent::Delivers { era, count, origin, boot, number } => {
            (22, pair(*era, *count), mix(pair(*origin, *boot)) ^ u64::from(*number))
        }
        AppEvent::Missed { era, count } => (23, pair(*era, *count), 0),
        AppEvent::Unknown { number } => (24, u64::from(*number), 0),
        AppEvent::Transaction { step, term, by, number } => (26, pair(*term, *by), pair(*step as u32, *number)),
        AppEvent::Own { name, value } => (19, code(name), *value),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serializer calls it so")]
fn description<S: Serializer>(reason: &snapshot::AbortReason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.description())
}

fn initiator_boot_and_number<S: Serializer>(id: &snapshot::Id, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}.{}.{}", id.initiator.0, id.incarnation, id.number))
}
