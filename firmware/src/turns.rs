//! What boards do in turn that show an application: each asks for something when it is its turn, by its own clock.
//!
//! Boards of one group are switched on at about the same moment, so their turns come one after the other. Nothing hangs on
//! it: two that ask at once are both served.

use protocol::{Instant, Span};

/// How many tokens a board of a bank starts with.
pub const TOKENS: u32 = 100;
/// About how often it gives some away.
pub const GIFT: Span = Span::from_millis(200);
/// How many units of work a job has.
pub const UNITS: u32 = 60;
/// About how long a unit of it takes.
pub const UNIT: Span = Span::from_millis(40);

/// When the first turn is: by then there is a leader.
const FIRST: Span = Span::from_secs(6);

/// How boards take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How long a turn is.
    pub turn: Span,
    /// How many boards have one, the first ones.
    pub boards: u32,
    /// How often a board has one at most.
    pub rounds: u32,
}

/// Every board of a bank takes a snapshot, again and again.
pub const BANK: Plan = Plan { turn: Span::from_secs(2), boards: u32::MAX, rounds: u32::MAX };
/// The first three boards begin a job each.
pub const JOBS: Plan = Plan { turn: Span::from_secs(5), boards: 3, rounds: 1 };

/// The turns of one board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    next: Instant,
    round: Span,
    left: u32,
}

impl Turns {
    /// The turns of board `id` of so many; a board that has no group is alone.
    #[must_use]
    pub fn new(plan: Plan, id: u32, members: u8) -> Self {
        let next = Instant::ZERO.after(FIRST).after(plan.turn.times(id));
        let left = if id < plan.boards { plan.rounds } else { 0 };
        Self { next, round: plan.turn.times(u32::from(members.max(1))), left }
    }

    /// When the next one is.
    #[must_use]
    pub const fn due(&self) -> Option<Instant> {
        if self.left == 0 { None } else { Some(self.next) }
    }

    /// Whether it is its turn; if so, the next one is a round later.
    pub fn take(&mut self, now: Instant) -> bool {
        let mine = self.due().is_some_and(|at| at <= now);
        if mine {
            self.next = self.next.after(self.round);
            self.left = self.left.saturating_sub(1);
        }
        mine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u32) -> Instant {
        Instant::ZERO.after(Span::from_secs(secs))
    }

    #[test]
    fn boards_take_turns_one_after_the_other() {
        let mut boards = [0, 1, 2].map(|id| Turns::new(BANK, id, 3));
        let asked: std::vec::Vec<(u32, usize)> = (0..20)
            .flat_map(|second| {
                let taken = boards.each_mut().map(|turns| turns.take(at(second)));
                taken.into_iter().enumerate().filter(|(_, taken)| *taken).map(move |(board, _)| (second, board))
            })
            .collect();
        assert_eq!(asked, [(6, 0), (8, 1), (10, 2), (12, 0), (14, 1), (16, 2), (18, 0)]);
    }

    #[test]
    fn nobody_has_more_turns_than_planned() {
        let mut turns = Turns::new(Plan { rounds: 2, ..BANK }, 0, 1);
        assert_eq!((0..20).filter(|&second| turns.take(at(second))).count(), 2);
        assert_eq!(turns.due(), None);
        assert_eq!(Turns::new(JOBS, JOBS.boards, 9).due(), None);
    }
}
