//! What a board of a bank says about snapshots: a line for each thing it is told. Other boards link none of it.

use super::{numbers, small};
use core::fmt;
use protocol::NodeId;
use protocol::application::tokens;
use protocol::snapshot::{Id, Notice, Part, Why};

/// Something a node says about a snapshot of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotReport {
    /// Its own state was recorded.
    Recorded {
        /// Of which snapshot.
        id: Id,
    },
    /// Whoever began it has learned the state of a member.
    State {
        /// Of which snapshot.
        id: Id,
        /// Whose.
        of: NodeId,
        /// How many tokens it had.
        amount: u32,
    },
    /// Whoever began it has learned of a message that was on its way.
    Channel {
        /// Of which snapshot.
        id: Id,
        /// Who had sent it.
        from: NodeId,
        /// To whom.
        to: NodeId,
        /// How many tokens it brought.
        amount: u32,
    },
    /// Whoever began it has all of it.
    Taken {
        /// Which snapshot.
        id: Id,
        /// Of how many members.
        members: u32,
        /// How many pieces there are.
        parts: u32,
    },
    /// Whoever began it will not have it.
    Aborted {
        /// Which snapshot.
        id: Id,
        /// Why not.
        why: Why,
    },
}

impl SnapshotReport {
    /// What is said of a notice; `None` where a piece is not of a bank.
    #[must_use]
    pub fn of(notice: &Notice) -> Option<Self> {
        Some(match *notice {
            Notice::Recorded { id } => Self::Recorded { id },
            // The state of a bank is short, and one piece.
            Notice::Part { id, of, part: Part::State { ref bytes, .. } } => {
                Self::State { id, of, amount: tokens::amount(bytes)? }
            }
            Notice::Part { id, of: to, part: Part::Message { from, ref bytes } } => {
                Self::Channel { id, from, to, amount: tokens::amount(bytes)? }
            }
            Notice::Taken { id, members, parts } => Self::Taken { id, members: members.len(), parts },
            Notice::Aborted { id, why } => Self::Aborted { id, why },
        })
    }

    /// Writes the line to the log.
    #[cfg(feature = "defmt")]
    pub fn log(&self) {
        match *self {
            Self::Recorded { id: Id { initiator, incarnation, number } } => {
                defmt::info!(
                    "recorded: snapshot {=u32} of node {=u32} in boot {=u32}",
                    number,
                    initiator.0,
                    incarnation
                );
            }
            Self::State { id: Id { initiator, incarnation, number }, of, amount } => {
                defmt::info!(
                    "state: snapshot {=u32} of node {=u32} in boot {=u32}, node {=u32}, tokens {=u32}",
                    number,
                    initiator.0,
                    incarnation,
                    of.0,
                    amount
                );
            }
            Self::Channel { id: Id { initiator, incarnation, number }, from, to, amount } => {
                defmt::info!(
                    "channel: snapshot {=u32} of node {=u32} in boot {=u32}, from node {=u32} to node {=u32}, tokens {=u32}",
                    number,
                    initiator.0,
                    incarnation,
                    from.0,
                    to.0,
                    amount
                );
            }
            Self::Taken { id: Id { initiator, incarnation, number }, members, parts } => {
                defmt::info!(
                    "taken: snapshot {=u32} of node {=u32} in boot {=u32}, members {=u32}, parts {=u32}",
                    number,
                    initiator.0,
                    incarnation,
                    members,
                    parts
                );
            }
            Self::Aborted { id: Id { initiator, incarnation, number }, why } => {
                defmt::warn!(
                    "aborted: snapshot {=u32} of node {=u32} in boot {=u32}, because {=str}",
                    number,
                    initiator.0,
                    incarnation,
                    why.words()
                );
            }
        }
    }

    /// Reads a line; `None` where it is none of these.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": snapshot ")?;
        match word {
            "recorded" => {
                let [number, initiator, boot] = numbers(rest)?;
                Some(Self::Recorded { id: id(number, initiator, boot)? })
            }
            "state" => {
                let [number, initiator, boot, of, amount] = numbers(rest)?;
                Some(Self::State { id: id(number, initiator, boot)?, of: node(of)?, amount: small(amount)? })
            }
            "channel" => {
                let [number, initiator, boot, from, to, amount] = numbers(rest)?;
                let (id, amount) = (id(number, initiator, boot)?, small(amount)?);
                Some(Self::Channel { id, from: node(from)?, to: node(to)?, amount })
            }
            "taken" => {
                let [number, initiator, boot, members, parts] = numbers(rest)?;
                let (members, parts) = (small(members)?, small(parts)?);
                Some(Self::Taken { id: id(number, initiator, boot)?, members, parts })
            }
            "aborted" => {
                let (name, reason) = rest.split_once(", because ")?;
                let [number, initiator, boot] = numbers(name)?;
                let why = Why::ALL.into_iter().find(|known| known.words() == reason)?;
                Some(Self::Aborted { id: id(number, initiator, boot)?, why })
            }
            _ => None, // any other line of a log
        }
    }
}

impl fmt::Display for SnapshotReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Recorded { id }
        | Self::State { id, .. }
        | Self::Channel { id, .. }
        | Self::Taken { id, .. }
        | Self::Aborted { id, .. }) = *self;
        let word = match self {
            Self::Recorded { .. } => "recorded",
            Self::State { .. } => "state",
            Self::Channel { .. } => "channel",
            Self::Taken { .. } => "taken",
            Self::Aborted { .. } => "aborted",
        };
        write!(f, "{word}: snapshot {} of node {} in boot {}", id.number, id.initiator.0, id.incarnation)?;
        match *self {
            Self::Recorded { .. } => Ok(()),
            Self::State { of, amount, .. } => write!(f, ", node {}, tokens {amount}", of.0),
            Self::Channel { from, to, amount, .. } => {
                write!(f, ", from node {} to node {}, tokens {amount}", from.0, to.0)
            }
            Self::Taken { members, parts, .. } => write!(f, ", members {members}, parts {parts}"),
            Self::Aborted { why, .. } => write!(f, ", because {}", why.words()),
        }
    }
}

fn id(number: u64, initiator: u64, boot: u64) -> Option<Id> {
    Some(Id { initiator: node(initiator)?, incarnation: small(boot)?, number: small(number)? })
}

fn node(number: u64) -> Option<NodeId> {
    small(number).map(NodeId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::application::Item;
    use std::string::ToString;

    const ID: Id = Id { initiator: NodeId(7), incarnation: 2, number: u32::MAX };

    #[test]
    fn every_line_about_a_snapshot_reads_back_as_what_was_said() {
        let reports = [
            SnapshotReport::Recorded { id: ID },
            SnapshotReport::State { id: ID, of: NodeId(3), amount: 57 },
            SnapshotReport::Channel { id: ID, from: NodeId(1), to: NodeId(2), amount: 0 },
            SnapshotReport::Taken { id: ID, members: 5, parts: 6 },
        ];
        let aborted = Why::ALL.map(|why| SnapshotReport::Aborted { id: ID, why });
        for report in reports.into_iter().chain(aborted) {
            assert_eq!(SnapshotReport::parse(&report.to_string()), Some(report), "{report}");
        }
    }

    #[test]
    fn the_lines_are_pinned() {
        let report = SnapshotReport::Channel { id: ID, from: NodeId(1), to: NodeId(2), amount: 9 };
        let line = "channel: snapshot 4294967295 of node 7 in boot 2, from node 1 to node 2, tokens 9";
        assert_eq!(report.to_string(), line);
    }

    #[test]
    fn a_piece_is_said_in_tokens_and_one_of_something_else_is_not() {
        let part = |bytes: &[u8]| Part::Message { from: NodeId(1), bytes: Item::from_slice(bytes).unwrap() };
        let said = |part| SnapshotReport::of(&Notice::Part { id: ID, of: NodeId(2), part });
        let channel = SnapshotReport::Channel { id: ID, from: NodeId(1), to: NodeId(2), amount: 300 };
        assert_eq!(said(part(&[0xac, 0x02])), Some(channel));
        assert_eq!(said(part(&[])), None);
    }

    #[test]
    fn other_lines_say_nothing_about_a_snapshot() {
        for line in ["", "taken: soon", "taken: snapshot 3", "aborted: snapshot 1 of node 2 in boot 3, because so"] {
            assert_eq!(SnapshotReport::parse(line), None, "{line}");
        }
    }
}
