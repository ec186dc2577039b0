//! The host's loop around one node: hand in, then store, send and tell until there is nothing left.

use super::World;
use super::seat::{Life, NEVER};
use crate::clock::Clock;
use crate::frames::ROOM;
use crate::machine::{Birth, Machine, News};
use crate::queue::{Kind, Micros};
use crate::random::{Stream, derive};
use crate::trace::{Observer, What};
use protocol::capacity::Capacity;
use protocol::election::Command;
use protocol::mandate::Mode;
use protocol::{Instant, NodeId};

impl<M: Machine> World<M> {
    pub(super) fn boot(&mut self, place: u32, blank: bool, observer: &mut impl Observer) {
        let now = self.ether.now;
        let name = self.names[place as usize];
        let seat = &mut self.seats[place as usize];
        if self.lives[place as usize] != Life::Down {
            return;
        }
        if seat.boots == 0 {
            self.boots_pending -= 1;
        }
        if blank {
            seat.records = None;
        }
        seat.boots += 1;
        self.lives[place as usize] = Life::Up;
        seat.clock = Clock::new(now, seat.ppm);
        let seed = derive(self.seed, Stream::Node, u64::from(name) | u64::from(seat.boots) << 32);
        let birth =
            Birth { me: NodeId(name), records: seat.records, seed, may_lead: seat.may_lead, now: Instant::ZERO };
        seat.belief = None;
        self.machines[place as usize] = Some(M::boot(&self.plan, birth));
        self.listen(place);
        self.disturb();
        self.tell(place, What::Boot { blank }, observer);
        self.pump(place, observer);
        self.measure(place, observer);
        self.begin_contest(place);
    }

    pub(super) fn crash(&mut self, place: u32, observer: &mut impl Observer) {
        if self.lives[place as usize] == Life::Down {
            return;
        }
        self.lives[place as usize] = Life::Down;
        self.machines[place as usize] = None;
        let seat = &mut self.seats[place as usize];
        seat.wake_at = NEVER;
        seat.belief = None;
        self.end_contest(place);
        self.ledger.stop(self.names[place as usize]);
        self.silence(place);
        self.disturb();
        self.tell(place, What::Crash, observer);
    }

    pub(super) fn pause(&mut self, place: u32, freezes: bool, observer: &mut impl Observer) {
        let now = self.ether.now;
        if !self.is_up(place) {
            return;
        }
        self.lives[place as usize] = Life::Paused;
        let seat = &mut self.seats[place as usize];
        seat.frozen_since = freezes.then_some(now);
        seat.wake_at = NEVER;
        self.silence(place);
        self.disturb();
        self.tell(place, What::Pause, observer);
    }

    pub(super) fn resume(&mut self, place: u32, observer: &mut impl Observer) {
        let now = self.ether.now;
        if self.lives[place as usize] != Life::Paused {
            return;
        }
        self.lives[place as usize] = Life::Up;
        let seat = &mut self.seats[place as usize];
        if let Some(since) = seat.frozen_since.take() {
            seat.clock.freeze(now - since);
        }
        self.listen(place);
        self.disturb();
        self.tell(place, What::Resume, observer);
        self.wake_contest(place);
        self.schedule(place);
    }

    pub(super) fn wake(&mut self, place: u32, at: Micros, observer: &mut impl Observer) {
        let seat = &mut self.seats[place as usize];
        if seat.wake_at != at {
            return; // an earlier plan, overtaken since
        }
        seat.wake_at = NEVER;
        let now = seat.clock.show(at);
        let Some(machine) = self.machine_up(place) else { return };
        if machine.deadline().is_some_and(|deadline| deadline <= now) {
            machine.wake(now);
            self.pump(place, observer);
        } else {
            self.schedule(place);
        }
    }

    /// A frame has come through to a node.
    pub(super) fn hear(
        &mut self,
        place: u32,
        from: u32,
        kind: &'static str,
        bytes: &[u8],
        quality: u8,
        observer: &mut impl Observer,
    ) {
        if !self.is_up(place) {
            return;
        }
        self.ether.tally.heard += 1;
        self.tell(place, What::Heard { from: self.names[from as usize], kind, quality }, observer);
        let now = self.shown(place);
        let Some(machine) = &mut self.machines[place as usize] else { return };
        if self.ether.faults.corrupts() {
            let mut copy = [0; ROOM];
            copy[..bytes.len()].copy_from_slice(bytes);
            let copy = &mut copy[..bytes.len()];
            self.ether.faults.corrupt(copy, &mut self.ether.random);
            machine.hear(now, copy, quality);
        } else {
            machine.hear(now, bytes, quality);
        }
        self.pump(place, observer);
    }

    /// A node that backs off by itself learns whether its frame went out.
    pub(super) fn carried(&mut self, place: u32, went_out: bool, observer: &mut impl Observer) {
        if !M::BACKS_OFF {
            return;
        }
        let now = self.shown(place);
        let Some(machine) = self.machine_up(place) else { return };
        machine.carried(now, went_out);
        self.pump(place, observer);
    }

    pub(super) fn command(&mut self, place: u32, command: Command, observer: &mut impl Observer) {
        let now = self.shown(place);
        let Some(machine) = self.machine_up(place) else { return };
        machine.command(now, command);
        let word = match command {
            Command::Call => "call",
            Command::Yield => "yield",
        };
        self.disturb();
        self.tell(place, What::Asked { command: word }, observer);
        self.pump(place, observer);
    }

    /// A node measures its capacity, and will again.
    pub(super) fn measure_again(&mut self, place: u32, observer: &mut impl Observer) {
        self.measure(place, observer);
        let at = self.ether.now + self.scenario.capacity.period;
        self.ether.queue.push(at, Kind::Measure, place, 0);
    }

    /// A node measures its capacity, as well as it can.
    pub(super) fn measure(&mut self, place: u32, observer: &mut impl Observer) {
        if !self.is_up(place) {
            return;
        }
        let noise = self.scenario.capacity.noise;
        let off = if noise > 0.0 { noise * (2.0 * self.noise_random.unit() - 1.0) } else { 0.0 };
        let measured = self.seats[place as usize]
            .capacity
            .map(|worth| Capacity::new((f64::from(worth) * (1.0 + off)).round() as u16));
        let now = self.shown(place);
        let Some(machine) = self.machine_up(place) else { return };
        machine.measure(now, measured);
        self.tell(place, What::Capacity { capacity: measured.map(Capacity::get) }, observer);
        self.pump(place, observer);
    }

    /// What a node's clock shows.
    pub(super) fn shown(&self, place: u32) -> Instant {
        self.seats[place as usize].clock.show(self.ether.now)
    }

    /// A node, if it is up.
    pub(super) fn machine_up(&mut self, place: u32) -> Option<&mut M> {
        let up = self.is_up(place);
        self.machines[place as usize].as_mut().filter(|_| up)
    }

    /// Stores, sends and tells what a node wants stored, sent and told.
    pub(super) fn pump(&mut self, place: u32, observer: &mut impl Observer) {
        let now = self.shown(place);
        loop {
            let Some(machine) = &mut self.machines[place as usize] else { return };
            if let Some(records) = machine.poll_persist() {
                self.seats[place as usize].records = Some(records);
                let (incarnation, term) = (records.incarnation, records.term);
                self.tell(place, What::Stored { incarnation, term }, observer);
            } else if let Some(len) = machine.poll_transmit(now, &mut self.buffer) {
                let bytes = &self.buffer[..len];
                let kind = M::describe(&self.plan, bytes);
                let frame = self.ether.frames.insert(bytes, place, self.ether.now, kind);
                self.submit(place, frame, observer);
            } else if let Some(news) = machine.poll_news() {
                self.believe(place, news, observer);
            } else {
                break;
            }
        }
        self.schedule(place);
    }

    fn believe(&mut self, place: u32, news: News, observer: &mut impl Observer) {
        let name = self.names[place as usize];
        let (belief, what) = match news {
            News::Leads(term) => (Some((name, term)), What::Leads { term }),
            News::Follows(leader, term) => (Some((leader.0, term)), What::Follows { leader: leader.0, term }),
            News::Leaderless => (None, What::Leaderless),
            News::Halted(why) => (None, What::Halted { why }),
            News::Lock(notice) => return self.told(place, notice, observer),
            News::App(doing) => return self.did(place, doing, observer),
        };
        self.seats[place as usize].belief = belief;
        self.tell(place, what, observer);
        if matches!(news, News::Leads(_)) {
            self.find_rivals(place, observer);
        }
    }

    /// A node leads from now on: whoever else may act at this moment, awake or asleep, is a rival. Two can only begin to
    /// lead at once where one of them begins.
    fn find_rivals(&mut self, place: u32, observer: &mut impl Observer) {
        if self.scenario.mode != Mode::Quorum {
            return;
        }
        let acts = |place: u32| {
            let now = self.shown(place);
            self.machines[place as usize].as_ref().is_some_and(|machine| machine.acts(now))
        };
        if !acts(place) {
            return;
        }
        let rivals: Vec<u32> = (0..self.nodes()).filter(|&other| other != place && acts(other)).collect();
        for rival in rivals {
            self.tell(place, What::Rival { other: self.names[rival as usize] }, observer);
        }
    }

    /// Sees to it that a node is woken at its deadline: an event that comes too early is put off when it comes.
    fn schedule(&mut self, place: u32) {
        let seat = &mut self.seats[place as usize];
        let Some(deadline) = self.machines[place as usize].as_ref().and_then(M::deadline) else { return };
        // A deadline that has passed is met in the next microsecond: time goes on whatever a node does.
        let at = seat.clock.when(deadline).max(self.ether.now + 1);
        if at < seat.wake_at {
            seat.wake_at = at;
            self.ether.queue.push(at, Kind::Wake, place, 0);
        }
    }
}
