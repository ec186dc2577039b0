//! Times by the boards' own clocks, which do not depend on how fast their logs are read.

use super::board_log::Entry;
use crate::base::Micros;
use firmware::report::Report;

/// The leader, as a node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belief {
    Leaderless,
    Leader(u32),
}

/// Returns the belief that a line reports, if any.
fn belief(entry: &Entry, me: u32) -> Option<Belief> {
    match entry.report()? {
        Report::Leading { .. } => Some(Belief::Leader(me)),
        Report::Following { leader, .. } => Some(Belief::Leader(leader.0)),
        Report::Leaderless | Report::Starting { .. } | Report::Stopped(_) => Some(Belief::Leaderless),
        Report::Stored(_) | Report::Status(_) | Report::Losing | Report::Degraded | Report::SameId => None,
    }
}

fn starts(entry: &Entry) -> bool {
    matches!(entry.report(), Some(Report::Starting { .. }))
}

/// Returns when a node adopted the leader it has at `until`, by its own clock since its boot; `None` if it has none.
pub(super) fn agreed_at(me: u32, log: &[Entry], until: Micros) -> Option<Micros> {
    let mut held = (Belief::Leaderless, 0);
    for entry in log.iter().take_while(|entry| entry.at < until) {
        if let Some(belief) = belief(entry, me)
            && belief != held.0
        {
            held = (belief, entry.board_time);
        }
    }
    (held.0 != Belief::Leaderless).then_some(held.1)
}

/// Returns whether a node follows `leader` at `at`.
pub(super) fn is_led_by(me: u32, log: &[Entry], leader: u32, at: Micros) -> bool {
    let beliefs = log.iter().take_while(|entry| entry.at < at).filter_map(|entry| belief(entry, me));
    beliefs.last() == Some(Belief::Leader(leader))
}

/// Returns how long after the crash of `crashed` a node followed another leader, by its own clock. Lines after `until`
/// are ignored.
pub(super) fn recovered_after(me: u32, log: &[Entry], crashed: u32, crash: Micros, until: Micros) -> Option<Micros> {
    let before = log.iter().position(|entry| entry.at >= crash).unwrap_or(log.len());
    let boot = log[..before].iter().rposition(starts)?;
    // Lines are received with a delay: the fastest one gives the best offset of the board's clock.
    let offset = log[boot..]
        .iter()
        .take_while(|entry| entry.at < until)
        .map(|entry| entry.at.saturating_sub(entry.board_time))
        .min()?;
    let crash = crash.saturating_sub(offset);
    let mut after = log[boot..].iter().filter(|entry| entry.board_time >= crash && entry.at < until);
    let found = after.find(|entry| matches!(belief(entry, me), Some(Belief::Leader(leader)) if leader != crashed))?;
    Some(found.board_time - crash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(lines: &[(Micros, Micros, &str)]) -> Vec<Entry> {
        lines.iter().map(|&(at, board_time, text)| Entry { at, board_time, text: text.to_owned() }).collect()
    }

    #[test]
    fn a_node_agrees_when_it_last_changed_its_leader() {
        let log = entries(&[
            (100, 5, "starting: node 1, capacity 5, records new"),
            (900, 800, "leading: term 1 by node 1"),
            (1_200, 1_100, "following: node 3, term 1 by node 3"),
            (1_500, 1_400, "following: node 3, term 2 by node 3"),
            (9_000, 8_900, "leaderless: no leader is known"),
        ]);
        assert_eq!(agreed_at(1, &log, 5_000), Some(1_100));
        assert_eq!(agreed_at(1, &log, 900), None);
        assert_eq!(agreed_at(1, &log, 10_000), None);
    }

    #[test]
    fn recovery_is_measured_from_the_crash_by_the_boards_clock() {
        let log = entries(&[
            (100, 50, "starting: node 1, capacity 5, records new"),
            (1_070, 1_000, "following: node 3, term 1 by node 3"),
            (5_090, 5_000, "leaderless: no leader is known"),
            (5_600, 5_500, "following: node 2, term 2 by node 2"),
        ]);
        // The fastest line took 50: at 2,050 the board's clock shows 2,000.
        assert_eq!(recovered_after(1, &log, 3, 2_050, 9_000), Some(3_500));
        assert_eq!(recovered_after(1, &log, 3, 2_050, 5_550), None);
    }
}
