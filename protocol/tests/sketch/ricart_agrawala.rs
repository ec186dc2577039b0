//! The Ricart-Agrawala lock: a member enters when every other has let it.
//!
//! A member that wants the lock asks all others at once. Whoever neither wants nor holds it lets the asker; whoever
//! holds it, or asked earlier, answers when it leaves.
//!
//! # Paper
//! G. Ricart, A. K. Agrawala: An Optimal Algorithm for Mutual Exclusion in Computer Networks, Communications of the
//! ACM 24(1), 1981.
//!
//! # Assumes
//! Reliable channels (the link's), and that no member fails: one that is down is waited for until it is back.
//!
//! # Messages
//! [`Message::Request`], stamped by the packet that carries it; [`Message::Reply`].
//!
//! # Cost
//! 2(n-1) messages per entry; one message from a member that leaves to the next that enters.
//!
//! # Departures
//! - A Reply names the request it answers, so that it counts for no other. One that answers several names the latest:
//!   a member that has seen stamp t and lets others ask first asks under a stamp above t, so it lets every request up
//!   to t pass.
//! - Those who still have to answer are a set, not a count: a repeated Reply counts once.

use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::clock::Stamp;
use protocol::mutex::Mutex;
use protocol::wire::{self, Delivery, Kind};
use protocol::{Instant, NodeId, NodeSet};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// May I?
    Request,
    /// Whoever asked up to this stamp may, as far as I am concerned.
    Reply { to: Stamp },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::RicartAgrawala
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Reply { .. } => "reply",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        postcard::to_slice(self, buffer).ok().map(|written| written.len())
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        let (message, rest) = postcard::take_from_bytes(body).ok()?;
        (kind == Kind::RicartAgrawala && rest.is_empty()).then_some(message)
    }
}

/// What the application asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Enter,
    Leave,
}

/// What the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The lock is held, by the request of this stamp.
    Entered { stamp: Stamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Released,
    /// Asked, and not let by these yet.
    Wanted {
        stamp: Stamp,
        missing: NodeSet,
    },
    Held,
}

/// Those who are answered on leaving, and the latest stamp they asked under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Deferred {
    set: NodeSet,
    latest: Stamp,
}

/// The Ricart-Agrawala lock of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RicartAgrawala {
    phase: Phase,
    deferred: Deferred,
}

impl RicartAgrawala {
    pub fn new() -> Self {
        Self { phase: Phase::Released, deferred: Deferred::default() }
    }

    fn asked(&mut self, cx: &Context<'_>, from: NodeId, stamp: Stamp, out: &mut Outbox<Message, Notice>) {
        let first = match self.phase {
            Phase::Released => false,
            Phase::Wanted { stamp: mine, .. } => (mine, cx.me) < (stamp, from),
            Phase::Held => true,
        };
        if first {
            let Deferred { set, latest } = self.deferred;
            self.deferred = Deferred { set: set.with(cx.roster.set_of(from)), latest: latest.max(stamp) };
        } else {
            out.send(cx.roster.set_of(from), Message::Reply { to: stamp });
        }
    }

    /// Enters if nobody is missing any more.
    fn wait_for(&mut self, stamp: Stamp, missing: NodeSet, out: &mut Outbox<Message, Notice>) {
        if missing.is_empty() {
            self.phase = Phase::Held;
            out.notify(Notice::Entered { stamp });
        } else {
            self.phase = Phase::Wanted { stamp, missing };
        }
    }
}

impl Algorithm for RicartAgrawala {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        match (input, self.phase) {
            (Input::Message { from, stamp, message: Message::Request }, _) => self.asked(cx, from, stamp, out),
            (Input::Message { from, message: Message::Reply { to }, .. }, Phase::Wanted { stamp, missing })
                if to >= stamp =>
            {
                self.wait_for(stamp, missing.without(cx.roster.set_of(from)), out);
            }
            (Input::Command(Command::Enter), Phase::Released) => {
                out.send(cx.peers, Message::Request);
                self.wait_for(cx.stamp, cx.peers, out);
            }
            (Input::Command(Command::Leave), Phase::Held) => {
                let Deferred { set, latest } = core::mem::take(&mut self.deferred);
                self.phase = Phase::Released;
                out.send(set, Message::Reply { to: latest });
            }
            // The answer to a request that is over; already so; whoever is down is waited for: entering on a suspicion
            // is not safe; nothing waits for the clock.
            (Input::Message { .. } | Input::Command(_) | Input::Fact(_) | Input::Timeout, _) => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Mutex for RicartAgrawala {}
