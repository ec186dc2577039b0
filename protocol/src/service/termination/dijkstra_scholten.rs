//! Termination detection by acknowledgements, along a tree of engaged nodes.
//!
//! The node where a job starts is the root. A node that receives its first message becomes a child of the sender; it
//! acknowledges every further message at once ([`Message::Signal`]). When it is idle and all its own messages are
//! acknowledged, it acknowledges the first one too and leaves the tree. When the root is idle and all its messages are
//! acknowledged, the tree is empty and the job has terminated.
//!
//! # Paper
//! E. W. Dijkstra, C. S. Scholten: Termination Detection for Diffusing Computations, IPL 1980.
//!
//! # Assumes
//! Reliable channels and members that do not crash. A job that starts at one node: of two roots, each detects the
//! termination of its own part.
//!
//! # Messages
//! [`Message::Signal`] to the sender of a message; [`Message::Terminate`] to all; [`Message::Broken`] towards the root;
//! [`Message::Announce`] to all at boot, and again to a member that was down: signals name the incarnation whose
//! messages they acknowledge.
//!
//! # Cost
//! At most one signal for each message of the application, several to one sender in one message; N - 1 messages to
//! announce the termination. The root detects it one message delay after it happened.
//!
//! # Departures
//! A member that is suspected or restarts may have had a subtree below it, whose activity is then unknown. Its tree is
//! broken: no termination is detected, and the root reports [`super::AbortReason::MessagesLost`]. For a node of such a
//! tree this holds until it restarts: later signals may be for lost messages. [`super::Wave`] has no such limit.

use super::{AbortReason, Activity, Command, Detection, Notice};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::NodeSet;
use crate::base::time::Instant;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// Messages between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Acknowledges so many messages that the recipient sent in this incarnation: the work they caused is done.
    Signal { incarnation: u32, count: u32 },
    /// The job has terminated: termination `number` of this incarnation of the sender.
    Terminate { job: u32, incarnation: u32, number: u32 },
    /// The recipient's messages will never all be acknowledged.
    Broken,
    /// The incarnation of the sender, and whether messages from the sender to the recipient may have been lost.
    Announce { incarnation: u32, lost: bool },
}

impl_message! {
    Reliable: Signal = "signal", Terminate = "terminate", Broken = "broken", Announce = "announce";
}

/// The position of a node in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Engagement {
    /// In no tree.
    Outside,
    /// The job started here.
    Root,
    /// Child of the member in this slot.
    Child(usize),
    /// In a tree of which a part is lost.
    Broken,
}

/// The detection at one node, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DijkstraScholten<const N: usize> {
    incarnation: u32,
    activity: Activity,
    engagement: Engagement,
    /// Messages sent and not acknowledged.
    out_deficit: u32,
    /// Messages received and not acknowledged, by sender; without the one that made this node a child.
    in_deficits: [u32; N],
    /// The incarnation of each member, as announced.
    incarnations: [u32; N],
    /// Members to which this incarnation has to be announced.
    unannounced: NodeSet,
    /// Members to which messages may have been lost.
    lost: NodeSet,
    /// A [`Message::Terminate`] that waits to be sent.
    terminate: Option<Message>,
    /// Terminations detected here.
    number: u32,
    /// Members to which a [`Message::Broken`] waits to be sent.
    broken_to: NodeSet,
    /// The last [`Message::Terminate`] received.
    last_terminate: Option<Message>,
}

type Out = Outbox<Message, Notice>;

impl<const N: usize> DijkstraScholten<N> {
    /// Creates the detection of a node in no tree.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            incarnation: 0,
            activity: Activity { busy: false, job: 0 },
            engagement: Engagement::Outside,
            out_deficit: 0,
            in_deficits: [0; N],
            incarnations: [0; N],
            unannounced: NodeSet::EMPTY,
            lost: NodeSet::EMPTY,
            terminate: None,
            number: 0,
            broken_to: NodeSet::EMPTY,
            last_terminate: None,
        }
    }

    fn add_in_deficit(&mut self, slot: usize) {
        if let Some(deficit) = self.in_deficits.get_mut(slot) {
            *deficit = deficit.saturating_add(1);
        }
    }

    /// Leaves the tree, if this node is idle and all its messages are acknowledged.
    fn try_disengage(&mut self, cx: &Context<'_>, out: &mut Out) {
        if self.activity.busy || self.out_deficit > 0 {
            return;
        }
        match self.engagement {
            Engagement::Outside | Engagement::Broken => {}
            Engagement::Child(parent) => {
                self.engagement = Engagement::Outside;
                self.add_in_deficit(parent);
            }
            Engagement::Root => {
                self.engagement = Engagement::Outside;
                self.number = self.number.saturating_add(1);
                let job = self.activity.job;
                self.terminate = Some(Message::Terminate { job, incarnation: self.incarnation, number: self.number });
                out.notify(Notice::Terminated { by: cx.me, job, waves: 0 });
            }
        }
    }

    /// Marks the tree as broken: a part of it is or may be lost.
    fn mark_broken(&mut self, out: &mut Out) {
        match core::mem::replace(&mut self.engagement, Engagement::Broken) {
            Engagement::Root => out.notify(Notice::Aborted { reason: AbortReason::MessagesLost }),
            Engagement::Child(parent) => self.broken_to = self.broken_to.with(NodeSet::slot(parent)),
            Engagement::Outside => self.engagement = Engagement::Outside,
            Engagement::Broken => {}
        }
    }
}

impl<const N: usize> Algorithm for DijkstraScholten<N> {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { message: Message::Signal { incarnation, count }, .. } => {
                if incarnation == self.incarnation {
                    self.out_deficit = self.out_deficit.saturating_sub(count);
                    self.try_disengage(cx, out);
                }
            }
            Input::Message { message: Message::Broken, .. } => self.mark_broken(out),
            Input::Message { from, message: Message::Announce { incarnation, lost }, .. } => {
                if let Some(known) = cx.roster.slot_of(from).and_then(|slot| self.incarnations.get_mut(slot)) {
                    *known = incarnation;
                }
                if lost {
                    self.mark_broken(out);
                }
            }
            Input::Fact(Fact::PeerDown(set) | Fact::PeerReset(set)) => {
                self.unannounced = self.unannounced.with(set);
                self.lost = self.lost.with(set);
                self.mark_broken(out);
            }
            Input::Message { from, message: message @ Message::Terminate { job, .. }, .. } => {
                if self.last_terminate != Some(message) {
                    self.last_terminate = Some(message);
                    out.notify(Notice::Terminated { by: from, job, waves: 0 });
                }
            }
            Input::Command(Command::Detect) => {
                if self.engagement == Engagement::Broken {
                    out.notify(Notice::Aborted { reason: AbortReason::MessagesLost });
                }
            }
            // The root detects without a command, and without a deadline.
            Input::Fact(Fact::PeerUp(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_))
            | Input::Timeout => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl<const N: usize> Detection for DijkstraScholten<N> {
    fn resume(&mut self, incarnation: u32) {
        self.incarnation = incarnation;
        self.unannounced = NodeSet::first(N);
    }

    fn on_sent(&mut self, to: NodeSet) {
        self.out_deficit = self.out_deficit.saturating_add(to.len());
    }

    fn on_received(&mut self, from: Option<usize>) {
        let Some(slot) = from else { return };
        match self.engagement {
            Engagement::Outside => self.engagement = Engagement::Child(slot),
            Engagement::Root | Engagement::Child(_) => self.add_in_deficit(slot),
            Engagement::Broken => self.broken_to = self.broken_to.with(NodeSet::slot(slot)),
        }
    }

    fn on_activity(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Out) {
        self.activity = activity;
        if activity.busy && self.engagement == Engagement::Outside {
            self.engagement = Engagement::Root;
        }
        self.try_disengage(cx, out);
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let unannounced = self.unannounced.and(cx.up);
        if !unannounced.is_empty() {
            let lossy = unannounced.and(self.lost);
            let (to, lost) = if lossy.is_empty() { (unannounced, false) } else { (lossy, true) };
            (self.unannounced, self.lost) = (self.unannounced.without(to), self.lost.without(to));
            out.send(to, Message::Announce { incarnation: self.incarnation, lost });
            return true;
        }
        if !self.broken_to.is_empty() {
            out.send(core::mem::take(&mut self.broken_to), Message::Broken);
            return true;
        }
        let owed = |(_, deficit): &(usize, &mut u32)| **deficit > 0;
        if let Some((slot, deficit)) = self.in_deficits.iter_mut().enumerate().find(owed) {
            let count = core::mem::take(deficit);
            let incarnation = self.incarnations.get(slot).copied().unwrap_or(0);
            out.send(NodeSet::slot(slot), Message::Signal { incarnation, count });
            return true;
        }
        let Some(terminate) = self.terminate.take() else { return false };
        out.send(cx.peers, terminate);
        true
    }
}

impl<const N: usize> Default for DijkstraScholten<N> {
    fn default() -> Self {
        Self::new()
    }
}
