//! The service that runs an application, with the observers chosen for it: snapshots, termination detection, the shared
//! clock.
//!
//! [`AppService::new`] runs the application alone. [`AppService::with_snapshot`], [`AppService::with_detection`] and
//! [`AppService::with_clock`] add one observer each. What is not chosen is [`NoService`]: its messages, commands and
//! notices do not exist, and it takes up neither flash nor RAM.
//!
//! The order within a step is fixed. A reliable message of the application is first recorded by the snapshots it is in
//! flight for, then counted by the detection, then delivered. A marker leaves before any message the application sends
//! after its state was recorded.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Output, Scope, forward};
use crate::base::ids::NodeId;
use crate::base::lamport::LamportTime;
use crate::base::time::{Instant, earliest};
use crate::service::application::{Application, Recordable, Terminating};
use crate::service::clock_sync::{self, ClockSync};
use crate::service::observer::{Detects, Snapshots};
use crate::service::snapshot::{self, Snapshot};
use crate::service::termination::{self, Detection};
use crate::service::{NoService, NoticeQueue, Service};
use crate::wire::{Delivery, Payload, one_of_payloads};
use core::convert::Infallible;

/// Commands to an application and its observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command<A, S = snapshot::Command, D = termination::Command> {
    /// A command to the application.
    Application(A),
    /// A command to the snapshots.
    Snapshot(S),
    /// A command to the termination detection.
    Termination(D),
}

impl<A, D> Command<A, snapshot::Command, D> {
    /// Takes a snapshot of the application on all members.
    pub const SNAPSHOT: Self = Self::Snapshot(snapshot::Command::Take);
}

impl<A, S> Command<A, S, termination::Command> {
    /// Detects when the application has terminated on all members, and announces it to them.
    pub const DETECT_TERMINATION: Self = Self::Termination(termination::Command::Detect);
}

impl<A, S, D> From<A> for Command<A, S, D> {
    fn from(command: A) -> Self {
        Self::Application(command)
    }
}

/// Notices of an application and its observers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice<A = Infallible, S = snapshot::Notice, D = termination::Notice, C = clock_sync::Notice> {
    /// Of the application.
    Application(A),
    /// About a snapshot.
    Snapshot(S),
    /// About the termination of the application.
    Termination(D),
    /// About the shared clock.
    Clock(C),
}

/// A message of an application or one of its observers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<A, S = snapshot::Message, D = termination::wave::Message, C = clock_sync::Message> {
    /// Of the application.
    Application(A),
    /// Of the snapshots.
    Snapshot(S),
    /// Of the termination detection.
    Termination(D),
    /// Of the shared clock.
    Clock(C),
}

one_of_payloads!(
    [A: Payload, S: Payload, D: Payload, C: Payload] Message<A, S, D, C>,
    Application(A), Snapshot(S), Termination(D), Clock(C),
);

type Notices<A, S, D, C> = NoticeQueue<Notice<A, S, D, C>>;

/// An application `A` with snapshots `S`, termination detection `D` and shared clock `C`, each of them or [`NoService`].
///
/// ```
/// use protocol::service::{AppService, app_service::Command, demo::Tokens, snapshot::Snapshot};
/// use protocol::{Algorithm, Duration};
///
/// type Observed = AppService<Tokens<8>, Snapshot>;
/// let bank: Observed = AppService::new(Tokens::new(100, Duration::from_millis(500))).with_snapshot();
/// let take: <Observed as Algorithm>::Command = Command::SNAPSHOT;
/// ```
///
/// What was not added is no command:
///
/// ```compile_fail
/// # use protocol::{Algorithm, service::{AppService, app_service::Command, demo::Tokens}};
/// type Alone = AppService<Tokens<8>>;
/// let take: <Alone as Algorithm>::Command = Command::SNAPSHOT;
/// ```
#[derive(Clone, Debug)]
pub struct AppService<A, S = NoService, D = NoService, C = NoService>
where
    A: Application,
    S: Snapshots<A>,
    D: Detects<A>,
    C: Service<Command = Infallible>,
{
    application: A,
    snapshot: S,
    detection: D,
    clock: C,
    notices: Notices<A::Notice, S::Notice, D::Notice, C::Notice>,
}

/// An application with all its observers, in a group of at most `N`.
pub type ObservedApp<A, D, const N: usize> = AppService<A, Snapshot, D, ClockSync<N>>;

impl<A: Application> AppService<A> {
    /// Creates the service of a node that has just booted: the application, and nothing that observes it.
    #[must_use]
    pub const fn new(application: A) -> Self {
        let (snapshot, detection, clock) = (NoService, NoService, NoService);
        Self { application, snapshot, detection, clock, notices: NoticeQueue::new() }
    }
}

impl<A: Recordable + Terminating, D: Detection, const N: usize> ObservedApp<A, D, N> {
    /// Creates the service of a node that has just booted: the application with all its observers.
    #[must_use]
    pub fn all(application: A, detection: D) -> Self {
        AppService::new(application).with_snapshot().with_detection(detection).with_clock()
    }
}

type MessageOf<A, S, D, C> = Message<
    <A as Application>::Message,
    <S as Snapshots<A>>::Message,
    <D as Algorithm>::Message,
    <C as Algorithm>::Message,
>;
type NoticeOf<A, S, D, C> =
    Notice<<A as Application>::Notice, <S as Snapshots<A>>::Notice, <D as Algorithm>::Notice, <C as Algorithm>::Notice>;
type CommandOf<A, S, D> = Command<<A as Application>::Command, <S as Snapshots<A>>::Command, <D as Algorithm>::Command>;
type Out<A, S, D, C> = Outbox<MessageOf<A, S, D, C>, NoticeOf<A, S, D, C>>;

impl<A: Application, S: Snapshots<A>, D: Detects<A>, C: Service<Command = Infallible>> AppService<A, S, D, C> {
    /// Adds snapshots.
    #[must_use]
    pub fn with_snapshot(self) -> AppService<A, Snapshot, D, C>
    where
        A: Recordable,
    {
        let Self { application, detection, clock, .. } = self;
        AppService { application, snapshot: Snapshot::new(), detection, clock, notices: NoticeQueue::new() }
    }

    /// Adds termination detection.
    #[must_use]
    pub fn with_detection<E: Detection>(self, detection: E) -> AppService<A, S, E, C>
    where
        A: Terminating,
    {
        let Self { application, snapshot, clock, .. } = self;
        AppService { application, snapshot, detection, clock, notices: NoticeQueue::new() }
    }

    /// Adds the shared clock of a group of at most `N`.
    #[must_use]
    pub fn with_clock<const N: usize>(self) -> AppService<A, S, D, ClockSync<N>> {
        let Self { application, snapshot, detection, .. } = self;
        AppService { application, snapshot, detection, clock: ClockSync::new(), notices: NoticeQueue::new() }
    }

    /// Returns the application.
    #[must_use]
    pub const fn application(&self) -> &A {
        &self.application
    }

    /// Returns the snapshots in progress.
    #[must_use]
    pub const fn snapshot(&self) -> &S {
        &self.snapshot
    }

    /// Returns the termination detection.
    #[must_use]
    pub const fn detection(&self) -> &D {
        &self.detection
    }

    /// Returns the shared clock.
    #[must_use]
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    fn step_snapshot<T>(
        &mut self,
        out: &mut Out<A, S, D, C>,
        step: impl FnOnce(&mut S, &A, &mut Outbox<S::Message, S::Notice>) -> T,
    ) -> T {
        let mut inner = Outbox::new();
        let result = step(&mut self.snapshot, &self.application, &mut inner);
        forward(&inner, out, Message::Snapshot, Notice::Snapshot);
        result
    }

    /// Steps the detection; passes a termination it finds on to the application.
    fn step_detection<T>(
        &mut self,
        cx: &Context<'_>,
        out: &mut Out<A, S, D, C>,
        step: impl FnOnce(&mut D, &A, &mut Outbox<D::Message, D::Notice>) -> T,
    ) -> T {
        let mut inner = Outbox::new();
        let result = step(&mut self.detection, &self.application, &mut inner);
        forward(&inner, out, Message::Termination, Notice::Termination);
        let terminated = inner.notices().find(|notice| D::on_notice(&mut self.application, notice)).is_some();
        if terminated {
            self.report_activity(cx, out);
        }
        result
    }

    fn step_clock(&mut self, cx: &Context<'_>, input: Input<C::Message, Infallible>, out: &mut Out<A, S, D, C>) {
        let mut inner = Outbox::new();
        self.clock.handle(cx, input, &mut inner);
        forward(&inner, out, Message::Clock, Notice::Clock);
    }

    fn step_application(&mut self, cx: &Context<'_>, input: Input<A::Message, A::Command>, out: &mut Out<A, S, D, C>) {
        let mut inner = Outbox::new();
        self.application.handle(cx, input, &mut inner);
        let out_of_turn = |output: &Output<A::Message, A::Notice>| match output {
            Output::Send { message, .. } => is_reliable(message),
            Output::Notify(_) => false,
        };
        if inner.outputs().iter().any(out_of_turn) {
            out.overflow();
            return;
        }
        forward(&inner, out, Message::Application, Notice::Application);
        self.report_activity(cx, out);
    }

    /// Reports the application's activity to the detection.
    fn report_activity(&mut self, cx: &Context<'_>, out: &mut Out<A, S, D, C>) {
        self.step_detection(cx, out, |detection, application, inner| detection.on_activity(cx, application, inner));
    }

    fn on_app_message(
        &mut self,
        cx: &Context<'_>,
        (from, sent_at): (NodeId, LamportTime),
        message: A::Message,
        out: &mut Out<A, S, D, C>,
    ) {
        if is_reliable(&message) {
            self.step_snapshot(out, |snapshot, application, inner| {
                snapshot.on_app_message(cx, from, &message, application, inner);
            });
            self.detection.on_received(cx.roster.slot_of(from));
        }
        self.step_application(cx, Input::Message { from, sent_at, message }, out);
    }

    fn on_message(
        &mut self,
        cx: &Context<'_>,
        (from, sent_at): (NodeId, LamportTime),
        message: MessageOf<A, S, D, C>,
        out: &mut Out<A, S, D, C>,
    ) {
        match message {
            Message::Application(message) => self.on_app_message(cx, (from, sent_at), message, out),
            Message::Snapshot(message) => self.step_snapshot(out, |snapshot, application, inner| {
                snapshot.handle(cx, Input::Message { from, sent_at, message }, application, inner);
            }),
            Message::Termination(message) => self.step_detection(cx, out, |detection, _, inner| {
                detection.handle(cx, Input::Message { from, sent_at, message }, inner);
            }),
            Message::Clock(message) => self.step_clock(cx, Input::Message { from, sent_at, message }, out),
        }
    }
}

/// Returns whether a message is part of the stream that observers see.
fn is_reliable(message: &impl Payload) -> bool {
    message.delivery() == Delivery::Reliable
}

impl<A: Application, S: Snapshots<A>, D: Detects<A>, C: Service<Command = Infallible>> Algorithm
    for AppService<A, S, D, C>
{
    type Message = MessageOf<A, S, D, C>;
    type Command = CommandOf<A, S, D>;
    type Notice = NoticeOf<A, S, D, C>;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<MessageOf<A, S, D, C>, CommandOf<A, S, D>>,
        out: &mut Out<A, S, D, C>,
    ) {
        match input {
            Input::Message { from, sent_at, message } => self.on_message(cx, (from, sent_at), message, out),
            Input::Command(Command::Application(command)) => self.step_application(cx, Input::Command(command), out),
            Input::Command(Command::Snapshot(command)) => self.step_snapshot(out, |snapshot, application, inner| {
                snapshot.handle(cx, Input::Command(command), application, inner);
            }),
            Input::Command(Command::Termination(command)) => self.step_detection(cx, out, |detection, _, inner| {
                detection.handle(cx, Input::Command(command), inner);
            }),
            // The application first: it then knows which losses to compensate before its state can be recorded.
            Input::Fact(fact) => {
                self.step_application(cx, Input::Fact(fact), out);
                self.step_snapshot(out, |snapshot, app, inner| snapshot.handle(cx, Input::Fact(fact), app, inner));
                self.step_detection(cx, out, |detection, _, inner| detection.handle(cx, Input::Fact(fact), inner));
                self.step_clock(cx, Input::Fact(fact), out);
            }
            Input::Timeout => {
                self.step_application(cx, Input::Timeout, out);
                self.step_snapshot(out, |snapshot, app, inner| snapshot.handle(cx, Input::Timeout, app, inner));
                self.step_detection(cx, out, |detection, _, inner| detection.handle(cx, Input::Timeout, inner));
                self.step_clock(cx, Input::Timeout, out);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let app = earliest(self.application.deadline(), self.detection.deadline());
        earliest(app, earliest(self.snapshot.deadline(), self.clock.deadline()))
    }
}

impl<A: Application, S: Snapshots<A>, D: Detects<A>, C: Service<Command = Infallible>> Service
    for AppService<A, S, D, C>
{
    fn resume(&mut self, incarnation: u32) {
        self.snapshot.resume(incarnation);
        self.detection.resume(incarnation);
    }

    fn time(&self, now: Instant) -> Option<Instant> {
        self.clock.time(now)
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<NoticeOf<A, S, D, C>>> {
        Some(&mut self.notices)
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Out<A, S, D, C>) -> bool {
        // Markers, and the detection's reports of lost messages, leave before messages of the application.
        if self.step_snapshot(out, |snapshot, _, inner| snapshot.poll_send(cx, inner))
            || self.step_detection(cx, out, |detection, _, inner| detection.poll_send(cx, inner))
        {
            return true;
        }
        let sent = self.application.poll_send(cx).map(|(to, message)| {
            if is_reliable(&message) {
                self.detection.on_sent(to);
            }
            out.send(to, Message::Application(message));
        });
        // Also without a message: `poll_send` may have changed the application's state.
        self.report_activity(cx, out);
        sent.is_some()
    }
}
