//! Applications and their locks.

use super::World;
use super::seat::Life;
use crate::contest::{Contest, Move, Write};
use crate::machine::Machine;
use crate::queue::{Event, Kind, Micros};
use crate::trace::{Deed, Observer, What};
use protocol::Span;
use protocol::mutex::{Command, Notice, Refusal};

impl<M: Machine> World<M> {
    /// The application of a node that has just started begins.
    pub(super) fn begin_contest(&mut self, place: u32) {
        let now = self.ether.now;
        let Some(contest) = &mut self.contest else { return };
        for lock in 0..contest.locks() {
            if let Some((at, detail)) = contest.begin(place, lock, now) {
                self.ether.queue.push(at, Kind::Turn, place, detail);
            }
        }
    }

    /// The application of a node that stopped is gone, with all that it was about to do.
    pub(super) fn end_contest(&mut self, place: u32) {
        let Some(contest) = &mut self.contest else { return };
        contest.asleep.retain(|event| event.target != place);
        for lock in 0..contest.locks() {
            contest.end(place, lock);
        }
    }

    /// A node that slept goes on with what came meanwhile: for its application no time has passed.
    pub(super) fn wake_contest(&mut self, place: u32) {
        let now = self.ether.now;
        let Some(contest) = &mut self.contest else { return };
        contest.asleep.retain(|event| {
            if event.target == place {
                self.ether.queue.push(now, event.kind, place, event.detail);
            }
            event.target != place
        });
    }

    /// Whether the node is awake; if not, the event waits for it.
    fn is_awake(&mut self, event: Event) -> bool {
        let asleep = self.lives[event.target as usize] == Life::Paused;
        if let Some(contest) = &mut self.contest
            && asleep
        {
            contest.asleep.push(event);
        }
        !asleep
    }

    /// An application turns to a lock.
    pub(super) fn turn(&mut self, event: Event, observer: &mut impl Observer) {
        let (place, now) = (event.target, self.ether.now);
        if !self.is_awake(event) {
            return;
        }
        let Some(contest) = &mut self.contest else { return };
        let Some((lock, action, next)) = contest.turn(place, event.detail, now) else { return };
        let id = contest.id(lock);
        if let Some((at, detail)) = next {
            self.ether.queue.push(at, Kind::Turn, place, detail);
        }
        let span = |micros: Micros| Span::from_micros(micros as u32);
        let command = match action {
            Move::Ask { trying: false, lease } => Command::Acquire { lock: id, lease: span(lease) },
            Move::Ask { trying: true, lease } => Command::Try { lock: id, lease: span(lease) },
            Move::Renew { lease } => Command::Renew { lock: id, lease: span(lease) },
            Move::Cancel => Command::Cancel { lock: id },
            Move::Release => Command::Release { lock: id },
            Move::Write => return self.write(place, lock),
        };
        self.ask_at(place, command, observer);
    }

    /// The application of the node called `name` asks something of a lock of the scenario.
    pub fn ask(&mut self, name: u32, command: Command, observer: &mut impl Observer) {
        self.ask_at(self.places[name as usize], command, observer);
    }

    fn ask_at(&mut self, place: u32, command: Command, observer: &mut impl Observer) {
        let (shown, now) = (self.shown(place), self.ether.now);
        let Some(contest) = self.contest.as_mut().filter(|_| self.lives[place as usize] == Life::Up) else { return };
        let Some(lock) = contest.lock(command.lock()) else { return };
        let deed = match command {
            Command::Acquire { .. } | Command::Try { .. } => {
                contest.asks(place, lock, now);
                Deed::Asks { trying: matches!(command, Command::Try { .. }) }
            }
            Command::Renew { .. } => Deed::Renews,
            Command::Release { .. } => Deed::Releases,
            Command::Cancel { .. } => Deed::Cancels,
        };
        self.tell(place, What::Lock { lock, deed }, observer);
        let Some(machine) = self.machine_up(place) else { return };
        machine.ask(shown, command);
        self.pump(place, observer);
    }

    /// An application that holds a lock writes. It looks whether it does; then it takes its time.
    fn write(&mut self, place: u32, lock: u8) {
        let (shown, now) = (self.shown(place), self.ether.now);
        let Some(contest) = &mut self.contest else { return };
        let machine = self.machines[place as usize].as_ref();
        let Some(fence) = machine.and_then(|machine| machine.holds(contest.id(lock), shown)) else { return };
        let (at, number) = contest.send(Write { lock, fence }, now);
        self.ether.queue.push(at, Kind::Write, place, number);
    }

    /// What an application wrote arrives, whatever became of the node meanwhile; unless it slept before it was sent.
    pub(super) fn write_arrives(&mut self, event: Event, observer: &mut impl Observer) {
        if !self.is_awake(event) {
            return;
        }
        let Some(contest) = &mut self.contest else { return };
        let (Write { lock, fence }, accepted) = contest.arrive(event.detail);
        self.tell(event.target, What::Lock { lock, deed: Deed::Wrote { fence, accepted } }, observer);
    }

    /// A node tells its application something of a lock.
    pub(super) fn told(&mut self, place: u32, notice: Notice, observer: &mut impl Observer) {
        let now = self.ether.now;
        let Some(contest) = &mut self.contest else { return };
        let (id, deed) = match notice {
            Notice::Acquired { lock, fence, .. } => (
                lock,
                if contest.is_held(place, lock, fence) { Deed::Renewed { fence } } else { Deed::Acquired { fence } },
            ),
            Notice::Waiting { lock, ahead } => (lock, Deed::Waits { ahead }),
            Notice::Refused { lock, why } => (lock, Deed::Refused { why: word(why) }),
            Notice::Expiring { lock, .. } => (lock, Deed::Expiring),
            Notice::Lost { lock } => (lock, Deed::Lost),
            Notice::Released { lock } => (lock, Deed::Released),
        };
        let Some(lock) = contest.lock(id) else { return };
        if let Some((at, detail)) = contest.told(place, lock, notice, now) {
            self.ether.queue.push(at, Kind::Turn, place, detail);
        }
        self.tell(place, What::Lock { lock, deed }, observer);
        if matches!(deed, Deed::Acquired { .. } | Deed::Renewed { .. }) {
            self.find_sharers(place, lock, observer);
        }
    }

    /// A node holds a lock from now on, or for longer: whoever else does at this moment, awake or asleep, by its own
    /// clock. Two can only come to hold one where one of them is told so.
    fn find_sharers(&mut self, place: u32, lock: u8, observer: &mut impl Observer) {
        if !self.holds(place, lock) {
            return;
        }
        let sharers: Vec<u32> = (0..self.nodes()).filter(|&other| other != place && self.holds(other, lock)).collect();
        for other in sharers {
            let deed = Deed::Shared { other: self.names[other as usize] };
            self.tell(place, What::Lock { lock, deed }, observer);
        }
    }

    fn holds(&self, place: u32, lock: u8) -> bool {
        let Some(contest) = &self.contest else { return false };
        let machine = self.machines[place as usize].as_ref();
        machine.is_some_and(|machine| machine.holds(contest.id(lock), self.shown(place)).is_some())
    }

    /// The places of those that hold a lock.
    pub(super) fn holders(&self) -> impl Iterator<Item = u32> {
        let locks = self.contest.as_ref().map_or(0, Contest::locks);
        (0..self.nodes()).filter(move |&place| (0..locks).any(|lock| self.holds(place, lock)))
    }

    /// Whether the node called `name` holds the lock at this place in the scenario.
    #[must_use]
    pub fn holds_lock(&self, name: u32, lock: u8) -> bool {
        self.holds(self.places[name as usize], lock)
    }

    /// Everybody that wants a lock and does not get it: by name, which lock, since when.
    pub fn wanting(&self) -> impl Iterator<Item = (u32, u8, Micros)> {
        let wanting = self.contest.iter().flat_map(Contest::wanting);
        wanting.map(|(place, lock, since)| (self.names[place as usize], lock, since))
    }
}

/// Why something was refused, in a word.
fn word(why: Refusal) -> &'static str {
    match why {
        Refusal::Reentry => "reentry",
        Refusal::Busy => "busy",
        Refusal::Full => "full",
        Refusal::NotHeld => "not-held",
        Refusal::Lease => "lease",
        Refusal::Cancelled => "cancelled",
        Refusal::Outside => "outside",
        Refusal::NoLocks => "no-locks",
    }
}
