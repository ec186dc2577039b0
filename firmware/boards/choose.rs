//! For the build scripts of all boards: what an image is built with, and nothing else of it is linked.
//!
//! `CONCLAVE_ELECTION` says which election, `CONCLAVE_MUTEX` which lock, `CONCLAVE_APP` what stands on top. What `chosen.rs`
//! beside this file makes of it is what the board runs.

use std::env;

const ELECTIONS: [&str; 6] = ["wireless", "wireless-flat", "bully", "ring", "chang-roberts", "lelann"];
const MUTEXES: [&str; 8] =
    ["none", "central", "token-ring", "lamport", "ricart-agrawala", "maekawa", "voting", "raymond"];
/// A real board does nothing of its own accord with any but the clock, to which its light flashes.
const APPS: [&str; 5] = ["none", "counter", "tokens", "diffusing", "clock"];

/// Tells the compiler what was chosen; where nothing was, the first of each.
pub(crate) fn tell() {
    tell_one("CONCLAVE_ELECTION", "election", &ELECTIONS);
    tell_one("CONCLAVE_MUTEX", "mutex", &MUTEXES);
    tell_one("CONCLAVE_APP", "app", &APPS);
    println!("cargo::rerun-if-changed=../boards/choose.rs");
}

fn tell_one(variable: &str, what: &str, names: &[&str]) {
    let chosen = env::var(variable).unwrap_or_else(|_| names[0].to_owned());
    assert!(names.contains(&&*chosen), "{variable} is one of {names:?}, not \"{chosen}\"");
    let values: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    println!("cargo::rerun-if-env-changed={variable}");
    println!("cargo::rustc-check-cfg=cfg({what}, values({}))", values.join(", "));
    println!("cargo::rustc-cfg={what}={chosen:?}");
}
