//! Time slots in which boards take a snapshot or start a job, one board after the other, each by its own clock.
//!
//! Boards of one group start at about the same moment, so their slots do not overlap. Correctness does not depend on
//! it: concurrent requests are all served.

use protocol::{Duration, Instant};

/// Tokens a board of a bank starts with.
pub const INITIAL_TOKENS: u32 = 100;
/// Mean interval between two transfers of a board.
pub const TRANSFER_INTERVAL: Duration = Duration::from_millis(200);
/// Units of work of a job.
pub const JOB_UNITS: u32 = 60;
/// Mean duration of a unit.
pub const UNIT_DURATION: Duration = Duration::from_millis(40);

/// Readings that a sensor submits in one boot, one a second.
pub const READINGS: u32 = 30;

/// When the first slot begins: by then there is a leader.
const FIRST_SLOT_AT: Duration = Duration::from_secs(6);

/// Parameters of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Length of a slot.
    pub slot: Duration,
    /// Boards that have slots, those with the lowest ids.
    pub boards: u32,
    /// Slots per board.
    pub rounds: u32,
}

/// Every board of a bank takes snapshots, without end.
pub const BANK: Plan = Plan { slot: Duration::from_secs(2), boards: u32::MAX, rounds: u32::MAX };
/// The first three boards start one job each.
pub const JOBS: Plan = Plan { slot: Duration::from_secs(5), boards: 3, rounds: 1 };

/// The slots of one board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    next: Instant,
    round: Duration,
    rounds_left: u32,
}

impl Schedule {
    /// The slots of board `id` in a group of `members`; 0 counts as 1.
    #[must_use]
    pub fn new(plan: Plan, id: u32, members: u8) -> Self {
        let next = Instant::ZERO.after(FIRST_SLOT_AT).after(plan.slot.times(id));
        let rounds_left = if id < plan.boards { plan.rounds } else { 0 };
        Self { next, round: plan.slot.times(u32::from(members.max(1))), rounds_left }
    }

    /// When the next slot begins.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        if self.rounds_left == 0 { None } else { Some(self.next) }
    }

    /// Returns whether a slot has begun since the last poll.
    pub fn poll(&mut self, now: Instant) -> bool {
        let begun = self.deadline().is_some_and(|at| at <= now);
        if begun {
            self.next = self.next.after(self.round);
            self.rounds_left = self.rounds_left.saturating_sub(1);
        }
        begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u32) -> Instant {
        Instant::ZERO.after(Duration::from_secs(secs))
    }

    #[test]
    fn slots_of_the_boards_follow_each_other() {
        let mut boards = [0, 1, 2].map(|id| Schedule::new(BANK, id, 3));
        let begun: std::vec::Vec<(u32, usize)> = (0..20)
            .flat_map(|second| {
                let polled = boards.each_mut().map(|schedule| schedule.poll(at(second)));
                polled.into_iter().enumerate().filter(|(_, begun)| *begun).map(move |(board, _)| (second, board))
            })
            .collect();
        assert_eq!(begun, [(6, 0), (8, 1), (10, 2), (12, 0), (14, 1), (16, 2), (18, 0)]);
    }

    #[test]
    fn no_board_has_more_slots_than_planned() {
        let mut schedule = Schedule::new(Plan { rounds: 2, ..BANK }, 0, 1);
        assert_eq!((0..20).filter(|&second| schedule.poll(at(second))).count(), 2);
        assert_eq!(schedule.deadline(), None);
        assert_eq!(Schedule::new(JOBS, JOBS.boards, 9).deadline(), None);
    }
}
