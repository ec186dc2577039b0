//! Termination by acknowledgements: whoever gave work away waits until it is told that it is done.
//!
//! The node where the job begins is the root. A node that hears its first message becomes a child of its sender; every
//! further message it acknowledges at once ([`Message::Signal`]). When it is idle and everything it sent is acknowledged, it
//! acknowledges the first one too, and leaves the tree. When the root is idle and everything it sent is acknowledged, the
//! tree is empty and the job is over.
//!
//! # Paper
//! E. W. Dijkstra, C. S. Scholten: Termination Detection for Diffusing Computations, IPL 1980.
//!
//! # Assumes
//! Letters that are not lost, and members that do not crash. A job that begins at one node: of two, each root finds the end
//! of its own part.
//!
//! # Messages
//! [`Message::Signal`] to whoever sent a message; [`Message::Terminate`] to all; [`Message::Broken`] towards the root;
//! [`Message::Hail`] to all at the start, and again to whoever was away: signals name the boot whose messages they are for.
//!
//! # Cost
//! One signal for each message of the application at most, several for one sender in one letter; N - 1 to tell the others. The
//! root knows one message after the end.
//!
//! # Departures
//! A member that is suspected or starts anew may have had a part of the tree below it: nobody knows whether that still works.
//! Then no end is ever found, and the root says so: [`super::Why::Lost`]. For a node of such a tree this holds until it is
//! started again: what is acknowledged later may be of what was lost. [`super::Wave`] does not mind.

use super::{Activity, Command, Detection, Notice, Why};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::group::NodeSet;
use crate::time::Instant;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// What came of so many of your messages is done.
    Signal {
        /// In which boot of the reader they were sent.
        boot: u32,
        /// How many.
        count: u32,
    },
    /// The job is over.
    Terminate {
        /// Which job.
        job: u32,
        /// In which boot of the sender this was found out.
        boot: u32,
        /// Its how many-th.
        number: u32,
    },
    /// Nobody will find out whether what came of your messages is done.
    Broken,
    /// I am in this boot.
    Hail {
        /// Which.
        boot: u32,
        /// Whether letters from me to you may have been lost.
        lost: bool,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::DijkstraScholten
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Signal { .. } => "signal",
            Self::Terminate { .. } => "terminate",
            Self::Broken => "broken",
            Self::Hail { .. } => "hail",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::DijkstraScholten { wire::decode(body) } else { None }
    }
}

/// A node's place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// In no tree.
    Outside,
    /// The job began here.
    Root,
    /// Below the member in this slot.
    Child(usize),
    /// In a tree of which a part is lost.
    Broken,
}

/// The part of one node in the tree, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DijkstraScholten<const N: usize> {
    incarnation: u32,
    activity: Activity,
    place: Place,
    /// Messages sent and not acknowledged.
    deficit: u32,
    /// Messages heard and not acknowledged, by sender; the one that made this node a child is not among them.
    owed: [u32; N],
    /// The boot of each member, as it has told.
    boots: [u32; N],
    /// Members that have to be told of this boot.
    unhailed: NodeSet,
    /// Those of them letters to which may have been lost.
    lost: NodeSet,
    /// The end, to be told to all.
    news: Option<Message>,
    /// The ends found here.
    number: u32,
    /// Whom to tell that the tree is broken.
    warn: NodeSet,
    /// The last end another found.
    told: Option<Message>,
}

type Out = Outbox<Message, Notice>;

impl<const N: usize> DijkstraScholten<N> {
    /// A node in no tree.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            incarnation: 0,
            activity: Activity { busy: false, job: 0 },
            place: Place::Outside,
            deficit: 0,
            owed: [0; N],
            boots: [0; N],
            unhailed: NodeSet::EMPTY,
            lost: NodeSet::EMPTY,
            news: None,
            number: 0,
            warn: NodeSet::EMPTY,
            told: None,
        }
    }

    fn owe(&mut self, slot: usize) {
        if let Some(owed) = self.owed.get_mut(slot) {
            *owed = owed.saturating_add(1);
        }
    }

    /// Leaves the tree, if there is nothing left to wait for.
    fn settle(&mut self, cx: &Context<'_>, out: &mut Out) {
        if self.activity.busy || self.deficit > 0 {
            return;
        }
        match self.place {
            Place::Outside | Place::Broken => {}
            Place::Child(parent) => {
                self.place = Place::Outside;
                self.owe(parent);
            }
            Place::Root => {
                self.place = Place::Outside;
                self.number = self.number.saturating_add(1);
                let job = self.activity.job;
                self.news = Some(Message::Terminate { job, boot: self.incarnation, number: self.number });
                out.notify(Notice::Terminated { by: cx.me, job, waves: 0 });
            }
        }
    }

    /// A part of the tree is lost, or may be.
    fn give_up(&mut self, out: &mut Out) {
        match core::mem::replace(&mut self.place, Place::Broken) {
            Place::Root => out.notify(Notice::Aborted { why: Why::Lost }),
            Place::Child(parent) => self.warn = self.warn.with(NodeSet::slot(parent)),
            Place::Outside => self.place = Place::Outside, // of no tree, nothing is lost
            Place::Broken => {}                            // it is known
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
            Input::Message { message: Message::Signal { boot, .. }, .. } if boot != self.incarnation => {} // of before
            Input::Message { message: Message::Signal { count, .. }, .. } => {
                self.deficit = self.deficit.saturating_sub(count);
                self.settle(cx, out);
            }
            Input::Message { message: Message::Broken, .. } => self.give_up(out),
            Input::Message { from, message: Message::Hail { boot, lost }, .. } => {
                if let Some(known) = cx.roster.slot_of(from).and_then(|slot| self.boots.get_mut(slot)) {
                    *known = boot;
                }
                if lost {
                    self.give_up(out);
                }
            }
            Input::Fact(Fact::PeerDown(set) | Fact::PeerReset(set)) => {
                self.unhailed = self.unhailed.with(set);
                self.lost = self.lost.with(set);
                self.give_up(out);
            }
            Input::Message { from, message: message @ Message::Terminate { job, .. }, .. } => {
                if self.told != Some(message) {
                    self.told = Some(message);
                    out.notify(Notice::Terminated { by: from, job, waves: 0 });
                }
            }
            Input::Command(Command::Watch) => {
                if self.place == Place::Broken {
                    out.notify(Notice::Aborted { why: Why::Lost });
                }
            }
            // The root watches anyway, without waiting for anything.
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
        self.unhailed = NodeSet::first(N);
    }

    fn sent(&mut self, to: NodeSet) {
        self.deficit = self.deficit.saturating_add(to.len());
    }

    fn heard(&mut self, from: Option<usize>) {
        let Some(slot) = from else { return };
        match self.place {
            Place::Outside => self.place = Place::Child(slot),
            Place::Root | Place::Child(_) => self.owe(slot),
            Place::Broken => self.warn = self.warn.with(NodeSet::slot(slot)),
        }
    }

    fn observe(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Out) {
        self.activity = activity;
        if activity.busy && self.place == Place::Outside {
            self.place = Place::Root;
        }
        self.settle(cx, out);
    }

    fn speak(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let strangers = self.unhailed.and(cx.up);
        if !strangers.is_empty() {
            let unlucky = strangers.and(self.lost);
            let (to, lost) = if unlucky.is_empty() { (strangers, false) } else { (unlucky, true) };
            (self.unhailed, self.lost) = (self.unhailed.without(to), self.lost.without(to));
            out.send(to, Message::Hail { boot: self.incarnation, lost });
            return true;
        }
        if !self.warn.is_empty() {
            out.send(core::mem::take(&mut self.warn), Message::Broken);
            return true;
        }
        let creditor = |(_, owed): &(usize, &mut u32)| **owed > 0;
        if let Some((slot, owed)) = self.owed.iter_mut().enumerate().find(creditor) {
            let count = core::mem::take(owed);
            let boot = self.boots.get(slot).copied().unwrap_or(0);
            out.send(NodeSet::slot(slot), Message::Signal { boot, count });
            return true;
        }
        let Some(news) = self.news.take() else { return false };
        out.send(cx.peers, news);
        true
    }
}

impl<const N: usize> Default for DijkstraScholten<N> {
    fn default() -> Self {
        Self::new()
    }
}
