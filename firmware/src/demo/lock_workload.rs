//! A lock workload: a board idles, acquires the lock, increments a shared counter, holds the lock a little longer and
//! releases it, for [`ROUNDS`] rounds.
//!
//! A board increments and logs exactly once per grant: if two boards ever held the lock at once, the logs of all boards
//! show a missing count.

use protocol::base::rng::Rng;
use protocol::mutex::{Command, Fence, LockId, Notice};
use protocol::{Duration, Instant, Timing};

/// The lock all boards contend for.
pub const LOCK: LockId = LockId::from_name("counter");

/// The longest idle time between two rounds.
const IDLE_MAX: Duration = Duration::from_millis(600);
/// How long the lock is held after the increment.
const HOLD: Duration = Duration::from_millis(60);
const LEASE: Duration = Duration::from_secs(2);
const _: () = assert!(LEASE.as_micros() <= Timing::LAN.lock_lease.as_micros(), "no lease is longer");

/// Increments per board.
pub const ROUNDS: u8 = 6;

/// A board that contends for the lock.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    rng: Rng,
    rounds_left: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle { until: Instant },
    Waiting,
    Granted { fence: Fence },  // the lock is held; the increment is not requested yet
    Counting { fence: Fence }, // the increment is requested
    Holding { until: Instant },
    Releasing,
    Done,
}

/// The next step of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A command to the lock.
    Lock(Command),
    /// Increment the counter under this fence.
    Count(Fence),
}

impl Contender {
    /// Starts idle.
    #[must_use]
    pub fn new(seed: u64, now: Instant) -> Self {
        let mut rng = Rng::new(seed);
        let state = State::Idle { until: now.after(idle_time(&mut rng)) };
        Self { rng, rounds_left: ROUNDS, state }
    }

    /// When the next action is due; `None` while the lock or the counter has to answer first, and at the end.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Idle { until } | State::Holding { until } => Some(until),
            State::Granted { .. } => Some(Instant::ZERO),
            State::Waiting | State::Counting { .. } | State::Releasing | State::Done => None,
        }
    }

    /// Returns the action that is due, if any.
    pub fn poll_action(&mut self, now: Instant) -> Option<Action> {
        if self.deadline().is_none_or(|at| now < at) {
            return None;
        }
        match self.state {
            State::Idle { .. } => {
                self.state = State::Waiting;
                Some(Action::Lock(Command::Acquire { lock: LOCK, lease: LEASE }))
            }
            State::Granted { fence } => {
                self.state = State::Counting { fence };
                Some(Action::Count(fence))
            }
            State::Holding { .. } => {
                self.state = State::Releasing;
                Some(Action::Lock(Command::Release { lock: LOCK }))
            }
            State::Waiting | State::Counting { .. } | State::Releasing | State::Done => None, // no deadline
        }
    }

    /// Handles a notice of the lock.
    pub fn on_notice(&mut self, now: Instant, notice: &Notice) {
        match *notice {
            Notice::Acquired { fence, .. } if self.state == State::Waiting => self.state = State::Granted { fence },
            Notice::Acquired { .. } | Notice::Waiting { .. } | Notice::Expiring { .. } => {} // no change
            Notice::Refused { .. } | Notice::Lost { .. } | Notice::Released { .. } if self.rounds_left == 0 => {
                self.state = State::Done;
            }
            Notice::Refused { .. } | Notice::Lost { .. } | Notice::Released { .. } => {
                self.state = State::Idle { until: now.after(idle_time(&mut self.rng)) };
            }
        }
    }

    /// Handles the answer of the counter to an increment under `fence`.
    pub fn on_counted(&mut self, now: Instant, fence: Fence) {
        if self.state == (State::Counting { fence }) {
            self.rounds_left = self.rounds_left.saturating_sub(1);
            self.state = State::Holding { until: now.after(HOLD) };
        }
    }
}

fn idle_time(rng: &mut Rng) -> Duration {
    IDLE_MAX.mul_ratio(rng.next_u32() >> 16, 1 << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::mutex::Refusal;

    fn at(millis: u32) -> Instant {
        Instant::ZERO.after(Duration::from_millis(millis))
    }

    const FENCE: Fence = Fence::ZERO;
    const GRANT: Notice = Notice::Acquired { lock: LOCK, fence: FENCE, until: Instant::ZERO };
    const LATE: u32 = 10_000;

    /// A board that holds the lock.
    fn granted() -> Contender {
        let mut contender = Contender::new(1, at(0));
        assert!(matches!(contender.poll_action(at(LATE)), Some(Action::Lock(Command::Acquire { lock: LOCK, .. }))));
        assert_eq!((contender.deadline(), contender.poll_action(at(LATE))), (None, None));
        contender.on_notice(at(LATE), &GRANT);
        contender
    }

    #[test]
    fn a_board_counts_once_per_grant_and_then_releases_the_lock() {
        let mut contender = granted();
        assert_eq!(contender.poll_action(at(LATE)), Some(Action::Count(FENCE)));
        contender.on_notice(at(LATE), &GRANT);
        assert_eq!(contender.poll_action(at(LATE)), None, "a duplicate notice is no second grant");
        contender.on_counted(at(LATE), FENCE);
        contender.on_counted(at(LATE + 1), FENCE);
        assert_eq!(contender.deadline(), Some(at(LATE).after(HOLD)));
        assert_eq!(contender.poll_action(at(LATE)), None);
        assert_eq!(contender.poll_action(at(LATE).after(HOLD)), Some(Action::Lock(Command::Release { lock: LOCK })));
        contender.on_notice(at(LATE), &Notice::Released { lock: LOCK });
        assert!(contender.deadline().is_some_and(|until| until < at(LATE).after(IDLE_MAX)));
    }

    #[test]
    fn a_board_that_lost_or_was_refused_the_lock_requests_it_again() {
        let lost = [Notice::Lost { lock: LOCK }, Notice::Refused { lock: LOCK, reason: Refusal::Full }];
        for notice in lost {
            let mut contender = granted();
            contender.on_notice(at(LATE), &notice);
            assert!(matches!(contender.poll_action(at(2 * LATE)), Some(Action::Lock(Command::Acquire { .. }))));
        }
    }

    #[test]
    fn a_board_is_done_after_its_last_round() {
        let mut contender = Contender::new(1, at(0));
        for round in 1..=u32::from(ROUNDS) {
            let now = at(round * LATE);
            contender.poll_action(now);
            contender.on_notice(now, &GRANT);
            assert_eq!(contender.poll_action(now), Some(Action::Count(FENCE)), "round {round}");
            contender.on_counted(now, FENCE);
            contender.poll_action(now.after(HOLD));
            contender.on_notice(now, &Notice::Released { lock: LOCK });
        }
        assert_eq!(contender.deadline(), None);
    }

    #[test]
    fn boards_with_different_seeds_idle_for_different_times() {
        assert_ne!(Contender::new(1, at(0)).deadline(), Contender::new(2, at(0)).deadline());
    }
}
