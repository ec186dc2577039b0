//! What stands beside the map: the best nodes, how far the election is, what is on the air.

use super::tale::Scene;
use anstyle::{AnsiColor, Style};
use host_sim::map::{Canvas, Ink, Map, Mark};
use host_sim::topology::NOWHERE;
use protocol::capacity::Capacity;

pub(super) const WIDTH: usize = 22;
const HEIGHT: usize = 17;

/// How many nodes are listed, in all parts of the network together.
const LISTED: usize = 6;
const BAR: usize = 10;

const DIM: Style = AnsiColor::BrightBlack.on_default();

pub(super) fn draw(scene: &Scene, ink: Ink) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, ink);
    canvas.text(0, 0, "the best by capacity", DIM);
    let mut row = 1;
    for group in best(&scene.map, LISTED) {
        for name in group {
            candidate(&scene.map, name, row, &mut canvas);
            row += 1;
        }
        row += 1;
    }
    election(scene, &mut canvas);
    air(scene, &mut canvas);
    canvas
}

/// The best nodes of each part of the network, at most `most` together. Where there is one part, also those that are
/// down: it shows who would lead.
pub(super) fn best(map: &Map, most: usize) -> Vec<Vec<u32>> {
    let mut parts: Vec<u32> = map.spots.iter().map(|spot| spot.part).filter(|&part| part != NOWHERE).collect();
    parts.sort_unstable();
    parts.dedup();
    // While nodes start, parts come and go: until the network is cut it is one.
    let parts = if map.walled { parts } else { vec![NOWHERE] };
    let shown = |part: u32| {
        let mut names: Vec<u32> = (0..map.spots.len() as u32)
            .filter(|&name| {
                let spot = &map.spots[name as usize];
                spot.mark != Mark::Absent && (part == NOWHERE || spot.part == part)
            })
            .collect();
        names.sort_by_key(|&name| std::cmp::Reverse((map.spots[name as usize].capacity, name)));
        names.truncate(most / parts.len().max(1));
        names
    };
    parts.iter().map(|&part| shown(part)).collect()
}

/// A bar as long as a share of a whole.
pub(super) fn bar(part: usize, whole: usize, length: usize, ink: Ink) -> String {
    let filled = (part * length).div_ceil(whole.max(1)).min(length);
    match ink {
        Ink::Fine => "━",
        Ink::Ascii => "=",
    }
    .repeat(filled)
}

fn candidate(map: &Map, name: u32, row: i64, canvas: &mut Canvas) {
    let spot = &map.spots[name as usize];
    let ink = canvas.ink();
    let worth = spot.capacity.unwrap_or(0);
    let style =
        if spot.mark == Mark::Leads { Mark::Follows.style(spot.party).bold() } else { spot.mark.style(spot.party) };
    let text = format!("{}{name:<2} {worth:>5} ", spot.mark.glyph(ink));
    let column = canvas.append(0, row, &text, style);
    canvas.text(column, row, &bar(usize::from(worth), usize::from(Capacity::MAX.get()), BAR, ink), style);
}

fn election(scene: &Scene, canvas: &mut Canvas) {
    let up = scene.map.spots.iter().filter(|spot| spot.part != NOWHERE).count();
    canvas.text(0, 8, &format!("{up} up, {} links", scene.map.links.len()), DIM);
    let counts = [
        ("called", scene.called, Mark::Called),
        ("reported", scene.reported, Mark::Reported),
        ("led", scene.led, Mark::Follows),
    ];
    for (row, (word, count, mark)) in (9..).zip(counts) {
        // "Led" may mean by several: then it has nobody's colour.
        let style = if mark == Mark::Follows { Style::new() } else { mark.style(0) };
        canvas.text(0, row, &format!("{word:<8}"), DIM);
        canvas.text(9, row, &bar(count, up, BAR, canvas.ink()), style);
        canvas.text(20, row, &format!("{count:>2}"), style);
    }
}

fn air(scene: &Scene, canvas: &mut Canvas) {
    let total: u64 = scene.frames.iter().map(|(_, frames)| frames).sum();
    canvas.text(0, 13, &format!("frames sent, {total}"), DIM);
    let shown = [["hello", "beat"], ["election", "ack"], ["leader", "probe"]];
    for (row, pair) in (14..).zip(shown) {
        for (column, width, kind) in [(0, 12, pair[0]), (13, 9, pair[1])] {
            let frames = scene.frames.iter().find(|(known, _)| *known == kind).map_or(0, |&(_, frames)| frames);
            let text = format!("{kind} {frames:>room$}", room = width - kind.len() - 1);
            canvas.text(column, row, &text, Style::new());
        }
    }
}
