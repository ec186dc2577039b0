//! The requester: collects votes, and returns or uses them.

use super::ballot::{Ballot, Collecting, Phase, Vote};
use super::{Maekawa, Message, Out};
use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use crate::mutex::client::{ClientAction, Granted, LockRequest, Renewal};
use crate::mutex::loopback::up_with_self;
use crate::mutex::renewal_votes::RenewalVotes;
use crate::mutex::{Command, Fence, LockId, Refusal};

impl Maekawa {
    pub(super) fn command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out<'_>) {
        match self.client.command(cx, command, out.out) {
            None => {} // refused
            Some(ClientAction::Acquire(request)) => {
                let set = self.choose_set(cx);
                if request.is_trying() && !set.without(up_with_self(cx)).is_empty() {
                    self.client.refuse(request.lock, request.number, Refusal::Busy, out.out);
                    return;
                }
                // There is room for as many ballots as requests.
                let _ = self.ballots.push(Ballot::new(cx, &request, set));
                self.ask(cx, request.lock, out);
            }
            Some(ClientAction::Renew(LockRequest { lock, number: request, .. }, renewal)) => {
                let Some(ballot) = self.ballot(lock) else { return };
                let retry_at = Some(cx.now.after(cx.timing.heartbeat.mul_ratio(1, 2)));
                ballot.phase = Phase::Holding(RenewalVotes { granted: NodeSet::EMPTY, retry_at });
                let (number, lease) = (renewal.number, renewal.lease);
                out.send(ballot.set, Message::Renew { lock, request, number, lease });
            }
            Some(ClientAction::Release(request) | ClientAction::Cancel(request)) => self.release(request.lock, out),
        }
    }

    fn choose_set(&self, cx: &Context<'_>) -> NodeSet {
        let slot = cx.roster.slot_of(cx.me).unwrap_or(0);
        self.options.sets.choose(cx.roster.all(), slot, up_with_self(cx))
    }

    fn ballot(&mut self, lock: LockId) -> Option<&mut Ballot> {
        self.ballots.iter_mut().find(|ballot| ballot.lock == lock)
    }

    /// Returns all votes for `lock`.
    pub(super) fn release(&mut self, lock: LockId, out: &mut Out<'_>) {
        if let Some(ballot) = self.ballot(lock) {
            out.send(ballot.set, Message::Release { lock, request: ballot.request });
        }
        self.ballots.retain(|ballot| ballot.lock != lock);
    }

    /// Asks the voters that are to be asked for `lock`.
    fn ask(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(&LockRequest { lease, .. }) = self.client.get(lock) else { return };
        let Some(ballot) = self.ballot(lock) else { return };
        let Phase::Collecting(collecting) = &mut ballot.phase else { return };
        let Some((to, attempt)) = collecting.ask(cx.now, up_with_self(cx)) else {
            self.restart(cx, lock, out);
            return;
        };
        out.send(to, Message::Request { lock, request: ballot.request, attempt, lease });
    }

    fn restart(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        self.release(lock, out);
        let Some(request) = self.client.restart(cx, lock) else { return };
        let _ = self.ballots.push(Ballot::new(cx, &request, self.choose_set(cx)));
        self.ask(cx, lock, out);
    }

    /// Returns the ballot of this request, if it waits for votes and `from` is in its voting set.
    pub(super) fn collecting(&mut self, lock: LockId, request: LamportTime, from: NodeSet) -> Option<&mut Collecting> {
        let same = |ballot: &&mut Ballot| ballot.request == request && ballot.set.meets(from);
        match &mut self.ballot(lock).filter(same)?.phase {
            Phase::Collecting(collecting) => Some(collecting),
            Phase::Holding(_) => None,
        }
    }

    pub(super) fn on_grant(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        request: LamportTime,
        vote: Vote,
        out: &mut Out<'_>,
    ) {
        let from = NodeSet::slot(vote.slot);
        let lease = self.client.waiting(lock, request).map(|waiting| waiting.lease);
        let (Some(lease), Some(collecting)) = (lease, self.collecting(lock, request, from)) else {
            if self.ballot(lock).is_none_or(|ballot| ballot.request != request || !ballot.set.meets(from)) {
                out.send(from, Message::Release { lock, request }); // not wanted any more
            }
            return;
        };
        if collecting.take(cx.now, lease, vote) {
            self.evaluate(cx, lock, out);
        }
    }

    /// Takes the reply that another request has the vote of `from`.
    pub(super) fn on_queued(
        &mut self,
        (lock, request): (LockId, LamportTime),
        from: NodeSet,
        ahead: u8,
        out: &mut Out<'_>,
    ) {
        if self.collecting(lock, request, from).is_none_or(|collecting| collecting.granted.meets(from)) {
            return; // overtaken by the vote itself
        }
        let Some(waiting) = self.client.waiting(lock, request) else { return };
        if waiting.is_trying() {
            self.client.refuse(lock, request, Refusal::Busy, out.out);
            self.release(lock, out);
        } else {
            self.client.notify_waiting(lock, request, ahead, out.out);
        }
    }

    /// Relinquishes inquired votes, has the fence confirmed, or enters.
    pub(super) fn evaluate(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballot(lock) else { return };
        let (set, request) = (ballot.set, ballot.request);
        let Phase::Collecting(collecting) = &mut ballot.phase else { return };
        let returned = collecting.to_relinquish();
        let fence = collecting.fence;
        if !returned.is_empty() {
            match collecting.relinquish(cx.now, returned) {
                Some(attempt) => out.send(returned, Message::Relinquish { lock, request, attempt }),
                None => self.restart(cx, lock, out),
            }
        } else if collecting.granted == set && fence.agreed != set {
            out.send(set.without(fence.agreed), Message::Confirm { lock, request, number: fence.number });
        } else {
            self.enter(cx, lock, out);
        }
    }

    /// Enters with the votes of the whole set. Votes about to end are requested again instead, when due.
    pub(super) fn enter(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let Phase::Collecting(collecting) = &ballot.phase else { return };
        if collecting.granted.and(collecting.fence.agreed) != ballot.set || collecting.refresh_at <= cx.now {
            return;
        }
        let fence = Fence { term: Term::ZERO, count: collecting.fence.number };
        let granted = Granted { lock, request: ballot.request, fence, until: collecting.until() };
        if self.client.grant(cx, granted, out.out) {
            ballot.phase = Phase::Holding(RenewalVotes::default());
        }
    }

    pub(super) fn on_renewed(&mut self, lock: LockId, number: LamportTime, from: NodeSet, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let (set, Phase::Holding(votes)) = (ballot.set, &mut ballot.phase) else { return };
        votes.on_renewed((lock, number), from, |granted| set.without(granted).is_empty(), &mut self.client, out.out);
    }

    /// Takes the return or restart of these members, which may have lost requests, or the loss of others.
    pub(super) fn on_peers_changed(&mut self, returned: NodeSet) {
        for ballot in &mut self.ballots {
            let Phase::Collecting(collecting) = &mut ballot.phase else { continue };
            collecting.to_ask = collecting.to_ask.with(returned.and(ballot.set).without(collecting.granted));
            collecting.recheck = true;
        }
    }

    /// Does the due work of one ballot: asks voters again, or another set in the place of one with a member that is
    /// down.
    pub(super) fn run_ballot(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let up = up_with_self(cx);
        let other = self.choose_set(cx);
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let request = ballot.request;
        match &mut ballot.phase {
            Phase::Holding(votes) => {
                let next = cx.now.after(cx.timing.heartbeat.mul_ratio(1, 2));
                let Some(Renewal { number, lease, .. }) = votes.retry(lock, &self.client, next) else { return };
                let to = ballot.set.without(votes.granted).and(up);
                out.send(to, Message::Renew { lock, request, number, lease });
            }
            Phase::Collecting(collecting) => {
                collecting.recheck = false;
                if collecting.refresh_at <= cx.now {
                    collecting.refresh();
                }
                if collecting.retry_at <= cx.now {
                    collecting.retry_at = cx.now.after(cx.timing.lease());
                    collecting.to_ask = ballot.set.without(collecting.granted);
                }
                // The vote of a member that went down since is still valid.
                let down = !ballot.set.without(up).without(collecting.granted).is_empty();
                if down && other.without(up).is_empty() {
                    let left = core::mem::replace(&mut ballot.set, other).without(other);
                    collecting.change_set(other);
                    out.send(left.and(up), Message::Release { lock, request });
                } else if down && self.client.get(lock).is_some_and(LockRequest::is_trying) {
                    self.client.refuse(lock, request, Refusal::Busy, out.out);
                    self.release(lock, out);
                    return;
                }
                self.ask(cx, lock, out);
                self.evaluate(cx, lock, out);
            }
        }
    }
}
