//! The election as a value, for hosts that choose at run time. The bytes are those of the chosen one.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope, step_one_of};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::{self, Configurable, OptionKeys};
use crate::base::term::Term;
use crate::base::time::Instant;
use crate::election::{self, Command, Election, Notice, Winner};
use crate::for_each_election;
use crate::wire::one_of_payloads;

/// One enum over all elections and one over their messages, from one list.
macro_rules! any_election {
    ($($name:ident in $module:ident = $kind:literal: $word:literal, $about:literal;)+) => {
        /// Any election there is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AnyElection {
            $(#[doc = $about] $name(election::$name),)+
        }

        /// What any election's nodes say to each other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AnyElectionMessage {
            $(#[doc = $about] $name(election::$module::Message),)+
        }

        impl AnyElection {
            /// The words for all elections, as on the command line.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// What each of them takes of a node's RAM, in bytes.
            pub const SIZES: &'static [usize] = &[$(size_of::<election::$name>()),+];

            /// Every election with its options.
            pub const OPTIONS: &'static [(&'static str, OptionKeys)] =
                &[$(($word, <election::$name as Configurable>::OPTIONS)),+];

            /// Returns the election that `NAME` or `NAME:OPTIONS` stands for.
            #[must_use]
            pub fn by_name(words: &str) -> Option<Self> {
                let (name, options) = options::split(words);
                $(if name == $word {
                    return Configurable::from_options(options).map(Self::$name);
                })+
                None
            }
        }

        one_of_payloads!([] AnyElectionMessage, $($name(election::$module::Message)),+);

        impl Algorithm for AnyElection {
            type Message = AnyElectionMessage;
            type Command = Command;
            type Notice = Notice;

            fn scope(&self) -> Scope {
                match self { $(Self::$name(election) => election.scope(),)+ }
            }

            fn handle(
                &mut self,
                cx: &Context<'_>,
                input: Input<AnyElectionMessage, Command>,
                out: &mut Outbox<AnyElectionMessage, Notice>,
            ) {
                match self {
                    $(Self::$name(election) => {
                        let mine = |message| if let AnyElectionMessage::$name(message) = message { Some(message) } else { None };
                        if let Some(input) = input.unwrap_as(mine) {
                            step_one_of(election, cx, input, out, AnyElectionMessage::$name);
                        }
                    })+
                }
            }

            fn deadline(&self) -> Option<Instant> {
                match self { $(Self::$name(election) => election.deadline(),)+ }
            }
        }

        impl Election for AnyElection {
            fn resume(&mut self, number: u32) {
                match self { $(Self::$name(election) => election.resume(number),)+ }
            }

            fn term_number(&self) -> u32 {
                match self { $(Self::$name(election) => election.term_number(),)+ }
            }

            fn leader(&self) -> Option<(NodeId, Term)> {
                match self { $(Self::$name(election) => election.leader(),)+ }
            }

            fn winner(&self) -> Winner {
                match self { $(Self::$name(election) => election.winner(),)+ }
            }

            fn parent(&self) -> NodeSet {
                match self { $(Self::$name(election) => election.parent(),)+ }
            }
        }
    };
}

for_each_election! { any_election }
