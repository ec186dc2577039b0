//! What a node must not forget of lists over a reboot.

use super::list::List;
use super::round::Votes;
use serde::{Deserialize, Serialize};

/// Length of the longest stored form, in bytes.
pub(super) const LOG_MAX: usize = 142;

/// Whether a node knows all its votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Memory {
    /// It does.
    Intact,
    /// It lost its log before this boot, and does not know in which list it was.
    Lost(u32),
}

/// The log of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Log {
    /// Its boot, counted for these frames alone, or drawn where the log was lost.
    pub(super) boot: u32,
    pub(super) memory: Memory,
    /// The last list that was decided.
    pub(super) list: List,
    /// Its votes on the next one.
    pub(super) votes: Votes,
}

impl Log {
    /// The log of a node that has not voted on the list after this one.
    pub(super) const fn first(list: List, boot: u32, memory: Memory) -> Self {
        Self { boot, memory, list, votes: Votes::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::NodeId;
    use crate::base::term::Term;
    use crate::members::{Ballot, Change};
    use crate::wire;

    #[test]
    fn the_stored_form_is_pinned_and_the_longest_log_fits() {
        let ballot = Ballot { term: Term { number: 3, by: NodeId(7) }, attempt: 2 };
        let votes = Votes { promised: ballot, accepted: Some((ballot, Change::Add(NodeId(300)), 9)) };
        let list = List::first(&[NodeId(7), NodeId(1)]).unwrap();
        let log = Log { boot: 4, memory: Memory::Intact, list, votes };
        let mut buffer = [0; LOG_MAX];
        let len = wire::encode(&log, &mut buffer).unwrap();
        assert_eq!(buffer[..len], [4, 0, 1, 2, 1, 7, 3, 7, 2, 1, 3, 7, 2, 0, 0xAC, 2, 9]);
        assert_eq!(wire::decode::<Log>(&buffer[..len]), Some(log));
        let most = Ballot { term: Term { number: u32::MAX, by: NodeId(u32::MAX) }, attempt: u32::MAX };
        let votes = Votes { promised: most, accepted: Some((most, Change::Remove(NodeId(u32::MAX)), u32::MAX)) };
        let ids: std::vec::Vec<_> = (0..16).map(|id| NodeId(u32::MAX - id)).collect();
        let list = List::first(&ids).unwrap();
        let log = Log { boot: u32::MAX, memory: Memory::Lost(u32::MAX), list, votes };
        assert!(wire::encode(&log, &mut buffer).is_some_and(|len| len <= LOG_MAX - 4), "and an epoch of five bytes");
    }
}
