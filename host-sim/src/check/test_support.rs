//! Events, a settled network, and a run of one checker, for the checkers' tests.

use super::{Always, Clusters, Settled, SettledNode};
use crate::trace::{AppEvent, EventKind, LockEvent, TraceEvent};
use protocol::NodeId;
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::election::Winner;
use protocol::mutex::Fence;
use protocol::service::snapshot;

pub(super) const NOTHING: [String; 0] = [];

pub(super) const ID: snapshot::Id = snapshot::Id { initiator: NodeId(0), incarnation: 1, number: 1 };

/// Runs a new checker over `events` and returns its findings.
pub(super) fn findings<C: Always>(events: &[TraceEvent]) -> Vec<String> {
    let mut checker = C::default();
    events.iter().filter_map(|event| checker.observe(event)).collect()
}

pub(super) fn event(node: u32, what: EventKind) -> TraceEvent {
    TraceEvent { at: 0, node: Some(node), kind: what }
}

pub(super) fn app(node: u32, app_event: AppEvent) -> TraceEvent {
    event(node, EventKind::App { event: app_event })
}

pub(super) fn of_lock(node: u32, lock: u8, lock_event: LockEvent) -> TraceEvent {
    event(node, EventKind::Lock { lock, event: lock_event })
}

pub(super) fn granted(node: u32, lock: u8, count: u64) -> TraceEvent {
    of_lock(node, lock, LockEvent::Acquired { fence: fence(count) })
}

/// A write that was accepted.
pub(super) fn wrote(node: u32, lock: u8, count: u64) -> TraceEvent {
    of_lock(node, lock, LockEvent::Wrote { fence: fence(count), accepted: true })
}

fn fence(count: u64) -> Fence {
    Fence { term: Term::ZERO, count: LamportTime(count) }
}

/// A settled network of one component in which all nodes follow `leader`; a higher id has a higher capacity.
pub(super) fn agreeing(nodes: u32, leader: u32) -> Settled {
    let term = Term { number: 1, by: NodeId(0) };
    let node = |id: u32| SettledNode {
        id,
        candidate: Some(Candidate { capacity: Capacity::new(100 + id as u16), id: NodeId(id) }),
        leader: Some((leader, term)),
        chief: None,
        incumbent: false,
        yielded: false,
        blank: false,
        hold: 0,
        component: 0,
        region: 0,
    };
    let nodes = (0..nodes).map(node).collect();
    Settled {
        at: 1,
        disturbed_at: 0,
        settle_time: 1,
        noise: 0.0,
        quorum: 1,
        winner: Winner::Highest,
        nodes,
        waiters: Vec::new(),
        clusters: None,
    }
}

/// A settled line of six nodes in two clusters with a horizon of one hop: 0 to 2 around 1, 3 to 5 around 4.
pub(super) fn clustered() -> Settled {
    let mut clusters = Clusters { horizon: 1, ..Clusters::default() };
    let mut settled = agreeing(6, 1);
    for node in &mut settled.nodes {
        let leader = node.id / 3 * 3 + 1;
        node.leader = Some((leader, Term { number: 1, by: NodeId(leader) }));
        clusters.add(node.id, leader, true);
        clusters.add(node.id, leader, false);
    }
    settled.clusters = Some(clusters);
    settled
}
