//! `conclave sizes --stages`: what each stage of a node takes of RAM.
//!
//! These are sizes on the machine that prints them. On a board with 32 bits a stage takes no more: what counts things is
//! shorter there.

use protocol::application::{Diffusing, Tokens};
use protocol::clock_sync::ClockSync;
use protocol::election::{AnyElection, Bully};
use protocol::mutex::{AnyMutex, NoMutex};
use protocol::node::Node;
use protocol::snapshot::Snapshot;
use protocol::suite::Suite;
use protocol::termination::{DijkstraScholten, Wave};
use serde::Serialize;
use std::io::Write;

/// All stages beside each other.
#[derive(Serialize)]
pub(super) struct Stages {
    stages: Vec<Stage>,
}

/// One stage: what it takes in a node with room for so many members.
#[derive(Serialize)]
struct Stage {
    place: &'static str,
    name: &'static str,
    members_16: usize,
    members_64: usize,
}

/// A stage whose size depends on the number of members, or does not.
macro_rules! stage {
    ($place:literal, $name:literal, $($what:ident)::+ < $n:ident >) => {{
        let members_16 = { const $n: usize = 16; size_of::<$($what)::+<$n>>() };
        let members_64 = { const $n: usize = 64; size_of::<$($what)::+<$n>>() };
        Stage { place: $place, name: $name, members_16, members_64 }
    }};
}

type Bare<const N: usize> = Node<Bully, NoMutex, N>;
type Bank<const N: usize> = Suite<Tokens<N>, Wave<N>, N>;
type Job<const N: usize> = Suite<Diffusing, DijkstraScholten<N>, N>;

/// Measures.
pub(super) fn sizes() -> Stages {
    let same = |place: &'static str, names: &'static [&'static str], sizes: &'static [usize]| {
        let each = names.iter().zip(sizes);
        each.map(move |(&name, &bytes)| Stage { place, name, members_16: bytes, members_64: bytes })
    };
    let mut stages = vec![stage!("node", "with a bully election and nothing else", Bare<N>)];
    stages.extend(same("election", AnyElection::NAMES, AnyElection::SIZES));
    stages.extend(same("lock", AnyMutex::NAMES, AnyMutex::SIZES));
    stages.push(stage!("application", "tokens", Tokens<N>));
    stages.extend(same("application", &["diffusing"], &[size_of::<Diffusing>()]));
    stages.extend(same("on top", &["snapshot"], &[size_of::<Snapshot>()]));
    stages.push(stage!("on top", "wave", Wave<N>));
    stages.push(stage!("on top", "dijkstra-scholten", DijkstraScholten<N>));
    stages.push(stage!("on top", "clock-sync", ClockSync<N>));
    stages.push(stage!("suite", "tokens, snapshot, wave, clock-sync", Bank<N>));
    stages.push(stage!("suite", "diffusing, snapshot, dijkstra-scholten, clock-sync", Job<N>));
    Stages { stages }
}

pub(super) fn show(sizes: &Stages) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| stage | which | RAM for 16 members | for 64 |\n| --- | --- | ---: | ---: |")?;
    for Stage { place, name, members_16, members_64 } in &sizes.stages {
        writeln!(out, "| {place} | {name} | {members_16} | {members_64} |")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_that_takes_room_is_shown_with_it_and_a_suite_takes_more_than_its_parts() {
        let Stages { stages } = sizes();
        let of = |name: &str| stages.iter().find(|stage| stage.name == name).map(|stage| stage.members_64);
        let parts = ["tokens", "snapshot", "wave", "clock-sync"].map(|name| of(name).expect(name));
        let suite = of("tokens, snapshot, wave, clock-sync").expect("the suite");
        assert!(parts.iter().sum::<usize>() <= suite);
        assert!(stages.iter().all(|stage| 0 < stage.members_16 && stage.members_16 <= stage.members_64));
        assert_eq!(stages.iter().filter(|stage| stage.place == "lock").count(), AnyMutex::NAMES.len());
    }
}
