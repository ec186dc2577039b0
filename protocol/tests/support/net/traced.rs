//! Applications whose events are logged, and cuts through the log.

#![allow(clippy::disallowed_types, reason = "a test may panic")]

use protocol::algorithm::{self, Context, Fact, Outbox};
use protocol::service::application::{Application, ChannelMessage, LocalState, Recordable, Terminating};
use protocol::{Instant, NodeId, NodeSet};
use std::cell::RefCell;
use std::rc::Rc;

/// An event of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Sent {
        to: usize,
    },
    Received {
        from: usize,
    },
    /// Its state was recorded.
    Recorded,
    /// Messages to that node may have been lost.
    Abandoned {
        to: usize,
    },
}

/// The events of all applications: node and event.
pub type Log = Rc<RefCell<Vec<(usize, Event)>>>;

/// An application whose events are logged.
#[derive(Clone, Debug)]
pub struct Traced<A> {
    pub inner: A,
    pub index: usize,
    pub log: Log,
}

impl<A: Application> Application for Traced<A> {
    type Message = A::Message;
    type Command = A::Command;
    type Notice = A::Notice;

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: algorithm::Input<A::Message, A::Command>,
        out: &mut Outbox<A::Message, A::Notice>,
    ) {
        if let algorithm::Input::Message { from, .. } = &input {
            let from = usize::try_from(from.0).unwrap() - 1;
            self.log.borrow_mut().push((self.index, Event::Received { from }));
        }
        if let algorithm::Input::Fact(Fact::PeerDown(set)) = &input {
            self.log.borrow_mut().extend(set.slots().map(|to| (self.index, Event::Abandoned { to })));
        }
        self.inner.handle(cx, input, out);
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, A::Message)> {
        let said = self.inner.poll_send(cx);
        if let Some((to, _)) = &said {
            self.log.borrow_mut().extend(to.slots().map(|to| (self.index, Event::Sent { to })));
        }
        said
    }

    fn deadline(&self) -> Option<Instant> {
        self.inner.deadline()
    }
}

impl<A: Recordable> Recordable for Traced<A> {
    fn local_state(&self, cx: &Context<'_>) -> Option<LocalState> {
        let record = self.inner.local_state(cx);
        if record.is_some() {
            self.log.borrow_mut().push((self.index, Event::Recorded));
        }
        record
    }

    fn channel_message(&self, cx: &Context<'_>, from: NodeId, message: &A::Message) -> ChannelMessage {
        self.inner.channel_message(cx, from, message)
    }
}

impl<A: Terminating> Terminating for Traced<A> {
    fn is_busy(&self) -> bool {
        self.inner.is_busy()
    }

    fn job(&self) -> u32 {
        self.inner.job()
    }

    fn on_terminated(&mut self, job: u32) {
        self.inner.on_terminated(job);
    }
}

/// A cut through a log.
pub struct Cut {
    /// How many messages one node had sent to the other before the cut.
    pub sent: Vec<Vec<usize>>,
    /// How many messages of one node the other had received before the cut.
    pub received: Vec<Vec<usize>>,
    /// Whether messages of one node to the other may have been lost.
    pub lossy: Vec<Vec<bool>>,
}

impl Cut {
    /// The cut at which each node's state was recorded the `nth` time.
    pub fn new(log: &Log, count: usize, nth: impl Fn(usize) -> usize) -> Self {
        let table = || vec![vec![0; count]; count];
        let mut cut = Self { sent: table(), received: table(), lossy: vec![vec![false; count]; count] };
        let mut recorded = vec![0; count];
        for &(node, event) in log.borrow().iter() {
            if recorded[node] > nth(node) {
                continue;
            }
            match event {
                Event::Sent { to } => cut.sent[node][to] += 1,
                Event::Received { from } => cut.received[from][node] += 1,
                Event::Recorded => recorded[node] += 1,
                Event::Abandoned { to } => cut.lossy[node][to] = true,
            }
        }
        cut
    }
}
