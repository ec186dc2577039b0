//! The panel beside the map: the best nodes, the progress of the election, and the frames sent.

use super::playback::Scene;
use crate::draw::map::{Canvas, Charset, Map, Mark};
use crate::sim::topology::NO_COMPONENT;
use anstyle::{AnsiColor, Style};
use protocol::base::capacity::Capacity;
use std::collections::BTreeSet;

pub(super) const WIDTH: usize = 22;
const HEIGHT: usize = 17;

/// How many nodes are listed, in all components together.
const LISTED: usize = 6;
const BAR: usize = 10;

const DIM: Style = AnsiColor::BrightBlack.on_default();

pub(super) fn draw(scene: &Scene, charset: Charset) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, charset);
    canvas.text(0, 0, "the best by capacity", DIM);
    let mut row = 1;
    for group in best(&scene.map, LISTED) {
        for id in group {
            candidate(&scene.map, id, row, &mut canvas);
            row += 1;
        }
        row += 1;
    }
    election(scene, &mut canvas);
    air(scene, &mut canvas);
    canvas
}

/// Returns the best nodes of each component, at most `most` together. If there is one component, nodes that are down
/// are included.
pub(super) fn best(map: &Map, most: usize) -> Vec<Vec<u32>> {
    let parts = map.nodes.iter().map(|node| node.component).filter(|&part| part != NO_COMPONENT);
    // While nodes boot, components come and go: until a partition they count as one.
    let parts: BTreeSet<u32> = if map.partitioned { parts.collect() } else { [NO_COMPONENT].into() };
    let shown = |part: u32| {
        let mut ids: Vec<u32> = (0..map.nodes.len() as u32)
            .filter(|&id| {
                let node = &map.nodes[id as usize];
                node.mark != Mark::NotStarted && (part == NO_COMPONENT || node.component == part)
            })
            .collect();
        ids.sort_by_key(|&id| std::cmp::Reverse((map.nodes[id as usize].capacity, id)));
        ids.truncate(most / parts.len().max(1));
        ids
    };
    parts.iter().map(|&part| shown(part)).collect()
}

/// Returns a bar whose length is a share of a whole.
pub(super) fn bar(part: usize, whole: usize, length: usize, charset: Charset) -> String {
    let filled = (part * length).div_ceil(whole.max(1)).min(length);
    charset.choose("━", "=").repeat(filled)
}

fn candidate(map: &Map, id: u32, row: i64, canvas: &mut Canvas) {
    let node = &map.nodes[id as usize];
    let charset = canvas.charset;
    let capacity = node.capacity.unwrap_or(0);
    let style =
        if node.mark == Mark::Leads { Mark::Follows.style(node.colour).bold() } else { node.mark.style(node.colour) };
    let text = format!("{}{id:<2} {capacity:>5} ", node.mark.glyph(charset));
    let column = canvas.append(0, row, &text, style);
    canvas.text(column, row, &bar(usize::from(capacity), usize::from(Capacity::MAX.get()), BAR, charset), style);
}

fn election(scene: &Scene, canvas: &mut Canvas) {
    let up = scene.up();
    canvas.text(0, 8, &format!("{up} up, {} links", scene.map.links.len()), DIM);
    let counts = [
        ("called", scene.called, Mark::Called),
        ("reported", scene.reported, Mark::Reported),
        ("led", scene.led, Mark::Follows),
    ];
    for (row, (word, count, mark)) in (9..).zip(counts) {
        // Several leaders may lead: their followers have no common colour.
        let style = if mark == Mark::Follows { Style::new() } else { mark.style(0) };
        canvas.text(0, row, &format!("{word:<8}"), DIM);
        canvas.text(9, row, &bar(count, up, BAR, canvas.charset), style);
        canvas.text(20, row, &format!("{count:>2}"), style);
    }
}

fn air(scene: &Scene, canvas: &mut Canvas) {
    let total: u64 = scene.frames.values().sum();
    canvas.text(0, 13, &format!("frames sent, {total}"), DIM);
    let heartbeats = ("beat", "leader-heartbeat"); // the column has no room for the whole word
    let same = |name| (name, name);
    let shown = [[same("hello"), heartbeats], [same("election"), same("report")], [same("leader"), same("probe")]];
    for (row, pair) in (14..).zip(shown) {
        for (column, width, (label, name)) in [(0, 12, pair[0]), (13, 9, pair[1])] {
            let text = format!("{label} {:>room$}", scene.frames(name), room = width - label.len() - 1);
            canvas.text(column, row, &text, Style::new());
        }
    }
}
