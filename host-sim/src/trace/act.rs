//! What the application of a node does, and what watches it: snapshots, the detection of its end, the shared clock.

use super::hash::word_of;
use crate::machine::Request;
use crate::random::mix;
use protocol::snapshot;
use serde::{Serialize, Serializer};

/// What an application does, or is told.
///
/// An amount is of tokens in a bank, and of units of work in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum Act {
    /// Its user asks for something.
    Asked {
        /// What.
        #[serde(flatten)]
        request: Request,
    },
    /// A message leaves.
    Says {
        /// For whom.
        to: u32,
        /// Which of this run's messages it is.
        message: u32,
        /// What it brings.
        amount: u32,
    },
    /// A message is heard.
    Hears {
        /// Whose.
        from: u32,
        /// Which of this run's messages it is; `None` if nobody said it.
        message: Option<u32>,
        /// What it brought.
        amount: u32,
    },
    /// It believes that another is down. What it said to that one, and that one has not acknowledged, is not said again: it
    /// may or may not be heard.
    GivesUp {
        /// Whom.
        to: u32,
    },
    /// It can speak to another from now on.
    Reaches {
        /// To whom.
        to: u32,
    },
    /// It has work of its own from now on.
    Busy,
    /// It has none any more.
    Idle,
    /// Here the cut of a snapshot passes this node.
    Recorded {
        /// Which snapshot.
        #[serde(serialize_with = "who_boot_and_number")]
        snapshot: snapshot::Id,
        /// What the node has.
        amount: u32,
    },
    /// The initiator learns a node's state.
    State {
        /// Of which snapshot.
        #[serde(serialize_with = "who_boot_and_number")]
        snapshot: snapshot::Id,
        /// Whose.
        of: u32,
        /// What it had.
        amount: u32,
    },
    /// The initiator learns of a message that was on its way.
    Channel {
        /// Of which snapshot.
        #[serde(serialize_with = "who_boot_and_number")]
        snapshot: snapshot::Id,
        /// From whom.
        from: u32,
        /// To whom.
        to: u32,
        /// What it brought.
        amount: u32,
    },
    /// The snapshot is whole.
    Taken {
        /// Which.
        #[serde(serialize_with = "who_boot_and_number")]
        snapshot: snapshot::Id,
        /// Of how many nodes.
        nodes: u32,
    },
    /// There will be no such snapshot.
    Aborted {
        /// Which.
        #[serde(serialize_with = "who_boot_and_number")]
        snapshot: snapshot::Id,
        /// Why not.
        #[serde(serialize_with = "in_words")]
        why: snapshot::Why,
    },
    /// It sends a wave to ask whether all is done.
    Wave {
        /// The how many-th since it started.
        number: u32,
    },
    /// It knows that the job is over.
    Over {
        /// Who found out.
        by: u32,
        /// Which job.
        job: u32,
        /// By how many waves.
        waves: u32,
    },
    /// Nobody will find out whether the job is over.
    Unknowable {
        /// Why not.
        why: &'static str,
    },
    /// It asks all clocks, as their leader.
    Round {
        /// The how many-th time in this term.
        number: u32,
    },
    /// Its clock was set for the first time.
    Set,
    /// Its clock is being corrected.
    Corrected {
        /// By how many microseconds.
        by: i32,
    },
    /// Its clock shows less than it did.
    Back {
        /// By how many microseconds.
        by: u32,
    },
}

/// An act's kind and all it says, in three words.
pub(super) fn digest(act: &Act) -> (u64, u64, u64) {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let word = |id: &snapshot::Id| mix(u64::from(id.number) ^ mix(pair(id.initiator.0, id.incarnation)));
    match act {
        Act::Asked { request: Request::Snapshot } => (16, 0, 0),
        Act::Asked { request: Request::Watch } => (16, 1, 0),
        Act::Asked { request: Request::Start { units } } => (16, 2, u64::from(*units)),
        Act::Says { to, message, amount } => (0, pair(*to, *message), u64::from(*amount)),
        Act::Hears { from, message, amount } => {
            (1, pair(*from, message.unwrap_or(u32::MAX)), u64::from(*amount) << 1 | u64::from(message.is_none()))
        }
        Act::GivesUp { to } => (17, u64::from(*to), 0),
        Act::Reaches { to } => (18, u64::from(*to), 0),
        Act::Busy => (2, 0, 0),
        Act::Idle => (3, 0, 0),
        Act::Recorded { snapshot, amount } => (4, word(snapshot), u64::from(*amount)),
        Act::State { snapshot, of, amount } => (5, word(snapshot), pair(*of, *amount)),
        Act::Channel { snapshot, from, to, amount } => (6, word(snapshot) ^ pair(*from, *to), u64::from(*amount)),
        Act::Taken { snapshot, nodes } => (7, word(snapshot), u64::from(*nodes)),
        Act::Aborted { snapshot, why } => (8, word(snapshot), *why as u64),
        Act::Wave { number } => (9, u64::from(*number), 0),
        Act::Over { by, job, waves } => (10, pair(*by, *job), u64::from(*waves)),
        Act::Unknowable { why } => (11, word_of(why), 0),
        Act::Round { number } => (12, u64::from(*number), 0),
        Act::Set => (13, 0, 0),
        Act::Corrected { by } => (14, u64::from(by.cast_unsigned()), 0),
        Act::Back { by } => (15, u64::from(*by), 0),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serializer calls it so")]
fn in_words<S: Serializer>(why: &snapshot::Why, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(why.words())
}

fn who_boot_and_number<S: Serializer>(id: &snapshot::Id, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}.{}.{}", id.initiator.0, id.incarnation, id.number))
}
