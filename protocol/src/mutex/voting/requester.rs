//! The requester: collects votes, and returns or uses them.

use super::ballot::{Ballot, Collecting, Phase};
use super::{Message, Out, Vote, Voting};
use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use crate::mutex::client::{ClientAction, Granted, LockRequest, Renewal};
use crate::mutex::loopback::up_with_self;
use crate::mutex::renewal_votes::RenewalVotes;
use crate::mutex::{Command, Fence, LockId, Refusal};

impl Voting {
    pub(super) fn command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out<'_>) {
        match self.client.command(cx, command, out.out) {
            None => {} // refused
            Some(ClientAction::Acquire(request)) => {
                // There is room for as many ballots as requests.
                let _ = self.ballots.push(Ballot::new(cx, &request));
                self.ask(cx, request.lock, out);
            }
            Some(ClientAction::Renew(LockRequest { lock, number: request, .. }, renewal)) => {
                let Some(ballot) = self.ballot(lock) else { return };
                let retry_at = Some(cx.now.after(cx.timing.heartbeat.mul_ratio(1, 4)));
                ballot.phase = Phase::Holding(RenewalVotes { granted: NodeSet::EMPTY, retry_at });
                let (number, lease) = (renewal.number, renewal.lease);
                out.send(up_with_self(cx), Message::Renew { lock, request, number, lease });
            }
            Some(ClientAction::Release(request)) => self.release(cx, request.lock, true, out),
            Some(ClientAction::Cancel(request)) => self.release(cx, request.lock, false, out),
        }
    }

    fn ballot(&mut self, lock: LockId) -> Option<&mut Ballot> {
        self.ballots.iter_mut().find(|ballot| ballot.lock == lock)
    }

    /// Returns all votes: the request is over. The vote of a member that is suspected returns with its lease: releases to
    /// members that are down for good would fill the link.
    fn release(&mut self, cx: &Context<'_>, lock: LockId, held: bool, out: &mut Out<'_>) {
        if let Some(&mut Ballot { request, .. }) = self.ballot(lock) {
            out.send(up_with_self(cx), Message::Release { lock, request, held });
        }
        self.ballots.retain(|ballot| ballot.lock != lock);
    }

    /// Refuses a request that only tries.
    fn refuse(&mut self, cx: &Context<'_>, lock: LockId, request: LamportTime, out: &mut Out<'_>) {
        self.client.refuse(lock, request, Refusal::Busy, out.out);
        self.release(cx, lock, false, out);
    }

    /// Asks the voters that are to be asked, if a majority is within reach.
    fn ask(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(&own @ LockRequest { lease, .. }) = self.client.get(lock) else { return };
        let Some(Ballot { request, phase: Phase::Collecting(collecting), .. }) = self.ballot(lock) else { return };
        let (request, up) = (*request, up_with_self(cx));
        if !cx.is_quorum(collecting.granted.with(up)) {
            self.suspend(cx, lock, out);
            return;
        }
        match collecting.ask(cx, request, up) {
            Some((to, attempt)) => {
                out.send(to, Message::Request { lock, request, attempt, lease, trying: own.is_trying() });
            }
            None => self.restart(cx, lock, out),
        }
    }

    fn restart(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        self.release(cx, lock, false, out);
        if let Some(request) = self.client.restart(cx, lock) {
            let _ = self.ballots.push(Ballot::new(cx, &request));
        }
    }

    /// Returns all votes of a request that no majority can serve.
    fn suspend(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let trying = self.client.get(lock).is_some_and(LockRequest::is_trying);
        let Some(ballot) = self.ballot(lock) else { return };
        let request = ballot.request;
        ballot.phase = Phase::Suspended;
        if trying {
            self.refuse(cx, lock, request, out);
        } else {
            out.send(up_with_self(cx), Message::Release { lock, request, held: false });
        }
    }

    /// Returns the ballot of this request, if it waits for votes.
    pub(super) fn collecting(&mut self, lock: LockId, request: LamportTime) -> Option<&mut Collecting> {
        match &mut self.ballot(lock).filter(|ballot| ballot.request == request)?.phase {
            Phase::Collecting(collecting) => Some(collecting),
            Phase::Suspended | Phase::Holding(_) => None,
        }
    }

    pub(super) fn on_vote(
        &mut self,
        cx: &Context<'_>,
        (lock, request): (LockId, LamportTime),
        vote: Vote,
        out: &mut Out<'_>,
    ) {
        let lease = self.client.waiting(lock, request).map(|waiting| waiting.lease);
        if let (Some(lease), Some(collecting)) = (lease, self.collecting(lock, request)) {
            if collecting.take(cx, lease, vote) {
                self.evaluate(cx, lock, out);
            }
        } else if self.client.get(lock).is_none_or(|own| own.number != request || own.is_waiting()) {
            // Not wanted any more. A vote that comes while holding is returned with the others.
            out.send(NodeSet::slot(vote.slot), Message::Release { lock, request, held: true });
        }
    }

    pub(super) fn on_refuse(
        &mut self,
        cx: &Context<'_>,
        (lock, request): (LockId, LamportTime),
        (from, ahead): (NodeSet, u8),
        out: &mut Out<'_>,
    ) {
        let collecting = self.collecting(lock, request);
        let Some(collecting) = collecting.filter(|collecting| !collecting.granted.meets(from)) else {
            return; // overtaken by the vote itself
        };
        let before = collecting.within_reach(cx);
        collecting.refused = collecting.refused.with(from);
        let waits = before && !collecting.within_reach(cx);
        if waits && self.client.waiting(lock, request).is_some_and(|own| !own.is_trying()) {
            self.client.notify_waiting(lock, request, ahead, out.out);
        }
        self.evaluate(cx, lock, out);
    }

    /// Evaluates all ballots: with a member gone, a majority may be out of reach.
    pub(super) fn evaluate_all(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        for index in 0..self.ballots.len() {
            if let Some(lock) = self.ballots.get(index).map(|ballot| ballot.lock) {
                self.evaluate(cx, lock, out);
            }
        }
    }

    /// Enters with a majority that knows the fence, has the fence confirmed, or returns the votes inquired.
    pub(super) fn evaluate(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let trying = self.client.get(lock).is_some_and(LockRequest::is_trying);
        let Some(Ballot { request, phase: Phase::Collecting(collecting), .. }) = self.ballot(lock) else { return };
        let request = *request;
        if !cx.is_quorum(collecting.granted.with(up_with_self(cx))) {
            self.suspend(cx, lock, out);
        } else if collecting.within_reach(cx) {
            if cx.is_quorum(collecting.granted) && !cx.is_quorum(collecting.fence.agreed) {
                let (to, number) = (collecting.take_unconfirmed(), collecting.fence.number);
                out.send(to, Message::Confirm { lock, request, number });
            } else {
                self.enter(cx, lock, out);
            }
        } else if trying {
            self.refuse(cx, lock, request, out);
        } else if !collecting.inquired.is_empty() {
            match collecting.relinquish(request) {
                Some((to, attempt)) => out.send(to, Message::Relinquish { lock, request, attempt }),
                None => self.restart(cx, lock, out),
            }
        }
    }

    /// Enters, if a majority has agreed to the fence. Votes about to end are requested again instead, when due.
    pub(super) fn enter(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let (request, Phase::Collecting(collecting)) = (ballot.request, &ballot.phase) else { return };
        if !cx.is_quorum(collecting.fence.agreed) || !collecting.lasts(cx.now) {
            return;
        }
        let fence = Fence { term: Term::ZERO, count: collecting.fence.number };
        if self.client.grant(cx, Granted { lock, request, fence, until: collecting.until }, out.out) {
            ballot.phase = Phase::Holding(RenewalVotes::default());
        }
    }

    pub(super) fn on_renewed(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        number: LamportTime,
        from: NodeSet,
        out: &mut Out<'_>,
    ) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let Phase::Holding(votes) = &mut ballot.phase else { return };
        votes.on_renewed((lock, number), from, |granted| cx.is_quorum(granted), &mut self.client, out.out);
    }

    /// Takes the return or restart of these members, which may have lost requests.
    pub(super) fn on_peers_returned(&mut self, cx: &Context<'_>, set: NodeSet) {
        for ballot in &mut self.ballots {
            match &mut ballot.phase {
                Phase::Collecting(collecting) => collecting.ask_again(set),
                Phase::Suspended if cx.is_quorum(up_with_self(cx)) => {
                    if let Some(request) = self.client.restart(cx, ballot.lock) {
                        *ballot = Ballot::new(cx, &request);
                    }
                }
                Phase::Suspended | Phase::Holding(_) => {} // nothing is requested of them
            }
        }
    }

    /// Does the due work of one ballot.
    pub(super) fn run_ballot(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let request = ballot.request;
        match &mut ballot.phase {
            Phase::Collecting(_) => self.ask(cx, lock, out),
            Phase::Suspended => {} // it waits for members, not for time
            Phase::Holding(votes) => {
                let next = cx.now.after(cx.timing.heartbeat.mul_ratio(1, 4));
                let Some(Renewal { number, lease, .. }) = votes.retry(lock, &self.client, next) else { return };
                let to = up_with_self(cx).without(votes.granted);
                out.send(to, Message::Renew { lock, request, number, lease });
            }
        }
    }
}

impl Collecting {
    /// Returns whether it may get a majority without the voters that refused.
    fn within_reach(&self, cx: &Context<'_>) -> bool {
        cx.is_quorum(self.granted.with(up_with_self(cx).without(self.refused)))
    }
}
