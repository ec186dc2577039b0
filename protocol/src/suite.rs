//! All that can stand on top of a node, joined: an application, its snapshots, the detection of its end, and the shared
//! clock.
//!
//! What they do happens in one order. A message of the application is recorded by the snapshots it belongs to, then
//! counted, then heard. A marker leaves before anything the application says after its state was recorded.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Output, Scope, forward};
use crate::application::Application;
use crate::clock::Stamp;
use crate::clock_sync::{self, ClockSync};
use crate::group::NodeId;
use crate::snapshot::{self, Snapshot};
use crate::termination::{self, Activity, Detection};
use crate::time::{Instant, sooner};
use crate::upper::{Told, Upper};
use crate::wire::{self, any_message};

/// What is asked of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command<C> {
    /// Something of the application.
    Application(C),
    /// Take a snapshot of the application on all members.
    Snapshot,
    /// Find out when the application is done on all members, and tell them.
    Watch,
}

/// What a suite tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// Of a snapshot.
    Snapshot(snapshot::Notice),
    /// Of the end of the application.
    Termination(termination::Notice),
    /// Of the shared clock.
    Clock(clock_sync::Notice),
}

/// A message of one of the parts.
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

any_message!(
    [A: wire::Message, D: wire::Message] Message<A, D>,
    Application(A), Snapshot(snapshot::Message), Termination(D), Clock(clock_sync::Message),
);

/// An application `A`, its snapshots, the detection `D` of its end, and the shared clock, in a group of at most `N`.
#[derive(Clone, Debug)]
pub struct Suite<A, D, const N: usize> {
    application: A,
    snapshot: Snapshot,
    detection: D,
    clock: ClockSync<N>,
    told: Told<Notice>,
}

/// What a suite says.
type Said<A, D> = Message<<A as Application>::Message, <D as Algorithm>::Message>;
type Out<A, D> = Outbox<Said<A, D>, Notice>;

impl<A: Application, D: Detection, const N: usize> Suite<A, D, N> {
    /// The suite of a node that has just started.
    #[must_use]
    pub const fn new(application: A, detection: D) -> Self {
        Self { application, snapshot: Snapshot::new(), detection, clock: ClockSync::new(), told: Told::new() }
    }

    /// The application.
    #[must_use]
    pub const fn application(&self) -> &A {
        &self.application
    }

    /// The snapshots in progress.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The detection of the application's end.
    #[must_use]
    pub const fn detection(&self) -> &D {
        &self.detection
    }

    /// The shared clock.
    #[must_use]
    pub const fn clock(&self) -> &ClockSync<N> {
        &self.clock
    }

    /// A step of the snapshots.
    fn photograph<T>(
        &mut self,
        out: &mut Out<A, D>,
        step: impl FnOnce(&mut Snapshot, &A, &mut Outbox<snapshot::Message, snapshot::Notice>) -> T,
    ) -> T {
        let mut inner = Outbox::new();
        let result = step(&mut self.snapshot, &self.application, &mut inner);
        forward(&inner, out, Message::Snapshot, Notice::Snapshot);
        result
    }

    /// A step of the detection.
    fn detect<T>(
        &mut self,
        cx: &Context<'_>,
        out: &mut Out<A, D>,
        step: impl FnOnce(&mut D, &mut Outbox<D::Message, termination::Notice>) -> T,
    ) -> T {
        let mut inner = Outbox::new();
        let result = step(&mut self.detection, &mut inner);
        let end = inner.outputs().iter().find_map(|output| match *output {
            Output::Notify(termination::Notice::Terminated { job, .. }) => Some(job),
            Output::Notify(termination::Notice::Aborted { .. }) | Output::Send { .. } => None,
        });
        forward(&inner, out, Message::Termination, Notice::Termination);
        if let Some(job) = end {
            self.application.finish(job);
            self.observe(cx, out);
        }
        result
    }

    /// A step of the clock.
    fn tick(
        &mut self,
        cx: &Context<'_>,
        input: Input<clock_sync::Message, core::convert::Infallible>,
        out: &mut Out<A, D>,
    ) {
        let mut inner = Outbox::new();
        self.clock.handle(cx, input, &mut inner);
        forward(&inner, out, Message::Clock, Notice::Clock);
    }

    /// A step of the application, of which the detection hears.
    fn apply(&mut self, cx: &Context<'_>, input: Input<A::Message, A::Command>, out: &mut Out<A, D>) {
        self.application.handle(cx, input);
        self.observe(cx, out);
    }

    fn observe(&mut self, cx: &Context<'_>, out: &mut Out<A, D>) {
        let activity = Activity { busy: self.application.is_busy(), job: self.application.job() };
        self.detect(cx, out, |detection, inner| detection.observe(cx, activity, inner));
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, stamp: Stamp, message: Said<A, D>, out: &mut Out<A, D>) {
        match message {
            Message::Application(message) => {
                let item = |application: &A| application.item(cx, from, &message);
                self.photograph(out, |snapshot, application, inner| {
                    snapshot.pass(cx, from, || item(application), inner);
                });
                self.detection.heard(cx.roster.slot_of(from));
                self.apply(cx, Input::Message { from, stamp, message }, out);
            }
            Message::Snapshot(message) => self.photograph(out, |snapshot, application, inner| {
                snapshot.hear(cx, from, message, application, inner);
            }),
            Message::Termination(message) => self.detect(cx, out, |detection, inner| {
                detection.handle(cx, Input::Message { from, stamp, message }, inner);
            }),
            Message::Clock(message) => self.tick(cx, Input::Message { from, stamp, message }, out),
        }
    }
}

impl<A: Application, D: Detection, const N: usize> Algorithm for Suite<A, D, N> {
    type Message = Said<A, D>;
    type Command = Command<A::Command>;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Said<A, D>, Command<A::Command>>, out: &mut Out<A, D>) {
        match input {
            Input::Message { from, stamp, message } => self.hear(cx, from, stamp, message, out),
            Input::Command(Command::Application(command)) => self.apply(cx, Input::Command(command), out),
            Input::Command(Command::Snapshot) => {
                self.photograph(out, |snapshot, application, inner| snapshot.begin(cx, application, inner));
            }
            Input::Command(Command::Watch) => self.detect(cx, out, |detection, inner| {
                detection.handle(cx, Input::Command(termination::Command::Watch), inner);
            }),
            // The application first: it knows then what it has to make good before it can be recorded.
            Input::Fact(fact) => {
                self.apply(cx, Input::Fact(fact), out);
                self.photograph(out, |snapshot, _, inner| snapshot.learn(cx, fact, inner));
                self.detect(cx, out, |detection, inner| detection.handle(cx, Input::Fact(fact), inner));
                self.tick(cx, Input::Fact(fact), out);
            }
            Input::Timeout => {
                self.apply(cx, Input::Timeout, out);
                self.photograph(out, |snapshot, _, inner| snapshot.timeout(cx, inner));
                self.detect(cx, out, |detection, inner| detection.handle(cx, Input::Timeout, inner));
                self.tick(cx, Input::Timeout, out);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let watched = sooner(self.application.deadline(), self.detection.deadline());
        sooner(watched, sooner(self.snapshot.deadline(), self.clock.deadline()))
    }
}

impl<A: Application, D: Detection, const N: usize> Upper for Suite<A, D, N> {
    fn resume(&mut self, incarnation: u32) {
        self.snapshot.resume(incarnation);
        self.detection.resume(incarnation);
    }

    fn time(&self, now: Instant) -> Option<Instant> {
        self.clock.read(now)
    }

    fn told(&mut self) -> Option<&mut Told<Notice>> {
        Some(&mut self.told)
    }

    fn speak(&mut self, cx: &Context<'_>, out: &mut Out<A, D>) -> bool {
        // Markers before the application; and before it too what the detection says of letters that were lost.
        if self.photograph(out, |snapshot, _, inner| snapshot.speak(cx, inner))
            || self.detect(cx, out, |detection, inner| detection.speak(cx, inner))
        {
            return true;
        }
        let said = self.application.speak(cx);
        if let Some((to, message)) = said {
            self.detection.sent(to);
            out.send(to, Message::Application(message));
            self.observe(cx, out);
            return true;
        }
        // It may have found out that there is nothing to say, and gone on.
        self.observe(cx, out);
        false
    }
}
