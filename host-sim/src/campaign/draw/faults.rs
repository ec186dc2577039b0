//! The faults of a drawn scenario.

use super::super::draft::{Pairs, percent, time, word};
use super::{Drawer, Length, MS, S, Setting, Workload};
use crate::base::Micros;

/// The kinds of faults, and of commands to the election, that a run draws its subset from.
pub(in crate::campaign) const FAULTS: [&str; 17] = [
    "crash",
    "reboot",
    "reboot-blank",
    "pause",
    "partition",
    "loss",
    "burst",
    "duplicate",
    "reorder",
    "delay",
    "corrupt",
    "attack",
    "one-way",
    "move",
    "capacity",
    "yield",
    "call",
];

/// The changes of the list of members, which come together where the list changes.
pub(in crate::campaign) const CHANGES: [&str; 2] = ["add-member", "remove-member"];

impl Drawer<'_> {
    /// Draws the subset of fault kinds, and the faults; some are aimed at what another one has just begun.
    pub(super) fn faults(&mut self, setting: &Setting) {
        let mut kinds: Vec<&'static str> = FAULTS.to_vec();
        self.rng.shuffle(&mut kinds);
        kinds.truncate(self.rng.between(1, 6) as usize);
        kinds.retain(|&kind| setting.movable || kind != "move");
        if kinds.contains(&"yield") {
            // A defect: a leader that lost its lease, regained it and yields where nobody else can lead never stands again.
            kinds.retain(|kind| !matches!(*kind, "crash" | "capacity"));
            self.draft.table("capacity").retain(|(key, _)| *key != "ineligible");
        }
        if setting.listed {
            kinds.extend(CHANGES);
        }
        let count = match self.length {
            Length::Minutes => self.log_time(1, 40),
            Length::Hours => self.log_time(10, 400),
        };
        let (mut gone, mut blanks) = (0, 0);
        let mut at = 0;
        for _ in 0..count {
            let Some(kind) = (!kinds.is_empty()).then(|| self.pick(&kinds)) else { break };
            // Either any moment, or one while the network still deals with the fault before.
            at = match self.rng.below(3) {
                0 if at > 0 => at + self.log_time(MS, 3 * S),
                _ => self.rng.between(1, setting.stress - 2 * S),
            };
            at = at.min(setting.stress - S);
            // As many as a majority can spare; without one, all but one.
            let spare = if setting.quorum { (setting.nodes - 1) / 2 } else { setting.nodes - 1 };
            if kind == "crash" && gone >= spare {
                continue;
            }
            // A list has three members at least, and one that lost its log is as good as gone before it is added again.
            if setting.listed && matches!(kind, "crash" | "reboot-blank") && gone + blanks >= 1 {
                continue;
            }
            // A peer remembers two boots without records: an older recording may be taken for a new one.
            if kind == "reboot-blank" && blanks >= 2 && kinds.contains(&"attack") {
                continue;
            }
            gone += u32::from(kind == "crash");
            blanks += u32::from(kind == "reboot-blank");
            let fault = self.fault(kind, at, setting);
            self.draft.faults.push(fault);
        }
        if self.chance(60) {
            self.aimed(setting, !kinds.contains(&"attack") && !setting.listed);
        }
        let end = |action: &str| vec![("at", time(setting.stress)), ("do", word(action))];
        self.draft.faults.push(end("heal"));
        // A job whose member stays away is never announced as terminated.
        if setting.workload == Workload::App || self.chance(50) {
            let mut restart = end("restart");
            restart.push(("node", word("all")));
            self.draft.faults.push(restart);
        }
    }

    /// Strikes the leader or the holder of a lock at a bad moment, some times: asleep for about as long as leases last, gone
    /// for less than anybody notices, or both amid an election.
    fn aimed(&mut self, setting: &Setting, blank: bool) {
        let locks = setting.workload == Workload::Locks;
        for _ in 0..self.rng.between(1, 4) {
            let at = self.rng.between(5 * S, setting.stress - 4 * S);
            let pause = self.chance(50);
            let lasts = if pause { self.log_time(300 * MS, 8 * S) } else { self.log_time(5 * MS, S) };
            let target = if locks && self.chance(70) { "holder" } else { "leader" };
            if self.chance(30) {
                let before = self.log_time(MS, 500 * MS);
                self.draft.faults.push(vec![("at", time(at - before)), ("do", word("call")), ("node", word("random"))]);
            }
            let action = if pause { "pause" } else { "crash" };
            let lasts = time(lasts.min(setting.stress - at));
            let mut fault = vec![("at", time(at)), ("do", word(action)), ("node", word(target)), ("for", lasts)];
            if !pause && blank && self.chance(30) {
                fault.push(("records", word("lost")));
            }
            self.draft.faults.push(fault);
        }
    }

    fn fault(&mut self, kind: &'static str, at: Micros, setting: &Setting) -> Pairs {
        let action = if kind.starts_with("reboot") { "crash" } else { kind };
        let mut fault = vec![("at", time(at)), ("do", word(action))];
        let left = setting.stress - at;
        // What hurts every frame ends before the network would have to be settled.
        let harsh = left.min(setting.settle - 2 * S);
        let target = match setting.workload {
            Workload::Locks => self.pick(&["random", "leader", "holder"]),
            Workload::Election | Workload::App => self.pick(&["random", "leader"]),
        };
        let probability = self.pick(&[5, 20, 50, 90]);
        let mut add = |key, value: String| fault.push((key, value));
        match kind {
            "crash" | "yield" | "call" => add("node", word(target)),
            "add-member" | "remove-member" => add("node", word("random")),
            "reboot" | "reboot-blank" | "pause" => {
                add("node", word(target));
                add("for", time(self.log_time(5 * MS, left)));
                if kind == "reboot-blank" {
                    add("records", word("lost"));
                }
            }
            "partition" => {
                add("cut", word(self.pick(&["random", "left-right", "top-bottom"])));
                add("for", time(self.log_time(5 * MS, left)));
            }
            "loss" | "duplicate" | "corrupt" => {
                add("probability", percent(probability));
                add("for", time(self.log_time(5 * MS, harsh)));
            }
            "burst" => {
                add("good", time(self.log_time(100 * MS, 5 * S)));
                add("bad", time(self.log_time(10 * MS, S)));
                add("for", time(self.log_time(100 * MS, harsh)));
            }
            "reorder" => {
                add("probability", percent(probability));
                add("delay", time(self.pick(&[1, 30, 200]) * MS));
                add("for", time(self.log_time(5 * MS, harsh)));
            }
            "delay" => {
                add("delay", format!("[\"0ms\", \"{}ms\"]", self.pick(&[5, 30, 100])));
                add("for", time(self.log_time(5 * MS, harsh)));
            }
            "attack" => {
                add("replay", percent(self.pick(&[10, 100])));
                add("forge", percent(self.pick(&[0, 50])));
                add("for", time(self.log_time(S, harsh)));
            }
            "one-way" => {
                let from = self.rng.below(setting.nodes.into());
                let to = (from + self.rng.between(1, u64::from(setting.nodes) - 1)) % u64::from(setting.nodes);
                add("from", format!("[{from}]"));
                add("to", format!("[{to}]"));
                add("for", time(self.log_time(5 * MS, harsh)));
            }
            "move" => {
                add("node", word("random"));
                let [x, y] = [self.rng.below(60), self.rng.below(30)];
                add("position", format!("[{x}, {y}]"));
            }
            // The names were listed: this is "capacity".
            _ => {
                let unfit = self.chance(15);
                add("node", word(target));
                add("capacity", if unfit { word("unfit") } else { self.rng.below(10_001).to_string() });
            }
        }
        fault
    }
}
