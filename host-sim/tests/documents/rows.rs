//! The table of rows: every row is there, and every test it names exists.

use super::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The rows by the letters of their ids, and how many there are of each.
const ROWS: [(&str, u32); 19] = [
    ("E", 12),
    ("B", 16),
    ("R", 9),
    ("C", 9),
    ("L", 2),
    ("G", 1),
    ("W", 3),
    ("P", 2),
    ("F", 4),
    ("M", 6),
    ("MC", 6),
    ("MT", 4),
    ("ML", 4),
    ("MR", 7),
    ("MK", 9),
    ("MD", 2),
    ("S-", 3),
    ("T-", 3),
    ("X", 19),
];

/// The names of all functions under a folder.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            functions(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&entry).unwrap();
            let names = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            found.extend(names.map(str::to_owned));
        }
    }
}

/// The cells of every row of the page.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines =
        text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| row") && !line.starts_with("| ---"));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

#[test]
fn every_row_has_a_test_that_exists_or_says_that_it_is_not_built() {
    let page = fs::read_to_string(root().join("docs/rows.md")).unwrap();
    let mut known = BTreeSet::new();
    for folder in ["protocol/src", "protocol/tests", "host-sim/src", "host-sim/tests", "firmware/src"] {
        functions(&root().join(folder), &mut known);
    }
    let mut listed = Vec::new();
    for row in rows(&page) {
        let [id, _, _, tests, _] = row[..] else { panic!("a row has five cells: {row:?}") };
        listed.push(id.to_owned());
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty() || tests.contains("not built"), "{id} names no test");
        for test in named {
            assert!(known.contains(test), "{id}: there is no test {test}");
        }
    }
    let all = ROWS.iter().flat_map(|(letters, count)| (1..=*count).map(move |number| format!("{letters}{number}")));
    assert_eq!(listed.iter().collect::<BTreeSet<_>>(), all.collect::<Vec<_>>().iter().collect(), "every row, once");
    assert_eq!(listed.len(), listed.iter().collect::<BTreeSet<_>>().len());
}
