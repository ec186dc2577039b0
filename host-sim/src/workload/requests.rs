//! Requests of simulated nodes to their super-peers, and the super-peers' answers.

use crate::base::Micros;
use crate::trace::{AppEvent, AppRequest, RequestStep};
use crate::workload::apps::{AppAction, AppAdapter, AppPlan};
use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use protocol::base::rng::jitter;
use protocol::base::time::earliest;
use protocol::service::requests::{Bytes, Command, Message, Notice, PAYLOAD_MAX, RequestId, Requests, long_commands};
use protocol::service::{NoticeQueue, Service};
use protocol::{Duration, Instant, NodeId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The requests of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPlan {
    /// The mean time between two requests of a node.
    pub(crate) every: Micros,
    /// The length of a request and, up to [`PAYLOAD_MAX`], of its answer, in bytes.
    pub(crate) size: u16,
    /// How long a super-peer takes to answer.
    pub(crate) answer: Micros,
    /// Whether a request may be handled twice.
    pub(crate) repeatable: bool,
    /// How often a super-peer sends a message, and to whom, if it does.
    pub(crate) messages: Option<(Micros, Audience)>,
    /// How many hops the clients of a super-peer are away, where there is a horizon.
    pub(crate) reach: Option<u8>,
}

/// Those that a super-peer sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// All of its clients.
    All,
    /// The client that asked last.
    One,
}

/// How many long requests a simulated node has room for.
const LONG: usize = 8;

/// How many hops a message of a leader without a horizon takes.
const REACH_MAX: u8 = 8;

/// A node's service, its user, who makes requests, and its application, which answers those of others.
#[derive(Clone, Debug)]
pub struct RequestLoad {
    requests: Requests<LONG>,
    plan: RequestPlan,
    /// When the user makes the next request; `None` before the first step.
    next: Option<Instant>,
    /// What is left of the user's request to hand over.
    commands: VecDeque<Command>,
    /// When this node sends the next message; `None` where it serves nobody.
    next_message: Option<Instant>,
    /// The client that asked last.
    last_client: Cell<Option<NodeId>>,
    /// Requests that wait for an answer, and when they get it; the oldest first, as all take the same time.
    answers: RefCell<VecDeque<(Option<Instant>, RequestId)>>,
    events: RefCell<VecDeque<AppEvent>>,
}

fn micros(time: Micros) -> Duration {
    Duration::from_micros(u32::try_from(time).unwrap_or(u32::MAX))
}

impl RequestLoad {
    fn bytes(&self) -> Bytes {
        (0..=u8::MAX).take(usize::from(self.plan.size).min(PAYLOAD_MAX)).collect()
    }

    /// Returns the commands that make the next request.
    fn request(&self) -> VecDeque<Command> {
        let (size, repeatable) = (usize::from(self.plan.size), self.plan.repeatable);
        if size <= PAYLOAD_MAX {
            return [Command::Request { bytes: self.bytes(), repeatable }].into();
        }
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(size).collect();
        long_commands(&bytes, repeatable).collect()
    }

    /// Returns the message to clients that is due, if this node serves some.
    fn due_message(&mut self, cx: &Context<'_>) -> Option<Command> {
        let (every, audience) = self.plan.messages?;
        let at = self.next_message.filter(|&at| at <= cx.now)?;
        self.next_message = Some(at.after(micros(every)));
        let to = match audience {
            Audience::All => None,
            Audience::One => Some(self.last_client.get()?),
        };
        Some(Command::Send { to, bytes: self.bytes() })
    }

    /// A leader sends messages from now on, any other node none.
    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact) {
        let leads = match fact {
            Fact::Leader { leader, .. } => leader == cx.me,
            Fact::NoLeader => false,
            _ => return,
        };
        let (every, _) = self.plan.messages.unwrap_or((0, Audience::All));
        let wanted = leads && self.plan.messages.is_some();
        self.next_message = wanted.then(|| self.next_message.unwrap_or_else(|| cx.now.after(micros(every))));
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
        if let Some(command) = self.commands.pop_front() {
            return Some(command);
        }
        if let Some(command) = self.due_message(cx) {
            return Some(command);
        }
        if next <= cx.now {
            self.next = Some(next.after(every.mul_ratio(1, 2)).after(jitter(every, cx.random)));
            self.commands = self.request();
        }
        self.commands.pop_front()
    }

    fn load_deadline(&self) -> Instant {
        let answer = self.answers.borrow().front().map(|(at, _)| at.unwrap_or(Instant::ZERO));
        let made = self.next.filter(|_| self.commands.is_empty()).unwrap_or(Instant::ZERO);
        earliest(earliest(Some(made), self.next_message), answer).unwrap_or(Instant::ZERO)
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
        if let Input::Fact(fact) = input {
            self.on_fact(cx, fact);
        }
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
    const ROUTED: bool = Requests::<LONG>::ROUTED;

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
        let requests = Requests::buffered().within(plan.reach.unwrap_or(REACH_MAX));
        let (commands, last_client) = (VecDeque::new(), Cell::default());
        Self { requests, plan, next: None, commands, next_message: None, last_client, answers, events }
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
            Notice::Request { id, repeatable, .. } | Notice::LongRequest { id, repeatable, .. } => {
                self.last_client.set(Some(id.origin));
                self.record(RequestStep::Handled, id, repeatable);
                self.answers.borrow_mut().push_back((None, id));
            }
            Notice::Sending { id } => self.record(RequestStep::Sent, id, false),
            Notice::Delivered { id } => self.record(RequestStep::Delivered, id, false),
            Notice::Undelivered { id } => self.record(RequestStep::Undelivered, id, false),
            Notice::Message { id, .. } => self.record(RequestStep::Received, id, false),
        }
    }

    fn observe(&self, _: Instant) {}

    fn next_action(&self) -> Option<AppAction> {
        self.events.borrow_mut().pop_front().map(AppAction::Event)
    }
}
