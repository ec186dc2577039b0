//! Locks with known faults, to see that the search finds them.

use protocol::NodeSet;
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::clock::{Stamp, Term};
use protocol::mutex::claims::{Claims, Granted, Phase, Task};
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::{self, Delivery, Kind};
use protocol::{Instant, NodeId};
use serde::{Deserialize, Serialize};

/// How a toy differs from the lock of Ricart and Agrawala as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Manner {
    /// Not at all, on a network that keeps its promise or repeats things.
    Named,
    /// As in the textbooks: a reply does not say to which request.
    Textbook,
    /// Whoever gives the lock back answers one of those who wait, and forgets the others.
    Forgetful,
    /// Whoever gives the lock back answers nobody until it asks again.
    Lazy,
}

/// Ricart and Agrawala's lock in a few lines: one lock, no leases, no suspicions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Toy {
    manner: Manner,
    claims: Claims,
    /// Who has replied to the request that waits.
    replied: NodeSet,
    /// Who waits for a reply, and to which request.
    deferred: Vec<(NodeId, Stamp)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Said {
    Request(LockId, Stamp),
    Reply(LockId, Stamp),
}

impl Toy {
    pub(crate) fn new(manner: Manner) -> Self {
        Self { manner, claims: Claims::new(), replied: NodeSet::EMPTY, deferred: Vec::new() }
    }

    fn answer(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Outbox<Said, Notice>) {
        for (id, request) in std::mem::take(&mut self.deferred) {
            out.send(cx.roster.set_of(id), Said::Reply(lock, request));
            if self.manner == Manner::Forgetful {
                break;
            }
        }
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, said: Said, out: &mut Outbox<Said, Notice>) {
        match said {
            Said::Request(lock, stamp) => {
                let first = self.claims.get(lock).is_some_and(|claim| match claim.phase {
                    Phase::Held { .. } => true,
                    Phase::Waiting { .. } => (claim.request, cx.me) < (stamp, from),
                });
                if first {
                    self.deferred.push((from, stamp));
                } else {
                    out.send(cx.roster.set_of(from), Said::Reply(lock, stamp));
                }
            }
            Said::Reply(lock, stamp) => {
                let Some(claim) = self.claims.get(lock).copied() else { return };
                if self.manner != Manner::Textbook && claim.request != stamp {
                    return;
                }
                self.replied = self.replied.with(cx.roster.set_of(from));
                if self.replied == cx.peers && matches!(claim.phase, Phase::Waiting { .. }) {
                    let slot = cx.roster.slot_of(cx.me).expect("a member") as u64;
                    let fence = Fence { term: Term::ZERO, count: Stamp(claim.request.0 * 64 + slot) };
                    let until = cx.now.after(claim.lease);
                    self.claims.grant(cx, Granted { lock, request: claim.request, fence, until }, out);
                }
            }
        }
    }
}

impl Algorithm for Toy {
    type Message = Said;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Said, Command>, out: &mut Outbox<Said, Notice>) {
        match input {
            Input::Message { from, message, .. } => self.hear(cx, from, message, out),
            Input::Command(command) => match self.claims.command(cx, command, out) {
                Some(Task::Ask(claim)) => {
                    self.answer(cx, claim.lock, out);
                    self.replied = NodeSet::EMPTY;
                    out.send(cx.peers, Said::Request(claim.lock, claim.request));
                }
                Some(Task::Release(claim) | Task::Cancel(claim)) if self.manner != Manner::Lazy => {
                    self.answer(cx, claim.lock, out);
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

impl Mutex for Toy {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.claims.holds(lock, now)
    }
}

impl wire::Message for Said {
    fn kind(&self) -> Kind {
        Kind::RicartAgrawala
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Request(..) => "request",
            Self::Reply(..) => "reply",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        postcard::to_slice(self, buffer).ok().map(|bytes| bytes.len())
    }

    fn decode(_: Kind, body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }
}
