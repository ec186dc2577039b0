//! Laws that hold for every lock, whatever is said to it.
//!
//! Each is driven through random histories, as elections are in `laws.rs`: messages that could never be said, facts that
//! contradict each other, commands that cannot be, timeouts early and late.

use proptest::prelude::*;
use protocol::algorithm::{Algorithm, Context, Fact, Input, OUTPUTS_MAX, Outbox, Output};
use protocol::clock::{Stamp, Term};
use protocol::group::Roster;
use protocol::link::LETTER_MAX;
use protocol::mutex::{AnyMessage, AnyMutex, Command, LockId, Mutex, Notice};
use protocol::wire::{FRAME_MAX, Kind, Message};
use protocol::{Instant, NodeId, NodeSet, Span, Timing};

/// What happens, before it is known to which lock. A message is bytes that some of them may understand.
#[derive(Clone, Debug)]
enum Happening {
    Said { from: NodeId, stamp: Stamp, bytes: Vec<u8> },
    Asked(Command),
    Concluded(Fact),
    Passed,
}

/// One event of a history: how long after the last, with which draw, and what.
#[derive(Clone, Debug)]
struct Event {
    after: Span,
    random: u32,
    what: Happening,
}

/// This node is the first of them.
const MEMBERS: u32 = 4;

fn node() -> impl Strategy<Value = NodeId> {
    (1..=MEMBERS).prop_map(NodeId)
}

fn set() -> impl Strategy<Value = NodeSet> {
    (1..MEMBERS, 1..MEMBERS).prop_map(|(a, b)| NodeSet::slot(a as usize).with(NodeSet::slot(b as usize)))
}

/// A lock with a small number, as random bytes name one.
fn lock() -> impl Strategy<Value = LockId> {
    (0..6_u8).prop_map(|number| postcard::from_bytes(&[number]).unwrap())
}

fn command() -> impl Strategy<Value = Command> {
    let lease = prop_oneof![Just(Span::ZERO), Just(Span::from_micros(5)), (1..5_001_u32).prop_map(Span::from_millis)];
    (0..8, lock(), lease).prop_map(|(which, lock, lease)| match which {
        0..4 => Command::Acquire { lock, lease },
        4 => Command::Try { lock, lease },
        5 => Command::Renew { lock, lease },
        6 => Command::Release { lock },
        _ => Command::Cancel { lock },
    })
}

fn fact() -> impl Strategy<Value = Fact> {
    let term = || (0..6_u32, node()).prop_map(|(number, by)| Term { number, by });
    prop_oneof![
        set().prop_map(Fact::PeerUp),
        set().prop_map(Fact::PeerDown),
        set().prop_map(Fact::PeerReset),
        Just(Fact::View),
        Just(Fact::NoLeader),
        (node(), term()).prop_map(|(leader, term)| Fact::Leader { leader, term }),
        term().prop_map(|term| Fact::Leader { leader: NodeId(1), term }),
    ]
}

fn history() -> impl Strategy<Value = Vec<Event>> {
    let bytes = proptest::collection::vec(prop_oneof![9 => 0..6_u8, 1 => any::<u8>()], 1..40);
    let what = prop_oneof![
        8 => (2..=MEMBERS, 0..40_u64, bytes)
            .prop_map(|(from, stamp, bytes)| Happening::Said { from: NodeId(from), stamp: Stamp(stamp), bytes }),
        5 => command().prop_map(Happening::Asked),
        2 => fact().prop_map(Happening::Concluded),
        4 => Just(Happening::Passed),
    ];
    let after = prop_oneof![Just(0), 0..200_000_u32, 0..4_000_000_u32].prop_map(Span::from_micros);
    let event = (after, any::<u32>(), what).prop_map(|(after, random, what)| Event { after, random, what });
    proptest::collection::vec(event, 1..80)
}

/// The message that these bytes begin with, if the lock of `kind` has any such.
fn message(kind: Kind, bytes: &[u8]) -> Option<AnyMessage> {
    (1..=bytes.len()).find_map(|len| AnyMessage::decode(kind, &bytes[..len]))
}

fn input(kind: Kind, what: Happening) -> Option<Input<AnyMessage, Command>> {
    Some(match what {
        Happening::Said { from, stamp, bytes } => Input::Message { from, stamp, message: message(kind, &bytes)? },
        Happening::Asked(command) => Input::Command(command),
        Happening::Concluded(fact) => Input::Fact(fact),
        Happening::Passed => Input::Timeout,
    })
}

fn step(lock: &mut AnyMutex, cx: &Context<'_>, input: Input<AnyMessage, Command>) -> Outbox<AnyMessage, Notice> {
    let mut out = Outbox::new();
    lock.handle(cx, input, &mut out);
    out
}

/// Drives `lock` through `history` and holds it to the laws.
fn hold(mut lock: AnyMutex, history: Vec<Event>) -> Result<(), TestCaseError> {
    let kind = lock.kind();
    let me = NodeId(1);
    let mut roster = Roster::<4>::new();
    for member in 1..=MEMBERS {
        roster.insert(NodeId(member));
    }
    let all = roster.view().all();
    let peers = all.without(roster.view().set_of(me));
    let (mut up, mut now, mut stamp) = (peers, Instant::from_micros(1), 1);
    for Event { after, random, what } in history {
        let Some(input) = input(kind, what) else { continue };
        now = now.after(after);
        match input {
            Input::Fact(Fact::PeerDown(set)) => up = up.without(set),
            Input::Fact(Fact::PeerUp(set)) => up = up.with(set),
            Input::Message { stamp: heard, .. } => stamp = heard.0.max(stamp),
            Input::Fact(_) | Input::Command(_) | Input::Timeout => {}
        }
        stamp = lock.floor().0.max(stamp) + 1;
        let cx = Context {
            now,
            uptime: now.since(Instant::ZERO),
            me,
            standing: None,
            roster: roster.view(),
            peers,
            up,
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view: if random % 3 == 0 { up.with(roster.view().set_of(me)) } else { all },
            stamp: Stamp(stamp),
            random,
            timing: &Timing::RADIO,
        };

        let mut twin = lock.clone();
        let said = step(&mut lock, &cx, input.clone());
        let again = step(&mut twin, &cx, input.clone());
        prop_assert!(!said.overflowed(), "a step says no more than {}: {:?}", OUTPUTS_MAX, said.outputs());
        prop_assert_eq!(said.outputs(), again.outputs(), "same state, same input, same output");
        prop_assert_eq!(&lock, &twin);

        for output in said.outputs() {
            if let Output::Send { to, message } = output {
                prop_assert!(to.without(peers).is_empty(), "nobody writes to itself: {:?}", message);
                let len = message.encode(&mut [0; FRAME_MAX]);
                prop_assert!(len.is_some_and(|len| len <= LETTER_MAX), "it fits a letter: {:?}", message);
                prop_assert!(!message.word().is_empty() && message.kind() == kind);
            }
        }

        if matches!(input, Input::Message { .. }) {
            let repeated = step(&mut twin, &cx, input);
            let told_again =
                |output: &Output<_, _>| matches!(output, Output::Notify(_)) && said.outputs().contains(output);
            prop_assert!(!repeated.outputs().iter().any(told_again), "a repeated message tells nothing twice");
        }

        if lock.deadline().is_none_or(|deadline| deadline > now) {
            let mut twin = lock.clone();
            let said = step(&mut twin, &cx, Input::Timeout);
            prop_assert!(said.outputs().is_empty(), "an early timeout says nothing: {:?}", said.outputs());
            prop_assert_eq!(&lock, &twin, "an early timeout changes nothing");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_lock_keeps_the_laws(history in history()) {
        for name in AnyMutex::NAMES {
            hold(AnyMutex::by_name(name).unwrap(), history.clone())?;
        }
    }
}
