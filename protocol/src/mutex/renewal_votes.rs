//! The votes for the renewal of a hold.

use super::client::{LockClient, LockRequest, Renewal};
use super::{LockId, Notice};
use crate::algorithm::Outbox;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::Instant;

/// The voters that granted the last renewal of a hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RenewalVotes {
    pub(super) granted: NodeSet,
    /// When to ask the others again.
    pub(super) retry_at: Option<Instant>,
}

impl RenewalVotes {
    /// Counts the vote of `from` for the renewal `number`, and extends the hold when the votes are `enough`.
    pub(super) fn on_renewed<M>(
        &mut self,
        (lock, number): (LockId, LamportTime),
        from: NodeSet,
        enough: impl Fn(NodeSet) -> bool,
        client: &mut LockClient,
        out: &mut Outbox<M, Notice>,
    ) {
        let renewal = client.get(lock).and_then(LockRequest::renewal);
        let Some(renewal) = renewal.filter(|renewal| renewal.number == number) else { return };
        self.granted = self.granted.with(from);
        if enough(self.granted) {
            self.retry_at = None;
            client.extend(lock, number, renewal.until(), out);
        }
    }

    /// Returns the renewal to ask for again, and schedules the next time.
    pub(super) fn retry(&mut self, lock: LockId, client: &LockClient, next: Instant) -> Option<Renewal> {
        let renewal = client.get(lock).and_then(LockRequest::renewal);
        self.retry_at = renewal.map(|_| next);
        renewal
    }
}
