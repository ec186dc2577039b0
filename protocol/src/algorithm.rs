//! The one shape every algorithm has: an input and what the node knows go in, what to send and tell comes out.

use crate::capacity::Standing;
use crate::clock::{Stamp, Term};
use crate::config::Timing;
use crate::group::{NodeId, NodeSet, RosterView};
use crate::time::{Instant, Span};
use heapless::Vec;

/// A distributed algorithm as a state machine.
///
/// The laws every implementation keeps (`tests/laws.rs` holds them to it):
/// a step depends on nothing but state, context and input; it says at most [`OUTPUTS_MAX`] things; a timeout before
/// the deadline changes nothing; any message in any state is defined.
pub trait Algorithm {
    /// What nodes say to each other.
    type Message;
    /// What the application asks.
    type Command;
    /// What the application is told.
    type Notice;

    /// Whether it may ever work on the group. Where nothing of a node does, the node links neither the detector nor the
    /// mandate of a quorum: a radio node has no flash for what it never does.
    const GROUP: bool = true;

    /// Whom the algorithm's sets are of.
    fn scope(&self) -> Scope;

    /// Takes one step.
    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<Self::Message, Self::Command>,
        out: &mut Outbox<Self::Message, Self::Notice>,
    );

    /// When to be called with [`Input::Timeout`], if nothing happens before.
    fn deadline(&self) -> Option<Instant>;
}

/// Which roster an algorithm works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The nodes in radio range, as they come and go; different at every node.
    Neighbours,
    /// The configured group, the same at every node.
    Group,
    /// Nobody: it speaks to no one.
    Nobody,
}

/// What a node knows when it takes a step.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The time.
    pub now: Instant,
    /// How long this node has been up.
    pub uptime: Span,
    /// This node.
    pub me: NodeId,
    /// This node as a candidate; `None` while it may not lead.
    pub standing: Option<Standing>,
    /// The roster of the algorithm's scope.
    pub roster: RosterView<'a>,
    /// The others the algorithm may speak to: links known to work both ways, or the members of the group.
    pub peers: NodeSet,
    /// Those of them that are believed to be up. Belief, not knowledge: a silent peer may only be slow.
    pub up: NodeSet,
    /// Those of them whose frames arrive without being passed on.
    pub near: NodeSet,
    /// Those of them that would lead better than this node, as far as they have told.
    pub better: NodeSet,
    /// The best of those that are up, as far as they have told; of neighbours nothing is known.
    pub rival: Option<Standing>,
    /// Everybody who counts, this node included: what must agree before a lock is entered. Only a leader with a majority
    /// behind it takes a member out of the view, or back in.
    pub view: NodeSet,
    /// The stamp of this step, above every stamp heard.
    pub stamp: Stamp,
    /// A number nobody can foresee, new in every step.
    pub random: u32,
    /// How long things take.
    pub timing: &'a Timing,
}

/// What makes an algorithm take a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<M, C> {
    /// A node said something.
    Message {
        /// Who.
        from: NodeId,
        /// When, by its Lamport clock; zero for what the link does not carry.
        stamp: Stamp,
        /// What.
        message: M,
    },
    /// The application asks for something.
    Command(C),
    /// An earlier stage concluded something.
    Fact(Fact),
    /// Time has passed.
    Timeout,
}

impl<M, C> Input<M, C> {
    /// The same with its message unwrapped; `None` where it is another algorithm's.
    pub(crate) fn unwrap_as<A>(self, mine: impl Fn(M) -> Option<A>) -> Option<Input<A, C>> {
        Some(match self {
            Self::Message { from, stamp, message } => Input::Message { from, stamp, message: mine(message)? },
            Self::Command(command) => Input::Command(command),
            Self::Fact(fact) => Input::Fact(fact),
            Self::Timeout => Input::Timeout,
        })
    }
}

/// Takes one step of an algorithm that is one of several, its messages wrapped as those of any.
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

/// Takes what one of several has asked for into what they ask for together.
pub(crate) fn forward<M: Clone, E: Clone, T, F>(
    own: &Outbox<M, E>,
    out: &mut Outbox<T, F>,
    say: impl Fn(M) -> T,
    tell: impl Fn(E) -> F,
) {
    for output in own.outputs() {
        match output {
            Output::Send { to, message } => out.send(*to, say(message.clone())),
            Output::Notify(notice) => out.notify(tell(notice.clone())),
        }
    }
    if own.overflowed() {
        out.overflow();
    }
}

/// What earlier stages conclude, told to later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// These peers can be spoken to from now on.
    PeerUp(NodeSet),
    /// These peers cannot be spoken to any more, as far as is known: letters they have not acknowledged are given up.
    /// If they are only slow they will be up again, and must then be told again whatever still matters.
    PeerDown(NodeSet),
    /// These peers have started anew: what they knew and promised is gone.
    PeerReset(NodeSet),
    /// Other members count than before: see [`Context::view`].
    View,
    /// The group has this leader.
    Leader {
        /// Who.
        leader: NodeId,
        /// Under which term.
        term: Term,
    },
    /// The group has no leader.
    NoLeader,
    /// The leader's news come from this member, which hears them sooner: all members together are a tree with the leader
    /// as its root, give or take a beat.
    Parent(NodeId),
}

/// What a step asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<M, E> {
    /// Say this to these.
    Send {
        /// To whom.
        to: NodeSet,
        /// What.
        message: M,
    },
    /// Tell the application this.
    Notify(E),
}

/// The most one step may ask for.
pub const OUTPUTS_MAX: usize = 8;

/// What one step has asked for so far.
#[derive(Clone, Debug)]
pub struct Outbox<M, E> {
    outputs: Vec<Output<M, E>, OUTPUTS_MAX>,
    overflowed: bool,
}

impl<M, E> Outbox<M, E> {
    /// An outbox that was asked for nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { outputs: Vec::new(), overflowed: false }
    }

    /// Asks for `message` to be said to everyone in `to`; to nobody is not worth asking for.
    pub fn send(&mut self, to: NodeSet, message: M) {
        if !to.is_empty() {
            self.push(Output::Send { to, message });
        }
    }

    /// Asks for the application to be told.
    pub fn notify(&mut self, notice: E) {
        self.push(Output::Notify(notice));
    }

    /// Says that more was asked for than there is room to say.
    pub const fn overflow(&mut self) {
        self.overflowed = true;
    }

    /// Whether a step asked for more than [`OUTPUTS_MAX`]: a broken bound, on which the node stops.
    #[must_use]
    pub const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// What was asked for, in order.
    #[must_use]
    pub fn outputs(&self) -> &[Output<M, E>] {
        &self.outputs
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
    fn an_outbox_remembers_that_it_overflowed() {
        let mut out = Outbox::<(), u8>::new();
        for notice in 0..=u8::try_from(OUTPUTS_MAX).unwrap_or(0) {
            assert!(!out.overflowed());
            out.notify(notice);
        }
        assert!(out.overflowed());
        assert_eq!(out.outputs().len(), OUTPUTS_MAX);
    }

    #[test]
    fn nothing_is_said_to_nobody() {
        let mut out = Outbox::<(), ()>::new();
        out.send(NodeSet::EMPTY, ());
        assert!(out.outputs().is_empty());
    }
}
