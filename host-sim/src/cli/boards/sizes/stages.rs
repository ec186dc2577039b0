//! `conclave sizes --stages`: the RAM of each stage of a node.
//!
//! The sizes are those on the machine that prints them. On a 32-bit board a stage is no larger: its counters are
//! shorter.

use protocol::election::Bully;
use protocol::mutex::NoMutex;
use protocol::node::Node;
use protocol::registry::AnyElection;
use protocol::registry::AnyMutex;
use protocol::service::app_service::ObservedApp;
use protocol::service::clock_sync::ClockSync;
use protocol::service::demo::{Diffusing, Tokens};
use protocol::service::snapshot::Snapshot;
use protocol::service::termination::{DijkstraScholten, Wave};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Serialize)]
pub(super) struct Stages {
    stages: Vec<Stage>,
}

/// One stage: its bytes in a node with room for so many members.
#[derive(Serialize)]
struct Stage {
    layer: &'static str,
    name: &'static str,
    members_16: usize,
    members_64: usize,
}

/// A stage whose size depends on the number of members.
macro_rules! stage {
    ($layer:literal, $name:literal, $($stage:ident)::+ < $n:ident >) => {{
        let members_16 = { const $n: usize = 16; size_of::<$($stage)::+<$n>>() };
        let members_64 = { const $n: usize = 64; size_of::<$($stage)::+<$n>>() };
        Stage { layer: $layer, name: $name, members_16, members_64 }
    }};
}

type Bare<const N: usize> = Node<Bully, NoMutex, N>;
type Bank<const N: usize> = ObservedApp<Tokens<N>, Wave<N>, N>;
type Job<const N: usize> = ObservedApp<Diffusing, DijkstraScholten<N>, N>;

pub(super) fn sizes() -> Stages {
    let same = |layer: &'static str, names: &'static [&'static str], sizes: &'static [usize]| {
        let each = names.iter().zip(sizes);
        each.map(move |(&name, &bytes)| Stage { layer, name, members_16: bytes, members_64: bytes })
    };
    let mut stages = vec![stage!("node", "with a bully election and nothing else", Bare<N>)];
    stages.extend(same("election", AnyElection::NAMES, AnyElection::SIZES));
    stages.extend(same("lock", AnyMutex::NAMES, AnyMutex::SIZES));
    stages.push(stage!("application", "tokens", Tokens<N>));
    stages.extend(same("application", &["diffusing"], &[size_of::<Diffusing>()]));
    stages.extend(same("service", &["snapshot"], &[size_of::<Snapshot>()]));
    stages.push(stage!("service", "wave", Wave<N>));
    stages.push(stage!("service", "dijkstra-scholten", DijkstraScholten<N>));
    stages.push(stage!("service", "clock-sync", ClockSync<N>));
    stages.push(stage!("observed application", "tokens, snapshot, wave, clock-sync", Bank<N>));
    stages.push(stage!("observed application", "diffusing, snapshot, dijkstra-scholten, clock-sync", Job<N>));
    Stages { stages }
}

pub(super) fn table(sizes: &Stages) -> String {
    let mut text = String::from("| layer | stage | RAM for 16 members | for 64 |\n| --- | --- | ---: | ---: |\n");
    for Stage { layer, name, members_16, members_64 } in &sizes.stages {
        let _ = writeln!(text, "| {layer} | {name} | {members_16} | {members_64} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_is_listed_and_an_observed_application_is_no_smaller_than_its_parts() {
        let Stages { stages } = sizes();
        let of = |name: &str| stages.iter().find(|stage| stage.name == name).map(|stage| stage.members_64);
        let parts = ["tokens", "snapshot", "wave", "clock-sync"].map(|name| of(name).expect(name));
        let whole = of("tokens, snapshot, wave, clock-sync").expect("the whole");
        assert!(parts.iter().sum::<usize>() <= whole);
        assert!(stages.iter().all(|stage| 0 < stage.members_16 && stage.members_16 <= stage.members_64));
        assert_eq!(stages.iter().filter(|stage| stage.layer == "lock").count(), AnyMutex::NAMES.len());
    }
}
