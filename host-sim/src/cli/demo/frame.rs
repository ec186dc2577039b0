//! One frame on the terminal: the phase, the map, the panel beside it, the legend, and the latest lines.

use super::panel;
use super::playback::{Phase, Playback, Scene};
use crate::draw::map::{Canvas, Charset, Mark};
use anstyle::{AnsiColor, Style};

const DIM: Style = AnsiColor::BrightBlack.on_default();
const BOLD: Style = Style::new().bold();
const NOW: Style = Style::new().bold().underline();

/// The rows above the map, and of lines at least.
const HEAD: usize = 2;
const LINES: usize = 4;

/// Draws a scene for a terminal of this width and height.
pub(super) fn draw(playback: &Playback, scene: &Scene, (width, height): (usize, usize), charset: Charset) -> Canvas {
    let mut canvas = Canvas::new(width, height, charset);
    // A column stays free before the panel; without room for both, the panel is dropped.
    let panel = if width >= 76 { panel::WIDTH + 1 } else { 0 };
    let map_width = (width - panel).min(100);
    let map_height = height.saturating_sub(HEAD + legend_rows(width) + LINES).clamp(8, 27);
    head(playback, scene, &mut canvas);
    canvas.paste(0, HEAD as i64, &scene.map.draw(map_width, map_height, charset));
    if panel > 0 {
        canvas.paste(map_width as i64 + 1, HEAD as i64, &panel::draw(scene, charset));
    }
    let below = HEAD + map_height;
    legend(below as i64, &mut canvas);
    lines(scene, below + legend_rows(width), &mut canvas);
    canvas
}

/// The keys, where there is room.
const KEYS: &str = "space pauses, n is next, q ends";

fn head(playback: &Playback, scene: &Scene, canvas: &mut Canvas) {
    let clock = format!("{:.3} s", scene.at as f64 / 1e6);
    let (nodes, seed) = (playback.scenario.world.nodes, playback.seed);
    let mut column = canvas.append(1, 0, "conclave", BOLD);
    let end = canvas.width as i64 - 1 - clock.len() as i64;
    for text in [format!("{nodes} radio nodes, seed {seed}"), KEYS.to_owned()] {
        if column + 3 + (text.len() as i64) < end {
            column = canvas.append(column + 3, 0, &text, DIM);
        }
    }
    canvas.text(end, 0, &clock, BOLD);
    let all: usize = Phase::ALL.iter().map(|phase| phase.heading().len() + 4).sum();
    let mut column = 1;
    for (number, phase) in (1..).zip(Phase::ALL) {
        let style = match phase.cmp(&scene.phase) {
            std::cmp::Ordering::Less => Style::new(),
            std::cmp::Ordering::Equal => NOW,
            std::cmp::Ordering::Greater => DIM,
        };
        // Without room for all headings there is one.
        let whole = all <= canvas.width || phase == scene.phase;
        let text = if whole { format!("{number} {}", phase.heading()) } else { number.to_string() };
        column = canvas.append(column, 1, &text, style) + 2;
    }
}

/// The marks of the legend.
const MARKS: [Mark; 6] = [Mark::Leaderless, Mark::Called, Mark::Reported, Mark::Follows, Mark::Leads, Mark::Down];

/// Returns how many rows the legend of the map takes.
fn legend_rows(width: usize) -> usize {
    let whole: usize = MARKS.iter().map(|mark| mark.word().len() + 4).sum();
    if whole <= width { 1 } else { 2 }
}

/// The legend of the map.
fn legend(top: i64, canvas: &mut Canvas) {
    let rows = legend_rows(canvas.width);
    for (row, marks) in (top..).zip(MARKS.chunks(MARKS.len() / rows)) {
        let mut column = 1;
        for mark in marks {
            // The colours of the first leader stand for all.
            let style = if *mark == Mark::Leads { Mark::Follows.style(0).bold() } else { mark.style(0) };
            column = canvas.append(column, row, &mark.glyph(canvas.charset).to_string(), style);
            column = canvas.append(column, row, &format!(" {}", mark.word()), DIM) + 2;
        }
    }
}

/// Draws the latest lines, as many as fit.
fn lines(scene: &Scene, top: usize, canvas: &mut Canvas) {
    let room = canvas.height().saturating_sub(top);
    let mut rows: Vec<(String, Style)> = Vec::new();
    for (age, line) in scene.lines.iter().rev().enumerate() {
        let style = match (age, line.is_alone()) {
            (0, _) => BOLD,
            (_, true) => Style::new(),
            (_, false) => DIM,
        };
        let wrapped = wrap(&line.time(), &line.text(), canvas.width.saturating_sub(1));
        if rows.len() + wrapped.len() > room {
            break;
        }
        rows.extend(wrapped.into_iter().rev().map(|row| (row, style)));
    }
    for (row, (text, style)) in (top as i64..).zip(rows.into_iter().rev()) {
        canvas.text(0, row, &text, style);
    }
}

/// Wraps a text into rows of at most `width`, of which the first begins with `first`.
pub(super) fn wrap(first: &str, text: &str, width: usize) -> Vec<String> {
    let indent = first.chars().count();
    let mut rows = vec![first.to_owned()];
    for word in text.split(' ') {
        let last = rows.last_mut().expect("there is a first row");
        if last.len() > indent && last.len() + 1 + word.len() > width {
            rows.push(format!("{:indent$} {word}", ""));
        } else {
            *last += " ";
            *last += word;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(seed: u64, scene: usize, size: (usize, usize), charset: Charset) -> Vec<String> {
        let playback = Playback::of(seed);
        draw(&playback, &playback.scenes[scene], size, charset).rows(false).collect()
    }

    #[test]
    fn no_frame_is_larger_than_its_terminal_however_small() {
        for size in [(80, 24), (200, 60), (60, 20), (20, 5), (1, 1)] {
            for scene in [0, 60, 150] {
                let rows = rows(1, scene, size, Charset::Unicode);
                assert!(rows.len() <= size.1 && rows.iter().all(|row| row.chars().count() <= size.0), "{size:?}");
            }
        }
    }

    #[test]
    fn on_60_columns_nothing_overlaps_and_nothing_is_cut() {
        let playback = Playback::of(0);
        for scene in playback.scenes.iter().filter(|scene| scene.phase > Phase::Start) {
            let rows: Vec<String> = draw(&playback, scene, (60, 20), Charset::Ascii).rows(false).collect();
            let clock = format!(" {:.3} s", scene.at as f64 / 1e6);
            assert!(rows[0].ends_with(&clock) && rows[0].contains("seed 0"), "{}", rows[0]);
            assert!(rows[1].contains(scene.phase.heading()), "{}", rows[1]);
            let text = rows.join("\n");
            for word in MARKS.map(Mark::word) {
                assert!(text.contains(word), "{word} is missing in\n{text}");
            }
            for (id, node) in scene.map.nodes.iter().enumerate() {
                let label = format!("{}{id} {}", node.mark.glyph(Charset::Ascii), node.capacity.unwrap());
                assert!(text.contains(&label), "{label} is missing in\n{text}");
            }
        }
    }

    #[test]
    fn every_node_and_the_latest_line_are_visible_on_80_columns_and_24_rows() {
        let playback = Playback::of(3);
        for scene in playback.scenes.iter().filter(|scene| scene.phase > Phase::Start) {
            let text = draw(&playback, scene, (80, 24), Charset::Ascii).rows(false).collect::<Vec<_>>().join("\n");
            for node in &scene.map.nodes {
                let capacity = node.capacity.unwrap();
                assert!(text.contains(&format!(" {capacity}")), "{capacity} is missing in\n{text}");
            }
            let last = scene.lines.last().unwrap().text();
            assert!(text.contains(last.split(',').next().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_long_line_is_indented_under_its_beginning() {
        assert_eq!(wrap(" 1 s", "one two three", 12), [" 1 s one two", "     three"]);
        assert_eq!(wrap("", "unbreakable", 3), [" unbreakable"]);
    }
}
