//! A second opinion on the explorer: the same small groups, written again for the model checker stateright.
//!
//! Nothing of the explorer is used. States here are whole (no interned numbers, no steps looked up, queues of bytes), and
//! another search visits them. `counts.txt` has the states of each search: a test here counts them by stateright, a test of
//! the simulator by the explorer. Where both agree, neither the interning nor the batches nor the fingerprints of the
//! explorer lose a state or make one up.

#![forbid(unsafe_code)]

mod election;
mod lock;

pub use election::Elections;
pub use lock::Locks;

use protocol::algorithm::{Audience, Context};
use protocol::base::ids::{Roster, RosterView};
use protocol::base::lamport::LamportTime;
use protocol::{Duration, Instant, NodeId, NodeSet, Timing};

/// How many nodes there are.
pub const NODES: usize = 3;

/// Returns the id of the node with this index.
fn id(node: usize) -> NodeId {
    NodeId(u32::try_from(node).expect("a small number") + 1)
}

fn roster() -> Roster<NODES> {
    let mut roster = Roster::new();
    for node in 0..NODES {
        roster.insert(id(node)).expect("the roster has room");
    }
    roster
}

/// Returns the context of a member to whom all others are up and in range.
fn context<'a>(roster: RosterView<'a>, node: usize, timing: &'a Timing) -> Context<'a> {
    let peers = roster.all().without(NodeSet::slot(node));
    Context {
        now: Instant::ZERO,
        uptime: Duration::ZERO,
        me: id(node),
        candidate: None,
        hold: Duration::ZERO,
        roster,
        peers,
        up: peers,
        near: peers,
        crowd: peers.len(),
        crowded: false,
        audience: Audience::Unknown,
        better: NodeSet::EMPTY,
        best_peer: None,
        view: roster.all(),
        lamport: LamportTime(0),
        random: 0,
        timing,
    }
}

/// Counts the states of a model by stateright, asserts that every property holds, and compares the count with the list.
#[cfg(test)]
fn assert_counted<M>(search: &str, model: M)
where
    M: stateright::Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + PartialEq + std::hash::Hash + Send + Sync + 'static,
    M::Action: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static,
{
    use stateright::Checker as _;
    let checker = model.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    let line = format!("{search}: {}", checker.unique_state_count());
    println!("{line}");
    assert!(include_str!("../counts.txt").lines().any(|listed| listed == line), "{line}");
}
