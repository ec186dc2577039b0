//! For the build scripts of all boards: what an image links, and where. The algorithms and the application are chosen by
//! variables:
//!
//! | variable | value | default |
//! | --- | --- | --- |
//! | `CONCLAVE_ELECTION`, `CONCLAVE_MUTEX` | `NAME` or `NAME:KEY=VALUE,..` | `wireless`, `none` |
//! | `CONCLAVE_APP` | one of [`APPS`] | `none` |
//!
//! The generated `algorithms.rs` is included by `chosen.rs` beside this file. The memory map of a board is `NAME.x`, also
//! beside it: the linker reads it as `board.x`, which the `memory.x` in the workspace's root includes.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The one list of algorithms. Its lines are `TYPE in MODULE = KIND: "WORD", "SENTENCE";`.
const REGISTRY: &str = "../../protocol/src/registry.rs";
/// The map that every image links with.
const MEMORY: &str = "../../memory.x";
/// A real board has no workload of its own for the first three after `none`.
const APPS: [&str; 6] = ["none", "counter", "tokens", "diffusing", "clock", "uplink"];

/// Writes `algorithms.rs`, sets `cfg(app)`, copies the map of the board to the linker's search path, and passes the linker
/// `scripts`.
///
/// Of several `boards`, exactly one is enabled as a feature.
pub(crate) fn emit(boards: &[&str], scripts: &[&str]) -> io::Result<()> {
    let enabled = |board: &&&str| {
        let feature = board.to_uppercase().replace('-', "_");
        boards.len() == 1 || env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
    };
    let [board] = boards.iter().filter(enabled).collect::<Vec<_>>()[..] else {
        return Err(io::Error::other(format!("enable exactly one board as a feature: {}", boards.join(", "))));
    };
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    emit_algorithms(&out)?;
    let map = Path::new("../boards").join(format!("{board}.x"));
    fs::copy(&map, out.join("board.x"))?;
    // For an image outside the workspace, whose root has none.
    fs::copy(MEMORY, out.join("memory.x"))?;
    println!("cargo::rustc-link-search={}", out.display());
    // Sections keep the addresses of the map; the default aligns them to the pages of a desktop.
    println!("cargo::rustc-link-arg=--nmagic");
    // Identical functions are linked once.
    println!("cargo::rustc-link-arg=--icf=all");
    for script in scripts {
        println!("cargo::rustc-link-arg=-T{script}");
    }
    for file in [map.to_string_lossy().as_ref(), REGISTRY, "../boards/choose.rs", MEMORY, "build.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    Ok(())
}

fn emit_algorithms(out: &Path) -> io::Result<()> {
    let registry = fs::read_to_string(REGISTRY)?;
    let (election, election_options) = select("CONCLAVE_ELECTION", "wireless", &listed(&registry, "for_each_election"));
    let mut mutexes = listed(&registry, "for_each_mutex");
    mutexes.push(("none", "NoMutex"));
    let (mutex, mutex_options) = select("CONCLAVE_MUTEX", "none", &mutexes);
    let (app, _) = select("CONCLAVE_APP", "none", &APPS.map(|app| (app, app)));
    // An election among radio neighbours, and nothing else: the image links nothing that only groups need.
    let neighbours_only = election.starts_with("Wireless") && mutex == "NoMutex" && app == "none";
    let membership = if neighbours_only { "NoGroup" } else { "Option<Group>" };
    let aliases = format!(
        "/// The election.\npub(crate) type Election = protocol::election::{election};\n\
         /// The lock.\npub(crate) type Mutex = protocol::mutex::{mutex};\n\
         /// The group.\npub(crate) type Membership = {membership};\n\
         const ELECTION_OPTIONS: &str = {election_options:?};\n\
         const MUTEX_OPTIONS: &str = {mutex_options:?};\n"
    );
    fs::write(out.join("algorithms.rs"), aliases)?;
    println!("cargo::rustc-check-cfg=cfg(app, values({}))", APPS.map(|app| format!("{app:?}")).join(", "));
    println!("cargo::rustc-cfg=app={app:?}");
    Ok(())
}

/// The word and the type of every algorithm in the list of this macro.
fn listed<'r>(registry: &'r str, list: &str) -> Vec<(&'r str, &'r str)> {
    let after = registry.split_once(&format!("macro_rules! {list} ")).map_or("", |(_, after)| after);
    let lines = after.lines().take_while(|line| !line.starts_with('}'));
    lines.filter_map(|line| Some((line.split('"').nth(1)?, line.trim_start().split_once(" in ")?.0))).collect()
}

/// Returns the type, or the application, of the word in `variable`, and its options.
fn select<'r>(variable: &str, default: &str, known: &[(&'r str, &'r str)]) -> (&'r str, String) {
    println!("cargo::rerun-if-env-changed={variable}");
    let words = env::var(variable).unwrap_or_else(|_| default.to_owned());
    let (word, options) = words.split_once(':').unwrap_or((&words, ""));
    let Some((_, found)) = known.iter().find(|(known, _)| *known == word) else {
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        panic!("{variable} is one of {}, not {word:?}", words.join(", "));
    };
    (found, options.to_owned())
}
