//! The tree lock of Raymond: requests go up a tree towards the token, and the token comes down the same way.
//!
//! Every member knows one thing: which of its neighbours in the tree is on the way to the token. Whoever wants to enter
//! asks that neighbour, which asks its own in turn, once for all that wait at it. Whoever has the token and is outside
//! passes it to the first that waits, and from then on the token is that way.
//!
//! The tree is the one that the beats of the leader leave behind, whatever the election: a member's parent is the neighbour
//! it hears them from first. So in a network of many hops every letter is for a neighbour, and where everybody hears
//! everybody the tree is a star.
//!
//! # Paper
//! K. Raymond: A Tree-Based Algorithm for Distributed Mutual Exclusion, ACM TOCS 7(1), 1989.
//!
//! # Assumes
//! A leader, best in [`crate::mandate::Mode::Quorum`]: see [`super::keeper`], which makes lost tokens anew.
//!
//! # Messages
//! [`Message::Request`] towards the token, [`Message::Privilege`] back; [`Message::Void`] and [`Message::Full`] to requests
//! that cannot be met; calls and warrants as in [`super::keeper`].
//!
//! # Cost
//! An entry: 2 d letters, where d is the way to the token in the tree, none to leave; on average O(log n). Where many wait,
//! about 4. A call and a warrant besides, if the token was not with the leader for longer than a warrant is good for.
//!
//! # Departures
//! - A token is good for the generation the leader made it in. A new one begins at the leader, with the tree of that
//!   moment: that mends the tree when a member is gone, and the paper's recovery by asking all neighbours is not needed.
//! - Parents are heard of at different moments, so they may point in a circle, and who thought that somebody was gone has
//!   forgotten its request. So whoever waits long asks again: the leader itself, if the token has never been here.
//! - A request that follows a token it was passed with travels in the same letter.
//! - A token takes its warrant along: how long the request had waited tells the receiver what is left of it.

use super::claims::{Claim, Phase, Task};
use super::keeper::{Generation, Keeper, Need};
use super::{Claims, Command, Fence, LOCKS_MAX, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::config::usable;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, sooner};
use branch::{Asked, Branch, Waiter};
use heapless::Vec;

mod branch;
mod message;

pub use branch::QUEUE_MAX;
pub use message::{Message, Privilege};

/// The tree lock of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Raymond {
    claims: Claims,
    keeper: Keeper,
    /// The neighbour the leader's beats come from.
    parent: Option<NodeId>,
    branches: Vec<Branch, LOCKS_MAX>,
}

type Out = Outbox<Message, Notice>;

impl Raymond {
    /// A member that has seen no token.
    #[must_use]
    pub const fn new() -> Self {
        Self { claims: Claims::new(), keeper: Keeper::new(), parent: None, branches: Vec::new() }
    }

    fn branch(&mut self, lock: LockId) -> Option<&mut Branch> {
        self.branches.iter_mut().find(|branch| branch.lock == lock)
    }

    /// The branch of `lock`, as new as what is known of its token; `None` where there is no room for it.
    fn grow(&mut self, cx: &Context<'_>, lock: LockId) -> Option<&mut Branch> {
        let leads = self.keeper.leads();
        let parent = self.parent.map_or(NodeSet::EMPTY, |parent| cx.roster.set_of(parent)).and(cx.up);
        let place = self.keeper.open(cx, lock, &self.claims)?;
        let (generation, via, recalled) = (place.token.generation, place.via, place.is_recalled());
        let me = cx.roster.set_of(cx.me);
        let toward = match parent.and(via) {
            _ if leads => NodeSet::EMPTY,
            parent if parent.is_empty() => place.root.without(me),
            parent => parent,
        };
        if self.branch(lock).is_none() {
            let known = self.keeper.locks();
            self.branches.retain(|branch| known.contains(&branch.lock));
            self.branches.push(Branch::new(lock, generation, toward)).ok()?;
        }
        let branch = self.branch(lock)?;
        let first = branch.generation == Generation::before(generation.term) && !recalled;
        if branch.generation != generation && !first {
            branch.reset(generation, toward, me);
        }
        branch.generation = generation;
        if branch.toward.is_empty() {
            branch.toward = toward;
        }
        Some(branch)
    }

    fn obey(&mut self, cx: &Context<'_>, command: Command, out: &mut Out) {
        match self.claims.command(cx, command, out) {
            Some(Task::Ask(claim)) => {
                if self.grow(cx, claim.lock).is_none() {
                    self.claims.refuse(claim.lock, claim.request, Refusal::Full, out);
                }
            }
            Some(Task::Renew(claim, renewal)) => {
                self.keeper.call(cx, &self.claims, claim.lock, Need::Keep, out);
                self.keeper.renew_own(cx, claim.lock, renewal, &mut self.claims, out);
            }
            Some(Task::Release(claim)) => self.keeper.clear(cx, claim.lock, false, out),
            Some(Task::Cancel(_)) | None => {} // the token will find nobody here who wants it
        }
    }

    fn hear_request(&mut self, cx: &Context<'_>, from: NodeSet, request: (LockId, u32, Generation), out: &mut Out) {
        let (lock, number, theirs) = request;
        let Some(place) = self.keeper.open(cx, lock, &self.claims) else {
            out.send(from, Message::Full { lock });
            return;
        };
        let generation = place.token.generation;
        if theirs < generation && theirs != Generation::before(generation.term) {
            out.send(from, Message::Void { lock, generation });
            return;
        }
        place.void(cx, theirs);
        let waiter = Waiter { who: from, number, since: cx.now };
        if !self.grow(cx, lock).is_some_and(|branch| branch.enqueue(waiter)) {
            out.send(from, Message::Full { lock });
        }
        self.ask_again(cx, lock); // perhaps it asks again because nobody here did
    }

    /// Asks again if that was long ago: whoever was asked may have forgotten it, and parents may point in a circle. A
    /// member the token has been to knows the way to it; any other asks the leader, where it began.
    fn ask_again(&mut self, cx: &Context<'_>, lock: LockId) {
        let me = cx.roster.set_of(cx.me);
        let Some((root, strange)) = self.keeper.get(lock).map(|place| (place.root.without(me), place.is_strange()))
        else {
            return;
        };
        let Some(branch) = self.branch(lock) else { return };
        let long = |asked: &mut Asked| asked.at.after(cx.timing.lock_lease.share(1, 2)) <= cx.now;
        if branch.asked.take_if(long).is_some() && strange && !root.is_empty() {
            branch.toward = root;
        }
    }

    fn hear_privilege(&mut self, cx: &Context<'_>, from: NodeSet, privilege: Privilege, out: &mut Out) {
        let Privilege { lock, token, number, waited, left, back } = privilege;
        if self.keeper.open(cx, lock, &self.claims).is_none()
            || !self.keeper.receive(cx, lock, token, &self.claims, out)
        {
            return;
        }
        let Some(branch) = self.grow(cx, lock) else { return };
        let asked = branch.asked.take().filter(|asked| asked.number == number && asked.whom == from);
        branch.toward = NodeSet::EMPTY;
        if let Some(number) = back {
            branch.enqueue(Waiter { who: from, number, since: cx.now });
        }
        if let (Some(asked), Some(place)) = (asked, self.keeper.get(lock)) {
            place.inherit(asked.at.after(usable(waited)).after(usable(left)));
        }
    }

    /// Whoever was asked has no room: nobody who waits here is met.
    fn hear_full(&mut self, cx: &Context<'_>, from: NodeSet, lock: LockId, out: &mut Out) {
        let me = cx.roster.set_of(cx.me);
        let Some(branch) = self.branch(lock) else { return };
        if branch.asked.take_if(|asked| asked.whom == from).is_none() {
            return;
        }
        let waiters = branch.waiters();
        branch.forget(waiters);
        out.send(waiters.without(me), Message::Full { lock });
        if let Some(&Claim { request, .. }) = self.claims.get(lock) {
            self.claims.refuse(lock, request, Refusal::Full, out);
        }
    }

    fn learn(&mut self, cx: &Context<'_>, fact: Fact) {
        self.keeper.learn(cx, fact);
        match fact {
            Fact::Parent(parent) => self.parent = Some(parent),
            Fact::PeerDown(set) | Fact::PeerReset(set) => {
                for branch in &mut self.branches {
                    branch.forget(set); // they ask again
                    if branch.asked.take_if(|asked| asked.whom.meets(set)).is_some()
                        && let Some(place) = self.keeper.get(branch.lock)
                    {
                        place.go_astray(cx);
                    }
                }
            }
            Fact::PeerUp(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader => {} // the keeper's
        }
    }

    /// Does with a lock what is to be done.
    fn settle(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let me = cx.roster.set_of(cx.me);
        if self.grow(cx, lock).is_none() {
            return;
        }
        if let Some(calls) = self.keeper.calls(lock) {
            *calls = NodeSet::EMPTY; // they ask besides
        }
        let waits = self.claims.get(lock).is_some_and(|claim| matches!(claim.phase, Phase::Waiting { .. }));
        if let Some(branch) = self.branch(lock).filter(|branch| waits && !branch.waiters().meets(me)) {
            branch.enqueue(Waiter { who: me, number: 0, since: cx.now });
        }
        let mut steps = 0..=QUEUE_MAX;
        while steps.next().is_some() && self.serve(cx, lock, me, out) {}
        self.ask(cx, lock, out);
        let ahead = self.branch(lock).map_or(0, |branch| branch.ahead(me));
        let idle = self.branch(lock).is_none_or(|branch| branch.is_idle());
        if let Some(place) = self.keeper.get(lock) {
            place.busy = !idle;
            if let Some(&Claim { request, phase: Phase::Waiting { trying, .. }, .. }) = self.claims.get(lock) {
                place.wait(cx);
                if !trying && ahead > 0 {
                    self.claims.wait(lock, request, u8::try_from(ahead).unwrap_or(u8::MAX), out);
                }
            }
        }
    }

    /// Gives the token that is here to the first that waits. Whether there may be another to give it to.
    fn serve(&mut self, cx: &Context<'_>, lock: LockId, me: NodeSet, out: &mut Out) -> bool {
        let inside = self.claims.get(lock).is_some_and(|claim| matches!(claim.phase, Phase::Held { .. }));
        let here = self.keeper.get(lock).is_some_and(|place| place.here);
        let Some(&head) = self.branch(lock).and_then(|branch| branch.head()).filter(|_| here && !inside) else {
            return false;
        };
        let wanted = self.claims.get(lock).copied().filter(|_| head.who == me);
        if let Some(claim) = wanted {
            return self.enter(cx, &claim, out);
        }
        if head.who == me || !cx.up.meets(head.who) {
            if let Some(branch) = self.branch(lock) {
                branch.dequeue(); // it wants nothing any more, or asks again
            }
            return true;
        }
        self.pass(cx, lock, head, out);
        false
    }

    /// Enters, or calls for leave to. Whether it entered.
    fn enter(&mut self, cx: &Context<'_>, claim: &Claim, out: &mut Out) -> bool {
        let lock = claim.lock;
        if self.keeper.get(lock).is_some_and(|place| !place.may_enter(cx, claim) && !place.calls()) {
            self.keeper.call(cx, &self.claims, lock, Need::Enter, out);
        }
        let Some(place) = self.keeper.get(lock).filter(|place| place.may_enter(cx, claim)) else { return false };
        let granted = place.enter(cx, claim);
        if let Some(branch) = self.branch(lock) {
            branch.dequeue();
        }
        self.claims.grant(cx, granted, out)
    }

    /// Passes the token on to the first that waits, and asks for it back for the others.
    fn pass(&mut self, cx: &Context<'_>, lock: LockId, head: Waiter, out: &mut Out) {
        if self.keeper.leads() {
            self.keeper.call(cx, &self.claims, lock, Need::Enter, out); // it goes with a fresh warrant
        }
        let Some(place) = self.keeper.get(lock) else { return };
        let left = place.left(cx.now);
        let token = place.pass(head.who);
        let Some(branch) = self.branch(lock) else { return };
        branch.dequeue();
        (branch.toward, branch.asked) = (head.who, None);
        let number = number(cx);
        let back = (!branch.is_idle()).then_some(number);
        branch.asked = back.map(|number| Asked { whom: head.who, number, at: cx.now });
        let waited = cx.now.since(head.since);
        out.send(head.who, Message::Privilege(Privilege { lock, token, number: head.number, waited, left, back }));
    }

    /// Asks for the token, if somebody waits for it here and it was not asked for yet.
    fn ask(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let Some((here, token)) = self.keeper.get(lock).map(|place| (place.here, place.token)) else { return };
        let Some(branch) = self.branch(lock) else { return };
        if here || branch.is_idle() || branch.asked.is_some() {
            return;
        }
        let (whom, number) = (branch.toward, number(cx));
        if whom.is_empty() {
            self.keeper.demand(cx, lock); // nobody has it yet: a leader makes it
        } else if cx.up.meets(whom) {
            branch.asked = Some(Asked { whom, number, at: cx.now });
            out.send(whom, Message::Request { lock, number, generation: token.generation });
        }
    }
}

/// A number no other request of late has.
fn number(cx: &Context<'_>) -> u32 {
    u32::try_from(cx.stamp.0 & u64::from(u32::MAX)).unwrap_or(0)
}

impl Algorithm for Raymond {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        // One a step: what it leaves to say takes room. The next one is due at once.
        if let Some(ended) = self.claims.expire(cx.now, out) {
            self.keeper.clear(cx, ended.lock, false, out);
        }
        match input {
            Input::Message { from, message, .. } => {
                let sender = cx.roster.set_of(from);
                match message {
                    Message::Request { lock, number, generation } => {
                        self.hear_request(cx, sender, (lock, number, generation), out);
                    }
                    Message::Privilege(privilege) => self.hear_privilege(cx, sender, privilege, out),
                    Message::Void { lock, generation } => {
                        if let Some(place) = self.keeper.get(lock) {
                            place.void(cx, generation);
                        }
                    }
                    Message::Full { lock } => self.hear_full(cx, sender, lock, out),
                    Message::Keeper(word) => self.keeper.hear(cx, from, word, &mut self.claims, out),
                }
            }
            Input::Command(command) => self.obey(cx, command, out),
            Input::Fact(fact) => self.learn(cx, fact),
            Input::Timeout => {} // what is due is done below
        }
        if let Some(lock) = self.keeper.tend(cx, &self.claims, out) {
            self.keeper.call(cx, &self.claims, lock, Need::Want, out);
            self.ask_again(cx, lock);
        }
        for lock in &self.keeper.locks() {
            self.settle(cx, *lock, out);
            if self.keeper.try_no_longer(cx, *lock, &mut self.claims, out) {
                self.settle(cx, *lock, out); // it wants the token no more
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        sooner(self.claims.deadline(), self.keeper.deadline())
    }
}

impl Mutex for Raymond {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.claims.holds(lock, now)
    }
}
