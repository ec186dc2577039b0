//! `conclave snapshot`: takes a snapshot of a running bank, and draws the cut.

use super::picture::{Check, Cost, PictureArgs, Witness, check_nodes, costs, millis, no_finding, with_line};
use crate::Scenario;
use crate::draw::spacetime::{Cut, Picture};
use crate::metrics::run::Outcome;
use clap::Args;
use protocol::service::snapshot::SNAPSHOTS_MAX;
use std::fmt::Write as _;

const SCENARIO: &str = include_str!("../../scenarios/snapshot-demo.toml");

const EXAMPLES: &str = "Examples:
  conclave snapshot
  conclave snapshot --nodes 6 --seed 3 --svg snapshot.svg
  conclave snapshot --snapshots 3            three nodes begin one each, at nearly the same time
  conclave snapshot --reordering 30%         markers overtake messages: the sum is wrong";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SnapshotArgs {
    /// The number of nodes, from 2 to 32; a text picture has room for 8.
    #[arg(long, value_name = "N", default_value_t = 4)]
    nodes: u64,
    /// The seed of the run.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many nodes begin a snapshot at nearly the same time, from 1 to 4.
    #[arg(long, value_name = "K", default_value_t = 1)]
    snapshots: u64,
    /// The loss of frames, such as 10%.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percentage)]
    loss: String,
    /// How often a marker overtakes a message sent before it, as on a link without FIFO order.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percentage)]
    reordering: String,
    #[command(flatten)]
    picture: PictureArgs,
}

fn percentage(text: &str) -> Result<String, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let valid = percent.is_some_and(|percent: f64| (0.0..=100.0).contains(&percent));
    if valid { Ok(text.to_owned()) } else { Err("expected a percentage from 0% to 100%, such as 10%".to_owned()) }
}

/// Takes and draws the snapshot; returns 0 if it is correct, 1 if not.
pub(super) fn run(args: &SnapshotArgs) -> super::Ended {
    args.picture.check()?;
    let scenario = scenario(args)?;
    let (witness, outcome) = Witness::of(&scenario, args.seed);
    let picture = Picture::of_snapshot(&witness.history, scenario.world.nodes, 0);
    let sum = scenario.world.app.as_ref().and_then(|app| app.token_sum(scenario.world.nodes)).unwrap_or(0);
    let mut below = String::new();
    for (number, cut) in (1..).zip(&witness.history.cuts) {
        below += &account(number, cut, &scenario, sum);
    }
    below += &costs(&formulas(&witness, u64::from(scenario.world.nodes)));
    args.picture.show(&picture, &below, check(args, &witness.history.cuts, &outcome, sum))
}

fn scenario(args: &SnapshotArgs) -> Result<Scenario, String> {
    let nodes = check_nodes(args.nodes)?;
    let (nodes, most) = (u64::from(nodes), u64::from(nodes).min(SNAPSHOTS_MAX as u64));
    if !(1..=most).contains(&args.snapshots) {
        let note = if most < SNAPSHOTS_MAX as u64 { ", as each is begun by another node" } else { "" };
        return Err(format!("--snapshots must be from 1 to {most}{note}, which {} is not.", args.snapshots));
    }
    let mut text = with_line(SCENARIO, "nodes = 4", &format!("nodes = {nodes}"));
    text = with_line(&text, "loss = \"0%\"", &format!("loss = \"{}\"", args.loss));
    text = with_line(&text, "reordering = \"0%\"", &format!("reordering = \"{}\"", args.reordering));
    // The seed chooses the first initiator; each further one begins a little later.
    let first = args.seed % nodes;
    text = with_line(&text, "node = 0", &format!("node = {first}"));
    for further in 1..args.snapshots {
        let (node, latest) = ((first + further) % nodes, 4_000 + 2 * further);
        let _ = write!(text, "\n[[faults]]\nat = [\"4s\", \"{latest}ms\"]\ndo = \"snapshot\"\nnode = {node}\n");
    }
    Scenario::parse("snapshot-demo.toml", &text, &[]).map_err(|error| error.to_string())
}

fn account(number: usize, cut: &Cut, scenario: &Scenario, sum: u64) -> String {
    let mut text = format!("\nsnapshot {number}, begun by node {}", cut.id.initiator.0);
    let times = || cut.records.values().map(|(moment, _)| moment.at);
    if let (Some(first), Some(last)) = (times().min(), times().max()) {
        let _ = write!(text, "; the cut passes all nodes within {}", millis(last - first));
    }
    text.push('\n');
    if let Some(Err(reason)) = cut.end {
        let _ = writeln!(text, "  aborted: {reason}");
        return text;
    }
    for (node, amount) in &cut.states {
        let _ = writeln!(text, "  {amount:>6}  node {node}");
    }
    for transit in &cut.transits {
        let _ = writeln!(text, "  {:>6}  in flight from node {} to node {}", transit.amount, transit.from, transit.to);
    }
    let tokens = scenario.world.app.as_ref().map_or(0, |app| app.tokens);
    let all = format!("{} nodes x {tokens} tokens = {sum}", scenario.world.nodes);
    let _ = writeln!(text, "  {:>6}  in total; {all}", cut.sum());
    text
}

/// Returns the cost of the snapshots beside the formulas.
fn formulas(witness: &Witness, nodes: u64) -> [Cost; 3] {
    let cuts = &witness.history.cuts;
    let count = cuts.len() as u64;
    let to_others = |cut: &Cut| cut.transits.iter().filter(|transit| transit.to != cut.id.initiator.0).count() as u64;
    let sent: u64 = cuts.iter().map(to_others).sum();
    let times = if count == 1 { String::new() } else { format!("{count} x ") };
    let cost = |message, expected, formula| Cost { message, counted: witness.count(message), expected, formula };
    [
        cost("marker", count * nodes * (nodes - 1), format!("{times}N (N - 1): each node to all others")),
        cost("fragment", count * (nodes - 1) + sent, format!("{times}(N - 1), and {sent} found in flight")),
        cost("done", count * (nodes - 1), format!("{times}(N - 1)")),
    ]
}

fn check(args: &SnapshotArgs, cuts: &[Cut], outcome: &Outcome, sum: u64) -> Check {
    let advice = "Another seed may do better: --seed N.";
    let failure = |(number, cut): (usize, &Cut)| match cut.end {
        Some(Ok(_)) if cut.sum() == sum => None,
        Some(Ok(_)) => Some(format!("Snapshot {number} is wrong: it found {} tokens of {sum}.", cut.sum())),
        Some(Err(reason)) => Some(format!("Snapshot {number} was aborted ({reason}). {advice}")),
        None => Some(format!("Snapshot {number} did not complete in time. {advice}")),
    };
    if let Some(sentence) = (1..).zip(cuts).find_map(failure) {
        return Err(sentence);
    }
    if (cuts.len() as u64) < args.snapshots {
        return Err(format!("{} of {} snapshots were begun. {advice}", cuts.len(), args.snapshots));
    }
    no_finding(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_from_0_to_100_and_has_its_sign() {
        for right in ["0%", "12.5%", "100%"] {
            assert_eq!(percentage(right).as_deref(), Ok(right));
        }
        for wrong in ["10", "101%", "-1%", "x%", "%", "NaN%"] {
            assert!(percentage(wrong).is_err(), "{wrong}");
        }
    }
}
