//! What the members of an order send each other.

use super::log::{Entry, Number, Payload};
use crate::base::term::Term;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// Messages between the leader and the members, in the leader's term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// The leader asks what the recipient has. Whoever answers takes no more from leaders of lower terms.
    Collect { term: Term },
    /// What the sender has: its history `era`, kept from after `base` to `last`, of which a majority has what is up to
    /// `commit`; as the leader of term `of` ordered it.
    Have { term: Term, of: Term, era: u32, base: u32, commit: u32, last: u32 },
    /// The sender has rebooted and has nothing.
    Blank { term: Term },
    /// The leader asks for what the recipient has after this number.
    Fetch { term: Term, after: Number },
    /// The answer, one message at a time.
    Fetched { term: Term, number: Number, entry: Entry },
    /// The leader continues after this number; who has everything up to `target` counts.
    Welcome { term: Term, after: Number, target: u32 },
    /// The message of this number. A majority has everything up to `behind` before it.
    Order { term: Term, number: Number, behind: u8, entry: Entry },
    /// The sender has everything up to this count.
    Stored { term: Term, last: u32 },
    /// A majority has everything up to this count.
    Committed { term: Term, count: u32 },
    /// The sender submits a message that is not among those up to `after`, which it has.
    Submit { term: Term, after: Number, incarnation: u32, number: u32, payload: Payload },
}

impl_message! {
    Reliable: Collect = "collect", Have = "have", Blank = "blank", Fetch = "fetch", Fetched = "fetched",
        Welcome = "welcome", Order = "order", Stored = "stored", Committed = "committed", Submit = "submit";
}
