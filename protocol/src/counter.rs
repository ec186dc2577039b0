//! A counter that all share, behind a fence: the smallest thing a lock can protect.
//!
//! One member keeps it, the first of the group. Whoever holds the lock asks the keeper to count one up under the fence of
//! its grant, and is told what the counter then says. The keeper counts every fence once, however often it is asked, and
//! refuses whoever comes with an older one than it has seen. So the counter says how many grants were used, and nobody
//! can use one twice, or after a later holder.
//!
//! # Assumes
//! A keeper that does not restart: the counter is in its memory.
//!
//! # Messages
//! [`Message::Add`] to the keeper, [`Message::Sum`] or [`Message::Outdated`] back.
//!
//! # Cost
//! Two letters a count; none for the keeper's own.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::group::{NodeId, NodeSet};
use crate::mutex::{Fence, FencedResource, Outdated};
use crate::time::Instant;
use crate::upper::{Told, Upper};
use crate::wire::{self, Delivery, Kind};
use heapless::Deque;
use serde::{Deserialize, Serialize};

/// How many answers the keeper may have to write. One more is not written: whoever asked asks again when it is up again.
const ANSWERS_MAX: usize = 16;

/// What keeper and holders say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Count one up.
    Add {
        /// Under this fence.
        fence: Fence,
    },
    /// It was counted.
    Sum {
        /// Under this fence.
        fence: Fence,
        /// What the counter said then.
        total: u32,
    },
    /// It was not counted: a later holder was here.
    Outdated {
        /// The fence it was asked under.
        fence: Fence,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Counter
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Sum { .. } => "sum",
            Self::Outdated { .. } => "outdated",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Counter { wire::decode(body) } else { None }
    }
}

/// What the application asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Count one up under this fence. What was asked before and not answered yet is forgotten.
    Add {
        /// The fence of the grant.
        fence: Fence,
    },
}

/// What the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// It was counted.
    Counted {
        /// Under this fence.
        fence: Fence,
        /// What the counter said then.
        total: u32,
    },
    /// It was not counted: a later holder was here.
    Outdated {
        /// The fence it was asked under.
        fence: Fence,
    },
}

/// A node that counts.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    asked: Option<Asked>,
    shelf: Shelf,
    answers: Deque<(NodeId, Message), ANSWERS_MAX>,
    told: Told<Notice>,
}

/// What was asked of the keeper.
#[derive(Clone, Copy, Debug)]
struct Asked {
    fence: Fence,
    written: bool,
}

/// The counter itself, where it is kept.
#[derive(Clone, Copy, Debug)]
struct Shelf {
    counter: FencedResource<u32>,
    /// The last fence that was counted.
    last: Fence,
}

impl Default for Shelf {
    fn default() -> Self {
        Self { counter: FencedResource::new(0), last: Fence::ZERO }
    }
}

impl Shelf {
    fn add(&mut self, fence: Fence) -> Message {
        match self.counter.access(fence) {
            Ok(total) => {
                if fence != self.last {
                    *total = total.saturating_add(1);
                    self.last = fence;
                }
                Message::Sum { fence, total: *total }
            }
            Err(Outdated { .. }) => Message::Outdated { fence },
        }
    }
}

impl Counter {
    /// A node that has counted nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the counter says, at its keeper.
    #[must_use]
    pub const fn total(&self) -> u32 {
        *self.shelf.counter.peek()
    }

    fn hear(&mut self, from: NodeId, message: Message) {
        match message {
            Message::Add { fence } => {
                let answer = self.shelf.add(fence);
                let _ = self.answers.push_back((from, answer));
            }
            Message::Sum { fence, total } => self.conclude(fence, Notice::Counted { fence, total }),
            Message::Outdated { fence } => self.conclude(fence, Notice::Outdated { fence }),
        }
    }

    /// The answer has come, if it is the one waited for.
    fn conclude(&mut self, fence: Fence, notice: Notice) {
        if self.asked.is_some_and(|asked| asked.fence == fence) {
            self.asked = None;
            let _ = self.told.push_back(notice);
        }
    }
}

fn keeper(cx: &Context<'_>) -> NodeSet {
    cx.roster.all().slots().next().map_or(NodeSet::EMPTY, NodeSet::slot)
}

impl Algorithm for Counter {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, _: &mut Outbox<Message, Notice>) {
        match input {
            Input::Message { from, message, .. } => self.hear(from, message),
            Input::Command(Command::Add { fence }) => {
                self.asked = Some(Asked { fence, written: false });
                if keeper(cx).meets(cx.roster.set_of(cx.me)) {
                    let answer = self.shelf.add(fence);
                    self.hear(cx.me, answer);
                }
            }
            Input::Fact(Fact::PeerUp(set) | Fact::PeerDown(set) | Fact::PeerReset(set)) => {
                // What it was told may have been given up.
                if let Some(asked) = self.asked.as_mut().filter(|_| keeper(cx).meets(set)) {
                    asked.written = false;
                }
            }
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) | Input::Timeout => {} // nothing waits for them
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Upper for Counter {
    fn told(&mut self) -> Option<&mut Told<Notice>> {
        Some(&mut self.told)
    }

    fn speak(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) -> bool {
        if let Some((to, answer)) = self.answers.pop_front() {
            out.send(cx.roster.set_of(to), answer);
            return true;
        }
        let to = keeper(cx).and(cx.up);
        match &mut self.asked {
            Some(Asked { fence, written: written @ false }) if !to.is_empty() => {
                *written = true;
                out.send(to, Message::Add { fence: *fence });
                true
            }
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests;
