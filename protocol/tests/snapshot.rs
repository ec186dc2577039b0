//! Snapshots of a bank on a bad network: whatever happens, a snapshot is whole and its tokens are all there, or there is none.

mod common;

use common::bench::Bench;
use common::config;
use common::crowd::{Crowd, Cut, FAIR, FOUL, Log, Traced, Weather};
use protocol::algorithm::Input;
use protocol::application::Tokens;
use protocol::application::tokens::Give;
use protocol::clock::Stamp;
use protocol::mandate::Mode;
use protocol::snapshot::{Id, Notice, Part, Why};
use protocol::suite::{self, Command, Suite};
use protocol::termination::Wave;
use protocol::{Config, Instant, NodeId, Span};
use std::collections::BTreeMap;

const ROOM: usize = common::crowd::ROOM;
/// What every node has at the start.
const TOKENS: u32 = 1_000;

type Bank = Suite<Traced<Tokens<ROOM>>, Wave<ROOM>, ROOM>;

fn bank(count: usize, seed: u64, weather: Weather, pause: Span, mode: Mode) -> (Crowd<Bank>, Log) {
    let log = Log::default();
    let shared = log.clone();
    let make = move |index| {
        let inner = Tokens::new(TOKENS, pause);
        let application = Traced { inner, index, log: shared.clone() };
        (Config { mode, hops: 1, ..config(index) }, Suite::new(application, Wave::new()))
    };
    (Crowd::new(count, seed, weather, make), log)
}

/// How a snapshot ended, and what was told of it.
#[derive(Clone, Debug, Default)]
struct Picture {
    /// By member: its state, and how many messages were on their way to it from whom.
    states: BTreeMap<NodeId, Vec<u8>>,
    channels: BTreeMap<(NodeId, NodeId), usize>,
    tokens: u32,
    parts: u32,
    end: Option<Result<u32, Why>>,
    /// Where in the order of each node's recordings this one is.
    nth: BTreeMap<usize, usize>,
}

fn number(bytes: &[u8]) -> u32 {
    postcard::from_bytes(bytes).unwrap()
}

/// Everything that was told of every snapshot, from which nothing may follow its end.
fn pictures(told: impl Iterator<Item = (usize, suite::Notice)>) -> BTreeMap<Id, Picture> {
    let mut pictures = BTreeMap::<Id, Picture>::new();
    let mut recorded = BTreeMap::<usize, usize>::new();
    for (index, told) in told {
        let suite::Notice::Snapshot(notice) = told else { continue };
        match notice {
            Notice::Recorded { id } => {
                let nth = recorded.entry(index).or_default();
                pictures.entry(id).or_default().nth.insert(index, *nth);
                *nth += 1;
            }
            Notice::Part { id, of, part } => {
                let picture = pictures.entry(id).or_default();
                assert_eq!(config(index).me, id.initiator);
                assert_eq!(picture.end, None);
                picture.parts += 1;
                match part {
                    Part::State { last, bytes } => {
                        assert!(last, "a balance is one piece");
                        picture.tokens += number(&bytes);
                        assert!(picture.states.insert(of, bytes.to_vec()).is_none());
                    }
                    Part::Message { from, bytes } => {
                        picture.tokens += number(&bytes);
                        *picture.channels.entry((from, of)).or_default() += 1;
                    }
                }
            }
            Notice::Taken { id, parts, members } => {
                let picture = pictures.entry(id).or_default();
                assert_eq!((picture.end, picture.parts, members.len() as usize), (None, parts, picture.states.len()));
                picture.end = Some(Ok(parts));
            }
            Notice::Aborted { id, why } => {
                let picture = pictures.entry(id).or_default();
                assert_eq!(picture.end, None);
                picture.end = Some(Err(why));
            }
        }
    }
    pictures
}

/// The same, of a group of nodes.
fn taken_in(crowd: &Crowd<Bank>) -> BTreeMap<Id, Picture> {
    pictures(crowd.told.iter().map(|(_, index, told)| (*index, told.clone())))
}

/// What is wrong with a snapshot that was taken, by what really happened.
fn fault(picture: &Picture, log: &Log, count: usize) -> Option<String> {
    if picture.tokens != TOKENS * u32::try_from(count).unwrap() {
        return Some(format!("{} tokens: {picture:?}", picture.tokens));
    }
    let cut = Cut::new(log, count, |node| picture.nth[&node]);
    for from in 0..count {
        for to in 0..count {
            let (sent, heard) = (cut.sent[from][to], cut.heard[from][to]);
            if heard > sent {
                return Some(format!("heard before the cut, sent after it: {from} to {to}"));
            }
            let on_the_way = picture.channels.get(&(config(from).me, config(to).me)).copied().unwrap_or(0);
            if on_the_way > sent - heard || (!cut.lossy[from][to] && on_the_way < sent - heard) {
                return Some(format!("{from} to {to}: {on_the_way} on the way of {}: {picture:?}", sent - heard));
            }
        }
    }
    None
}

fn judge(picture: &Picture, log: &Log, count: usize) {
    assert_eq!(fault(picture, log, count), None);
}

/// Banks without nodes, on channels that keep the order of messages or do not: what is wrong with their snapshots.
fn photograph(count: usize, seed: u64, in_order: bool) -> (usize, Vec<String>) {
    let log = Log::default();
    let make = |index| {
        let inner = Tokens::new(TOKENS, Span::from_millis(20));
        Bank::new(Traced { inner, index, log: log.clone() }, Wave::new())
    };
    let mut bench = Bench::new(count, seed, make);
    bench.in_order = in_order;
    for round in 0..600 {
        bench.happen();
        if round % 100 == 99 {
            let who = bench.draw(count);
            bench.step(who, Input::Command(Command::Snapshot));
        }
    }
    for _ in 0..300 {
        bench.happen();
    }
    let pictures = pictures(bench.told.iter().cloned());
    let taken: Vec<_> = pictures.values().filter(|picture| matches!(picture.end, Some(Ok(_)))).collect();
    (taken.len(), taken.into_iter().filter_map(|picture| fault(picture, &log, count)).collect())
}

#[test]
fn every_snapshot_on_channels_in_order_is_right_and_on_others_the_faults_are_seen() {
    let (mut taken, mut faults) = (0, 0);
    for seed in 0..400 {
        let (pictures, wrong) = photograph(2 + usize::try_from(seed % 5).unwrap(), seed, true);
        taken += pictures;
        assert_eq!(wrong, Vec::<String>::new(), "seed {seed}");
        faults += photograph(4, seed, false).1.len();
    }
    println!("{taken} taken in order; {faults} faults out of order");
    assert!(taken > 1_000, "{taken}");
    assert!(faults > 50, "a channel that does not keep the order must be caught: {faults}");
}

#[test]
fn more_on_its_way_than_can_be_kept_ends_the_snapshot() {
    let log = Log::default();
    let make = |index| {
        let inner = Tokens::new(TOKENS, Span::from_millis(20));
        Bank::new(Traced { inner, index, log: log.clone() }, Wave::new())
    };
    let mut bench = Bench::new(3, 1, make);
    (0..50).for_each(|_| assert!(bench.happen()));
    bench.stuck = vec![(1, 2), (2, 0)]; // 2 waits for the marker of 1, and cannot send what it hears from 1 on
    bench.step(0, Input::Command(Command::Snapshot));
    for _ in 0..60 {
        bench.happen();
    }
    // Then more than it can keep comes from 1, before the marker.
    for total in 0..200 {
        let message = suite::Message::Application(Give { amount: 1, total: 100_000 + total });
        bench.step(2, Input::Message { from: NodeId(2), stamp: Stamp(0), message });
    }
    bench.stuck.clear();
    for _ in 0..900 {
        bench.happen();
    }
    let pictures = pictures(bench.told.iter().cloned());
    assert_eq!(pictures.values().map(|picture| picture.end).collect::<Vec<_>>(), [Some(Err(Why::Overflow))]);
}

#[test]
fn s1_any_node_photographs_the_bank_while_it_runs_and_no_token_is_missing() {
    for initiator in 0..5 {
        let (mut crowd, log) = bank(5, 7, FAIR, Span::from_millis(20), Mode::Available);
        crowd.run(Span::from_secs(5));
        crowd.ask(initiator, Command::Snapshot);
        crowd.run(Span::from_secs(2));
        let pictures = taken_in(&crowd);
        assert_eq!(pictures.len(), 1);
        let picture = pictures.values().next().unwrap();
        assert!(matches!(picture.end, Some(Ok(_))), "{picture:?}");
        judge(picture, &log, 5);
        let balances: Vec<u32> = (0..5).map(|index| crowd.node(index).upper().application().inner.balance()).collect();
        assert!(balances.iter().any(|&balance| balance != TOKENS), "the bank was open: {balances:?}");
    }
}

#[test]
fn s2_messages_on_their_way_are_recorded_in_their_channel() {
    let mut seen = 0;
    for seed in 0..20 {
        let (mut crowd, log) = bank(6, seed, FOUL, Span::from_millis(5), Mode::Available);
        crowd.run(Span::from_secs(4));
        crowd.ask(2, Command::Snapshot);
        crowd.run(Span::from_secs(6));
        for picture in taken_in(&crowd).values().filter(|picture| matches!(picture.end, Some(Ok(_)))) {
            judge(picture, &log, 6);
            seen += picture.channels.values().sum::<usize>();
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn s3_the_sum_is_conserved_and_every_cut_consistent_over_many_seeds_with_several_snapshots_at_once() {
    let (mut taken, mut aborted, mut at_once) = (0, 0, 0);
    for seed in 0..300 {
        let count = 3 + usize::try_from(seed % 4).unwrap();
        let (mut crowd, log) = bank(count, seed, FOUL, Span::from_millis(40), Mode::Available);
        crowd.run(Span::from_secs(3));
        for _ in 0..4 {
            let who = crowd.draw(u32::try_from(count).unwrap()) as usize;
            crowd.ask(who, Command::Snapshot);
            let pause = crowd.draw(60);
            crowd.run(Span::from_millis(pause));
            at_once += usize::from(crowd.nodes.iter().flatten().any(|node| node.upper().snapshot().in_progress() > 1));
        }
        crowd.run(Span::from_secs(14));
        for (id, picture) in &taken_in(&crowd) {
            match picture.end {
                Some(Ok(_)) => {
                    judge(picture, &log, count);
                    taken += 1;
                }
                Some(Err(_)) => aborted += 1,
                None => panic!("seed {seed}: {id:?} never ended"),
            }
        }
    }
    println!("{taken} taken, {aborted} aborted, {at_once} times several at once");
    assert!(taken > 600 && at_once > 300, "{taken} taken, {aborted} aborted, {at_once} times several at once");
}

#[test]
fn a_snapshot_costs_n_times_n_minus_1_markers_and_two_letters_a_member() {
    for count in [2_usize, 5, 9, 16] {
        let (mut crowd, _) = bank(count, 3, FAIR, Span::from_secs(3_600), Mode::Available);
        crowd.run(Span::from_secs(5));
        crowd.ask(0, Command::Snapshot);
        crowd.run(Span::from_secs(3));
        let picture = taken_in(&crowd).into_values().next().unwrap();
        assert!(matches!(picture.end, Some(Ok(_))), "{picture:?}");
        let counts = (crowd.letters(&["marker"]), crowd.letters(&["part"]), crowd.letters(&["done"]));
        let on_the_way: usize = picture.channels.values().sum();
        println!("{count} nodes: markers, parts, done {counts:?}");
        assert_eq!(counts, (count * (count - 1), count - 1 + on_the_way, count - 1));
    }
}

/// Takes a snapshot during which something happens: how it ends.
fn disturbed(mode: Mode, disturb: impl Fn(&mut Crowd<Bank>)) -> Picture {
    let (mut crowd, _) = bank(4, 5, FAIR, Span::from_millis(20), mode);
    crowd.run(Span::from_secs(12));
    disturb(&mut crowd);
    crowd.run(Span::from_secs(30));
    taken_in(&crowd).into_values().next_back().unwrap()
}

#[test]
fn a_member_that_crashes_ends_the_snapshot_and_the_initiator_is_told_why() {
    let picture = disturbed(Mode::Available, |crowd| {
        crowd.crash(1);
        crowd.ask(0, Command::Snapshot); // nobody knows yet
    });
    assert_eq!(picture.end, Some(Err(Why::Down)));
    let picture = disturbed(Mode::Available, |crowd| {
        crowd.crash(1);
        crowd.run(Span::from_secs(10));
        crowd.ask(0, Command::Snapshot);
    });
    assert_eq!(picture.end, Some(Err(Why::Down)));
    assert!(picture.states.is_empty());
}

#[test]
fn a_member_that_starts_anew_ends_the_snapshot() {
    let picture = disturbed(Mode::Available, |crowd| {
        crowd.crash(1);
        crowd.ask(0, Command::Snapshot);
        crowd.run(Span::from_millis(50));
        crowd.boot(1);
    });
    assert_eq!(picture.end, Some(Err(Why::Restarted)));
}

#[test]
fn a_member_that_leaves_the_view_is_not_in_the_next_snapshot_and_one_that_comes_back_is() {
    let (mut crowd, _) = bank(4, 5, FAIR, Span::from_millis(20), Mode::Quorum);
    crowd.run(Span::from_secs(12));
    crowd.crash(1);
    crowd.run(Span::from_secs(15));
    crowd.ask(0, Command::Snapshot);
    crowd.run(Span::from_secs(3));
    crowd.boot(1);
    crowd.ask(0, Command::Snapshot); // while it joins
    crowd.run(Span::from_secs(20));
    crowd.ask(0, Command::Snapshot);
    crowd.run(Span::from_secs(3));
    let pictures = taken_in(&crowd);
    let sizes: Vec<_> = pictures.values().map(|picture| (picture.end.unwrap().is_ok(), picture.states.len())).collect();
    assert_eq!((sizes[0], sizes[2]), ((true, 3), (true, 4)));
    assert!(sizes[1] == (true, 3) || !sizes[1].0, "{sizes:?}");
}

#[test]
fn a_crash_and_a_partition_never_leave_half_a_snapshot_over_many_seeds() {
    let mut ends = BTreeMap::<String, usize>::new();
    for seed in 0..100 {
        let (mut crowd, _) = bank(4, seed, FOUL, Span::from_millis(60), Mode::Available);
        crowd.run(Span::from_secs(5));
        let pause = crowd.draw(200);
        let victim = crowd.draw(4) as usize;
        crowd.ask((victim + 1) % 4, Command::Snapshot);
        crowd.run(Span::from_millis(pause));
        match crowd.draw(3) {
            0 => crowd.crash(victim),
            1 => {
                crowd.crash(victim);
                crowd.boot(victim);
            }
            _ => crowd.linked = |a, b| (a < 2) == (b < 2),
        }
        crowd.run(Span::from_secs(10));
        crowd.linked = |_, _| true;
        if crowd.nodes[victim].is_none() {
            crowd.boot(victim);
        }
        crowd.run(Span::from_secs(30));
        for (id, picture) in taken_in(&crowd) {
            let end = picture.end.unwrap_or_else(|| panic!("seed {seed}: {id:?} never ended"));
            if end.is_ok() {
                assert_eq!(picture.tokens, 4 * TOKENS, "seed {seed}");
            }
            *ends.entry(format!("{:?}", end.err())).or_default() += 1;
        }
        // And what the bank has left can be photographed again.
        let again = crowd.told.len();
        let is_taken = |(_, _, told): &(Instant, usize, suite::Notice)| {
            matches!(told, suite::Notice::Snapshot(Notice::Taken { .. }))
        };
        let tries = (0..20).take_while(|_| {
            crowd.ask(0, Command::Snapshot);
            crowd.run(Span::from_secs(3));
            !crowd.told[again..].iter().any(is_taken)
        });
        assert!(tries.count() < 20, "seed {seed}: {:?}", taken_in(&crowd).into_values().next_back());
    }
    println!("{ends:?}");
    assert!(ends.len() >= 3, "{ends:?}");
}
