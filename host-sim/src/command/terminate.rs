//! `conclave terminate`: a job spreads over the nodes, and its end is found and drawn.

use super::picture::{Cost, PictureArgs, Verdict, Witness, check_nodes, costs, millis, with_line};
use clap::Args;
use host_sim::Scenario;
use host_sim::peer::DETECTIONS;
use host_sim::run::Outcome;
use host_sim::spacetime::{Happening, History, Picture};
use std::process::ExitCode;

const SCENARIO: &str = include_str!("../../scenarios/terminate-demo.toml");

/// How many units a job may have.
const UNITS_MAX: u64 = 10_000;
/// How long a run takes at least for a unit, and besides, in microseconds: a job of one node has no help.
const UNIT: u64 = 60_000;
const BESIDES: u64 = 10_000_000;

const EXAMPLES: &str = "Examples:
  conclave terminate
  conclave terminate --nodes 6 --units 40 --svg job.svg
  conclave terminate --detection dijkstra-scholten";

/// What `conclave terminate` is given.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TerminateArgs {
    /// How many nodes there are, from 2 to 32; the picture in letters has room for 8.
    #[arg(long, value_name = "N", default_value_t = 4)]
    nodes: u64,
    /// The seed of all chance.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How much work there is, from 1 to 10000; a unit takes about 40 ms.
    #[arg(long, default_value_t = 16)]
    units: u64,
    /// How the end is found: wave or dijkstra-scholten.
    #[arg(long, value_name = "NAME", default_value = DETECTIONS[0])]
    detection: String,
    #[command(flatten)]
    picture: PictureArgs,
}

/// Runs and draws it; 0 if the end was found, and not too early, 1 if not, 2 for bad input.
pub(crate) fn run(args: &TerminateArgs) -> ExitCode {
    let scenario = match args.picture.check().and_then(|()| scenario(args)) {
        Ok(scenario) => scenario,
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::from(2);
        }
    };
    let (witness, outcome) = Witness::of(&scenario, args.seed);
    let history = &witness.history;
    let picture = Picture::of_job(history, scenario.nodes);
    let waves = args.detection == DETECTIONS[0];
    let below = format!("\n{}\n", told(history)) + &costs(&formulas(&witness, u64::from(scenario.nodes), waves));
    args.picture.show(&picture, &below, &verdict(history, scenario.nodes, &outcome))
}

fn scenario(args: &TerminateArgs) -> Result<Scenario, String> {
    let nodes = check_nodes(args.nodes)?;
    let units = args.units;
    if !(1..=UNITS_MAX).contains(&units) {
        return Err(format!("--units must be from 1 to {UNITS_MAX}, which {units} is not."));
    }
    let mut text = with_line(SCENARIO, "nodes = 4", &format!("nodes = {nodes}"));
    text = with_line(&text, "units = 16", &format!("units = {units}"));
    // Whoever begins is another node with another seed. Anybody may ask by waves; of the others only the root finds out.
    let first = args.seed % u64::from(nodes);
    let watcher = if args.detection == DETECTIONS[0] { (first + 1) % u64::from(nodes) } else { first };
    text = with_line(&text, "node = 1", &format!("node = {watcher}"));
    text = with_line(&text, "node = 0", &format!("node = {first}")); // the first such line: the job's
    let scenario = Scenario::parse("terminate-demo.toml", &text).map_err(|error| error.to_string())?;
    let mut scenario = scenario.with_detection(&args.detection)?;
    scenario.duration = scenario.duration.max(BESIDES + UNIT * units);
    Ok(scenario)
}

/// When the job was over, and when that was known.
fn told(history: &History) -> String {
    let Some(end) = history.ended() else { return "The job is not over.".to_owned() };
    let over = format!("The true end was at {:.4} s", end.at as f64 / 1e6);
    let Some((who, known)) = history.announced() else { return format!("{over}; nobody knows of it.") };
    if known.order < end.order {
        return format!("{over}, and node {who} announced it before.");
    }
    let by = match history.waves(end, known) {
        0 if history.events.iter().all(|event| !matches!(event.what, Happening::Wave(_))) => {
            ", when everything was acknowledged".to_owned()
        }
        0 => ", by a wave that was under way".to_owned(),
        1 => ", by the first wave that began after it".to_owned(),
        count => format!(", by wave {count} of those that began after it"),
    };
    let last = history.events.iter().rev().find(|event| event.what == Happening::Over);
    let last = last.map_or(0, |last| last.at - end.at);
    format!(
        "{over}; node {who} announced it {} later{by}.\nAll knew {} after the end.",
        millis(known.at - end.at),
        millis(last)
    )
}

/// What the detection cost, beside what it should.
fn formulas(witness: &Witness, nodes: u64, by_waves: bool) -> Vec<Cost> {
    let cost = |what, counted, number, formula: String| Cost { what, counted, formula, number };
    let events = &witness.history.events;
    let waves = events.iter().filter(|event| matches!(event.what, Happening::Wave(_))).count() as u64;
    let others = nodes - 1;
    let said = |word| witness.said(word);
    let mut lines = if by_waves {
        vec![
            cost("query", said("query"), waves * others, format!("(N - 1) x {waves}: each wave asks all others")),
            cost("answer", said("done") + said("continue"), waves * others, format!("(N - 1) x {waves}")),
        ]
    } else {
        let work = said("work");
        vec![cost("signal", said("signal"), work, "at most one for each message of the job".to_owned())]
    };
    lines.push(cost("terminate", said("terminate"), others, "N - 1".to_owned()));
    lines
}

fn verdict(history: &History, nodes: u32, outcome: &Outcome) -> Verdict {
    if let Some(finding) = outcome.findings.first() {
        return Verdict::Wrong(format!("{}: {}", finding.checker, finding.text));
    }
    if let Some(why) = history.unknowable {
        return Verdict::Wrong(format!("Nobody will find out whether the job is over: {why}."));
    }
    let know = history.events.iter().filter(|event| event.what == Happening::Over).count();
    if history.ended().is_none() || know < nodes as usize {
        return Verdict::Wrong(format!(
            "{know} of {nodes} nodes know of the end. Another seed may do better: --seed N."
        ));
    }
    Verdict::Right
}
