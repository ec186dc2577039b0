//! The steps of the stages: what each is told, and what becomes of what it says.

use super::{Halt, Node, Notice, Payload};
use crate::algorithm::{self, Algorithm, Context, Fact, Outbox, Output, Scope};
use crate::clock::Stamp;
use crate::config::Moment;
use crate::detector;
use crate::election::{self, Election};
use crate::group::NodeSet;
use crate::link::{Place, Submit};
use crate::mandate;
use crate::mutex::{self, Mutex};
use crate::time::Instant;
use crate::upper::{self, Upper};
use crate::wire::{Delivery, Message};
use core::convert::Infallible;
use heapless::Vec;

/// What a stage of `scope` is told about the node: a borrow of some fields, where a method would borrow all.
macro_rules! context {
    ($node:expr, $now:expr, $scope:expr) => {{
        let group = $node.neighbours.group();
        let others = group.all().without(group.set_of($node.config.me));
        let (roster, peers, up, near, better, rival) = match $scope {
            Scope::Neighbours => {
                let peers = $node.neighbours.two_way();
                ($node.neighbours.roster(), peers, peers, peers, NodeSet::EMPTY, None)
            }
            Scope::Group => {
                let up = others.without($node.detector.suspected());
                let better = $node.detector.better(&presence!($node, $now));
                (group, others, up, $node.neighbours.heard().and(others), better, $node.detector.best(group, up))
            }
            Scope::Nobody => {
                let up = others.without($node.detector.suspected());
                (group, NodeSet::EMPTY, up, NodeSet::EMPTY, NodeSet::EMPTY, None)
            }
        };
        Context {
            now: $now,
            uptime: $now.since($node.born),
            me: $node.config.me,
            standing: $node.standing(),
            roster,
            peers,
            up,
            near,
            better,
            rival,
            view: $node.mandate.view(),
            stamp: Stamp($node.clock.reading().0.saturating_add(1)),
            random: $node.dice.throw(),
            timing: &$node.config.timing,
        }
    }};
}

/// What a stage concluded in one step.
type Facts = Vec<Fact, { algorithm::OUTPUTS_MAX }>;

impl<E: Election, M: Mutex, const N: usize, U: Upper> Node<E, M, N, U> {
    pub(super) fn timeout(&mut self, now: Instant) {
        if self.quarantine.is_some_and(|until| until <= now) {
            self.quarantine = None;
        }
        self.neighbours.timeout(moment!(self, now));
        self.report_links(now);
        if self.is_member() {
            let presence = presence!(self, now);
            self.detector.timeout(&presence);
            self.report_members(now);
        }
        self.step_election(now, algorithm::Input::Timeout);
        self.step_mandate(now, algorithm::Input::Timeout);
        self.step_mutex(now, algorithm::Input::Timeout);
        self.step_upper(now, algorithm::Input::Timeout);
    }

    /// Tells the later stages which links came and went.
    pub(super) fn report_links(&mut self, now: Instant) {
        let changes = self.neighbours.take_changes();
        self.link.forget(Scope::Neighbours, changes.down);
        if Self::GROUPED && !changes.reset.is_empty() {
            self.detector.reset(changes.reset);
            self.report_members(now);
        }
        for (set, fact) in [(changes.down, Fact::PeerDown(changes.down)), (changes.up, Fact::PeerUp(changes.up))] {
            if set.is_empty() {
                continue;
            }
            if self.election.scope() == Scope::Neighbours {
                self.step_election(now, algorithm::Input::Fact(fact));
            }
            if self.mutex.scope() == Scope::Neighbours {
                self.step_mutex(now, algorithm::Input::Fact(fact));
            }
            if self.upper.scope() == Scope::Neighbours {
                self.step_upper(now, algorithm::Input::Fact(fact));
            }
        }
    }

    /// Tells the later stages which members went, started anew and came back.
    pub(super) fn report_members(&mut self, now: Instant) {
        self.detector.suspect(self.link.take_lost());
        let detector::Changes { down, reset, up } = self.detector.take_changes();
        self.link.forget(Scope::Group, down);
        let facts = [(down, Fact::PeerDown(down)), (reset, Fact::PeerReset(reset)), (up, Fact::PeerUp(up))];
        for (set, fact) in facts {
            if set.is_empty() {
                continue;
            }
            if self.election.scope() == Scope::Group {
                self.step_election(now, algorithm::Input::Fact(fact));
            }
            self.step_mandate(now, algorithm::Input::Fact(fact));
            if self.mutex.scope() == Scope::Group {
                self.step_mutex(now, algorithm::Input::Fact(fact));
            }
            if self.upper.scope() == Scope::Group {
                self.step_upper(now, algorithm::Input::Fact(fact));
            }
        }
    }

    pub(super) fn step_election(&mut self, now: Instant, input: algorithm::Input<E::Message, election::Command>) {
        let mut out = Outbox::new();
        let scope = self.election.scope();
        let cx = context!(self, now, scope);
        let (peers, stamp) = (cx.peers, cx.stamp);
        self.election.handle(&cx, input, &mut out);
        self.check(out.overflowed(), Halt::Outbox);
        let mut facts = Facts::new();
        for output in out.outputs() {
            match output {
                Output::Send { to, message } => {
                    self.submit(now, Submit { scope, to: to.and(peers), stamp }, Payload::Election(message.clone()));
                }
                Output::Notify(notice) => {
                    let fact = match *notice {
                        election::Notice::Gained { term } => Fact::Leader { leader: self.config.me, term },
                        election::Notice::Following { leader, term } => Fact::Leader { leader, term },
                        election::Notice::Leaderless => Fact::NoLeader,
                    };
                    self.check(facts.push(fact).is_err(), Halt::Outbox);
                }
            }
        }
        // Only now: what this step said has its stamp, and a later step must have a later one.
        for &fact in &facts {
            self.step_mandate(now, algorithm::Input::Fact(fact));
        }
        if M::GROUP {
            self.report_parent(now);
        }
    }

    /// Tells the lock which member is on the way to the leader, when that is another than before.
    fn report_parent(&mut self, now: Instant) {
        let group = self.neighbours.group();
        let parent = self.election.parent().slots().find_map(|slot| group.id_of(slot));
        if parent != self.parent {
            self.parent = parent;
            if let Some(parent) = parent {
                self.step_mutex(now, algorithm::Input::Fact(Fact::Parent(parent)));
            }
        }
    }

    pub(super) fn step_mandate(&mut self, now: Instant, input: algorithm::Input<mandate::Message, Infallible>) {
        let mut out = Outbox::new();
        let scope = self.mandate_scope();
        let cx = context!(self, now, scope);
        let (peers, stamp, view) = (cx.peers, cx.stamp, cx.view);
        match (Self::GROUPED, input) {
            (true, input) => self.mandate.handle(&cx, input, &mut out),
            // A node without a group asks nobody for a mandate.
            (false, algorithm::Input::Fact(Fact::Leader { leader, term })) => {
                self.mandate.follow(&cx, Some((leader, term)), &mut out);
            }
            (false, algorithm::Input::Fact(Fact::NoLeader)) => self.mandate.follow(&cx, None, &mut out),
            (
                false,
                algorithm::Input::Message { .. }
                | algorithm::Input::Command(_)
                | algorithm::Input::Fact(
                    Fact::PeerUp(_) | Fact::PeerDown(_) | Fact::PeerReset(_) | Fact::View | Fact::Parent(_),
                )
                | algorithm::Input::Timeout,
            ) => {} // of a group
        }
        self.check(out.overflowed(), Halt::Outbox);
        let mut facts = Facts::new();
        if self.mandate.view() != view {
            self.check(facts.push(Fact::View).is_err(), Halt::Outbox);
        }
        for output in out.outputs() {
            match output {
                Output::Send { to, message } => {
                    self.submit(now, Submit { scope, to: to.and(peers), stamp }, Payload::Mandate(*message));
                }
                Output::Notify(notice) => {
                    self.tell(Notice::Role(*notice));
                    let fact = match *notice {
                        mandate::Notice::Gained { term } => Fact::Leader { leader: self.config.me, term },
                        mandate::Notice::LeaderChanged { leader, term } => Fact::Leader { leader, term },
                        mandate::Notice::Leaderless => Fact::NoLeader,
                        // Whoever leads still does; whoever does not is named by the next notice.
                        mandate::Notice::Losing { .. } | mandate::Notice::Degraded | mandate::Notice::Lost => continue,
                    };
                    self.check(facts.push(fact).is_err(), Halt::Outbox);
                }
            }
        }
        for &fact in &facts {
            self.step_mutex(now, algorithm::Input::Fact(fact));
            self.step_upper(now, algorithm::Input::Fact(fact));
        }
    }

    pub(super) fn step_mutex(&mut self, now: Instant, input: algorithm::Input<M::Message, mutex::Command>) {
        let mut out = Outbox::new();
        let scope = self.mutex.scope();
        let cx = context!(self, now, scope);
        let (peers, stamp) = (cx.peers, cx.stamp);
        let asked = matches!(input, algorithm::Input::Command(_));
        self.mutex.handle(&cx, input, &mut out);
        if asked {
            self.clock.hear(stamp); // it names the request, whether or not anybody is told of it
        }
        self.check(out.overflowed(), Halt::Outbox);
        for output in out.outputs() {
            match output {
                Output::Send { to, message } => {
                    self.submit(now, Submit { scope, to: to.and(peers), stamp }, Payload::Mutex(message.clone()));
                }
                Output::Notify(notice) => self.tell(Notice::Mutex(*notice)),
            }
        }
    }

    pub(super) fn step_upper(&mut self, now: Instant, input: algorithm::Input<U::Message, U::Command>) {
        if U::PRESENT {
            self.run_upper(now, |upper, cx, out| {
                upper.handle(cx, input, out);
                false
            });
        }
    }

    /// What stands on top says what it has to say, while there is room for it.
    pub(super) fn let_upper_speak(&mut self, now: Instant) {
        while U::PRESENT && self.link.letters() < upper::LETTERS_MAX && self.halted.is_none() {
            if !self.run_upper(now, U::speak) {
                return;
            }
        }
    }

    /// One step of what stands on top: whether it has spoken.
    fn run_upper(
        &mut self,
        now: Instant,
        step: impl FnOnce(&mut U, &Context<'_>, &mut Outbox<U::Message, U::Notice>) -> bool,
    ) -> bool {
        let mut out = Outbox::new();
        let scope = self.upper.scope();
        let cx = context!(self, now, scope);
        let (peers, stamp) = (cx.peers, cx.stamp);
        let spoken = step(&mut self.upper, &cx, &mut out);
        self.check(out.overflowed(), Halt::Outbox);
        for output in out.outputs() {
            match output {
                Output::Send { to, message } => {
                    self.submit(now, Submit { scope, to: to.and(peers), stamp }, Payload::Upper(message.clone()));
                }
                Output::Notify(notice) => {
                    let full = self.upper.told().is_none_or(|told| told.push_back(notice.clone()).is_err());
                    self.check(full, Halt::Notices);
                }
            }
        }
        spoken
    }

    /// Gives what a stage says to the link.
    fn submit(&mut self, now: Instant, post: Submit, message: Payload<E::Message, M::Message, U::Message>) {
        if post.to.is_empty() {
            return;
        }
        let delivery = message.delivery();
        if matches!(delivery, Delivery::Reliable | Delivery::Latest) {
            self.clock.hear(post.stamp); // the step spoke: its stamp is used up
        }
        let place = place!(self, now);
        if self.link.submit(&place, message, post).is_ok() {
            return;
        }
        match delivery {
            Delivery::Reliable => self.halt(Halt::Letters), // it was promised
            Delivery::Near | Delivery::Spread | Delivery::Latest => {
                self.counters.unsent = self.counters.unsent.saturating_add(1);
            }
        }
    }
}
