//! The tale as plain text: every line of it, and the map at the end of every stage.

use super::frame::wrap;
use super::panel::{bar, best};
use super::tale::{Scene, Stage, Tale};
use host_sim::map::{Ink, Mark};
use host_sim::topology::NOWHERE;
use std::fmt::Write as _;

const WIDTH: usize = 79;
const MAP_WIDTH: usize = 57;
const MAP_HEIGHT: usize = 17;

/// How many nodes are named as the best, and how long their bars are.
const LISTED: usize = 6;
const BAR: usize = 40;

/// The whole tale but for its summary.
pub(super) fn text(tale: &Tale) -> String {
    let mut text = format!("{}\n", tale.scenario.about);
    let _ = writeln!(text, "A node on the map is a sign, its number and its capacity; seed {}.", tale.seed);
    let _ = writeln!(text, "? knows no leader, o follows, * leads, x is down; # is where the network is cut");
    for (number, stage) in (1..).zip(Stage::ALL) {
        let _ = writeln!(text, "\n{number} {}\n", stage.heading().to_uppercase());
        for line in tale.lines.iter().filter(|line| line.stage == stage) {
            for row in wrap(&line.time(), &line.text(), WIDTH) {
                text += &row;
                text.push('\n');
            }
        }
        if let Some(scene) = tale.end_of(stage) {
            text += &end(scene);
        }
    }
    text
}

/// What the network looks like at the end of a stage.
fn end(scene: &Scene) -> String {
    let mut text = "\n".to_owned();
    for row in scene.map.draw(MAP_WIDTH, MAP_HEIGHT, Ink::Ascii).rows(false) {
        let _ = writeln!(text, "  {row}");
    }
    let up = scene.map.spots.iter().filter(|spot| spot.part != NOWHERE).count();
    let _ = writeln!(text, "\n  {} links, {up} nodes up, {} of them led", scene.map.links.len(), scene.led);
    for group in best(&scene.map, LISTED) {
        text.push('\n');
        for name in group {
            let spot = &scene.map.spots[name as usize];
            let worth = spot.capacity.unwrap_or(0);
            let bar = bar(usize::from(worth), 10_000, BAR, Ink::Ascii);
            let _ = writeln!(text, "  node {name:<2} {worth:>5} {bar:<BAR$} {}", word(spot.mark));
        }
    }
    text
}

fn word(mark: Mark) -> &'static str {
    match mark {
        Mark::Absent => "not started",
        Mark::Seeking => "no leader",
        Mark::Called => "called",
        Mark::Reported => "reported",
        Mark::Follows => "follows",
        Mark::Leads => "LEADS",
        Mark::Down => "down",
    }
}
