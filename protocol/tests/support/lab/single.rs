//! One state machine by itself: input by input, what it sends is compared whole.

use super::START;
use crate::support::context::context;
use protocol::algorithm::{Algorithm, Audience, Context, Fact, Input, Outbox, Output};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::ids::{FirstSlots, Roster};
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::wire;
use protocol::{Duration, Instant, NodeId, NodeSet};

/// A candidate of this id and this capacity.
pub fn candidate(capacity: u16, id: u32) -> Candidate {
    Candidate { capacity: Capacity::new(capacity), id: NodeId(id) }
}

/// The term of this number that a node of this id chose.
pub fn term(number: u32, by: u32) -> Term {
    Term { number, by: NodeId(by) }
}

/// The slots of these ids in a group of 1, 2, ...
pub fn members(ids: &[u32]) -> NodeSet {
    ids.iter().fold(NodeSet::EMPTY, |set, &id| set.with(NodeSet::slot(id as usize - 1)))
}

/// A state machine and its surroundings.
pub struct Single<A: Algorithm> {
    pub algorithm: A,
    pub roster: Roster<8>,
    pub now: Instant,
    /// Its capacity to lead.
    pub capacity: u16,
    pub notices: Vec<A::Notice>,
    pub random: u32,
    /// Which nodes each of its neighbours reaches, by slot.
    pub audience: Vec<FirstSlots>,
    /// Whether far more nodes are in range than it knows.
    pub crowded: bool,
    /// How long it waits before it leads nobody but itself.
    pub hold: Duration,
    /// Whether it lost its records.
    pub quarantined: bool,
    me: NodeId,
    down: NodeSet,
    time: u64,
}

/// What a step sends, and to which slots.
pub type Sends<A> = Vec<(NodeSet, <A as Algorithm>::Message)>;

impl<A: Algorithm<Message: Clone, Notice: Clone>> Single<A> {
    pub fn new(me: u32, roster: Roster<8>, algorithm: A) -> Self {
        let now = START;
        let (notices, down) = (Vec::new(), NodeSet::EMPTY);
        let (audience, me) = (Vec::new(), NodeId(me));
        let (crowded, hold, quarantined) = (false, Duration::ZERO, false);
        let (random, capacity, time) = (1 << 31, 500, 0);
        Self { algorithm, roster, now, capacity, notices, random, audience, crowded, hold, quarantined, me, down, time }
    }

    /// Takes one step; returns all it asks for.
    pub fn step(&mut self, input: Input<A::Message, A::Command>) -> Vec<Output<A::Message, A::Notice>> {
        self.time += 1;
        let cx = context(self.roster.view(), self.me);
        let better = cx.peers.slots().filter(|&slot| self.roster.view().id_of(slot) > Some(self.me));
        let cx = Context {
            now: self.now,
            uptime: self.now.since(Instant::ZERO),
            candidate: Some(candidate(self.capacity, self.me.0)),
            up: cx.peers.without(self.down),
            better: better.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot))),
            lamport: LamportTime(self.time),
            random: self.random,
            audience: Audience::Listed(&self.audience),
            crowded: self.crowded,
            hold: self.hold,
            quarantined: self.quarantined,
            ..cx
        };
        let mut out = Outbox::new();
        self.algorithm.handle(&cx, input, &mut out);
        assert!(!out.overflowed());
        let outputs: Vec<_> = out.into_iter().collect();
        let notices = outputs
            .iter()
            .filter_map(|output| if let Output::Notify(notice) = output { Some(notice.clone()) } else { None });
        self.notices.extend(notices);
        outputs
    }

    /// Takes one step; returns what it sends.
    pub fn sends(&mut self, input: Input<A::Message, A::Command>) -> Sends<A> {
        let sent = |output| if let Output::Send { to, message } = output { Some((to, message)) } else { None };
        self.step(input).into_iter().filter_map(sent).collect()
    }

    pub fn command(&mut self, command: A::Command) -> Sends<A> {
        self.sends(Input::Command(command))
    }

    pub fn receive(&mut self, from: u32, message: A::Message) -> Sends<A> {
        self.sends(self.input(from, message))
    }

    /// The input of a message from this node.
    pub fn input(&self, from: u32, message: A::Message) -> Input<A::Message, A::Command> {
        Input::Message { from: NodeId(from), sent_at: LamportTime(self.time), message }
    }

    pub fn fact(&mut self, fact: Fact) -> Sends<A> {
        self.sends(Input::Fact(fact))
    }

    /// Begins to suspect these slots.
    pub fn suspect(&mut self, peers: NodeSet) -> Sends<A> {
        self.down = self.down.with(peers);
        self.fact(Fact::PeerDown(peers))
    }

    /// Waits until the next deadline.
    pub fn wait(&mut self) -> Sends<A> {
        self.now = self.now.max(self.algorithm.deadline().expect("it waits for something"));
        self.sends(Input::Timeout)
    }

    /// Lets time pass, waking the machine at every deadline; returns all it asks for.
    pub fn run(&mut self, span: Duration) -> Vec<Output<A::Message, A::Notice>> {
        let end = self.now.after(span);
        let mut outputs = Vec::new();
        while let Some(at) = self.algorithm.deadline().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            outputs.extend(self.step(Input::Timeout));
        }
        self.now = end;
        outputs
    }
}

/// The names of what was sent, and to which slots.
pub fn names<M: wire::Payload>(sends: Vec<(NodeSet, M)>) -> Vec<(NodeSet, &'static str)> {
    sends.into_iter().map(|(to, message)| (to, message.name())).collect()
}
