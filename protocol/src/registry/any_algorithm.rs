//! The election and the lock as values, for hosts that choose at run time. The bytes are those of the chosen one.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope, step_one_of};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::options::{self, Configurable, OptionKeys};
use crate::base::term::Term;
use crate::base::time::Instant;
use crate::election::{self, Election, Winner};
use crate::mutex::{self, Fence, LockId, Mutex};
use crate::wire::{Kind, one_of_payloads};
use crate::{for_each_election, for_each_mutex};
use core::num::NonZeroU8;

/// One enum over all algorithms of a layer, one over their messages, and a macro `$each` to treat all variants alike.
/// `$d` is a dollar sign, which a macro cannot write into another one.
macro_rules! any_algorithm {
    (
        ($d:tt) [$($derive:ident),*] $layer:ident, $any:ident, $message:ident, $each:ident,
        $about_any:literal, $about_message:literal:
        $($name:ident in $module:ident = $kind:literal: $word:literal, $about:literal;)+
    ) => {
        #[doc = $about_any]
        #[derive(Clone, $($derive,)* Debug, PartialEq, Eq, Hash)]
        #[allow(clippy::large_enum_variant, reason = "there is no heap to put the largest in")]
        pub enum $any {
            $(#[doc = $about] $name($layer::$name),)+
        }

        #[doc = $about_message]
        #[derive(Clone, $($derive,)* Debug, PartialEq, Eq, Hash)]
        pub enum $message {
            $(#[doc = $about] $name($layer::$module::Message),)+
        }

        macro_rules! $each {
            ($d any:expr, $d one:ident => $d step:expr) => {
                match $d any { $($any::$name($d one) => $d step,)+ }
            };
        }

        impl $any {
            /// The words for all of them, as on the command line.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// What each of them takes of a node's RAM, in bytes.
            pub const SIZES: &'static [usize] = &[$(size_of::<$layer::$name>()),+];

            /// Each of them with its options.
            pub const OPTIONS: &'static [(&'static str, OptionKeys)] =
                &[$(($word, <$layer::$name as Configurable>::OPTIONS)),+];

            /// Returns the one that `NAME` or `NAME:OPTIONS` stands for.
            #[must_use]
            pub fn by_name(words: &str) -> Option<Self> {
                let (name, options) = options::split(words);
                $(if name == $word {
                    return Configurable::from_options(options).map(Self::$name);
                })+
                None
            }

            /// Returns the kind of its frames.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$name(_) => $layer::$name::KIND,)+ }
            }
        }

        one_of_payloads!([] $message, $($name($layer::$module::Message)),+);

        impl Algorithm for $any {
            type Message = $message;
            type Command = $layer::Command;
            type Notice = $layer::Notice;

            fn scope(&self) -> Scope {
                $each!(self, one => one.scope())
            }

            fn handle(
                &mut self,
                cx: &Context<'_>,
                input: Input<$message, $layer::Command>,
                out: &mut Outbox<$message, $layer::Notice>,
            ) {
                match self {
                    $(Self::$name(one) => {
                        let mine = |message| if let $message::$name(message) = message { Some(message) } else { None };
                        if let Some(input) = input.unwrap_as(mine) {
                            step_one_of(one, cx, input, out, $message::$name);
                        }
                    })+
                }
            }

            fn deadline(&self) -> Option<Instant> {
                $each!(self, one => one.deadline())
            }
        }
    };
}

for_each_election! {
    any_algorithm ($) [Copy] election, AnyElection, AnyElectionMessage, each_election,
    "Any election there is.", "A message of any election.":
}

for_each_mutex! {
    any_algorithm ($) [] mutex, AnyMutex, AnyMutexMessage, each_mutex, "Any lock there is.", "A message of any lock.":
}

impl AnyElection {
    /// Returns the names of the elections of one leader, not of one for each cluster.
    pub fn of_one_leader() -> impl Iterator<Item = &'static str> {
        let one_leader = |name: &&str| Self::by_name(name).is_some_and(|election| election.horizon().is_none());
        Self::NAMES.iter().copied().filter(one_leader)
    }
}

impl Election for AnyElection {
    fn resume(&mut self, number: u32) {
        each_election!(self, one => one.resume(number));
    }

    fn term_number(&self) -> u32 {
        each_election!(self, one => one.term_number())
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        each_election!(self, one => one.leader())
    }

    fn hurry(&mut self, now: Instant) {
        each_election!(self, one => one.hurry(now));
    }

    fn on_informed(&mut self, set: NodeSet) {
        each_election!(self, one => one.on_informed(set));
    }

    fn members(&self) -> NodeSet {
        each_election!(self, one => Election::members(one))
    }

    fn take_deposed(&mut self) -> bool {
        each_election!(self, one => one.take_deposed())
    }

    fn winner(&self) -> Winner {
        each_election!(self, one => Election::winner(one))
    }

    fn parent(&self) -> NodeSet {
        each_election!(self, one => one.parent())
    }

    fn heartbeat(&self) -> Option<u32> {
        each_election!(self, one => one.heartbeat())
    }

    fn horizon(&self) -> Option<u8> {
        each_election!(self, one => one.horizon())
    }

    fn clients_max(&self) -> Option<NonZeroU8> {
        each_election!(self, one => one.clients_max())
    }

    fn clients(&self) -> Option<u8> {
        each_election!(self, one => one.clients())
    }

    fn has_chief(&self) -> bool {
        each_election!(self, one => one.has_chief())
    }

    fn chief(&self) -> Option<(NodeId, Term)> {
        each_election!(self, one => one.chief())
    }
}

impl Mutex for AnyMutex {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        each_mutex!(self, one => one.holds(lock, now))
    }

    fn supports(&self, group: NodeSet) -> bool {
        each_mutex!(self, one => one.supports(group))
    }

    fn hops_max(&self) -> u8 {
        each_mutex!(self, one => one.hops_max())
    }

    fn resume(&mut self, lamport: LamportTime) {
        each_mutex!(self, one => one.resume(lamport));
    }

    fn floor(&self) -> LamportTime {
        each_mutex!(self, one => one.floor())
    }
}
