//! Global quiescence: busy nodes and messages in flight, observed omnisciently.

use crate::base::Micros;
use crate::trace::{AppEvent, EventKind, Observer, TraceEvent};
use std::collections::{BTreeMap, BTreeSet};

/// The state of all applications.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quiescence {
    busy: BTreeSet<u32>,
    /// Messages in flight, by number: sender and recipient.
    in_flight: BTreeMap<u32, (u32, u32)>,
    /// Suspicions, as (observer, suspect): while there is one, no detection knows whether the suspect works.
    suspected: BTreeSet<(u32, u32)>,
    /// Whether the network is not quiescent, and when it last became quiescent.
    active: bool,
    quiet_since: Micros,
    /// Waves begun since then, by initiator.
    waves: BTreeMap<u32, u64>,
    /// Initiators that have detected the end: their next wave is the first of another detection.
    detected: BTreeSet<u32>,
}

impl Quiescence {
    /// Returns since when all nodes are idle, no message is in flight and no member is suspected; `None` while that is not
    /// so.
    pub(crate) fn quiet_since(&self) -> Option<Micros> {
        (!self.active).then_some(self.quiet_since)
    }

    /// Returns how many waves a node has begun since then for one detection: no earlier wave can find the end.
    pub(crate) fn waves(&self, node: u32) -> u64 {
        self.waves.get(&node).copied().unwrap_or(0)
    }

    /// Describes why the network is not quiescent; `None` if it is.
    pub(crate) fn activity(&self) -> Option<String> {
        let works = self.busy.first().map(|node| format!("node {node} works"));
        works.or_else(|| {
            let (from, to) = self.in_flight.values().next()?;
            Some(format!("a message from node {from} to node {to} is in flight"))
        })
    }

    fn on_app_event(&mut self, node: u32, app_event: AppEvent) {
        match app_event {
            AppEvent::Busy => _ = self.busy.insert(node),
            AppEvent::Idle => _ = self.busy.remove(&node),
            AppEvent::Sends { to, message, .. } => _ = self.in_flight.insert(message, (node, to)),
            AppEvent::Receives { message: Some(message), .. } => _ = self.in_flight.remove(&message),
            AppEvent::PeerDown { peer: to } => {
                self.in_flight.retain(|_, &mut way| way != (node, to));
                self.suspected.insert((node, to));
            }
            AppEvent::PeerUp { peer: to } => _ = self.suspected.remove(&(node, to)),
            AppEvent::Wave { .. } => {
                let waves = self.waves.entry(node).or_default();
                *waves = if self.detected.remove(&node) { 1 } else { *waves + 1 };
            }
            AppEvent::Terminated { by, .. } if by == node => _ = self.detected.insert(node),
            _ => {} // neither begins nor ends any work
        }
    }
}

impl Observer for Quiescence {
    fn observe(&mut self, event: &TraceEvent) {
        match (event.kind, event.node) {
            (EventKind::App { event: app_event }, Some(node)) => self.on_app_event(node, app_event),
            // A crash loses the node's work and the messages from and to it.
            (EventKind::Crash, Some(node)) => {
                self.busy.remove(&node);
                self.in_flight.retain(|_, &mut (from, to)| from != node && to != node);
                self.suspected.retain(|&(who, _)| who != node);
            }
            _ => return, // no application event
        }
        let was_active = self.active;
        self.active = !(self.busy.is_empty() && self.in_flight.is_empty() && self.suspected.is_empty());
        if was_active && !self.active {
            self.quiet_since = event.at;
        }
        if self.active {
            self.waves.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_is_quiescent_when_all_nodes_are_idle_and_no_message_is_in_flight() {
        let mut quiescence = Quiescence::default();
        let mut seen = Vec::new();
        let events = [
            (1, 0, EventKind::App { event: AppEvent::Busy }),
            (2, 0, EventKind::App { event: AppEvent::Sends { to: 1, message: 7, amount: 3 } }),
            (3, 0, EventKind::App { event: AppEvent::Idle }),
            (4, 1, EventKind::App { event: AppEvent::Receives { from: 0, message: Some(7), amount: 3 } }),
            (5, 0, EventKind::App { event: AppEvent::Wave { number: 1 } }),
            (6, 1, EventKind::App { event: AppEvent::Busy }),
            (7, 1, EventKind::Crash),
            (8, 0, EventKind::App { event: AppEvent::Sends { to: 1, message: 8, amount: 3 } }),
            (9, 0, EventKind::App { event: AppEvent::PeerDown { peer: 1 } }),
            (10, 0, EventKind::App { event: AppEvent::Wave { number: 2 } }),
            (11, 0, EventKind::App { event: AppEvent::PeerUp { peer: 1 } }),
            (12, 0, EventKind::App { event: AppEvent::Wave { number: 3 } }),
            (13, 0, EventKind::App { event: AppEvent::Wave { number: 4 } }),
            (14, 0, EventKind::App { event: AppEvent::Terminated { by: 0, job: 1, waves: 4 } }),
            (15, 0, EventKind::App { event: AppEvent::Wave { number: 5 } }),
        ];
        for (at, node, what) in events {
            quiescence.observe(&TraceEvent { at, node: Some(node), kind: what });
            seen.push((quiescence.activity(), quiescence.quiet_since(), quiescence.waves(0)));
        }
        let busy = |words: &str| (Some(words.to_owned()), None, 0);
        let expected = [
            busy("node 0 works"),
            busy("node 0 works"),
            busy("a message from node 0 to node 1 is in flight"),
            (None, Some(4), 0),
            (None, Some(4), 1),
            busy("node 1 works"),
            (None, Some(7), 0),
            busy("a message from node 0 to node 1 is in flight"),
            (None, None, 0),
            (None, None, 0),
            (None, Some(11), 0),
            (None, Some(11), 1),
            (None, Some(11), 2),
            (None, Some(11), 2),
            (None, Some(11), 1),
        ];
        assert_eq!(seen, expected);
    }
}
