//! The host's loop around one node: hand in one input; persist, transmit and report until nothing is left.

use super::World;
use super::node_state::{NEVER, PowerState};
use crate::base::Micros;
use crate::base::rng::{Stream, derive_seed};
use crate::sim::clock::Clock;
use crate::sim::event_queue::Kind;
use crate::sim::fault_plan::StoredRecords;
use crate::sim::flash::Flash;
use crate::sim::frame_pool::FRAME_CAPACITY;
use crate::sim::node::{Boot, ListView, NodeEvent, SUPERSEDED, SimNode};
use crate::trace::{EventKind, Observer};
use protocol::base::capacity::Capacity;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::election::Command;
use protocol::election::appointment::Appointment;
use protocol::{Instant, NodeId};

/// How often the power fails while a node writes its records at boot, at most.
const TORN_BOOTS_MAX: u64 = 4;

impl<M: SimNode> World<M> {
    /// Boots a node that is down.
    pub(super) fn restart(&mut self, slot: u32, records: StoredRecords, observer: &mut impl Observer) {
        if records == StoredRecords::Torn && self.power[slot as usize] == PowerState::Down {
            self.tear_records(slot);
        }
        self.boot(slot, records == StoredRecords::Lost, observer);
    }

    /// Boots a node several times for so short that the power fails while it writes its first records: it sends nothing.
    fn tear_records(&mut self, slot: u32) {
        let state = &mut self.states[slot as usize];
        let Some(kept) = state.records else { return };
        let flash = self.flashes.entry(slot).or_insert_with(|| Flash::holding(kept));
        for _ in 0..self.fault_rng.between(1, TORN_BOOTS_MAX) {
            let now = Instant::ZERO;
            let boot =
                Boot { me: NodeId(self.ids[slot as usize]), records: flash.load(), seed: 0, may_lead: false, now };
            if let Some(records) = M::boot(&self.node_plan, boot).poll_persist() {
                flash.tear(records, &mut self.fault_rng);
            }
        }
        state.records = flash.load();
    }

    pub(super) fn boot(&mut self, slot: u32, blank: bool, observer: &mut impl Observer) {
        let id = self.ids[slot as usize];
        let state = &mut self.states[slot as usize];
        if self.power[slot as usize] != PowerState::Down {
            return;
        }
        if state.boots == 0 {
            self.boots_pending -= 1;
        }
        if blank {
            state.records = None;
            self.flashes.remove(&slot);
            self.logs.remove(&slot);
        }
        state.boots += 1;
        self.power[slot as usize] = PowerState::Up;
        state.clock = Clock::new(self.medium.now, state.ppm);
        let seed = derive_seed(self.seed, Stream::Node, u64::from(id) | u64::from(state.boots) << 32);
        let boot = Boot { me: NodeId(id), records: state.records, seed, may_lead: state.may_lead, now: Instant::ZERO };
        state.leader = None;
        state.measure_due = false;
        state.appointment = Appointment::default();
        let log = self.logs.get(&slot).map(|log| &**log);
        self.nodes[slot as usize] = Some(M::boot_with_log(&self.node_plan, boot, log));
        self.start_receiver(slot);
        self.disturb();
        self.emit(slot, EventKind::Boot { blank }, observer);
        self.pump(slot, observer);
        self.measure(slot, observer);
        if M::list(self.nodes[slot as usize].as_ref().expect("it has booted")).is_none() {
            self.start_locks(slot); // where lists change, a node starts with its list
        }
    }

    pub(super) fn crash(&mut self, slot: u32, observer: &mut impl Observer) {
        if self.power[slot as usize] == PowerState::Down {
            return;
        }
        self.power[slot as usize] = PowerState::Down;
        self.nodes[slot as usize] = None;
        let state = &mut self.states[slot as usize];
        state.wake_at = NEVER;
        state.leader = None;
        self.stop_locks(slot);
        self.in_flight.node_stopped(self.ids[slot as usize]);
        self.stop_radio(slot);
        self.disturb();
        self.emit(slot, EventKind::Crash, observer);
    }

    pub(super) fn pause(&mut self, slot: u32, clock_stops: bool, observer: &mut impl Observer) {
        if !self.is_up(slot) {
            return;
        }
        self.power[slot as usize] = PowerState::Paused;
        let state = &mut self.states[slot as usize];
        state.frozen_since = clock_stops.then_some(self.medium.now);
        state.wake_at = NEVER;
        self.stop_radio(slot);
        self.disturb();
        self.emit(slot, EventKind::Pause, observer);
    }

    pub(super) fn resume(&mut self, slot: u32, observer: &mut impl Observer) {
        if self.power[slot as usize] != PowerState::Paused {
            return;
        }
        self.power[slot as usize] = PowerState::Up;
        let state = &mut self.states[slot as usize];
        if let Some(since) = state.frozen_since.take() {
            state.clock.freeze(self.medium.now - since);
        }
        self.start_receiver(slot);
        self.disturb();
        self.emit(slot, EventKind::Resume, observer);
        self.resume_locks(slot);
        self.schedule(slot);
        if std::mem::take(&mut self.states[slot as usize].measure_due) {
            self.measure(slot, observer);
        }
    }

    pub(super) fn wake(&mut self, slot: u32, at: Micros, observer: &mut impl Observer) {
        let state = &mut self.states[slot as usize];
        if state.wake_at != at {
            return; // superseded by an earlier one
        }
        state.wake_at = NEVER;
        let now = state.clock.local(at);
        let Some(node) = self.running(slot) else { return };
        if node.deadline().is_some_and(|deadline| deadline <= now) {
            node.handle_timeout(now);
            self.pump(slot, observer);
        } else {
            self.schedule(slot);
        }
    }

    pub(super) fn receive(
        &mut self,
        slot: u32,
        from: u32,
        kind: &'static str,
        bytes: &[u8],
        quality: u8,
        observer: &mut impl Observer,
    ) {
        if !self.is_up(slot) {
            return;
        }
        self.medium.stats.received += 1;
        self.emit(slot, EventKind::Received { from: self.ids[from as usize], kind, quality }, observer);
        let now = self.local_time(slot);
        let Some(node) = &mut self.nodes[slot as usize] else { return };
        if self.medium.faults.corrupts() {
            let mut copy = [0; FRAME_CAPACITY];
            copy[..bytes.len()].copy_from_slice(bytes);
            let copy = &mut copy[..bytes.len()];
            self.medium.faults.corrupt(copy, &mut self.medium.rng);
            node.receive(now, copy, quality);
        } else {
            node.receive(now, bytes, quality);
        }
        let attacker = self.medium.faults.attacker();
        let mut attack = Vec::new();
        if let Some(attacker) = attacker {
            let lie = |heard: &[u8], random| M::lie(&self.node_plan, heard, random);
            attack = attacker.on_frame(bytes, &mut self.medium.rng, lie);
            for sent in &attack {
                node.receive(now, sent, quality);
            }
        }
        self.pump(slot, observer);
        for sent in attack {
            self.hand_in(from, observer, |node, now| node.receive(now, &sent, quality)); // who sent it hears it, too
        }
    }

    /// Reports to a node that backs off by itself whether its frame was sent.
    pub(super) fn transmit_done(&mut self, slot: u32, sent: bool, observer: &mut impl Observer) {
        self.hand_in(slot, observer, |node, now| {
            if M::BACKS_OFF {
                node.on_transmit_done(now, sent);
            }
        });
    }

    pub(super) fn command(&mut self, slot: u32, command: Command, observer: &mut impl Observer) {
        if !self.is_up(slot) {
            return;
        }
        let name = match command {
            Command::Call => "call",
            Command::Yield => "yield",
        };
        self.disturb();
        self.emit(slot, EventKind::Command { command: name }, observer);
        self.hand_in(slot, observer, |node, now| node.command(now, command));
    }

    /// Appoints a node to lead, or releases it.
    pub(super) fn appoint(&mut self, slot: u32, appointed: bool, observer: &mut impl Observer) {
        self.disturb();
        self.emit_event(None, EventKind::CapacityFault, observer);
        let state = &mut self.states[slot as usize];
        state.appointment.set(appointed);
        state.measure_due = self.power[slot as usize] == PowerState::Paused;
        self.measure(slot, observer);
        if appointed {
            self.command(slot, Command::Call, observer);
        }
    }

    /// Measures a node's capacity, with noise.
    pub(super) fn measure(&mut self, slot: u32, observer: &mut impl Observer) {
        if !self.is_up(slot) {
            return;
        }
        let noise = self.plan.capacity.noise;
        let error = if noise > 0.0 { noise * (2.0 * self.noise_rng.next_f64() - 1.0) } else { 0.0 };
        let with_error = |capacity: u16| Capacity::new((f64::from(capacity) * (1.0 + error)).round() as u16);
        let state = &self.states[slot as usize];
        let measured = state.appointment.capacity(state.capacity.map(with_error));
        self.emit(slot, EventKind::Capacity { capacity: measured.map(Capacity::get) }, observer);
        self.hand_in(slot, observer, |node, now| node.measure(now, measured));
    }

    /// Hands an input to a node that is up.
    pub(super) fn hand_in(&mut self, slot: u32, observer: &mut impl Observer, input: impl FnOnce(&mut M, Instant)) {
        let now = self.local_time(slot);
        let Some(node) = self.running(slot) else { return };
        input(node, now);
        self.pump(slot, observer);
    }

    pub(super) fn local_time(&self, slot: u32) -> Instant {
        self.states[slot as usize].clock.local(self.medium.now)
    }

    fn running(&mut self, slot: u32) -> Option<&mut M> {
        let up = self.is_up(slot);
        self.nodes[slot as usize].as_mut().filter(|_| up)
    }

    /// Polls a node for records, frames and events until nothing is left, or nothing but frames that its transmitter does
    /// not take yet.
    pub(super) fn pump(&mut self, slot: u32, observer: &mut impl Observer) {
        let now = self.local_time(slot);
        loop {
            let ready = self.takes_frames(slot);
            let Some(node) = &mut self.nodes[slot as usize] else { return };
            while let Some(message) = node.poll_message() {
                observer.on_message(self.medium.now, &message);
            }
            if let Some(records) = node.poll_persist() {
                self.store(slot, records, observer);
            } else if let Some(log) = node.poll_log() {
                self.logs.insert(slot, log);
            } else if let Some(len) = ready.then(|| node.poll_transmit(now, &mut self.buffer)).flatten() {
                let bytes = &self.buffer[..len];
                let kind = M::message_name(&self.node_plan, bytes);
                let frame = self.medium.frames.insert(bytes, slot, self.medium.now, kind);
                self.submit(slot, frame, observer);
            } else if let Some(event) = node.poll_event() {
                self.handle_event(slot, event, observer);
            } else {
                break;
            }
        }
        self.schedule(slot);
    }

    /// Stores a node's records. Fewer flaps in them mean that it counts for more from now on, as after a capacity fault.
    fn store(&mut self, slot: u32, records: Records, observer: &mut impl Observer) {
        let before = self.states[slot as usize].records.replace(records);
        if let Some(flash) = self.flashes.get_mut(&slot) {
            flash.store(records);
        }
        let Records { incarnation, term, flaps, .. } = records;
        self.emit(slot, EventKind::Stored { incarnation, term }, observer);
        if before.is_some_and(|before| before.incarnation == incarnation && flaps < before.flaps) {
            self.disturb();
            self.emit(slot, EventKind::Steady { flaps }, observer);
        }
    }

    fn handle_event(&mut self, slot: u32, event: NodeEvent, observer: &mut impl Observer) {
        let id = self.ids[slot as usize];
        let (leader, kind) = match event {
            NodeEvent::Leads(term) => (Some((id, term)), EventKind::Leads { term }),
            NodeEvent::Follows(leader, term) => (Some((leader.0, term)), EventKind::Follows { leader: leader.0, term }),
            NodeEvent::Leaderless => (None, EventKind::Leaderless),
            NodeEvent::Halted(reason) => (None, EventKind::Halted { reason }),
            NodeEvent::Lock(notice) => return self.lock_notice(slot, notice, observer),
            NodeEvent::App(action) => return self.app_action(slot, action, observer),
            NodeEvent::NewList(list) => return self.new_list(slot, list, observer),
            NodeEvent::ListDecided => return self.emit(slot, EventKind::ListDecided, observer),
            NodeEvent::Yields => return self.command(slot, Command::Yield, observer),
        };
        self.states[slot as usize].leader = leader;
        self.emit(slot, kind, observer);
        if matches!(event, NodeEvent::Leads(_)) {
            self.find_acting_leaders(slot, observer);
        }
        if event == NodeEvent::Halted(SUPERSEDED) {
            self.crash(slot, observer);
            self.boot(slot, false, observer); // as a board does
        }
    }

    /// Follows a node that goes on with another list of members, as one that reboots.
    fn new_list(&mut self, slot: u32, list: ListView, observer: &mut impl Observer) {
        self.stop_locks(slot);
        self.in_flight.node_stopped(self.ids[slot as usize]);
        self.states[slot as usize].leader = None;
        self.disturb();
        self.emit(slot, EventKind::NewList { epoch: list.epoch, members: list.members }, observer);
        if self.nodes[slot as usize].as_ref().is_some_and(M::takes_part) {
            self.start_locks(slot);
        }
    }

    /// Reports every other node that may act as leader while this one begins to lead, running or paused. Two can only
    /// begin to lead at once if one of them begins.
    fn find_acting_leaders(&mut self, slot: u32, observer: &mut impl Observer) {
        if self.plan.mode != Mode::Quorum {
            return;
        }
        let is_acting = |slot: u32| {
            let now = self.local_time(slot);
            self.nodes[slot as usize].as_ref().is_some_and(|node| node.is_acting(now))
        };
        if !is_acting(slot) {
            return;
        }
        let others: Vec<u32> = (0..self.node_count()).filter(|&other| other != slot && is_acting(other)).collect();
        for other in others {
            self.emit(slot, EventKind::TwoLeaders { other: self.ids[other as usize] }, observer);
        }
    }

    /// Schedules the wake-up at a node's deadline; a wake-up that comes too early is scheduled again when it comes.
    fn schedule(&mut self, slot: u32) {
        let Some(deadline) = self.nodes[slot as usize].as_ref().and_then(M::deadline) else { return };
        if deadline <= self.local_time(slot) && !self.takes_frames(slot) {
            return; // a frame is due, and the transmitter will ask for it
        }
        let state = &mut self.states[slot as usize];
        // A deadline in the past expires in the next microsecond: time goes on whatever a node does.
        let at = state.clock.global(deadline).max(self.medium.now + 1);
        if at < state.wake_at {
            state.wake_at = at;
            self.medium.queue.push(at, Kind::Wake, slot, 0);
        }
    }
}
