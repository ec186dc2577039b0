//! A termination detection chosen at run time. The encoding is that of the chosen one.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope, forward, step_one_of};
use crate::base::ids::NodeSet;
use crate::base::time::Instant;
use crate::service::termination::{
    Activity, Command, Detection, DijkstraScholten, Notice, Wave, dijkstra_scholten, wave,
};
use crate::wire::one_of_payloads;

const WAVE: &str = "wave";
const DIJKSTRA_SCHOLTEN: &str = "dijkstra-scholten";

/// Any termination detection, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
pub enum AnyDetection<const N: usize> {
    /// Detection by waves.
    Wave(Wave<N>),
    /// The detection of Dijkstra and Scholten.
    DijkstraScholten(DijkstraScholten<N>),
}

/// A message of any detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyDetectionMessage {
    /// Of a wave.
    Wave(wave::Message),
    /// Of the detection of Dijkstra and Scholten.
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
    /// The names of all detections, as on the command line.
    pub const NAMES: &'static [&'static str] = &[WAVE, DIJKSTRA_SCHOLTEN];

    /// Creates the detection called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        if name == WAVE {
            Some(Self::Wave(Wave::new()))
        } else if name == DIJKSTRA_SCHOLTEN {
            Some(Self::DijkstraScholten(DijkstraScholten::new()))
        } else {
            None
        }
    }

    /// Returns how many waves this node has started since boot; 0 for a detection without waves.
    #[must_use]
    pub const fn waves(&self) -> u32 {
        match self {
            Self::Wave(wave) => wave.waves_started(),
            Self::DijkstraScholten(_) => 0,
        }
    }
}

one_of_payloads!([] AnyDetectionMessage, Wave(wave::Message), DijkstraScholten(dijkstra_scholten::Message));

/// Takes a step of one detection and forwards its outputs.
fn wrap<M: Clone, T>(
    out: &mut Outbox<AnyDetectionMessage, Notice>,
    say: impl Fn(M) -> AnyDetectionMessage,
    step: impl FnOnce(&mut Outbox<M, Notice>) -> T,
) -> T {
    let mut own = Outbox::new();
    let result = step(&mut own);
    forward(&own, out, say, |notice| notice);
    result
}

impl<const N: usize> Algorithm for AnyDetection<N> {
    type Message = AnyDetectionMessage;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        each!(self, one => one.scope())
    }

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<AnyDetectionMessage, Command>,
        out: &mut Outbox<AnyDetectionMessage, Notice>,
    ) {
        match self {
            Self::Wave(wave) => {
                let mine =
                    |message| if let AnyDetectionMessage::Wave(message) = message { Some(message) } else { None };
                if let Some(input) = input.unwrap_as(mine) {
                    step_one_of(wave, cx, input, out, AnyDetectionMessage::Wave);
                }
            }
            Self::DijkstraScholten(tree) => {
                let mine = |message| {
                    if let AnyDetectionMessage::DijkstraScholten(message) = message { Some(message) } else { None }
                };
                if let Some(input) = input.unwrap_as(mine) {
                    step_one_of(tree, cx, input, out, AnyDetectionMessage::DijkstraScholten);
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

    fn on_sent(&mut self, to: NodeSet) {
        each!(self, one => one.on_sent(to));
    }

    fn on_received(&mut self, from: Option<usize>) {
        each!(self, one => one.on_received(from));
    }

    fn on_activity(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Outbox<AnyDetectionMessage, Notice>) {
        match self {
            Self::Wave(wave) => wrap(out, AnyDetectionMessage::Wave, |own| wave.on_activity(cx, activity, own)),
            Self::DijkstraScholten(tree) => {
                wrap(out, AnyDetectionMessage::DijkstraScholten, |own| tree.on_activity(cx, activity, own));
            }
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<AnyDetectionMessage, Notice>) -> bool {
        match self {
            Self::Wave(wave) => wrap(out, AnyDetectionMessage::Wave, |own| wave.poll_send(cx, own)),
            Self::DijkstraScholten(tree) => {
                wrap(out, AnyDetectionMessage::DijkstraScholten, |own| tree.poll_send(cx, own))
            }
        }
    }
}
