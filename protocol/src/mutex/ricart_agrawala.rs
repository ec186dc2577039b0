//! The lock of Ricart and Agrawala: whoever wants it asks everybody, and enters when all have answered.
//!
//! A member that is asked answers at once, unless it holds the lock or asked for it before: then it answers when it is
//! done. "Before" is by Lamport stamp, and by name where stamps are the same, so that of any two members exactly one waits
//! for the other.
//!
//! # Paper
//! G. Ricart, A. Agrawala: An Optimal Algorithm for Mutual Exclusion in Computer Networks, CACM 24(1), 1981.
//!
//! # Assumes
//! Letters that arrive in order or not at all (the link's), clocks as in [`crate::mandate`], and stamps that no reboot sets
//! back. What keeps a crash from doing harm is in [`super::consent`]. In [`crate::mandate::Mode::Available`] nobody is ever
//! taken out of the view: the lock is as safe, and stands still while a member is down.
//!
//! # Messages
//! [`Word::Request`] to all others of the view, [`Message::Reply`] back, at once or at the end. Beyond the paper:
//! [`Word::Try`] and [`Message::Busy`] for those who do not want to wait; [`Word::Repeat`] after a long silence, answered
//! with [`Message::Deferred`] where it has to go on, so that silence means failure; [`Message::Cancel`];
//! [`Word::Outdated`] and [`Word::Full`].
//!
//! # Cost
//! 2(n-1) letters for an entry and its exit, contended or not, while nobody waits for longer than three quarters of a
//! heartbeat; an exit writes only answers that were still owed. Whoever waits for longer writes and is written 2 more for
//! each it waits for, then and once every [`crate::Timing::lease`]; and when it is its turn but its consents have run out,
//! or almost, 2(n-1) once more. Before entry one round trip; between two holders one letter.
//!
//! When a holder crashes the next is granted the lock as soon as both the lease has run out, 3 % later than it was given
//! for, and the view has changed (detection, and a heartbeat); then one round trip. The crash of any other member costs the
//! change of the view only, and a reboot [`crate::Timing::lock_lease`], 3 % longer, in which the member consents to nothing.
//!
//! # Departures
//! - An answer names the question it is for: one to an earlier question would admit two.
//! - Every answer is a lease. Answers given at the end go to all who waited in one letter.
//! - There are no messages to oneself, and none of release: lecture notes count both in places.

use super::claims::{Claim, Phase, Task};
use super::consent::{Ask, Consent, Heard, Turn, Word, rank};
use super::{Claims, Command, Fence, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::Stamp;
use crate::group::{NodeId, NodeSet};
use crate::time::Instant;

mod message;

pub use message::Message;

/// The lock of Ricart and Agrawala, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    consent: Consent,
}

type Out = Outbox<Message, Notice>;

impl RicartAgrawala {
    /// A member that wants nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out) {
        match self.consent.claims.command(cx, command, out) {
            Some(Task::Ask(claim)) => self.consent.ask(cx, &claim),
            Some(Task::Renew(claim, renewal)) => self.consent.renew(cx, &claim, renewal),
            Some(Task::Release(claim) | Task::Cancel(claim)) => self.withdraw(cx, &claim, out),
            None => {} // refused
        }
    }

    /// Wants this no more: whoever keeps the request can strike it out.
    fn withdraw(&mut self, cx: &Context<'_>, claim: &Claim, out: &mut Out) {
        let waiting = self.consent.end(cx, claim.lock);
        out.send(waiting, Message::Cancel { lock: claim.lock });
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Word(word) => self.hear_word(cx, from, word, out),
            Message::Reply { lock, turns } => self.consent.count(cx, from, lock, &turns),
            Message::Deferred { lock, turn } => {
                let missing = self.consent.poll(lock).map_or(NodeSet::EMPTY, |poll| poll.missing(cx));
                if let Some(claim) = self.consent.asked(lock, turn) {
                    let first = u8::try_from(missing.len()).unwrap_or(u8::MAX);
                    self.consent.claims.wait(lock, claim.request, first, out);
                }
            }
            Message::Busy { lock, turn } => self.refuse(cx, lock, turn, Refusal::Busy, out),
            Message::Cancel { lock } => self.consent.forget(lock, cx.roster.set_of(from)),
        }
    }

    fn hear_word(&mut self, cx: &Context<'_>, from: NodeId, word: Word, out: &mut Out) {
        match word {
            Word::Request(ask) => {
                self.consider(cx, from, ask, out);
            }
            Word::Try(ask) => {
                if self.consider(cx, from, ask, out) {
                    self.consent.forget(ask.lock, cx.roster.set_of(from));
                    out.send(cx.roster.set_of(from), Message::Busy { lock: ask.lock, turn: ask.turn });
                }
            }
            Word::Repeat(ask) => {
                if self.consider(cx, from, ask, out) {
                    out.send(cx.roster.set_of(from), Message::Deferred { lock: ask.lock, turn: ask.turn });
                }
            }
            Word::Outdated { lock, turn } => self.consent.outdated(cx, lock, turn),
            Word::Full { lock, turn } => self.refuse(cx, lock, turn, Refusal::Full, out),
        }
    }

    /// Answers a request, or keeps it. Whether it keeps it.
    fn consider(&mut self, cx: &Context<'_>, from: NodeId, ask: Ask, out: &mut Out) -> bool {
        let kept = self.consent.hear(cx, from, ask, out);
        self.answer(cx, out);
        kept && self.consent.owes(ask.lock, cx.roster.set_of(from))
    }

    /// Somebody will not consent to this question.
    fn refuse(&mut self, cx: &Context<'_>, lock: LockId, turn: u8, why: Refusal, out: &mut Out) {
        if let Some(claim) = self.consent.asked(lock, turn) {
            self.consent.claims.refuse(lock, claim.request, why, out);
            self.withdraw(cx, &claim, out);
        }
    }

    /// Consents to everything that does not come after what this node wants or holds itself.
    fn answer(&mut self, cx: &Context<'_>, out: &mut Out) {
        let ready = |claims: &Claims, heard: &Heard| {
            claims.get(heard.lock).is_none_or(|own| match own.phase {
                Phase::Held { .. } => false,
                Phase::Waiting { .. } => heard.rank(cx) < rank(cx, own),
            })
        };
        self.consent.give_all(cx, out, ready, |_, lock, turns| Message::Reply { lock, turns });
        self.consent.forget_answered();
    }
}

impl Algorithm for RicartAgrawala {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        while self.consent.expire(cx, out).is_some() {}
        self.consent.look(cx);
        match input {
            Input::Message { from, message, .. } => self.hear(cx, from, message, out),
            Input::Command(command) => self.command(cx, command, out),
            Input::Fact(Fact::PeerReset(set)) => self.consent.reset(cx, set),
            Input::Fact(Fact::PeerUp(set)) => self.consent.hurry(cx, set),
            // A suspicion is no reason to enter; who leads and the way there do not matter; the view was looked at; what is
            // due is due.
            Input::Fact(Fact::PeerDown(_) | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) | Fact::View)
            | Input::Timeout => {}
        }
        // With everybody's consent it is this node's turn: whoever comes first would not have given it.
        self.consent.enter(cx, out, |_, _| Turn::Mine);
        self.answer(cx, out);
        let patience = cx.timing.heartbeat.share(3, 4);
        if let Some(tried) = self.consent.inquire(cx, patience, out, |_, _| NodeSet::EMPTY) {
            self.withdraw(cx, &tried, out);
            self.answer(cx, out);
        }
        self.consent.review(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.consent.deadline()
    }
}

impl Mutex for RicartAgrawala {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.consent.claims.holds(lock, now)
    }

    fn resume(&mut self, stamp: Stamp) {
        self.consent.resume(stamp);
    }

    fn floor(&self) -> Stamp {
        self.consent.floor()
    }
}
