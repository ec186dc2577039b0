//! The election as a value, for hosts that choose at run time. The bytes are those of the chosen one.

use super::{Command, Election, Notice, Wireless, WirelessFlat, wireless, wireless_flat};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Output, Scope};
use crate::clock::Term;
use crate::group::NodeId;
use crate::time::Instant;
use crate::wire::{self, Delivery, Kind};

/// Any election there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnyElection {
    /// The diffusing wireless election.
    Wireless(Wireless),
    /// The flat wireless election.
    WirelessFlat(WirelessFlat),
}

impl AnyElection {
    /// The words for all elections, as on the command line.
    pub const NAMES: [&'static str; 2] = [Kind::Wireless.name(), Kind::WirelessFlat.name()];

    /// The election called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Wireless(Wireless::new()), Self::WirelessFlat(WirelessFlat::new())];
        Self::NAMES.iter().zip(all).find(|&(&known, _)| known == name).map(|(_, election)| election)
    }
}

/// What any election's nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnyMessage {
    /// In the diffusing wireless election.
    Wireless(wireless::Message),
    /// In the flat wireless election.
    WirelessFlat(wireless_flat::Message),
}

impl wire::Message for AnyMessage {
    fn kind(&self) -> Kind {
        match self {
            Self::Wireless(message) => message.kind(),
            Self::WirelessFlat(message) => message.kind(),
        }
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Wireless(message) => message.delivery(),
            Self::WirelessFlat(message) => message.delivery(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Wireless(message) => message.word(),
            Self::WirelessFlat(message) => message.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        match self {
            Self::Wireless(message) => message.encode(buffer),
            Self::WirelessFlat(message) => message.encode(buffer),
        }
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        wireless::Message::decode(kind, body)
            .map(Self::Wireless)
            .or_else(|| wireless_flat::Message::decode(kind, body).map(Self::WirelessFlat))
    }
}

/// Takes one step of `election`, given and giving [`AnyMessage`]s.
fn step<A: Election>(
    election: &mut A,
    cx: &Context<'_>,
    input: Input<A::Message, Command>,
    out: &mut Outbox<AnyMessage, Notice>,
    wrap: impl Fn(A::Message) -> AnyMessage,
) {
    let mut own = Outbox::new();
    election.handle(cx, input, &mut own);
    for output in own {
        match output {
            Output::Send { to, message } => out.send(to, wrap(message)),
            Output::Notify(notice) => out.notify(notice),
        }
    }
}

/// The input with its message unwrapped; `None` where it is another election's message.
fn unwrap<M>(input: Input<AnyMessage, Command>, mine: impl Fn(AnyMessage) -> Option<M>) -> Option<Input<M, Command>> {
    Some(match input {
        Input::Message { from, stamp, message } => Input::Message { from, stamp, message: mine(message)? },
        Input::Command(command) => Input::Command(command),
        Input::Fact(fact) => Input::Fact(fact),
        Input::Timeout => Input::Timeout,
    })
}

impl Algorithm for AnyElection {
    type Message = AnyMessage;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        match self {
            Self::Wireless(election) => election.scope(),
            Self::WirelessFlat(election) => election.scope(),
        }
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<AnyMessage, Command>, out: &mut Outbox<AnyMessage, Notice>) {
        match self {
            Self::Wireless(election) => {
                let mine = |message| match message {
                    AnyMessage::Wireless(message) => Some(message),
                    AnyMessage::WirelessFlat(_) => None,
                };
                if let Some(input) = unwrap(input, mine) {
                    step(election, cx, input, out, AnyMessage::Wireless);
                }
            }
            Self::WirelessFlat(election) => {
                let mine = |message| match message {
                    AnyMessage::WirelessFlat(message) => Some(message),
                    AnyMessage::Wireless(_) => None,
                };
                if let Some(input) = unwrap(input, mine) {
                    step(election, cx, input, out, AnyMessage::WirelessFlat);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Wireless(election) => election.deadline(),
            Self::WirelessFlat(election) => election.deadline(),
        }
    }
}

impl Election for AnyElection {
    fn resume(&mut self, number: u32) {
        match self {
            Self::Wireless(election) => election.resume(number),
            Self::WirelessFlat(election) => election.resume(number),
        }
    }

    fn number(&self) -> u32 {
        match self {
            Self::Wireless(election) => election.number(),
            Self::WirelessFlat(election) => election.number(),
        }
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        match self {
            Self::Wireless(election) => election.leader(),
            Self::WirelessFlat(election) => election.leader(),
        }
    }
}
