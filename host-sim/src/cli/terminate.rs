//! `conclave terminate`: runs a diffusing job, detects its termination, and draws it.

use super::picture::{Check, Cost, PictureArgs, Witness, check_nodes, costs, millis, no_finding, with_line};
use crate::Scenario;
use crate::draw::spacetime::{Action, History, Picture};
use crate::metrics::run::Outcome;
use crate::scenario::DETECTIONS;
use clap::Args;

const SCENARIO: &str = include_str!("../../scenarios/terminate-demo.toml");

/// The most units of a job.
const UNITS_MAX: u64 = 10_000;
/// The least duration of a run, in microseconds: per unit, in case one node does all of them, and besides.
const UNIT_US: u64 = 60_000;
const BESIDES_US: u64 = 10_000_000;

const EXAMPLES: &str = "Examples:
  conclave terminate
  conclave terminate --nodes 6 --units 40 --svg job.svg
  conclave terminate --detection dijkstra-scholten";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TerminateArgs {
    /// The number of nodes, from 2 to 32; a text picture has room for 8.
    #[arg(long, value_name = "N", default_value_t = 4)]
    nodes: u64,
    /// The seed of the run.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The units of work, from 1 to 10000; a unit takes about 40 ms.
    #[arg(long, default_value_t = 16)]
    units: u64,
    /// The detection algorithm: wave or dijkstra-scholten.
    #[arg(long, value_name = "NAME", default_value = DETECTIONS[0])]
    detection: String,
    #[command(flatten)]
    picture: PictureArgs,
}

/// Runs and draws the job; returns 0 if its termination was detected and not too early, 1 if not.
pub(super) fn run(args: &TerminateArgs) -> super::Ended {
    args.picture.check()?;
    let scenario = scenario(args)?;
    let (witness, outcome) = Witness::of(&scenario, args.seed);
    let history = &witness.history;
    let picture = Picture::of_job(history, scenario.world.nodes);
    let waves = args.detection == DETECTIONS[0];
    let below =
        format!("\n{}\n", summary(history)) + &costs(&formulas(&witness, u64::from(scenario.world.nodes), waves));
    args.picture.show(&picture, &below, check(history, scenario.world.nodes, &outcome))
}

fn scenario(args: &TerminateArgs) -> Result<Scenario, String> {
    let nodes = check_nodes(args.nodes)?;
    let units = args.units;
    if !(1..=UNITS_MAX).contains(&units) {
        return Err(format!("--units must be from 1 to {UNITS_MAX}, which {units} is not."));
    }
    let mut text = with_line(SCENARIO, "nodes = 4", &format!("nodes = {nodes}"));
    text = with_line(&text, "units = 16", &format!("units = {units}"));
    // The seed chooses the node that starts the job. Any node can begin waves; with the other algorithm only the root
    // detects the end.
    let first = args.seed % u64::from(nodes);
    let detector = if args.detection == DETECTIONS[0] { (first + 1) % u64::from(nodes) } else { first };
    text = with_line(&text, "node = 1", &format!("node = {detector}"));
    text = with_line(&text, "node = 0", &format!("node = {first}")); // the first such line: the job's
    let scenario = Scenario::parse("terminate-demo.toml", &text, &[]).map_err(|error| error.to_string())?;
    let mut scenario = scenario.with_detection(&args.detection)?;
    scenario.world.duration = scenario.world.duration.max(BESIDES_US + UNIT_US * units);
    Ok(scenario)
}

/// Returns when the job was over, and when the nodes knew.
fn summary(history: &History) -> String {
    let Some(end) = history.ended else { return "The job is not over.".to_owned() };
    let over = format!("The true end was at {:.4} s.", end.at as f64 / 1e6);
    let Some((who, known)) = history.announced() else { return format!("{over}\nNo node detected it.") };
    if known.order < end.order {
        return format!("{over}\nNode {who} announced it before.");
    }
    let by = match history.waves(end, known) {
        0 if history.events.iter().all(|event| !matches!(event.action, Action::Wave(_))) => {
            ", when all work was acknowledged".to_owned()
        }
        0 => ", by a wave begun before it".to_owned(),
        1 => ", by the first wave begun after it".to_owned(),
        count => format!(", by wave {count} of those begun after it"),
    };
    let last = history.events.iter().rev().find(|event| event.action == Action::Terminated);
    let last = last.map_or(0, |last| last.at - end.at);
    let announced = millis(known.at - end.at);
    format!("{over}\nNode {who} announced it {announced} later{by}.\nAll nodes knew {} after the end.", millis(last))
}

/// Returns the cost of the detection beside the formulas.
fn formulas(witness: &Witness, nodes: u64, by_waves: bool) -> Vec<Cost> {
    let cost = |message, counted, expected, formula: String| Cost { message, counted, expected, formula };
    let events = &witness.history.events;
    let waves = events.iter().filter(|event| matches!(event.action, Action::Wave(_))).count() as u64;
    let others = nodes - 1;
    let sent = |name| witness.count(name);
    let mut lines = if by_waves {
        vec![
            cost("query", sent("query"), waves * others, format!("(N - 1) x {waves}: each wave queries all others")),
            cost("answer", sent("done") + sent("continue"), waves * others, format!("(N - 1) x {waves}")),
        ]
    } else {
        let work = sent("work");
        vec![cost("signal", sent("signal"), work, "at most one for each message of the job".to_owned())]
    };
    lines.push(cost("terminate", sent("terminate"), others, "N - 1".to_owned()));
    lines
}

fn check(history: &History, nodes: u32, outcome: &Outcome) -> Check {
    no_finding(outcome)?;
    if let Some(reason) = history.detection_aborted {
        return Err(format!("The end of the job cannot be detected: {reason}."));
    }
    let know = history.events.iter().filter(|event| event.action == Action::Terminated).count();
    if history.ended.is_none() || know < nodes as usize {
        return Err(format!("{know} of {nodes} nodes know of the end. Another seed may do better: --seed N."));
    }
    Ok(())
}
