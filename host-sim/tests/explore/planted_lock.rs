//! A lock with a planted bug, around the unchanged one: it alters the inputs of the lock, its messages and its notices.

use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output, Scope};
use protocol::base::lamport::LamportTime;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::Payload;
use protocol::{Duration, Instant, NodeSet};
use std::hash::{Hash, Hasher};

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// None.
    None,
    /// A message of this name is never sent.
    NotSent(&'static str),
    /// A message of this name is ignored where it arrives.
    Ignored(&'static str),
    /// A message of this name goes to every member.
    SentToAll(&'static str),
    /// The reboot of a peer changes nothing.
    ResetIgnored,
    /// A peer that is back is not sent again what still matters.
    ReturnIgnored,
    /// The Lamport time of a message is lost.
    TimeLost,
    /// Every request has the same Lamport time.
    ClockStopped,
    /// Nobody but the node itself counts.
    ViewOfOne,
    /// A node that has just started takes part as if it had been up for long.
    NoQuarantine,
    /// A grantor counts leases from too early: they end at the grantor first.
    GrantorAhead,
    /// A holder asks about the past: its lease lasts longer than its grantor's.
    HolderBehind,
    /// Every grant has the same fence.
    FenceConstant,
    /// The application is not notified of a grant.
    GrantNotNotified,
    /// The application is notified of a grant twice.
    GrantNotifiedTwice,
    /// The end of a lease is not notified.
    LossNotNotified,
    /// A refusal is given for a grant.
    GrantRefused,
}

/// A lock with a bug. The bug is no part of its state.
#[derive(Clone, Debug)]
pub(crate) struct Planted<L> {
    pub(crate) lock: L,
    pub(crate) bug: Bug,
}

impl<L: PartialEq> PartialEq for Planted<L> {
    fn eq(&self, other: &Self) -> bool {
        self.lock == other.lock
    }
}

impl<L: Eq> Eq for Planted<L> {}

impl<L: Hash> Hash for Planted<L> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.lock.hash(state);
    }
}

/// How far a wrong clock is wrong: as far as time advances in a search.
const WRONG: Duration = Duration::from_secs(6);

impl<L: Mutex> Planted<L> {
    /// The input that the lock gets instead of `input`; none, where the bug swallows it.
    fn input(&self, input: Input<L::Message, Command>) -> Option<Input<L::Message, Command>> {
        let ignored = match (&input, self.bug) {
            (Input::Message { message, .. }, Bug::Ignored(name)) => message.name() == name,
            (Input::Fact(Fact::PeerReset(_)), Bug::ResetIgnored)
            | (Input::Fact(Fact::PeerUp(_)), Bug::ReturnIgnored) => true,
            _ => false,
        };
        if ignored {
            return None;
        }
        Some(match input {
            Input::Message { from, message, .. } if self.bug == Bug::TimeLost => {
                Input::Message { from, sent_at: LamportTime(0), message }
            }
            input => input,
        })
    }

    fn context<'a>(&self, cx: &Context<'a>) -> Context<'a> {
        match self.bug {
            Bug::ClockStopped => Context { lamport: LamportTime(1), ..*cx },
            Bug::ViewOfOne => Context { view: cx.roster.set_of(cx.me), ..*cx },
            Bug::NoQuarantine => Context { uptime: Duration::from_secs(600), ..*cx },
            Bug::GrantorAhead => Context { now: cx.now.after(WRONG), ..*cx },
            _ => *cx,
        }
    }
}

impl<L: Mutex<Message: Clone>> Algorithm for Planted<L> {
    type Message = L::Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        self.lock.scope()
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<L::Message, Command>, out: &mut Outbox<L::Message, Notice>) {
        // An input that is swallowed is a timeout that comes early, which changes nothing.
        let input = self.input(input).unwrap_or(Input::Timeout);
        let mut own = Outbox::new();
        self.lock.handle(&self.context(cx), input, &mut own);
        if own.overflowed() {
            out.overflow();
        }
        for output in own {
            match (output, self.bug) {
                (Output::Send { message, .. }, Bug::NotSent(name)) if message.name() == name => {}
                (Output::Send { message, .. }, Bug::SentToAll(name)) if message.name() == name => {
                    out.send(cx.peers, message);
                }
                (Output::Send { to, message }, _) => out.send(to, message),
                (Output::Notify(Notice::Acquired { .. }), Bug::GrantNotNotified)
                | (Output::Notify(Notice::Lost { .. }), Bug::LossNotNotified) => {}
                (Output::Notify(Notice::Acquired { lock, .. }), Bug::GrantRefused) => {
                    out.notify(Notice::Refused { lock, reason: protocol::mutex::Refusal::Full });
                }
                (Output::Notify(notice @ Notice::Acquired { .. }), Bug::GrantNotifiedTwice) => {
                    out.notify(notice);
                    out.notify(notice);
                }
                (Output::Notify(notice), _) => out.notify(notice),
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.lock.deadline()
    }
}

impl<L: Mutex<Message: Clone>> Mutex for Planted<L> {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        let moment = match self.bug {
            Bug::HolderBehind => Instant::from_micros(now.as_micros().saturating_sub(WRONG.as_micros().into())),
            _ => now,
        };
        let fence = self.lock.holds(lock, moment)?;
        Some(if self.bug == Bug::FenceConstant { Fence::ZERO } else { fence })
    }

    fn supports(&self, group: NodeSet) -> bool {
        self.lock.supports(group)
    }

    fn resume(&mut self, floor: LamportTime) {
        self.lock.resume(floor);
    }

    fn floor(&self) -> LamportTime {
        self.lock.floor()
    }
}
