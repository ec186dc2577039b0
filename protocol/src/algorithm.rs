//! The one shape of every algorithm: an input and a context go in, messages and notices come out.

use crate::base::capacity::Candidate;
use crate::base::config::Timing;
use crate::base::ids::{FirstSlots, NodeId, NodeSet, RosterView};
use crate::base::lamport::LamportTime;
pub use crate::base::membership::Scope;
use crate::base::quorum::is_majority;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant};
use heapless::Vec;

/// A distributed algorithm as a state machine.
///
/// The laws every implementation keeps (`tests/laws` checks them): a step depends on nothing but state, context and input;
/// it has at most [`OUTPUTS_MAX`] outputs; a timeout before the deadline changes nothing; any message in any state is
/// defined.
pub trait Algorithm {
    /// What nodes send each other.
    type Message;
    /// What the application requests.
    type Command;
    /// What the application is notified of.
    type Notice;

    /// The roster that the algorithm's sets refer to.
    fn scope(&self) -> Scope;

    /// Takes one step.
    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<Self::Message, Self::Command>,
        out: &mut Outbox<Self::Message, Self::Notice>,
    );

    /// When to call [`Algorithm::handle`] with [`Input::Timeout`], if nothing happens before.
    fn deadline(&self) -> Option<Instant>;
}

/// What an algorithm knows of its node when it takes a step.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The time.
    pub now: Instant,
    /// How long this node has been up.
    pub uptime: Duration,
    /// This node.
    pub me: NodeId,
    /// This node as a candidate; `None` while it may not lead.
    pub candidate: Option<Candidate>,
    /// How long this node waits before it leads nobody but itself, as it has flapped: see `base/stability.rs`.
    pub hold: Duration,
    /// Whether this node lost its records not long ago: it does not know which terms it has used.
    pub quarantined: bool,
    /// The roster of the algorithm's scope.
    pub roster: RosterView<'a>,
    /// The peers the algorithm may send to: bidirectional neighbours, or the other members of the group.
    pub peers: NodeSet,
    /// The peers believed to be up. Belief, not knowledge: a silent peer may only be slow.
    pub up: NodeSet,
    /// The peers whose frames arrive without being relayed.
    pub near: NodeSet,
    /// How many nodes are in range, by estimate: those of `near`, and those for which this node has no slot.
    pub crowd: u32,
    /// Whether far more nodes are in range than this node has slots. Then announcements and heartbeats of leaders count
    /// from any of them.
    pub crowded: bool,
    /// Which peers receive the frames of which.
    pub audience: Audience<'a>,
    /// The peers that would lead better than this node, by the capacities they advertised.
    pub better: NodeSet,
    /// The best candidate among the peers that are up, by the capacities they advertised; unknown for neighbours.
    pub best_peer: Option<Candidate>,
    /// The members that count, this node included: all of them must agree before a lock is entered. Only a leader with a
    /// majority removes a member from the view, or adds it again.
    pub view: NodeSet,
    /// The Lamport time of this step, above every time observed.
    pub lamport: LamportTime,
    /// A random number, fresh in every step.
    pub random: u32,
    /// Timeouts and intervals.
    pub timing: &'a Timing,
}

impl Context<'_> {
    /// Returns whether `id` is a peer, not just one of a crowd.
    #[must_use]
    pub fn is_peer(&self, id: NodeId) -> bool {
        self.peers.meets(self.roster.set_of(id))
    }

    /// Returns whether these members of the group are enough to decide for all of it: any two such sets share a member.
    #[must_use]
    pub(crate) fn is_quorum(&self, members: NodeSet) -> bool {
        is_majority(members, self.roster.all())
    }
}

/// Which peers receive the frames of which other peers, as far as a node knows.
#[derive(Clone, Copy, Debug)]
pub enum Audience<'a> {
    /// Unknown: nobody is known to be reached.
    Unknown,
    /// All these are in range of each other.
    All(NodeSet),
    /// What each neighbour says, by slot: of the first slots only.
    Listed(&'a [FirstSlots]),
}

impl Audience<'_> {
    /// Returns the peers that receive the frames of one of `set`.
    #[must_use]
    pub fn of(&self, set: NodeSet) -> NodeSet {
        match self {
            Self::All(all) if !set.is_empty() => *all,
            Self::Unknown | Self::All(_) => NodeSet::EMPTY,
            Self::Listed(sets) => {
                set.slots().filter_map(|slot| sets.get(slot)).fold(NodeSet::EMPTY, |all, &set| all.with(set.into()))
            }
        }
    }

    /// Returns the peers of `near` that receive others of them; all of them, where that is unknown.
    #[must_use]
    pub fn among(&self, near: NodeSet) -> NodeSet {
        match self {
            Self::Unknown => near,
            Self::All(_) | Self::Listed(_) => self.of(near).and(near),
        }
    }
}

/// The event that makes an algorithm take a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<M, C> {
    /// A message arrived.
    Message {
        /// Its origin.
        from: NodeId,
        /// The Lamport time of the step that sent it; zero for unreliable messages.
        sent_at: LamportTime,
        /// The message.
        message: M,
    },
    /// A command of the application.
    Command(C),
    /// A conclusion of an earlier stage.
    Fact(Fact),
    /// The deadline has passed.
    Timeout,
}

impl<M, C> Input<M, C> {
    /// The same input with its message unwrapped; `None` where the message is another algorithm's.
    pub(crate) fn unwrap_as<A>(self, mine: impl Fn(M) -> Option<A>) -> Option<Input<A, C>> {
        Some(match self {
            Self::Message { from, sent_at, message } => Input::Message { from, sent_at, message: mine(message)? },
            Self::Command(command) => Input::Command(command),
            Self::Fact(fact) => Input::Fact(fact),
            Self::Timeout => Input::Timeout,
        })
    }
}

/// Takes one step of an algorithm that is one of several; `wrap` makes its messages those of any.
pub(crate) fn step_one_of<A: Algorithm<Message: Clone, Notice: Clone>, M>(
    one: &mut A,
    cx: &Context<'_>,
    input: Input<A::Message, A::Command>,
    out: &mut Outbox<M, A::Notice>,
    wrap: impl Fn(A::Message) -> M,
) {
    let mut own = Outbox::new();
    one.handle(cx, input, &mut own);
    forward(&own, out, wrap, |notice| notice);
}

/// Moves the outputs of one algorithm into those of the enum or composite it is part of.
pub(crate) fn forward<M: Clone, E: Clone, T, F>(
    own: &Outbox<M, E>,
    out: &mut Outbox<T, F>,
    wrap_message: impl Fn(M) -> T,
    wrap_notice: impl Fn(E) -> F,
) {
    for output in own.outputs() {
        match output {
            Output::Send { to, message } => out.send(*to, wrap_message(message.clone())),
            Output::Notify(notice) => out.notify(wrap_notice(notice.clone())),
        }
    }
    if own.overflowed() {
        out.overflow();
    }
}

/// A conclusion of an earlier stage, for the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// These peers can be reached from now on.
    PeerUp(NodeSet),
    /// These peers are suspected: unacknowledged messages to them are abandoned. A peer that was only slow comes up again,
    /// and must then be sent again whatever still matters.
    PeerDown(NodeSet),
    /// These peers have rebooted: what they knew and promised is gone, and messages to their earlier boot are abandoned. Where
    /// nobody missed them, [`Fact::PeerDown`] and [`Fact::PeerUp`] follow at once.
    PeerReset(NodeSet),
    /// The view changed: see [`Context::view`].
    View,
    /// The group has this leader.
    Leader {
        /// The leader.
        leader: NodeId,
        /// Its term.
        term: Term,
    },
    /// The group has no leader.
    NoLeader,
    /// The leader's heartbeats come from this member or neighbour, which is nearer to it: the parents form a tree with the leader as its
    /// root, give or take a heartbeat.
    Parent(NodeId),
}

/// An output of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<M, E> {
    /// A message to send.
    Send {
        /// The recipients.
        to: NodeSet,
        /// The message.
        message: M,
    },
    /// A notice for the application.
    Notify(E),
}

/// How many outputs one step may have.
pub const OUTPUTS_MAX: usize = 8;

/// The outputs of one step.
#[derive(Clone, Debug)]
pub struct Outbox<M, E> {
    outputs: Vec<Output<M, E>, OUTPUTS_MAX>,
    overflowed: bool,
}

impl<M, E> Outbox<M, E> {
    /// An empty outbox.
    #[must_use]
    pub const fn new() -> Self {
        Self { outputs: Vec::new(), overflowed: false }
    }

    /// Sends `message` to every node in `to`; an empty set is no output.
    pub fn send(&mut self, to: NodeSet, message: M) {
        if !to.is_empty() {
            self.push(Output::Send { to, message });
        }
    }

    /// Notifies the application.
    pub fn notify(&mut self, notice: E) {
        self.push(Output::Notify(notice));
    }

    /// Records that an output found no room.
    pub const fn overflow(&mut self) {
        self.overflowed = true;
    }

    /// Returns whether a step had more than [`OUTPUTS_MAX`] outputs: a broken bound, on which the node halts.
    #[must_use]
    pub const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// The outputs, in order.
    #[must_use]
    pub fn outputs(&self) -> &[Output<M, E>] {
        &self.outputs
    }

    /// The notices among the outputs, in order.
    pub(crate) fn notices(&self) -> impl Iterator<Item = &E> {
        self.outputs.iter().filter_map(|output| match output {
            Output::Notify(notice) => Some(notice),
            Output::Send { .. } => None,
        })
    }

    fn push(&mut self, output: Output<M, E>) {
        self.overflowed |= self.outputs.push(output).is_err();
    }
}

impl<M, E> Default for Outbox<M, E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M, E> IntoIterator for Outbox<M, E> {
    type Item = Output<M, E>;
    type IntoIter = heapless::vec::IntoIter<Output<M, E>, OUTPUTS_MAX, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.outputs.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outbox_records_that_it_overflowed() {
        let mut out = Outbox::<(), u8>::new();
        for notice in 0..=u8::try_from(OUTPUTS_MAX).unwrap_or(0) {
            assert!(!out.overflowed());
            out.notify(notice);
        }
        assert!(out.overflowed());
        assert_eq!(out.outputs().len(), OUTPUTS_MAX);
    }

    #[test]
    fn a_message_to_nobody_is_no_output() {
        let mut out = Outbox::<(), ()>::new();
        out.send(NodeSet::EMPTY, ());
        assert!(out.outputs().is_empty());
    }
}
