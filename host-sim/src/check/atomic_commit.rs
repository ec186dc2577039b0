//! Always: no two members decide a transaction differently, after a reboot neither, and what is committed was voted for by
//! all of them.

use super::Always;
use crate::trace::{AppEvent, EventKind, TraceEvent, TransactionStep};
use std::collections::{BTreeMap, BTreeSet};

/// A transaction: the term of its coordinator and its number in it.
type Id = (u32, u32, u32);

#[derive(Default)]
pub(super) struct Checker {
    members: BTreeSet<u32>,
    yes: BTreeMap<Id, BTreeSet<u32>>,
    /// The decision, and who was told first.
    decided: BTreeMap<Id, (bool, u32)>,
}

impl Checker {
    fn decide(&mut self, node: u32, id: Id, commit: bool) -> Option<String> {
        let word = |commit| if commit { "commits" } else { "aborts" };
        let (before, other) = *self.decided.entry(id).or_insert((commit, node));
        if before != commit {
            return Some(format!("node {node} {} transaction {id:?}, and node {other} {} it", word(commit), word(before)));
        }
        let silent = self.members.iter().find(|member| !self.yes.get(&id).is_some_and(|yes| yes.contains(member)));
        let silent = silent.filter(|_| commit)?;
        Some(format!("node {node} commits transaction {id:?}, and node {silent} has not voted for it"))
    }
}

impl Always for Checker {
    const NAME: &'static str = "atomic-commit";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        match event.kind {
            EventKind::Boot { .. } => _ = self.members.insert(node),
            EventKind::App { event: AppEvent::Transaction { step, term, by, number } } => {
                let id = (term, by, number);
                match step {
                    TransactionStep::Proposed | TransactionStep::Voted => {
                        self.yes.entry(id).or_default().insert(node);
                    }
                    TransactionStep::Committed => return self.decide(node, id, true),
                    TransactionStep::Aborted => return self.decide(node, id, false),
                    TransactionStep::Blocked | TransactionStep::Completed => {}
                }
            }
            _ => {} // no part of a transaction
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, app, event, findings};
    use super::*;

    fn step(node: u32, step: TransactionStep, number: u32) -> TraceEvent {
        app(node, AppEvent::Transaction { step, term: 3, by: 0, number })
    }

    fn voted_by_all() -> Vec<TraceEvent> {
        let boots = (0..3).map(|node| event(node, EventKind::Boot { blank: false }));
        let votes = [TransactionStep::Proposed, TransactionStep::Voted, TransactionStep::Voted];
        boots.chain((0..).zip(votes).map(|(node, vote)| step(node, vote, 1))).collect()
    }

    #[test]
    fn one_decision_that_all_voted_for_is_accepted_and_may_be_told_again() {
        let mut events = voted_by_all();
        events.push(step(2, TransactionStep::Blocked, 1));
        events.extend([0, 1, 2, 0].map(|node| step(node, TransactionStep::Committed, 1)));
        events.extend([0, 1].map(|node| step(node, TransactionStep::Aborted, 2)));
        assert_eq!(findings::<Checker>(&events), NOTHING);
    }

    #[test]
    fn two_decisions_and_a_commit_without_a_vote_are_reported() {
        let mut events = voted_by_all();
        events.extend([step(0, TransactionStep::Committed, 1), step(2, TransactionStep::Aborted, 1)]);
        let different = "node 2 aborts transaction (3, 0, 1), and node 0 commits it";
        assert_eq!(findings::<Checker>(&events), [different]);
        let mut events = voted_by_all();
        events.extend([step(0, TransactionStep::Proposed, 2), step(1, TransactionStep::Voted, 2)]);
        events.push(step(0, TransactionStep::Committed, 2));
        let silent = "node 0 commits transaction (3, 0, 2), and node 2 has not voted for it";
        assert_eq!(findings::<Checker>(&events), [silent]);
    }
}
