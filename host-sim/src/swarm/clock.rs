//! Boards that share a clock: how far apart they flash, by what they said.
//!
//! A board says when, by its own clock, the shared one showed a full second. Its own clock is told from the swarm's by the
//! line that reached us fastest: so how far apart two boards are is known to within what the fastest lines took, some
//! milliseconds on a busy machine. Only what no machine can cause is judged.

use super::report::NodeReport;
use super::slot::Entry;
use crate::checker::Finding;
use crate::queue::Micros;
use firmware::report::{ClockReport, Report as Line};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Boards that are further apart than this do not flash together, whoever looks.
const APART_MAX: Micros = 250_000;
/// A second, in microseconds.
const SECOND: u64 = 1_000_000;

/// What came of a shared clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clock {
    /// How many boards flashed at each second, and how far apart in microseconds, as far as we can tell.
    pub seconds: BTreeMap<u64, Flash>,
    /// For each node, how often its clock was corrected, and by how many microseconds at most.
    pub corrections: BTreeMap<u32, (u32, u32)>,
}

/// A second of the shared clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flash {
    /// How many boards flashed.
    pub boards: u32,
    /// How far the first and the last of them were apart.
    pub apart: Micros,
}

/// Gathers what the boards said, and says what does not hold.
pub(super) fn judge(nodes: &[NodeReport], now: Micros, findings: &mut Vec<Finding>) -> Clock {
    let mut find = |at, checker, text| findings.push(Finding { at, checker, text });
    let mut clock = Clock::default();
    let mut moments: BTreeMap<u64, Vec<Micros>> = BTreeMap::new();
    for node in nodes {
        let mut flashed = false;
        for life in lives(&node.diary) {
            let offset = life.iter().map(|entry| entry.at.saturating_sub(entry.own)).min().unwrap_or(0);
            let mut last = None;
            for entry in life {
                match ClockReport::parse(&entry.text) {
                    Some(ClockReport::Flash { time }) => {
                        flashed = true;
                        let (second, late) = (time.as_micros() / SECOND, time.as_micros() % SECOND);
                        moments.entry(second).or_default().push((entry.own + offset).saturating_sub(late));
                        if let Some(before) = last.replace(second).filter(|&before| before >= second) {
                            let text = format!("node {} saw second {second} begin after {before}", node.node);
                            find(entry.at, "clock-runs-on", text);
                        }
                    }
                    Some(ClockReport::Corrected { by }) => {
                        let (times, most) = clock.corrections.entry(node.node).or_default();
                        (*times, *most) = (*times + 1, by.unsigned_abs().max(*most));
                    }
                    Some(ClockReport::Set) | None => {} // no second begins with it
                }
            }
        }
        if !flashed {
            find(now, "every-board-flashes", format!("node {} never flashed", node.node));
        }
    }
    for (second, moments) in moments {
        let (first, last) = (moments.iter().min().copied().unwrap_or(0), moments.iter().max().copied().unwrap_or(0));
        let flash = Flash { boards: moments.len() as u32, apart: last - first };
        if flash.apart > APART_MAX {
            let text = format!("boards were {} us apart when second {second} began", flash.apart);
            find(last, "boards-flash-together", text);
        }
        clock.seconds.insert(second, flash);
    }
    if nodes.len() > 1 && !clock.seconds.values().any(|flash| flash.boards == nodes.len() as u32) {
        find(now, "boards-flash-together", format!("at no second all {} boards flashed", nodes.len()));
    }
    clock
}

/// What a node said in each of its lives.
fn lives(diary: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    diary.chunk_by(|_, next| !matches!(next.report(), Some(Line::Starting { .. })))
}

impl fmt::Display for Clock {
    /// The tale of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "when a second of the shared clock began, and how far apart the boards flashed:")?;
        for (second, Flash { boards, apart }) in &self.seconds {
            let who = if *boards == 1 { "1 board" } else { &format!("{boards} boards") };
            writeln!(f, "{second:>8} s  {who}, {:>8.3} ms", *apart as f64 / 1e3)?;
        }
        writeln!(f, "(to within what the fastest lines of their logs took to reach us)\n")?;
        for (node, (times, most)) in &self.corrections {
            writeln!(f, "node {node} was corrected {times} times, by {:.3} ms at most", f64::from(*most) / 1e3)?;
        }
        let most = self.seconds.values().map(|flash| flash.apart).max().unwrap_or(0);
        write!(f, "{} seconds, at most {:.3} ms apart", self.seconds.len(), most as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firmware::report::Past;
    use protocol::{Instant, NodeId};

    fn flash(micros: u64) -> String {
        ClockReport::Flash { time: Instant::from_micros(micros) }.to_string()
    }

    fn starting() -> String {
        Line::Starting { node: NodeId(0), capacity: 1, records: Past::Kept }.to_string()
    }

    /// What is made of what boards said: for each line its own time, and when it reached us.
    fn judged(said: &[&[(Micros, Micros, String)]]) -> (Clock, Vec<&'static str>) {
        let entry = |(own, at, text): &(Micros, Micros, String)| Entry { at: *at, own: *own, text: text.clone() };
        let nodes: Vec<NodeReport> = said
            .iter()
            .zip(0..)
            .map(|(lines, node)| NodeReport {
                diary: lines.iter().map(entry).collect(),
                ..NodeReport::saying(node, [])
            })
            .collect();
        let mut findings = Vec::new();
        let clock = judge(&nodes, 99, &mut findings);
        (clock, findings.iter().map(|finding| finding.checker).collect())
    }

    #[test]
    fn how_far_apart_boards_are_is_told_by_their_own_clocks_and_not_by_slow_lines() {
        // The second board started 500,000 later; its flash was 20 late and 3,000 after the first board's, its line slow.
        let (clock, found) = judged(&[
            &[(0, 100, starting()), (1_000_000, 1_000_100, flash(7_000_000))],
            &[(0, 500_100, starting()), (503_020, 1_900_000, flash(7_000_020))],
        ]);
        assert_eq!(clock.seconds, BTreeMap::from([(7, Flash { boards: 2, apart: 3_000 })]));
        assert_eq!(found, [""; 0]);
        assert!(clock.to_string().contains("       7 s  2 boards,    3.000 ms"), "{clock}");
    }

    #[test]
    fn boards_that_do_not_flash_or_not_together_or_twice_are_found() {
        let first = &[(0, 0, starting()), (1_000_000, 1_000_000, flash(7_000_000))][..];
        assert_eq!(judged(&[first, &[]]).1, ["every-board-flashes", "boards-flash-together"]);
        let late = &[(0, 0, starting()), (1_300_000, 1_300_000, flash(7_000_000))][..];
        assert_eq!(judged(&[first, late]).1, ["boards-flash-together"]);
        let again = &[(0, 0, starting()), (5, 5, flash(8_000_000)), (9, 9, flash(8_000_000))][..];
        assert_eq!(judged(&[again]).1, ["clock-runs-on"]);
    }

    #[test]
    fn corrections_are_counted() {
        let by = |by| (1, 1, ClockReport::Corrected { by }.to_string());
        let (clock, _) = judged(&[&[by(-70), by(30)]]);
        assert_eq!(clock.corrections, BTreeMap::from([(0, (2, 70))]));
    }
}
