//! The documents: links lead somewhere, the summary names every page, every command runs, the page of results is what a
//! command prints, and the JSON has its schema.

#[cfg(unix)]
mod commands;
mod output;
mod results;
mod rows;
mod troubleshooting;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The documents with their folders.
fn documents() -> Vec<(PathBuf, String)> {
    let root = root();
    let listed = ["", "docs", "firmware", "host-sim", "protocol", "template"].map(|folder| root.join(folder));
    let files = listed.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let documents = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    documents.map(|file| (file.clone(), fs::read_to_string(&file).unwrap())).collect()
}

/// The targets of a document's links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let anchor = |heading: &str| {
        let kept =
            heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
        kept.replace(' ', "-")
    };
    for (file, text) in documents() {
        for link in links(&text).filter(|link| !link.starts_with("http")) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link}", file.display());
            if !fragment.is_empty() {
                let target = fs::read_to_string(&target).unwrap();
                let mut headings = target.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
                assert!(headings.any(|heading| anchor(heading) == fragment), "{}: {link}", file.display());
            }
        }
    }
}

#[test]
fn the_minimum_rust_version_is_the_same_everywhere() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let version = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    for file in ["protocol/README.md", "host-sim/README.md", "firmware/README.md", "template/Cargo.toml"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let said = [format!("Minimum supported Rust version: {version}."), format!("rust-version = \"{version}\"")];
        assert!(said.iter().any(|said| text.contains(said)), "{file} does not say {version}");
    }
}

#[test]
fn the_summary_names_every_page_and_the_readme_is_short() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let named: BTreeSet<String> = links(&summary).map(str::to_owned).collect();
    let is_page = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "md");
    let pages = fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap().path()).filter(is_page);
    let pages = pages.map(|file| file.file_name().unwrap().to_str().unwrap().to_owned());
    let pages: BTreeSet<String> = pages.filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(named, pages);
    assert!(fs::read_to_string(root().join("README.md")).unwrap().lines().count() <= 150);
}

/// The paragraphs and list items of a page outside of code and tables, each with the number of its first line.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut code, mut open) = (Vec::<(usize, String)>::new(), false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        code ^= line.starts_with("```");
        let ends = code || line.is_empty() || ["```", "|", "#"].iter().any(|start| line.starts_with(start));
        if ends {
            open = false;
        } else if open && !line.starts_with("- ") {
            let (_, text) = found.last_mut().unwrap();
            text.push(' ');
            text.push_str(line);
        } else {
            found.push((number, line.to_owned()));
            open = true;
        }
    }
    found
}

/// The pages that everybody reads first.
const READ_FIRST: [&str; 9] = [
    "README.md",
    "docs/README.md",
    "docs/tutorial.md",
    "docs/library.md",
    "docs/limits.md",
    "docs/playground.md",
    "docs/scenarios.md",
    "docs/super-peers.md",
    "docs/gateway.md",
];

#[test]
fn no_paragraph_is_a_wall_of_text() {
    const WORDS_MAX: usize = 85;
    let words = |text: &str| text.split_whitespace().count();
    for page in READ_FIRST {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let long = paragraphs(&text).into_iter().find(|(_, text)| words(text) > WORDS_MAX);
        assert_eq!(long.map(|(line, text)| (line, words(&text))), None, "{page}: a list is easier to read");
    }
    // A wall is found.
    let wall = format!("# Page\n\nshort\n\n- item\n- {}\n", "word ".repeat(WORDS_MAX + 1));
    let found: Vec<_> = paragraphs(&wall).into_iter().map(|(line, text)| (line, words(&text))).collect();
    assert_eq!(found, [(3, 1), (5, 2), (6, WORDS_MAX + 2)]);
}

#[test]
fn every_example_is_short() {
    let folders = ["protocol/examples", "host-sim/examples", "firmware/qemu/examples"];
    let files = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let paths = files.map(|entry| entry.unwrap().path());
    let sources = paths.filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let long: Vec<_> = sources.filter(|file| fs::read_to_string(file).unwrap().lines().count() >= 120).collect();
    assert_eq!(long, Vec::<PathBuf>::new(), "an example has less than 120 lines");
}
