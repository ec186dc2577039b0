//! Check of a bank of boards: every snapshot must find all tokens, by the boards' logs.
//!
//! The tokens in states and in flight sum to the initial tokens while every board has power: a board that loses power
//! loses its tokens, and boots with new ones. So only snapshots of all boards that completed before the first power
//! loss are checked; the others are only reported.

use super::report::NodeReport;
use crate::base::Micros;
use crate::check::Finding;
use firmware::demo::schedule::INITIAL_TOKENS;
use firmware::report::SnapshotReport;
use protocol::service::snapshot::Id;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bank {
    pub boards: u32,
    /// The sum of their tokens.
    pub tokens: u32,
    /// The snapshots, in the order of their start.
    pub snapshots: Vec<SnapshotRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotRecord {
    pub initiator: u32,
    /// Its number since that node's boot.
    pub number: u32,
    pub at: Micros,
    /// The tokens of each node.
    pub states: BTreeMap<u32, u32>,
    /// The tokens in flight: sender, recipient, amount.
    pub channels: Vec<(u32, u32, u32)>,
    pub end: SnapshotEnd,
}

/// How a snapshot ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum SnapshotEnd {
    /// It did not.
    Open,
    /// It completed.
    Taken {
        /// Whether it must find all tokens.
        checked: bool,
    },
    /// It was aborted.
    Aborted {
        /// The reason.
        why: &'static str,
    },
}

impl SnapshotRecord {
    #[must_use]
    pub fn sum(&self) -> u32 {
        self.states.values().sum::<u32>() + self.channels.iter().map(|&(.., amount)| amount).sum::<u32>()
    }
}

impl Bank {
    /// Returns how many of the checked snapshots found all tokens.
    #[must_use]
    pub fn correct(&self) -> usize {
        self.checked().filter(|snapshot| snapshot.sum() == self.tokens).count()
    }

    fn checked(&self) -> impl Iterator<Item = &SnapshotRecord> {
        self.snapshots.iter().filter(|snapshot| snapshot.end == SnapshotEnd::Taken { checked: true })
    }
}

pub(super) fn check(nodes: &[NodeReport], first_crash: Micros, now: Micros, findings: &mut Vec<Finding>) -> Bank {
    let mut find = |at, checker, text| findings.push(Finding { at, checker, text });
    let boards = nodes.len() as u32;
    let mut snapshots: BTreeMap<Id, SnapshotRecord> = BTreeMap::new();
    for node in nodes {
        for entry in &node.log {
            let Some(report) = SnapshotReport::parse(&entry.text) else { continue };
            if let SnapshotReport::Recorded { id } | SnapshotReport::Aborted { id, .. } = report
                && id.initiator.0 == node.node
            {
                snapshots.entry(id).or_insert_with(|| SnapshotRecord {
                    initiator: node.node,
                    number: id.number,
                    at: entry.at,
                    states: BTreeMap::new(),
                    channels: Vec::new(),
                    end: SnapshotEnd::Open,
                });
            }
            let (SnapshotReport::Recorded { id }
            | SnapshotReport::State { id, .. }
            | SnapshotReport::Channel { id, .. }
            | SnapshotReport::Taken { id, .. }
            | SnapshotReport::Aborted { id, .. }) = report;
            let Some(snapshot) = snapshots.get_mut(&id) else { continue };
            match report {
                SnapshotReport::Recorded { .. } => {} // begun above, or by another node
                SnapshotReport::State { member, amount, .. } => _ = snapshot.states.insert(member.0, amount),
                SnapshotReport::Channel { from, to, amount, .. } => snapshot.channels.push((from.0, to.0, amount)),
                SnapshotReport::Taken { members, fragments, .. } => {
                    snapshot.end = SnapshotEnd::Taken { checked: members == boards && entry.at < first_crash };
                    let (states, channels) = (snapshot.states.len() as u32, snapshot.channels.len() as u32);
                    if (states, states + channels) != (members, fragments) {
                        let text = format!(
                            "{snapshot}: {members} boards and {fragments} fragments, but {states} states and {channels} messages"
                        );
                        find(entry.at, "snapshot-complete", text);
                    }
                }
                SnapshotReport::Aborted { reason, .. } => {
                    snapshot.end = SnapshotEnd::Aborted { why: reason.description() };
                }
            }
        }
    }
    let mut snapshots: Vec<SnapshotRecord> = snapshots.into_values().collect();
    snapshots.sort_by_key(|snapshot| snapshot.at);
    let bank = Bank { boards, tokens: boards * INITIAL_TOKENS, snapshots };
    for snapshot in bank.checked().filter(|snapshot| snapshot.sum() != bank.tokens) {
        let text = format!("{snapshot} found {} tokens, but there are {}", snapshot.sum(), bank.tokens);
        find(snapshot.at, "no-token-is-lost", text);
    }
    if bank.checked().next().is_none() {
        let text = format!("no snapshot of all {boards} boards was taken while all had power");
        find(now, "a-snapshot-is-taken", text);
    }
    bank
}

impl fmt::Display for SnapshotRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snapshot {} of node {}", self.number, self.initiator)
    }
}

impl fmt::Display for Bank {
    /// The snapshots in the order of their start, then the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { boards, tokens, snapshots } = self;
        writeln!(f, "a bank of {boards} boards with {INITIAL_TOKENS} tokens each: {tokens} in total")?;
        for snapshot in snapshots {
            let seconds = snapshot.at as f64 / 1e6;
            writeln!(f, "\n{seconds:>8.3} s  node {} begins {snapshot}", snapshot.initiator)?;
            match snapshot.end {
                SnapshotEnd::Open => writeln!(f, "            it was open when its node or this run ended")?,
                SnapshotEnd::Aborted { why } => writeln!(f, "            aborted: {why}")?,
                SnapshotEnd::Taken { checked } => {
                    let states: Vec<String> =
                        snapshot.states.iter().map(|(node, amount)| format!("node {node} has {amount}")).collect();
                    writeln!(f, "            {}", states.join(", "))?;
                    for (from, to, amount) in &snapshot.channels {
                        writeln!(f, "            {amount} in flight from node {from} to node {to}")?;
                    }
                    let verdict = match (checked, snapshot.sum() == *tokens) {
                        (true, true) => "correct",
                        (true, false) => "WRONG",
                        (false, _) => "not checked: a board lost its tokens, or took no part",
                    };
                    writeln!(f, "            sum {}: {verdict}", snapshot.sum())?;
                }
            }
        }
        write!(f, "\n{} of {} snapshots had to find all tokens", self.checked().count(), snapshots.len())?;
        write!(f, ", and {} did", self.correct())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::report::tests::{found, log};
    use protocol::NodeId;
    use protocol::service::snapshot::AbortReason;

    const ID: Id = Id { initiator: NodeId(0), incarnation: 1, number: 1 };

    fn state(of: u32, amount: u32) -> SnapshotReport {
        SnapshotReport::State { id: ID, member: NodeId(of), amount }
    }

    fn channel(amount: u32) -> SnapshotReport {
        SnapshotReport::Channel { id: ID, from: NodeId(0), to: NodeId(1), amount }
    }

    fn taken(members: u32, fragments: u32) -> SnapshotReport {
        SnapshotReport::Taken { id: ID, members, fragments }
    }

    /// Checks two boards of which the first logged these lines, one per second.
    fn checked(lines: &[SnapshotReport], first_crash: Micros) -> (Bank, Vec<&'static str>) {
        let begun = [SnapshotReport::Recorded { id: ID }];
        let lines = (0..).step_by(1_000_000).zip(begun.iter().chain(lines));
        let nodes = [log(0, lines.map(|(at, line)| (at, at, line.to_string()))), log(1, [])];
        found(|findings| check(&nodes, first_crash, 9_000_000, findings))
    }

    #[test]
    fn tokens_in_states_and_in_flight_are_all_tokens() {
        let (bank, found) = checked(&[state(0, 90), channel(7), state(1, 103), taken(2, 3)], Micros::MAX);
        assert_eq!((bank.correct(), bank.tokens, found), (1, 200, vec![]));
        let text = bank.to_string();
        assert!(text.contains("node 0 has 90, node 1 has 103\n"), "{text}");
        assert!(text.contains("7 in flight from node 0 to node 1\n            sum 200: correct"), "{text}");
        assert!(text.ends_with("1 of 1 snapshots had to find all tokens, and 1 did"), "{text}");
    }

    #[test]
    fn a_wrong_sum_is_found() {
        let (bank, found) = checked(&[state(0, 90), state(1, 103), taken(2, 2)], Micros::MAX);
        assert_eq!((bank.correct(), found), (0, vec!["no-token-is-lost"]));
        assert!(bank.to_string().contains("sum 193: WRONG"));
    }

    #[test]
    fn a_missing_line_is_found() {
        let (_, found) = checked(&[state(0, 200), taken(2, 2)], Micros::MAX);
        assert_eq!(found, ["snapshot-complete"]);
    }

    #[test]
    fn a_bank_without_a_snapshot_is_found() {
        let aborted = SnapshotReport::Aborted { id: ID, reason: AbortReason::Unreachable };
        let (bank, found) = checked(&[state(0, 90), aborted], Micros::MAX);
        assert_eq!(found, ["a-snapshot-is-taken"]);
        assert!(bank.to_string().contains("aborted: a member was unreachable"));
    }

    #[test]
    fn a_snapshot_without_a_board_or_after_a_power_loss_is_not_checked() {
        for (lines, first_crash) in [
            (vec![state(0, 90), taken(1, 1)], Micros::MAX),
            (vec![state(0, 90), state(1, 100), taken(2, 2)], 2_000_000),
        ] {
            let (bank, found) = checked(&lines, first_crash);
            assert_eq!(bank.snapshots[0].end, SnapshotEnd::Taken { checked: false });
            assert_eq!(found, ["a-snapshot-is-taken"], "nothing else is wrong with it");
        }
    }
}
