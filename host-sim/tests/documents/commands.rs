//! Every command in the documents is run: here, bounded to seconds, or by the test or the step that is named here.

use crate::{documents, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Commands that are run elsewhere: how they begin, the file that runs them, and what it says there.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    (".ci/run", ".ci/run", "step \"tests"),
    ("cargo run -p conclave-fuzz", ".ci/run", "conclave-fuzz\" all --inputs 10000000"),
    ("cargo test", ".ci/run", "\ncargo test"),
    ("cargo clippy --all-targets -- -D warnings", ".ci/run", "\ncargo clippy --all-targets -- -D warnings"),
    ("cargo fmt --all --check", ".ci/run", "\ncargo fmt --all --check"),
    // In the template, and in the crate of the library guide.
    ("cargo new greenhouse --lib", "host-sim/tests/template.rs", "\"new\", \"greenhouse\", \"--lib\""),
    ("cargo run", "host-sim/tests/template.rs", "cargo(&[\"run\"])"),
    ("cargo build --lib --target", "host-sim/tests/template.rs", "\"build\", \"--lib\", \"--target\""),
    ("cargo build --package my-board", "host-sim/tests/boards/own.rs", "\"--package\", \"my-board\""),
    ("conclave swarm --nodes 3 --image", "host-sim/tests/boards/own.rs", "own_scenario(3)"),
    // Emulated boards take as long as real ones.
    ("conclave swarm --nodes 3 --election bully --mutex central", "host-sim/tests/boards/swarm.rs", "AnyMutex::NAMES"),
    ("conclave swarm --nodes 4 --app tokens", "host-sim/tests/boards/apps.rs", "app_scenario(App::Tokens, 4)"),
    ("conclave swarm --nodes 5 --app uplink", "host-sim/tests/boards/apps.rs", "app_scenario(App::Uplink, 5)"),
    ("conclave swarm", "host-sim/tests/boards/swarm.rs", "five_boards_elect"),
    // All images are built there.
    ("cargo sizes", ".ci/run", "conclave\" sizes"),
    ("cargo firmware", ".ci/run", "conclave\" firmware"),
    // A server, a terminal, and a program that may be missing.
    ("conclave serve", "host-sim/tests/commands/page.rs", "\"serve\", \"--port\""),
    ("conclave run mine.toml --watch", "host-sim/tests/commands/run.rs", "\"--watch\""),
    ("tshark -X lua_script:conclave.lua -r frames.pcapng", "host-sim/tests/commands/run.rs", "lua_script:"),
    // They go on until they are ended.
    ("mosquitto -p 1883", "host-sim/src/swarm/broker.rs", "listener {} 127.0.0.1"),
    ("conclave node --id 0 --bind", "host-sim/tests/commands/uplink.rs", "\"--mode\", \"quorum\", \"--mqtt\""),
    ("conclave node --id 1 --bind", "host-sim/tests/commands/uplink.rs", "\"--mode\", \"quorum\", \"--mqtt\""),
    ("conclave node --id 2 --bind", "host-sim/tests/commands/uplink.rs", "\"--mode\", \"quorum\", \"--mqtt\""),
    ("conclave mqtt-guard", "host-sim/tests/commands/uplink.rs", "[\"mqtt-guard\", \"--json\""),
    // It fails, and shows how.
    ("conclave check textbook", "host-sim/tests/commands/check.rs", "[\"check\", \"textbook\""),
    ("conclave results", "host-sim/tests/documents/results.rs", "[\"results\", \"--quick\"]"),
];

/// These write to a board that is plugged in: here they only say what they would do.
const HARDWARE: [&str; 2] = ["flash-board", "provision"];

/// The aliases for `conclave` in the workspace.
const ALIASES: [&str; 4] = ["firmware", "flash-board", "provision", "sizes"];

/// A command of a document.
struct Documented {
    line: String,
    /// Whether it stands in a shell block. Otherwise it may be a part of a command, which a sentence is about.
    whole: bool,
}

/// The commands of a document, in order.
fn commands(text: &str) -> Vec<Documented> {
    let mut commands = Vec::new();
    let mut shell = false;
    for line in text.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(language) => shell = language == "sh",
            None if shell => {
                let line = line.split(" #").next().unwrap_or(line).trim().to_owned();
                commands.push(Documented { line, whole: true });
            }
            None => {
                let code = line.split('`').skip(1).step_by(2);
                let code = code.filter(|code| code.starts_with("conclave ") || code.starts_with("cargo "));
                commands.extend(code.map(|line| Documented { line: line.to_owned(), whole: false }));
            }
        }
    }
    commands.retain(|command| !command.line.is_empty());
    commands
}

/// The words of a command, without quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The arguments of `conclave` in a command line, if it is one.
fn arguments(words: &[String]) -> Option<Vec<String>> {
    match words {
        [conclave, rest @ ..] if conclave == "conclave" => Some(rest.to_vec()),
        [cargo, alias, ..] if cargo == "cargo" && ALIASES.contains(&alias.as_str()) => Some(words[1..].to_vec()),
        [cargo, run, release] if [cargo, run, release] == ["cargo", "run", "--release"] => Some(Vec::new()),
        [cargo, run, release, dashes, rest @ ..]
            if [cargo, run, release, dashes] == ["cargo", "run", "--release", "--"] =>
        {
            Some(rest.to_vec())
        }
        _ => None,
    }
}

/// A run of few seeds, a comparison of few nodes, and a dry run where hardware is needed.
fn bounded(mut arguments: Vec<String>) -> Vec<String> {
    let command = arguments.first().cloned().unwrap_or_default();
    if let Some(range) = arguments.iter_mut().skip_while(|word| *word != "--seeds").nth(1) {
        "0..2".clone_into(range);
    } else if command == "run" && !arguments.contains(&"--seed".to_owned()) {
        arguments.extend(["--seeds", "0..2"].map(str::to_owned));
    }
    if let Some(hours) = arguments.iter_mut().skip_while(|word| *word != "--hours").nth(1) {
        "0.02".clone_into(hours);
    } else if command == "campaign" && !arguments.contains(&"--scenario".to_owned()) {
        arguments.extend(["--runs", "2"].map(str::to_owned));
    }
    if let Some(states) = arguments.iter_mut().skip_while(|word| *word != "--states").nth(1) {
        "500".clone_into(states);
    } else if command == "check" {
        arguments.extend(["--states", "500"].map(str::to_owned));
    }
    if command == "compare" && !arguments.contains(&"--nodes".to_owned()) {
        arguments.extend(["--nodes", "4"].map(str::to_owned));
    }
    if HARDWARE.contains(&command.as_str()) && !arguments.contains(&"--output".to_owned()) {
        arguments.push("--dry-run".to_owned());
    }
    arguments
}

/// Runs a command in a folder; returns what is wrong.
fn run(line: &str, folder: &Path) -> Result<(), String> {
    let (line, file) = line.split_once(" > ").map_or((line, None), |(line, file)| (line, Some(file)));
    let mut words = words(line);
    let mut process = Command::new(env!("CARGO_BIN_EXE_conclave"));
    while let Some((name, value)) = words.first().and_then(|word| word.split_once('=')) {
        process.env(name, value);
        words.remove(0);
    }
    let arguments = arguments(&words).ok_or("is neither run here nor listed as run elsewhere")?;
    process.args(bounded(arguments)).current_dir(folder).env("CONCLAVE_CHECKOUT", root()).stdin(Stdio::null());
    let output = process.output().map_err(|error| error.to_string())?;
    if let Some(file) = file {
        fs::write(folder.join(file), &output.stdout).map_err(|error| error.to_string())?;
    }
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// A folder for the commands of a document, with what one has to bring along.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, number) in [("barn.key", 0), ("barn-2.key", 1)] {
        fs::write(folder.path().join(name), format!("000102030405060708090a0b0c0d0e0f {number}\n")).unwrap();
    }
    let blobs = folder.path().join("FOLDER");
    fs::create_dir(&blobs).unwrap();
    for name in ["43439A0.bin", "43439A0_clm.bin", "nvram_rp2040.bin"] {
        fs::write(blobs.join(name), [7; 64]).unwrap();
    }
    folder
}

/// Whether a sentence names a command with a gap for the reader to fill: `FILE`, `NAME`, dots.
fn has_a_gap(line: &str) -> bool {
    let name = |word: &str| word.split('.').next().is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase()));
    words(line).iter().any(|word| word.contains("...") || name(word))
}

#[test]
fn every_command_in_the_documents_is_run() {
    let mut unused: BTreeSet<&str> = ELSEWHERE.iter().map(|(start, ..)| *start).collect();
    let mut run_here = 0;
    for (file, text) in documents().into_iter().filter(|(file, _)| !file.ends_with("CHANGELOG.md")) {
        let folder = folder();
        let in_template = file.ends_with("template/README.md");
        for Documented { line, whole } in commands(&text) {
            let elsewhere = ELSEWHERE.iter().find(|(start, ..)| {
                let more = line.strip_prefix(start);
                more.is_some_and(|more| more.is_empty() || more.starts_with(' '))
                    && (*start != "cargo run" || in_template || line == *start)
            });
            if let Some((start, place, proof)) = elsewhere {
                unused.remove(start);
                let text = fs::read_to_string(root().join(place)).unwrap();
                assert!(text.contains(proof), "{place} is said to run `{line}`, but has no `{proof}`");
            } else if line == "cd template" || (!whole && has_a_gap(&line)) {
                // The next lines are the template's, or the reader fills the gap.
            } else if let Err(wrong) = run(&line, folder.path()) {
                let part = !whole && (wrong.contains("Usage:") || wrong.contains("nor listed"));
                assert!(part, "{}: `{line}` {wrong}", file.display());
            } else {
                run_here += 1;
            }
        }
    }
    assert_eq!(unused, BTreeSet::new(), "no document has these commands");
    assert!(run_here > 20, "only {run_here} commands were run");
}

/// The blocks of text after a line that names the command which prints them, with that command.
fn printed(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n\n```text\n")
        .collect::<Vec<_>>()
        .windows(2)
        .filter_map(|two| {
            let line = two[0].lines().last()?;
            let (_, command) =
                line.rsplit_once("`conclave ").filter(|_| line.ends_with("prints:") || line.ends_with("prints it:"))?;
            Some((command.split('`').next()?, two[1].split("```").next()?))
        })
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn what_a_command_prints_in_a_document_is_what_it_prints() {
    let mut seen = 0;
    for (file, text) in documents() {
        for (command, block) in printed(&text) {
            let output =
                Command::new(env!("CARGO_BIN_EXE_conclave")).args(command.split(' ')).env("LC_ALL", "C.UTF-8").output();
            let output = String::from_utf8(output.unwrap().stdout).unwrap();
            let mut lines = output.lines();
            for line in block.lines() {
                let shown = lines.any(|printed| printed == line);
                assert!(shown, "{}: `conclave {command}` does not print `{line}` there, but\n{output}", file.display());
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 2, "the map in the README, and a snapshot");
}

#[test]
fn every_command_and_every_flag_exists() {
    let help = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_conclave")).args(words).arg("--help").output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let mut seen = 0;
    for (file, text) in documents().into_iter().filter(|(file, _)| !file.ends_with("CHANGELOG.md")) {
        for Documented { line, .. } in commands(&text) {
            let Some(arguments) = arguments(&words(&line)) else { continue };
            let words: Vec<&str> = arguments.iter().map(|word| word.trim_end_matches(',')).collect();
            let is_word =
                |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
            let count = if words.first() == Some(&"compare") { 2 } else { 1 };
            let names: Vec<&str> = words.iter().copied().take(count).filter(is_word).collect();
            if names.is_empty() {
                continue; // the demo
            }
            let help = help(&names);
            let help = help.unwrap_or_else(|| panic!("{}: there is no `{line}`", file.display()));
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let flag =
                    flag.split('=').next().unwrap_or(flag).trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
                assert!(help.contains(flag), "{}: `{line}` has no {flag}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} commands were found");
}
