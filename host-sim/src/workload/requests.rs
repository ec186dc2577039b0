//! Requests of simulated nodes to their super-peers, and the super-peers' answers.

use crate::base::Micros;
use crate::trace::{AppEvent, AppRequest, RequestStep};
use crate::workload::apps::{AppAction, AppAdapter, AppPlan};
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::base::rng::jitter;
use protocol::base::time::earliest;
use protocol::service::requests::{Bytes, Command, Message, Notice, RequestId, Requests};
use protocol::service::{NoticeQueue, Service};
use protocol::{Duration, Instant, NodeId};
use std::cell::RefCell;
use std::collections::VecDeque;

/// The requests of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPlan {
    /// The mean time between two requests of a node.
    pub(crate) every: Micros,
    /// The length of a request and of its answer, in bytes.
    pub(crate) size: u8,
    /// How long a super-peer takes to answer.
    pub(crate) answer: Micros,
    /// Whether a request may be handled twice.
    pub(crate) repeatable: bool,
}

/// A node's service, its user, who makes requests, and its application, which answers those of others.
#[derive(Clone, Debug)]
pub struct RequestLoad {
    requests: Requests,
    plan: RequestPlan,
    /// When the user makes the next request; `None` before the first step.
    next: Option<Instant>,
    /// Requests that wait for an answer, and when they get it; the oldest first, as all take the same time.
    answers: RefCell<VecDeque<(Option<Instant>, RequestId)>>,
    events: RefCell<VecDeque<AppEvent>>,
}

fn micros(time: Micros) -> Duration {
    Duration::from_micros(u32::try_from(time).unwrap_or(u32::MAX))
}

impl RequestLoad {
    fn bytes(&self) -> Bytes {
        (0..self.plan.size).collect()
    }

    /// Returns the command that is due: an answer, or the user's next request.
    fn due(&mut self, cx: &Context<'_>) -> Option<Command> {
        let every = micros(self.plan.every);
        let Some(next) = self.next else {
            self.next = Some(cx.now.after(jitter(every, cx.random)));
            return None;
        };
        for (at, _) in self.answers.borrow_mut().iter_mut() {
            at.get_or_insert(cx.now.after(micros(self.plan.answer)));
        }
        let answer = self.answers.borrow().front().copied();
        if let Some((_, id)) = answer.filter(|(at, _)| at.is_some_and(|at| at <= cx.now)) {
            self.answers.borrow_mut().pop_front();
            return Some(Command::Answer { id, bytes: self.bytes() });
        }
        (next <= cx.now).then(|| {
            self.next = Some(next.after(every.mul_ratio(1, 2)).after(jitter(every, cx.random)));
            Command::Request { bytes: self.bytes(), repeatable: self.plan.repeatable }
        })
    }

    fn load_deadline(&self) -> Instant {
        let answer = self.answers.borrow().front().map(|(at, _)| at.unwrap_or(Instant::ZERO));
        earliest(Some(self.next.unwrap_or(Instant::ZERO)), answer).unwrap_or(Instant::ZERO)
    }

    fn record(&self, step: RequestStep, id: RequestId, repeatable: bool) {
        let RequestId { origin, boot, number } = id;
        self.events.borrow_mut().push_back(AppEvent::Service { step, origin: origin.0, boot, number, repeatable });
    }
}

impl Algorithm for RequestLoad {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        self.requests.scope()
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        let due = matches!(input, Input::Timeout) && self.load_deadline() <= cx.now;
        if !due {
            return self.requests.handle(cx, input, out);
        }
        // One step at a time: a deadline of the service that is due as well expires again.
        if let Some(command) = self.due(cx) {
            self.requests.handle(cx, Input::Command(command), out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.requests.deadline(), Some(self.load_deadline()))
    }
}

impl Service for RequestLoad {
    const ROUTED: bool = Requests::ROUTED;

    fn resume(&mut self, incarnation: u32) {
        self.requests.resume(incarnation);
    }

    fn parent(&self) -> Option<NodeId> {
        self.requests.parent()
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        self.requests.notices()
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) -> bool {
        self.requests.poll_send(cx, out)
    }
}

impl AppAdapter for RequestLoad {
    fn from_plan(_: Option<&AppPlan>, requests: Option<&RequestPlan>) -> Self {
        let plan = *requests.expect("a scenario whose nodes make requests has a plan for them");
        let (answers, events) = (RefCell::default(), RefCell::default());
        Self { requests: Requests::new(), plan, next: None, answers, events }
    }

    fn command(_: AppRequest) -> Option<Command> {
        None // the user of each node makes its requests
    }

    fn on_notice(&self, notice: Notice) {
        let repeatable = self.plan.repeatable;
        match notice {
            Notice::Requested { id } => self.record(RequestStep::Made, id, repeatable),
            Notice::Full => {} // no request was made
            Notice::Answered { id, .. } => self.record(RequestStep::Answered, id, repeatable),
            Notice::Refused { id, .. } => self.record(RequestStep::Refused, id, repeatable),
            Notice::TimedOut { id } => self.record(RequestStep::TimedOut, id, repeatable),
            Notice::Request { id, repeatable, .. } => {
                self.record(RequestStep::Handled, id, repeatable);
                self.answers.borrow_mut().push_back((None, id));
            }
        }
    }

    fn observe(&self, _: Instant) {}

    fn next_action(&self) -> Option<AppAction> {
        self.events.borrow_mut().pop_front().map(AppAction::Event)
    }
}
