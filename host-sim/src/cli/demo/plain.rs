//! The playback as plain text: every line, and the map at the end of every phase.

use super::frame::wrap;
use super::panel::{bar, best};
use super::playback::{Phase, Playback, Scene};
use crate::draw::map::{Charset, Mark};
use std::fmt::Write as _;

const WIDTH: usize = 79;
const MAP_WIDTH: usize = 57;
const MAP_HEIGHT: usize = 17;

/// How many of the best nodes are listed, and the length of their bars.
const LISTED: usize = 6;
const BAR: usize = 40;

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
