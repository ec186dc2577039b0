//! Random histories of one node, and the laws every algorithm keeps in all of them.

use proptest::prelude::*;
use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output, Scope};
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Clock, Stamp, Term};
use protocol::group::Roster;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::fmt::Debug;

/// One event of a history: how long after the last, with which draw, at which capacity, and what.
#[derive(Clone, Debug)]
pub struct Event<M, C> {
    after: Span,
    random: u32,
    capacity: Option<u16>,
    /// Who counts from then on, if that is what the event is about.
    view: NodeSet,
    input: Input<M, C>,
}

impl<M, C> Event<M, C> {
    /// The same event, if it is no message or one that can be read.
    pub fn read<N>(self, read: impl FnOnce(M) -> Option<N>) -> Option<Event<N, C>> {
        let Self { after, random, capacity, view, input } = self;
        let input = match input {
            Input::Message { from, stamp, message } => Input::Message { from, stamp, message: read(message)? },
            Input::Command(command) => Input::Command(command),
            Input::Fact(fact) => Input::Fact(fact),
            Input::Timeout => Input::Timeout,
        };
        Some(Event { after, random, capacity, view, input })
    }
}

const PEERS: u32 = 4;

/// How many deadlines may be due at one moment.
const DEADLINES_MAX: usize = 32;

pub fn node() -> impl Strategy<Value = NodeId> {
    (1..=PEERS + 1).prop_map(NodeId)
}

pub fn term() -> impl Strategy<Value = Term> {
    (0..5_u32, node()).prop_map(|(number, by)| Term { number, by })
}

pub fn standing() -> impl Strategy<Value = Standing> {
    (0..6_u16, node()).prop_map(|(capacity, id)| Standing { capacity: Capacity::new(capacity * 1_000), id })
}

pub fn set() -> impl Strategy<Value = NodeSet> {
    (0..PEERS, 0..PEERS).prop_map(|(a, b)| NodeSet::slot(a as usize).with(NodeSet::slot(b as usize)))
}

/// A stamp that is likely to be used elsewhere in the history.
pub fn stamp() -> impl Strategy<Value = Stamp> {
    (0..24_u64).prop_map(Stamp)
}

/// What the detector may tell.
pub fn news() -> impl Strategy<Value = Fact> {
    prop_oneof![set().prop_map(Fact::PeerUp), set().prop_map(Fact::PeerDown), set().prop_map(Fact::PeerReset)]
}

/// What makes an algorithm take a step.
pub type Told<A> = Input<<A as Algorithm>::Message, <A as Algorithm>::Command>;

/// A history in which others say such messages and the application asks such things, so often.
pub fn history<M: Debug + Clone, C: Debug + Clone>(
    message: impl Strategy<Value = M>,
    (often, command): (u32, impl Strategy<Value = C>),
    fact: impl Strategy<Value = Fact>,
) -> impl Strategy<Value = Vec<Event<M, C>>> {
    let said = (2..=PEERS + 1, stamp(), message).prop_map(|(from, stamp, message)| Input::Message {
        from: NodeId(from),
        stamp,
        message,
    });
    let input = prop_oneof![
        6 => said,
        3 => Just(Input::Timeout),
        often => command.prop_map(Input::Command),
        1 => fact.prop_map(Input::Fact),
    ];
    let after = prop_oneof![Just(0), 0..200_000_u32, 0..4_000_000_u32].prop_map(Span::from_micros);
    let event = (after, any::<u32>(), proptest::option::of(0..6_000_u16), set(), input)
        .prop_map(|(after, random, capacity, view, input)| Event { after, random, capacity, view, input });
    proptest::collection::vec(event, 1..40)
}

/// Drives `algorithm` through `history` and holds it to the laws.
pub fn hold<A>(algorithm: A, history: Vec<Event<A::Message, A::Command>>) -> Result<(), TestCaseError>
where
    A: Algorithm<Message: Clone + PartialEq + Debug, Command: Clone, Notice: PartialEq + Debug>,
    A: Clone + PartialEq + Debug,
{
    hold_also(algorithm, history, |_, _, _, _| Ok(()))
}

/// The same, and to one more law: `also` is shown every step, as the node after it, when it was, what made the node take
/// it, and what it asked for.
pub fn hold_also<A>(
    mut algorithm: A,
    history: Vec<Event<A::Message, A::Command>>,
    mut also: impl FnMut(&A, Instant, &Told<A>, &[Output<A::Message, A::Notice>]) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError>
where
    A: Algorithm<Message: Clone + PartialEq + Debug, Command: Clone, Notice: PartialEq + Debug>,
    A: Clone + PartialEq + Debug,
{
    let me = NodeId(1);
    let mut roster = Roster::<5>::new();
    for peer in 2..=PEERS + 1 {
        roster.insert(NodeId(peer));
    }
    let peers = roster.view().all();
    if algorithm.scope() == Scope::Group {
        roster.insert(me);
    }
    let (mut up, mut view, mut clock) = (peers, roster.view().all(), Clock::default());
    let mut now = Instant::from_micros(1);
    for event in history {
        now = now.after(event.after);
        let standing = event.capacity.map(|capacity| Standing { capacity: Capacity::new(capacity), id: me });
        match event.input {
            Input::Fact(Fact::PeerDown(set)) => up = up.without(set),
            Input::Fact(Fact::PeerUp(set)) => up = up.with(set),
            Input::Fact(Fact::View) => view = event.view,
            Input::Message { stamp, .. } => clock.hear(stamp),
            _ => {}
        }
        let stamp = clock.tick();
        let cx = Context {
            now,
            uptime: now.since(Instant::ZERO),
            me,
            standing,
            roster: roster.view(),
            peers,
            up,
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view,
            stamp,
            random: event.random,
            timing: &Timing::RADIO,
        };
        let step = |algorithm: &mut A, cx: &Context<'_>, input| {
            let mut out = Outbox::new();
            algorithm.handle(cx, input, &mut out);
            out
        };

        let mut twin = algorithm.clone();
        let said = step(&mut algorithm, &cx, event.input.clone());
        let again = step(&mut twin, &cx, event.input.clone());
        prop_assert!(!said.overflowed(), "a step says no more than it may");
        prop_assert_eq!(said.outputs(), again.outputs(), "same state, same input, same output");
        prop_assert_eq!(&algorithm, &twin);
        also(&algorithm, now, &event.input, said.outputs())?;

        if matches!(event.input, Input::Message { .. }) {
            let repeated = step(&mut twin, &cx, event.input);
            let told_again =
                |output: &Output<_, _>| matches!(output, Output::Notify(_)) && said.outputs().contains(output);
            prop_assert!(!repeated.outputs().iter().any(told_again), "a repeated message tells nothing twice");
        }

        let early = |algorithm: &A| algorithm.deadline().is_none_or(|deadline| deadline > now);
        let mut patient = algorithm.clone();
        let met = (0..DEADLINES_MAX).any(|_| {
            step(&mut patient, &cx, Input::Timeout);
            early(&patient)
        });
        prop_assert!(met, "a deadline that is met again and again is still due: {:?}", patient);

        if early(&algorithm) {
            let mut twin = algorithm.clone();
            let said = step(&mut twin, &cx, Input::Timeout);
            prop_assert!(said.outputs().is_empty(), "an early timeout says nothing: {:?}", said.outputs());
            prop_assert_eq!(&algorithm, &twin, "an early timeout changes nothing");
        }
    }
    Ok(())
}
