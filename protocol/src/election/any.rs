//! The election as a value, for hosts that choose at run time. The bytes are those of the chosen one.

use super::{
    Bully, ChangRoberts, Command, Election, Lelann, Notice, Ring, Wireless, WirelessFlat, bully, chang_roberts, lelann,
    ring, wireless, wireless_flat,
};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope, step_one_of};
use crate::clock::Term;
use crate::group::{NodeId, NodeSet};
use crate::time::Instant;
use crate::wire::{Kind, any_message};

/// One enum over all elections and one over their messages, from one list.
macro_rules! any {
    ($($name:ident in $module:ident: $about:literal,)+) => {
        /// Any election there is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AnyElection {
            $(#[doc = $about] $name($name),)+
        }

        /// What any election's nodes say to each other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AnyMessage {
            $(#[doc = $about] $name($module::Message),)+
        }

        impl AnyElection {
            /// The words for all elections, as on the command line.
            pub const NAMES: &'static [&'static str] = &[$(Kind::$name.name()),+];

            /// What each of them takes of a node's RAM, in bytes.
            pub const SIZES: &'static [usize] = &[$(size_of::<$name>()),+];

            /// The election called `name`, with its usual rules.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                $(if name == Kind::$name.name() {
                    return Some(Self::$name($name::default()));
                })+
                None
            }
        }

        any_message!([] AnyMessage, $($name($module::Message)),+);

        impl Algorithm for AnyElection {
            type Message = AnyMessage;
            type Command = Command;
            type Notice = Notice;

            fn scope(&self) -> Scope {
                match self { $(Self::$name(election) => election.scope(),)+ }
            }

            fn handle(
                &mut self,
                cx: &Context<'_>,
                input: Input<AnyMessage, Command>,
                out: &mut Outbox<AnyMessage, Notice>,
            ) {
                match self {
                    $(Self::$name(election) => {
                        let mine = |message| if let AnyMessage::$name(message) = message { Some(message) } else { None };
                        if let Some(input) = input.unwrap_as(mine) {
                            step_one_of(election, cx, input, out, AnyMessage::$name);
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

            fn number(&self) -> u32 {
                match self { $(Self::$name(election) => election.number(),)+ }
            }

            fn leader(&self) -> Option<(NodeId, Term)> {
                match self { $(Self::$name(election) => election.leader(),)+ }
            }

            fn parent(&self) -> NodeSet {
                match self { $(Self::$name(election) => election.parent(),)+ }
            }
        }
    };
}

any! {
    Wireless in wireless: "The diffusing wireless election.",
    WirelessFlat in wireless_flat: "The flat wireless election.",
    Bully in bully: "The bully election.",
    Ring in ring: "The ring election.",
    ChangRoberts in chang_roberts: "The election of Chang and Roberts.",
    Lelann in lelann: "The election of Le Lann.",
}
