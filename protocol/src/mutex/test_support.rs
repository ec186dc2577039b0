//! A context for the unit tests of locks and services: node 1 in the first slot of a group, all of whose members are up.

use super::LockId;
use crate::Timing;
use crate::algorithm::{Audience, Context};
use crate::base::ids::{NodeId, NodeSet, Roster};
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};

pub(super) const DOOR: LockId = LockId::from_name("door");

/// Returns this second of the node's life.
pub(super) fn second(second: u32) -> Instant {
    Instant::ZERO.after(Duration::from_secs(second))
}

/// Runs `step` at node 1 of `1..=members`, at this second and Lamport time.
pub(crate) fn at<T>(members: u32, now: u32, lamport: u64, step: impl FnOnce(&Context<'_>) -> T) -> T {
    let mut roster = Roster::<3>::new();
    for id in 1..=members {
        roster.insert(NodeId(id));
    }
    let all = roster.view().all();
    let others = all.without(NodeSet::slot(0));
    step(&Context {
        now: second(now),
        uptime: Duration::from_secs(now),
        me: NodeId(1),
        candidate: None,
        roster: roster.view(),
        peers: others,
        up: others,
        near: others,
        crowd: others.len(),
        crowded: false,
        hold: crate::Duration::ZERO,
        quarantined: false,
        audience: Audience::Unknown,
        better: NodeSet::EMPTY,
        best_peer: None,
        view: all,
        lamport: LamportTime(lamport),
        random: 0,
        timing: &Timing::RADIO,
    })
}
