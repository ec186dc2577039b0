//! Termination: whether a job that has spread over the nodes is over, which is when nobody works any more and no message is
//! on its way.
//!
//! [`Wave`] asks everybody, again and again; [`DijkstraScholten`] has every message acknowledged and needs to ask nobody.
//! Both count the application's messages and know when it is busy, and neither is fooled by a message on its way: see each.
//! Whoever finds that the job is over tells all.

use crate::algorithm::{Algorithm, Context, Outbox};
use crate::group::{NodeId, NodeSet};
use crate::wire;

mod any;
pub mod dijkstra_scholten;
pub mod wave;

pub use any::{AnyDetection, AnyMessage};
pub use dijkstra_scholten::DijkstraScholten;
pub use wave::Wave;

/// What is asked of a detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Find out when the job is over.
    Watch,
}

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// The job is over: nobody works, and nothing is on its way.
    Terminated {
        /// Who found out.
        by: NodeId,
        /// Which job, where the application counts them.
        job: u32,
        /// How many waves it took; none where there are none.
        waves: u32,
    },
    /// Nobody will find out whether the job is over.
    Aborted {
        /// Why.
        why: Why,
    },
}

/// Why nobody will find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Why {
    /// Letters to or from a member were lost: nobody knows what became of the work it gave away.
    Lost,
}

/// What an application is up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Activity {
    /// Whether it has work of its own to do.
    pub busy: bool,
    /// The latest job it has heard of.
    pub job: u32,
}

/// An algorithm that finds out when an application is done on all members.
pub trait Detection: Algorithm<Message: wire::Message, Command = Command, Notice = Notice> {
    /// Goes on in this boot of the node.
    fn resume(&mut self, _incarnation: u32) {}

    /// The application has sent a message to these.
    fn sent(&mut self, to: NodeSet);

    /// The application is about to hear a message of this member.
    fn heard(&mut self, from: Option<usize>);

    /// The application has taken a step, and is up to this now.
    fn observe(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Outbox<Self::Message, Notice>);

    /// Writes the next letter, if there is one.
    fn speak(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Notice>) -> bool;
}
