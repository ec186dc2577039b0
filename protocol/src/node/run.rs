//! One step of any stage: its context, its outputs, and what becomes of them.

use super::Halt;
use super::shared::Shared;
use crate::algorithm::{Algorithm, Context, Outbox, Output, Scope};
use crate::base::ids::NodeSet;
use crate::base::membership::Membership;
use crate::base::time::Instant;
use crate::link::{Link, Outgoing};
use crate::peers::detector::Detector;
use crate::wire::{Delivery, Payload};

/// What a stage takes its steps on.
pub(super) struct Runner<'n, P: Payload, const N: usize, G: Membership, K> {
    pub(super) now: Instant,
    /// Whether the node exchanges hellos.
    pub(super) hellos: bool,
    /// The members that count: the leader lease's view.
    pub(super) view: NodeSet,
    pub(super) shared: &'n mut Shared<N, K>,
    pub(super) detector: &'n Detector<N, G>,
    pub(super) link: &'n mut Link<P, N, G>,
}

impl<P: Payload, const N: usize, G: Membership, K> Runner<'_, P, N, G, K> {
    /// Takes one step of `stage` and submits its messages to the link. Its notices stay in `out`, for the stages after it.
    pub(super) fn run<A: Algorithm<Message: Clone>, T>(
        self,
        scope: Scope,
        stage: &mut A,
        out: &mut Outbox<A::Message, A::Notice>,
        wrap: impl Fn(A::Message) -> P,
        step: impl FnOnce(&mut A, &Context<'_>, &mut Outbox<A::Message, A::Notice>) -> T,
    ) -> T {
        let Self { now, hellos, view, shared, detector, link } = self;
        let cx = shared.context(now, scope, view, detector);
        let (peers, lamport) = (cx.peers, cx.lamport);
        let result = step(stage, &cx, out);
        shared.halt_if(out.overflowed(), Halt::Outbox);
        for output in out.outputs() {
            if let Output::Send { to, message } = output {
                let outgoing = Outgoing { scope, to: to.and(peers), sent_at: lamport };
                submit(shared, link, now, hellos, outgoing, wrap(message.clone()));
            }
        }
        result
    }
}

/// Gives a message to the link.
fn submit<P: Payload, const N: usize, G: Membership, K>(
    shared: &mut Shared<N, K>,
    link: &mut Link<P, N, G>,
    now: Instant,
    hellos: bool,
    outgoing: Outgoing,
    message: P,
) {
    if outgoing.to.is_empty() {
        return;
    }
    let delivery = message.delivery();
    if matches!(delivery, Delivery::Reliable | Delivery::ReliableLatest) {
        shared.lamport.observe(outgoing.sent_at); // the message carries it: a later step must have a later one
    }
    if link.submit(&shared.link_context(now, hellos), message, outgoing).is_ok() {
        return;
    }
    match delivery {
        Delivery::Reliable => shared.halt(Halt::Queue), // a promise
        Delivery::Unreliable | Delivery::Jittered | Delivery::ReliableLatest => {
            shared.counters.unsent = shared.counters.unsent.saturating_add(1);
        }
    }
}
