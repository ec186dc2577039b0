//! The laws of `laws.rs`, held by what stands on top of a node: whatever is said to it, a step depends on nothing but state and
//! input, says no more than it may, writes letters only when it is asked to speak, and an early timeout changes nothing.

use proptest::prelude::*;
use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::application::diffusing::{self, Diffusing, Work};
use protocol::application::tokens::{Give, Tokens};
use protocol::application::{Application, Item};
use protocol::clock::{Stamp, Term};
use protocol::group::Roster;
use protocol::snapshot::{self, Part, Why};
use protocol::suite::{self, Command, Suite};
use protocol::termination::Detection;
use protocol::termination::dijkstra_scholten::{self, DijkstraScholten};
use protocol::termination::wave::{self, Sums, Wave};
use protocol::upper::Upper;
use protocol::wire::{Delivery, Message as _};
use protocol::{Instant, NodeId, NodeSet, Span, Timing, clock_sync};
use std::fmt::Debug;

const PEERS: u32 = 4;

fn node() -> impl Strategy<Value = NodeId> + Clone {
    (1..=PEERS + 1).prop_map(NodeId)
}

fn term() -> impl Strategy<Value = Term> {
    (0..3_u32, node()).prop_map(|(number, by)| Term { number, by })
}

fn set() -> impl Strategy<Value = NodeSet> {
    prop_oneof![
        Just(NodeSet::first(5)),
        (0..32_usize).prop_map(|bits| {
            (0..5).filter(|bit| bits >> bit & 1 == 1).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
        })
    ]
}

fn snapshot_message() -> impl Strategy<Value = snapshot::Message> {
    use snapshot::Message as M;
    let id = (node(), 0..2_u32, 0..3_u32);
    let id = id.prop_map(|(initiator, incarnation, number)| snapshot::Id { initiator, incarnation, number });
    let part = prop_oneof![
        any::<bool>().prop_map(|last| Part::State { last, bytes: Item::new() }),
        node().prop_map(|from| Part::Message { from, bytes: Item::new() }),
    ];
    prop_oneof![
        4 => (id.clone(), set()).prop_map(|(id, members)| M::Marker { id, members }),
        2 => (0..2_u32, 0..3_u32, part).prop_map(|(incarnation, number, part)| M::Part { incarnation, number, part }),
        2 => (0..2_u32, 0..3_u32, 0..3_u16)
            .prop_map(|(incarnation, number, parts)| M::Done { incarnation, number, parts }),
        1 => id.prop_map(|id| M::Abort { id, why: Why::Down }),
    ]
}

fn wave_message() -> impl Strategy<Value = wave::Message> {
    use wave::Message as M;
    let id = (node(), 0..2_u32, 0..4_u32);
    let id = id.prop_map(|(initiator, incarnation, number)| wave::Id { initiator, incarnation, number });
    prop_oneof![
        (id.clone(), set()).prop_map(|(id, asked)| M::Query { id, asked }),
        (id.clone(), set(), any::<u64>(), any::<u64>())
            .prop_map(|(id, covered, sent, heard)| M::Done { id, sums: Sums { covered, sent, heard, job: 1 } }),
        id.clone().prop_map(|id| M::Continue { id }),
        (id, 0..3_u32).prop_map(|(id, job)| M::Terminate { id, job, waves: 2 }),
        (0..2_u32, 0..3_u32).prop_map(|(boot, count)| M::Mend { boot, count }),
    ]
}

fn tree_message() -> impl Strategy<Value = dijkstra_scholten::Message> {
    use dijkstra_scholten::Message as M;
    prop_oneof![
        (0..2_u32, 0..3_u32).prop_map(|(boot, count)| M::Signal { boot, count }),
        (0..3_u32, 0..2_u32, 0..3_u32).prop_map(|(job, boot, number)| M::Terminate { job, boot, number }),
        Just(M::Broken),
        (0..2_u32, any::<bool>()).prop_map(|(boot, lost)| M::Hail { boot, lost }),
    ]
}

fn clock_message() -> impl Strategy<Value = clock_sync::Message> {
    use clock_sync::Message as M;
    prop_oneof![
        (term(), 0..3_u32, any::<bool>()).prop_map(|(term, round, letter)| M::Poll { term, round, letter }),
        (term(), 0..3_u32, any::<u64>(), any::<u32>(), any::<bool>()).prop_map(
            |(term, round, reading, held, is_set)| {
                M::Answer { term, round, letter: false, reading, held: Span::from_micros(held), is_set }
            }
        ),
        (term(), 0..3_u32, proptest::collection::vec((0..6_u8, any::<i64>()), 0..3)).prop_map(
            |(term, round, entries)| {
                M::Adjust { term, round, letter: false, entries: heapless::Vec::from_slice(&entries).unwrap() }
            }
        ),
    ]
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        set().prop_map(Fact::PeerUp),
        set().prop_map(Fact::PeerDown),
        set().prop_map(Fact::PeerReset),
        Just(Fact::View),
        (node(), term()).prop_map(|(leader, term)| Fact::Leader { leader, term }),
        Just(Fact::NoLeader),
    ]
}

/// One event: how long after the last, with which draw, and what; or a letter may be written.
type Event<A, D> = (Span, u32, Option<Input<suite::Message<A, D>, Command<diffusing::Command>>>);

fn history<A: Debug + Clone, D: Debug + Clone>(
    application: impl Strategy<Value = A>,
    detection: impl Strategy<Value = D>,
) -> impl Strategy<Value = Vec<Event<A, D>>> {
    let message = prop_oneof![
        2 => application.prop_map(suite::Message::Application),
        3 => snapshot_message().prop_map(suite::Message::Snapshot),
        2 => detection.prop_map(suite::Message::Termination),
        2 => clock_message().prop_map(suite::Message::Clock),
    ];
    let said = (2..=PEERS + 1, message).prop_map(|(from, message)| Input::Message {
        from: NodeId(from),
        stamp: Stamp(0),
        message,
    });
    let command = prop_oneof![
        Just(Command::Snapshot),
        Just(Command::Watch),
        (0..5_u32).prop_map(|units| Command::Application(diffusing::Command::Start { units })),
    ];
    let input = prop_oneof![
        6 => said.prop_map(Some),
        3 => Just(Some(Input::Timeout)),
        2 => command.prop_map(|command| Some(Input::Command(command))),
        2 => fact().prop_map(|fact| Some(Input::Fact(fact))),
        6 => Just(None),
    ];
    let after = prop_oneof![Just(0), 0..200_000_u32, 0..4_000_000_u32].prop_map(Span::from_micros);
    proptest::collection::vec((after, any::<u32>(), input), 1..60)
}

/// Drives a suite through a history and holds it to the laws.
fn hold<A, D>(application: A, detection: D, history: Vec<Event<A::Message, D::Message>>) -> Result<(), TestCaseError>
where
    A: Application<Command = diffusing::Command> + Clone + Debug,
    A::Message: Debug + PartialEq,
    D: Detection + Clone + Debug,
    D::Message: Debug + PartialEq,
{
    let mut suite = Suite::<A, D, 8>::new(application, detection);
    suite.resume(1);
    let mut roster = Roster::<8>::new();
    for name in 1..=PEERS + 1 {
        roster.insert(NodeId(name));
    }
    let peers = roster.view().all().without(NodeSet::slot(0));
    let mut up = peers;
    let mut now = Instant::from_micros(1);
    for (after, random, input) in history {
        now = now.after(after);
        match input {
            Some(Input::Fact(Fact::PeerDown(set))) => up = up.without(set),
            Some(Input::Fact(Fact::PeerUp(set))) => up = up.with(set).and(peers),
            _ => {}
        }
        let cx = Context {
            now,
            uptime: now.since(Instant::ZERO),
            me: NodeId(1),
            standing: None,
            roster: roster.view(),
            peers,
            up,
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view: roster.view().all(),
            stamp: Stamp(1),
            random,
            timing: &Timing::RADIO,
        };
        let step = |suite: &mut Suite<A, D, 8>, input: Option<Input<_, _>>| {
            let mut out = Outbox::new();
            let spoken = match input {
                Some(input) => {
                    protocol::Algorithm::handle(suite, &cx, input, &mut out);
                    false
                }
                None => suite.speak(&cx, &mut out),
            };
            (out, spoken)
        };
        let mut twin = suite.clone();
        let (said, spoken) = step(&mut suite, input.clone());
        let (again, _) = step(&mut twin, input.clone());
        prop_assert!(!said.overflowed(), "a step says no more than it may");
        prop_assert_eq!(said.outputs(), again.outputs(), "same state, same input, same output");
        prop_assert_eq!(format!("{suite:?}"), format!("{twin:?}"));
        let letters = said.outputs().iter().filter(|output| match output {
            Output::Send { message, .. } => message.delivery() == Delivery::Reliable,
            Output::Notify(_) => false,
        });
        let most = usize::from(spoken);
        prop_assert!(letters.count() <= most, "letters are written one at a time, when there is room");
        if protocol::Algorithm::deadline(&suite).is_none_or(|deadline| deadline > now) {
            let before = format!("{suite:?}");
            let (said, _) = step(&mut suite, Some(Input::Timeout));
            prop_assert!(said.outputs().is_empty(), "an early timeout says nothing: {:?}", said.outputs());
            prop_assert_eq!(before, format!("{suite:?}"), "an early timeout changes nothing");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_job_watched_by_waves_keeps_the_laws(
        history in history((0..3_u32, 0..5_u32).prop_map(|(job, units)| Work { job, units }), wave_message())
    ) {
        hold(Diffusing::new(Span::from_millis(30)), Wave::<8>::new(), history)?;
    }

    #[test]
    fn a_job_watched_by_a_tree_keeps_the_laws(
        history in history((0..3_u32, 0..5_u32).prop_map(|(job, units)| Work { job, units }), tree_message())
    ) {
        hold(Diffusing::new(Span::from_millis(30)), DijkstraScholten::<8>::new(), history)?;
    }
}

#[test]
fn a_bank_makes_good_what_was_lost_and_gives_nothing_twice() {
    let mut roster = Roster::<8>::new();
    for name in 1..=3 {
        roster.insert(NodeId(name));
    }
    let peers = roster.view().all().without(NodeSet::slot(0));
    let cx = Context {
        now: Instant::from_micros(1),
        uptime: Span::from_secs(60),
        me: NodeId(1),
        standing: None,
        roster: roster.view(),
        peers,
        up: peers,
        near: peers,
        better: NodeSet::EMPTY,
        rival: None,
        view: roster.view().all(),
        stamp: Stamp(1),
        random: 1 << 20,
        timing: &Timing::RADIO,
    };
    let give = |amount, total| Input::Message { from: NodeId(2), stamp: Stamp(0), message: Give { amount, total } };
    let mut bank = Tokens::<8>::new(100, Span::from_secs(1));
    bank.handle(&cx, give(5, 5));
    bank.handle(&cx, give(0, 12)); // a message with seven tokens was lost
    assert_eq!(bank.balance(), 112);
    bank.handle(&cx, Input::Fact(Fact::PeerReset(NodeSet::slot(1))));
    bank.handle(&cx, give(3, 3));
    assert_eq!(bank.balance(), 115);
    bank.handle(&cx, Input::Fact(Fact::PeerDown(NodeSet::slot(2))));
    assert_eq!(bank.record(&cx), None, "it is not known what has arrived there");
    assert_eq!(bank.speak(&cx), Some((NodeSet::slot(2), Give { amount: 0, total: 0 })));
    assert!(bank.record(&cx).is_some());
}
