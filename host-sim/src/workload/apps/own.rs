//! Applications of one's own on simulated nodes.

use super::{AppAction, AppAdapter, AppPlan};
use crate::trace::{AppEvent, AppRequest};
use crate::workload::requests::RequestPlan;
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::service::{NoticeQueue, Service};
use protocol::{Duration, Instant};
use std::cell::RefCell;
use std::collections::VecDeque;

/// An application of one's own, as the simulator runs it.
///
/// It is implemented for the application itself, or for a type that stands for it.
pub trait OwnApp: Clone + 'static {
    /// The service of its nodes: the application alone (`AppService<Self>`), or with the observers it needs.
    type Service: Service<Command: Clone> + Clone;

    /// Creates the service of a node that boots.
    #[must_use]
    fn service() -> Self::Service;

    /// Returns the next command of a node's user and the pause before it; `None` if there is none from `now`, by the clock
    /// of the node, on. `random` is drawn for this call, from the seed of the run.
    #[must_use]
    fn next_command(_now: Instant, _random: u32) -> Option<(Duration, Command<Self>)> {
        None
    }

    /// Returns a notice as a name and a number in the trace, where checkers see it; `None` leaves it out.
    #[must_use]
    fn event(notice: &Notice<Self>) -> Option<(&'static str, u64)>;
}

/// A command to the service of `A`.
pub type Command<A> = <<A as OwnApp>::Service as Algorithm>::Command;
/// A notice of the service of `A`.
pub type Notice<A> = <<A as OwnApp>::Service as Algorithm>::Notice;
type Message<A> = <<A as OwnApp>::Service as Algorithm>::Message;

/// The next command of a node's user.
#[derive(Clone)]
enum User<C> {
    /// Not drawn yet.
    Unknown,
    At(Instant, C),
    Nobody,
}

/// The service of an application of one's own, its user, and its notices as the trace has them.
#[derive(Clone)]
pub struct Own<A: OwnApp> {
    service: A::Service,
    user: User<Command<A>>,
    events: RefCell<VecDeque<AppEvent>>,
}

impl<A: OwnApp> Own<A> {
    /// Returns the service.
    #[must_use]
    pub const fn service(&self) -> &A::Service {
        &self.service
    }

    fn draw(cx: &Context<'_>) -> User<Command<A>> {
        let next = A::next_command(cx.now, cx.random);
        next.map_or(User::Nobody, |(pause, command)| User::At(cx.now.after(pause), command))
    }
}

impl<A: OwnApp> Algorithm for Own<A> {
    type Message = Message<A>;
    type Command = Command<A>;
    type Notice = Notice<A>;

    fn scope(&self) -> Scope {
        self.service.scope()
    }

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<Message<A>, Command<A>>,
        out: &mut Outbox<Message<A>, Notice<A>>,
    ) {
        let due = matches!(input, Input::Timeout) && self.user_deadline().is_some_and(|at| at <= cx.now);
        if !due {
            return self.service.handle(cx, input, out);
        }
        // One step at a time: a deadline of the service that is due as well expires again.
        if let User::At(_, command) = std::mem::replace(&mut self.user, Self::draw(cx)) {
            self.service.handle(cx, Input::Command(command), out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        protocol::base::time::earliest(self.service.deadline(), self.user_deadline())
    }
}

impl<A: OwnApp> Own<A> {
    fn user_deadline(&self) -> Option<Instant> {
        match self.user {
            User::Unknown => Some(Instant::ZERO),
            User::At(at, _) => Some(at),
            User::Nobody => None,
        }
    }
}

impl<A: OwnApp> Service for Own<A> {
    const NEEDS_QUORUM: bool = A::Service::NEEDS_QUORUM;

    fn resume(&mut self, incarnation: u32) {
        self.service.resume(incarnation);
    }

    fn time(&self, now: Instant) -> Option<Instant> {
        self.service.time(now)
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice<A>>> {
        self.service.notices()
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Message<A>, Notice<A>>) -> bool {
        self.service.poll_send(cx, out)
    }
}

impl<A: OwnApp> AppAdapter for Own<A> {
    fn from_plan(_: Option<&AppPlan>, _: Option<&RequestPlan>) -> Self {
        Self { service: A::service(), user: User::Unknown, events: RefCell::default() }
    }

    fn command(_: AppRequest) -> Option<Command<A>> {
        None // requests in a scenario are for the applications that ship
    }

    fn on_notice(&self, notice: Notice<A>) {
        if let Some((name, value)) = A::event(&notice) {
            self.events.borrow_mut().push_back(AppEvent::Own { name, value });
        }
    }

    fn observe(&self, _: Instant) {}

    fn next_action(&self) -> Option<AppAction> {
        self.events.borrow_mut().pop_front().map(AppAction::Event)
    }
}
