//! The steps of the stages: what each one concludes goes to those after it.

use super::run::Runner;
use super::{Halt, Node, Notice, StageMessage};
use crate::algorithm::{self, Algorithm, Context, Fact, Outbox, Scope};
use crate::base::cipher::Cipher;
use crate::base::config::{CROWD, Moment};
use crate::base::membership::Membership;
use crate::base::time::Instant;
use crate::election::{self, Election};
use crate::lease::{self, LeaderLease};
use crate::mutex::{self, Mutex};
use crate::peers::detector;
use crate::service::{self, Service};

/// Where a node's messages wait to be sent, by the types of its stages.
type NodeRunner<'n, E, M, S, const N: usize, G, K> =
    Runner<'n, StageMessage<<E as Algorithm>::Message, <M as Algorithm>::Message, <S as Algorithm>::Message>, N, G, K>;

/// What a stage takes a step on, and the stages.
type Step<'n, E, M, S, const N: usize, G, K> = (NodeRunner<'n, E, M, S, N, G, K>, StageRefs<'n, E, M, S>);

impl<E: Election, M: Mutex, const N: usize, S: Service, G: Membership, K: Cipher> Node<E, M, N, S, G, K> {
    pub(super) fn on_timeout(&mut self, now: Instant) {
        let shared = &mut self.shared;
        if shared.quarantine_end().is_some_and(|end| end <= now) {
            shared.quarantined = false;
        }
        shared.stability.on_timeout(now);
        shared.store_flaps();
        let moment = Moment::new(now, &mut shared.rng, &shared.config.timing);
        shared.peers.on_timeout(moment);
        self.report_links(now);
        if self.is_member() {
            self.detector.on_timeout(&self.shared.detector_context(now));
            self.report_members(now);
        }
        if G::GROUPED {
            let group = self.shared.peers.group().all();
            let up = group.without(self.detector.suspected());
            if self.lease.take_overdue(now, &self.shared.config.timing, group, up) {
                self.election.hurry(now);
            }
        }
        self.step_election(now, algorithm::Input::Timeout);
        if G::GROUPED {
            self.step_lease(now, algorithm::Input::Timeout);
        }
        self.step_mutex(now, algorithm::Input::Timeout);
        self.step_service(now, algorithm::Input::Timeout);
    }

    /// Reports to the later stages which links came and went.
    pub(super) fn report_links(&mut self, now: Instant) {
        let renewed = self.shared.peers.take_renewed();
        if !renewed.is_empty() {
            self.link.end_sessions(renewed);
            if self.is_member() {
                self.hurry_heartbeat(now);
            }
        }
        let changes = self.shared.peers.take_changes();
        self.link.abandon(Scope::Neighbours, changes.down);
        if G::GROUPED && !changes.reset.is_empty() {
            self.detector.reset(changes.reset);
            self.report_members(now);
        }
        for fact in [Fact::PeerDown(changes.down), Fact::PeerUp(changes.up)] {
            self.report(now, Scope::Neighbours, fact);
        }
    }

    /// Reports to the later stages which members rebooted, went and came back. A member that rebooted before anybody missed
    /// it did all three.
    pub(super) fn report_members(&mut self, now: Instant) {
        self.detector.suspect(self.link.take_unreachable());
        let detector::Changes { down, reset, up } = self.detector.take_changes();
        let unnoticed = reset.without(self.detector.suspected()).without(up);
        let (down, up) = (down.with(unnoticed), up.with(unnoticed));
        self.link.abandon(Scope::Group, down.with(reset));
        for fact in [Fact::PeerReset(reset), Fact::PeerDown(down), Fact::PeerUp(up)] {
            self.report(now, Scope::Group, fact);
        }
    }

    /// Hands a fact about peers of `scope` to every stage that works on them.
    fn report(&mut self, now: Instant, scope: Scope, fact: Fact) {
        if matches!(fact, Fact::PeerDown(set) | Fact::PeerReset(set) | Fact::PeerUp(set) if set.is_empty()) {
            return;
        }
        if self.election.scope() == scope {
            self.step_election(now, algorithm::Input::Fact(fact));
        }
        if G::GROUPED && scope == Scope::Group {
            self.step_lease(now, algorithm::Input::Fact(fact));
        }
        if self.mutex.scope() == scope {
            self.step_mutex(now, algorithm::Input::Fact(fact));
        }
        if self.service.scope() == scope {
            self.step_service(now, algorithm::Input::Fact(fact));
        }
    }

    pub(super) fn step_election(&mut self, now: Instant, input: algorithm::Input<E::Message, election::Command>) {
        let scope = self.election.scope();
        let (runner, stages) = self.runner(now);
        let mut out = Outbox::new();
        let step = |election: &mut E, cx: &Context<'_>, out: &mut Outbox<_, _>| election.handle(cx, input, out);
        runner.run(scope, stages.election, &mut out, StageMessage::Election, step);
        if self.election.take_deposed() {
            self.shared.stability.on_flap(now);
            self.shared.store_flaps();
        }
        let me = self.shared.config.me;
        for notice in out.notices() {
            let fact = match *notice {
                election::Notice::Gained { term } => Fact::Leader { leader: me, term },
                election::Notice::Following { leader, term } => Fact::Leader { leader, term },
                election::Notice::Leaderless => Fact::NoLeader,
                election::Notice::Reorganising { members } => {
                    self.shared.notify(Notice::Reorganising { members });
                    continue;
                }
            };
            self.step_lease(now, algorithm::Input::Fact(fact));
        }
        if G::GROUPED {
            self.report_heartbeat(now);
        }
        if M::PRESENT {
            self.report_parent(now);
        }
        if S::ROUTED {
            self.report_route(now);
        }
    }

    /// Reports to the lease that the leader's next heartbeat was sent or received.
    fn report_heartbeat(&mut self, now: Instant) {
        let newest = self.election.leader().zip(self.election.heartbeat());
        if self.lease_scope() == Scope::Nobody || newest == self.heartbeat {
            return;
        }
        self.heartbeat = newest;
        if let Some(((leader, term), count)) = newest {
            let others = self.shared.peers.in_range().len();
            if others >= CROWD {
                self.link.hold(now.after(self.shared.config.timing.contention_window(others)));
            }
            let parent = self.election.parent().and(self.shared.peers.group().all());
            self.step_lease(now, algorithm::Input::Command(lease::Heartbeat { leader, term, count, parent }));
        }
    }

    /// Reports to the lock which member is on the way to the leader, when that changes.
    fn report_parent(&mut self, now: Instant) {
        let group = self.shared.peers.group();
        let parent = self.election.parent().slots().find_map(|slot| group.id_of(slot));
        if parent != self.parent {
            self.parent = parent;
            if let Some(parent) = parent {
                self.step_mutex(now, algorithm::Input::Fact(Fact::Parent(parent)));
            }
        }
    }

    /// Reports to the service which neighbour is on the way to the leader, when that changes.
    fn report_route(&mut self, now: Instant) {
        let roster = self.shared.peers.roster();
        let parent = self.election.parent().slots().find_map(|slot| roster.id_of(slot));
        if let Some(parent) = parent.filter(|_| parent != self.service.parent()) {
            self.step_service(now, algorithm::Input::Fact(Fact::Parent(parent)));
        }
    }

    pub(super) fn step_lease(&mut self, now: Instant, input: algorithm::Input<lease::Message, lease::Heartbeat>) {
        let scope = self.lease_scope();
        let view = self.lease.view();
        let mut out = Outbox::new();
        if G::GROUPED {
            let granted = self.lease.granted();
            let (runner, stages) = self.runner(now);
            let step = |lease: &mut LeaderLease, cx: &Context<'_>, out: &mut Outbox<_, _>| lease.handle(cx, input, out);
            runner.run(scope, stages.lease, &mut out, StageMessage::Lease, step);
            let group = self.shared.peers.group();
            let granted = self.lease.granted().without(granted).without(group.set_of(self.shared.config.me));
            if let Some((_, count)) = self.heartbeat.filter(|_| !granted.is_empty()) {
                self.election.on_informed(self.lease.granted_of(count));
            }
            if self.detector.on_granted(granted, now) {
                self.report_members(now);
            }
        } else if let algorithm::Input::Fact(Fact::Leader { leader, term }) = input {
            self.lease.adopt_elected(self.shared.config.me, Some((leader, term)), &mut out);
        } else if let algorithm::Input::Fact(Fact::NoLeader) = input {
            self.lease.adopt_elected(self.shared.config.me, None, &mut out);
        }
        for &notice in out.notices() {
            self.shared.notify(Notice::Role(notice));
        }
        if self.lease.view() != view {
            self.report_conclusion(now, Fact::View);
        }
        let me = self.shared.config.me;
        for notice in out.notices() {
            let fact = match *notice {
                lease::Notice::Gained { term } => Fact::Leader { leader: me, term },
                lease::Notice::LeaderChanged { leader, term } => Fact::Leader { leader, term },
                lease::Notice::Leaderless => Fact::NoLeader,
                // The leader stays, or the next notice names the new one.
                lease::Notice::Losing { .. } | lease::Notice::Degraded | lease::Notice::Lost => continue,
            };
            self.report_conclusion(now, fact);
        }
    }

    /// Hands a conclusion of the leader lease to the stages after it.
    fn report_conclusion(&mut self, now: Instant, fact: Fact) {
        self.step_mutex(now, algorithm::Input::Fact(fact));
        self.step_service(now, algorithm::Input::Fact(fact));
    }

    pub(super) fn step_mutex(&mut self, now: Instant, input: algorithm::Input<M::Message, mutex::Command>) {
        let scope = self.mutex.scope();
        let command = matches!(input, algorithm::Input::Command(_));
        let lamport = self.shared.next_lamport();
        let (runner, stages) = self.runner(now);
        let mut out = Outbox::new();
        let step = |mutex: &mut M, cx: &Context<'_>, out: &mut Outbox<_, _>| mutex.handle(cx, input, out);
        runner.run(scope, stages.mutex, &mut out, StageMessage::Mutex, step);
        if command {
            self.shared.lamport.observe(lamport); // it numbers the request, whether or not a message carries it
        }
        for &notice in out.notices() {
            self.shared.notify(Notice::Mutex(notice));
        }
    }

    pub(super) fn step_service(&mut self, now: Instant, input: algorithm::Input<S::Message, S::Command>) {
        if S::PRESENT {
            self.run_service(now, |service, cx, out| service.handle(cx, input, out));
        }
    }

    /// Lets the service send while the link has room for it.
    pub(super) fn poll_service(&mut self, now: Instant) {
        while S::PRESENT && self.link.unacked() < service::SERVICE_UNACKED_MAX && self.shared.halted.is_none() {
            if !self.run_service(now, S::poll_send) {
                return;
            }
        }
    }

    fn run_service<T>(
        &mut self,
        now: Instant,
        step: impl FnOnce(&mut S, &Context<'_>, &mut Outbox<S::Message, S::Notice>) -> T,
    ) -> T {
        let scope = self.service.scope();
        let (runner, stages) = self.runner(now);
        let mut out = Outbox::new();
        let result = runner.run(scope, stages.service, &mut out, StageMessage::Service, step);
        for notice in out.notices() {
            let full = self.service.notices().is_none_or(|queue| queue.push_back(notice.clone()).is_err());
            self.shared.halt_if(full, Halt::Notices);
        }
        result
    }

    /// What a stage takes a step on, and the stages.
    fn runner(&mut self, now: Instant) -> Step<'_, E, M, S, N, G, K> {
        let (hellos, view) = (self.uses(Scope::Neighbours), self.lease.view());
        let Self { shared, link, detector, election, lease, mutex, service, .. } = self;
        (Runner { now, hellos, view, shared, detector, link }, StageRefs { election, lease, mutex, service })
    }
}

/// The stages of a node, each to be changed on its own.
struct StageRefs<'n, E, M, S> {
    election: &'n mut E,
    lease: &'n mut LeaderLease,
    mutex: &'n mut M,
    service: &'n mut S,
}
