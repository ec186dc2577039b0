//! Boards that are a bank: whether every snapshot they took finds all tokens, by what they said.
//!
//! Tokens in the nodes' states and tokens that were on their way are as many as there were in the beginning. That is so
//! while every board has its power: what a board has is lost with it, and it starts with new ones. So only snapshots of all
//! boards that were taken before the first one lost its power are judged; the others are told all the same.

use super::report::NodeReport;
use crate::checker::Finding;
use crate::queue::Micros;
use firmware::report::SnapshotReport;
use firmware::turns::TOKENS;
use protocol::snapshot::Id;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What came of the snapshots of a bank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bank {
    /// How many boards there are.
    pub boards: u32,
    /// How many tokens they have together.
    pub tokens: u32,
    /// The snapshots, in the order in which they were begun.
    pub snapshots: Vec<Picture>,
}

/// One snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// Who began it.
    pub initiator: u32,
    /// The how many-th of that node's boot.
    pub number: u32,
    /// When it was begun.
    pub at: Micros,
    /// What each node had.
    pub states: BTreeMap<u32, u32>,
    /// What was on its way: from whom, to whom, and how many.
    pub channels: Vec<(u32, u32, u32)>,
    /// What became of it.
    pub end: End,
}

/// What became of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum End {
    /// Nothing yet.
    Open,
    /// It is whole.
    Taken {
        /// Whether it must find all tokens.
        judged: bool,
    },
    /// There is none.
    Aborted {
        /// Why not.
        why: &'static str,
    },
}

impl Picture {
    /// All tokens it found.
    #[must_use]
    pub fn sum(&self) -> u32 {
        self.states.values().sum::<u32>() + self.channels.iter().map(|&(.., amount)| amount).sum::<u32>()
    }
}

impl Bank {
    /// How many snapshots found all tokens, of those that must.
    #[must_use]
    pub fn right(&self) -> usize {
        self.judged().filter(|picture| picture.sum() == self.tokens).count()
    }

    fn judged(&self) -> impl Iterator<Item = &Picture> {
        self.snapshots.iter().filter(|picture| picture.end == End::Taken { judged: true })
    }
}

/// Gathers the snapshots, and says what does not hold.
pub(super) fn judge(nodes: &[NodeReport], first_crash: Micros, now: Micros, findings: &mut Vec<Finding>) -> Bank {
    let mut find = |at, checker, text| findings.push(Finding { at, checker, text });
    let boards = nodes.len() as u32;
    let mut pictures: BTreeMap<Id, Picture> = BTreeMap::new();
    for node in nodes {
        for entry in &node.diary {
            match SnapshotReport::parse(&entry.text) {
                Some(SnapshotReport::Recorded { id } | SnapshotReport::Aborted { id, .. })
                    if id.initiator.0 == node.node && !pictures.contains_key(&id) =>
                {
                    let (initiator, number) = (node.node, id.number);
                    let (states, channels) = (BTreeMap::new(), Vec::new());
                    let picture = Picture { initiator, number, at: entry.at, states, channels, end: End::Open };
                    pictures.insert(id, picture);
                }
                _ => {} // nothing begins with it
            }
            match SnapshotReport::parse(&entry.text) {
                Some(SnapshotReport::State { id, of, amount }) => {
                    if let Some(picture) = pictures.get_mut(&id) {
                        picture.states.insert(of.0, amount);
                    }
                }
                Some(SnapshotReport::Channel { id, from, to, amount }) => {
                    if let Some(picture) = pictures.get_mut(&id) {
                        picture.channels.push((from.0, to.0, amount));
                    }
                }
                Some(SnapshotReport::Taken { id, members, parts }) => {
                    let Some(picture) = pictures.get_mut(&id) else { continue };
                    picture.end = End::Taken { judged: members == boards && entry.at < first_crash };
                    let (states, channels) = (picture.states.len() as u32, picture.channels.len() as u32);
                    if (states, states + channels) != (members, parts) {
                        let text = format!(
                            "{picture} is of {members} boards in {parts} pieces, but {states} states and {channels} messages were told"
                        );
                        find(entry.at, "every-piece-is-told", text);
                    }
                }
                Some(SnapshotReport::Aborted { id, why }) => {
                    if let Some(picture) = pictures.get_mut(&id) {
                        picture.end = End::Aborted { why: why.words() };
                    }
                }
                Some(SnapshotReport::Recorded { .. }) | None => {} // of another's, or something else
            }
        }
    }
    let mut snapshots: Vec<Picture> = pictures.into_values().collect();
    snapshots.sort_by_key(|picture| picture.at);
    let bank = Bank { boards, tokens: boards * TOKENS, snapshots };
    for picture in bank.judged().filter(|picture| picture.sum() != bank.tokens) {
        let text = format!("{picture} found {} tokens, but there are {}", picture.sum(), bank.tokens);
        find(picture.at, "no-token-is-lost", text);
    }
    if bank.judged().next().is_none() {
        let text = format!("no snapshot of all {boards} boards was taken while all had power");
        find(now, "a-snapshot-is-taken", text);
    }
    bank
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snapshot {} of node {}", self.number, self.initiator)
    }
}

impl fmt::Display for Bank {
    /// The tale of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { boards, tokens, snapshots } = self;
        writeln!(f, "a bank of {boards} boards with {TOKENS} tokens each: there are {tokens}")?;
        for picture in snapshots {
            let seconds = picture.at as f64 / 1e6;
            writeln!(f, "\n{seconds:>8.3} s  node {} begins {picture}", picture.initiator)?;
            match picture.end {
                End::Open => writeln!(f, "            it was not over when its node or this run ended")?,
                End::Aborted { why } => writeln!(f, "            aborted: {why}")?,
                End::Taken { judged } => {
                    let states: Vec<String> =
                        picture.states.iter().map(|(node, amount)| format!("node {node} has {amount}")).collect();
                    writeln!(f, "            {}", states.join(", "))?;
                    for (from, to, amount) in &picture.channels {
                        writeln!(f, "            {amount} are on their way from node {from} to node {to}")?;
                    }
                    let verdict = match (judged, picture.sum() == *tokens) {
                        (true, true) => "all of them",
                        (true, false) => "WRONG",
                        (false, _) => "not judged: a board and its tokens are gone, or were not part of it",
                    };
                    writeln!(f, "            together {}: {verdict}", picture.sum())?;
                }
            }
        }
        write!(f, "\n{} of {} snapshots were to find all tokens", self.judged().count(), snapshots.len())?;
        write!(f, ", and {} did", self.right())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::snapshot::Why;

    const ID: Id = Id { initiator: NodeId(0), incarnation: 1, number: 1 };

    fn state(of: u32, amount: u32) -> SnapshotReport {
        SnapshotReport::State { id: ID, of: NodeId(of), amount }
    }

    fn channel(amount: u32) -> SnapshotReport {
        SnapshotReport::Channel { id: ID, from: NodeId(0), to: NodeId(1), amount }
    }

    fn taken(members: u32, parts: u32) -> SnapshotReport {
        SnapshotReport::Taken { id: ID, members, parts }
    }

    /// What is made of what the first of two boards said, a line every second.
    fn judged(said: &[SnapshotReport], first_crash: Micros) -> (Bank, Vec<&'static str>) {
        let begun = [SnapshotReport::Recorded { id: ID }];
        let lines: Vec<String> = begun.iter().chain(said).map(ToString::to_string).collect();
        let nodes = [NodeReport::saying(0, lines.iter().zip((0..).step_by(1_000_000))), NodeReport::saying(1, [])];
        let mut findings = Vec::new();
        let bank = judge(&nodes, first_crash, 9_000_000, &mut findings);
        (bank, findings.iter().map(|finding| finding.checker).collect())
    }

    #[test]
    fn tokens_in_states_and_on_their_way_are_all_tokens() {
        let (bank, found) = judged(&[state(0, 90), channel(7), state(1, 103), taken(2, 3)], Micros::MAX);
        assert_eq!((bank.right(), bank.tokens, found), (1, 200, vec![]));
        let tale = bank.to_string();
        assert!(tale.contains("node 0 has 90, node 1 has 103\n"), "{tale}");
        assert!(
            tale.contains("7 are on their way from node 0 to node 1\n            together 200: all of them"),
            "{tale}"
        );
        assert!(tale.ends_with("1 of 1 snapshots were to find all tokens, and 1 did"), "{tale}");
    }

    #[test]
    fn a_sum_that_is_wrong_is_found() {
        let (bank, found) = judged(&[state(0, 90), state(1, 103), taken(2, 2)], Micros::MAX);
        assert_eq!((bank.right(), found), (0, vec!["no-token-is-lost"]));
        assert!(bank.to_string().contains("together 193: WRONG"));
    }

    #[test]
    fn a_line_that_is_missing_is_found_before_a_sum_is_believed() {
        let (_, found) = judged(&[state(0, 200), taken(2, 2)], Micros::MAX);
        assert_eq!(found, ["every-piece-is-told"]);
    }

    #[test]
    fn a_bank_of_which_no_snapshot_was_taken_is_found() {
        let aborted = SnapshotReport::Aborted { id: ID, why: Why::Down };
        let (bank, found) = judged(&[state(0, 90), aborted], Micros::MAX);
        assert_eq!(found, ["a-snapshot-is-taken"]);
        assert!(bank.to_string().contains("aborted: a member could not be reached"));
    }

    #[test]
    fn what_was_taken_without_a_board_or_after_one_lost_its_power_is_not_judged() {
        for (said, first_crash) in [
            (vec![state(0, 90), taken(1, 1)], Micros::MAX),
            (vec![state(0, 90), state(1, 100), taken(2, 2)], 2_000_000),
        ] {
            let (bank, found) = judged(&said, first_crash);
            assert_eq!(bank.snapshots[0].end, End::Taken { judged: false });
            assert_eq!(found, ["a-snapshot-is-taken"], "nothing else is wrong with it");
        }
    }
}
