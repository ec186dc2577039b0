//! Changes to the text of a scenario: its other lines, and its comments, stay as they are.

use crate::sim::topology::Point;
use serde::Deserialize;
use std::fmt::Write as _;

/// What nodes do beside electing.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Workload {
    /// They contend for a lock by this algorithm.
    Mutex(String),
    /// They run this application, or make requests.
    App(String),
}

impl Workload {
    /// The word for the requests to super-peers among the applications.
    pub(super) const REQUESTS: &'static str = "requests";
    /// The word for nothing.
    const NONE: &'static str = "none";
    /// Faults that are requests to an application.
    const APP_FAULTS: [&'static str; 3] = ["snapshot", "detect-termination", "start"];
}

/// Returns whether a line begins a table. An array may go on with a line that begins with a bracket, too.
fn is_header(line: &str) -> bool {
    let name = line.trim().trim_start_matches('[');
    name.len() < line.trim().len() && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns the text with a key of a table set to a value as TOML writes it; the table `""` is the file itself.
#[must_use]
pub fn set_key(text: &str, table: &str, key: &str, value: &str) -> String {
    let line = format!("{key} = {value}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let start = if table.is_empty() {
        Some(0)
    } else {
        lines.iter().position(|line| line.trim() == format!("[{table}]")).map(|at| at + 1)
    };
    let Some(start) = start else {
        return format!("{}\n\n[{table}]\n{line}\n", text.trim_end());
    };
    let end = lines[start..].iter().position(|line| is_header(line)).map_or(lines.len(), |len| start + len);
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
        if is_header(line) {
            inside = line.trim() == format!("[{table}]");
        }
        if !inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Returns the text with this workload and no other: the tables, claims and faults of the one before are left out. Another
/// lock keeps the contenders and times of the one before.
pub(super) fn with_workload(text: &str, workload: &Workload) -> String {
    let of_app = |fault: &str| Workload::APP_FAULTS.iter().any(|word| is_key(fault, "do", &format!("\"{word}\"")));
    let text =
        ["expect", "app", "service"].into_iter().fold(text.to_owned(), |text, table| without_table(&text, table));
    let text = map_faults(&text, |fault| (!of_app(fault)).then(|| fault.to_owned()));
    match workload {
        Workload::Mutex(name) if name != Workload::NONE => set_key(&text, "locks", "mutex", &format!("{name:?}")),
        Workload::Mutex(_) => without_table(&text, "locks"),
        Workload::App(name) => {
            let text = without_table(&text, "locks");
            match name.as_str() {
                Workload::NONE => text,
                Workload::REQUESTS => set_key(&text, "service", "every", "\"5s\""),
                kind => set_key(&text, "app", "kind", &format!("{kind:?}")),
            }
        }
    }
}

/// Returns whether a line of a table sets a key to this value.
fn is_key(table: &str, key: &str, value: &str) -> bool {
    let pairs = table.lines().filter_map(|line| line.split_once('='));
    pairs.into_iter().any(|(name, given)| name.trim() == key && given.trim() == value)
}

/// Returns the text with other tables `[[faults]]`; one that becomes `None` is left out. They are given without their head.
fn map_faults(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    const HEAD: &str = "[[faults]]\n";
    let mut parts = text.split(HEAD);
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let lines = part.split_inclusive('\n').take_while(|line| !is_header(line));
        let end = lines.map(str::len).sum();
        let (fault, rest) = part.split_at(end);
        if let Some(fault) = change(fault) {
            changed.extend([HEAD, &fault]);
        }
        changed.push_str(rest);
    }
    changed
}

/// Returns the text without a node in its faults and lists; a node after it has the id before its own.
pub(super) fn without_node(text: &str, id: u32) -> String {
    let text = map_faults(text, |fault| fault_without_node(fault, id));
    let lists = |line: &str| ["contenders", "ineligible"].iter().any(|key| line.trim_start().starts_with(key));
    text.lines().map(|line| if lists(line) { renumbered(line, id) } else { line.to_owned() } + "\n").collect()
}

/// Returns the keys of a fault without a node; `None` if it is a fault of that node alone.
pub(super) fn fault_without_node(fault: &str, id: u32) -> Option<String> {
    let mut changed = String::new();
    for line in fault.lines() {
        let Some(key) = line.split('=').next().filter(|key| ["node", "sets", "from", "to"].contains(&key.trim()))
        else {
            changed.extend([line, "\n"]);
            continue;
        };
        let value = renumbered(&line[key.len()..], id);
        if ["=", "= []", "= [[]]"].contains(&value.trim()) {
            return None;
        }
        changed.extend([key, &value, "\n"]);
    }
    let end = if fault.ends_with('\n') { changed.len() } else { changed.trim_end().len() };
    changed.truncate(end);
    Some(changed)
}

/// Returns a value without an id; higher ones are lower by one. What stands in quotes is no id.
fn renumbered(value: &str, id: u32) -> String {
    let mut changed = String::new();
    let mut rest = value;
    let mut quoted = false;
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = rest[..digits].parse::<u32>().ok().filter(|_| !quoted);
        let length = number.map_or(first.len_utf8(), |_| digits);
        match number {
            Some(number) if number == id => {
                // With the comma before or after it.
                if changed.trim_end().ends_with(',') {
                    changed.truncate(changed.trim_end().len() - 1);
                } else if let Some(after) = rest[length..].trim_start().strip_prefix(',') {
                    rest = after.trim_start();
                    continue;
                }
            }
            Some(number) => changed.push_str(&(number - u32::from(number > id)).to_string()),
            None => {
                quoted ^= first == '"';
                changed.push(first);
            }
        }
        rest = &rest[length..];
    }
    changed
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
    fn a_line_of_an_array_begins_no_table() {
        let text = "nodes = 2\n[topology]\nshape = \"positions\"\npositions = [\n  [0, 1],\n[2, 3],\n]\n[medium]\nloss = \"5%\"\n";
        assert_eq!(without_table(text, "topology"), "nodes = 2\n[medium]\nloss = \"5%\"\n");
        assert!(set_key(text, "topology", "columns", "1").contains("]\ncolumns = 1\n[medium]"));
    }

    #[test]
    fn a_table_is_left_out_with_all_its_lines() {
        assert_eq!(without_table(TEXT, "expect"), TEXT.split("[expect]").next().unwrap());
        assert_eq!(without_table(TEXT, "locks"), TEXT);
    }

    #[test]
    fn a_lock_takes_the_place_of_an_application_and_of_what_belongs_to_it() {
        let job = "name = \"x\"\n\n[app]\nkind = \"diffusing\"\n\n[[faults]]\nat = \"1s\"\ndo = \"start\"\nnode = 0\n\n\
                   [[faults]]\nat = \"2s\"\ndo = \"heal\"\n\n[expect]\nterminations = 1\n";
        let none = "name = \"x\"\n\n[[faults]]\nat = \"2s\"\ndo = \"heal\"\n";
        let choose = |text: &str, workload| with_workload(text, &workload).replace("\n\n\n", "\n\n");
        assert_eq!(choose(job, Workload::App("none".to_owned())).trim_end(), none.trim_end());
        let locked = choose(job, Workload::Mutex("ricart-agrawala".to_owned()));
        assert_eq!(locked, format!("{none}\n[locks]\nmutex = \"ricart-agrawala\"\n"));
        let other = choose(&locked.replace("\"\n", "\"\nhold = \"1s\"\n"), Workload::Mutex("central".to_owned()));
        assert!(other.contains("[locks]\nmutex = \"central\"\nhold = \"1s\"\n"), "{other}");
        let clock = choose(&locked, Workload::App("clock".to_owned()));
        assert_eq!(clock, format!("{none}\n[app]\nkind = \"clock\"\n"));
        let requests = choose(&clock, Workload::App("requests".to_owned()));
        assert_eq!(requests, format!("{none}\n[service]\nevery = \"5s\"\n"));
    }

    #[test]
    fn a_removed_node_is_in_no_fault_and_later_ones_move_up() {
        for (fault, expected) in [
            ("do = \"crash\"\nnode = 3", None),
            ("do = \"crash\"\nnode = 12", Some("do = \"crash\"\nnode = 11")),
            ("do = \"crash\"\nnode = \"leader\"", Some("do = \"crash\"\nnode = \"leader\"")),
            ("do = \"partition\"\nsets = [[1, 3, 5]]", Some("do = \"partition\"\nsets = [[1, 4]]")),
            ("do = \"partition\"\nsets = [[3, 5]]", Some("do = \"partition\"\nsets = [[4]]")),
            ("do = \"one-way\"\nfrom = [3]\nto = [2]", None),
            ("do = \"move\"\nnode = 4\nposition = [3, 5]", Some("do = \"move\"\nnode = 3\nposition = [3, 5]")),
        ] {
            assert_eq!(fault_without_node(fault, 3).as_deref(), expected, "{fault}");
        }
        let text = "[locks]\ncontenders = [2, 3, 4]\n[[faults]]\nat = \"3s\"\nnode = 3\n[[faults]]\nat = \"3s\"\nnode = 4\n[expect]\na = 3\n";
        let expected = "[locks]\ncontenders = [2, 3]\n[[faults]]\nat = \"3s\"\nnode = 3\n[expect]\na = 3\n";
        assert_eq!(without_node(text, 3), expected);
    }

    #[test]
    fn positions_take_the_place_of_a_shape() {
        let points = [Point { x: 0.0, y: 0.5 }, Point { x: -3.25, y: 1.0 }, Point { x: 9.0, y: 9.0 }];
        let text = with_positions(TEXT, &points);
        let expected = "[topology]\nshape = \"positions\"\npositions = [[0.0, 0.5], [-3.25, 1.0], [9.0, 9.0], ]\n";
        assert!(text.contains("nodes = 3\n") && text.ends_with(expected), "{text}");
    }
}
