//! A central lock server: whoever leads the group grants its locks, each to one member at a time, in the order in which
//! they asked.
//!
//! A member asks the leader. If the lock is free it is granted at once; if not, the member is told that it waits, so that
//! silence means failure and never a long queue. When the holder gives the lock back, or its lease has run out, the next
//! one gets it. When another leads, everybody tells it what it holds and asks it anew.
//!
//! # Paper
//! None is the origin; every textbook describes it. Leases: C. Gray, D. Cheriton, SOSP 1989. A number with every
//! grant, and a pause after a holder failed: M. Burrows: The Chubby Lock Service, OSDI 2006.
//!
//! # Assumes
//! A leader in [`crate::mandate::Mode::Quorum`]: no two grant at the same instant. In [`crate::mandate::Mode::Available`]
//! two parts of the network have a server each, and each may grant the same lock; only the terms in the fences then tell
//! the shared thing who comes later. Clocks that differ in pace by no more than [`crate::config::granted`] allows for.
//!
//! # Messages
//! [`Message::Request`], [`Message::Grant`], [`Message::Release`]. [`Message::Waiting`] to whoever is queued,
//! [`Message::Refused`] to whoever is not. [`Message::Cancel`] by one that waits; [`Message::Renew`] and
//! [`Message::Renewed`] for a longer hold. [`Message::Follows`] from everybody to a new leader.
//!
//! # Cost
//! Three letters an entry and exit, four if the lock was taken; none where the leader itself asks. A change of leaders:
//! n-1 Follows, and one Request of each that waits.
//!
//! # Departures
//! - A grant ends by itself. The holder counts its lease short, from before it was granted; the leader counts it long. The
//!   margin between the two, 3 % either way, is all the delay before the lock is granted to the next: it covers clocks, and
//!   fences cover a holder that slept ([`super::Fence`]: the leader's term, and a count).
//! - The queue is not stored. A new leader grants nothing before the whole group has told it what it holds, or the longest
//!   lease has been waited out; then it begins a queue of those who ask again, in the order in which they do.
//! - What one held that started anew is waited out, and it is queued for the same lock like anybody else.
//! - Order is that of arrival, not of when it was asked. A member that was suspected to be down has lost its place.
//! - No letter is promised to arrive: whoever waits and hears nothing for a while asks anew, and keeps its place. A renewal
//!   that is not answered is not repeated: the application is warned in time, and may.

use super::claims::{Claim, Claims, Granted, Phase, Renewal, Task};
use super::docket::{Docket, Grant, Place, Want, remembers};
use super::{Command, Fence, LOCKS_MAX, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::Term;
use crate::config::usable;
use crate::group::NodeId;
use crate::time::{Instant, Span, sooner};

mod message;

pub use message::Message;

/// How many grants are told in one step; the next step goes on.
const GRANTS_MAX: usize = 3;

/// What this member is to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Role {
    /// Nobody leads, as far as is known.
    #[default]
    Alone,
    /// Another grants.
    Client {
        /// Who.
        server: NodeId,
        term: Term,
        /// When to ask again for whatever is waited for: the server may have forgotten one that it took to be down.
        again: Instant,
    },
    /// This one grants.
    Server,
}

/// The central lock of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Central {
    claims: Claims,
    role: Role,
    /// What it granted. One that loses its mandate and has it again under the same term goes on: nobody has granted
    /// anything meanwhile.
    docket: Docket,
}

type Out = Outbox<Message, Notice>;

impl Central {
    /// A command left this to do.
    fn task(&mut self, cx: &Context<'_>, task: Task, out: &mut Out) {
        match task {
            Task::Ask(claim) => self.ask(cx, claim, out),
            Task::Renew(claim, renewal) => self.renew(cx, claim, renewal, out),
            Task::Release(Claim { lock, request, .. }) => self.end(cx, Message::Release { lock, request }, out),
            Task::Cancel(Claim { lock, request, .. }) => self.end(cx, Message::Cancel { lock, request }, out),
        }
    }

    /// Asks whoever grants.
    fn ask(&mut self, cx: &Context<'_>, claim: Claim, out: &mut Out) {
        let Claim { lock, request, lease, .. } = claim;
        match &mut self.role {
            Role::Alone if is_tried(&claim) => self.claims.refuse(lock, request, Refusal::Busy, out),
            Role::Alone => {} // whoever leads next is asked
            Role::Client { server, again, .. } => {
                if !self.claims.iter().any(|other| other.lock != lock && is_waited_for(other)) {
                    *again = cx.now.after(cx.timing.lease());
                }
                let trying = is_tried(&claim);
                out.send(cx.roster.set_of(*server), Message::Request { lock, request, lease, trying });
            }
            Role::Server => self.serve(cx, Want { who: cx.me, lock, request, lease }, is_tried(&claim), out),
        }
    }

    fn renew(&mut self, cx: &Context<'_>, claim: Claim, renewal: Renewal, out: &mut Out) {
        let (Claim { lock, request, .. }, Renewal { number, asked, lease }) = (claim, renewal);
        match &mut self.role {
            Role::Alone => {} // nobody can agree
            Role::Client { server, .. } => {
                out.send(cx.roster.set_of(*server), Message::Renew { lock, request, number, lease });
            }
            Role::Server => {
                if self.docket.renew(cx.now, Want { who: cx.me, lock, request, lease }) {
                    self.claims.renewed(lock, number, asked.after(usable(lease)), out);
                } else {
                    self.claims.lose(lock, out);
                }
            }
        }
    }

    /// Tells whoever grants that a request is over.
    fn end(&mut self, cx: &Context<'_>, message: Message, out: &mut Out) {
        match self.role {
            Role::Client { server, .. } => out.send(cx.roster.set_of(server), message),
            Role::Alone | Role::Server => self.hear(cx, cx.me, message, out),
        }
    }

    /// Somebody leads.
    fn follow(&mut self, cx: &Context<'_>, leader: NodeId, term: Term, out: &mut Out) {
        if leader != cx.me {
            self.role = Role::Client { server: leader, term, again: cx.now };
            self.introduce(cx, out);
            return;
        }
        if core::mem::replace(&mut self.role, Role::Server) == Role::Server {
            self.docket.go_on(term);
            return;
        }
        if self.docket.term() != term {
            self.docket.begin(cx, term, &self.held());
        }
        self.ask_anew(cx, out);
    }

    /// Tells the leader what this member holds and waits for.
    fn introduce(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Role::Client { server, term, .. } = self.role else { return };
        let (holds, all) = (self.held(), remembers(cx));
        out.send(cx.roster.set_of(server), Message::Follows { term, holds, all });
        self.ask_anew(cx, out);
    }

    /// Everything that is waited for is asked for anew: a grant of an earlier request is none any more. A place in the queue
    /// is kept, and less of the time since it was asked for has to be given to the margin between clocks.
    fn ask_anew(&mut self, cx: &Context<'_>, out: &mut Out) {
        if let Role::Client { again, .. } = &mut self.role {
            *again = cx.now.after(cx.timing.lease());
        }
        for lock in self.locks(is_waited_for).into_iter().flatten() {
            if let Some(claim) = self.claims.again(cx, lock) {
                self.ask(cx, claim, out);
            }
        }
    }

    /// What this member holds.
    fn held(&self) -> [Option<LockId>; LOCKS_MAX] {
        self.locks(|claim| !is_waited_for(claim))
    }

    fn locks(&self, which: impl Fn(&Claim) -> bool) -> [Option<LockId>; LOCKS_MAX] {
        let mut locks = [None; LOCKS_MAX];
        for (place, claim) in locks.iter_mut().zip(self.claims.iter().filter(|claim| which(claim))) {
            *place = Some(claim.lock);
        }
        locks
    }

    /// Takes a request in.
    fn serve(&mut self, cx: &Context<'_>, want: Want, trying: bool, out: &mut Out) {
        if self.role != Role::Server {
            return; // it will ask again
        }
        let Want { who, lock, request, .. } = want;
        match self.docket.ask(cx.now, want) {
            // Granted at the end of this step, or of the next.
            Place::Behind(0) if self.docket.is_open() => {}
            Place::Held | Place::Over => {} // likewise; it does not ask for it any more
            Place::Full => self.refuse(cx, want, Refusal::Full, out),
            Place::Behind(_) if trying => {
                self.docket.end(who, lock, request);
                self.refuse(cx, want, Refusal::Busy, out);
            }
            Place::Behind(ahead) if who == cx.me => self.claims.wait(lock, request, ahead, out),
            Place::Behind(ahead) => out.send(cx.roster.set_of(who), Message::Waiting { lock, request, ahead }),
        }
    }

    fn refuse(&mut self, cx: &Context<'_>, want: Want, why: Refusal, out: &mut Out) {
        let Want { who, lock, request, .. } = want;
        if who == cx.me {
            self.claims.refuse(lock, request, why, out);
        } else {
            out.send(cx.roster.set_of(who), Message::Refused { lock, request, why });
        }
    }

    /// Ends what is over, and grants what is free.
    fn grant(&mut self, cx: &Context<'_>, out: &mut Out) {
        if self.role != Role::Server {
            return;
        }
        self.docket.expire(cx);
        for _ in 0..GRANTS_MAX {
            let Some(Grant { who, lock, request, fence, waited }) = self.docket.grant(cx.now) else { return };
            if who != cx.me {
                out.send(cx.roster.set_of(who), Message::Grant { lock, request, fence, waited });
            } else if let Some(claim) = self.claims.waiting(lock, request) {
                let until = cx.now.after(claim.lease); // by the clock that counts for the others, too
                self.claims.grant(cx, Granted { lock, request, fence, until }, out);
            }
        }
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Request { lock, request, lease, trying } => {
                self.serve(cx, Want { who: from, lock, request, lease }, trying, out);
            }
            Message::Release { lock, request } | Message::Cancel { lock, request } => {
                self.docket.end(from, lock, request);
            }
            Message::Renew { lock, request, number, lease } => {
                let want = Want { who: from, lock, request, lease };
                if self.role != Role::Server {
                    return; // it cannot agree to anything
                }
                if self.docket.renew(cx.now, want) {
                    out.send(cx.roster.set_of(from), Message::Renewed { lock, number });
                } else {
                    self.refuse(cx, want, Refusal::NotHeld, out);
                }
            }
            Message::Follows { term, holds, all } => {
                // One that names another term will hear of the right one.
                if self.role == Role::Server && self.docket.term() == term {
                    self.docket.answer(cx, from, &holds, all);
                }
            }
            Message::Grant { lock, request, fence, waited } => {
                self.hear_grant(cx, from, Grant { who: cx.me, lock, request, fence, waited }, out);
            }
            Message::Waiting { lock, request, ahead } => self.claims.wait(lock, request, ahead, out),
            Message::Renewed { lock, number } => {
                let phase = self.claims.get(lock).map(|claim| claim.phase);
                if let Some(Phase::Held { renewal: Some(Renewal { asked, lease, .. }), .. }) = phase {
                    self.claims.renewed(lock, number, asked.after(usable(lease)), out);
                }
            }
            Message::Refused { lock, request, why } => {
                if why == Refusal::NotHeld && self.claims.get(lock).is_some_and(|claim| claim.request == request) {
                    self.claims.lose(lock, out);
                }
                self.claims.refuse(lock, request, why, out);
            }
        }
    }

    fn hear_grant(&mut self, cx: &Context<'_>, from: NodeId, grant: Grant, out: &mut Out) {
        let Grant { lock, request, fence, waited, .. } = grant;
        // One that is held already was told once more; one that is wanted no more was given back already.
        let Some(claim) = self.claims.waiting(lock, request) else { return };
        let until = claim.until(waited);
        if self.claims.grant(cx, Granted { lock, request, fence, until }, out) {
            return;
        }
        if waited > Span::ZERO {
            // The margin for how much clocks differ has eaten the lease: asked for anew, the same lock is granted at once.
            if let Some(claim) = self.claims.again(cx, lock) {
                self.ask(cx, claim, out);
            }
        } else {
            // It was too long on its way, and so may the next be: others first, until it is asked for again.
            out.send(cx.roster.set_of(from), Message::Release { lock, request });
        }
    }

    fn learn(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out) {
        match (fact, self.role) {
            (Fact::Leader { leader, term }, _) => self.follow(cx, leader, term, out),
            (Fact::NoLeader, _) => {
                self.role = Role::Alone;
                for lock in self.locks(is_tried).into_iter().flatten() {
                    if let Some(&Claim { request, .. }) = self.claims.get(lock) {
                        self.claims.refuse(lock, request, Refusal::Busy, out);
                    }
                }
            }
            (Fact::PeerUp(set), Role::Client { server, .. }) if cx.roster.set_of(server).meets(set) => {
                self.introduce(cx, out);
            }
            (Fact::PeerUp(set), _) => self.docket.tell_again(cx, set),
            (Fact::PeerDown(set), _) => self.docket.forget_waiting(cx, set),
            (Fact::PeerReset(set), _) => self.docket.reset(cx, set),
            (Fact::View | Fact::Parent(_), _) => {} // the whole group is asked, whoever counts, by letters to each
        }
    }

    /// Asks again for whatever has been waited for for long.
    fn repeat(&mut self, cx: &Context<'_>, out: &mut Out) {
        if matches!(self.role, Role::Client { again, .. } if again <= cx.now) {
            self.ask_anew(cx, out);
        }
    }
}

fn is_waited_for(claim: &Claim) -> bool {
    matches!(claim.phase, Phase::Waiting { .. })
}

fn is_tried(claim: &Claim) -> bool {
    matches!(claim.phase, Phase::Waiting { trying: true, .. })
}

impl Algorithm for Central {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        while let Some(Claim { lock, request, .. }) = self.claims.expire(cx.now, out) {
            self.docket.end(cx.me, lock, request); // another that grants counts for itself
        }
        match input {
            Input::Message { from, message, .. } => {
                // Of several that are waited for it may have forgotten another.
                let waits = self.claims.iter().filter(|claim| is_waited_for(claim)).count();
                if let Role::Client { server, again, .. } = &mut self.role
                    && *server == from
                    && waits <= 1
                {
                    *again = cx.now.after(cx.timing.lease());
                }
                self.hear(cx, from, message, out);
            }
            Input::Command(command) => {
                if let Some(task) = self.claims.command(cx, command, out) {
                    self.task(cx, task, out);
                }
            }
            Input::Fact(fact) => self.learn(cx, fact, out),
            Input::Timeout => {} // what is due is done after every step
        }
        self.repeat(cx, out);
        self.grant(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let role = match self.role {
            Role::Alone => None,
            Role::Client { again, .. } => self.claims.iter().any(is_waited_for).then_some(again),
            Role::Server => self.docket.deadline(),
        };
        sooner(self.claims.deadline(), role)
    }
}

impl Mutex for Central {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.claims.holds(lock, now)
    }
}

#[cfg(test)]
mod tests;
