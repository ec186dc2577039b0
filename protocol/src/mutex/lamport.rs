//! Lamport's lock: everybody keeps the same queue of requests, and whoever is at its head enters.
//!
//! A request goes to all, and each writes it down and acknowledges it. Requests are ordered by Lamport stamp, and by name
//! where stamps are the same. A member enters when its own request is at the head of its own queue and it has heard from
//! everybody something stamped later than that: then no earlier request can still be on its way. On exit it tells all to
//! strike the request out.
//!
//! # Paper
//! L. Lamport: Time, Clocks, and the Ordering of Events in a Distributed System, CACM 21(7), 1978.
//!
//! # Assumes
//! Letters that arrive in order or not at all (the link's), clocks as in [`crate::mandate`], and stamps that no reboot sets
//! back. What keeps a crash from doing harm is in [`super::consent`]. In [`crate::mandate::Mode::Available`] nobody is ever
//! taken out of the view: the lock is as safe, and stands still while a member is down.
//!
//! # Messages
//! [`Word::Request`] to all others of the view, [`Message::Ack`] back at once, [`Message::Release`] to all at the end.
//! Beyond the paper: [`Word::Repeat`] after a long wait, to those who have not answered or come first;
//! [`Word::Outdated`] and [`Word::Full`]. [`Word::Try`] is a request by one that will not wait.
//!
//! # Cost
//! 3(n-1) letters for an entry and its exit, contended or not, while nobody waits for longer than
//! [`crate::Timing::lease`] or three quarters of the lease it asked for. Whoever waits for longer asks all again when it is
//! its turn: 2(n-1) more, and 2 for each that comes first, as often as the former time passes. Before entry one round
//! trip; between two holders one letter. Nobody holds an answer back, so everybody knows how many come first without asking.
//!
//! When a holder crashes the next is granted the lock as soon as both the lease has run out, 3 % later than it was given
//! for, and the view has changed (detection, and a heartbeat); then one round trip. The crash of any other member costs the
//! change of the view only, and a reboot [`crate::Timing::lock_lease`], 3 % longer, in which the member consents to nothing.
//!
//! # Departures
//! - Lecture notes wait for an acknowledgement of everybody; the paper for any message stamped later. Here it is any
//!   acknowledgement of this request stamped later than it. Another message orders requests as well, but promises nothing:
//!   its writer may never hear of the request, and would not wait for a holder that leaves the view.
//! - An acknowledgement says what its writer wants itself. The paper reads that from the order of letters, but letters to a
//!   member that is thought to be down are given up.
//! - Every acknowledgement is a lease.

use super::claims::{Claim, Task};
use super::consent::{Consent, Heard, Poll, Turn, Turns, Word, rank};
use super::{Claims, Command, Fence, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::Stamp;
use crate::group::{NodeId, NodeSet};
use crate::time::Instant;

mod message;

pub use message::{Locks, Message};

/// Lamport's lock, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lamport {
    consent: Consent,
}

type Out = Outbox<Message, Notice>;

impl Lamport {
    /// A member that wants nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The queue for `lock` as this member knows it, first come first.
    pub fn queue<'a>(&'a self, cx: &'a Context<'_>, lock: LockId) -> impl Iterator<Item = (Stamp, NodeId)> + 'a {
        let own = self.consent.claims.get(lock).map(|claim| rank(cx, claim));
        let next = move |last: Option<(Stamp, NodeId)>| {
            let all = self.consent.rivals(cx, lock).map(|heard| heard.rank(cx)).chain(own);
            all.filter_map(|(stamp, name)| Some((stamp, name?))).filter(|&rank| Some(rank) > last).min()
        };
        core::iter::successors(next(None), move |&last| next(Some(last)))
    }

    fn command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out) {
        match self.consent.claims.command(cx, command, out) {
            Some(Task::Ask(claim)) => self.consent.ask(cx, &claim),
            Some(Task::Renew(claim, renewal)) => self.consent.renew(cx, &claim, renewal),
            Some(Task::Release(claim) | Task::Cancel(claim)) => self.withdraw(cx, &claim, out),
            None => {} // refused
        }
    }

    /// Has all others strike a request out.
    fn withdraw(&mut self, cx: &Context<'_>, claim: &Claim, out: &mut Out) {
        self.consent.end(cx, claim.lock);
        let mut locks = Locks::new();
        let _ = locks.push(claim.lock); // there is room for one
        out.send(cx.view.and(cx.up), Message::Release { locks });
    }

    /// The same for all claims that ended by themselves.
    fn expire(&mut self, cx: &Context<'_>, out: &mut Out) {
        let mut locks = Locks::new();
        while let Some(lost) = self.consent.expire(cx, out) {
            let _ = locks.push(lost.lock); // there is room for all
        }
        if !locks.is_empty() {
            out.send(cx.view.and(cx.up), Message::Release { locks });
        }
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, stamp: Stamp, message: Message, out: &mut Out) {
        match message {
            Message::Word(Word::Request(ask) | Word::Try(ask) | Word::Repeat(ask)) => {
                self.consent.hear(cx, from, ask, out);
            }
            Message::Word(Word::Outdated { lock, turn }) => self.consent.outdated(cx, lock, turn),
            Message::Word(Word::Full { lock, turn }) => {
                if let Some(claim) = self.consent.asked(lock, turn) {
                    self.consent.claims.refuse(lock, claim.request, Refusal::Full, out);
                    self.withdraw(cx, &claim, out);
                }
            }
            Message::Ack { lock, mine, turns } => self.hear_ack(cx, (from, stamp), lock, mine, &turns),
            Message::Release { locks } => {
                for &lock in &locks {
                    self.consent.forget(lock, cx.roster.set_of(from));
                }
            }
        }
    }

    fn hear_ack(
        &mut self,
        cx: &Context<'_>,
        (from, stamp): (NodeId, Stamp),
        lock: LockId,
        mine: Option<Stamp>,
        turns: &Turns,
    ) {
        let noted = self.consent.note(cx, from, lock, mine);
        let later = self.consent.poll(lock).is_some_and(|poll| stamp > poll.request);
        if noted && later {
            self.consent.count(cx, from, lock, turns);
        }
    }

    /// Whether a claim is at the head of the queue.
    fn turn(consent: &Consent, cx: &Context<'_>, claim: &Claim) -> Turn {
        let first = consent.rivals(cx, claim.lock).filter(|heard| heard.rank(cx) < rank(cx, claim)).count();
        if first == 0 { Turn::Mine } else { Turn::After(u8::try_from(first).unwrap_or(u8::MAX)) }
    }

    /// Who comes before this node's own request.
    fn ahead(consent: &Consent, cx: &Context<'_>, poll: &Poll) -> NodeSet {
        let mine = (poll.request, Some(cx.me));
        let first = consent.rivals(cx, poll.lock).filter(|heard| heard.rank(cx) < mine);
        first.fold(NodeSet::EMPTY, |set, heard| set.with(heard.from()))
    }

    /// Acknowledges every request there is.
    fn acknowledge(&mut self, cx: &Context<'_>, out: &mut Out) {
        let all = |_: &Claims, _: &Heard| true;
        self.consent.give_all(cx, out, all, |claims, lock, turns| {
            let mine = claims.get(lock).map(|claim| claim.request);
            Message::Ack { lock, mine, turns }
        });
    }
}

impl Algorithm for Lamport {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        self.expire(cx, out);
        self.consent.look(cx);
        match input {
            Input::Message { from, stamp, message } => self.hear(cx, from, stamp, message, out),
            Input::Command(command) => self.command(cx, command, out),
            Input::Fact(Fact::PeerReset(set)) => self.consent.reset(cx, set),
            Input::Fact(Fact::PeerUp(set)) => self.consent.hurry(cx, set),
            // A suspicion is no reason to enter; who leads and the way there do not matter; the view was looked at; what is
            // due is due.
            Input::Fact(Fact::PeerDown(_) | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) | Fact::View)
            | Input::Timeout => {}
        }
        if let Some(tried) = self.consent.enter(cx, out, |consent, claim| Self::turn(consent, cx, claim)) {
            self.withdraw(cx, &tried, out);
        }
        self.acknowledge(cx, out);
        if let Some(tried) =
            self.consent.inquire(cx, cx.timing.lease(), out, |consent, poll| Self::ahead(consent, cx, poll))
        {
            self.withdraw(cx, &tried, out);
        }
        self.consent.review(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.consent.deadline()
    }
}

impl Mutex for Lamport {
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
