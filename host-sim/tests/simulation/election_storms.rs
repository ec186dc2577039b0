//! Every election in one storm: loss, duplicates, reordering, crashes, restarts and a partition at any moment.

use crate::faulty_node::{Fault, Faulty};
use crate::support::{finds, load, seeds, survives, with_best_leader};
use host_sim::Member;
use host_sim::metrics::seeds::run_seeds;
use host_sim::sim::node::NodeEvent;
use protocol::registry::AnyElection;
use protocol::{Instant, NodeId};

pub(crate) fn storm_seeds() -> u64 {
    seeds(150, 2_000)
}

pub(crate) fn quorum_storm_seeds() -> u64 {
    seeds(60, 400)
}

fn every_election_converges<'a>(name: &str, elections: impl Iterator<Item = &'a str>, seeds: u64) {
    for election in elections {
        with_best_leader(survives(&load(name).with_election(election).unwrap(), seeds));
    }
}

#[test]
fn e6_after_any_storm_every_election_ends_with_the_best_leading_all() {
    every_election_converges("storm", AnyElection::NAMES.iter().copied(), storm_seeds());
}

#[test]
fn f2_with_a_quorum_no_two_leaders_may_act_at_once_in_any_storm() {
    // Clusters have several leaders, and are refused with a quorum.
    every_election_converges("storm-quorum", AnyElection::of_one_leader(), quorum_storm_seeds());
}

/// Acts as leader until it follows another, whatever its lease.
#[derive(Default)]
struct NeverStepsDown {
    led: bool,
}

impl Fault for NeverStepsDown {
    type Node = Member;

    fn on_event(&mut self, me: NodeId, event: NodeEvent) -> NodeEvent {
        match event {
            NodeEvent::Leads(_) => self.led = true,
            NodeEvent::Follows(leader, _) => self.led = leader == me,
            NodeEvent::Leaderless
            | NodeEvent::Halted(_)
            | NodeEvent::Lock(_)
            | NodeEvent::App(_)
            | NodeEvent::NewList(_)
            | NodeEvent::ListDecided
            | NodeEvent::Yields => {} // the fault
        }
        event
    }

    fn is_acting(&self, _: &Member, _: Instant) -> bool {
        self.led
    }
}

#[test]
fn a_member_that_does_not_step_down_in_time_is_found() {
    let report =
        run_seeds::<Faulty<NeverStepsDown>>(&load("storm-quorum").with_election("bully").unwrap(), 0..20, || {});
    assert!(finds(&report, "one-acts"), "{:?}", report.violations);
}
