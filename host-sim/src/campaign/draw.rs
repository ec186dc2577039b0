//! Scenarios drawn at random: what is drawn is promised, so every violation is a finding.
//!
//! A run has its own subset of fault kinds, and a calm stretch at its end in which liveness is judged. Faults that hurt
//! every frame end before the network would have to be settled in spite of them. What the documents do not promise is
//! not drawn; each such restriction names its reason.

mod faults;

pub(in crate::campaign) use faults::{CHANGES, FAULTS};

use super::draft::{Draft, percent, set, time, word};
use super::places;
use crate::base::Micros;
use crate::base::rng::{Rng, Stream, derive_seed};
use crate::scenario::{DETECTIONS, needs_group};
use crate::workload::apps::AppPlan;
use protocol::registry::{AnyElection, AnyMutex};

/// The applications of a scenario.
pub(super) const APPS: [&str; 3] = [AppPlan::TOKENS, AppPlan::DIFFUSING, AppPlan::CLOCK];

/// The election with several leaders.
const CLUSTERS: &str = "clusters";

/// What the words of `--only` allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    elections: Vec<&'static str>,
    mutexes: Vec<&'static str>,
    apps: Vec<&'static str>,
}

impl Only {
    /// Reads names of elections, locks and applications; none allow everything.
    ///
    /// # Errors
    /// The word that is none of them.
    pub fn new(words: &[String]) -> Result<Self, String> {
        let mut only = Self::default();
        for given in words {
            let lists = [
                (AnyElection::NAMES, &mut only.elections),
                (AnyMutex::NAMES, &mut only.mutexes),
                (&APPS[..], &mut only.apps),
            ];
            let found = lists.into_iter().find_map(|(names, list)| {
                let name = names.iter().find(|name| *name == given)?;
                list.push(name);
                Some(())
            });
            if found.is_none() {
                let known = AnyElection::NAMES.iter().chain(AnyMutex::NAMES).chain(&APPS).copied();
                return Err(crate::base::nearest::unknown("election, lock or application", given, known));
            }
        }
        Ok(only)
    }

    /// Whether everything is allowed.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Workload {
    Election,
    Locks,
    App,
}

/// What a drawn scenario is made of. Most have one number for both; one that follows what was found to reach new states
/// has the network of an earlier scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// The number that draws the network: nodes, places, algorithms, options, workload.
    pub(super) network: u64,
    /// The number that draws its faults, and that is the seed of the run.
    pub(super) faults: u64,
}

impl Numbers {
    pub(super) const fn of(index: u64) -> Self {
        Self { network: index, faults: index }
    }
}

/// How long drawn scenarios last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Length {
    /// Minutes, with up to 16 nodes on a local network and 30 on a radio.
    #[default]
    Minutes,
    /// Hours, with outages of up to an hour and more, among few nodes.
    Hours,
}

/// Draws a scenario of the campaign `seed`.
pub(super) fn draw(seed: u64, numbers: Numbers, only: &Only, length: Length) -> Draft {
    let rng = |number| Rng::new(derive_seed(seed, Stream::Campaign, number), Stream::Campaign);
    let faults = (numbers.network != numbers.faults).then(|| rng(numbers.faults));
    // Its own random numbers: whatever else is drawn does not depend on it.
    let lists = Rng::new(derive_seed(seed, Stream::Campaign, !numbers.network), Stream::Campaign);
    let mut drawer = Drawer { rng: rng(numbers.network), faults, lists, only, length, draft: Draft::default() };
    // A lock may not work in a group of the drawn size; another draw has another size.
    loop {
        drawer.draw(&name(seed, numbers));
        if drawer.draft.scenario("draft").is_ok() {
            return drawer.draft;
        }
    }
}

/// The name of a drawn scenario.
pub(super) fn name(seed: u64, Numbers { network, faults }: Numbers) -> String {
    if network == faults { format!("campaign-{seed}-{faults}") } else { format!("campaign-{seed}-{network}-{faults}") }
}

struct Drawer<'a> {
    rng: Rng,
    /// Draws the faults, where another number does.
    faults: Option<Rng>,
    /// Draws whether the list of members changes.
    lists: Rng,
    only: &'a Only,
    length: Length,
    draft: Draft,
}

/// What the faults of a run depend on.
struct Setting {
    workload: Workload,
    nodes: u32,
    quorum: bool,
    /// Whether the list of members changes.
    listed: bool,
    /// Whether links follow from distances, so that a node can be carried away.
    movable: bool,
    /// The length of the stretch with faults, and how long the network may take to settle.
    stress: Micros,
    settle: Micros,
}

const MS: Micros = 1_000;
const S: Micros = 1_000_000;
const H: Micros = 3_600 * S;

impl Drawer<'_> {
    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.below(from.len() as u64) as usize]
    }

    /// Draws a time; each doubling from the shortest to the longest is as likely as the next.
    fn log_time(&mut self, low: Micros, high: Micros) -> Micros {
        let (low, high) = (low.max(1), high.max(low.max(1)));
        let drawn = low as f64 * (high as f64 / low as f64).powf(self.rng.next_f64());
        (drawn as Micros).clamp(low, high)
    }

    fn draw(&mut self, name: &str) {
        self.draft = Draft::default();
        self.draft.set("name", word(name));
        let workload = self.workload();
        let election = self.election(workload);
        let lan = self.chance(if workload == Workload::Election { 55 } else { 85 });
        let group = workload != Workload::Election || needs_group(&election);
        // Locks and applications promise something only where a leader needs a quorum.
        let quorum = workload != Workload::Election || self.chance(40) && !election.starts_with(CLUSTERS);
        let nodes = self.nodes(lan, group || quorum, workload);
        // Within hours, timing for tests would be simulated most of the time.
        let fast = lan && self.chance(50) && self.length == Length::Minutes;
        let (settle, stress_max) = match (lan, fast) {
            (true, true) => (20 * S, 120 * S),
            // A takeover waits for 40 s at least, and nodes that lost their records may take over one after the other.
            (true, false) | (false, _) => (90 * S, 240 * S),
        };
        let stress = match self.length {
            Length::Minutes => self.log_time(10 * S, stress_max),
            Length::Hours => self.log_time(H / 2, 6 * H),
        };
        self.draft.set("nodes", nodes.to_string());
        self.draft.set("duration", time(stress + settle + settle / 2));
        self.draft.set("settle_time", time(settle));
        self.draft.set("election", word(&election));
        if quorum {
            self.draft.set("mode", word("quorum"));
        }
        // Two in a hundred is the most that a lease allows for; a radio's crystals are better.
        let drift = if lan { self.pick(&[0, 100, 20_000]) } else { self.pick(&[0, 100]) };
        self.draft.set("drift_ppm", drift.to_string());
        // A detection begins after two seconds; how many waves it takes is promised once all members are up.
        let spread = self.pick(&[0, 1, 300, if workload == Workload::App { 0 } else { 5_000 }]);
        self.draft.set("boot_spread", time(spread * MS));
        let movable = self.place(lan, group || quorum, nodes);
        self.medium(lan);
        self.capacity(nodes);
        if fast {
            self.fast_timing();
        }
        // An application has a list that is fixed.
        let listed = quorum && workload != Workload::App && self.length == Length::Minutes && self.lists.below(2) == 0;
        let setting = Setting { workload, nodes, quorum, listed, movable, stress, settle };
        match workload {
            Workload::Election => {}
            Workload::Locks => self.locks(lan, fast),
            Workload::App => self.app(&setting),
        }
        if listed {
            let members = self.lists.between(3, nodes.into());
            self.draft.set("members", members.to_string());
        }
        // Whose number draws the faults draws no network: each has its own random numbers.
        if let Some(faults) = &mut self.faults {
            std::mem::swap(&mut self.rng, faults);
        }
        self.faults(&setting);
        if let Some(faults) = &mut self.faults {
            std::mem::swap(&mut self.rng, faults);
        }
    }

    fn workload(&mut self) -> Workload {
        let Only { mutexes, apps, .. } = self.only;
        match (mutexes.is_empty(), apps.is_empty()) {
            (true, true) => self.pick(&[Workload::Election, Workload::Election, Workload::Locks, Workload::App]),
            (false, true) => Workload::Locks,
            (true, false) => Workload::App,
            (false, false) => self.pick(&[Workload::Locks, Workload::App]),
        }
    }

    fn election(&mut self, workload: Workload) -> String {
        let allowed = &self.only.elections;
        // Several leaders can have no quorum.
        let possible: Vec<&str> = match workload {
            Workload::Election => AnyElection::NAMES.to_vec(),
            Workload::Locks | Workload::App => AnyElection::of_one_leader().collect(),
        };
        let name = self.pick(if allowed.is_empty() { &possible } else { allowed });
        let options: &[&str] = match name {
            "bully" => {
                &["recovery=elect", "recovery=announce", "transport=broadcast", "skip-suspected=yes", "alert=yes"]
            }
            "ring" => &["direction=backward", "winner=lowest"],
            CLUSTERS => &["horizon=1", "horizon=3", "chief=yes", "clients=8", "horizon=1,clients=8,chief=yes"],
            _ => return name.to_owned(), // it has none
        };
        if self.chance(40) { format!("{name}:{}", self.pick(options)) } else { name.to_owned() }
    }

    fn nodes(&mut self, lan: bool, group: bool, workload: Workload) -> u32 {
        let most = match (workload, lan, group) {
            _ if self.length == Length::Hours => self.pick(&[3, 5]),
            (Workload::Election, true, _) => self.pick(&[5, 9, 16]),
            (Workload::Election, false, false) => self.pick(&[6, 14, 30]),
            (Workload::Election, false, true) => self.pick(&[5, 9]),
            // In one radio range of many, a contended lock is slower than the checker allows.
            (Workload::Locks | Workload::App, false, _) => 5,
            (Workload::Locks | Workload::App, true, _) => 7,
        };
        self.rng.between(if group { 3 } else { 2 }, most) as u32
    }

    /// Draws the topology; returns whether links follow from distances.
    fn place(&mut self, lan: bool, group: bool, nodes: u32) -> bool {
        // A group of any election needs all members in range of each other; a local network has no other shape.
        let shapes: &[&str] = match (lan, group) {
            (true, _) | (false, true) => &["complete"],
            (false, false) => places::SHAPES,
        };
        let shape = self.pick(shapes);
        let rng = &mut self.rng;
        let topology = self.draft.table("topology");
        match places::positions(shape, nodes, rng) {
            Some(positions) => {
                set(topology, "shape", word("positions"));
                set(topology, "positions", positions);
            }
            None => set(topology, "shape", word(shape)),
        }
        if shape == "grid" {
            set(topology, "columns", rng.between(1, 6).to_string());
        }
        !matches!(shape, "complete" | "ring" | "star")
    }

    fn medium(&mut self, lan: bool) {
        let loss = self.pick(&[0, 0, 1, 5, 10]);
        let slowest = self.pick(&[1, 2, 5]);
        let medium = self.draft.table("medium");
        set(medium, "kind", word(if lan { "lan" } else { "radio" }));
        set(medium, "loss", percent(loss));
        if lan {
            set(medium, "delay", format!("[\"200us\", \"{slowest}ms\"]"));
        }
    }

    fn capacity(&mut self, nodes: u32) {
        let rule = self.pick(&["random", "random", "equal", "rising", "falling"]);
        set(self.draft.table("capacity"), "rule", word(rule));
        if nodes > 2 && self.chance(10) {
            set(self.draft.table("capacity"), "ineligible", "[0]".to_owned());
        }
    }

    /// The timing of the shipped storms of locks.
    fn fast_timing(&mut self) {
        let times = [
            ("heartbeat", 400),
            ("stagger", 200),
            ("lock_lease", 1_500),
            ("quarantine", 2_000),
            ("takeover_delay", 1_000),
        ];
        let timing = self.draft.table("timing");
        for (key, millis) in times.into_iter().chain([("uptime_min", 1_000)]) {
            set(timing, key, time(millis * MS));
        }
    }

    fn locks(&mut self, lan: bool, fast: bool) {
        // On a radio only these serve requests fast enough for the checker.
        let possible: &[&str] = if lan { AnyMutex::NAMES } else { &["central", "token-ring", "raymond"] };
        let allowed = &self.only.mutexes;
        let mutex = self.pick(if allowed.is_empty() { possible } else { allowed });
        let names = ["[\"printer\"]", "[\"printer\", \"table:students\"]", "[\"a\", \"b\", \"c\", \"d\"]"];
        let names = if lan { self.pick(&names) } else { names[0] };
        let lease_max = if fast { 1_500 } else { 5_000 };
        let lease = self.rng.between(300, lease_max);
        let think = match self.length {
            Length::Minutes if lan => self.pick(&[50, 500, 1_500]),
            Length::Minutes => 2_000,
            Length::Hours => self.pick(&[20_000, 60_000]),
        };
        let hold = self.pick(&[20, 100, 600]);
        let shares = [self.pick(&[0, 10]), self.pick(&[0, 5]), self.pick(&[0, 20])];
        let write = self.pick(&[0, 800]);
        let locks = self.draft.table("locks");
        set(locks, "mutex", word(mutex));
        set(locks, "names", names.to_owned());
        set(locks, "think", format!("[\"{}ms\", \"{think}ms\"]", think.min(50)));
        set(locks, "hold", format!("[\"1ms\", \"{hold}ms\"]"));
        set(locks, "lease", format!("[\"{lease}ms\", \"{lease_max}ms\"]"));
        set(locks, "write", format!("[\"0ms\", \"{write}ms\"]"));
        for (key, share) in ["try", "cancel", "renew"].into_iter().zip(shares) {
            set(locks, key, percent(share));
        }
        // A safety property holds where nothing happens: there must be grants.
        set(self.draft.table("expect"), "grants", "1".to_owned());
    }

    fn app(&mut self, setting: &Setting) {
        let allowed = &self.only.apps;
        let kind = self.pick(if allowed.is_empty() { &APPS } else { allowed });
        let pause = self.pick(if self.length == Length::Hours { &[5_000, 20_000] } else { &[10, 50, 200] });
        let detection = self.pick(DETECTIONS);
        let app = self.draft.table("app");
        set(app, "kind", word(kind));
        if kind != AppPlan::CLOCK {
            set(app, "pause", time(pause * MS));
        }
        // In the calm stretch: a request there is no disturbance.
        let calm = setting.stress + setting.settle;
        let request =
            |at: Micros, request: &str, node: &str| vec![("at", time(at)), ("do", word(request)), ("node", word(node))];
        if kind == AppPlan::TOKENS {
            let every = self.log_time(300 * MS, 10 * S) * if self.length == Length::Hours { 100 } else { 1 };
            let mut often = request(2 * S, "snapshot", "random");
            often.push(("every", time(every)));
            self.draft.faults.extend([often, request(calm, "snapshot", "random")]);
            set(self.draft.table("expect"), "snapshots", "1".to_owned());
        }
        if kind == AppPlan::DIFFUSING {
            let units = self.rng.between(1, 80);
            set(self.draft.table("app"), "detection", word(detection));
            let mut start = request(2 * S, "start", "random");
            start.push(("units", units.to_string()));
            let early = self.rng.between(2_100, 5_000) * MS;
            let detects = [(early, "last"), (early + S, "random"), (calm, "all")];
            self.draft.faults.push(start);
            self.draft.faults.extend(detects.map(|(at, node)| request(at, "detect-termination", node)));
            if detection == "wave" {
                // The other detection knows nothing of a job whose root crashed.
                set(self.draft.table("expect"), "terminations", "1".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::draft::{get, micros};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_same_seed_and_index_draw_the_same_scenario() {
        let draw = |seed, index| draw(seed, Numbers::of(index), &Only::default(), Length::Minutes);
        assert_eq!(draw(3, 5), draw(3, 5));
        assert_ne!(draw(3, 5), draw(3, 6));
        assert_ne!(draw(3, 5), draw(4, 5));
    }

    #[test]
    fn a_network_can_be_drawn_again_with_other_faults() {
        let draw = |network, faults| draw(3, Numbers { network, faults }, &Only::default(), Length::Minutes);
        let (own, other) = (draw(5, 5), draw(5, 9));
        assert_eq!(own.tables, other.tables);
        assert_eq!(own.head[1..], other.head[1..]);
        assert_ne!(own.faults, other.faults);
        assert_eq!([own.get("name"), other.get("name")], [Some("\"campaign-3-5\""), Some("\"campaign-3-5-9\"")]);
    }

    #[test]
    fn long_scenarios_last_hours_and_have_outages_of_an_hour_and_more() {
        let drafts: Vec<Draft> =
            (0..40).map(|index| draw(1, Numbers::of(index), &Only::default(), Length::Hours)).collect();
        let times = |draft: &Draft| draft.faults.iter().filter_map(|fault| micros(get(fault, "for")?)).max();
        assert!(drafts.iter().filter_map(times).max() > Some(H));
        for draft in drafts {
            let scenario = draft.scenario("draft").unwrap().world;
            assert!(scenario.duration > H / 2 && scenario.nodes <= 5, "{}", draft.text());
        }
    }

    #[test]
    fn every_algorithm_every_shape_and_every_fault_is_drawn() {
        let texts: Vec<String> =
            (0..600).map(|index| draw(1, Numbers::of(index), &Only::default(), Length::Minutes).text()).collect();
        let drawn = |text: &str| texts.iter().any(|scenario| scenario.contains(text));
        for name in AnyElection::of_one_leader().chain([AnyMutex::NAMES, &APPS, DETECTIONS].concat()) {
            assert!(drawn(&format!("= \"{name}")), "{name}");
        }
        for fault in FAULTS.iter().chain(&CHANGES).filter(|fault| !fault.starts_with("reboot")) {
            assert!(drawn(&format!("do = \"{fault}\"")), "{fault}");
        }
        for text in [
            "records = \"lost\"",
            "\"positions\"",
            "\"geometric\"",
            "\"ring\"",
            "\"star\"",
            "mode = \"quorum\"",
            "clients=8",
            "chief=yes",
            "clusters:horizon=1",
        ] {
            assert!(drawn(text), "{text}");
        }
    }

    #[test]
    fn a_run_draws_what_it_may_and_has_its_own_subset_of_faults() {
        let only = Only::new(&["lamport".to_owned(), "ring".to_owned()]).unwrap();
        let mut subsets = BTreeSet::new();
        for index in 0..50 {
            let scenario = draw(2, Numbers::of(index), &only, Length::Minutes).scenario("draft").unwrap();
            assert!(scenario.election.starts_with("ring"));
            assert_eq!(scenario.world.locks.unwrap().mutex, "lamport");
            let draft = draw(2, Numbers::of(index), &only, Length::Minutes);
            subsets.insert(draft.faults.iter().map(|fault| fault[1].1.clone()).collect::<BTreeSet<_>>());
        }
        assert!(subsets.len() > 30, "{}", subsets.len());
        assert!(Only::new(&["lamprt".to_owned()]).unwrap_err().contains("the nearest is \"lamport\""));
    }
}
