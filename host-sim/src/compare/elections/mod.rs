//! The elections side by side.
//!
//! One node is asked to start an election, after a time in which no node starts one by itself. All capacities are
//! equal, so ids decide: the highest is the best.
//!
//! | case | what |
//! | --- | --- |
//! | best | the best node that is up starts |
//! | worst | the worst node starts: on a ring it comes right after the best |
//! | average | any node starts: the mean over all of them |
//! | loss | the worst node starts, and from then on 10 % of all frames are lost |
//! | leader-crash | the worst node starts, and the node that would win crashes in the middle |
//!
//! With more than sixteen nodes, the average is over four starters, evenly spread. Loss is the mean over several seeds.
//! The crash comes at moments spread evenly over the duration of the election without faults, and its row is the mean
//! over these. With loss or a crash, the formula is that of the same start without faults.
//!
//! The average of Chang and Roberts is the one their paper is known for: all nodes start at once, on rings in random
//! order, and only the candidates passed on are counted, without the n messages that announce the result. Bytes and
//! time include all messages.
//!
//! In a bully election the best node of all has led and has just crashed, and counts as one of the nodes; it is asked
//! like the others. In the other elections all nodes are up.

mod trial;

use trial::{Start, Trial, TrialResult};

use super::{Column, Comparison, Figure, Figures, HOP, MessageCount, NODES, Row, or_dash};
use crate::base::Micros;
use crate::base::rng::Probability;
use crate::scenario::needs_group;
use crate::sim::capacity::CapacityRule;
use protocol::registry::AnyElection;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// Up to so many nodes every case has many trials; with more, a run takes long and varies little.
const FEW: u32 = 16;

cases! {
    Best = "best" in 0,
    Average = "average" in 0,
    Worst = "worst" in 0,
    Loss = "loss" in 1,
    LeaderCrash = "leader-crash" in 2,
}

pub(crate) type ElectionRow = Row<Case, ElectionFigures>;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ElectionFigures {
    /// The bytes of its frames, retransmissions included.
    pub(crate) bytes: Figure,
    /// The time from the start until all nodes follow the leader; a message time is 1,000 us.
    pub(crate) time_us: Option<Micros>,
    /// Whether every run ended with the best node that was up leading, known to all.
    pub(crate) elected_best: bool,
    /// The number of runs that the row is the mean of.
    pub(crate) runs: usize,
    /// Its frames, retransmissions included.
    pub(crate) frames: Figure,
    pub(crate) heartbeats: Figure,
    pub(crate) hellos: Figure,
}

impl Figures for ElectionFigures {
    const COLUMNS: &'static [Column] =
        &[Column::numbers("bytes"), Column::numbers("time"), Column::words("best leads")];

    fn cells(&self) -> Vec<String> {
        let time = self.time_us.map(|time| format!("{:.1} ms", time as f64 / HOP as f64));
        let best = if self.elected_best { "yes" } else { "NO" };
        vec![format!("{:.0}", self.bytes.get()), or_dash(time), best.to_owned()]
    }

    fn holds(&self) -> bool {
        self.elected_best
    }
}

/// Returns the elections of one leader in the order of the table: those of a group, then those that need none.
pub(crate) fn algorithms() -> Vec<&'static str> {
    let mut names: Vec<&str> = AnyElection::of_one_leader().collect();
    names.sort_by_key(|name| !needs_group(name));
    names
}

/// Returns how many elections [`compare`] runs with groups of these sizes.
pub(crate) fn runs(sizes: &[u32]) -> usize {
    let of = |algorithm, nodes| Case::ALL.into_iter().map(move |case| trials(algorithm, nodes, case, 0).len());
    sizes.iter().flat_map(|&nodes| algorithms().into_iter().flat_map(move |algorithm| of(algorithm, nodes))).sum()
}

/// Compares all elections with groups of these sizes; calls `tick` after each run.
pub(crate) fn compare(sizes: &[u32], tick: impl Fn() + Sync) -> Comparison<Case, ElectionFigures> {
    Comparison::of(sizes, &NODES, &algorithms(), |algorithm, nodes| rows(algorithm, nodes, &tick))
}

fn rows(algorithm: &'static str, nodes: u32, tick: &(impl Fn() + Sync)) -> Vec<ElectionRow> {
    let mut undisturbed = 0;
    let mut rows = Vec::new();
    for case in Case::ALL {
        let trials = trials(algorithm, nodes, case, undisturbed);
        if trials.is_empty() {
            continue;
        }
        let results: Vec<TrialResult> = trials.par_iter().map(Trial::run).inspect(|_| tick()).collect();
        let row = row(case, &trials, &results);
        if case == Case::Worst {
            undisturbed = row.figures.time_us.unwrap_or(0);
        }
        rows.push(row);
    }
    rows
}

/// Returns the trials of one row; none if the case is impossible. `undisturbed` is the duration of the worst start
/// without faults.
fn trials(algorithm: &'static str, nodes: u32, case: Case, undisturbed: Micros) -> Vec<Trial> {
    let leader_crashed = algorithm == "bully";
    let up = nodes - u32::from(leader_crashed);
    let plain = Trial {
        algorithm,
        nodes,
        leader_crashed,
        start: Start::One(0),
        capacity: CapacityRule::Equal(5_000),
        loss: Probability::NEVER,
        crash: None,
        seed: 0,
    };
    let few = nodes <= FEW;
    match case {
        Case::Best => vec![Trial { start: Start::One(up - 1), ..plain }],
        Case::Worst => vec![plain],
        Case::Average if algorithm == "chang-roberts" => {
            let rings = if few { 1_000 } else { 60 };
            let ring = Trial { start: Start::All, capacity: CapacityRule::Random, ..plain };
            (0..rings).map(|seed| Trial { seed, ..ring.clone() }).collect()
        }
        Case::Average => {
            // Each starter represents equally many nodes, from their middle.
            let count = if few { up } else { 4 };
            let starters = (0..count).map(|index| up * (2 * index + 1) / (2 * count));
            starters.map(|node| Trial { start: Start::One(node), ..plain.clone() }).collect()
        }
        Case::Loss => {
            let lossy = Trial { loss: Probability::new(0.1), ..plain };
            (0..if few { 20 } else { 2 }).map(|seed| Trial { seed, ..lossy.clone() }).collect()
        }
        Case::LeaderCrash if up < 2 => Vec::new(), // no node would be left
        Case::LeaderCrash => {
            let moments = if few { 9 } else { 2 };
            let at = |moment| Some(undisturbed * moment / (moments + 1));
            (1..=moments).map(|moment| Trial { crash: at(moment), seed: moment, ..plain.clone() }).collect()
        }
    }
}

fn row(case: Case, trials: &[Trial], results: &[TrialResult]) -> ElectionRow {
    let first = &trials[0];
    let mean = |of: fn(&MessageCount) -> u64| Figure::mean(results.iter().map(|result| of(&result.sent) as f64));
    let formulas: Option<Vec<f64>> =
        trials.iter().map(|trial| formula(trial.algorithm, trial.nodes, trial.start)).collect();
    let names = results.iter().flat_map(|result| result.sent.by_name.keys().copied());
    let of_name = |name| results.iter().map(move |result| result.sent.by_name.get(name).copied().unwrap_or(0) as f64);
    let by_name: BTreeMap<_, _> = names.map(|name| (name, Figure::mean(of_name(name)))).collect();
    let times: Option<Vec<Micros>> = results.iter().map(|result| result.time).collect();
    let figures = ElectionFigures {
        bytes: mean(|sent| sent.bytes),
        elected_best: times.is_some(),
        time_us: times.map(|times| times.iter().sum::<Micros>() / times.len().max(1) as Micros),
        runs: results.len(),
        frames: mean(|sent| sent.frames),
        heartbeats: mean(|sent| sent.heartbeats),
        hellos: mean(|sent| sent.hellos),
    };
    Row {
        algorithm: first.algorithm,
        nodes: first.nodes,
        case,
        messages: match first.start {
            Start::One(_) => mean(|sent| sent.messages),
            Start::All => by_name.get("election").copied().unwrap_or_default(),
        },
        formula: formulas.map(|numbers| Figure::mean(numbers.into_iter())),
        by_name,
        retransmits: mean(|sent| sent.retransmits),
        acks: mean(|sent| sent.acks),
        figures,
    }
}

/// Returns the messages of one election without faults; `None` if no formula is known.
///
/// For bully, `nodes` includes the coordinator that crashed. It is asked like the others, so the best start costs n -
/// 1; an election that skips members known to be down would cost one less.
fn formula(algorithm: &str, nodes: u32, start: Start) -> Option<f64> {
    let n = f64::from(nodes);
    // Capacities are equal, so ids decide: how many members outrank the starter, or how many hops it is to the best.
    let better = match start {
        Start::One(starter) => Some(n - 1.0 - f64::from(starter)),
        Start::All => None,
    };
    Some(match (algorithm, better) {
        // The starter and each of the `better` members ask those above them; all but the crashed one answer.
        ("bully", Some(better)) => better * better + n - 2.0,
        ("ring", Some(_)) => 2.0 * n,
        ("chang-roberts", Some(better)) => better + 2.0 * n,
        // The candidates passed on; announcing the result takes n more.
        ("chang-roberts", None) => n * (1..=nodes).map(|k| 1.0 / f64::from(k)).sum::<f64>(),
        ("lelann", _) => n * n,
        // All are alone. Who starts asks, and the best where that is another; then it invites, and makes the group ready.
        ("invitation", Some(better)) => (if better > 0.0 { 8.0 } else { 6.0 }) * (n - 1.0),
        ("wireless" | "wireless-flat", Some(_)) => 3.0 * n - 1.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
