//! The one context of every step that is explored.

use protocol::algorithm::{Audience, Context};
use protocol::base::ids::{Roster, RosterView};
use protocol::base::lamport::LamportTime;
use protocol::{Duration, Instant, NodeId, NodeSet, Timing};

/// Returns the context of node `me`: up for a minute, all of `roster` up and in range, no candidate.
pub(super) fn context(roster: RosterView<'_>, me: NodeId) -> Context<'_> {
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
pub(super) fn id(index: usize) -> NodeId {
    NodeId(index as u32 + 1)
}

/// Returns the roster of the first so many nodes.
pub(super) fn roster<const N: usize>(nodes: usize) -> Roster<N> {
    let mut roster = Roster::new();
    for node in 0..nodes {
        assert!(roster.insert(id(node)).is_some(), "the roster has room for {nodes} nodes");
    }
    roster
}
