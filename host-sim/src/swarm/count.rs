//! Check of boards that increment a counter under a lock: every grant counts once, by their logs.

use super::report::NodeReport;
use crate::base::Micros;
use crate::check::Finding;
use firmware::report::{LockReport, Report as Line};
use protocol::mutex::Fence;
use serde::Serialize;
use std::collections::BTreeMap;

/// The grants of the lock, and the counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The number of grants.
    pub grants: u32,
    /// Grants whose holder lost power before its increment was confirmed.
    pub cut_short: u32,
    /// The counter in the end.
    pub total: u32,
    /// Increments that were refused, because a later holder had incremented.
    pub outdated: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrantOutcome {
    /// Nothing further was logged.
    Open,
    /// Its holder rebooted.
    CutShort,
    Counted(u32),
    Outdated,
}

pub(super) fn check(nodes: &[NodeReport], now: Micros, findings: &mut Vec<Finding>) -> Count {
    let mut find = |checker, text| findings.push(Finding { at: now, checker, text });
    let mut grants: BTreeMap<Fence, (u32, GrantOutcome)> = BTreeMap::new();
    for node in nodes {
        for (fence, outcome) in grants_of(node) {
            if let Some((other, _)) = grants.insert(fence, (node.node, outcome)) {
                let text = format!("nodes {other} and {} were granted the lock under one fence, {fence:?}", node.node);
                find("fences-grow", text);
            }
        }
    }
    let mut count = Count { grants: grants.len() as u32, ..Count::default() };
    for (fence, (node, outcome)) in &grants {
        match *outcome {
            GrantOutcome::Open => {
                find("every-grant-counts", format!("the increment of node {node} under {fence:?} was never confirmed"));
            }
            GrantOutcome::CutShort => count.cut_short += 1,
            GrantOutcome::Outdated => {
                count.outdated += 1;
                find(
                    "every-grant-counts",
                    format!("node {node} held the lock and its increment was refused under {fence:?}"),
                );
            }
            // By fence the counter only grows: no increment follows one of a later holder.
            GrantOutcome::Counted(total) if total <= count.total => {
                find("counts-grow", format!("node {node} counted {total} under {fence:?}, after {}", count.total));
            }
            GrantOutcome::Counted(total) => count.total = total,
        }
    }
    // A board that lost power may have incremented without a confirmation.
    if count.total > count.grants || count.total + count.cut_short + count.outdated < count.grants {
        let Count { grants, total, cut_short, .. } = count;
        find(
            "every-grant-counts",
            format!("{grants} grants, {cut_short} of them cut short, but the counter is at {total}"),
        );
    }
    count
}

fn grants_of(node: &NodeReport) -> BTreeMap<Fence, GrantOutcome> {
    let mut grants = BTreeMap::new();
    for entry in &node.log {
        if let Some(Line::Starting { .. }) = Line::parse(&entry.text) {
            for outcome in grants.values_mut().filter(|outcome| **outcome == GrantOutcome::Open) {
                *outcome = GrantOutcome::CutShort;
            }
        }
        match LockReport::parse(&entry.text) {
            Some(LockReport::Holding { fence, .. }) => drop(grants.entry(fence).or_insert(GrantOutcome::Open)),
            Some(LockReport::Counted { fence, total, .. }) => drop(grants.insert(fence, GrantOutcome::Counted(total))),
            Some(LockReport::Outdated { fence, .. }) => drop(grants.insert(fence, GrantOutcome::Outdated)),
            Some(_) | None => {} // neither a grant nor an increment
        }
    }
    grants
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::report::tests::{found, log, starting};
    use protocol::base::lamport::LamportTime;
    use protocol::base::term::Term;
    use protocol::mutex::LockId;

    const LOCK: LockId = LockId::from_name("counter");

    fn fence(count: u64) -> Fence {
        Fence { term: Term::ZERO, count: LamportTime(count) }
    }

    fn holding(count: u64) -> String {
        LockReport::Holding { lock: LOCK, fence: fence(count) }.to_string()
    }

    fn counted(count: u64, total: u32) -> String {
        LockReport::Counted { lock: LOCK, fence: fence(count), total }.to_string()
    }

    fn checked(logs: &[&[String]]) -> (Count, Vec<&'static str>) {
        let lines = |lines: &[String]| lines.iter().map(|line| (0, 0, line.clone())).collect::<Vec<_>>();
        let nodes: Vec<NodeReport> = (0..).zip(logs).map(|(node, of_node)| log(node, lines(of_node))).collect();
        found(|findings| check(&nodes, 7, findings))
    }

    #[test]
    fn grants_that_count_once_pass() {
        let checked = checked(&[&[holding(1), counted(1, 1), holding(3), counted(3, 3)], &[holding(2), counted(2, 2)]]);
        assert_eq!(checked, (Count { grants: 3, total: 3, ..Count::default() }, vec![]));
    }

    #[test]
    fn a_grant_that_was_cut_short_may_or_may_not_have_counted() {
        for (after, total) in [(2, 2), (1, 1)] {
            let (count, found) = checked(&[&[holding(1), starting(), holding(2), counted(2, after)]]);
            assert_eq!((count, found), (Count { grants: 2, cut_short: 1, total, outdated: 0 }, vec![]));
        }
    }

    #[test]
    fn a_missing_duplicate_or_reordered_increment_is_found() {
        assert_eq!(checked(&[&[holding(1)]]).1, ["every-grant-counts", "every-grant-counts"]);
        assert_eq!(checked(&[&[holding(1), counted(1, 1)], &[holding(1), counted(1, 1)]]).1[0], "fences-grow");
        assert_eq!(checked(&[&[counted(1, 2)], &[counted(2, 1)]]).1, ["counts-grow"]);
        assert_eq!(checked(&[&[counted(1, 1)], &[counted(2, 1)]]).1, ["counts-grow", "every-grant-counts"]);
        let refused = LockReport::Outdated { lock: LOCK, fence: fence(1) }.to_string();
        assert_eq!(checked(&[&[holding(1), refused]]).1, ["every-grant-counts"]);
    }
}
