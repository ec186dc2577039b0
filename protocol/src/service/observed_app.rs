//! The service that joins an application with its observers: snapshots, termination detection and the shared clock.
//!
//! Their order within a step is fixed. A message of the application is first recorded by the snapshots it is in flight
//! for, then counted by the detection, then delivered. A marker leaves before any message the application sends after
//! its state was recorded.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Output, Scope, forward};
use crate::base::ids::NodeId;
use crate::base::lamport::LamportTime;
use crate::base::time::{Instant, earliest};
use crate::service::application::Application;
use crate::service::clock_sync::{self, ClockSync};
use crate::service::snapshot::{self, Snapshot};
use crate::service::termination::{self, Activity, Detection};
use crate::service::{NoticeQueue, Service};
use crate::wire::{self, one_of_payloads};
use core::convert::Infallible;

/// Commands to an observed application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command<C> {
    /// A command to the application.
    Application(C),
    /// Takes a snapshot of the application on all members.
    Snapshot,
    /// Detects when the application has terminated on all members, and announces it to them.
    DetectTermination,
}

/// Notices of the observers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// About a snapshot.
    Snapshot(snapshot::Notice),
    /// About the termination of the application.
    Termination(termination::Notice),
    /// About the shared clock.
    Clock(clock_sync::Notice),
}

/// A message of the application or one of its observers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<A, D> {
    /// Of the application.
    Application(A),
    /// Of the snapshots.
    Snapshot(snapshot::Message),
    /// Of the termination detection.
    Termination(D),
    /// Of the shared clock.
    Clock(clock_sync::Message),
}

one_of_payloads!(
    [A: wire::Payload, D: wire::Payload] Message<A, D>,
    Application(A), Snapshot(snapshot::Message), Termination(D), Clock(clock_sync::Message),
);

/// An application `A`, its snapshots, its termination detection `D` and the shared clock, in a group of at most `N`.
#[derive(Clone, Debug)]
pub struct ObservedApp<A, D, const N: usize> {
    application: A,
    snapshot: Snapshot,
    detection: D,
    clock: ClockSync<N>,
    notices: NoticeQueue<Notice>,
}

type MessageOf<A, D> = Message<<A as Application>::Message, <D as Algorithm>::Message>;
type Out<A, D> = Outbox<MessageOf<A, D>, Notice>;

impl<A: Application, D: Detection, const N: usize> ObservedApp<A, D, N> {
    /// Creates the service of a node that has just booted.
    #[must_use]
    pub const fn new(application: A, detection: D) -> Self {
        Self { application, snapshot: Snapshot::new(), detection, clock: ClockSync::new(), notices: NoticeQueue::new() }
    }

    /// Returns the application.
    #[must_use]
    pub const fn application(&self) -> &A {
        &self.application
    }

    /// Returns the snapshots in progress.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the termination detection.
    #[must_use]
    pub const fn detection(&self) -> &D {
        &self.detection
    }

    /// Returns the shared clock.
    #[must_use]
    pub const fn clock(&self) -> &ClockSync<N> {
        &self.clock
    }

    fn step_snapshot<T>(
        &mut self,
        out: &mut Out<A, D>,
        step: impl FnOnce(&mut Snapshot, &A, &mut Outbox<snapshot::Message, snapshot::Notice>) -> T,
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
        out: &mut Out<A, D>,
        step: impl FnOnce(&mut D, &mut Outbox<D::Message, termination::Notice>) -> T,
    ) -> T {
        let mut inner = Outbox::new();
        let result = step(&mut self.detection, &mut inner);
        let terminated = inner.outputs().iter().find_map(|output| match *output {
            Output::Notify(termination::Notice::Terminated { job, .. }) => Some(job),
            Output::Notify(termination::Notice::Aborted { .. }) | Output::Send { .. } => None,
        });
        forward(&inner, out, Message::Termination, Notice::Termination);
        if let Some(job) = terminated {
            self.application.on_terminated(job);
            self.report_activity(cx, out);
        }
        result
    }

    fn step_clock(&mut self, cx: &Context<'_>, input: Input<clock_sync::Message, Infallible>, out: &mut Out<A, D>) {
        let mut inner = Outbox::new();
        self.clock.handle(cx, input, &mut inner);
        forward(&inner, out, Message::Clock, Notice::Clock);
    }

    fn step_application(&mut self, cx: &Context<'_>, input: Input<A::Message, A::Command>, out: &mut Out<A, D>) {
        self.application.handle(cx, input);
        self.report_activity(cx, out);
    }

    /// Reports the application's activity to the detection.
    fn report_activity(&mut self, cx: &Context<'_>, out: &mut Out<A, D>) {
        let activity = Activity { busy: self.application.is_busy(), job: self.application.job() };
        self.step_detection(cx, out, |detection, inner| detection.on_activity(cx, activity, inner));
    }

    fn on_message(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        sent_at: LamportTime,
        message: MessageOf<A, D>,
        out: &mut Out<A, D>,
    ) {
        match message {
            Message::Application(message) => {
                self.step_snapshot(out, |snapshot, application, inner| {
                    snapshot.on_app_message(cx, from, || application.channel_message(cx, from, &message), inner);
                });
                self.detection.on_received(cx.roster.slot_of(from));
                self.step_application(cx, Input::Message { from, sent_at, message }, out);
            }
            Message::Snapshot(message) => self.step_snapshot(out, |snapshot, application, inner| {
                snapshot.on_message(cx, from, message, application, inner);
            }),
            Message::Termination(message) => self.step_detection(cx, out, |detection, inner| {
                detection.handle(cx, Input::Message { from, sent_at, message }, inner);
            }),
            Message::Clock(message) => self.step_clock(cx, Input::Message { from, sent_at, message }, out),
        }
    }
}

impl<A: Application, D: Detection, const N: usize> Algorithm for ObservedApp<A, D, N> {
    type Message = MessageOf<A, D>;
    type Command = Command<A::Command>;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<MessageOf<A, D>, Command<A::Command>>, out: &mut Out<A, D>) {
        match input {
            Input::Message { from, sent_at, message } => self.on_message(cx, from, sent_at, message, out),
            Input::Command(Command::Application(command)) => self.step_application(cx, Input::Command(command), out),
            Input::Command(Command::Snapshot) => {
                self.step_snapshot(out, |snapshot, application, inner| snapshot.initiate(cx, application, inner));
            }
            Input::Command(Command::DetectTermination) => self.step_detection(cx, out, |detection, inner| {
                detection.handle(cx, Input::Command(termination::Command::Detect), inner);
            }),
            // The application first: it then knows which losses to compensate before its state can be recorded.
            Input::Fact(fact) => {
                self.step_application(cx, Input::Fact(fact), out);
                self.step_snapshot(out, |snapshot, _, inner| snapshot.on_fact(cx, fact, inner));
                self.step_detection(cx, out, |detection, inner| detection.handle(cx, Input::Fact(fact), inner));
                self.step_clock(cx, Input::Fact(fact), out);
            }
            Input::Timeout => {
                self.step_application(cx, Input::Timeout, out);
                self.step_snapshot(out, |snapshot, _, inner| snapshot.on_timeout(cx, inner));
                self.step_detection(cx, out, |detection, inner| detection.handle(cx, Input::Timeout, inner));
                self.step_clock(cx, Input::Timeout, out);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let app = earliest(self.application.deadline(), self.detection.deadline());
        earliest(app, earliest(self.snapshot.deadline(), self.clock.deadline()))
    }
}

impl<A: Application, D: Detection, const N: usize> Service for ObservedApp<A, D, N> {
    fn resume(&mut self, incarnation: u32) {
        self.snapshot.resume(incarnation);
        self.detection.resume(incarnation);
    }

    fn time(&self, now: Instant) -> Option<Instant> {
        self.clock.read(now)
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        Some(&mut self.notices)
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Out<A, D>) -> bool {
        // Markers, and the detection's reports of lost messages, leave before messages of the application.
        if self.step_snapshot(out, |snapshot, _, inner| snapshot.poll_send(cx, inner))
            || self.step_detection(cx, out, |detection, inner| detection.poll_send(cx, inner))
        {
            return true;
        }
        let sent = self.application.poll_send(cx).map(|(to, message)| {
            self.detection.on_sent(to);
            out.send(to, Message::Application(message));
        });
        // Also without a message: `poll_send` may have changed the application's state.
        self.report_activity(cx, out);
        sent.is_some()
    }
}
