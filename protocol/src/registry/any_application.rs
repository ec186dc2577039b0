//! An application chosen at run time. The encoding is that of the chosen one.

use crate::algorithm::{Context, Input, Outbox, forward};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::{Duration, Instant};
use crate::service::application::{Application, ChannelMessage, LocalState, Recordable, Terminating};
use crate::service::demo::{Diffusing, Tokens, diffusing, tokens};
use crate::wire::{self, one_of_payloads};
use core::convert::Infallible;

const TOKENS: &str = "tokens";
const DIFFUSING: &str = "diffusing";

/// Any application of this crate, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
pub enum AnyApplication<const N: usize> {
    /// The bank of tokens.
    Tokens(Tokens<N>),
    /// The diffusing computation.
    Diffusing(Diffusing),
}

/// A message of any application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnyApplicationMessage {
    /// A transfer of tokens.
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
    /// The names of all applications, as on the command line.
    pub const NAMES: &'static [&'static str] = &[TOKENS, DIFFUSING];

    /// Creates the application called `name`: one step of it takes about `interval`, and a bank starts with `tokens`.
    #[must_use]
    pub fn by_name(name: &str, tokens: u32, interval: Duration) -> Option<Self> {
        if name == TOKENS {
            Some(Self::Tokens(Tokens::new(tokens, interval)))
        } else if name == DIFFUSING {
            Some(Self::Diffusing(Diffusing::new(interval)))
        } else {
            None
        }
    }

    /// Returns the tokens or units of work in a recorded state.
    #[must_use]
    pub fn amount_in_state(&self, bytes: &[u8]) -> Option<u32> {
        match self {
            Self::Tokens(_) => tokens::amount(bytes),
            Self::Diffusing(_) => wire::decode(bytes).map(|(_, left): (u32, u32)| left),
        }
    }

    /// Returns the tokens or units of work in a recorded message.
    #[must_use]
    pub fn amount_in_message(bytes: &[u8]) -> Option<u32> {
        wire::decode(bytes)
    }
}

impl AnyApplicationMessage {
    /// Returns the tokens or units of work it carries.
    #[must_use]
    pub const fn amount(self) -> u32 {
        match self {
            Self::Tokens(give) => give.amount,
            Self::Diffusing(work) => work.units,
        }
    }
}

one_of_payloads!([] AnyApplicationMessage, Tokens(tokens::Give), Diffusing(diffusing::Work));

impl<const N: usize> Application for AnyApplication<N> {
    type Message = AnyApplicationMessage;
    /// Only a diffusing computation has commands.
    type Command = diffusing::Command;
    type Notice = Infallible;

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<AnyApplicationMessage, diffusing::Command>,
        out: &mut Outbox<AnyApplicationMessage, Infallible>,
    ) {
        match (self, input) {
            (Self::Tokens(bank), Input::Message { from, sent_at, message: AnyApplicationMessage::Tokens(message) }) => {
                step(bank, cx, Input::Message { from, sent_at, message }, AnyApplicationMessage::Tokens, out);
            }
            (
                Self::Diffusing(job),
                Input::Message { from, sent_at, message: AnyApplicationMessage::Diffusing(message) },
            ) => step(job, cx, Input::Message { from, sent_at, message }, AnyApplicationMessage::Diffusing, out),
            (Self::Diffusing(job), Input::Command(command)) => {
                step(job, cx, Input::Command(command), AnyApplicationMessage::Diffusing, out);
            }
            (Self::Tokens(_), Input::Command(_)) | (_, Input::Message { .. }) => {} // of another application
            (Self::Tokens(bank), Input::Fact(fact)) => {
                step(bank, cx, Input::Fact(fact), AnyApplicationMessage::Tokens, out);
            }
            (Self::Diffusing(job), Input::Fact(fact)) => {
                step(job, cx, Input::Fact(fact), AnyApplicationMessage::Diffusing, out);
            }
            (Self::Tokens(bank), Input::Timeout) => {
                step(bank, cx, Input::Timeout, AnyApplicationMessage::Tokens, out);
            }
            (Self::Diffusing(job), Input::Timeout) => {
                step(job, cx, Input::Timeout, AnyApplicationMessage::Diffusing, out);
            }
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, AnyApplicationMessage)> {
        match self {
            Self::Tokens(bank) => bank.poll_send(cx).map(|(to, message)| (to, AnyApplicationMessage::Tokens(message))),
            Self::Diffusing(job) => {
                job.poll_send(cx).map(|(to, message)| (to, AnyApplicationMessage::Diffusing(message)))
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        each!(self, one => one.deadline())
    }
}

/// Takes one step of one application; `wrap` makes its messages those of any.
fn step<A: Application<Message: Clone, Notice = Infallible>>(
    application: &mut A,
    cx: &Context<'_>,
    input: Input<A::Message, A::Command>,
    wrap: impl Fn(A::Message) -> AnyApplicationMessage,
    out: &mut Outbox<AnyApplicationMessage, Infallible>,
) {
    let mut own = Outbox::new();
    application.handle(cx, input, &mut own);
    forward(&own, out, wrap, |notice| notice);
}

impl<const N: usize> Recordable for AnyApplication<N> {
    fn local_state(&self, cx: &Context<'_>) -> Option<LocalState> {
        each!(self, one => one.local_state(cx))
    }

    fn channel_message(&self, cx: &Context<'_>, from: NodeId, message: &AnyApplicationMessage) -> ChannelMessage {
        match (self, message) {
            (Self::Tokens(bank), AnyApplicationMessage::Tokens(message)) => bank.channel_message(cx, from, message),
            (Self::Diffusing(job), AnyApplicationMessage::Diffusing(message)) => job.channel_message(cx, from, message),
            (Self::Tokens(_), AnyApplicationMessage::Diffusing(_))
            | (Self::Diffusing(_), AnyApplicationMessage::Tokens(_)) => ChannelMessage::new(),
        }
    }
}

impl<const N: usize> Terminating for AnyApplication<N> {
    fn is_busy(&self) -> bool {
        each!(self, one => one.is_busy())
    }

    fn job(&self) -> u32 {
        each!(self, one => one.job())
    }

    fn on_terminated(&mut self, job: u32) {
        each!(self, one => one.on_terminated(job));
    }
}
