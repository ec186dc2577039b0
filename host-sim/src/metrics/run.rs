//! One run of a scenario, with every checker.

use crate::base::{Micros, interned};
use crate::check::convergence::{Convergence, LeaderTime};
use crate::check::{self, Checkers, Finding, Settled};
use crate::metrics::WorkloadMetrics;
use crate::metrics::frames::Steady;
use crate::nodes::{AnyNode, ScenarioNode, world};
use crate::scenario::Scenario;
use crate::sim::fault_plan::FaultStep;
use crate::sim::medium::{FrameStats, KindStats};
use crate::sim::world::WorldPlan;
use crate::trace::{MessageEvent, Observer, TraceEvent};
use serde::{Deserialize, Serialize};

/// The outcome of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub(crate) seed: u64,
    pub(crate) converged: bool,
    pub(crate) leader_is_best: bool,
    /// The leader of most nodes in the end.
    pub leader: Option<u32>,
    #[serde(deserialize_with = "interned::pairs")]
    pub(crate) samples: Vec<(&'static str, u64)>,
    /// What was being measured when the run ended, and how long it had lasted.
    #[serde(deserialize_with = "interned::pairs")]
    pub(crate) unfinished: Vec<(&'static str, Micros)>,
    pub(crate) frames: FrameStats,
    pub(crate) leader_times: Vec<LeaderTime>,
    /// The frames of its calm stretches.
    pub(crate) steady: Steady,
    /// The hash of the trace.
    pub hash: u64,
    /// The properties that did not hold.
    pub findings: Vec<Finding>,
}

struct Observers<'a> {
    convergence: &'a mut Convergence,
    workload: &'a mut WorkloadMetrics,
    checkers: &'a mut Checkers,
    extra: &'a mut dyn Observer,
}

impl Observer for Observers<'_> {
    fn observe(&mut self, event: &TraceEvent) {
        self.convergence.observe(event);
        self.workload.observe(event);
        self.checkers.observe(event);
        self.extra.observe(event);
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.extra.on_frame(frame);
    }

    fn on_message(&mut self, at: Micros, event: &MessageEvent) {
        self.checkers.on_message(at, event);
        self.extra.on_message(at, event);
    }
}

/// Runs a scenario with one seed and the type of node it needs.
pub fn run_of(scenario: &Scenario, seed: u64, extra: &mut dyn Observer) -> Outcome {
    run::<AnyNode>(scenario, seed, extra)
}

/// Runs a scenario with one seed and nodes of type `M`.
pub(crate) fn run<M: ScenarioNode>(scenario: &Scenario, seed: u64, extra: &mut dyn Observer) -> Outcome {
    let mut world = world::<M>(scenario, seed);
    let mut convergence = Convergence::new(&world).of_clusters(scenario.horizon());
    let mut workload = WorkloadMetrics::new(scenario.settle_time);
    let mut checkers = Checkers::new(&scenario.expect, scenario.settle_time).of_clusters(scenario.horizon());
    let stops = stops(world.plan(), scenario.settle_time);
    for stop in stops {
        let mut observers =
            Observers { convergence: &mut convergence, workload: &mut workload, checkers: &mut checkers, extra };
        while world.next_at().is_some_and(|at| at <= stop) && world.step(&mut observers) {
            observers.convergence.refresh(&world);
        }
        world.run_until(stop, &mut observers);
        if stop >= world.disturbed_at() + scenario.settle_time && world.boots_pending() == 0 {
            checkers.check_settled(&Settled::of(&world, &convergence, scenario));
        }
    }
    convergence.finish(world.now());
    let settled = Settled::of(&world, &convergence, scenario);
    let mut samples = convergence.samples().to_vec();
    samples.push(("leader_changes", convergence.leader_changes()));
    samples.extend(workload.samples());
    if let Some(initiator) = convergence.initiator() {
        let depth = u64::from(world.eccentricity(initiator));
        samples.push(("depth_hops", depth));
        samples.extend(stretch(&samples, depth, &world.frame_stats().kinds()));
    }
    Outcome {
        seed,
        converged: check::converged(&settled),
        leader_is_best: check::best_leads(&settled),
        leader: world.leader(),
        samples,
        unfinished: convergence.unfinished().collect(),
        frames: world.frame_stats().clone(),
        leader_times: convergence.leader_times().collect(),
        steady: workload.steady(),
        hash: world.trace_hash(),
        findings: checkers.findings().to_vec(),
    }
}

/// Returns when settled properties are checked, if there was no disturbance for so long: as soon as the network has had
/// time to settle, just before each fault, and at the end.
fn stops(plan: &WorldPlan, settle_time: Micros) -> Vec<Micros> {
    let around = |step: &FaultStep| [step.at.saturating_sub(1), step.at + settle_time];
    let mut stops: Vec<Micros> = plan.faults.iter().flat_map(around).collect();
    stops.extend([plan.boot_spread + settle_time, plan.duration]);
    stops.retain(|&stop| stop <= plan.duration);
    stops.sort_unstable();
    stops.dedup();
    stops
}

/// The duration of an election that one node was asked to start, in thousandths of three floods: out, back and out
/// again over the network's depth, at the mean time per hop of the election's own frames.
fn stretch(
    samples: &[(&'static str, u64)],
    depth: u64,
    kinds: &[(&'static str, KindStats)],
) -> Option<(&'static str, u64)> {
    let (_, took) = *samples.iter().find(|(name, _)| *name == "election_us")?;
    let mut of_election = KindStats::default();
    for (_, count) in kinds.iter().filter(|(kind, _)| ["election", "report", "leader"].contains(kind)) {
        of_election.frames += count.frames;
        of_election.micros += count.micros;
    }
    let three_floods = 3 * depth * of_election.micros;
    Some(("stretch_per_mille", (took * of_election.frames * 1_000).checked_div(three_floods)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::toy_node::ToyNode;

    fn outcome(rest: &str) -> Outcome {
        let head = "name = \"test\"\nnodes = 4\nduration = \"20s\"\nsettle_time = \"5s\"\n";
        let lan = "[topology]\nshape = \"complete\"\n[medium]\nkind = \"lan\"\n";
        run::<ToyNode>(&Scenario::parse("test.toml", &format!("{head}{lan}{rest}"), &[]).unwrap(), 1, &mut ())
    }

    fn checkers(outcome: &Outcome) -> Vec<&'static str> {
        let mut names: Vec<&str> = outcome.findings.iter().map(|finding| finding.checker).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    #[test]
    fn a_correct_run_has_no_findings() {
        let outcome = outcome("[capacity]\nrule = \"rising\"\n");
        assert!(outcome.converged && outcome.leader_is_best);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn a_run_led_by_another_than_the_best_is_found() {
        let outcome = outcome("[capacity]\nrule = \"falling\"\n");
        assert!(outcome.converged && !outcome.leader_is_best);
        assert_eq!(checkers(&outcome), ["best-leads"]);
    }

    #[test]
    fn a_run_that_never_recovers_from_a_crash_is_found() {
        let crash = "[[faults]]\nat = \"10s\"\ndo = \"crash\"\nnode = \"leader\"\n";
        let outcome = outcome(&format!("[capacity]\nrule = \"rising\"\n{crash}"));
        assert!(!outcome.converged && !outcome.leader_is_best);
        assert_eq!(checkers(&outcome), ["everyone-knows", "one-leader"]);
        let at: Vec<Micros> = outcome.findings.iter().map(|finding| finding.at).collect();
        assert_eq!(at, [15_000_000, 15_000_000, 20_000_000, 20_000_000], "once it had time to settle, and at the end");
    }

    #[test]
    fn a_network_that_had_no_time_to_settle_is_not_checked() {
        let crash = "[[faults]]\nat = \"16s\"\ndo = \"crash\"\nnode = \"leader\"\n";
        let outcome = outcome(&format!("[capacity]\nrule = \"rising\"\n{crash}"));
        assert!(!outcome.converged);
        assert_eq!(outcome.findings, []);
    }
}
