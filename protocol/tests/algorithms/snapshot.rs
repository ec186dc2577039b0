//! Snapshots of a bank on a bad network: whatever happens, a snapshot is complete and conserves the sum, or there is none.

use crate::support::net::SERVICE_ROOM as ROOM;
use crate::support::net::traced::{Cut, Log, Traced};
use crate::support::prelude::*;
use protocol::base::quorum::Mode;
use protocol::election::Bully;
use protocol::service::app_service::{self, Command, ObservedApp};
use protocol::service::demo::Tokens;
use protocol::service::demo::tokens::Give;
use protocol::service::snapshot::{AbortReason, Fragment, Id, Notice};
use protocol::service::termination::Wave;
use std::collections::BTreeMap;

/// The tokens of every node at the start.
const TOKENS: u32 = 1_000;

type Bank = ObservedApp<Traced<Tokens<ROOM>>, Wave<ROOM>, ROOM>;
type BankNet = Net<Bully, NoMutex, Bank, ROOM>;

/// A node of a bank that makes a transfer after every pause.
fn account(index: usize, pause: Duration, log: &Log) -> Bank {
    Bank::all(Traced { inner: Tokens::new(TOKENS, pause), index, log: log.clone() }, Wave::new())
}

fn bank(count: usize, medium: (Medium, u64), pause: Duration, mode: Mode) -> (BankNet, Log) {
    let log = Log::default();
    let shared = log.clone();
    let make = move |index| (Config { mode, hops: 1, ..config(index) }, account(index, pause, &shared));
    (Net::with_service(count, medium, complete, make), log)
}

/// A bank without links and frames.
fn lab(count: u32, seed: u64, order: Order) -> (Lab<Bank>, Log) {
    let log = Log::default();
    let make = |index| account(index, Duration::from_millis(20), &log);
    (Lab::services(count, order, seed, make), log.clone())
}

/// The notices of one snapshot.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    /// The state of each member, and how many messages were in flight from one to another.
    states: BTreeMap<NodeId, Vec<u8>>,
    channels: BTreeMap<(NodeId, NodeId), usize>,
    tokens: u32,
    fragments: u32,
    end: Option<Result<u32, AbortReason>>,
    /// Which of each node's recordings it is.
    nth: BTreeMap<usize, usize>,
}

fn number(bytes: &[u8]) -> u32 {
    postcard::from_bytes(bytes).unwrap()
}

/// All snapshots by their notices, of which none may follow the end.
fn snapshots(notices: impl Iterator<Item = (usize, app_service::Notice)>) -> BTreeMap<Id, Snapshot> {
    let mut snapshots = BTreeMap::<Id, Snapshot>::new();
    let mut recorded = BTreeMap::<usize, usize>::new();
    for (index, notice) in notices {
        let app_service::Notice::Snapshot(notice) = notice else { continue };
        match notice {
            Notice::Recorded { id } => {
                let nth = recorded.entry(index).or_default();
                snapshots.entry(id).or_default().nth.insert(index, *nth);
                *nth += 1;
            }
            Notice::Fragment { id, member, fragment } => {
                let snapshot = snapshots.entry(id).or_default();
                assert_eq!(config(index).me, id.initiator);
                assert_eq!(snapshot.end, None);
                snapshot.fragments += 1;
                match fragment {
                    Fragment::State { last, bytes } => {
                        assert!(last, "a balance is one piece");
                        snapshot.tokens += number(&bytes);
                        assert!(snapshot.states.insert(member, bytes.to_vec()).is_none());
                    }
                    Fragment::Message { from, bytes } => {
                        snapshot.tokens += number(&bytes);
                        *snapshot.channels.entry((from, member)).or_default() += 1;
                    }
                }
            }
            Notice::Taken { id, fragments, members } => {
                let snapshot = snapshots.entry(id).or_default();
                assert_eq!((snapshot.end, snapshot.fragments), (None, fragments));
                assert_eq!(members.len() as usize, snapshot.states.len());
                snapshot.end = Some(Ok(fragments));
            }
            Notice::Aborted { id, reason } => {
                let snapshot = snapshots.entry(id).or_default();
                assert_eq!(snapshot.end, None);
                snapshot.end = Some(Err(reason));
            }
        }
    }
    snapshots
}

fn snapshots_of(net: &BankNet) -> BTreeMap<Id, Snapshot> {
    snapshots(net.service_notices.iter().map(|(_, index, notice)| (*index, notice.clone())))
}

/// What is wrong with a snapshot that was taken, by the log of all applications.
fn fault(snapshot: &Snapshot, log: &Log, count: usize) -> Option<String> {
    if snapshot.tokens != TOKENS * u32::try_from(count).unwrap() {
        return Some(format!("{} tokens: {snapshot:?}", snapshot.tokens));
    }
    let cut = Cut::new(log, count, |node| snapshot.nth[&node]);
    for from in 0..count {
        for to in 0..count {
            let (sent, received) = (cut.sent[from][to], cut.received[from][to]);
            if received > sent {
                return Some(format!("received before the cut, sent after it: {from} to {to}"));
            }
            let in_flight = snapshot.channels.get(&(config(from).me, config(to).me)).copied().unwrap_or(0);
            if in_flight > sent - received || (!cut.lossy[from][to] && in_flight < sent - received) {
                return Some(format!("{from} to {to}: {in_flight} in flight of {}: {snapshot:?}", sent - received));
            }
        }
    }
    None
}

fn check(snapshot: &Snapshot, log: &Log, count: usize) {
    assert_eq!(fault(snapshot, log, count), None);
}

/// How many snapshots are taken on channels of this order, and what is wrong with them.
fn take_snapshots(count: u32, seed: u64, order: Order) -> (usize, Vec<String>) {
    let (mut lab, log) = lab(count, seed, order);
    let count = count as usize;
    for _ in 0..6 {
        lab.advance_by(100);
        let initiator = lab.draw(count);
        lab.ask(initiator, Command::SNAPSHOT);
    }
    lab.advance_by(300);
    let snapshots = snapshots(lab.notices.iter().cloned());
    let taken: Vec<_> = snapshots.values().filter(|snapshot| matches!(snapshot.end, Some(Ok(_)))).collect();
    (taken.len(), taken.into_iter().filter_map(|snapshot| fault(snapshot, &log, count)).collect())
}

#[test]
fn every_snapshot_on_fifo_channels_is_consistent_and_on_others_the_faults_are_detected() {
    let (mut taken, mut faults) = (0, 0);
    for seed in 0..400 {
        let (snapshots, wrong) = take_snapshots(2 + u32::try_from(seed % 5).unwrap(), seed, Order::Fifo);
        taken += snapshots;
        assert_eq!(wrong, Vec::<String>::new(), "seed {seed}");
        faults += take_snapshots(4, seed, Order::Any).1.len();
    }
    println!("{taken} taken in order; {faults} faults out of order");
    assert!(taken > 1_000, "{taken}");
    assert!(faults > 50, "a channel that is not FIFO must be detected: {faults}");
}

#[test]
fn more_messages_in_flight_than_can_be_recorded_abort_the_snapshot() {
    let (mut lab, _) = lab(3, 1, Order::Fifo);
    lab.advance_by(50);
    lab.blocked = vec![(1, 2), (2, 0)]; // 2 waits for the marker of 1, and cannot report what it receives from 1
    lab.ask(0, Command::SNAPSHOT).advance_by(60);
    // Then more than it can record arrives from 1, before the marker.
    for total in 0..200 {
        let message = app_service::Message::Application(Give { amount: 1, total: 100_000 + total });
        lab.inject(1, 2, message);
    }
    lab.blocked.clear();
    lab.advance_by(900);
    let snapshots = snapshots(lab.notices.iter().cloned());
    assert_eq!(snapshots.values().map(|snapshot| snapshot.end).collect::<Vec<_>>(), [Some(Err(AbortReason::Overflow))]);
}

#[test]
fn s1_a_snapshot_of_any_node_conserves_the_sum_while_the_bank_runs() {
    for initiator in 0..5 {
        let (mut net, log) = bank(5, (RELIABLE, 7), Duration::from_millis(20), Mode::Available);
        net.run_secs(5).ask(initiator, Command::SNAPSHOT).run_secs(2);
        let snapshots = snapshots_of(&net);
        assert_eq!(snapshots.len(), 1);
        let snapshot = snapshots.values().next().unwrap();
        assert!(matches!(snapshot.end, Some(Ok(_))), "{snapshot:?}");
        check(snapshot, &log, 5);
        let balances: Vec<u32> = (0..5).map(|index| net.service(index).application().inner.balance()).collect();
        assert!(balances.iter().any(|&balance| balance != TOKENS), "the bank was running: {balances:?}");
    }
}

#[test]
fn s2_messages_in_flight_are_recorded_in_their_channel() {
    let mut seen = 0;
    for seed in 0..20 {
        let (mut net, log) = bank(6, (UNRELIABLE, seed), Duration::from_millis(5), Mode::Available);
        net.run_secs(4).ask(2, Command::SNAPSHOT).run_secs(6);
        for snapshot in snapshots_of(&net).values().filter(|snapshot| matches!(snapshot.end, Some(Ok(_)))) {
            check(snapshot, &log, 6);
            seen += snapshot.channels.values().sum::<usize>();
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn s3_concurrent_snapshots_conserve_the_sum_and_every_cut_is_consistent() {
    let (mut taken, mut aborted, mut at_once) = (0, 0, 0);
    for seed in 0..storms::seeds(300) {
        let count = 3 + usize::try_from(seed % 4).unwrap();
        let (mut net, log) = bank(count, (UNRELIABLE, seed), Duration::from_millis(40), Mode::Available);
        net.run_secs(3);
        for _ in 0..4 {
            let initiator = net.draw(u32::try_from(count).unwrap()) as usize;
            net.ask(initiator, Command::SNAPSHOT);
            let pause = net.draw(60);
            net.run(Duration::from_millis(pause));
            at_once += usize::from(net.nodes.iter().flatten().any(|node| node.service().snapshot().in_progress() > 1));
        }
        net.run_secs(14);
        for (id, snapshot) in &snapshots_of(&net) {
            match snapshot.end {
                Some(Ok(_)) => {
                    check(snapshot, &log, count);
                    taken += 1;
                }
                Some(Err(_)) => aborted += 1,
                None => panic!("seed {seed}: {id:?} never ended"),
            }
        }
    }
    println!("{taken} taken, {aborted} aborted, {at_once} times several at once");
    let seeds = usize::try_from(storms::seeds(300)).unwrap();
    assert!(taken > 2 * seeds && at_once > seeds, "{taken} taken, {aborted} aborted, {at_once} times several at once");
}

#[test]
fn a_snapshot_costs_n_times_n_minus_1_markers_and_two_messages_a_member() {
    for count in [2_usize, 5, 9, 16] {
        let (mut net, _) = bank(count, (RELIABLE, 3), Duration::from_secs(3_600), Mode::Available);
        net.run_secs(5).ask(0, Command::SNAPSHOT).run_secs(3);
        let snapshot = snapshots_of(&net).into_values().next().unwrap();
        assert!(matches!(snapshot.end, Some(Ok(_))), "{snapshot:?}");
        let counts = (net.copies_named("marker"), net.copies_named("fragment"), net.copies_named("done"));
        let in_flight: usize = snapshot.channels.values().sum();
        println!("{count} nodes: markers, fragments, done {counts:?}");
        assert_eq!(counts, (count * (count - 1), count - 1 + in_flight, count - 1));
    }
}

/// A snapshot during which something happens.
fn disturbed(mode: Mode, disturb: impl Fn(&mut BankNet)) -> Snapshot {
    let (mut net, _) = bank(4, (RELIABLE, 5), Duration::from_millis(20), mode);
    net.run_secs(12);
    disturb(&mut net);
    net.run_secs(30);
    snapshots_of(&net).into_values().next_back().unwrap()
}

#[test]
fn a_member_that_crashes_aborts_the_snapshot_and_the_initiator_is_notified_why() {
    let snapshot = disturbed(Mode::Available, |net| {
        net.crash(1).ask(0, Command::SNAPSHOT); // no node suspects it yet
    });
    assert_eq!(snapshot.end, Some(Err(AbortReason::Unreachable)));
    let snapshot = disturbed(Mode::Available, |net| {
        net.crash(1).run_secs(10).ask(0, Command::SNAPSHOT);
    });
    assert_eq!(snapshot.end, Some(Err(AbortReason::Unreachable)));
    assert!(snapshot.states.is_empty());
}

#[test]
fn a_member_that_restarts_aborts_the_snapshot() {
    let snapshot = disturbed(Mode::Available, |net| {
        net.crash(1).ask(0, Command::SNAPSHOT).run(Duration::from_millis(50)).boot(1);
    });
    assert_eq!(snapshot.end, Some(Err(AbortReason::Restarted)));
}

#[test]
fn a_member_that_left_the_view_is_not_in_the_next_snapshot_and_one_that_came_back_is() {
    let (mut net, _) = bank(4, (RELIABLE, 5), Duration::from_millis(20), Mode::Quorum);
    net.run_secs(12).crash(1).run_secs(15).ask(0, Command::SNAPSHOT).run_secs(3).boot(1);
    net.ask(0, Command::SNAPSHOT); // while it joins
    net.run_secs(20).ask(0, Command::SNAPSHOT).run_secs(3);
    let snapshots = snapshots_of(&net);
    let sizes: Vec<_> =
        snapshots.values().map(|snapshot| (snapshot.end.unwrap().is_ok(), snapshot.states.len())).collect();
    assert_eq!((sizes[0], sizes[2]), ((true, 3), (true, 4)));
    assert!(sizes[1] == (true, 3) || !sizes[1].0, "{sizes:?}");
}

#[test]
fn a_crash_or_a_partition_never_leaves_half_a_snapshot() {
    let mut ends = BTreeMap::<String, usize>::new();
    for seed in 0..storms::seeds(100) {
        let (mut net, _) = bank(4, (UNRELIABLE, seed), Duration::from_millis(60), Mode::Available);
        net.run_secs(5);
        let pause = net.draw(200);
        let victim = net.draw(4) as usize;
        net.ask((victim + 1) % 4, Command::SNAPSHOT).run(Duration::from_millis(pause));
        match net.draw(3) {
            0 => net.crash(victim),
            1 => net.crash(victim).boot(victim),
            _ => net.relink(|a, b| (a < 2) == (b < 2)),
        };
        net.run_secs(10).relink(complete);
        if !net.is_up(victim) {
            net.boot(victim);
        }
        net.run_secs(30);
        for (id, snapshot) in snapshots_of(&net) {
            let end = snapshot.end.unwrap_or_else(|| panic!("seed {seed}: {id:?} never ended"));
            if end.is_ok() {
                assert_eq!(snapshot.tokens, 4 * TOKENS, "seed {seed}");
            }
            *ends.entry(format!("{:?}", end.err())).or_default() += 1;
        }
        // A later snapshot is taken.
        let before = net.service_notices.len();
        let is_taken = |(_, _, notice): &(Instant, usize, app_service::Notice)| {
            matches!(notice, app_service::Notice::Snapshot(Notice::Taken { .. }))
        };
        let tries = (0..20).take_while(|_| {
            net.ask(0, Command::SNAPSHOT).run_secs(3);
            !net.service_notices[before..].iter().any(is_taken)
        });
        assert!(tries.count() < 20, "seed {seed}: {:?}", snapshots_of(&net).into_values().next_back());
    }
    println!("{ends:?}");
    assert!(ends.len() >= 3, "{ends:?}");
}
