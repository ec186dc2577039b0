//! A node as an asker: what it does with the votes it gets.

use super::ballot::{Asking, Ballot, Given, Phase};
use super::{Maekawa, Message, Out};
use crate::algorithm::Context;
use crate::clock::{Stamp, Term};
use crate::config::usable;
use crate::group::NodeSet;
use crate::mutex::claims::{Claim, Granted, Task};
use crate::mutex::{Command, Fence, LockId, Refusal};

impl Maekawa {
    pub(super) fn command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out<'_>) {
        match self.claims.command(cx, command, out.out) {
            None => {} // it was refused
            Some(Task::Ask(claim)) => {
                let set = self.choose(cx);
                if claim.is_trying() && !set.without(present(cx)).is_empty() {
                    self.claims.refuse(claim.lock, claim.request, Refusal::Busy, out.out);
                    return;
                }
                // There is room for as many as there are claims.
                let _ = self.ballots.push(Ballot::new(cx, &claim, set));
                self.ask(cx, claim.lock, out);
            }
            Some(Task::Renew(claim, renewal)) => {
                let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == claim.lock) else { return };
                let again = Some(cx.now.after(cx.timing.heartbeat.share(1, 2)));
                ballot.phase = Phase::Holding { renewed: NodeSet::EMPTY, again };
                let (lock, request, number, lease) = (claim.lock, claim.request, renewal.number, renewal.lease);
                out.send(ballot.set, Message::Renew { lock, request, number, lease });
            }
            Some(Task::Release(claim) | Task::Cancel(claim)) => self.leave(claim.lock, out),
        }
    }

    /// The set to ask.
    fn choose(&self, cx: &Context<'_>) -> NodeSet {
        let slot = cx.roster.slot_of(cx.me).unwrap_or(0);
        self.sets.choose(cx.roster.all(), slot, present(cx))
    }

    /// Gives all votes for `lock` back.
    pub(super) fn leave(&mut self, lock: LockId, out: &mut Out<'_>) {
        if let Some(ballot) = self.ballots.iter().find(|ballot| ballot.lock == lock) {
            out.send(ballot.set, Message::Release { lock, request: ballot.request });
        }
        self.ballots.retain(|ballot| ballot.lock != lock);
    }

    /// Asks whoever has yet to be asked for `lock`.
    fn ask(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(claim) = self.claims.get(lock) else { return };
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let Phase::Asking(asking) = &mut ballot.phase else { return };
        let Some((to, turn)) = asking.ask(cx.now, present(cx)) else {
            self.again(cx, lock, out);
            return;
        };
        out.send(to, Message::Request { lock, request: ballot.request, turn, lease: claim.lease });
    }

    /// Starts over with a new request.
    fn again(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        self.leave(lock, out);
        let Some(claim) = self.claims.again(cx, lock) else { return };
        let _ = self.ballots.push(Ballot::new(cx, &claim, self.choose(cx)));
        self.ask(cx, lock, out);
    }

    /// The ballot that asks for `lock` as `request`, among others that of `from`.
    pub(super) fn asking(&mut self, lock: LockId, request: Stamp, from: NodeSet) -> Option<&mut Asking> {
        let same = |ballot: &&mut Ballot| (ballot.lock, ballot.request) == (lock, request) && ballot.set.meets(from);
        match &mut self.ballots.iter_mut().find(same)?.phase {
            Phase::Asking(asking) => Some(asking),
            Phase::Holding { .. } => None,
        }
    }

    pub(super) fn hear_grant(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        request: Stamp,
        vote: Given,
        out: &mut Out<'_>,
    ) {
        let from = NodeSet::slot(vote.slot);
        let lease = self.claims.waiting(lock, request).map(|claim| claim.lease);
        let (Some(lease), Some(asking)) = (lease, self.asking(lock, request, from)) else {
            let mine = |ballot: &Ballot| (ballot.lock, ballot.request) == (lock, request) && ballot.set.meets(from);
            if !self.ballots.iter().any(mine) {
                out.send(from, Message::Release { lock, request }); // it is not wanted any more
            }
            return;
        };
        if asking.take(cx.now, lease, vote) {
            self.consider(cx, lock, out);
        }
    }

    /// Somebody else has the vote of `from`.
    pub(super) fn hear_queued(
        &mut self,
        (lock, request): (LockId, Stamp),
        from: NodeSet,
        ahead: u8,
        out: &mut Out<'_>,
    ) {
        if self.asking(lock, request, from).is_none_or(|asking| asking.given.meets(from)) {
            return; // overtaken by the vote itself
        }
        let Some(claim) = self.claims.waiting(lock, request) else { return };
        if claim.is_trying() {
            self.claims.refuse(lock, request, Refusal::Busy, out.out);
            self.leave(lock, out);
        } else {
            self.claims.wait(lock, request, ahead, out.out);
        }
    }

    /// What to do with the votes as they are: give some back, have their number confirmed, or enter.
    pub(super) fn consider(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let (set, request) = (ballot.set, ballot.request);
        let Phase::Asking(asking) = &mut ballot.phase else { return };
        let back = asking.to_yield();
        if !back.is_empty() {
            match asking.give_back(cx.now, back) {
                Some(turn) => out.send(back, Message::Relinquish { lock, request, turn }),
                None => self.again(cx, lock, out),
            }
        } else if asking.given == set && asking.fence.by != set {
            out.send(set.without(asking.fence.by), Message::Confirm { lock, request, number: asking.fence.number });
        } else {
            self.enter(cx, lock, out);
        }
    }

    /// Enters, if all votes are there.
    pub(super) fn enter(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let Phase::Asking(asking) = &ballot.phase else { return };
        // Votes about to run out are asked for anew instead (`tend`).
        if asking.given.and(asking.fence.by) != ballot.set || asking.stale <= cx.now {
            return;
        }
        let fence = Fence { term: Term::ZERO, count: asking.fence.number };
        let granted = Granted { lock, request: ballot.request, fence, until: asking.until() };
        if self.claims.grant(cx, granted, out.out) {
            ballot.phase = Phase::Holding { renewed: NodeSet::EMPTY, again: None };
        }
    }

    pub(super) fn hear_renewed(&mut self, lock: LockId, number: Stamp, from: NodeSet, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let Phase::Holding { renewed, again } = &mut ballot.phase else { return };
        let Some(renewal) = self.claims.get(lock).and_then(Claim::renewal).filter(|renewal| renewal.number == number)
        else {
            return;
        };
        *renewed = renewed.with(from);
        if ballot.set.without(*renewed).is_empty() {
            *again = None;
            self.claims.renewed(lock, number, renewal.asked.after(usable(renewal.lease)), out.out);
        }
    }

    /// These can be spoken to again, or have forgotten what they were told: whatever still matters is said once more.
    pub(super) fn doubt(&mut self, who: NodeSet) {
        for ballot in &mut self.ballots {
            let Phase::Asking(asking) = &mut ballot.phase else { continue };
            asking.owed = asking.owed.with(who.and(ballot.set).without(asking.given));
            asking.doubtful = true;
        }
    }

    /// Looks after one ballot: those to be asked anew, or in the place of others who are down.
    pub(super) fn look_after(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let up = present(cx);
        let other = self.choose(cx);
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let request = ballot.request;
        match &mut ballot.phase {
            Phase::Holding { renewed, again } => {
                let Some(renewal) = self.claims.get(lock).and_then(Claim::renewal) else {
                    *again = None;
                    return;
                };
                *again = Some(cx.now.after(cx.timing.heartbeat.share(1, 2)));
                let (number, lease) = (renewal.number, renewal.lease);
                out.send(ballot.set.without(*renewed).and(up), Message::Renew { lock, request, number, lease });
            }
            Phase::Asking(asking) => {
                asking.doubtful = false;
                if asking.stale <= cx.now {
                    asking.refresh();
                }
                if asking.again <= cx.now {
                    asking.again = cx.now.after(cx.timing.lease());
                    asking.owed = ballot.set.without(asking.given);
                }
                // The vote of somebody who has gone since is still good.
                let down = !ballot.set.without(up).without(asking.given).is_empty();
                if down && other.without(up).is_empty() {
                    let left = core::mem::replace(&mut ballot.set, other).without(other);
                    asking.turn_to(other);
                    out.send(left.and(up), Message::Release { lock, request });
                } else if down && self.claims.get(lock).is_some_and(Claim::is_trying) {
                    self.claims.refuse(lock, request, Refusal::Busy, out.out);
                    self.leave(lock, out);
                    return;
                }
                self.ask(cx, lock, out);
                self.consider(cx, lock, out);
            }
        }
    }
}

/// Everybody who is up, this node included.
fn present(cx: &Context<'_>) -> NodeSet {
    cx.up.with(cx.roster.set_of(cx.me))
}
