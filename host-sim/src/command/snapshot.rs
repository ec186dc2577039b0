//! `conclave snapshot`: a bank is photographed while it goes on, and the cut is drawn.

use super::picture::{Cost, PictureArgs, Verdict, Witness, check_nodes, costs, millis, with_line};
use clap::Args;
use host_sim::Scenario;
use host_sim::run::Outcome;
use host_sim::spacetime::{Cut, Picture};
use protocol::snapshot::SNAPSHOTS_MAX;
use std::fmt::Write as _;
use std::process::ExitCode;

const SCENARIO: &str = include_str!("../../scenarios/snapshot-demo.toml");

const EXAMPLES: &str = "Examples:
  conclave snapshot
  conclave snapshot --nodes 6 --seed 3 --svg snapshot.svg
  conclave snapshot --snapshots 3            three nodes begin one each, at nearly the same time
  conclave snapshot --overtaking 30%         markers overtake messages: the sum is wrong";

/// What `conclave snapshot` is given.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SnapshotArgs {
    /// How many nodes there are, from 2 to 32; the picture in letters has room for 8.
    #[arg(long, value_name = "N", default_value_t = 4)]
    nodes: u64,
    /// The seed of all chance.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many nodes begin a snapshot at nearly the same time, from 1 to 4.
    #[arg(long, value_name = "K", default_value_t = 1)]
    snapshots: u64,
    /// The share of frames that are lost, such as 10%.
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    loss: String,
    /// How often a marker overtakes a message that was said before it, as on a link that does not keep order.
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    overtaking: String,
    #[command(flatten)]
    picture: PictureArgs,
}

fn share(text: &str) -> Result<String, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let right = percent.is_some_and(|percent: f64| (0.0..=100.0).contains(&percent));
    if right { Ok(text.to_owned()) } else { Err("expected a share from 0% to 100%, such as 10%".to_owned()) }
}

/// Takes and draws it; 0 if it is right, 1 if not, 2 for bad input.
pub(crate) fn run(args: &SnapshotArgs) -> ExitCode {
    let scenario = match args.picture.check().and_then(|()| scenario(args)) {
        Ok(scenario) => scenario,
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::from(2);
        }
    };
    let (witness, outcome) = Witness::of(&scenario, args.seed);
    let picture = Picture::of_snapshot(&witness.history, scenario.nodes, 0);
    let sum = scenario.app.as_ref().and_then(|app| app.sum(scenario.nodes)).unwrap_or(0);
    let mut below = String::new();
    for (number, cut) in (1..).zip(&witness.history.cuts) {
        below += &account(number, cut, &scenario, sum);
    }
    below += &costs(&formulas(&witness, u64::from(scenario.nodes)));
    args.picture.show(&picture, &below, &verdict(args, &witness.history.cuts, &outcome, sum))
}

fn scenario(args: &SnapshotArgs) -> Result<Scenario, String> {
    let nodes = check_nodes(args.nodes)?;
    let (nodes, most) = (u64::from(nodes), u64::from(nodes).min(SNAPSHOTS_MAX as u64));
    if !(1..=most).contains(&args.snapshots) {
        let why = if most < SNAPSHOTS_MAX as u64 { ", as each is begun by another node" } else { "" };
        return Err(format!("--snapshots must be from 1 to {most}{why}, which {} is not.", args.snapshots));
    }
    let mut text = with_line(SCENARIO, "nodes = 4", &format!("nodes = {nodes}"));
    text = with_line(&text, "loss = \"0%\"", &format!("loss = \"{}\"", args.loss));
    text = with_line(&text, "overtaking = \"0%\"", &format!("overtaking = \"{}\"", args.overtaking));
    // Whoever begins is another node with another seed; each further one begins a little later.
    let first = args.seed % nodes;
    text = with_line(&text, "node = 0", &format!("node = {first}"));
    for further in 1..args.snapshots {
        let (node, latest) = ((first + further) % nodes, 4_000 + 2 * further);
        let _ = write!(text, "\n[[faults]]\nat = [\"4s\", \"{latest}ms\"]\ndo = \"snapshot\"\nnode = {node}\n");
    }
    Scenario::parse("snapshot-demo.toml", &text).map_err(|error| error.to_string())
}

/// What a snapshot found.
fn account(number: usize, cut: &Cut, scenario: &Scenario, sum: u64) -> String {
    let mut text = format!("\nsnapshot {number}, begun by node {}", cut.id.initiator.0);
    let times = || cut.records.values().map(|(moment, _)| moment.at);
    if let (Some(first), Some(last)) = (times().min(), times().max()) {
        let _ = write!(text, "; the cut passes all nodes within {}", millis(last - first));
    }
    text.push('\n');
    if let Some(Err(why)) = cut.end {
        let _ = writeln!(text, "  aborted: {why}");
        return text;
    }
    for (node, amount) in &cut.states {
        let _ = writeln!(text, "  {amount:>6}  node {node}");
    }
    for transit in &cut.transits {
        let _ = writeln!(text, "  {:>6}  on its way from node {} to node {}", transit.amount, transit.from, transit.to);
    }
    let tokens = scenario.app.as_ref().map_or(0, |app| app.tokens);
    let all = format!("{} nodes x {tokens} tokens = {sum}", scenario.nodes);
    let _ = writeln!(text, "  {:>6}  in all; {all}", cut.sum());
    text
}

/// What the snapshots cost, beside what they should.
fn formulas(witness: &Witness, nodes: u64) -> [Cost; 3] {
    let cuts = &witness.history.cuts;
    let count = cuts.len() as u64;
    let to_others = |cut: &Cut| cut.transits.iter().filter(|transit| transit.to != cut.id.initiator.0).count() as u64;
    let sent: u64 = cuts.iter().map(to_others).sum();
    let times = if count == 1 { String::new() } else { format!("{count} x ") };
    let cost = |what, number, formula| Cost { what, counted: witness.said(what), formula, number };
    [
        cost("marker", count * nodes * (nodes - 1), format!("{times}N (N - 1): each node to all others")),
        cost("part", count * (nodes - 1) + sent, format!("{times}(N - 1), and {sent} found on their way")),
        cost("done", count * (nodes - 1), format!("{times}(N - 1)")),
    ]
}

fn verdict(args: &SnapshotArgs, cuts: &[Cut], outcome: &Outcome, sum: u64) -> Verdict {
    let again = "Another seed may do better: --seed N.";
    let wrong = |(number, cut): (usize, &Cut)| match cut.end {
        Some(Ok(_)) if cut.sum() == sum => None,
        Some(Ok(_)) => Some(format!("Snapshot {number} is wrong: it found {} tokens of {sum}.", cut.sum())),
        Some(Err(why)) => Some(format!("Snapshot {number} was aborted ({why}). {again}")),
        None => Some(format!("Snapshot {number} did not come about in time. {again}")),
    };
    if let Some(sentence) = (1..).zip(cuts).find_map(wrong) {
        return Verdict::Wrong(sentence);
    }
    if (cuts.len() as u64) < args.snapshots {
        return Verdict::Wrong(format!("{} of {} snapshots were begun. {again}", cuts.len(), args.snapshots));
    }
    match outcome.findings.first() {
        Some(finding) => Verdict::Wrong(format!("{}: {}", finding.checker, finding.text)),
        None => Verdict::Right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage() {
        for right in ["0%", "12.5%", "100%"] {
            assert_eq!(share(right).as_deref(), Ok(right));
        }
        for wrong in ["10", "101%", "-1%", "x%", "%", "NaN%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
