//! Every lock in one storm: loss, duplicates, reordering, crashes, restarts with and without records, a partition,
//! pauses and clocks 2 % off.

use crate::faulty_node::{Fault, Faulty};
use crate::support::{finds, load, passes_but_for, seeds, storm, survives};
use host_sim::ProtocolNode;
use host_sim::metrics::seeds::{run_seeds, run_seeds_of};
use host_sim::nodes::AnyNode;
use host_sim::nodes::protocol_node::LockNode;
use host_sim::sim::node::NodeEvent;
use host_sim::trace::MessageEvent;
use host_sim::workload::locks::LOCK_GROUP_MAX;
use protocol::mutex::{Fence, LockId, NoMutex, Notice};
use protocol::registry::AnyMutex;
use protocol::{Instant, NodeId};

pub(crate) fn storm_seeds() -> u64 {
    seeds(100, 2_000)
}

/// No two nodes hold the lock, fences grow, no stale write is accepted, and in the end no request waits.
fn passes_the_storm(mutex: &str) {
    let report = survives(&load("lock-storm").with_mutex(mutex).unwrap(), storm_seeds());
    assert!(report.measures["writes_refused"].p50 > 0, "late writes occur: {:?}", report.measures);
    assert!(report.measures["lock_recovery_us"].count > 0, "holders crash: {:?}", report.measures);
}

/// One test for each lock.
macro_rules! storms {
    ($($test:ident: $mutex:literal,)*) => {
        $(#[test]
        fn $test() {
            passes_the_storm($mutex);
        })*

        #[test]
        fn every_lock_has_its_storm() {
            let mut tested = [$($mutex),*];
            let mut known = AnyMutex::NAMES.to_vec();
            tested.sort_unstable();
            known.sort_unstable();
            assert_eq!(tested.as_slice(), known);
        }
    };
}

storms! {
    mc6_the_central_lock_passes_the_storm: "central",
    mt4_the_token_ring_passes_the_storm: "token-ring",
    ml4_the_lock_of_lamport_passes_the_storm: "lamport",
    mr6_the_lock_of_ricart_and_agrawala_passes_the_storm: "ricart-agrawala",
    mk6_the_lock_of_maekawa_passes_the_storm: "maekawa",
    md2_the_lock_by_voting_passes_the_storm: "voting",
    the_lock_of_raymond_passes_the_storm: "raymond",
    the_lock_of_suzuki_and_kasami_passes_the_storm: "suzuki-kasami",
}

#[test]
fn the_tree_lock_moves_along_the_tree_of_a_wireless_election_over_many_hops() {
    let report = passes_but_for("leader-stays", &load("lock-tree"), tree_seeds());
    assert!(report.measures["grants"].p50 > 100, "{:?}", report.measures);
}

fn tree_seeds() -> u64 {
    seeds(10, 40)
}

#[test]
fn the_leader_of_the_tree_lock_hardly_ever_loses_its_quorum_over_many_hops() {
    let report = storm(&load("lock-tree"), tree_seeds());
    let changes = report.violations.iter().filter(|violation| violation.checker == "leader-stays");
    let changes: Vec<_> = changes.map(|violation| (violation.seed, violation.time, &violation.text)).collect();
    assert!(changes.len() <= 1, "{changes:?}");
}

#[test]
fn x13_writes_without_fencing_are_found() {
    let mut unfenced = load("lock-storm");
    unfenced.world.locks.as_mut().unwrap().fencing = false;
    let report = run_seeds_of(&unfenced, 0..20, || {});
    assert!(finds(&report, "no-stale-write"), "{:?}", report.violations);
}

#[test]
fn m1_a_node_that_never_grants_a_lock_is_found() {
    let report = run_seeds::<ProtocolNode<LOCK_GROUP_MAX, NoMutex>>(&load("lock-storm"), 0..2, || {});
    assert!(finds(&report, "nobody-waits-for-ever"), "{:?}", report.violations);
    assert!(finds(&report, "expect"), "and there are no grants: {:?}", report.violations);
}

/// Holds a lock until it is notified of the loss, whatever its lease.
#[derive(Default)]
pub(crate) struct Overstays {
    held: Vec<(LockId, Fence)>,
}

impl Fault for Overstays {
    type Node = AnyNode;

    fn on_event(&mut self, _: NodeId, event: NodeEvent) -> NodeEvent {
        if let NodeEvent::Lock(Notice::Acquired { lock, .. } | Notice::Lost { lock } | Notice::Released { lock }) =
            event
        {
            self.held.retain(|&(held, _)| held != lock);
        }
        if let NodeEvent::Lock(Notice::Acquired { lock, fence, .. }) = event {
            self.held.push((lock, fence));
        }
        event
    }

    fn holds(&self, _: &AnyNode, lock: LockId, _: Instant) -> Option<Fence> {
        self.held.iter().find(|(held, _)| *held == lock).map(|&(_, fence)| fence)
    }
}

/// Gives every grant the same fence.
#[derive(Default)]
struct Miscounts;

impl Fault for Miscounts {
    type Node = LockNode;

    fn on_event(&mut self, _: NodeId, event: NodeEvent) -> NodeEvent {
        match event {
            NodeEvent::Lock(Notice::Acquired { lock, until, .. }) => {
                NodeEvent::Lock(Notice::Acquired { lock, fence: Fence::ZERO, until })
            }
            other => other,
        }
    }
}

/// Receives its first message again and again.
#[derive(Default)]
struct Replays {
    first: Option<MessageEvent>,
}

impl Fault for Replays {
    type Node = LockNode;

    fn on_message(&mut self, event: MessageEvent) -> MessageEvent {
        match event {
            MessageEvent::Sends(_) => event,
            MessageEvent::Receives(_) => *self.first.get_or_insert(event),
        }
    }
}

#[test]
fn a_message_that_is_delivered_again_is_found() {
    let report = run_seeds::<Faulty<Replays>>(&load("lock-storm"), 0..2, || {});
    assert!(finds(&report, "exactly-once"), "{:?}", report.violations);
}

#[test]
fn mc6_a_holder_that_ignores_the_end_of_its_lease_is_found() {
    let report = run_seeds::<Faulty<Overstays>>(&load("lock-storm"), 0..40, || {});
    assert!(finds(&report, "one-holder"), "{:?}", report.violations);
}

#[test]
fn fences_that_do_not_grow_are_found() {
    let report = run_seeds::<Faulty<Miscounts>>(&load("lock-storm"), 0..2, || {});
    assert!(finds(&report, "fences-grow"), "{:?}", report.violations);
}
