//! What a member must not forget over a reboot.

use crate::base::ids::NodeId;
use crate::base::term::Term;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Longest change, in bytes.
pub const CHANGE_MAX: usize = 16;

/// What a transaction changes; the application knows what it means.
pub type Change = Vec<u8, CHANGE_MAX>;

/// Length of the longest stored form of a [`Log`], in bytes.
pub(super) const LOG_MAX: usize = 82;

/// The unique id of a transaction. Later ones are above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TransactionId {
    /// The term of its coordinator.
    pub term: Term,
    /// Its number in that term.
    pub number: u32,
}

impl TransactionId {
    /// Before every transaction.
    pub(super) const ZERO: Self = Self { term: Term { number: 0, by: NodeId(0) }, number: 0 };
}

/// A transaction: what is to change, everywhere or nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Transaction {
    /// Its id.
    pub id: TransactionId,
    /// What changes.
    #[cfg_attr(feature = "defmt", defmt(Debug2Format))]
    pub change: Change,
}

/// The log of a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Log {
    /// Whether an earlier log was lost, and nothing was committed since.
    pub(super) lost: bool,
    /// This member votes for no transaction up to this one any more.
    pub(super) promised: TransactionId,
    /// The transaction that it voted for, while it does not know the decision.
    pub(super) prepared: Option<Transaction>,
    /// The last transaction that was committed.
    pub(super) committed: Option<Transaction>,
}

impl Log {
    /// Returns whether this is the transaction in doubt.
    pub(super) fn has_prepared(&self, id: TransactionId) -> bool {
        self.prepared.as_ref().is_some_and(|prepared| prepared.id == id)
    }

    /// Returns the id of the last transaction that was committed.
    pub(super) fn last(&self) -> TransactionId {
        self.committed.as_ref().map_or(TransactionId::ZERO, |committed| committed.id)
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { lost: false, promised: TransactionId::ZERO, prepared: None, committed: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn the_stored_form_is_pinned_and_the_longest_log_fits() {
        let id = TransactionId { term: Term { number: 3, by: NodeId(7) }, number: 2 };
        let committed = Transaction { id, change: Change::from_slice(&[9]).unwrap() };
        let log = Log { lost: false, promised: id, prepared: None, committed: Some(committed) };
        let mut buffer = [0; LOG_MAX];
        let len = wire::encode(&log, &mut buffer).unwrap();
        assert_eq!(buffer[..len], [0, 3, 7, 2, 0, 1, 3, 7, 2, 1, 9]);
        assert_eq!(wire::decode::<Log>(&buffer[..len]), Some(log));
        let id = TransactionId { term: Term { number: u32::MAX, by: NodeId(u32::MAX) }, number: u32::MAX };
        let longest = Some(Transaction { id, change: Change::from_slice(&[255; CHANGE_MAX]).unwrap() });
        let log = Log { lost: true, promised: id, prepared: longest.clone(), committed: longest };
        assert_eq!(wire::encode(&log, &mut buffer), Some(LOG_MAX));
    }
}
