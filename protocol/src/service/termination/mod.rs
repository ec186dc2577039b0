//! Termination detection: a job has terminated when no member is busy and no message of the application is in flight.
//!
//! [`Wave`] queries all members again and again; [`DijkstraScholten`] acknowledges every message and queries nobody.
//! Both count the application's messages and see whether it is busy. The member that detects the termination announces
//! it to all.

use crate::algorithm::{Algorithm, Context, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::wire;

pub mod dijkstra_scholten;
pub mod wave;

pub use dijkstra_scholten::DijkstraScholten;
pub use wave::Wave;

/// Commands to a detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Detects when the job has terminated.
    Detect,
}

/// Notices of a detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// The job has terminated: `job` is its number, where the application counts them, `by` the member that detected
    /// it, with so many `waves`; 0 for a detection without waves.
    Terminated { by: NodeId, job: u32, waves: u32 },
    /// The termination of the job will not be detected.
    Aborted { reason: AbortReason },
}

/// Why a detection was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AbortReason {
    /// Messages to or from a member were lost: the state of the work it passed on is unknown.
    MessagesLost,
}

/// The activity of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Activity {
    /// Whether it has local work.
    pub busy: bool,
    /// The latest job it knows.
    pub job: u32,
}

/// A termination detection algorithm.
pub trait Detection: Algorithm<Message: wire::Payload, Command = Command, Notice = Notice> {
    /// Starts in this incarnation of the node.
    fn resume(&mut self, _incarnation: u32) {}

    /// Counts a message the application has sent to these members.
    fn on_sent(&mut self, to: NodeSet);

    /// Counts a message of this member, before the application receives it.
    fn on_received(&mut self, from: Option<usize>);

    /// Handles the activity of the application after its step.
    fn on_activity(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Outbox<Self::Message, Notice>);

    /// Sends the next message, if any; returns whether it did.
    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Notice>) -> bool;
}
