//! The playback as plain text: every line, the map at the end of every phase, and a summary.

use super::frame::wrap;
use super::panel::{bar, best};
use super::playback::{Phase, Playback, Scene};
use crate::draw::map::{Charset, Mark};
use anstyle::Style;
use std::fmt::Write as _;

const WIDTH: usize = 79;
const MAP_WIDTH: usize = 57;
const MAP_HEIGHT: usize = 17;

/// How many of the best nodes are listed, and the length of their bars.
const LISTED: usize = 6;
const BAR: usize = 40;

/// Further commands, and what they show.
const NEXT: [(&str, &str); 3] = [
    ("conclave demo --seed 1", "other capacities, other losses"),
    ("conclave run grid64-cold-start --seeds 0..100", "64 nodes, a hundred times"),
    ("conclave swarm", "the same code on emulated boards"),
];

/// Returns the whole playback without its summary.
pub(super) fn text(playback: &Playback) -> String {
    let mut text = format!("{}\n", playback.scenario.about);
    let _ = writeln!(text, "A node on the map is a mark, its id and its capacity; seed {}.", playback.seed);
    let _ = writeln!(text, "? leaderless, o follows, * leads, x is down; # is a border of a partition");
    for (number, phase) in (1..).zip(Phase::ALL) {
        let _ = writeln!(text, "\n{number} {}\n", phase.heading().to_uppercase());
        for line in playback.lines.iter().filter(|line| line.phase == phase) {
            for row in wrap(&line.time(), &line.text(), WIDTH) {
                text += &row;
                text.push('\n');
            }
        }
        if let Some(scene) = playback.end_of(phase) {
            text += &end(scene);
        }
    }
    text
}

/// Returns the map and the best nodes at the end of a phase.
fn end(scene: &Scene) -> String {
    let mut text = "\n".to_owned();
    for row in scene.map.draw(MAP_WIDTH, MAP_HEIGHT, Charset::Ascii).rows(false) {
        let _ = writeln!(text, "  {row}");
    }
    let _ = writeln!(text, "\n  {} links, {} nodes up, {} of them led", scene.map.links.len(), scene.up(), scene.led);
    for group in best(&scene.map, LISTED) {
        text.push('\n');
        for id in group {
            let node = &scene.map.nodes[id as usize];
            let capacity = node.capacity.unwrap_or(0);
            let bar = bar(usize::from(capacity), 10_000, BAR, Charset::Ascii);
            let word = if node.mark == Mark::Leads { "LEADS" } else { node.mark.word() };
            let _ = writeln!(text, "  node {id:<2} {capacity:>5} {bar:<BAR$} {word}");
        }
    }
    text
}

/// Returns the summary: the leaders, the measured times, the frames sent, and what to try next.
pub(super) fn summary(playback: &Playback, colours: bool) -> String {
    let bold = if colours { Style::new().bold() } else { Style::new() };
    let mut text = format!("\n{bold}SUMMARY{bold:#} (times are simulated)\n\n");
    for phase in Phase::ALL {
        let Some((measure, description)) = phase.measure() else { continue };
        let took = playback.samples.iter().find(|(name, _)| *name == measure);
        let took = took.map_or_else(|| "never".to_owned(), |(_, micros)| format!("{:.3} s", *micros as f64 / 1e6));
        let _ = writeln!(text, "  {description:<30}{bold}{took:>8}{bold:#}   {}", leaders(playback, phase));
    }
    if let Some(last) = playback.scenes.last() {
        let each = |frames: u64| frames as f64 / f64::from(playback.scenario.world.nodes);
        let seconds = playback.scenario.world.duration as f64 / 1e6;
        let rows = [
            ("frames sent by each node", each(last.frames.values().sum())),
            ("heartbeats among them", each(last.frames("leader-heartbeat"))),
        ];
        for (what, frames) in rows {
            let _ = writeln!(text, "  {what:<30}{bold}{frames:>8.1}{bold:#}   in {seconds:.0} s");
        }
    }
    let _ = writeln!(text, "\n{bold}TRY NEXT{bold:#} (in a checkout: cargo run --release -- demo ...)\n");
    for (command, why) in NEXT {
        let _ = writeln!(text, "  {bold}{command}{bold:#}\n      {why}");
    }
    text
}

fn leaders(playback: &Playback, phase: Phase) -> String {
    let Some(scene) = playback.end_of(phase) else { return String::new() };
    let leading = (0..).zip(&scene.map.nodes).filter(|(_, node)| node.mark == Mark::Leads);
    let ids: Vec<String> = leading.map(|(id, _): (u32, _)| id.to_string()).collect();
    format!("node{} {}", if ids.len() == 1 { "" } else { "s" }, ids.join(" and "))
}
