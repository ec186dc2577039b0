//! The applications of the nodes.

use super::World;
use crate::base::Micros;
use crate::sim::event_queue::Kind;
use crate::sim::node::SimNode;
use crate::trace::{AppEvent, AppRequest, EventKind, Observer};
use crate::workload::apps::AppAction;
use protocol::Instant;

/// The time between two comparisons of the shared clocks.
pub(super) const CLOCK_COMPARISON_PERIOD: Micros = 50_000;

impl<M: SimNode> World<M> {
    pub(super) fn app_request(&mut self, slot: u32, request: AppRequest, observer: &mut impl Observer) {
        if self.is_up(slot) {
            self.emit(slot, EventKind::App { event: AppEvent::Request { request } }, observer);
            self.hand_in(slot, observer, |node, now| node.app_request(now, request));
        }
    }

    pub(super) fn app_action(&mut self, slot: u32, action: AppAction, observer: &mut impl Observer) {
        let id = self.ids[slot as usize];
        let event = match action {
            AppAction::Sent { to, message } => {
                AppEvent::Sends { to: to.0, message: self.in_flight.sent(id, to.0, message), amount: message.amount() }
            }
            AppAction::Received { from, message, amount } => {
                AppEvent::Receives { from: from.0, message: self.in_flight.received(from.0, id, message), amount }
            }
            AppAction::Event(event) => {
                if let AppEvent::PeerDown { peer } = event {
                    self.in_flight.mark_uncertain(id, peer);
                }
                event
            }
        };
        self.emit(slot, EventKind::App { event }, observer);
    }

    /// Compares the shared clocks of all nodes, now and periodically.
    pub(super) fn compare_clocks(&mut self, observer: &mut impl Observer) {
        let shared_time = |slot: u32| {
            let node = self.nodes[slot as usize].as_ref().filter(|_| self.is_up(slot));
            node.and_then(|node| node.shared_time(self.local_time(slot))).map(Instant::as_micros)
        };
        let times: Vec<u64> = (0..self.node_count()).filter_map(shared_time).collect();
        let skew = times.iter().max().zip(times.iter().min()).map_or(0, |(last, first)| last - first);
        self.emit_event(None, EventKind::Clocks { synced: times.len() as u32, skew }, observer);
        self.medium.queue.push(self.medium.now + CLOCK_COMPARISON_PERIOD, Kind::CompareClocks, 0, 0);
    }
}
