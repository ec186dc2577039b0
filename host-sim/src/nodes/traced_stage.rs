//! A stage of a node whose reliable messages are logged, as they pass between the stage and the link.

use crate::trace::{MessageEvent, ReliableMessage, digest_of_bytes};
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Output, Scope};
use protocol::base::ids::NodeSet;
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::election::{Election, Winner};
use protocol::mutex::{Fence, LockId, Mutex};
use protocol::service::{NoticeQueue, Service};
use protocol::wire::{Delivery, FRAME_MAX, Payload};
use protocol::{Instant, NodeId};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::num::NonZeroU8;
use std::rc::Rc;

/// The messages of all stages of a node, the oldest first.
#[derive(Clone, Default)]
pub(super) struct MessageLog(Rc<RefCell<VecDeque<MessageEvent>>>);

impl MessageLog {
    /// Removes and returns the oldest message.
    pub(super) fn pop(&self) -> Option<MessageEvent> {
        self.0.borrow_mut().pop_front()
    }

    fn push(&self, event: MessageEvent) {
        self.0.borrow_mut().push_back(event);
    }
}

/// A stage with a log.
pub(super) struct TracedStage<A> {
    pub(super) stage: A,
    log: MessageLog,
}

impl<A: Algorithm<Message: Payload>> TracedStage<A> {
    pub(super) fn new(stage: A, log: &MessageLog) -> Self {
        Self { stage, log: log.clone() }
    }

    /// Logs the messages that a step has added to the outputs, which were so many before it.
    fn log_sent(&self, cx: &Context<'_>, out: &Outbox<A::Message, A::Notice>, before: usize) {
        for output in &out.outputs()[before..] {
            if let Output::Send { to, message } = output {
                for to in cx.roster.ids_of(to.and(cx.peers)) {
                    self.log.0.borrow_mut().extend(reliable(cx.me, to, cx.lamport, message).map(MessageEvent::Sends));
                }
            }
        }
    }
}

/// Returns the message as it is logged; `None` for one that may be lost.
fn reliable<P: Payload>(from: NodeId, to: NodeId, sent_at: LamportTime, message: &P) -> Option<ReliableMessage> {
    match message.delivery() {
        Delivery::Reliable | Delivery::ReliableLatest => {}
        Delivery::Unreliable | Delivery::Jittered => return None,
    }
    let mut buffer = [0; FRAME_MAX + 1];
    let len = message.encode(&mut buffer[1..])?;
    buffer[0] = message.kind().byte();
    let digest = digest_of_bytes(&buffer[..=len]);
    Some(ReliableMessage { from: from.0, to: to.0, sent_at: sent_at.0, digest, name: message.name() })
}

impl<A: Algorithm<Message: Payload>> Algorithm for TracedStage<A> {
    type Message = A::Message;
    type Command = A::Command;
    type Notice = A::Notice;

    fn scope(&self) -> Scope {
        self.stage.scope()
    }

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<Self::Message, Self::Command>,
        out: &mut Outbox<Self::Message, Self::Notice>,
    ) {
        if let Input::Message { from, sent_at, message } = &input
            && let Some(message) = reliable(*from, cx.me, *sent_at, message)
        {
            self.log.push(MessageEvent::Receives(message));
        }
        let before = out.outputs().len();
        self.stage.handle(cx, input, out);
        self.log_sent(cx, out, before);
    }

    fn deadline(&self) -> Option<Instant> {
        self.stage.deadline()
    }
}

impl<A: Election> Election for TracedStage<A> {
    fn resume(&mut self, number: u32) {
        self.stage.resume(number);
    }

    fn term_number(&self) -> u32 {
        self.stage.term_number()
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.stage.leader()
    }

    fn hurry(&mut self, now: Instant) {
        self.stage.hurry(now);
    }

    fn on_informed(&mut self, set: NodeSet) {
        self.stage.on_informed(set);
    }

    fn take_deposed(&mut self) -> bool {
        self.stage.take_deposed()
    }

    fn winner(&self) -> Winner {
        self.stage.winner()
    }

    fn parent(&self) -> NodeSet {
        self.stage.parent()
    }

    fn heartbeat(&self) -> Option<u32> {
        self.stage.heartbeat()
    }

    fn horizon(&self) -> Option<u8> {
        self.stage.horizon()
    }

    fn clients_max(&self) -> Option<NonZeroU8> {
        self.stage.clients_max()
    }

    fn clients(&self) -> Option<u8> {
        self.stage.clients()
    }

    fn has_chief(&self) -> bool {
        self.stage.has_chief()
    }

    fn chief(&self) -> Option<(NodeId, Term)> {
        self.stage.chief()
    }
}

impl<A: Mutex> Mutex for TracedStage<A> {
    const PRESENT: bool = A::PRESENT;

    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.stage.holds(lock, now)
    }

    fn supports(&self, group: NodeSet) -> bool {
        self.stage.supports(group)
    }

    fn hops_max(&self) -> u8 {
        self.stage.hops_max()
    }

    fn resume(&mut self, floor: LamportTime) {
        self.stage.resume(floor);
    }

    fn floor(&self) -> LamportTime {
        self.stage.floor()
    }
}

impl<A: Service> Service for TracedStage<A> {
    const PRESENT: bool = A::PRESENT;
    const ROUTED: bool = A::ROUTED;
    const NEEDS_QUORUM: bool = A::NEEDS_QUORUM;

    fn parent(&self) -> Option<NodeId> {
        self.stage.parent()
    }

    fn resume(&mut self, incarnation: u32) {
        self.stage.resume(incarnation);
    }

    fn restore(&mut self, log: &[u8]) {
        self.stage.restore(log);
    }

    fn log_due(&self) -> bool {
        self.stage.log_due()
    }

    fn poll_log(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.stage.poll_log(buffer)
    }

    fn time(&self, now: Instant) -> Option<Instant> {
        self.stage.time(now)
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Self::Notice>> {
        self.stage.notices()
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Self::Notice>) -> bool {
        let before = out.outputs().len();
        let sent = self.stage.poll_send(cx, out);
        self.log_sent(cx, out, before);
        sent
    }
}
