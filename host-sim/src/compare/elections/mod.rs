//! The elections side by side.
//!
//! Every election is called by one node that is asked to, after a time in which nobody calls one by itself. All nodes
//! are worth the same, so names decide: the highest is the best.
//!
//! | case | what |
//! | --- | --- |
//! | best | the best node that is up calls |
//! | worst | the worst node calls: on a ring it comes right after the best |
//! | average | any node calls: the mean over all of them |
//! | loss | the worst node calls, and from then on 10 % of all frames are lost |
//! | leader-crash | the worst node calls, and the one that is to win crashes in the middle |
//!
//! Of more than sixteen nodes four call in turn for the average, evenly spread. Loss is the mean over several seeds.
//! The crash comes at moments spread evenly over the time that the election takes undisturbed, and its row is the mean
//! over these. With loss or a crash, the formula is that of the same start undisturbed.
//!
//! The average of Chang and Roberts is the one their paper is known for: everybody starts at once, on rings in random
//! order, and only the numbers passed on are counted, without the n messages that tell the result. Bytes and time are
//! of all of it.
//!
//! In a bully election the best of all has led and has just crashed, and counts as one of the nodes; it is asked like
//! the others. In the other elections all nodes are up.

mod formula;
mod trial;

pub use formula::messages as formula;
pub use trial::{Start, Trial, Verdict};

use super::{Column, Comparison, Figure, HOP, Mail, NODES, Row};
use crate::peer::{ELECTIONS, needs_group};
use crate::queue::Micros;
use crate::random::Chance;
use crate::scenario::CapacityRule;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// Up to so many nodes everything is tried often; beyond, a run takes long and varies little.
const FEW: u32 = 16;

/// How an election begins, and what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// Called by the best.
    Best,
    /// Called by any.
    Average,
    /// Called by the worst.
    Worst,
    /// Frames are lost.
    Loss,
    /// Whoever is to win crashes.
    LeaderCrash,
}

impl Case {
    /// Every case there is.
    pub const ALL: [Self; 5] = [Self::Best, Self::Average, Self::Worst, Self::Loss, Self::LeaderCrash];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Average => "average",
            Self::Worst => "worst",
            Self::Loss => "loss",
            Self::LeaderCrash => "leader-crash",
        }
    }

    /// Which part of the table it is in: what is undisturbed comes first.
    const fn part(self) -> u8 {
        match self {
            Self::Best | Self::Average | Self::Worst => 0,
            Self::Loss => 1,
            Self::LeaderCrash => 2,
        }
    }
}

/// One election in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElectionRow {
    /// The election.
    pub algorithm: &'static str,
    /// How many nodes took part; for bully, with the coordinator that had crashed.
    pub nodes: u32,
    /// The case.
    pub case: Case,
    /// Messages, one for each addressee; a broadcast of a wireless election is one.
    pub messages: Figure,
    /// What they should be.
    pub formula: Option<Figure>,
    /// The bytes of the frames they took, with those sent again.
    pub bytes: Figure,
    /// From the call until all knew the leader: one message time is a thousand.
    pub time_us: Option<Micros>,
    /// Whether every run ended with the best node that was up leading, known to all.
    pub elected_best: bool,
    /// How many runs these are the means of.
    pub runs: usize,
    /// The messages by their words.
    pub said: BTreeMap<&'static str, Figure>,
    /// The frames they took, with those sent again.
    pub frames: Figure,
    /// Frames sent again.
    pub resends: Figure,
    /// Frames that acknowledge letters.
    pub receipts: Figure,
    /// Frames by which nodes and leaders say that they are there.
    pub beats: Figure,
    /// Frames by which nodes get to know each other.
    pub hellos: Figure,
}

impl Row for ElectionRow {
    const COLUMNS: &'static [Column] = &[
        Column::words("algorithm"),
        Column::numbers("nodes"),
        Column::words("case"),
        Column::numbers("messages"),
        Column::numbers("formula"),
        Column::numbers("bytes"),
        Column::numbers("time"),
        Column::numbers("resends"),
        Column::numbers("receipts"),
        Column::words("best leads"),
    ];

    fn cells(&self) -> Vec<String> {
        let none = || "-".to_owned();
        vec![
            self.algorithm.to_owned(),
            self.nodes.to_string(),
            self.case.name().to_owned(),
            self.messages.to_string(),
            self.formula.map_or_else(none, |formula| formula.to_string()),
            format!("{:.0}", self.bytes.get()),
            self.time_us.map_or_else(none, |time| format!("{:.1} ms", time as f64 / HOP as f64)),
            self.resends.to_string(),
            self.receipts.to_string(),
            if self.elected_best { "yes" } else { "NO" }.to_owned(),
        ]
    }

    fn is_beside(&self, before: &Self) -> bool {
        (self.case.part(), self.nodes) == (before.case.part(), before.nodes)
    }

    fn holds(&self) -> bool {
        self.elected_best
    }
}

/// The elections in the order they are shown in: those of a group, then those that need none.
#[must_use]
pub fn algorithms() -> Vec<&'static str> {
    let mut names = ELECTIONS.to_vec();
    names.sort_by_key(|name| !needs_group(name));
    names
}

/// How many elections [`compare`] holds with groups of these sizes.
#[must_use]
pub fn runs(sizes: &[u32]) -> usize {
    let of = |algorithm, nodes| Case::ALL.into_iter().map(move |case| trials(algorithm, nodes, case, 0).len());
    sizes.iter().flat_map(|&nodes| algorithms().into_iter().flat_map(move |algorithm| of(algorithm, nodes))).sum()
}

/// Compares all elections with groups of these sizes; `tick` is called once for each election held.
///
/// # Panics
/// Where a size is not in [`super::NODES`].
pub fn compare(sizes: &[u32], tick: impl Fn() + Sync) -> Comparison<ElectionRow> {
    assert!(sizes.iter().all(|nodes| NODES.contains(nodes)), "no groups of these sizes: {sizes:?}");
    let pairs: Vec<(u32, &'static str)> =
        sizes.iter().flat_map(|&nodes| algorithms().into_iter().map(move |algorithm| (nodes, algorithm))).collect();
    let rows = pairs.par_iter().flat_map_iter(|&(nodes, algorithm)| rows(algorithm, nodes, &tick));
    let mut rows: Vec<ElectionRow> = rows.collect();
    rows.sort_by_key(|row| row.case.part()); // stable: within a part they stay in order
    Comparison { rows }
}

/// All rows of one election.
fn rows(algorithm: &'static str, nodes: u32, tick: &(impl Fn() + Sync)) -> Vec<ElectionRow> {
    let mut undisturbed = 0;
    let mut rows = Vec::new();
    for case in Case::ALL {
        let trials = trials(algorithm, nodes, case, undisturbed);
        if trials.is_empty() {
            continue;
        }
        let hold = |trial: &Trial| {
            let verdict = trial.hold();
            tick();
            verdict
        };
        let verdicts: Vec<Verdict> = trials.par_iter().map(hold).collect();
        let row = row(case, &trials, &verdicts);
        if case == Case::Worst {
            undisturbed = row.time_us.unwrap_or(0);
        }
        rows.push(row);
    }
    rows
}

/// The elections one row is the mean of; none where the case makes no sense. `undisturbed` is how long the worst start
/// takes if nothing goes wrong.
fn trials(algorithm: &'static str, nodes: u32, case: Case, undisturbed: Micros) -> Vec<Trial> {
    let bereaved = algorithm == "bully";
    let up = nodes - u32::from(bereaved);
    let worth = CapacityRule::Equal(5_000);
    let plain =
        Trial { algorithm, nodes, bereaved, start: Start::One(0), worth, loss: Chance::NEVER, crash: None, seed: 0 };
    let few = nodes <= FEW;
    match case {
        Case::Best => vec![Trial { start: Start::One(up - 1), ..plain }],
        Case::Worst => vec![plain],
        Case::Average if algorithm == "chang-roberts" => {
            let rings = if few { 1_000 } else { 60 };
            let ring = Trial { start: Start::All, worth: CapacityRule::Random, ..plain };
            (0..rings).map(|seed| Trial { seed, ..ring.clone() }).collect()
        }
        Case::Average => {
            // Each stands for as many, and is in their middle.
            let count = if few { up } else { 4 };
            let starters = (0..count).map(|turn| up * (2 * turn + 1) / (2 * count));
            starters.map(|name| Trial { start: Start::One(name), ..plain.clone() }).collect()
        }
        Case::Loss => {
            let lossy = Trial { loss: Chance::new(0.1), ..plain };
            (0..if few { 20 } else { 2 }).map(|seed| Trial { seed, ..lossy.clone() }).collect()
        }
        Case::LeaderCrash if up < 2 => Vec::new(), // nobody would be left
        Case::LeaderCrash => {
            let moments = if few { 9 } else { 2 };
            let at = |moment| Some(undisturbed * moment / (moments + 1));
            (1..=moments).map(|moment| Trial { crash: at(moment), seed: moment, ..plain.clone() }).collect()
        }
    }
}

/// What came of one case.
fn row(case: Case, trials: &[Trial], verdicts: &[Verdict]) -> ElectionRow {
    let first = &trials[0];
    let mean = |of: fn(&Mail) -> u64| Figure::mean(verdicts.iter().map(|verdict| of(&verdict.mail) as f64));
    let formulas: Option<Vec<f64>> =
        trials.iter().map(|trial| formula(trial.algorithm, trial.nodes, trial.start)).collect();
    let words: Vec<&'static str> = verdicts.iter().flat_map(|verdict| verdict.mail.said.keys().copied()).collect();
    let of_word = |word| verdicts.iter().map(move |verdict| verdict.mail.said.get(word).copied().unwrap_or(0) as f64);
    let said: BTreeMap<_, _> = words.into_iter().map(|word| (word, Figure::mean(of_word(word)))).collect();
    let times: Option<Vec<Micros>> = verdicts.iter().map(|verdict| verdict.time).collect();
    ElectionRow {
        algorithm: first.algorithm,
        nodes: first.nodes,
        case,
        messages: match first.start {
            Start::One(_) => mean(|mail| mail.messages),
            Start::All => said.get("election").copied().unwrap_or_default(),
        },
        formula: formulas.map(|numbers| Figure::mean(numbers.into_iter())),
        bytes: mean(|mail| mail.bytes),
        elected_best: times.is_some(),
        time_us: times.map(|times| times.iter().sum::<Micros>() / times.len().max(1) as Micros),
        runs: verdicts.len(),
        said,
        frames: mean(|mail| mail.frames),
        resends: mean(|mail| mail.resends),
        receipts: mean(|mail| mail.receipts),
        beats: mean(|mail| mail.beats),
        hellos: mean(|mail| mail.hellos),
    }
}
