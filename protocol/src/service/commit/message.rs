//! What the members of a transaction send each other.

use super::log::{Transaction, TransactionId};
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// Messages between the coordinator and the other members, and between members in doubt and those that may know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// The coordinator asks for a vote on the transaction.
    Prepare { transaction: Transaction },
    /// The sender's vote on the transaction `id`: after `yes` it waits for the decision, whatever happens.
    Vote { id: TransactionId, yes: bool },
    /// All members have voted yes: the transaction is committed.
    Commit { transaction: Transaction },
    /// The transaction `id` is aborted.
    Abort { id: TransactionId },
    /// The sender has committed the transaction `id`.
    Ack { id: TransactionId },
    /// The sender has voted for the transaction `id` and asks for the decision.
    Inquire { id: TransactionId },
}

impl_message! {
    Reliable: Prepare = "prepare", Vote = "vote", Commit = "commit", Abort = "abort", Ack = "acknowledge",
        Inquire = "inquire";
}
