//! The summary: the leaders, the measured times, the frames sent, and what to try next.

use super::playback::{Phase, Playback};
use crate::draw::map::Mark;
use anstyle::Style;
use std::fmt::Write as _;

/// Further commands, and what they show.
const NEXT: [(&str, &str); 3] = [
    ("conclave demo --seed 1", "other capacities, other losses"),
    ("conclave run host-sim/scenarios/grid64-cold-start.toml --seeds 0..100", "64 nodes, a hundred times"),
    ("conclave swarm", "the same code on emulated boards"),
];

/// Returns the summary.
pub(super) fn text(playback: &Playback, colours: bool) -> String {
    let bold = if colours { Style::new().bold() } else { Style::new() };
    let mut text = format!("\n{bold}SUMMARY{bold:#} (times are simulated)\n\n");
    for phase in Phase::ALL {
        let Some((measure, description)) = phase.measure() else { continue };
        let took = playback.samples.iter().find(|(name, _)| *name == measure);
        let took = took.map_or_else(|| "never".to_owned(), |(_, micros)| format!("{:.3} s", *micros as f64 / 1e6));
        let _ = writeln!(text, "  {description:<40}{bold}{took:>9}{bold:#}   {}", leaders(playback, phase));
    }
    if let Some(last) = playback.scenes.last() {
        let each = |frames: u64| frames as f64 / f64::from(playback.scenario.world.nodes);
        let seconds = playback.scenario.world.duration as f64 / 1e6;
        let (what, frames, beats) =
            ("frames sent by each node", each(last.frames.values().sum()), each(last.frames("leader-heartbeat")));
        let _ = writeln!(text, "  {what:<40}{bold}{frames:>9.1}{bold:#}   in {seconds:.0} s ({beats:.1} are beats)");
    }
    let _ = writeln!(text, "\n{bold}TRY NEXT{bold:#} (in a checkout, conclave is: cargo run --release --)\n");
    for (command, why) in NEXT {
        let _ = writeln!(text, "  {bold}{command}{bold:#}\n      {why}");
    }
    text
}

/// Returns the leaders at the end of a phase.
fn leaders(playback: &Playback, phase: Phase) -> String {
    let Some(scene) = playback.end_of(phase) else { return String::new() };
    let leading = (0..).zip(&scene.map.nodes).filter(|(_, node)| node.mark == Mark::Leads);
    let names: Vec<String> = leading.map(|(id, _): (u32, _)| format!("node {id}")).collect();
    names.join(" and ")
}
