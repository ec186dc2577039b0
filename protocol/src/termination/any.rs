//! The detection as a value, for hosts that choose at run time. The bytes are those of the chosen one.

use super::{Activity, Command, Detection, DijkstraScholten, Notice, Wave, dijkstra_scholten, wave};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope, forward, step_one_of};
use crate::group::NodeSet;
use crate::time::Instant;
use crate::wire::{Kind, any_message};

/// Any detection there is, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
pub enum AnyDetection<const N: usize> {
    /// By waves.
    Wave(Wave<N>),
    /// After Dijkstra and Scholten.
    DijkstraScholten(DijkstraScholten<N>),
}

/// What any detection's nodes say to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyMessage {
    /// Of a wave.
    Wave(wave::Message),
    /// After Dijkstra and Scholten.
    DijkstraScholten(dijkstra_scholten::Message),
}

macro_rules! each {
    ($any:expr, $one:ident => $what:expr) => {
        match $any {
            AnyDetection::Wave($one) => $what,
            AnyDetection::DijkstraScholten($one) => $what,
        }
    };
}

impl<const N: usize> AnyDetection<N> {
    /// The words for all detections, as on the command line.
    pub const NAMES: &'static [&'static str] = &[Kind::Wave.name(), Kind::DijkstraScholten.name()];

    /// The detection called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        if name == Kind::Wave.name() {
            Some(Self::Wave(Wave::new()))
        } else if name == Kind::DijkstraScholten.name() {
            Some(Self::DijkstraScholten(DijkstraScholten::new()))
        } else {
            None
        }
    }

    /// How many waves this node has sent since it started; none where there are none.
    #[must_use]
    pub const fn waves(&self) -> u32 {
        match self {
            Self::Wave(wave) => wave.number(),
            Self::DijkstraScholten(_) => 0,
        }
    }
}

any_message!([] AnyMessage, Wave(wave::Message), DijkstraScholten(dijkstra_scholten::Message));

/// Takes a step of one of them, and what it says into what any says.
fn wrap<M: Clone, T>(
    out: &mut Outbox<AnyMessage, Notice>,
    say: impl Fn(M) -> AnyMessage,
    step: impl FnOnce(&mut Outbox<M, Notice>) -> T,
) -> T {
    let mut own = Outbox::new();
    let result = step(&mut own);
    forward(&own, out, say, |notice| notice);
    result
}

impl<const N: usize> Algorithm for AnyDetection<N> {
    type Message = AnyMessage;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        each!(self, one => one.scope())
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<AnyMessage, Command>, out: &mut Outbox<AnyMessage, Notice>) {
        match self {
            Self::Wave(wave) => {
                let mine = |message| if let AnyMessage::Wave(message) = message { Some(message) } else { None };
                if let Some(input) = input.unwrap_as(mine) {
                    step_one_of(wave, cx, input, out, AnyMessage::Wave);
                }
            }
            Self::DijkstraScholten(tree) => {
                let mine =
                    |message| if let AnyMessage::DijkstraScholten(message) = message { Some(message) } else { None };
                if let Some(input) = input.unwrap_as(mine) {
                    step_one_of(tree, cx, input, out, AnyMessage::DijkstraScholten);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        each!(self, one => one.deadline())
    }
}

impl<const N: usize> Detection for AnyDetection<N> {
    fn resume(&mut self, incarnation: u32) {
        each!(self, one => one.resume(incarnation));
    }

    fn sent(&mut self, to: NodeSet) {
        each!(self, one => one.sent(to));
    }

    fn heard(&mut self, from: Option<usize>) {
        each!(self, one => one.heard(from));
    }

    fn observe(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Outbox<AnyMessage, Notice>) {
        match self {
            Self::Wave(wave) => wrap(out, AnyMessage::Wave, |own| wave.observe(cx, activity, own)),
            Self::DijkstraScholten(tree) => {
                wrap(out, AnyMessage::DijkstraScholten, |own| tree.observe(cx, activity, own));
            }
        }
    }

    fn speak(&mut self, cx: &Context<'_>, out: &mut Outbox<AnyMessage, Notice>) -> bool {
        match self {
            Self::Wave(wave) => wrap(out, AnyMessage::Wave, |own| wave.speak(cx, own)),
            Self::DijkstraScholten(tree) => wrap(out, AnyMessage::DijkstraScholten, |own| tree.speak(cx, own)),
        }
    }
}
