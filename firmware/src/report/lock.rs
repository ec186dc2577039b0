//! What a board says about a lock: a line for each thing its lock tells it. Boards that only elect link none of it.

use super::{numbers, small, term};
use core::fmt;
use protocol::clock::{Stamp, Term};
use protocol::mutex::{Fence, LockId, Notice, Refusal};

/// Something a node says about a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockReport {
    /// It holds the lock, or goes on holding it.
    Holding {
        /// Which.
        lock: LockId,
        /// Under which fence.
        fence: Fence,
    },
    /// It waits for the lock.
    Waiting {
        /// For which.
        lock: LockId,
        /// How many come first.
        ahead: u8,
    },
    /// It was refused something.
    Refused {
        /// Of which lock.
        lock: LockId,
        /// Why.
        why: Refusal,
    },
    /// It will lose the lock soon.
    Expiring {
        /// Which.
        lock: LockId,
    },
    /// It has lost the lock.
    Lost {
        /// Which.
        lock: LockId,
    },
    /// It gave the lock back.
    Released {
        /// Which.
        lock: LockId,
    },
    /// What the lock protects has counted one up for it.
    Counted {
        /// Which lock.
        lock: LockId,
        /// Under this fence.
        fence: Fence,
        /// What the counter says now.
        total: u32,
    },
    /// What the lock protects has refused it: a later holder was there.
    Outdated {
        /// Which lock.
        lock: LockId,
        /// Under this fence.
        fence: Fence,
    },
}

impl LockReport {
    /// What is said of a notice.
    #[must_use]
    pub const fn of(notice: &Notice) -> Self {
        match *notice {
            Notice::Acquired { lock, fence, .. } => Self::Holding { lock, fence },
            Notice::Waiting { lock, ahead } => Self::Waiting { lock, ahead },
            Notice::Refused { lock, why } => Self::Refused { lock, why },
            Notice::Expiring { lock, .. } => Self::Expiring { lock },
            Notice::Lost { lock } => Self::Lost { lock },
            Notice::Released { lock } => Self::Released { lock },
        }
    }

    /// Writes the line to the log.
    #[cfg(feature = "defmt")]
    pub fn log(&self) {
        match *self {
            Self::Holding { lock, fence: Fence { term: Term { number, by }, count } } => {
                defmt::info!(
                    "holding: lock {=u32}, fence {=u32} by node {=u32}, count {=u64}",
                    lock.number(),
                    number,
                    by.0,
                    count.0
                );
            }
            Self::Waiting { lock, ahead } => defmt::info!("waiting: lock {=u32}, ahead {=u8}", lock.number(), ahead),
            Self::Refused { lock, why } => {
                defmt::info!("refused: lock {=u32}, because {=str}", lock.number(), why.words());
            }
            Self::Expiring { lock } => defmt::info!("expiring: lock {=u32}", lock.number()),
            Self::Lost { lock } => defmt::warn!("lost: lock {=u32}", lock.number()),
            Self::Released { lock } => defmt::info!("released: lock {=u32}", lock.number()),
            Self::Counted { lock, fence: Fence { term: Term { number, by }, count }, total } => {
                defmt::info!(
                    "counted: lock {=u32}, fence {=u32} by node {=u32}, count {=u64}, total {=u32}",
                    lock.number(),
                    number,
                    by.0,
                    count.0,
                    total
                );
            }
            Self::Outdated { lock, fence: Fence { term: Term { number, by }, count } } => {
                defmt::warn!(
                    "outdated: lock {=u32}, fence {=u32} by node {=u32}, count {=u64}",
                    lock.number(),
                    number,
                    by.0,
                    count.0
                );
            }
        }
    }

    /// Reads a line; `None` where it is none of these.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": lock ")?;
        match word {
            "holding" => {
                let [lock, number, by, count] = numbers(rest)?;
                Some(Self::Holding { lock: LockId::from_number(small(lock)?), fence: fence(number, by, count)? })
            }
            "counted" => {
                let [lock, number, by, count, total] = numbers(rest)?;
                let (lock, total) = (LockId::from_number(small(lock)?), small(total)?);
                Some(Self::Counted { lock, fence: fence(number, by, count)?, total })
            }
            "outdated" => {
                let [lock, number, by, count] = numbers(rest)?;
                Some(Self::Outdated { lock: LockId::from_number(small(lock)?), fence: fence(number, by, count)? })
            }
            "waiting" => {
                let [lock, ahead] = numbers(rest)?;
                Some(Self::Waiting { lock: LockId::from_number(small(lock)?), ahead: u8::try_from(ahead).ok()? })
            }
            "refused" => {
                let (number, reason) = rest.split_once(", because ")?;
                let why = Refusal::ALL.into_iter().find(|known| known.words() == reason)?;
                Some(Self::Refused { lock: lock(number)?, why })
            }
            "expiring" => Some(Self::Expiring { lock: lock(rest)? }),
            "lost" => Some(Self::Lost { lock: lock(rest)? }),
            "released" => Some(Self::Released { lock: lock(rest)? }),
            _ => None, // any other line of a log
        }
    }
}

impl fmt::Display for LockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Holding { lock, fence: Fence { term: Term { number, by }, count } } => {
                let lock = lock.number();
                write!(f, "holding: lock {lock}, fence {number} by node {}, count {}", by.0, count.0)
            }
            Self::Waiting { lock, ahead } => write!(f, "waiting: lock {}, ahead {ahead}", lock.number()),
            Self::Refused { lock, why } => write!(f, "refused: lock {}, because {}", lock.number(), why.words()),
            Self::Expiring { lock } => write!(f, "expiring: lock {}", lock.number()),
            Self::Lost { lock } => write!(f, "lost: lock {}", lock.number()),
            Self::Released { lock } => write!(f, "released: lock {}", lock.number()),
            Self::Counted { lock, fence: Fence { term: Term { number, by }, count }, total } => {
                let (lock, by, count) = (lock.number(), by.0, count.0);
                write!(f, "counted: lock {lock}, fence {number} by node {by}, count {count}, total {total}")
            }
            Self::Outdated { lock, fence: Fence { term: Term { number, by }, count } } => {
                let (lock, by, count) = (lock.number(), by.0, count.0);
                write!(f, "outdated: lock {lock}, fence {number} by node {by}, count {count}")
            }
        }
    }
}

fn fence(number: u64, by: u64, count: u64) -> Option<Fence> {
    Some(Fence { term: term(number, by)?, count: Stamp(count) })
}

fn lock(number: &str) -> Option<LockId> {
    number.parse().ok().map(LockId::from_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use std::string::ToString;

    const DOOR: LockId = LockId::from_name("door");

    #[test]
    fn every_line_about_a_lock_reads_back_as_what_was_said() {
        let fence = Fence { term: Term { number: 3, by: NodeId(7) }, count: Stamp(u64::MAX) };
        let reports = [
            LockReport::Holding { lock: DOOR, fence },
            LockReport::Waiting { lock: DOOR, ahead: 2 },
            LockReport::Expiring { lock: DOOR },
            LockReport::Lost { lock: DOOR },
            LockReport::Released { lock: DOOR },
            LockReport::Counted { lock: DOOR, fence, total: 12 },
            LockReport::Outdated { lock: DOOR, fence },
        ];
        let refused = Refusal::ALL.map(|why| LockReport::Refused { lock: DOOR, why });
        for report in reports.into_iter().chain(refused) {
            assert_eq!(LockReport::parse(&report.to_string()), Some(report), "{report}");
        }
    }

    #[test]
    fn other_lines_say_nothing_about_a_lock() {
        for line in ["", "lost", "lost: 3", "lost: lock", "lost: lock 4294967296", "refused: lock 1, because so"] {
            assert_eq!(LockReport::parse(line), None, "{line}");
        }
    }
}
