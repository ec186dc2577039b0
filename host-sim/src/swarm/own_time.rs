//! How long things took by the boards' own clocks, which know nothing of how slowly their logs are read.

use super::slot::Entry;
use crate::queue::Micros;
use firmware::report::Report;

/// Who leads, as a node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belief {
    Nobody,
    Leader(u32),
}

/// What a line says about who leads, if anything.
fn belief(entry: &Entry, me: u32) -> Option<Belief> {
    match entry.report()? {
        Report::Leading { .. } => Some(Belief::Leader(me)),
        Report::Following { leader, .. } => Some(Belief::Leader(leader.0)),
        Report::Leaderless | Report::Starting { .. } | Report::Stopped(_) => Some(Belief::Nobody),
        Report::Stored(_) | Report::Status(_) | Report::Losing | Report::Degraded => None,
    }
}

fn starts(entry: &Entry) -> bool {
    matches!(entry.report(), Some(Report::Starting { .. }))
}

/// When a node came to the belief it holds at `until`, by its own clock since it started; `None` if it knows no leader.
pub(super) fn agreed_at(me: u32, diary: &[Entry], until: Micros) -> Option<Micros> {
    let mut held = (Belief::Nobody, 0);
    for entry in diary.iter().take_while(|entry| entry.at < until) {
        if let Some(belief) = belief(entry, me)
            && belief != held.0
        {
            held = (belief, entry.own);
        }
    }
    (held.0 != Belief::Nobody).then_some(held.1)
}

/// Whether a node takes `leader` for the leader at `at`.
pub(super) fn is_led_by(me: u32, diary: &[Entry], leader: u32, at: Micros) -> bool {
    let beliefs = diary.iter().take_while(|entry| entry.at < at).filter_map(|entry| belief(entry, me));
    beliefs.last() == Some(Belief::Leader(leader))
}

/// How long after `death` of the node `dead` another knew of another leader, by its own clock. Lines after `until` are
/// about something else.
pub(super) fn recovered_after(me: u32, diary: &[Entry], dead: u32, death: Micros, until: Micros) -> Option<Micros> {
    let before = diary.iter().position(|entry| entry.at >= death).unwrap_or(diary.len());
    let life = diary[..before].iter().rposition(starts)?;
    // Lines take their time to reach us: the fastest one shows best what the board's clock showed when it said it.
    let offset = diary[life..]
        .iter()
        .take_while(|entry| entry.at < until)
        .map(|entry| entry.at.saturating_sub(entry.own))
        .min()?;
    let death = death.saturating_sub(offset);
    let mut after = diary[life..].iter().filter(|entry| entry.own >= death && entry.at < until);
    let found = after.find(|entry| matches!(belief(entry, me), Some(Belief::Leader(leader)) if leader != dead))?;
    Some(found.own - death)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diary(lines: &[(Micros, Micros, &str)]) -> Vec<Entry> {
        lines.iter().map(|&(at, own, text)| Entry { at, own, text: text.to_owned() }).collect()
    }

    #[test]
    fn a_node_agrees_when_it_last_changed_its_mind() {
        let diary = diary(&[
            (100, 5, "starting: node 1, capacity 5, records new"),
            (900, 800, "leading: term 1 by node 1"),
            (1_200, 1_100, "following: node 3, term 1 by node 3"),
            (1_500, 1_400, "following: node 3, term 2 by node 3"),
            (9_000, 8_900, "leaderless: no leader is known"),
        ]);
        assert_eq!(agreed_at(1, &diary, 5_000), Some(1_100));
        assert_eq!(agreed_at(1, &diary, 900), None);
        assert_eq!(agreed_at(1, &diary, 10_000), None);
    }

    #[test]
    fn recovery_is_counted_from_what_the_clock_showed_at_the_death() {
        let diary = diary(&[
            (100, 50, "starting: node 1, capacity 5, records new"),
            (1_070, 1_000, "following: node 3, term 1 by node 3"),
            (5_090, 5_000, "leaderless: no leader is known"),
            (5_600, 5_500, "following: node 2, term 2 by node 2"),
        ]);
        // The fastest line took 50: at 2,050 the board's clock showed 2,000.
        assert_eq!(recovered_after(1, &diary, 3, 2_050, 9_000), Some(3_500));
        assert_eq!(recovered_after(1, &diary, 3, 2_050, 5_550), None);
    }
}
