//! Random histories of one node, and the laws every algorithm keeps in all of them.
//!
//! A history has messages that could never be sent, facts that contradict each other, timeouts early and late. A message
//! is any bytes that decode, most of them small numbers, so that its terms, ids, slots and tags are likely to matter.

use crate::support::context::{context, roster};
use crate::support::storms;
use proptest::prelude::*;
use protocol::algorithm::{Algorithm, Audience, Context, Fact, Input, Outbox, Output};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::lamport::{LamportClock, LamportTime};
use protocol::base::membership::Scope;
use protocol::base::term::Term;
use protocol::wire::{Kind, Payload};
use protocol::{Duration, Instant, NodeId, NodeSet};
use std::fmt::Debug;

/// One event of a history.
#[derive(Clone, Debug)]
pub(crate) struct Event<C> {
    /// How long after the last event.
    after: Duration,
    random: u32,
    capacity: Option<u16>,
    /// The view from then on, if that is what the event is about.
    view: NodeSet,
    /// A message is one of several kinds, and bytes.
    input: Input<(usize, Vec<u8>), C>,
}

const PEERS: u32 = 4;

/// How many deadlines may be due at one moment.
const DEADLINES_MAX: usize = 32;

pub(crate) fn node() -> impl Strategy<Value = NodeId> {
    (1..=PEERS + 1).prop_map(NodeId)
}

pub(crate) fn term() -> impl Strategy<Value = Term> {
    (0..5_u32, node()).prop_map(|(number, by)| Term { number, by })
}

pub(crate) fn set() -> impl Strategy<Value = NodeSet> {
    (0..PEERS, 0..PEERS).prop_map(|(a, b)| NodeSet::slot(a as usize).with(NodeSet::slot(b as usize)))
}

/// The facts of a failure detector.
pub(crate) fn peer_fact() -> impl Strategy<Value = Fact> {
    prop_oneof![set().prop_map(Fact::PeerUp), set().prop_map(Fact::PeerDown), set().prop_map(Fact::PeerReset)]
}

/// The facts of a failure detector and of an election.
pub(crate) fn any_fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        4 => peer_fact(),
        1 => Just(Fact::View),
        2 => (node(), term()).prop_map(|(leader, term)| Fact::Leader { leader, term }),
        1 => term().prop_map(|term| Fact::Leader { leader: NodeId(1), term }),
        1 => Just(Fact::NoLeader),
        1 => node().prop_map(Fact::Parent),
    ]
}

/// A value as it travels.
pub(crate) fn encoded<T: serde::Serialize>(value: T) -> Vec<u8> {
    postcard::to_vec::<T, 8>(&value).unwrap().to_vec()
}

/// How many messages an algorithm has at most.
const TAGS: u8 = 12;

/// Bytes that begin with a tag and go on with such pieces.
pub(crate) fn bytes(piece: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (0..TAGS, proptest::collection::vec(piece, 1..16)).prop_map(|(tag, rest)| {
        let mut bytes = vec![tag];
        bytes.extend(rest.into_iter().flatten());
        bytes
    })
}

/// A history in which others send such messages and the application gives such commands, so often.
pub(crate) fn history<C: Debug + Clone>(
    message: impl Strategy<Value = Vec<u8>>,
    (often, command): (u32, impl Strategy<Value = C>),
    fact: impl Strategy<Value = Fact>,
) -> impl Strategy<Value = Vec<Event<C>>> {
    // A time that is likely to be used elsewhere in the history.
    let sent_at = (0..24_u64).prop_map(LamportTime);
    let message = (2..=PEERS + 1, sent_at, any::<u8>(), message).prop_map(|(from, sent_at, kind, bytes)| {
        Input::Message { from: NodeId(from), sent_at, message: (kind.into(), bytes) }
    });
    let input = prop_oneof![
        6 => message,
        3 => Just(Input::Timeout),
        often => command.prop_map(Input::Command),
        1 => fact.prop_map(Input::Fact),
    ];
    let after = prop_oneof![Just(0), 0..200_000_u32, 0..4_000_000_u32].prop_map(Duration::from_micros);
    let event = (after, any::<u32>(), proptest::option::of(0..6_u16), set(), input)
        .prop_map(|(after, random, capacity, view, input)| Event { after, random, capacity, view, input });
    proptest::collection::vec(event, 1..40)
}

/// The message of this kind that the bytes begin with, if there is one.
fn decode<M: Payload>(kind: Kind, bytes: &[u8]) -> Option<M> {
    (1..=bytes.len()).find_map(|len| M::decode(kind, &bytes[..len]))
}

/// The tags of a kind's messages.
fn tags<M: Payload>(kind: Kind) -> Vec<u8> {
    (0..TAGS).filter(|&tag| decode::<M>(kind, &[&[tag][..], &[0; 40]].concat()).is_some()).collect()
}

/// The settings of every property.
pub(crate) fn cases(all: u32) -> ProptestConfig {
    let cases = if storms::full() { all } else { all / 2 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// One step: the machine after it, when it was, its input and its outputs.
pub(crate) struct Taken<'a, A: Algorithm> {
    pub(crate) after: &'a A,
    pub(crate) now: Instant,
    pub(crate) input: &'a Input<A::Message, A::Command>,
    pub(crate) outputs: &'a [Output<A::Message, A::Notice>],
}

/// Which laws a machine is held to.
pub(crate) struct Laws<'a> {
    /// The kinds of its messages.
    pub(crate) kinds: &'a [Kind],
    /// Whether a duplicate message repeats no notice: the link lets none pass, but not every message is reliable.
    pub(crate) duplicates: bool,
}

/// Drives `machine` through `history` and checks the laws, and one more on every step.
pub(crate) fn check<A>(
    mut machine: A,
    laws: &Laws<'_>,
    history: Vec<Event<A::Command>>,
    mut also: impl FnMut(Taken<'_, A>) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError>
where
    A: Algorithm<Message: Payload + PartialEq + Debug, Command: Clone, Notice: PartialEq + Debug>,
    A: Clone + PartialEq + Debug,
{
    let me = NodeId(1);
    let grouped = machine.scope() == Scope::Group;
    let roster = roster::<5>((2..=PEERS + 1).chain(grouped.then_some(1)));
    let peers = roster.view().all().without(roster.view().set_of(me));
    let (mut up, mut view, mut clock) = (peers, roster.view().all(), LamportClock::default());
    let tags: Vec<_> = laws.kinds.iter().map(|&kind| (kind, tags::<A::Message>(kind))).collect();
    let mut now = Instant::from_micros(1);
    for event in history {
        let input = match event.input {
            Input::Message { from, sent_at, message: (kind, mut bytes) } => {
                let (kind, tags) = &tags[kind % tags.len()];
                bytes[0] = tags[usize::from(bytes[0]) % tags.len()];
                let nested = [&[bytes[0], bytes[1] % 3], &bytes[2..]].concat(); // a tag within the message
                let Some(message) = decode(*kind, &bytes).or_else(|| decode(*kind, &nested)) else { continue };
                clock.observe(sent_at);
                Input::Message { from, sent_at, message }
            }
            Input::Command(command) => Input::Command(command),
            Input::Fact(fact) => Input::Fact(fact),
            Input::Timeout => Input::Timeout,
        };
        now = now.after(event.after);
        match input {
            Input::Fact(Fact::PeerDown(set)) => up = up.without(set),
            Input::Fact(Fact::PeerUp(set)) => up = up.with(set),
            Input::Fact(Fact::View) => view = event.view,
            _ => {}
        }
        let cx = Context {
            now,
            uptime: now.since(Instant::ZERO),
            candidate: event.capacity.map(|capacity| Candidate { capacity: Capacity::new(capacity), id: me }),
            peers,
            up,
            near: peers,
            crowd: peers.len(),
            crowded: false,
            hold: Duration::ZERO,
            quarantined: false,
            audience: Audience::Unknown,
            view,
            lamport: clock.tick(),
            random: event.random,
            ..context(roster.view(), me)
        };
        let step = |machine: &mut A, input| {
            let mut out = Outbox::new();
            machine.handle(&cx, input, &mut out);
            out
        };

        let mut twin = machine.clone();
        let out = step(&mut machine, input.clone());
        let again = step(&mut twin, input.clone());
        prop_assert!(!out.overflowed(), "a step asks for no more than it may");
        prop_assert_eq!(out.outputs(), again.outputs(), "same state, same input, same output");
        prop_assert_eq!(&machine, &twin);
        also(Taken { after: &machine, now, input: &input, outputs: out.outputs() })?;

        if laws.duplicates && matches!(input, Input::Message { .. }) {
            let duplicate = step(&mut twin, input);
            let repeats = |output: &Output<_, _>| matches!(output, Output::Notify(_)) && out.outputs().contains(output);
            prop_assert!(!duplicate.outputs().iter().any(repeats), "a duplicate message repeats no notice");
        }

        let early = |machine: &A| machine.deadline().is_none_or(|deadline| deadline > now);
        let mut prompt = machine.clone();
        let met = (0..DEADLINES_MAX).any(|_| {
            step(&mut prompt, Input::Timeout);
            early(&prompt)
        });
        prop_assert!(met, "a deadline that is met again and again is still due: {:?}", prompt);

        if early(&machine) {
            let mut twin = machine.clone();
            let out = step(&mut twin, Input::Timeout);
            prop_assert!(out.outputs().is_empty(), "an early timeout asks for nothing: {:?}", out.outputs());
            prop_assert_eq!(&machine, &twin, "an early timeout changes nothing");
        }
    }
    Ok(())
}
