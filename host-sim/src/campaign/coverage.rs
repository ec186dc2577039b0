//! Which messages arrived at nodes in which states: a campaign prefers what reaches new pairs of both.

use crate::trace::{EventKind, LockEvent, Observer, TraceEvent};
use std::collections::BTreeMap;

/// A set of states of a node, as bits: see [`State::bit`].
pub(super) type States = u32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Leaderless,
    Follows,
    Leads,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lock {
    #[default]
    Idle,
    Waits,
    Holds,
}

/// What a node's place in the protocol depends on, as far as its trace tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    role: Role,
    /// Of the lock that was heard of last.
    lock: Lock,
    boots: u8,
}

impl State {
    /// The states there are: three roles, three phases of a lock, and whether the node has rebooted.
    const COUNT: u32 = 18;

    fn bit(self) -> States {
        let rebooted = u32::from(self.boots > 1);
        1 << ((self.role as u32 * 3 + self.lock as u32) * 2 + rebooted)
    }
}

/// Follows the states of all nodes, and notes in which of them messages arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    nodes: BTreeMap<u32, State>,
    arrived: Vec<(&'static str, States)>,
}

impl Coverage {
    /// Returns the states in which each message arrived, by its name.
    pub(super) fn arrived(&self) -> BTreeMap<&'static str, States> {
        self.arrived.iter().copied().collect()
    }

    fn arrive(&mut self, message: &'static str, state: States) {
        match self.arrived.iter_mut().find(|(known, _)| std::ptr::eq(*known, message) || *known == message) {
            Some((_, states)) => *states |= state,
            None => self.arrived.push((message, state)),
        }
    }
}

impl Observer for Coverage {
    fn observe(&mut self, event: &TraceEvent) {
        let Some(id) = event.node else { return };
        let node = self.nodes.entry(id).or_default();
        match &event.kind {
            EventKind::Received { kind, .. } => {
                let state = node.bit();
                self.arrive(kind, state);
            }
            EventKind::Boot { .. } => *node = State { boots: node.boots.saturating_add(1), ..State::default() },
            EventKind::Leads { .. } => node.role = Role::Leads,
            EventKind::Follows { .. } => node.role = Role::Follows,
            EventKind::Leaderless => node.role = Role::Leaderless,
            EventKind::Lock { event: LockEvent::Requests { .. }, .. } => node.lock = Lock::Waits,
            EventKind::Lock { event: LockEvent::Acquired { .. }, .. } => node.lock = Lock::Holds,
            EventKind::Lock {
                event: LockEvent::Released | LockEvent::Lost | LockEvent::Refused { .. } | LockEvent::Cancels,
                ..
            } => node.lock = Lock::Idle,
            _ => {} // it changes none of these
        }
    }
}

/// Joins pairs to those that are known; returns how many were new.
pub(super) fn join(known: &mut BTreeMap<String, States>, pairs: &BTreeMap<String, States>) -> u32 {
    let mut new = 0;
    for (message, states) in pairs {
        let known = known.entry(message.clone()).or_default();
        new += (states & !*known).count_ones();
        *known |= states;
    }
    new
}

/// Returns how many pairs there are.
pub(super) fn count(pairs: &BTreeMap<String, States>) -> u64 {
    pairs.values().map(|states| u64::from(states.count_ones())).sum()
}

const _: () = assert!(State::COUNT <= States::BITS, "a state has a bit");

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::base::term::Term;

    #[test]
    fn a_message_counts_once_in_every_state_in_which_it_arrives() {
        let mut coverage = Coverage::default();
        let mut see = |kind| coverage.observe(&TraceEvent { at: 0, node: Some(3), kind });
        let hello = EventKind::Received { from: 1, kind: "hello", quality: 0 };
        see(EventKind::Boot { blank: false });
        see(hello);
        see(hello);
        see(EventKind::Leads { term: Term::ZERO });
        see(hello);
        see(EventKind::Boot { blank: true });
        see(hello);
        let arrived = coverage.arrived();
        assert_eq!(arrived.values().map(|states| states.count_ones()).collect::<Vec<_>>(), [3]);
        let pairs: BTreeMap<String, States> = arrived.into_iter().map(|(name, at)| (name.to_owned(), at)).collect();
        let mut known = BTreeMap::new();
        assert_eq!((join(&mut known, &pairs), join(&mut known, &pairs), count(&known)), (3, 0, 3));
    }
}
