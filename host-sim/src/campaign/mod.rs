//! Campaigns of drawn scenarios: each has one run, every checker, and a calm stretch at its end.
//!
//! A campaign's seed and a number make a scenario; the number is the seed of its run. So any part of a campaign can run
//! anywhere, and the report on all parts is the same. A scenario with a violation is shrunk and kept as a file.

mod coverage;
mod draft;
mod draw;
mod messages;
mod places;
mod shrink;
mod tally;

pub use draw::{Length, Only};

use crate::base::Micros;
use crate::metrics::run::{Outcome, run, run_of};
use crate::metrics::seeds::{self, Violation};
use crate::nodes::ScenarioNode;
use crate::scenario::Scenario;
use crate::trace::{Observer, TraceEvent};
use coverage::{Coverage, States};
use draft::Draft;
use draw::Numbers;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tally::Tally;

/// How a scenario is run with a seed.
pub(crate) type Run<'a> = &'a (dyn Fn(&Scenario, u64, &mut dyn Observer) -> Outcome + Sync);

/// From so many simulated hours on, a kind of fault or message that never occurred is a failure of the campaign.
const COVERED_AFTER: f64 = 20.0;

/// How many scenarios of a guided campaign run before what they reached counts, and how many networks it keeps.
const ROUND: usize = 32;
const FERTILE_MAX: usize = 64;

/// A campaign: everything about it but its outcomes.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Its seed.
    pub seed: u64,
    /// How many scenarios are drawn.
    pub runs: u64,
    /// What may be drawn.
    pub only: Only,
    /// How long scenarios last.
    pub length: Length,
    /// How many scenarios with a violation are shrunk; the others are kept as they were drawn.
    pub shrink: usize,
}

/// The outcome of one drawn scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// Its number.
    pub index: u64,
    /// The number of the scenario whose network it has: its own, unless the campaign was guided.
    pub network: u64,
    /// How long it was simulated.
    pub micros: Micros,
    /// Faults by kind.
    pub faults: BTreeMap<String, u64>,
    /// Frames by kind of message.
    pub frames: BTreeMap<String, u64>,
    /// Frames lost and collided, once per receiver.
    pub lost: u64,
    /// The states of nodes in which each kind of message arrived, as bits.
    pub pairs: BTreeMap<String, u32>,
    /// The violations: checker and words.
    pub violations: Vec<(String, String)>,
}

/// The report on a campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CampaignReport {
    /// The campaign's seed.
    pub seed: u64,
    /// How many scenarios were drawn.
    pub scenarios: u64,
    /// Hours simulated.
    pub hours: f64,
    /// Faults by kind: of nodes as often as they hit one, of links as often as they began.
    pub faults: BTreeMap<String, u64>,
    /// Frames sent, by kind and message.
    pub frames: BTreeMap<String, u64>,
    /// Frames lost or collided, once per receiver.
    pub frames_lost: u64,
    /// Pairs of a node's state and a message that arrived in it.
    pub pairs: u64,
    /// Kinds of faults and messages that did not occur.
    pub missing: Vec<String>,
    /// Whether a kind that did not occur is a failure: the campaign is long, and draws everything.
    pub complete: bool,
    /// The scenarios with a violation.
    pub violations: Vec<Found>,
}

impl CampaignReport {
    /// Whether nothing was found and, in a long campaign, everything occurred.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violations.is_empty() && (!self.complete || self.missing.is_empty())
    }
}

/// A scenario with a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The number of the drawn scenario.
    pub index: u64,
    /// The seed that the file fails with.
    pub seed: u64,
    /// The checker's name.
    pub checker: String,
    /// The violation in words.
    pub text: String,
    /// The name of the file.
    pub file: String,
    /// The text of the file.
    #[serde(skip)]
    pub scenario: String,
    /// How many runs were spent on shrinking it; none if it is as it was drawn.
    pub shrunk_by: u32,
}

impl Campaign {
    /// The same campaign of as many scenarios as take so many simulated hours.
    #[must_use]
    pub fn of_hours(self, hours: f64) -> Self {
        let mut campaign = Self { runs: 0, ..self };
        let mut micros = 0;
        while (micros as f64) < hours * 3.6e9 {
            micros += campaign.scenario(Numbers::of(campaign.runs)).1.world.duration;
            campaign.runs += 1;
        }
        campaign
    }

    fn scenario(&self, numbers: Numbers) -> (Draft, Scenario) {
        let draft = draw::draw(self.seed, numbers, &self.only, self.length);
        let scenario = draft.scenario(&self.file(numbers)).expect("what is drawn is valid");
        (draft, scenario)
    }

    fn file(&self, numbers: Numbers) -> String {
        format!("{}.toml", draw::name(self.seed, numbers))
    }

    /// Plays scenarios of the campaign, on all cores; calls `progress` after each.
    pub fn play(&self, indices: Vec<u64>, progress: impl Fn() + Sync) -> Vec<Played> {
        let play = |index| self.play_one(Numbers::of(index), &run_of);
        indices.into_par_iter().map(play).inspect(|_| progress()).collect()
    }

    /// Plays one scenario of a guided campaign: the faults of one number on the network of another.
    #[must_use]
    pub fn play_on(&self, network: u64, faults: u64) -> Played {
        self.play_one(Numbers { network, faults }, &run_of)
    }

    /// Plays the whole campaign and lets what it reaches guide it: every other scenario has the network of an earlier one
    /// that reached a new pair of state and message, with faults of its own. The course is the same on any number of cores.
    pub fn play_guided(&self, progress: impl Fn() + Sync) -> Vec<Played> {
        let (mut known, mut fertile) = (BTreeMap::<String, States>::new(), Vec::<u64>::new());
        let mut played: Vec<Played> = Vec::new();
        for start in (0..self.runs).step_by(ROUND) {
            let round: Vec<u64> = (start..self.runs).take(ROUND).collect();
            let network = |index: u64| {
                let follows = index % 2 == 1 && !fertile.is_empty();
                if follows { fertile[(index / 2) as usize % fertile.len()] } else { index }
            };
            let play = |index| self.play_one(Numbers { network: network(index), faults: index }, &run_of);
            let round: Vec<Played> = round.into_par_iter().map(play).inspect(|_| progress()).collect();
            for one in &round {
                if coverage::join(&mut known, &one.pairs) > 0 {
                    fertile.push(one.network);
                }
            }
            // The latest: what was new early on is easily reached.
            fertile.drain(..fertile.len().saturating_sub(FERTILE_MAX));
            played.extend(round);
        }
        played
    }

    /// Plays the whole campaign with nodes of type `M`, and reports on it.
    #[must_use]
    pub fn run_with<M: ScenarioNode>(&self) -> CampaignReport {
        let run = |scenario: &Scenario, seed, observer: &mut dyn Observer| run::<M>(scenario, seed, observer);
        let played: Vec<Played> =
            (0..self.runs).into_par_iter().map(|index| self.play_one(Numbers::of(index), &run)).collect();
        self.report_with(&played, &run)
    }

    fn play_one(&self, numbers: Numbers, run: Run<'_>) -> Played {
        let (draft, scenario) = self.scenario(numbers);
        let mut watch = Watch { tally: Tally::new(&draft), coverage: Coverage::default() };
        let outcome = run(&scenario, numbers.faults, &mut watch);
        let named = messages::Named::new(&scenario);
        let pairs = watch.coverage.arrived().into_iter().map(|(name, states)| (named.message(name), states));
        Played {
            index: numbers.faults,
            network: numbers.network,
            micros: scenario.world.duration,
            faults: watch.tally.faults(),
            frames: named.frames(&outcome),
            pairs: pairs.collect(),
            lost: outcome.frames.lost + outcome.frames.collided,
            violations: violations(&scenario, outcome).into_iter().map(|v| (v.checker.to_owned(), v.text)).collect(),
        }
    }

    /// Reports on the scenarios that were played, in their order; shrinks the first ones with a violation.
    #[must_use]
    pub fn report(&self, played: &[Played]) -> CampaignReport {
        self.report_with(played, &run_of)
    }

    fn report_with(&self, played: &[Played], run: Run<'_>) -> CampaignReport {
        let mut faults: BTreeMap<String, u64> = BTreeMap::new();
        let mut frames: BTreeMap<String, u64> = BTreeMap::new();
        let mut pairs: BTreeMap<String, States> = BTreeMap::new();
        for one in played {
            one.faults.iter().for_each(|(kind, count)| *faults.entry(kind.clone()).or_default() += count);
            one.frames.iter().for_each(|(kind, count)| *frames.entry(kind.clone()).or_default() += count);
            coverage::join(&mut pairs, &one.pairs);
        }
        let hours = played.iter().map(|one| one.micros).sum::<Micros>() as f64 / 3.6e9;
        let hours = (hours * 1_000.0).round() / 1_000.0;
        let wanted = draw::FAULTS
            .iter()
            .chain(&draw::CHANGES)
            .map(|&fault| fault.to_owned())
            .filter(|fault| !faults.contains_key(fault));
        let unsent = messages::all().into_iter().filter(|message| !frames.contains_key(message));
        let bad = played.iter().filter(|one| !one.violations.is_empty());
        let found: Vec<Found> =
            bad.enumerate().map(|(at, one)| self.found(one, if at < self.shrink { Some(run) } else { None })).collect();
        CampaignReport {
            seed: self.seed,
            scenarios: played.len() as u64,
            hours,
            pairs: coverage::count(&pairs),
            missing: wanted.chain(unsent).collect(),
            complete: hours >= COVERED_AFTER && self.only.is_all() && self.length == Length::Minutes,
            faults,
            frames,
            frames_lost: played.iter().map(|one| one.lost).sum(),
            violations: found,
        }
    }

    /// A scenario with a violation, shrunk if it can be run.
    fn found(&self, played: &Played, run: Option<Run<'_>>) -> Found {
        let numbers = Numbers { network: played.network, faults: played.index };
        let (draft, _) = self.scenario(numbers);
        let (checker, text) = &played.violations[0];
        let found = Found {
            index: played.index,
            seed: played.index,
            checker: checker.clone(),
            text: text.clone(),
            file: self.file(numbers),
            scenario: draft.text(),
            shrunk_by: 0,
        };
        match run {
            Some(run) => shrink::shrink(&draft, found, run),
            None => found,
        }
    }
}

/// What is counted of a run.
struct Watch {
    tally: Tally,
    coverage: Coverage,
}

impl Observer for Watch {
    fn observe(&mut self, event: &TraceEvent) {
        self.tally.observe(event);
        self.coverage.observe(event);
    }
}

/// Every violation of one run, claims included.
fn violations(scenario: &Scenario, outcome: Outcome) -> Vec<Violation> {
    seeds::report(scenario, &[outcome]).violations
}
