//! The application as a value, for hosts that choose at run time. The bytes are those of the chosen one.

use super::{Application, Diffusing, Item, Record, Tokens, diffusing, tokens};
use crate::algorithm::{Context, Input};
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span};
use crate::wire::{self, Kind, any_message};

/// An application that comes with the crate, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
pub enum AnyApplication<const N: usize> {
    /// The bank of tokens.
    Tokens(Tokens<N>),
    /// The diffusing job.
    Diffusing(Diffusing),
}

/// What any application's nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnyMessage {
    /// Tokens on their way.
    Tokens(tokens::Give),
    /// Work for another node.
    Diffusing(diffusing::Work),
}

macro_rules! each {
    ($any:expr, $one:ident => $what:expr) => {
        match $any {
            AnyApplication::Tokens($one) => $what,
            AnyApplication::Diffusing($one) => $what,
        }
    };
}

impl<const N: usize> AnyApplication<N> {
    /// The words for all applications, as on the command line.
    pub const NAMES: &'static [&'static str] = &[Kind::Tokens.name(), Kind::Diffusing.name()];

    /// The application called `name`, which does something about every `pause` and begins with `tokens` if it is a bank.
    #[must_use]
    pub fn by_name(name: &str, tokens: u32, pause: Span) -> Option<Self> {
        if name == Kind::Tokens.name() {
            Some(Self::Tokens(Tokens::new(tokens, pause)))
        } else if name == Kind::Diffusing.name() {
            Some(Self::Diffusing(Diffusing::new(pause)))
        } else {
            None
        }
    }

    /// What this node has: tokens, or units of work.
    #[must_use]
    pub const fn has(&self) -> u32 {
        match self {
            Self::Tokens(bank) => bank.balance(),
            Self::Diffusing(job) => job.left(),
        }
    }

    /// What a node had, whose recorded state this is.
    #[must_use]
    pub fn in_state(&self, bytes: &[u8]) -> Option<u32> {
        match self {
            Self::Tokens(_) => tokens::amount(bytes),
            Self::Diffusing(_) => wire::decode(bytes).map(|(_, left): (u32, u32)| left),
        }
    }

    /// What a message brings that was recorded on its way.
    #[must_use]
    pub fn in_item(bytes: &[u8]) -> Option<u32> {
        wire::decode(bytes)
    }
}

impl AnyMessage {
    /// What it brings: tokens, or units of work.
    #[must_use]
    pub const fn brings(self) -> u32 {
        match self {
            Self::Tokens(give) => give.amount,
            Self::Diffusing(work) => work.units,
        }
    }
}

any_message!([] AnyMessage, Tokens(tokens::Give), Diffusing(diffusing::Work));

impl<const N: usize> Application for AnyApplication<N> {
    type Message = AnyMessage;
    /// Only a job is asked for anything.
    type Command = diffusing::Command;

    fn handle(&mut self, cx: &Context<'_>, input: Input<AnyMessage, diffusing::Command>) {
        match (self, input) {
            (Self::Tokens(bank), Input::Message { from, stamp, message: AnyMessage::Tokens(message) }) => {
                bank.handle(cx, Input::Message { from, stamp, message });
            }
            (Self::Diffusing(job), Input::Message { from, stamp, message: AnyMessage::Diffusing(message) }) => {
                job.handle(cx, Input::Message { from, stamp, message });
            }
            (Self::Diffusing(job), Input::Command(command)) => job.handle(cx, Input::Command(command)),
            (Self::Tokens(_), Input::Command(_)) | (_, Input::Message { .. }) => {} // another's
            (Self::Tokens(bank), Input::Fact(fact)) => bank.handle(cx, Input::Fact(fact)),
            (Self::Diffusing(job), Input::Fact(fact)) => job.handle(cx, Input::Fact(fact)),
            (Self::Tokens(bank), Input::Timeout) => bank.handle(cx, Input::Timeout),
            (Self::Diffusing(job), Input::Timeout) => job.handle(cx, Input::Timeout),
        }
    }

    fn speak(&mut self, cx: &Context<'_>) -> Option<(NodeSet, AnyMessage)> {
        match self {
            Self::Tokens(bank) => bank.speak(cx).map(|(to, message)| (to, AnyMessage::Tokens(message))),
            Self::Diffusing(job) => job.speak(cx).map(|(to, message)| (to, AnyMessage::Diffusing(message))),
        }
    }

    fn is_busy(&self) -> bool {
        each!(self, one => one.is_busy())
    }

    fn record(&self, cx: &Context<'_>) -> Option<Record> {
        each!(self, one => one.record(cx))
    }

    fn item(&self, cx: &Context<'_>, from: NodeId, message: &AnyMessage) -> Item {
        match (self, message) {
            (Self::Tokens(bank), AnyMessage::Tokens(message)) => bank.item(cx, from, message),
            (Self::Diffusing(job), AnyMessage::Diffusing(message)) => job.item(cx, from, message),
            (Self::Tokens(_), AnyMessage::Diffusing(_)) | (Self::Diffusing(_), AnyMessage::Tokens(_)) => Item::new(),
        }
    }

    fn job(&self) -> u32 {
        each!(self, one => one.job())
    }

    fn finish(&mut self, job: u32) {
        each!(self, one => one.finish(job));
    }

    fn deadline(&self) -> Option<Instant> {
        each!(self, one => one.deadline())
    }
}
