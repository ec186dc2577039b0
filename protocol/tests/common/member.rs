//! One member of a group by itself: told this or that, step by step.

use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Stamp, Term};
use protocol::election::{Command, Election};
use protocol::group::Roster;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};

/// How many members the group has, named from 1 on.
pub const MEMBERS: u32 = 5;

/// A candidate of this name, worth as much as all others.
pub fn candidate(name: u32) -> Standing {
    Standing { capacity: Capacity::new(500), id: NodeId(name) }
}

/// The places of these names.
pub fn places(names: &[u32]) -> NodeSet {
    names.iter().fold(NodeSet::EMPTY, |set, &name| set.with(NodeSet::slot(name as usize - 1)))
}

/// The term a member of this name chose.
pub fn term(number: u32, name: u32) -> Term {
    Term { number, by: NodeId(name) }
}

/// A member and what it believes of the others.
pub struct Member<E: Election> {
    pub election: E,
    name: u32,
    down: NodeSet,
    now: Instant,
}

impl<E: Election> Member<E> {
    pub fn new(name: u32, election: E) -> Self {
        Self { election, name, down: NodeSet::EMPTY, now: Instant::from_micros(1) }
    }

    /// Takes one step. What it says, and to whom.
    fn step(&mut self, input: Input<E::Message, Command>) -> Vec<(NodeSet, E::Message)> {
        let mut roster = Roster::<8>::new();
        for name in 1..=MEMBERS {
            roster.insert(NodeId(name));
        }
        let me = places(&[self.name]);
        let peers = roster.view().all().without(me);
        let cx = Context {
            now: self.now,
            uptime: Span::from_secs(60),
            me: NodeId(self.name),
            standing: Some(candidate(self.name)),
            roster: roster.view(),
            peers,
            up: peers.without(self.down),
            near: peers,
            better: peers.without(NodeSet::first(self.name as usize)),
            rival: None,
            view: roster.view().all(),
            stamp: Stamp(1),
            random: 1 << 31,
            timing: &Timing::RADIO,
        };
        let mut out = Outbox::new();
        self.election.handle(&cx, input, &mut out);
        let said = |output| if let Output::Send { to, message } = output { Some((to, message)) } else { None };
        out.into_iter().filter_map(said).collect()
    }

    /// Is told to start an election.
    pub fn call(&mut self) -> Vec<(NodeSet, E::Message)> {
        self.step(Input::Command(Command::Call))
    }

    /// Hears another say something.
    pub fn hear(&mut self, from: u32, message: E::Message) -> Vec<(NodeSet, E::Message)> {
        self.step(Input::Message { from: NodeId(from), stamp: Stamp(0), message })
    }

    /// Begins to suspect these.
    pub fn lose(&mut self, names: &[u32]) -> Vec<(NodeSet, E::Message)> {
        self.down = self.down.with(places(names));
        self.step(Input::Fact(Fact::PeerDown(places(names))))
    }

    /// Hears that these have started anew.
    pub fn restart(&mut self, names: &[u32]) -> Vec<(NodeSet, E::Message)> {
        self.step(Input::Fact(Fact::PeerReset(places(names))))
    }

    /// Waits until there is something to do.
    pub fn wait(&mut self) -> Vec<(NodeSet, E::Message)> {
        self.now = self.now.max(self.election.deadline().expect("it waits for something"));
        self.step(Input::Timeout)
    }
}
