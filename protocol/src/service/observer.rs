//! What observes an application: snapshots and termination detection, or nothing.
//!
//! [`NoService`] stands for an observer that was not chosen. It has no message, no command and no notice, so nothing of
//! it is linked.

use crate::algorithm::{Algorithm, Context, Input, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::Instant;
use crate::service::NoService;
use crate::service::application::{Application, Recordable, Terminating};
use crate::service::snapshot::{self, Snapshot};
use crate::service::termination::{Activity, Detection, Notice};
use crate::wire::{self, NoMessage};
use core::convert::Infallible;

/// The snapshots of an application, or none.
pub trait Snapshots<A: Application> {
    /// Messages between nodes.
    type Message: wire::Payload;
    /// Commands of the user.
    type Command;
    /// Notices to the user.
    type Notice: Clone;

    /// Starts in this incarnation of the node.
    fn resume(&mut self, incarnation: u32);

    /// Handles a reliable message of the application that has arrived and is not delivered yet.
    fn on_app_message(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        message: &A::Message,
        application: &A,
        out: &mut Outbox<Self::Message, Self::Notice>,
    );

    /// Takes one step.
    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<Self::Message, Self::Command>,
        application: &A,
        out: &mut Outbox<Self::Message, Self::Notice>,
    );

    /// When to be called with [`Input::Timeout`], if nothing happens before.
    fn deadline(&self) -> Option<Instant>;

    /// Sends the next message, if any; returns whether it did.
    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Self::Notice>) -> bool;
}

impl<A: Recordable> Snapshots<A> for Snapshot {
    type Message = snapshot::Message;
    type Command = snapshot::Command;
    type Notice = snapshot::Notice;

    fn resume(&mut self, incarnation: u32) {
        self.set_incarnation(incarnation);
    }

    fn on_app_message(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        message: &A::Message,
        application: &A,
        out: &mut Outbox<snapshot::Message, snapshot::Notice>,
    ) {
        self.record_message(cx, from, || application.channel_message(cx, from, message), out);
    }

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<snapshot::Message, snapshot::Command>,
        application: &A,
        out: &mut Outbox<snapshot::Message, snapshot::Notice>,
    ) {
        match input {
            Input::Message { from, message, .. } => self.on_message(cx, from, message, application, out),
            Input::Command(snapshot::Command::Take) => self.initiate(cx, application, out),
            Input::Fact(fact) => self.on_fact(cx, fact, out),
            Input::Timeout => self.on_timeout(cx, out),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.next_timeout()
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<snapshot::Message, snapshot::Notice>) -> bool {
        self.send_next(cx, out)
    }
}

impl<A: Application> Snapshots<A> for NoService {
    type Message = NoMessage;
    type Command = Infallible;
    type Notice = Infallible;

    fn resume(&mut self, _: u32) {}

    fn on_app_message(
        &mut self,
        _: &Context<'_>,
        _: NodeId,
        _: &A::Message,
        _: &A,
        _: &mut Outbox<NoMessage, Infallible>,
    ) {
    }

    fn handle(
        &mut self,
        _: &Context<'_>,
        _: Input<NoMessage, Infallible>,
        _: &A,
        _: &mut Outbox<NoMessage, Infallible>,
    ) {
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn poll_send(&mut self, _: &Context<'_>, _: &mut Outbox<NoMessage, Infallible>) -> bool {
        false
    }
}

/// The termination detection of an application, or none.
pub trait Detects<A: Application>: Algorithm<Message: wire::Payload, Notice: Clone> {
    /// Starts in this incarnation of the node.
    fn resume(&mut self, incarnation: u32);

    /// Counts a reliable message the application has sent to these members.
    fn on_sent(&mut self, to: NodeSet);

    /// Counts a reliable message of this member, before the application receives it.
    fn on_received(&mut self, from: Option<usize>);

    /// Handles the activity of the application after its step.
    fn on_activity(&mut self, cx: &Context<'_>, application: &A, out: &mut Outbox<Self::Message, Self::Notice>);

    /// Passes a termination on to the application; returns whether the notice is of one.
    fn on_notice(application: &mut A, notice: &Self::Notice) -> bool;

    /// Sends the next message, if any; returns whether it did.
    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Self::Notice>) -> bool;
}

impl<A: Terminating, D: Detection> Detects<A> for D {
    fn resume(&mut self, incarnation: u32) {
        Detection::resume(self, incarnation);
    }

    fn on_sent(&mut self, to: NodeSet) {
        Detection::on_sent(self, to);
    }

    fn on_received(&mut self, from: Option<usize>) {
        Detection::on_received(self, from);
    }

    fn on_activity(&mut self, cx: &Context<'_>, application: &A, out: &mut Outbox<Self::Message, Self::Notice>) {
        let activity = Activity { busy: application.is_busy(), job: application.job() };
        Detection::on_activity(self, cx, activity, out);
    }

    fn on_notice(application: &mut A, notice: &Notice) -> bool {
        match *notice {
            Notice::Terminated { job, .. } => {
                application.on_terminated(job);
                true
            }
            Notice::Aborted { .. } => false,
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Self::Notice>) -> bool {
        Detection::poll_send(self, cx, out)
    }
}

impl<A: Application> Detects<A> for NoService {
    fn resume(&mut self, _: u32) {}

    fn on_sent(&mut self, _: NodeSet) {}

    fn on_received(&mut self, _: Option<usize>) {}

    fn on_activity(&mut self, _: &Context<'_>, _: &A, _: &mut Outbox<NoMessage, Infallible>) {}

    fn on_notice(_: &mut A, notice: &Infallible) -> bool {
        match *notice {}
    }

    fn poll_send(&mut self, _: &Context<'_>, _: &mut Outbox<NoMessage, Infallible>) -> bool {
        false
    }
}
