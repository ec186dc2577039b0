//! Frames by kind and message: `bully/coordinator`, `central/grant`.

use crate::metrics::run::Outcome;
use crate::pcap::shape::trace;
use crate::scenario::Scenario;
use protocol::service::demo::{diffusing, tokens};
use protocol::service::termination::{dijkstra_scholten, wave};
use protocol::service::{clock_sync, snapshot};
use protocol::wire::{Kind, Kinded, Message};
use protocol::{election, lease, members, mutex, registry};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Kinds of messages that are counted as one, by the word of their kind.
const WHOLE: [Kind; 4] = [Kind::HELLO, Kind::ACK, Kind::HEARTBEAT, <lease::Message as Kinded>::KIND];

/// The word for messages about the list of members, which no stage gets.
const MEMBERS: &str = "members";

/// The names of all messages, by the word of their kind.
static NAMES: LazyLock<BTreeMap<&'static str, BTreeSet<&'static str>>> = LazyLock::new(|| {
    let mut names = BTreeMap::new();
    for kind in WHOLE {
        names.insert(word(kind), BTreeSet::from([word(kind)]));
    }
    macro_rules! algorithms {
        ($layer:ident: $($name:ident in $module:ident = $kind:literal: $word:literal, $about:literal;)+) => {
            $(add::<$layer::$module::Message>(&mut names);)+
        };
    }
    protocol::for_each_election! { algorithms election: }
    protocol::for_each_mutex! { algorithms mutex: }
    add::<tokens::Give>(&mut names);
    add::<diffusing::Work>(&mut names);
    add::<snapshot::Message>(&mut names);
    add::<wave::Message>(&mut names);
    add::<dijkstra_scholten::Message>(&mut names);
    add::<clock_sync::Message>(&mut names);
    let listed = names.entry(MEMBERS).or_default();
    trace::<members::Message>(|sample| _ = listed.insert(sample.name()));
    names
});

fn word(kind: Kind) -> &'static str {
    registry::kinds().find(|(listed, _)| *listed == kind).map_or("unknown", |(_, word)| word)
}

fn add<M: Message>(names: &mut BTreeMap<&'static str, BTreeSet<&'static str>>) {
    let listed = names.entry(word(M::KIND)).or_default();
    trace::<M>(|sample| _ = listed.insert(sample.name()));
}

/// Messages that no drawn scenario sends: locks have room for as many as a scenario may name, heirs hardly bid but
/// among radio neighbours, and a ring whose members know all successors seeks none.
const UNDRAWN: [&str; 14] = [
    "bully/bid",
    "chang-roberts/bid",
    "invitation/bid",
    "lelann/bid",
    "ring/bid",
    "ring/here",
    "ring/seek",
    "lamport/full",
    "maekawa/full",
    "raymond/full",
    "raymond/refuse",
    "ricart-agrawala/full",
    "suzuki-kasami/refuse",
    "token-ring/refuse",
];

/// Every message that a drawn scenario can send.
pub(super) fn all() -> Vec<String> {
    let named = NAMES.iter().flat_map(|(word, names)| names.iter().map(move |name| format!("{word}/{name}")));
    // Clusters are drawn only where they are asked for.
    named.filter(|message| !message.starts_with("clusters/") && !UNDRAWN.contains(&message.as_str())).collect()
}

/// The names of a run's messages, told apart by what the run has: one election, at most one lock or application.
pub(super) struct Named(Vec<String>);

impl Named {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let plain = |words: &str| words.split(':').next().unwrap_or_default().to_owned();
        let mut words: Vec<String> = WHOLE.into_iter().map(|kind| word(kind).to_owned()).collect();
        words.push(plain(&scenario.election));
        words.extend(scenario.world.locks.as_ref().map(|locks| plain(&locks.mutex)));
        words.extend(scenario.members.map(|_| MEMBERS.to_owned()));
        if let Some(app) = &scenario.world.app {
            let observer = if app.terminates() { app.detection.clone() } else { "snapshot".to_owned() };
            words.extend([app.kind.clone(), observer, "clock-sync".to_owned()]);
        }
        Self(words)
    }

    /// Returns the name of a message with the word of its kind.
    pub(super) fn message(&self, name: &str) -> String {
        let has = |word: &&String| NAMES.get(word.as_str()).is_some_and(|names| names.contains(name));
        format!("{}/{name}", self.0.iter().find(has).map_or("unknown", String::as_str))
    }

    /// Returns the frames of the run by message.
    pub(super) fn frames(&self, outcome: &Outcome) -> BTreeMap<String, u64> {
        let mut frames = BTreeMap::new();
        for (name, count) in outcome.frames.kinds() {
            *frames.entry(self.message(name)).or_default() += count.frames;
        }
        frames
    }
}
