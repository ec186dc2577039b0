//! The sequencer on simulated nodes: every member submits messages, and all deliveries are traced.

use super::{APP_GROUP_MAX, AppAction, AppAdapter, AppPlan};
use crate::trace::{AppEvent, AppRequest};
use crate::workload::requests::RequestPlan;
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::base::time::earliest;
use protocol::service::sequencer::{Command, Message, Notice, Payload, Sequencer};
use protocol::service::{NoticeQueue, Service};
use protocol::{Duration, Instant};
use std::cell::RefCell;
use std::collections::VecDeque;

/// A member whose user submits a message about every `pause`.
#[derive(Clone, Debug)]
pub struct OrderedApp {
    sequencer: Sequencer<APP_GROUP_MAX>,
    pause: Duration,
    next: Instant,
    boot: u32,
    log: RefCell<VecDeque<AppEvent>>,
}

impl OrderedApp {
    /// Submits the next message, if it is time.
    fn submit_if_due(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) -> bool {
        if self.next > cx.now {
            return false;
        }
        let first = self.next == Instant::ZERO;
        self.next = cx.now.after(self.pause.mul_ratio(cx.random % 1_000 + 500, 1_000));
        if !first {
            let payload = Payload::from_slice(&cx.now.as_micros().to_le_bytes()).unwrap_or_default();
            self.sequencer.handle(cx, Input::Command(Command::Submit(payload)), out);
        }
        true
    }
}

impl Algorithm for OrderedApp {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        self.sequencer.scope()
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        // One step at a time: a deadline of the sequencer that is due as well expires again.
        if !(matches!(input, Input::Timeout) && self.submit_if_due(cx, out)) {
            self.sequencer.handle(cx, input, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.sequencer.deadline(), Some(self.next))
    }
}

impl Service for OrderedApp {
    const NEEDS_QUORUM: bool = true;

    fn resume(&mut self, incarnation: u32) {
        self.boot = incarnation;
        self.sequencer.resume(incarnation);
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        self.sequencer.notices()
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) -> bool {
        self.sequencer.poll_send(cx, out)
    }
}

impl AppAdapter for OrderedApp {
    fn from_plan(plan: Option<&AppPlan>, _: Option<&RequestPlan>) -> Self {
        let pause = plan.map_or(50_000, |plan| plan.pause);
        Self {
            sequencer: Sequencer::new(),
            pause: Duration::from_micros(pause as u32),
            next: Instant::ZERO,
            boot: 0,
            log: RefCell::default(),
        }
    }

    fn command(_: AppRequest) -> Option<Command> {
        None // its members submit by themselves
    }

    fn on_notice(&self, notice: Notice) {
        self.log.borrow_mut().push_back(match notice {
            Notice::Accepted { number } => AppEvent::Submits { boot: self.boot, number },
            Notice::Refused { .. } => AppEvent::Refused,
            Notice::Delivered { number: place, id, .. } => AppEvent::Delivers {
                era: place.era,
                count: place.count,
                origin: id.initiator.0,
                boot: id.incarnation,
                number: id.number,
            },
            Notice::Missed { through } => AppEvent::Missed { era: through.era, count: through.count },
            Notice::Unknown { number } => AppEvent::Unknown { number },
        });
    }

    fn observe(&self, _: Instant) {}

    fn next_action(&self) -> Option<AppAction> {
        self.log.borrow_mut().pop_front().map(AppAction::Event)
    }
}
