//! What a board does that contends for a lock with others: it rests, asks, counts one up on a counter that all share,
//! keeps the lock a little longer, and gives it back; so many rounds, and then it is done.
//!
//! It counts exactly once for every grant, and its log says so: whoever reads the logs of all boards can tell whether two
//! ever held the lock at once, because then a count would be missing.

use protocol::dice::Dice;
use protocol::mutex::{Command, Fence, LockId, Notice};
use protocol::{Instant, Span, Timing};

/// The lock all boards contend for.
pub const LOCK: LockId = LockId::from_name("counter");

/// How long a board rests at most.
const REST_MAX: Span = Span::from_millis(600);
/// How long it keeps the lock after it has counted.
const HOLD: Span = Span::from_millis(60);
/// For how long it asks for the lock.
const LEASE: Span = Span::from_secs(2);
const _: () = assert!(LEASE.as_micros() <= Timing::LAN.lock_lease.as_micros(), "no lease is longer");

/// How often a board counts before it is done.
pub const ROUNDS: u8 = 6;

/// A board that contends.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    dice: Dice,
    /// How often it has yet to count.
    left: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Resting {
        until: Instant,
    },
    Waiting,
    /// It holds the lock and has to count.
    Granted {
        fence: Fence,
    },
    /// It has asked the keeper of the counter to count.
    Counting {
        fence: Fence,
    },
    Holding {
        until: Instant,
    },
    Leaving,
    Done,
}

/// What it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Of the lock.
    Lock(Command),
    /// To count one up, under this fence.
    Count(Fence),
}

impl Contender {
    /// A board that has just started.
    #[must_use]
    pub fn new(seed: u64, now: Instant) -> Self {
        let mut dice = Dice::new(seed);
        let state = State::Resting { until: now.after(rest(&mut dice)) };
        Self { dice, left: ROUNDS, state }
    }

    /// When it will want something; `None` while it waits for others.
    #[must_use]
    pub const fn due(&self) -> Option<Instant> {
        match self.state {
            State::Resting { until } | State::Holding { until } => Some(until),
            State::Granted { .. } => Some(Instant::ZERO),
            State::Waiting | State::Counting { .. } | State::Leaving | State::Done => None,
        }
    }

    /// What it wants, if something is due.
    pub fn want(&mut self, now: Instant) -> Option<Want> {
        if self.due().is_none_or(|at| now < at) {
            return None;
        }
        match self.state {
            State::Resting { .. } => {
                self.state = State::Waiting;
                Some(Want::Lock(Command::Acquire { lock: LOCK, lease: LEASE }))
            }
            State::Granted { fence } => {
                self.state = State::Counting { fence };
                Some(Want::Count(fence))
            }
            State::Holding { .. } => {
                self.state = State::Leaving;
                Some(Want::Lock(Command::Release { lock: LOCK }))
            }
            State::Waiting | State::Counting { .. } | State::Leaving | State::Done => None, // nothing, or of others
        }
    }

    /// The lock said something.
    pub fn hear(&mut self, now: Instant, notice: &Notice) {
        match *notice {
            Notice::Acquired { fence, .. } if self.state == State::Waiting => self.state = State::Granted { fence },
            Notice::Acquired { .. } | Notice::Waiting { .. } | Notice::Expiring { .. } => {} // as before
            Notice::Refused { .. } | Notice::Lost { .. } | Notice::Released { .. } if self.left == 0 => {
                self.state = State::Done;
            }
            Notice::Refused { .. } | Notice::Lost { .. } | Notice::Released { .. } => {
                self.state = State::Resting { until: now.after(rest(&mut self.dice)) };
            }
        }
    }

    /// The keeper of the counter has answered.
    pub fn counted(&mut self, now: Instant, under: Fence) {
        if self.state == (State::Counting { fence: under }) {
            self.left = self.left.saturating_sub(1);
            self.state = State::Holding { until: now.after(HOLD) };
        }
    }
}

fn rest(dice: &mut Dice) -> Span {
    REST_MAX.share(dice.throw() >> 16, 1 << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::mutex::Refusal;

    fn at(millis: u32) -> Instant {
        Instant::ZERO.after(Span::from_millis(millis))
    }

    const FENCE: Fence = Fence::ZERO;
    const GRANT: Notice = Notice::Acquired { lock: LOCK, fence: FENCE, until: Instant::ZERO };
    const LATE: u32 = 10_000;

    /// A board that was granted the lock.
    fn granted() -> Contender {
        let mut contender = Contender::new(1, at(0));
        assert!(matches!(contender.want(at(LATE)), Some(Want::Lock(Command::Acquire { lock: LOCK, .. }))));
        assert_eq!((contender.due(), contender.want(at(LATE))), (None, None));
        contender.hear(at(LATE), &GRANT);
        contender
    }

    #[test]
    fn a_board_counts_once_for_a_grant_and_then_gives_the_lock_back() {
        let mut contender = granted();
        assert_eq!(contender.want(at(LATE)), Some(Want::Count(FENCE)));
        contender.hear(at(LATE), &GRANT);
        assert_eq!(contender.want(at(LATE)), None, "a renewed grant is not another one");
        contender.counted(at(LATE), FENCE);
        contender.counted(at(LATE + 1), FENCE);
        assert_eq!(contender.due(), Some(at(LATE).after(HOLD)));
        assert_eq!(contender.want(at(LATE)), None);
        assert_eq!(contender.want(at(LATE).after(HOLD)), Some(Want::Lock(Command::Release { lock: LOCK })));
        contender.hear(at(LATE), &Notice::Released { lock: LOCK });
        assert!(contender.due().is_some_and(|until| until < at(LATE).after(REST_MAX)));
    }

    #[test]
    fn a_board_that_lost_or_never_got_the_lock_asks_again() {
        let lost = [Notice::Lost { lock: LOCK }, Notice::Refused { lock: LOCK, why: Refusal::Full }];
        for notice in lost {
            let mut contender = granted();
            contender.hear(at(LATE), &notice);
            assert!(matches!(contender.want(at(2 * LATE)), Some(Want::Lock(Command::Acquire { .. }))));
        }
    }

    #[test]
    fn a_board_is_done_when_it_has_counted_often_enough() {
        let mut contender = Contender::new(1, at(0));
        for round in 1..=u32::from(ROUNDS) {
            let now = at(round * LATE);
            contender.want(now);
            contender.hear(now, &GRANT);
            assert_eq!(contender.want(now), Some(Want::Count(FENCE)), "round {round}");
            contender.counted(now, FENCE);
            contender.want(now.after(HOLD));
            contender.hear(now, &Notice::Released { lock: LOCK });
        }
        assert_eq!(contender.due(), None);
    }

    #[test]
    fn boards_with_different_seeds_rest_for_different_times() {
        assert_ne!(Contender::new(1, at(0)).due(), Contender::new(2, at(0)).due());
    }
}
