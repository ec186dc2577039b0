//! The one context of every step that is taken outside a node.

#![allow(dead_code, reason = "each test crate uses a part")]

use protocol::algorithm::{Audience, Context};
use protocol::base::ids::{Roster, RosterView};
use protocol::base::lamport::LamportTime;
use protocol::{Duration, Instant, NodeId, NodeSet, Timing};

/// Returns the context of node `me`: up for a minute, all of `roster` up and in range, no candidate.
///
/// A test overrides what it is about: `Context { now, ..context(roster, me) }`.
pub fn context(roster: RosterView<'_>, me: NodeId) -> Context<'_> {
    let peers = roster.all().without(roster.set_of(me));
    Context {
        now: Instant::from_micros(1),
        uptime: Duration::from_secs(60),
        me,
        candidate: None,
        roster,
        peers,
        up: peers,
        near: peers,
        crowd: peers.len(),
        crowded: false,
        hold: Duration::ZERO,
        quarantined: false,
        audience: Audience::Unknown,
        better: NodeSet::EMPTY,
        best_peer: None,
        view: roster.all(),
        lamport: LamportTime(1),
        random: 0,
        timing: &Timing::RADIO,
    }
}

/// Returns the id of the node with this index.
pub fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap() + 1)
}

/// Returns the roster of these nodes, in this order.
pub fn roster<const N: usize>(ids: impl IntoIterator<Item = u32>) -> Roster<N> {
    let mut roster = Roster::new();
    for id in ids {
        assert!(roster.insert(NodeId(id)).is_some(), "no room for {id}");
    }
    roster
}

/// Returns the set of these slots.
pub fn slots(slots: &[usize]) -> NodeSet {
    slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
}
