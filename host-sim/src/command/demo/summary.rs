//! The end of the tale: who led when, how long it took, what it cost, and what to try next.

use super::tale::{Stage, Tale};
use anstyle::Style;
use host_sim::map::Mark;
use std::fmt::Write as _;

/// What to try next, and why.
const NEXT: [(&str, &str); 3] = [
    ("conclave demo --seed 1", "other capacities, other losses"),
    ("conclave run host-sim/scenarios/grid64-cold-start.toml --seeds 0..100", "64 nodes, a hundred times"),
    ("conclave swarm", "the same code on emulated boards"),
];

/// The summary.
pub(super) fn text(tale: &Tale, colours: bool) -> String {
    let bold = if colours { Style::new().bold() } else { Style::new() };
    let mut text = format!("\n{bold}IN THE END{bold:#} (times are simulated)\n\n");
    for stage in Stage::ALL {
        let Some(measure) = stage.measure() else { continue };
        let took = tale.samples.iter().find(|(name, _)| *name == measure);
        let took = took.map_or_else(|| "never".to_owned(), |(_, micros)| format!("{:.3} s", *micros as f64 / 1e6));
        let _ = writeln!(text, "  {:<40}{bold}{took:>9}{bold:#}   {}", what(stage), leaders(tale, stage));
    }
    if let Some(last) = tale.scenes.last() {
        let frames: u64 = last.frames.iter().map(|(_, frames)| frames).sum();
        let beats = last.frames.iter().find(|(kind, _)| *kind == "beat").map_or(0, |&(_, frames)| frames);
        let each = |frames: u64| frames as f64 / f64::from(tale.scenario.nodes);
        let seconds = tale.scenario.duration as f64 / 1e6;
        let _ = writeln!(
            text,
            "  {:<40}{bold}{:>9.1}{bold:#}   in {seconds:.0} s ({:.1} are beats)",
            "frames sent by each node",
            each(frames),
            each(beats)
        );
    }
    let _ = writeln!(text, "\n{bold}TRY NEXT{bold:#} (in a checkout, conclave is: cargo run --release --)\n");
    for (command, why) in NEXT {
        let _ = writeln!(text, "  {bold}{command}{bold:#}\n      {why}");
    }
    text
}

fn what(stage: Stage) -> &'static str {
    match stage {
        Stage::Start => "",
        Stage::Elect => "from the first start to a known leader",
        Stage::Fail => "from its failure to the next leader",
        Stage::Split => "from the cut to a leader in each part",
        Stage::Heal => "from the mending to one leader",
    }
}

/// Who led at the end of a stage.
fn leaders(tale: &Tale, stage: Stage) -> String {
    let Some(scene) = tale.end_of(stage) else { return String::new() };
    let leading = (0..).zip(&scene.map.spots).filter(|(_, spot)| spot.mark == Mark::Leads);
    let names: Vec<String> = leading.map(|(name, _): (u32, _)| format!("node {name}")).collect();
    names.join(" and ")
}
