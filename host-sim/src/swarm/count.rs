//! Boards that contend for a lock and count under it: whether every grant counts once, by what they said.

use super::report::NodeReport;
use crate::checker::Finding;
use crate::queue::Micros;
use firmware::report::{LockReport, Report as Line};
use protocol::mutex::Fence;
use serde::Serialize;
use std::collections::BTreeMap;

/// What came of the contest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// How often the lock was granted, as the boards said.
    pub grants: u32,
    /// Grants whose holder lost its power before it heard that it had counted.
    pub cut_short: u32,
    /// What the counter said in the end.
    pub total: u32,
    /// Counts that were refused, because a later holder had counted.
    pub outdated: u32,
}

/// What became of one grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It was granted, and that is all its holder said.
    Open,
    /// It was granted, and then its holder started anew.
    CutShort,
    Counted(u32),
    Outdated,
}

/// Counts, and says what does not hold.
pub(super) fn judge(nodes: &[NodeReport], now: Micros, findings: &mut Vec<Finding>) -> Count {
    let mut find = |checker, text| findings.push(Finding { at: now, checker, text });
    let mut uses: BTreeMap<Fence, (u32, Use)> = BTreeMap::new();
    for node in nodes {
        for (fence, became) in uses_of(node) {
            if let Some((other, _)) = uses.insert(fence, (node.node, became)) {
                let text = format!("nodes {other} and {} were granted the lock under one fence, {fence:?}", node.node);
                find("fences-grow", text);
            }
        }
    }
    let mut count = Count { grants: uses.len() as u32, ..Count::default() };
    for (fence, (node, became)) in &uses {
        match *became {
            Use::Open => find("every-grant-counts", format!("node {node} never heard of its count under {fence:?}")),
            Use::CutShort => count.cut_short += 1,
            Use::Outdated => {
                count.outdated += 1;
                find("every-grant-counts", format!("node {node} held the lock and was refused under {fence:?}"));
            }
            // In the order of fences the counter only grows: nobody counted behind a later holder's back.
            Use::Counted(total) if total <= count.total => {
                find("counts-grow", format!("node {node} counted {total} under {fence:?}, after {}", count.total));
            }
            Use::Counted(total) => count.total = total,
        }
    }
    // A board that lost its power may have counted without hearing of it.
    if count.total > count.grants || count.total + count.cut_short + count.outdated < count.grants {
        let Count { grants, total, cut_short, .. } = count;
        find(
            "every-grant-counts",
            format!("{grants} grants, {cut_short} of them cut short, but the counter says {total}"),
        );
    }
    count
}

/// What became of each grant of a node.
fn uses_of(node: &NodeReport) -> BTreeMap<Fence, Use> {
    let mut uses = BTreeMap::new();
    for entry in &node.diary {
        if let Some(Line::Starting { .. }) = Line::parse(&entry.text) {
            for became in uses.values_mut().filter(|became| **became == Use::Open) {
                *became = Use::CutShort;
            }
        }
        match LockReport::parse(&entry.text) {
            Some(LockReport::Holding { fence, .. }) => drop(uses.entry(fence).or_insert(Use::Open)),
            Some(LockReport::Counted { fence, total, .. }) => drop(uses.insert(fence, Use::Counted(total))),
            Some(LockReport::Outdated { fence, .. }) => drop(uses.insert(fence, Use::Outdated)),
            Some(_) | None => {} // nothing that counts
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;
    use firmware::report::Past;
    use protocol::NodeId;
    use protocol::clock::{Stamp, Term};
    use protocol::mutex::LockId;

    const LOCK: LockId = LockId::from_name("counter");

    fn fence(count: u64) -> Fence {
        Fence { term: Term::ZERO, count: Stamp(count) }
    }

    fn holding(count: u64) -> String {
        LockReport::Holding { lock: LOCK, fence: fence(count) }.to_string()
    }

    fn counted(count: u64, total: u32) -> String {
        LockReport::Counted { lock: LOCK, fence: fence(count), total }.to_string()
    }

    fn starting() -> String {
        Line::Starting { node: NodeId(0), capacity: 1, records: Past::Kept }.to_string()
    }

    fn judged(said: &[&[String]]) -> (Count, Vec<&'static str>) {
        let nodes: Vec<NodeReport> =
            said.iter().zip(0..).map(|(lines, node)| NodeReport::saying(node, lines.iter().zip([0; 99]))).collect();
        let mut findings = Vec::new();
        let count = judge(&nodes, 7, &mut findings);
        (count, findings.iter().map(|finding| finding.checker).collect())
    }

    #[test]
    fn every_grant_that_counts_once_is_fine() {
        let said = judged(&[&[holding(1), counted(1, 1), holding(3), counted(3, 3)], &[holding(2), counted(2, 2)]]);
        assert_eq!(said, (Count { grants: 3, total: 3, ..Count::default() }, vec![]));
    }

    #[test]
    fn a_grant_that_was_cut_short_may_or_may_not_have_counted() {
        for (after, total) in [(2, 2), (1, 1)] {
            let (count, found) = judged(&[&[holding(1), starting(), holding(2), counted(2, after)]]);
            assert_eq!((count, found), (Count { grants: 2, cut_short: 1, total, outdated: 0 }, vec![]));
        }
    }

    #[test]
    fn a_count_that_is_missing_twice_or_out_of_order_is_found() {
        assert_eq!(judged(&[&[holding(1)]]).1, ["every-grant-counts", "every-grant-counts"]);
        assert_eq!(judged(&[&[holding(1), counted(1, 1)], &[holding(1), counted(1, 1)]]).1[0], "fences-grow");
        assert_eq!(judged(&[&[counted(1, 2)], &[counted(2, 1)]]).1, ["counts-grow"]);
        assert_eq!(judged(&[&[counted(1, 1)], &[counted(2, 1)]]).1, ["counts-grow", "every-grant-counts"]);
        let refused = LockReport::Outdated { lock: LOCK, fence: fence(1) }.to_string();
        assert_eq!(judged(&[&[holding(1), refused]]).1, ["every-grant-counts"]);
    }
}
