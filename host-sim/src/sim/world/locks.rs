//! The lock workload of the nodes.

use super::World;
use super::node_state::PowerState;
use crate::base::Micros;
use crate::sim::event_queue::{Event, Kind};
use crate::sim::node::SimNode;
use crate::trace::{EventKind, LockEvent, Observer};
use crate::workload::locks::{ContenderAction, LockWorkload, Scheduled, Write};
use protocol::Duration;
use protocol::mutex::{Command, Notice, Refusal};

impl<M: SimNode> World<M> {
    /// Starts the workload of a node that has booted.
    pub(super) fn start_locks(&mut self, slot: u32) {
        let now = self.medium.now;
        for lock in 0..self.lock_count() {
            let first = self.locks.as_mut().and_then(|locks| locks.start(slot, lock, now));
            self.schedule_action(slot, first);
        }
    }

    /// Stops the workload of a node that crashed, with all its pending actions.
    pub(super) fn stop_locks(&mut self, slot: u32) {
        self.deferred.retain(|event| event.target != slot);
        for lock in 0..self.lock_count() {
            if let Some(locks) = &mut self.locks {
                locks.stop(slot, lock);
            }
        }
    }

    /// Resumes the workload of a node: for its application no time has passed.
    pub(super) fn resume_locks(&mut self, slot: u32) {
        let now = self.medium.now;
        self.deferred.retain(|event| {
            if event.target == slot {
                self.medium.queue.push(now, event.kind, slot, event.detail);
            }
            event.target != slot
        });
    }

    fn lock_count(&self) -> u8 {
        self.locks.as_ref().map_or(0, LockWorkload::locks)
    }

    fn schedule_action(&mut self, slot: u32, scheduled: Scheduled) {
        if let Some((at, detail)) = scheduled {
            self.medium.queue.push(at, Kind::LockAction, slot, detail);
        }
    }

    /// Defers an event of a paused node; returns whether it did.
    fn defer(&mut self, event: Event) -> bool {
        let paused = self.power[event.target as usize] == PowerState::Paused;
        if paused {
            self.deferred.push(event);
        }
        paused
    }

    pub(super) fn lock_action(&mut self, event: Event, observer: &mut impl Observer) {
        let (slot, now) = (event.target, self.medium.now);
        if self.defer(event) {
            return;
        }
        let Some(locks) = &mut self.locks else { return };
        let Some((lock, action, next)) = locks.act(slot, event.detail, now) else { return };
        let id = locks.id(lock);
        self.schedule_action(slot, next);
        let duration = |micros: Micros| Duration::from_micros(micros as u32);
        let command = match action {
            ContenderAction::Request { try_only: true, lease, .. } => Command::Try { lock: id, lease: duration(lease) },
            ContenderAction::Request { lease, timeout: Some(wait), .. } => {
                Command::AcquireWithin { lock: id, lease: duration(lease), wait: duration(wait) }
            }
            ContenderAction::Request { lease, timeout: None, .. } => {
                Command::Acquire { lock: id, lease: duration(lease) }
            }
            ContenderAction::Renew { lease } => Command::Renew { lock: id, lease: duration(lease) },
            ContenderAction::Cancel => Command::Cancel { lock: id },
            ContenderAction::Release => Command::Release { lock: id },
            ContenderAction::Write => return self.write(slot, lock),
        };
        self.send_lock_command(slot, command, observer);
    }

    /// Sends a command about a lock of the workload to node `id`.
    pub(crate) fn lock_command(&mut self, id: u32, command: Command, observer: &mut impl Observer) {
        self.send_lock_command(self.slot(id), command, observer);
    }

    fn send_lock_command(&mut self, slot: u32, command: Command, observer: &mut impl Observer) {
        let (now, up) = (self.medium.now, self.is_up(slot));
        let Some(locks) = self.locks.as_mut().filter(|_| up) else { return };
        let Some(lock) = locks.lock(command.lock()) else { return };
        let event = match command {
            Command::Acquire { .. } | Command::AcquireWithin { .. } | Command::Try { .. } => {
                locks.on_request(slot, lock, now);
                LockEvent::Requests { try_only: matches!(command, Command::Try { .. }) }
            }
            Command::Renew { .. } => LockEvent::Renews,
            Command::Release { .. } => LockEvent::Releases,
            Command::Cancel { .. } => LockEvent::Cancels,
        };
        self.emit(slot, EventKind::Lock { lock, event }, observer);
        self.hand_in(slot, observer, |node, now| node.lock_command(now, command));
    }

    /// Starts a write of a node that finds that it holds the lock; the write arrives later.
    fn write(&mut self, slot: u32, lock: u8) {
        let (local, now) = (self.local_time(slot), self.medium.now);
        let Some(locks) = &mut self.locks else { return };
        let node = self.nodes[slot as usize].as_ref();
        let Some(fence) = node.and_then(|node| node.holds(locks.id(lock), local)) else { return };
        let (at, number) = locks.start_write(Write { lock, fence }, now);
        self.medium.queue.push(at, Kind::WriteArrival, slot, number);
    }

    /// Delivers a write, even if its node is down by now; a paused node sends it when it resumes.
    pub(super) fn write_arrival(&mut self, event: Event, observer: &mut impl Observer) {
        if self.defer(event) {
            return;
        }
        let Some(locks) = &mut self.locks else { return };
        let (Write { lock, fence }, accepted) = locks.finish_write(event.detail);
        self.emit(event.target, EventKind::Lock { lock, event: LockEvent::Wrote { fence, accepted } }, observer);
    }

    pub(super) fn lock_notice(&mut self, slot: u32, notice: Notice, observer: &mut impl Observer) {
        let now = self.medium.now;
        let Some(locks) = &mut self.locks else { return };
        let (id, event) = match notice {
            Notice::Acquired { lock, fence, .. } if locks.is_held(slot, lock, fence) => {
                (lock, LockEvent::Renewed { fence })
            }
            Notice::Acquired { lock, fence, .. } => (lock, LockEvent::Acquired { fence }),
            Notice::Waiting { lock, ahead } => (lock, LockEvent::Waits { ahead }),
            Notice::Refused { lock, reason } => (lock, LockEvent::Refused { reason: refusal_name(reason) }),
            Notice::Expiring { lock, .. } => (lock, LockEvent::Expiring),
            Notice::Lost { lock } => (lock, LockEvent::Lost),
            Notice::Released { lock } => (lock, LockEvent::Released),
        };
        let Some(lock) = locks.lock(id) else { return };
        let next = locks.on_notice(slot, lock, notice, now);
        self.schedule_action(slot, next);
        self.emit(slot, EventKind::Lock { lock, event }, observer);
        if matches!(event, LockEvent::Acquired { .. } | LockEvent::Renewed { .. }) {
            self.find_other_holders(slot, lock, observer);
        }
    }

    /// Reports every other node that holds the lock that this one now holds, by its own clock, running or paused. Two
    /// can only come to hold one lock if one of them is granted it.
    fn find_other_holders(&mut self, slot: u32, lock: u8, observer: &mut impl Observer) {
        if !self.holds(slot, lock) {
            return;
        }
        let is_holder = |&other: &u32| other != slot && self.holds(other, lock);
        let others: Vec<u32> = (0..self.node_count()).filter(is_holder).collect();
        for other in others {
            let event = LockEvent::TwoHolders { other: self.ids[other as usize] };
            self.emit(slot, EventKind::Lock { lock, event }, observer);
        }
    }

    fn holds(&self, slot: u32, lock: u8) -> bool {
        let Some(locks) = &self.locks else { return false };
        let node = self.nodes[slot as usize].as_ref();
        node.is_some_and(|node| node.holds(locks.id(lock), self.local_time(slot)).is_some())
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = u32> {
        let locks = self.lock_count();
        (0..self.node_count()).filter(move |&slot| (0..locks).any(|lock| self.holds(slot, lock)))
    }

    /// Returns every waiting request: node id, index of the lock, and since when it waits.
    pub(crate) fn lock_waiters(&self) -> impl Iterator<Item = (u32, u8, Micros)> {
        let waiters = self.locks.iter().flat_map(LockWorkload::waiters);
        waiters.map(|(slot, lock, since)| (self.ids[slot as usize], lock, since))
    }
}

fn refusal_name(reason: Refusal) -> &'static str {
    match reason {
        Refusal::Reentry => "reentry",
        Refusal::Busy => "busy",
        Refusal::Full => "full",
        Refusal::NotHeld => "not-held",
        Refusal::Lease => "lease",
        Refusal::Cancelled => "cancelled",
        Refusal::Outside => "outside",
        Refusal::NoLocks => "no-locks",
        Refusal::TimedOut => "timed-out",
    }
}
