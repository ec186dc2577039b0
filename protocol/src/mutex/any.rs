//! The lock as a value, for hosts that choose at run time. The bytes are those of the chosen one.

use super::{
    Central, Command, Fence, Lamport, LockId, Maekawa, Mutex, Notice, Raymond, RicartAgrawala, TokenRing, Voting,
    central, lamport, maekawa, raymond, ricart_agrawala, token_ring, voting,
};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope, step_one_of};
use crate::clock::Stamp;
use crate::group::NodeSet;
use crate::time::Instant;
use crate::wire::{Kind, any_message};

/// One enum over all locks and one over their messages, from one list.
macro_rules! any {
    ($($name:ident in $module:ident: $about:literal,)+) => {
        /// Any lock there is.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(clippy::large_enum_variant, reason = "there is no heap to put the largest in")]
        pub enum AnyMutex {
            $(#[doc = $about] $name($name),)+
        }

        /// What any lock's nodes say to each other.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum AnyMessage {
            $(#[doc = $about] $name($module::Message),)+
        }

        impl AnyMutex {
            /// The words for all locks, as on the command line.
            pub const NAMES: &'static [&'static str] = &[$(Kind::$name.name()),+];

            /// What each of them takes of a node's RAM, in bytes.
            pub const SIZES: &'static [usize] = &[$(size_of::<$name>()),+];

            /// The lock called `name`, with its usual rules.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                $(if name == Kind::$name.name() {
                    return Some(Self::$name($name::default()));
                })+
                None
            }

            /// What its frames are called.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$name(_) => Kind::$name,)+ }
            }
        }

        any_message!([] AnyMessage, $($name($module::Message)),+);

        impl Algorithm for AnyMutex {
            type Message = AnyMessage;
            type Command = Command;
            type Notice = Notice;

            fn scope(&self) -> Scope {
                match self { $(Self::$name(mutex) => mutex.scope(),)+ }
            }

            fn handle(
                &mut self,
                cx: &Context<'_>,
                input: Input<AnyMessage, Command>,
                out: &mut Outbox<AnyMessage, Notice>,
            ) {
                match self {
                    $(Self::$name(mutex) => {
                        #[allow(irrefutable_let_patterns, reason = "a list of one has no other")]
                        let mine = |message| if let AnyMessage::$name(message) = message { Some(message) } else { None };
                        if let Some(input) = input.unwrap_as(mine) {
                            step_one_of(mutex, cx, input, out, AnyMessage::$name);
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

            fn suits(&self, group: NodeSet) -> bool {
                match self { $(Self::$name(mutex) => mutex.suits(group),)+ }
            }

            fn resume(&mut self, stamp: Stamp) {
                match self { $(Self::$name(mutex) => mutex.resume(stamp),)+ }
            }

            fn floor(&self) -> Stamp {
                match self { $(Self::$name(mutex) => mutex.floor(),)+ }
            }
        }
    };
}

any! {
    Central in central: "The central lock server.",
    TokenRing in token_ring: "The token ring.",
    Lamport in lamport: "The lock of Lamport.",
    RicartAgrawala in ricart_agrawala: "The lock of Ricart and Agrawala.",
    Maekawa in maekawa: "The lock of Maekawa.",
    Voting in voting: "The lock by a majority of votes.",
    Raymond in raymond: "The lock of Raymond.",
}
