//! Changes to the text of a scenario: its other lines, and its comments, stay as they are.

use crate::sim::topology::Point;
use std::fmt::Write as _;

/// Returns the text with a key of a table set to a value as TOML writes it; the table `""` is the file itself.
#[must_use]
pub fn set_key(text: &str, table: &str, key: &str, value: &str) -> String {
    let line = format!("{key} = {value}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let header = |line: &str| line.trim_start().starts_with('[');
    let start = if table.is_empty() {
        Some(0)
    } else {
        lines.iter().position(|line| line.trim() == format!("[{table}]")).map(|at| at + 1)
    };
    let Some(start) = start else {
        return format!("{}\n\n[{table}]\n{line}\n", text.trim_end());
    };
    let end = lines[start..].iter().position(|line| header(line)).map_or(lines.len(), |len| start + len);
    let is_key = |line: &String| line.split_once('=').is_some_and(|(before, _)| before.trim() == key);
    if let Some(at) = lines[start..end].iter().position(is_key) {
        lines[start + at] = line;
    } else {
        let last = lines[start..end].iter().rposition(|line| !line.trim().is_empty());
        lines.insert(last.map_or(start, |last| start + last + 1), line);
    }
    lines.join("\n") + "\n"
}

/// Returns the text without a table, such as `[expect]`.
#[must_use]
pub fn without_table(text: &str, table: &str) -> String {
    let (mut kept, mut inside) = (String::new(), false);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            inside = trimmed == format!("[{table}]");
        }
        if !inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Returns the text with every node at a position of its own.
#[must_use]
pub fn with_positions(text: &str, points: &[Point]) -> String {
    let mut positions = String::from("[");
    for Point { x, y } in points {
        let _ = write!(positions, "[{x:?}, {y:?}], ");
    }
    positions.push(']');
    let text = set_key(&without_table(text, "topology"), "", "nodes", &points.len().to_string());
    let text = set_key(&text, "topology", "shape", "\"positions\"");
    set_key(&text, "topology", "positions", &positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A pair.\nname = \"pair\"\nnodes = 2\n\n[topology]\nshape = \"line\"\n\n[[faults]]\nat = \"1s\"\ndo = \"heal\"\n\n[expect]\ngrants = 1\n";

    #[test]
    fn a_key_is_replaced_or_added_where_it_belongs() {
        let text = set_key(TEXT, "", "nodes", "3");
        assert!(text.starts_with("# A pair.\nname = \"pair\"\nnodes = 3\n\n[topology]\n"), "{text}");
        let text = set_key(TEXT, "", "mode", "\"quorum\"");
        assert!(text.starts_with("# A pair.\nname = \"pair\"\nnodes = 2\nmode = \"quorum\"\n\n[topology]\n"), "{text}");
        let text = set_key(TEXT, "topology", "spacing", "12");
        assert!(text.contains("[topology]\nshape = \"line\"\nspacing = 12\n\n[[faults]]"), "{text}");
        assert!(set_key(TEXT, "medium", "loss", "\"5%\"").ends_with("grants = 1\n\n[medium]\nloss = \"5%\"\n"));
    }

    #[test]
    fn a_table_is_left_out_with_all_its_lines() {
        assert_eq!(without_table(TEXT, "expect"), TEXT.split("[expect]").next().unwrap());
        assert_eq!(without_table(TEXT, "locks"), TEXT);
    }

    #[test]
    fn positions_take_the_place_of_a_shape() {
        let points = [Point { x: 0.0, y: 0.5 }, Point { x: -3.25, y: 1.0 }, Point { x: 9.0, y: 9.0 }];
        let text = with_positions(TEXT, &points);
        let expected = "[topology]\nshape = \"positions\"\npositions = [[0.0, 0.5], [-3.25, 1.0], [9.0, 9.0], ]\n";
        assert!(text.contains("nodes = 3\n") && text.ends_with(expected), "{text}");
    }
}
