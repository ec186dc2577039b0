//! The lock as a value, for hosts that choose at run time. The bytes are those of the chosen one.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope, step_one_of};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::options::{self, Configurable, OptionKeys};
use crate::base::time::Instant;
use crate::for_each_mutex;
use crate::mutex::{self, Command, Fence, LockId, Mutex, Notice};
use crate::wire::{Kind, one_of_payloads};

/// One enum over all locks and one over their messages, from one list.
macro_rules! any_mutex {
    ($($name:ident in $module:ident = $kind:literal: $word:literal, $about:literal;)+) => {
        /// Any lock there is.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(clippy::large_enum_variant, reason = "there is no heap to put the largest in")]
        pub enum AnyMutex {
            $(#[doc = $about] $name(mutex::$name),)+
        }

        /// What any lock's nodes say to each other.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum AnyMutexMessage {
            $(#[doc = $about] $name(mutex::$module::Message),)+
        }

        impl AnyMutex {
            /// The words for all locks, as on the command line.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// What each of them takes of a node's RAM, in bytes.
            pub const SIZES: &'static [usize] = &[$(size_of::<mutex::$name>()),+];

            /// Every lock with its options.
            pub const OPTIONS: &'static [(&'static str, OptionKeys)] =
                &[$(($word, <mutex::$name as Configurable>::OPTIONS)),+];

            /// Returns the lock that `NAME` or `NAME:OPTIONS` stands for.
            #[must_use]
            pub fn by_name(words: &str) -> Option<Self> {
                let (name, options) = options::split(words);
                $(if name == $word {
                    return Configurable::from_options(options).map(Self::$name);
                })+
                None
            }

            /// What its frames are called.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$name(_) => mutex::$name::KIND,)+ }
            }
        }

        one_of_payloads!([] AnyMutexMessage, $($name(mutex::$module::Message)),+);

        impl Algorithm for AnyMutex {
            type Message = AnyMutexMessage;
            type Command = Command;
            type Notice = Notice;

            fn scope(&self) -> Scope {
                match self { $(Self::$name(mutex) => mutex.scope(),)+ }
            }

            fn handle(
                &mut self,
                cx: &Context<'_>,
                input: Input<AnyMutexMessage, Command>,
                out: &mut Outbox<AnyMutexMessage, Notice>,
            ) {
                match self {
                    $(Self::$name(mutex) => {
                        #[allow(irrefutable_let_patterns, reason = "a list of one has no other")]
                        let mine = |message| if let AnyMutexMessage::$name(message) = message { Some(message) } else { None };
                        if let Some(input) = input.unwrap_as(mine) {
                            step_one_of(mutex, cx, input, out, AnyMutexMessage::$name);
                        }
                    })+
                }
            }

            fn deadline(&self) -> Option<Instant> {
                match self { $(Self::$name(mutex) => mutex.deadline(),)+ }
            }
        }

        impl Mutex for AnyMutex {
            fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
                match self { $(Self::$name(mutex) => mutex.holds(lock, now),)+ }
            }

            fn supports(&self, group: NodeSet) -> bool {
                match self { $(Self::$name(mutex) => mutex.supports(group),)+ }
            }

            fn resume(&mut self, lamport: LamportTime) {
                match self { $(Self::$name(mutex) => mutex.resume(lamport),)+ }
            }

            fn floor(&self) -> LamportTime {
                match self { $(Self::$name(mutex) => mutex.floor(),)+ }
            }
        }
    };
}

for_each_mutex! { any_mutex }
