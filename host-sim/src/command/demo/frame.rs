//! One frame on the terminal: where the tale is, the map, the panel beside it, what the signs mean, the latest lines.

use super::panel;
use super::tale::{Scene, Stage, Tale};
use anstyle::{AnsiColor, Style};
use host_sim::map::{Canvas, Ink, Mark};

const DIM: Style = AnsiColor::BrightBlack.on_default();
const BOLD: Style = Style::new().bold();
const NOW: Style = Style::new().bold().underline();

/// Rows above the map, below it, and of lines at least.
const HEAD: usize = 2;
const LEGEND: usize = 1;
const LINES: usize = 4;

/// Draws a scene for a terminal of this width and height.
pub(super) fn draw(tale: &Tale, scene: &Scene, (width, height): (usize, usize), ink: Ink) -> Canvas {
    let mut canvas = Canvas::new(width, height, ink);
    // A column stays free before the panel; without room for both, the map is worth more.
    let panel = if width >= 76 { panel::WIDTH + 1 } else { 0 };
    let map_width = (width - panel).min(100);
    let map_height = height.saturating_sub(HEAD + LEGEND + LINES).clamp(8, 27);
    head(tale, scene, &mut canvas);
    canvas.paste(0, HEAD as i64, &scene.map.draw(map_width, map_height, ink));
    if panel > 0 {
        canvas.paste(map_width as i64 + 1, HEAD as i64, &panel::draw(scene, ink));
    }
    let below = HEAD + map_height;
    legend(below as i64, &mut canvas);
    lines(scene, below + LEGEND, &mut canvas);
    canvas
}

fn head(tale: &Tale, scene: &Scene, canvas: &mut Canvas) {
    let clock = format!("{:.3} s", scene.at as f64 / 1e6);
    let title = canvas.append(1, 0, "conclave", BOLD);
    canvas.text(
        title,
        0,
        &format!("   {} radio nodes and their capacities, seed {}", tale.scenario.nodes, tale.seed),
        DIM,
    );
    canvas.text(canvas.width() as i64 - 1 - clock.len() as i64, 0, &clock, BOLD);
    let mut column = 1;
    for (number, stage) in (1..).zip(Stage::ALL) {
        let style = match stage.cmp(&scene.stage) {
            std::cmp::Ordering::Less => Style::new(),
            std::cmp::Ordering::Equal => NOW,
            std::cmp::Ordering::Greater => DIM,
        };
        column = canvas.append(column, 1, &format!("{number} {}", stage.heading()), style) + 2;
    }
}

/// What the signs on the map mean.
fn legend(row: i64, canvas: &mut Canvas) {
    let signs = [
        (Mark::Seeking, "no leader"),
        (Mark::Called, "called"),
        (Mark::Reported, "reported"),
        (Mark::Follows, "follows"),
        (Mark::Leads, "leads"),
        (Mark::Down, "down"),
    ];
    let mut column = 1;
    for (mark, word) in signs {
        // Here the colours of the first party stand for all.
        let style = if mark == Mark::Leads { Mark::Follows.style(0).bold() } else { mark.style(0) };
        column = canvas.append(column, row, &mark.glyph(canvas.ink()).to_string(), style);
        column = canvas.append(column, row, &format!(" {word}"), DIM) + 2;
    }
}

/// The latest lines, as many as there is room for.
fn lines(scene: &Scene, top: usize, canvas: &mut Canvas) {
    let room = canvas.height().saturating_sub(top);
    let mut rows: Vec<(String, Style)> = Vec::new();
    for (age, line) in scene.lines.iter().rev().enumerate() {
        let style = match (age, line.is_alone()) {
            (0, _) => BOLD,
            (_, true) => Style::new(),
            (_, false) => DIM,
        };
        let wrapped = wrap(&line.time(), &line.text(), canvas.width().saturating_sub(1));
        if rows.len() + wrapped.len() > room {
            break;
        }
        rows.extend(wrapped.into_iter().rev().map(|row| (row, style)));
    }
    for (row, (text, style)) in (top as i64..).zip(rows.into_iter().rev()) {
        canvas.text(0, row, &text, style);
    }
}

/// A text in rows of at most `width`, the first of which begins with `first`.
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

    fn rows(seed: u64, scene: usize, size: (usize, usize), ink: Ink) -> Vec<String> {
        let tale = Tale::of(seed);
        draw(&tale, &tale.scenes[scene], size, ink).rows(false).collect()
    }

    #[test]
    fn no_frame_is_larger_than_its_terminal_however_small() {
        for size in [(80, 24), (200, 60), (60, 20), (20, 5), (1, 1)] {
            for scene in [0, 60, 150] {
                let rows = rows(1, scene, size, Ink::Fine);
                assert!(rows.len() <= size.1 && rows.iter().all(|row| row.chars().count() <= size.0), "{size:?}");
            }
        }
    }

    #[test]
    fn every_name_and_the_latest_line_are_to_be_seen_on_80_columns_and_24_rows() {
        let tale = Tale::of(3);
        for scene in tale.scenes.iter().filter(|scene| scene.stage > Stage::Start) {
            let text = draw(&tale, scene, (80, 24), Ink::Ascii).rows(false).collect::<Vec<_>>().join("\n");
            for spot in &scene.map.spots {
                let worth = spot.capacity.unwrap();
                assert!(text.contains(&format!(" {worth}")), "{worth} is missing in\n{text}");
            }
            let last = scene.lines.last().unwrap().text();
            assert!(text.contains(last.split(',').next().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_long_line_goes_on_under_its_own_beginning() {
        assert_eq!(wrap(" 1 s", "one two three", 12), [" 1 s one two", "     three"]);
        assert_eq!(wrap("", "unbreakable", 3), [" unbreakable"]);
    }
}
