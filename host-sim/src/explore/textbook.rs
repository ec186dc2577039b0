//! The lock of Ricart and Agrawala in a few lines, correct or with a fault that the search must find.
//!
//! `conclave check textbook` shows the fault of the textbooks' form: its replies do not name their request.

use protocol::NodeSet;
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::mutex::client::{ClientAction, Granted, LockClient, Phase};
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice, RicartAgrawala};
use protocol::wire::{self, Delivery, Kind, Kinded};
use protocol::{Instant, NodeId};
use serde::{Deserialize, Serialize};

/// How a lock differs from that of Ricart and Agrawala.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Not at all: a reply names its request.
    None,
    /// As in the textbooks, a reply does not name its request.
    Textbook,
    /// A node that releases replies to one waiting node, and forgets the others.
    Forgetful,
    /// A node that releases replies to nobody until it asks again.
    Lazy,
}

/// Ricart and Agrawala's lock in a few lines: one lock, no leases, no suspicions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Textbook {
    fault: Fault,
    client: LockClient,
    /// Peers that have replied to the open request.
    replied: NodeSet,
    /// Requests that wait for a reply.
    deferred: Vec<(NodeId, LamportTime)>,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// A request of this time.
    Request(LockId, LamportTime),
    /// The permission for the request of this time.
    Reply(LockId, LamportTime),
}

impl Textbook {
    /// A lock with this fault.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self { fault, client: LockClient::default(), replied: NodeSet::EMPTY, deferred: Vec::new() }
    }

    fn reply(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Outbox<Message, Notice>) {
        for (id, request) in std::mem::take(&mut self.deferred) {
            out.send(cx.roster.set_of(id), Message::Reply(lock, request));
            if self.fault == Fault::Forgetful {
                break;
            }
        }
    }

    fn receive(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Outbox<Message, Notice>) {
        match message {
            Message::Request(lock, time) => {
                let first = self.client.get(lock).is_some_and(|request| match request.phase {
                    Phase::Held { .. } => true,
                    Phase::Waiting { .. } => (request.number, cx.me) < (time, from),
                });
                if first {
                    self.deferred.push((from, time));
                } else {
                    out.send(cx.roster.set_of(from), Message::Reply(lock, time));
                }
            }
            Message::Reply(lock, time) => {
                let Some(request) = self.client.get(lock).copied() else { return };
                if self.fault != Fault::Textbook && request.number != time {
                    return;
                }
                self.replied = self.replied.with(cx.roster.set_of(from));
                if self.replied == cx.peers && matches!(request.phase, Phase::Waiting { .. }) {
                    let slot = cx.roster.slot_of(cx.me).expect("a member") as u64;
                    let fence = Fence { term: Term::ZERO, count: LamportTime(request.number.0 * 64 + slot) };
                    let until = cx.now.after(request.lease);
                    self.client.grant(cx, Granted { lock, request: request.number, fence, until }, out);
                }
            }
        }
    }
}

impl Algorithm for Textbook {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        match input {
            Input::Message { from, message, .. } => self.receive(cx, from, message, out),
            Input::Command(command) => match self.client.command(cx, command, out) {
                Some(ClientAction::Acquire(request)) => {
                    self.reply(cx, request.lock, out);
                    self.replied = NodeSet::EMPTY;
                    out.send(cx.peers, Message::Request(request.lock, request.number));
                }
                Some(ClientAction::Release(request) | ClientAction::Cancel(request)) if self.fault != Fault::Lazy => {
                    self.reply(cx, request.lock, out);
                }
                _ => {}
            },
            Input::Fact(_) | Input::Timeout => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Mutex for Textbook {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.client.holds(lock, now)
    }
}

impl Kinded for Message {
    const KIND: Kind = RicartAgrawala::KIND;
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Request(..) => "request",
            Self::Reply(..) => "reply",
        }
    }
}
