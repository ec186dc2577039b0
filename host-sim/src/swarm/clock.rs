//! Check of a shared clock: how far apart the boards flash, by their logs.
//!
//! A board logs when, by its own clock, the shared clock reached a full second. The offset of its own clock is
//! estimated from the line that was received fastest: the error is the delay of the fastest lines, some milliseconds
//! on a busy machine. Only larger differences are violations.

use super::board_log::Entry;
use super::report::NodeReport;
use crate::base::Micros;
use crate::check::Finding;
use firmware::report::{ClockReport, Report as Line};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Boards further apart than this do not flash together.
const APART_MAX: Micros = 250_000;
const SECOND: u64 = 1_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clock {
    /// How many boards flashed at each second, and how far apart, in microseconds.
    pub seconds: BTreeMap<u64, Flash>,
    /// For each node, the number of corrections and the largest one, in microseconds.
    pub corrections: BTreeMap<u32, (u32, u32)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flash {
    pub boards: u32,
    /// The time from the first to the last of them.
    pub apart: Micros,
}

pub(super) fn check(nodes: &[NodeReport], now: Micros, findings: &mut Vec<Finding>) -> Clock {
    let mut find = |at, checker, text| findings.push(Finding { at, checker, text });
    let mut clock = Clock::default();
    let mut moments: BTreeMap<u64, Vec<Micros>> = BTreeMap::new();
    for node in nodes {
        let mut flashed = false;
        for boot in boots(&node.log) {
            let offset = boot.iter().map(|entry| entry.at.saturating_sub(entry.board_time)).min().unwrap_or(0);
            let mut last = None;
            for entry in boot {
                match ClockReport::parse(&entry.text) {
                    Some(ClockReport::Second { time }) => {
                        flashed = true;
                        let (second, late) = (time.as_micros() / SECOND, time.as_micros() % SECOND);
                        moments.entry(second).or_default().push((entry.board_time + offset).saturating_sub(late));
                        if let Some(before) = last.replace(second).filter(|&before| before >= second) {
                            let text = format!("node {} flashed for second {second} after {before}", node.node);
                            find(entry.at, "clock-runs-on", text);
                        }
                    }
                    Some(ClockReport::Corrected { by }) => {
                        let (times, most) = clock.corrections.entry(node.node).or_default();
                        (*times, *most) = (*times + 1, by.unsigned_abs().max(*most));
                    }
                    Some(ClockReport::Set) | None => {} // no flash
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

/// Splits a log at the boots of its node.
fn boots(log: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    log.chunk_by(|_, next| !matches!(next.report(), Some(Line::Starting { .. })))
}

impl fmt::Display for Clock {
    /// The seconds, the corrections, and the largest difference.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the seconds of the shared clock, and how far apart the boards flashed:")?;
        for (second, Flash { boards, apart }) in &self.seconds {
            let who = if *boards == 1 { "1 board" } else { &format!("{boards} boards") };
            writeln!(f, "{second:>8} s  {who}, {:>8.3} ms", *apart as f64 / 1e3)?;
        }
        writeln!(f, "(to within the delay of the fastest lines of their logs)\n")?;
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
    use crate::swarm::report::tests::{found, log, starting};
    use protocol::Instant;

    fn flash(micros: u64) -> String {
        ClockReport::Second { time: Instant::from_micros(micros) }.to_string()
    }

    /// Checks boards with these logs, each line with the board's time and the time it was received.
    fn checked(logs: &[&[(Micros, Micros, String)]]) -> (Clock, Vec<&'static str>) {
        let nodes: Vec<NodeReport> = (0..).zip(logs).map(|(node, lines)| log(node, lines.to_vec())).collect();
        found(|findings| check(&nodes, 99, findings))
    }

    #[test]
    fn the_difference_is_measured_by_the_boards_clocks_despite_slow_lines() {
        // The second board booted 500,000 later; its flash was 20 late and 3,000 after the first board's, its line
        // slow.
        let (clock, found) = checked(&[
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
        assert_eq!(checked(&[first, &[]]).1, ["every-board-flashes", "boards-flash-together"]);
        let late = &[(0, 0, starting()), (1_300_000, 1_300_000, flash(7_000_000))][..];
        assert_eq!(checked(&[first, late]).1, ["boards-flash-together"]);
        let again = &[(0, 0, starting()), (5, 5, flash(8_000_000)), (9, 9, flash(8_000_000))][..];
        assert_eq!(checked(&[again]).1, ["clock-runs-on"]);
    }

    #[test]
    fn corrections_are_counted() {
        let by = |by| (1, 1, ClockReport::Corrected { by }.to_string());
        let (clock, _) = checked(&[&[by(-70), by(30)]]);
        assert_eq!(clock.corrections, BTreeMap::from([(0, (2, 70))]));
    }
}
