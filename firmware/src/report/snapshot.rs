//! Log lines about snapshots of a bank.

use super::{log_lines, node, numbers, to_u32};
use protocol::NodeId;
use protocol::service::demo::tokens;
use protocol::service::snapshot::{AbortReason, Fragment, Id, Notice};

/// A report about a snapshot of a bank. All but `Recorded` come from its initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotReport {
    /// The node has recorded its state.
    Recorded {
        /// The snapshot.
        id: Id,
    },
    /// The state of a member.
    State {
        /// The snapshot.
        id: Id,
        /// The member.
        member: NodeId,
        /// Its tokens.
        amount: u32,
    },
    /// A message in flight.
    Channel {
        /// The snapshot.
        id: Id,
        /// Its sender.
        from: NodeId,
        /// Its recipient.
        to: NodeId,
        /// Its tokens.
        amount: u32,
    },
    /// The snapshot is complete.
    Taken {
        /// The snapshot.
        id: Id,
        /// The number of members it covers.
        members: u32,
        /// The number of its fragments.
        fragments: u32,
    },
    /// The snapshot is aborted.
    Aborted {
        /// The snapshot.
        id: Id,
        /// The reason.
        reason: AbortReason,
    },
}

log_lines! { SnapshotReport {
    Self::Recorded { id: Id { initiator, incarnation, number } } =>
        info "recorded: snapshot {=u32} of node {=u32} in boot {=u32}", number, initiator.0, incarnation;
    Self::State { id: Id { initiator, incarnation, number }, member, amount } =>
        info "state: snapshot {=u32} of node {=u32} in boot {=u32}, node {=u32}, tokens {=u32}",
        number, initiator.0, incarnation, member.0, amount;
    Self::Channel { id: Id { initiator, incarnation, number }, from, to, amount } =>
        info "channel: snapshot {=u32} of node {=u32} in boot {=u32}, from node {=u32} to node {=u32}, tokens {=u32}",
        number, initiator.0, incarnation, from.0, to.0, amount;
    Self::Taken { id: Id { initiator, incarnation, number }, members, fragments } =>
        info "taken: snapshot {=u32} of node {=u32} in boot {=u32}, members {=u32}, fragments {=u32}",
        number, initiator.0, incarnation, members, fragments;
    Self::Aborted { id: Id { initiator, incarnation, number }, reason } =>
        warn "aborted: snapshot {=u32} of node {=u32} in boot {=u32}, because {=str}",
        number, initiator.0, incarnation, reason.description();
} }

impl SnapshotReport {
    /// The report of a notice; `None` where a fragment is not of a bank.
    #[must_use]
    pub fn from_notice(notice: &Notice) -> Option<Self> {
        Some(match *notice {
            Notice::Recorded { id } => Self::Recorded { id },
            // The state of a bank fits one fragment.
            Notice::Fragment { id, member, fragment: Fragment::State { ref bytes, .. } } => {
                Self::State { id, member, amount: tokens::amount(bytes)? }
            }
            Notice::Fragment { id, member: to, fragment: Fragment::Message { from, ref bytes } } => {
                Self::Channel { id, from, to, amount: tokens::amount(bytes)? }
            }
            Notice::Taken { id, members, fragments } => Self::Taken { id, members: members.len(), fragments },
            Notice::Aborted { id, reason } => Self::Aborted { id, reason },
        })
    }

    /// Parses a line; `None` where it is no report about a snapshot.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": snapshot ")?;
        match word {
            "recorded" => Some(Self::Recorded { id: id(numbers(rest)?)? }),
            "state" => {
                let [number, initiator, boot, member, amount] = numbers(rest)?;
                let (id, member) = (id([number, initiator, boot])?, node(member)?);
                Some(Self::State { id, member, amount: to_u32(amount)? })
            }
            "channel" => {
                let [number, initiator, boot, from, to, amount] = numbers(rest)?;
                let (id, from, to) = (id([number, initiator, boot])?, node(from)?, node(to)?);
                Some(Self::Channel { id, from, to, amount: to_u32(amount)? })
            }
            "taken" => {
                let [number, initiator, boot, members, fragments] = numbers(rest)?;
                let (id, members) = (id([number, initiator, boot])?, to_u32(members)?);
                Some(Self::Taken { id, members, fragments: to_u32(fragments)? })
            }
            "aborted" => {
                let (numbered, description) = rest.split_once(", because ")?;
                let reason = AbortReason::ALL.into_iter().find(|reason| reason.description() == description)?;
                Some(Self::Aborted { id: id(numbers(numbered)?)?, reason })
            }
            _ => None, // another line of a log
        }
    }
}

fn id([number, initiator, boot]: [u64; 3]) -> Option<Id> {
    Some(Id { initiator: node(initiator)?, incarnation: to_u32(boot)?, number: to_u32(number)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::service::application::ChannelMessage;
    use std::string::ToString;

    const ID: Id = Id { initiator: NodeId(7), incarnation: 2, number: u32::MAX };

    #[test]
    fn formatting_and_parsing_are_inverse() {
        let reports = [
            SnapshotReport::Recorded { id: ID },
            SnapshotReport::State { id: ID, member: NodeId(3), amount: 57 },
            SnapshotReport::Channel { id: ID, from: NodeId(1), to: NodeId(2), amount: 0 },
            SnapshotReport::Taken { id: ID, members: 5, fragments: 6 },
        ];
        let aborted = AbortReason::ALL.map(|reason| SnapshotReport::Aborted { id: ID, reason });
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
    fn a_fragment_of_a_bank_is_reported_in_tokens_and_another_is_not() {
        let fragment =
            |bytes: &[u8]| Fragment::Message { from: NodeId(1), bytes: ChannelMessage::from_slice(bytes).unwrap() };
        let report = |fragment| SnapshotReport::from_notice(&Notice::Fragment { id: ID, member: NodeId(2), fragment });
        let channel = SnapshotReport::Channel { id: ID, from: NodeId(1), to: NodeId(2), amount: 300 };
        assert_eq!(report(fragment(&[0xac, 0x02])), Some(channel));
        assert_eq!(report(fragment(&[])), None);
    }

    #[test]
    fn other_lines_are_no_reports() {
        for line in ["", "taken: soon", "taken: snapshot 3", "aborted: snapshot 1 of node 2 in boot 3, because so"] {
            assert_eq!(SnapshotReport::parse(line), None, "{line}");
        }
    }
}
