//! Log lines about a lock.

use super::{log_lines, numbers, term, to_u32};
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::mutex::{Fence, LockId, Notice, Refusal};

/// A report about a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockReport {
    /// The node holds the lock, or has renewed its lease.
    Holding {
        /// The lock.
        lock: LockId,
        /// The fence of the grant.
        fence: Fence,
    },
    /// The node waits for the lock.
    Waiting {
        /// The lock.
        lock: LockId,
        /// Requests queued before its own.
        ahead: u8,
    },
    /// A command was refused.
    Refused(LockId, Refusal),
    /// The lease ends soon.
    Expiring(LockId),
    /// The lock is lost.
    Lost(LockId),
    /// The lock is released.
    Released(LockId),
    /// The protected counter was incremented for this node.
    Counted {
        /// The lock.
        lock: LockId,
        /// The fence of the increment.
        fence: Fence,
        /// The value of the counter.
        total: u32,
    },
    /// The protected counter refused an increment: it has seen a later fence.
    Outdated {
        /// The lock.
        lock: LockId,
        /// The fence of the increment.
        fence: Fence,
    },
}

log_lines! { LockReport {
    Self::Holding { lock, fence: Fence { term: Term { number, by }, count } } =>
        info "holding: lock {=u32}, fence {=u32} by node {=u32}, count {=u64}", lock.number(), number, by.0, count.0;
    Self::Waiting { lock, ahead } => info "waiting: lock {=u32}, ahead {=u8}", lock.number(), ahead;
    Self::Refused(lock, reason) =>
        info "refused: lock {=u32}, because {=str}", lock.number(), reason.description();
    Self::Expiring(lock) => info "expiring: lock {=u32}", lock.number();
    Self::Lost(lock) => warn "lost: lock {=u32}", lock.number();
    Self::Released(lock) => info "released: lock {=u32}", lock.number();
    Self::Counted { lock, fence: Fence { term: Term { number, by }, count }, total } =>
        info "counted: lock {=u32}, fence {=u32} by node {=u32}, count {=u64}, total {=u32}",
        lock.number(), number, by.0, count.0, total;
    Self::Outdated { lock, fence: Fence { term: Term { number, by }, count } } =>
        warn "outdated: lock {=u32}, fence {=u32} by node {=u32}, count {=u64}", lock.number(), number, by.0, count.0;
} }

impl LockReport {
    /// The report of a notice.
    #[must_use]
    pub const fn from_notice(notice: &Notice) -> Self {
        match *notice {
            Notice::Acquired { lock, fence, .. } => Self::Holding { lock, fence },
            Notice::Waiting { lock, ahead } => Self::Waiting { lock, ahead },
            Notice::Refused { lock, reason } => Self::Refused(lock, reason),
            Notice::Expiring { lock, .. } => Self::Expiring(lock),
            Notice::Lost { lock } => Self::Lost(lock),
            Notice::Released { lock } => Self::Released(lock),
        }
    }

    /// Parses a line; `None` where it is no report about a lock.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": lock ")?;
        match word {
            "holding" | "outdated" => {
                let [lock, number, by, count] = numbers(rest)?;
                let (lock, fence) = (lock_id(lock)?, fence(number, by, count)?);
                Some(if word == "holding" { Self::Holding { lock, fence } } else { Self::Outdated { lock, fence } })
            }
            "counted" => {
                let [lock, number, by, count, total] = numbers(rest)?;
                let (lock, fence, total) = (lock_id(lock)?, fence(number, by, count)?, to_u32(total)?);
                Some(Self::Counted { lock, fence, total })
            }
            "waiting" => {
                let [lock, ahead] = numbers(rest)?;
                Some(Self::Waiting { lock: lock_id(lock)?, ahead: u8::try_from(ahead).ok()? })
            }
            "refused" => {
                let (number, description) = rest.split_once(", because ")?;
                let reason = Refusal::ALL.into_iter().find(|reason| reason.description() == description)?;
                Some(Self::Refused(lock_id(number.parse().ok()?)?, reason))
            }
            "expiring" | "lost" | "released" => {
                let report = match word {
                    "expiring" => Self::Expiring,
                    "lost" => Self::Lost,
                    _ => Self::Released,
                };
                Some(report(lock_id(rest.parse().ok()?)?))
            }
            _ => None, // another line of a log
        }
    }
}

fn fence(number: u64, by: u64, count: u64) -> Option<Fence> {
    Some(Fence { term: term(number, by)?, count: LamportTime(count) })
}

fn lock_id(number: u64) -> Option<LockId> {
    to_u32(number).map(LockId::from_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use std::string::ToString;

    const DOOR: LockId = LockId::from_name("door");

    #[test]
    fn formatting_and_parsing_are_inverse() {
        let fence = Fence { term: Term { number: 3, by: NodeId(7) }, count: LamportTime(u64::MAX) };
        let reports = [
            LockReport::Holding { lock: DOOR, fence },
            LockReport::Waiting { lock: DOOR, ahead: 2 },
            LockReport::Expiring(DOOR),
            LockReport::Lost(DOOR),
            LockReport::Released(DOOR),
            LockReport::Counted { lock: DOOR, fence, total: 12 },
            LockReport::Outdated { lock: DOOR, fence },
        ];
        let refused = Refusal::ALL.map(|reason| LockReport::Refused(DOOR, reason));
        for report in reports.into_iter().chain(refused) {
            assert_eq!(LockReport::parse(&report.to_string()), Some(report), "{report}");
        }
    }

    #[test]
    fn other_lines_are_no_reports() {
        for line in ["", "lost", "lost: 3", "lost: lock", "lost: lock 4294967296", "refused: lock 1, because so"] {
            assert_eq!(LockReport::parse(line), None, "{line}");
        }
    }
}
