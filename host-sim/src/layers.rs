//! Layers: the top-level modules of a crate depend on each other without a cycle.
//!
//! A dependency is a path that starts with `crate::` or enough `super::`, outside comments, strings and
//! `#[cfg(test)]` items. A name that a crate root exports again counts as the module it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// For each module, the modules it uses, each with the first place that does.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// Source files by path below `src`.
type Sources = BTreeMap<String, String>;

fn read(folder: &Path, below: &str, sources: &mut Sources) {
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("a folder can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("file names are UTF-8").to_owned();
        if path.is_dir() {
            read(&path, &format!("{below}{name}/"), sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.insert(format!("{below}{name}"), fs::read_to_string(&path).expect("a source file can be read"));
        }
    }
}

/// Returns the text with comments and literals blanked; line breaks stay.
fn blank_comments_and_literals(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let raw = rest.strip_prefix('r').map(|after| after.bytes().take_while(|&byte| byte == b'#').count());
        let in_word = clean.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw.filter(|hashes| !in_word && rest[1 + hashes..].starts_with('"')) {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = 2 + hashes;
            rest[body..].find(&end).map_or(rest.len(), |at| body + at + end.len())
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if let Some(literal) = rest.strip_prefix('\'') {
            let content = literal.chars().next().map_or(0, char::len_utf8);
            match (literal.strip_prefix('\\'), literal[content..].starts_with('\'')) {
                (Some(escape), _) => 3 + escape.get(1..).and_then(|rest| rest.find('\'')).unwrap_or(0),
                (None, true) => content + 2,
                (None, false) => 0, // a lifetime
            }
        } else {
            0
        };
        if length == 0 {
            clean.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            clean.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    clean
}

/// Removes the items under `#[cfg(test)]`; returns the names of test modules that have files of their own.
fn remove_test_items(text: &mut String) -> Vec<String> {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut modules = Vec::new();
    while let Some(start) = text.find(ATTRIBUTE) {
        let mut depth = 0;
        let body = start + ATTRIBUTE.len();
        let end = text[body..].char_indices().find_map(|(at, c)| {
            match c {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {} // neither opens nor closes anything
            }
            let ends = depth < 0 || depth == 0 && matches!(c, ';' | '}');
            ends.then_some(body + at + usize::from(depth == 0))
        });
        let end = end.unwrap_or(text.len());
        let item = text[body..end].trim_end_matches(';');
        modules.extend(item.split_once("mod ").filter(|(_, name)| !name.contains('{')).map(|(_, name)| name.into()));
        let blank: String = text[start..end].chars().filter(|&c| c == '\n').collect();
        text.replace_range(start..end, &blank);
    }
    modules
}

fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Returns the module path of a source file.
fn module_of(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// Returns the names right below the crate root that a text uses, each with its byte position.
fn root_names(text: &str, depth: usize) -> Vec<(usize, String)> {
    let supers = "super::".repeat(depth);
    let roots = ["crate::"].into_iter().chain((depth > 0).then_some(supers.as_str()));
    let starts = roots.flat_map(|root| text.match_indices(root)).filter(|&(at, _)| {
        !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$'))
            && !text[..at].ends_with("in ")
    });
    let names = starts.flat_map(|(at, root)| {
        let path = &text[at + root.len()..];
        let Some(group) = path.strip_prefix('{') else { return vec![(at, identifier(path).to_owned())] };
        let mut depth = 0;
        let items = group.split(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth < 0 || depth == 0 && c == ','
        });
        items.take_while(|item| !item.contains(';')).map(|item| (at, identifier(item.trim()).to_owned())).collect()
    });
    names.filter(|(_, name)| !name.is_empty()).collect()
}

/// Returns the names that a crate root exports again, with the module of each.
fn exports(root: &str) -> BTreeMap<String, String> {
    let uses = root.split("pub use ").skip(1).filter_map(|rest| rest.split_once(';'));
    let leaves = uses.flat_map(|(path, _)| {
        let module = identifier(path).to_owned();
        let words = path.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.map(move |word| (word.to_owned(), module.clone())).collect::<Vec<_>>()
    });
    leaves.collect()
}

fn graph(mut sources: Sources) -> Graph {
    let mut test_files = Vec::new();
    for (path, text) in &mut sources {
        *text = blank_comments_and_literals(text);
        let folder = module_of(path).join("/");
        let folder = if folder.is_empty() { folder } else { folder + "/" };
        test_files.extend(remove_test_items(text).into_iter().map(|name| format!("{folder}{name}")));
    }
    let is_test = |path: &str| {
        test_files.iter().any(|test| path == format!("{test}.rs") || path.starts_with(&format!("{test}/")))
    };
    let modules: BTreeSet<&str> = sources.keys().filter_map(|path| module_of(path).first().copied()).collect();
    let exports = sources.get("lib.rs").map(|root| exports(root)).unwrap_or_default();
    let mut graph = Graph::new();
    for (path, text) in sources.iter().filter(|(path, _)| !is_test(path)) {
        let module = module_of(path);
        let Some(&from) = module.first() else { continue }; // a crate root may use everything
        for (at, name) in root_names(text, module.len()) {
            let to = modules.get(name.as_str()).copied().or_else(|| exports.get(&name).map(String::as_str));
            if let Some(to) = to.filter(|&to| to != from) {
                let line = 1 + text[..at].matches('\n').count();
                graph.entry(from.into()).or_default().entry(to.into()).or_insert_with(|| format!("{path}:{line}"));
            }
        }
    }
    graph
}

/// Returns a cycle as one line, with the place of each dependency.
fn cycle(graph: &Graph) -> Option<String> {
    let mut open: BTreeSet<&str> = graph.keys().map(String::as_str).collect();
    let next =
        |module: &str, open: &BTreeSet<&str>| graph[module].keys().map(String::as_str).find(|to| open.contains(to));
    // A module that uses no open module is on no cycle.
    while let Some(closed) = open.iter().copied().find(|module| next(module, &open).is_none()) {
        open.remove(closed);
    }
    let mut way = vec![*open.first()?];
    let start = loop {
        let to = next(way[way.len() - 1], &open)?;
        let seen = way.iter().position(|&module| module == to);
        way.push(to);
        if let Some(start) = seen {
            break start;
        }
    };
    let step = |pair: &[&str]| format!(" -> {} ({})", pair[1], graph[pair[0]][pair[1]]);
    Some(way[start].to_owned() + &way[start..].windows(2).map(step).collect::<String>())
}

fn cycle_of(files: &[(&str, &str)]) -> Option<String> {
    cycle(&graph(files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect()))
}

#[test]
fn the_folders_of_the_simulator_the_protocol_and_the_firmware_have_no_cycle() {
    for folder in ["src", "../protocol/src", "../firmware/src"] {
        let mut sources = Sources::new();
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), "", &mut sources);
        assert!(sources.len() > 10, "{folder} has sources");
        assert_eq!(cycle(&graph(sources)), None, "{folder}");
    }
}

#[test]
fn a_planted_cycle_is_reported_with_the_places_that_make_it() {
    let files = [
        ("lib.rs", "pub mod sim;\npub use sim::world::World;\n"),
        ("sim/world/mod.rs", "//! World.\nuse crate::{base::Micros, trace::{self, Hash}};\n"),
        ("trace/mod.rs", "use crate::base;\nfn f(world: &super::World) {}\n"),
    ];
    let expected = "sim -> trace (sim/world/mod.rs:2) -> sim (trace/mod.rs:2)";
    assert_eq!(cycle_of(&files), Some(expected.to_owned()));
    assert_eq!(cycle_of(&files[..2]), None);
}

#[test]
fn tests_comments_and_strings_are_no_dependencies() {
    let trace = "// crate::sim\nconst S: &str = \"crate::sim\"; const C: char = '\"';\npub(in crate::sim) fn f() {}\n\
                 #[cfg(test)]\nuse crate::sim::{World, Node};\n\
                 #[cfg(test)]\nmod tests {\n fn f() { crate::sim::f(); }\n}\n\
                 #[cfg(test)]\npub(crate) mod script;\n";
    let files =
        [("sim.rs", "use crate::trace::Hash;"), ("trace/mod.rs", trace), ("trace/script.rs", "use crate::sim::World;")];
    assert_eq!(cycle_of(&files), None);
}
