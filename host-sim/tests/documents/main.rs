//! The documents: links lead somewhere, the summary names every page, commands and flags exist, and the JSON has its schema.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// The commands in shell blocks and in code of a document: everything after `conclave`, or after a cargo alias for it.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut shell = false;
    for line in text.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(language) => shell = language == "sh",
            None if shell => {
                let line = line.split(" #").next().unwrap_or(line).trim();
                let alias = line.strip_prefix("cargo ").filter(|rest| {
                    ["firmware", "flash-board", "provision", "sizes"]
                        .iter()
                        .any(|word| rest.split(' ').next() == Some(word))
                });
                commands.extend(line.strip_prefix("conclave ").or(alias).map(str::to_owned));
            }
            None => commands.extend(
                line.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("conclave ")).map(str::to_owned),
            ),
        }
    }
    commands
}

#[test]
fn every_command_and_every_flag_exists() {
    let help = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_conclave")).args(words).arg("--help").output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let mut seen = 0;
    for (file, text) in documents().into_iter().filter(|(file, _)| !file.ends_with("CHANGELOG.md")) {
        for command in commands(&text) {
            let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
            let is_word =
                |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
            let count = if words.first() == Some(&"compare") { 2 } else { 1 };
            let names: Vec<&str> = words.iter().copied().take(count).filter(is_word).collect();
            if names.is_empty() {
                continue; // a command that the sentence is not about
            }
            let help = help(&names);
            let help = help.unwrap_or_else(|| panic!("{}: there is no `conclave {command}`", file.display()));
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let flag =
                    flag.split('=').next().unwrap_or(flag).trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
                assert!(help.contains(flag), "{}: `conclave {command}` has no {flag}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} commands were found");
}

/// Checks a value against the part of JSON Schema that the schema uses; returns what is wrong with it.
fn mismatch(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let fits = match schema["type"].as_str()? {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        other => panic!("the type {other} is not checked"),
    };
    if !fits {
        return Some(format!("{at} is no {}", schema["type"]));
    }
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|key| value.get(key).is_none()) {
        return Some(format!("{at} has no {missing}"));
    }
    let mut items = value.as_array().into_iter().flatten();
    let mut keys = value.as_object().into_iter().flatten();
    items.find_map(|item| mismatch(&schema["items"], item, at)).or_else(|| {
        keys.find_map(|(key, value)| {
            let at = format!("{at}.{key}");
            let listed = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
            match listed {
                Value::Bool(false) => Some(format!("{at} is not in the schema")),
                schema => mismatch(schema, value, &at),
            }
        })
    })
}

#[test]
fn the_json_of_a_run_has_the_schema_and_the_page_names_every_key() {
    let docs = root().join("docs");
    let schema: Value = serde_json::from_str(&fs::read_to_string(docs.join("run.schema.json")).unwrap()).unwrap();
    let page = fs::read_to_string(docs.join("output.md")).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{key}`")), "output.md does not name {key}");
    }
    let failing = "name = \"pair\"\nnodes = 2\nduration = \"5s\"\n[topology]\nshape = \"complete\"\n\
        [expect]\ntime_to_leader = { max = \"1us\" }\n";
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema.toml");
    fs::write(&file, failing).unwrap();
    for scenario in ["one-way-links", file.to_str().unwrap()] {
        let run = ["run", scenario, "--seed", "1", "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_conclave")).args(run).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(mismatch(&schema, &report, "the report"), None);
        let mut wrong = report.clone();
        wrong["nodes"] = Value::from("two");
        assert!(mismatch(&schema, &wrong, "the report").is_some());
    }
}
