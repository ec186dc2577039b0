//! The one list of algorithms: their words, their numbers on the wire, and the enums that choose among them at run time.
//!
//! No other file names them all. A new election or lock is its own file and one line here: its messages get their kind
//! from that line, so a forgotten one does not compile, and laws, golden bytes, explorations, storms, sizes, the
//! simulator and the boards take theirs from [`for_each_election!`](crate::for_each_election) and
//! [`for_each_mutex!`](crate::for_each_mutex).
//!
//! A board names its algorithms as type parameters and links nothing of the enums.

use crate::service::demo::{counter, diffusing, tokens};
use crate::service::termination::{dijkstra_scholten, wave};
use crate::service::{clock_sync, commit, requests, sequencer, snapshot};
use crate::wire::{Cipher, FRAME_MAX, Kind, Kinded, Payload, Stage, open};
use crate::{election, lease, members, mutex};

mod any_algorithm;
mod any_application;
mod any_detection;

pub use any_algorithm::{AnyElection, AnyElectionMessage, AnyMutex, AnyMutexMessage};
pub use any_application::{AnyApplication, AnyApplicationMessage};
pub use any_detection::{AnyDetection, AnyDetectionMessage};

/// Expands `$callback!` with the arguments given, then every election: type, module, number on the wire, word, sentence.
#[macro_export]
macro_rules! for_each_election {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            $($argument)*
            Wireless in wireless = 16: "wireless", "The diffusing wireless election.";
            WirelessFlat in wireless_flat = 17: "wireless-flat", "The flat wireless election.";
            Bully in bully = 18: "bully", "The bully election.";
            Ring in ring = 19: "ring", "The ring election.";
            ChangRoberts in chang_roberts = 20: "chang-roberts", "The election of Chang and Roberts.";
            Lelann in lelann = 21: "lelann", "The election of Le Lann.";
            Clusters in clusters = 22: "clusters", "The election of super-peers, one for each cluster.";
            Invitation in invitation = 23: "invitation", "The Invitation election of Garcia-Molina.";
        }
    };
}

/// Expands `$callback!` with the arguments given, then every lock: type, module, number on the wire, word, sentence.
#[macro_export]
macro_rules! for_each_mutex {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            $($argument)*
            Central in central = 32: "central", "The central lock server.";
            TokenRing in token_ring = 33: "token-ring", "The token ring.";
            Lamport in lamport = 34: "lamport", "The lock of Lamport.";
            RicartAgrawala in ricart_agrawala = 35: "ricart-agrawala", "The lock of Ricart and Agrawala.";
            Maekawa in maekawa = 36: "maekawa", "The lock of Maekawa.";
            Voting in voting = 37: "voting", "The lock by a majority of votes.";
            Raymond in raymond = 38: "raymond", "The tree lock of Raymond.";
            SuzukiKasami in suzuki_kasami = 39: "suzuki-kasami", "The broadcast lock of Suzuki and Kasami.";
        }
    };
}

/// Gives every listed type of messages its kind, and the algorithm its word and kind.
macro_rules! name_algorithms {
    ($layer:ident, $kinds:ident: $($name:ident in $module:ident = $kind:literal: $word:literal, $about:literal;)+) => {
        $(
            impl Kinded for $layer::$module::Message {
                const KIND: Kind = Kind::new($kind);
            }

            impl $layer::$name {
                /// The word for it in scenarios, on the command line and on boards.
                pub const NAME: &'static str = $word;
                /// The kind of its frames.
                pub const KIND: Kind = Kind::new($kind);
            }
        )+

        const $kinds: &[(Kind, &str)] = &[$((Kind::new($kind), $word)),+];
    };
}

for_each_election! { name_algorithms election, ELECTIONS: }
for_each_mutex! { name_algorithms mutex, MUTEXES: }

/// Gives the messages of services their kinds.
macro_rules! name_services {
    ($($message:ty = $kind:literal: $word:literal;)+) => {
        $(impl Kinded for $message {
            const KIND: Kind = Kind::new($kind);
        })+

        const SERVICES: &[(Kind, &str)] = &[$((Kind::new($kind), $word)),+];

        /// The name of a service's message.
        fn service_message_name(kind: Kind, body: &[u8]) -> Option<&'static str> {
            None$(.or_else(|| name_of::<$message>(kind, body)))+
        }
    };
}

name_services! {
    tokens::Give = 48: "tokens";
    diffusing::Work = 49: "diffusing";
    snapshot::Message = 52: "snapshot";
    wave::Message = 56: "wave";
    dijkstra_scholten::Message = 57: "dijkstra-scholten";
    clock_sync::Message = 60: "clock-sync";
    counter::Message = 64: "counter";
    requests::Message = 68: "requests";
    sequencer::Message = 72: "sequencer";
    commit::Message = 76: "commit";
}

impl Kinded for lease::Message {
    const KIND: Kind = Kind::new(28);
}

/// Of frames that are marked and sealed apart: no stage gets them.
impl Kinded for members::Message {
    const KIND: Kind = Kind::new(31);
}

/// The kinds below the election, and the lease.
const STAGES: &[(Kind, &str)] =
    &[(Kind::HELLO, "hello"), (Kind::ACK, "ack"), (Kind::HEARTBEAT, "heartbeat"), (lease::Message::KIND, "lease")];

/// Every kind of this crate with its word.
pub fn kinds() -> impl Iterator<Item = (Kind, &'static str)> {
    [STAGES, ELECTIONS, MUTEXES, SERVICES].into_iter().flatten().copied()
}

/// Returns the name of the message in a frame of this group, for hosts that count or watch frames.
#[must_use]
pub fn message_name(cipher: &impl Cipher, frame: &[u8]) -> Option<&'static str> {
    let mut buffer = [0; FRAME_MAX];
    let packet = open(cipher, frame, &mut buffer).ok()?;
    let (kind, body) = (packet.kind, packet.body);
    match kind.stage()? {
        Stage::Election => name_of::<AnyElectionMessage>(kind, body),
        Stage::Mutex => name_of::<AnyMutexMessage>(kind, body),
        Stage::Service => service_message_name(kind, body),
        Stage::Peers | Stage::Link | Stage::Detector | Stage::Lease => {
            STAGES.iter().find(|(listed, _)| *listed == kind).map(|&(_, name)| name)
        }
    }
}

fn name_of<P: Payload>(kind: Kind, body: &[u8]) -> Option<&'static str> {
    P::decode(kind, body).map(|message| message.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_option_of_every_algorithm_is_chosen_by_its_words() {
        let listed = AnyElection::OPTIONS.iter().chain(AnyMutex::OPTIONS);
        for &(name, options) in listed {
            let known = |words: &str| AnyElection::by_name(words).is_some() || AnyMutex::by_name(words).is_some();
            assert!(known(name) && !known(&std::format!("{name}:nonsense=yes")), "{name}");
            for (key, choices) in options {
                for choice in choices.iter().filter(|&&choice| choice != "...") {
                    assert!(known(&std::format!("{name}:{key}={choice}")), "{name}:{key}={choice}");
                }
                assert!(!known(&std::format!("{name}:{key}=nonsense")), "{name}:{key}");
            }
        }
        let lowest = election::ring::Options { winner: election::Winner::Lowest, ..Default::default() };
        assert_eq!(AnyElection::by_name("ring:winner=lowest"), Some(AnyElection::Ring(election::Ring::new(lowest))));
    }

    #[test]
    fn every_kind_has_a_number_of_its_own_in_the_range_of_its_stage() {
        let kinds: Vec<_> = kinds().collect();
        for (at, (kind, name)) in kinds.iter().enumerate() {
            assert!(kind.stage().is_some(), "{name}");
            assert!(
                kind.byte() < Kind::application::<0>().byte(),
                "{name} has a number of applications outside this crate"
            );
            assert!(kinds.iter().skip(at + 1).all(|(other, word)| other != kind && word != name), "{name}");
        }
        let stage = |list: &[(Kind, &str)], stage| assert!(list.iter().all(|(kind, _)| kind.stage() == Some(stage)));
        stage(ELECTIONS, Stage::Election);
        stage(MUTEXES, Stage::Mutex);
        stage(SERVICES, Stage::Service);
    }
}
