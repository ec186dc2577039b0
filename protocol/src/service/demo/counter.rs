//! A shared counter behind a fence: the smallest resource a lock can protect.
//!
//! The first member of the group is the server of the counter. The holder of the lock asks it to count one up under the
//! fence of its grant, and receives the new value. The server counts every fence once, however often a request arrives,
//! and refuses a fence below the highest it has seen. So the counter is the number of grants used, and no grant is used
//! twice, or after a later one.
//!
//! # Assumes
//! A server that does not restart: the counter is in its memory.
//!
//! # Messages
//! [`Message::Add`] to the server, [`Message::Sum`] or [`Message::Outdated`] back.
//!
//! # Cost
//! Two reliable messages a count; none for the server's own.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::Instant;
use crate::mutex::{Fence, FencedResource, Outdated};
use crate::service::{NoticeQueue, Service};
use crate::wire::impl_message;
use heapless::Deque;
use serde::{Deserialize, Serialize};

/// Replies of the server that wait to be sent. One more is dropped: its client asks again when the server is up again.
const REPLIES_MAX: usize = 16;

/// Messages between the server and its clients, about the `fence` of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the fence of the request and the new value")]
pub enum Message {
    /// Request to count one up.
    Add { fence: Fence },
    /// The request was counted.
    Sum { fence: Fence, total: u32 },
    /// The request was refused: the server has seen a higher fence.
    Outdated { fence: Fence },
}

impl_message! {
    Reliable: Add = "add", Sum = "sum", Outdated = "outdated";
}

/// Commands of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the field is the fence of the grant")]
pub enum Command {
    /// Counts one up. Cancels an earlier request that has no reply yet.
    Add { fence: Fence },
}

/// Notices to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields are the fence of the request and the new value")]
pub enum Notice {
    /// The request was counted.
    Counted { fence: Fence, total: u32 },
    /// The request was refused: the server has seen a higher fence.
    Outdated { fence: Fence },
}

/// The counter at one node, as a client or the server.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    request: Option<Request>,
    server: Server,
    replies: Deque<(NodeId, Message), REPLIES_MAX>,
    notices: NoticeQueue<Notice>,
}

/// A client's request without a reply.
#[derive(Clone, Copy, Debug)]
struct Request {
    fence: Fence,
    sent: bool,
}

/// The server's state; unused at the other members.
#[derive(Clone, Copy, Debug)]
struct Server {
    counter: FencedResource<u32>,
    last_counted: Fence,
}

impl Default for Server {
    fn default() -> Self {
        Self { counter: FencedResource::new(0), last_counted: Fence::ZERO }
    }
}

impl Server {
    fn add(&mut self, fence: Fence) -> Message {
        match self.counter.access(fence) {
            Ok(total) => {
                if fence != self.last_counted {
                    *total = total.saturating_add(1);
                    self.last_counted = fence;
                }
                Message::Sum { fence, total: *total }
            }
            Err(Outdated { .. }) => Message::Outdated { fence },
        }
    }
}

impl Counter {
    fn on_message(&mut self, from: NodeId, message: Message) {
        match message {
            Message::Add { fence } => {
                let reply = self.server.add(fence);
                let _ = self.replies.push_back((from, reply));
            }
            Message::Sum { fence, total } => self.on_reply(fence, Notice::Counted { fence, total }),
            Message::Outdated { fence } => self.on_reply(fence, Notice::Outdated { fence }),
        }
    }

    fn on_reply(&mut self, fence: Fence, notice: Notice) {
        if self.request.is_some_and(|request| request.fence == fence) {
            self.request = None;
            let _ = self.notices.push_back(notice);
        }
    }
}

/// Returns the server: the first member.
fn server(cx: &Context<'_>) -> NodeSet {
    cx.roster.all().slots().next().map_or(NodeSet::EMPTY, NodeSet::slot)
}

impl Algorithm for Counter {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, _: &mut Outbox<Message, Notice>) {
        match input {
            Input::Message { from, message, .. } => self.on_message(from, message),
            Input::Command(Command::Add { fence }) => {
                self.request = Some(Request { fence, sent: false });
                if server(cx).meets(cx.roster.set_of(cx.me)) {
                    let reply = self.server.add(fence);
                    self.on_message(cx.me, reply);
                }
            }
            Input::Fact(Fact::PeerUp(set) | Fact::PeerDown(set) | Fact::PeerReset(set)) => {
                // The link may have abandoned the request or the reply.
                if let Some(request) = self.request.as_mut().filter(|_| server(cx).meets(set)) {
                    request.sent = false;
                }
            }
            // It depends on neither leader nor view, and sets no deadline.
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) | Input::Timeout => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Service for Counter {
    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        Some(&mut self.notices)
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) -> bool {
        if let Some((to, reply)) = self.replies.pop_front() {
            out.send(cx.roster.set_of(to), reply);
            return true;
        }
        let to = server(cx).and(cx.up);
        match &mut self.request {
            Some(Request { fence, sent: sent @ false }) if !to.is_empty() => {
                *sent = true;
                out.send(to, Message::Add { fence: *fence });
                true
            }
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests;
