//! Shrinking: parts of a scenario are taken away as long as the same checker reports.

use super::draft::{Draft, Pairs, get, micros, set, time, word};
use super::{Found, Run, violations};
use crate::base::Micros;

/// How many runs may be spent on one scenario.
const RUNS_MAX: u32 = 300;

/// How many seeds a smaller scenario is tried with: another number of nodes is another course of events.
const SEEDS: u64 = 3;

/// Keys whose absence would demand more than was promised, or make another scenario of it.
const KEPT: [&str; 9] = ["name", "nodes", "duration", "settle_time", "mode", "kind", "mutex", "shape", "positions"];

struct Shrinker<'a> {
    best: Draft,
    found: Found,
    /// When the violation was reported; none for a claim about the whole run.
    at: Option<Micros>,
    run: Run<'a>,
    left: u32,
}

/// Returns the smallest scenario that was found to fail as this one does.
pub(super) fn shrink(draft: &Draft, found: Found, run: Run<'_>) -> Found {
    let mut shrinker = Shrinker { best: Draft::default(), found, at: None, run, left: RUNS_MAX };
    if !shrinker.accepts(draft) {
        return shrinker.found; // it does not fail again, which its report shows: nothing was spent on it
    }
    loop {
        let before = shrinker.best.clone();
        shrinker.fewer_faults();
        shrinker.shorter();
        shrinker.fewer_nodes();
        shrinker.simpler();
        if shrinker.best == before || shrinker.left == 0 {
            break;
        }
    }
    shrinker.found.shrunk_by = RUNS_MAX - shrinker.left;
    shrinker.found
}

impl Shrinker<'_> {
    /// Runs a scenario; if the same checker reports, it is the best so far.
    fn accepts(&mut self, draft: &Draft) -> bool {
        if *draft == self.best {
            return false;
        }
        // A claim about requests is one only where they are made.
        let requests = |draft: &Draft| draft.faults.iter().filter(|fault| is_request(fault)).count();
        if self.found.checker == "expect" && requests(draft) < requests(&self.best) {
            return false;
        }
        let Ok(scenario) = draft.scenario(&self.found.file) else { return false };
        for seed in self.found.seed..self.found.seed.saturating_add(SEEDS) {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            let outcome = (self.run)(&scenario, seed, &mut ());
            let same = violations(&scenario, outcome).into_iter().find(|other| other.checker == self.found.checker);
            if let Some(violation) = same {
                self.at = Some(violation.time).filter(|&at| at > 0);
                self.found.text = violation.text;
                self.found.seed = seed;
                self.found.scenario = draft.text();
                self.best = draft.clone();
                return true;
            }
        }
        false
    }

    /// Leaves out faults, half of them first, then a quarter, down to single ones.
    fn fewer_faults(&mut self) {
        let mut size = self.best.faults.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.best.faults.len() {
                let mut draft = self.best.clone();
                draft.faults.drain(at..(at + size).min(draft.faults.len()));
                if !self.accepts(&draft) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    /// Ends the run with the violation, and begins with the first fault.
    fn shorter(&mut self) {
        let Some(at) = self.at else { return };
        let mut draft = self.best.clone();
        draft.set("duration", time(at.next_multiple_of(1_000) + 1_000));
        draft.faults.retain(|fault| begin(fault) < at);
        self.accepts(&draft);
        for part in [1, 2, 4] {
            let first = self.best.faults.iter().map(begin).min().unwrap_or(0);
            let earlier = first.saturating_sub(1_000_000) / part / 1_000 * 1_000;
            let mut draft = self.best.clone();
            let duration = draft.get("duration").and_then(micros).unwrap_or(0);
            draft.set("duration", time(duration.saturating_sub(earlier)));
            for fault in &mut draft.faults {
                let at = begin(fault).saturating_sub(earlier);
                set(fault, "at", time(at));
            }
            if earlier > 0 && self.accepts(&draft) {
                break;
            }
        }
    }

    fn fewer_nodes(&mut self) {
        let nodes = |draft: &Draft| draft.get("nodes").and_then(|nodes| nodes.parse::<u32>().ok()).unwrap_or(0);
        for fewer in [|_: u32| 2, |_: u32| 3, |nodes: u32| nodes / 2, |nodes: u32| nodes - 1, |nodes: u32| nodes - 1] {
            let mut draft = self.best.clone();
            let count = fewer(nodes(&draft));
            if count < 2 || count >= nodes(&draft) {
                continue;
            }
            draft.set("nodes", count.to_string());
            let topology = draft.table("topology");
            if let Some(positions) = get(topology, "positions").map(|positions| first_positions(positions, count)) {
                set(topology, "positions", positions);
            }
            self.accepts(&draft);
        }
    }

    /// Puts all nodes into one range, and leaves out keys of tables one by one.
    fn simpler(&mut self) {
        let mut complete = self.best.clone();
        *complete.table("topology") = vec![("shape", word("complete"))];
        self.accepts(&complete);
        let mut head = 0;
        while head < self.best.head.len() {
            let mut draft = self.best.clone();
            let (key, _) = draft.head.remove(head);
            if KEPT.contains(&key) || !self.accepts(&draft) {
                head += 1;
            }
        }
        let tables: Vec<&str> = self.best.tables.iter().map(|(name, _)| *name).collect();
        // The network settles as fast as its timing says.
        for name in tables.into_iter().filter(|&name| name != "timing") {
            let mut key = 0;
            while let Some(pairs) = self.best.tables.iter().find(|(table, _)| *table == name).map(|(_, pairs)| pairs) {
                let Some(&(dropped, _)) = pairs.get(key) else { break };
                let mut draft = self.best.clone();
                draft
                    .tables
                    .iter_mut()
                    .filter(|(table, _)| *table == name)
                    .for_each(|(_, pairs)| _ = pairs.remove(key));
                draft.tables.retain(|(table, pairs)| !pairs.is_empty() || *table == "topology");
                if KEPT.contains(&dropped) || !self.accepts(&draft) {
                    key += 1;
                }
            }
        }
    }
}

/// Returns whether a user asks something of the application.
fn is_request(fault: &Pairs) -> bool {
    matches!(get(fault, "do"), Some("\"snapshot\"" | "\"start\"" | "\"detect-termination\""))
}

fn begin(fault: &Pairs) -> Micros {
    get(fault, "at").and_then(micros).unwrap_or(0)
}

/// Returns the first positions of a list.
fn first_positions(positions: &str, count: u32) -> String {
    let kept: String = positions.trim_start_matches('[').split_inclusive("], ").take(count as usize).collect();
    format!("[{}{kept}]", if kept.starts_with('[') { "" } else { "[" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_positions_are_a_list() {
        assert_eq!(
            first_positions("[[0.00, 1.00], [2.00, 3.00], [4.00, 5.00], ]", 2),
            "[[0.00, 1.00], [2.00, 3.00], ]"
        );
    }
}
