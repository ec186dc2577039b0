//! Requests: any node asks its super-peer something, over any number of hops it can name, and gets an answer.
//!
//! A request goes from parent to parent, the neighbours that the leader's heartbeats or a super-peer's beacons come from,
//! until it reaches the leader; every relay adds its id, and the answer goes back the way it came. No group is
//! configured, and no relay remembers anything. The application at the leader gets [`Notice::Request`] and commands an
//! answer or a refusal. Each request ends once, with [`Notice::Answered`], [`Notice::Refused`] or [`Notice::TimedOut`].
//!
//! # At most once
//! A request is named by its origin, the origin's boot and a number. While no answer comes it is sent again, a few times, to
//! the same leader: that keeps the names for as long as copies may come, and as many answers as it has room for, and answers
//! a copy with what it answered before, or as [`Refusal::Unknown`]. A leader that rebooted has forgotten them, but not that: a request names the leader and the term it
//! was sent to, and one for another leader, or from before the leader's boot, is refused as [`Refusal::Unknown`]. So a
//! request is handled at most once, unless the application marked it as repeatable: that one is sent again until it
//! times out, and to the next leader where the leader changes.
//!
//! # Paper
//! The route in the message is that of D. Johnson, D. Maltz: Dynamic Source Routing in Ad Hoc Wireless Networks, 1996, over
//! a tree; requests at most once after A. Birrell, B. Nelson: Implementing Remote Procedure Calls, ACM TOCS 1984.
//!
//! # Assumes
//! An election whose heartbeats leave parents behind: wireless, or clusters.
//!
//! # Messages
//! [`Message::Request`] towards the leader, [`Message::Answer`] and [`Message::Refused`] back.
//!
//! # Cost
//! A frame and an acknowledgement for every hop of request and answer.
//!
//! # Departures
//! - No route is discovered or kept: the election's tree is always there.
//!
//! # Limits
//! [`PAYLOAD_MAX`] bytes, where the message fits a frame with all ids on its way ([`Refusal::TooFar`]); [`ROUTE_MAX`]
//! relays; [`OWN_MAX`] requests of one node at a time ([`Notice::Full`]); [`HANDLED_MAX`] open ones at the leader, and
//! with the names of those answered a few heartbeats ago [`NAMES_MAX`] more ([`Refusal::Busy`]). A request that finds no room in a link, or no way, is tried again or times out.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::NodeId;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use crate::link::RELIABLE_MAX;
use crate::service::{NoticeQueue, Service};
use crate::wire::{self, Delivery, Payload};
use heapless::Vec;
use own::Own;
use serde::{Deserialize, Serialize};

mod own;
mod serve;

/// The longest request or answer, in bytes.
pub const PAYLOAD_MAX: usize = 32;
/// The most relays between a node and its leader.
pub const ROUTE_MAX: usize = 7;
/// How many requests of one node may be open.
pub const OWN_MAX: usize = 4;
/// How many requests a leader keeps, open or with their answers.
pub const HANDLED_MAX: usize = 24;
/// How many names of answered requests a leader keeps without their answers.
pub const NAMES_MAX: usize = 72;
/// After how many heartbeats a request has timed out.
pub const TIMEOUT_HEARTBEATS: u32 = 10;
/// After how many heartbeats without an answer a request is sent again.
const AGAIN_HEARTBEATS: u32 = 2;
/// How often a request that must be handled at most once is sent.
const TRIES_MAX: u8 = 3;
/// For how many heartbeats a leader keeps what it answered. The last copy leaves after [`TRIES_MAX`] - 1 times
/// [`AGAIN_HEARTBEATS`] or little more; the rest is for its way.
const KEPT_HEARTBEATS: u32 = TIMEOUT_HEARTBEATS;

/// What a request or an answer says.
pub type Bytes = Vec<u8, PAYLOAD_MAX>;
/// The relays between the origin and the sender, the first one first.
pub type Route = Vec<NodeId, ROUTE_MAX>;

/// The name of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RequestId {
    /// The node that asks.
    pub origin: NodeId,
    /// The last byte of its incarnation.
    pub boot: u8,
    /// Its number within that boot.
    pub number: u16,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// The leader has too much to do. It was not handled; `after_ms` later there may be room.
    Busy {
        /// When to try again, in milliseconds.
        after_ms: u16,
    },
    /// A relay knows no way to a leader. It was not handled, and is sent again until it times out.
    NoRoute,
    /// The message does not fit a frame with all the ids on its way. It was not handled.
    TooFar,
    /// The leader has rebooted, changed, or forgotten its answer since: whether it was handled before is unknown.
    Unknown,
}

/// The one leader that may handle a request: its id, and the last 16 bits of its term's number.
pub type Once = (NodeId, u16);

/// Messages between neighbours. `route` names the relays between the origin and the sender of a request, and those that
/// an answer has still to pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Asks the leader. `once` names it and its term, where the request must be handled at most once.
    Request { id: RequestId, once: Option<Once>, route: Route, bytes: Bytes },
    /// The leader's answer.
    Answer { id: RequestId, route: Route, bytes: Bytes },
    /// It is not answered.
    Refused { id: RequestId, route: Route, reason: Refusal },
}

impl Message {
    const fn id(&self) -> RequestId {
        let (Self::Request { id, .. } | Self::Answer { id, .. } | Self::Refused { id, .. }) = self;
        *id
    }

    /// Returns whether it fits a frame.
    fn fits(&self) -> bool {
        Payload::encode(self, &mut [0; RELIABLE_MAX]).is_some()
    }
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::ReliableLatest // of one request: see `topic`
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Answer { .. } => "answer",
            Self::Refused { .. } => "refused",
        }
    }

    fn topic(&self) -> u32 {
        let RequestId { origin, boot, number } = self.id();
        origin.0.wrapping_mul(0x9E37_79B1) ^ u32::from(boot) << 16 ^ u32::from(number)
    }
}

/// Commands of the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the sentence of each command names its fields")]
pub enum Command {
    /// Asks the leader; `repeatable`: it does no harm if it is handled twice.
    Request { bytes: Bytes, repeatable: bool },
    /// Answers a request, as the leader.
    Answer { id: RequestId, bytes: Bytes },
    /// Refuses a request, as the leader, until `after_ms` later.
    Refuse { id: RequestId, after_ms: u16 },
}

/// Notices to the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// The request just made has this name.
    Requested { id: RequestId },
    /// The request just made has no room: too many are open.
    Full,
    /// The request has its answer.
    Answered { id: RequestId, bytes: Bytes },
    /// The request is refused.
    Refused { id: RequestId, reason: Refusal },
    /// The request has no answer, and will not have one: whether it was handled is unknown.
    TimedOut { id: RequestId },
    /// This node leads, and is asked something: it is to answer or to refuse.
    Request { id: RequestId, bytes: Bytes, repeatable: bool },
}

/// A request at the leader: open, or answered and kept for copies of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Handled {
    id: RequestId,
    route: Route,
    repeatable: bool,
    until: Instant,
    answer: Option<Bytes>,
}

/// The requests of one node, and those to it.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    boot: u8,
    number: u16,
    leader: Option<(NodeId, Term)>,
    /// The number of the first term under which this node led in this boot.
    led_since: Option<u32>,
    /// The neighbour on the way to the leader.
    parent: Option<NodeId>,
    own: Vec<Own, OWN_MAX>,
    handled: Vec<Handled, HANDLED_MAX>,
    /// Requests whose answers had to make room, and until when copies of them may come.
    names: Vec<(RequestId, Instant), NAMES_MAX>,
    notices: NoticeQueue<Notice>,
}

type Out = Outbox<Message, Notice>;

impl Requests {
    /// Creates the service of a node that has asked nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            boot: 0,
            number: 0,
            leader: None,
            led_since: None,
            parent: None,
            own: Vec::new(),
            handled: Vec::new(),
            names: Vec::new(),
            notices: NoticeQueue::new(),
        }
    }

    /// Returns how many requests this node, as the leader, has not answered.
    #[must_use]
    pub fn open(&self) -> usize {
        self.handled.iter().filter(|handled| handled.answer.is_none()).count()
    }

    fn leads(&self, me: NodeId) -> bool {
        self.leader.is_some_and(|(leader, _)| leader == me)
    }

    /// Sends an answer or a refusal on its way back, or takes it in where it is this node's.
    fn send_back(&mut self, cx: &Context<'_>, id: RequestId, mut route: Route, reply: Reply, out: &mut Out) {
        if id.origin == cx.me {
            self.on_reply(cx, id, reply, out);
            return;
        }
        let next = cx.roster.set_of(route.pop().unwrap_or(id.origin));
        out.send(
            next,
            match reply {
                Reply::Answer(bytes) => Message::Answer { id, route, bytes },
                Reply::Refused(reason) => Message::Refused { id, route, reason },
            },
        );
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Request { id, ref route, .. } if self.is_copy(id) => self.on_copy(cx, id, route.clone(), out),
            Message::Request { id, once, route, bytes } if self.leads(cx.me) => {
                self.serve(cx, id, once, route, bytes, out);
            }
            Message::Request { id, once, route, bytes } => self.relay(cx, from, (id, once, route, bytes), out),
            Message::Answer { id, route, bytes } => self.send_back(cx, id, route, Reply::Answer(bytes), out),
            Message::Refused { id, route, reason } => self.send_back(cx, id, route, Reply::Refused(reason), out),
        }
    }

    /// Passes a request on to the parent, or refuses it.
    fn relay(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        (id, once, route, bytes): (RequestId, Option<Once>, Route, Bytes),
        out: &mut Out,
    ) {
        // A parent it came from, or a relay it has passed, would send it round.
        let looped = |parent: &NodeId| *parent == from || id.origin == cx.me || route.contains(&cx.me);
        let Some(parent) = self.parent.filter(|parent| !looped(parent)) else {
            return self.send_back(cx, id, route, Reply::Refused(Refusal::NoRoute), out);
        };
        let mut onward = route.clone();
        let named = onward.push(cx.me).is_ok();
        let message = Message::Request { id, once, route: onward, bytes };
        if named && message.fits() {
            out.send(cx.roster.set_of(parent), message);
        } else {
            self.send_back(cx, id, route, Reply::Refused(Refusal::TooFar), out);
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact) {
        match fact {
            Fact::Leader { leader, term } => {
                let changed = self.leader.is_none_or(|(former, _)| former != leader);
                self.leader = Some((leader, term));
                if leader == cx.me {
                    self.parent = None;
                    self.led_since = self.led_since.or(Some(term.number));
                }
                if changed {
                    self.own.iter_mut().for_each(Own::repeat);
                }
            }
            Fact::NoLeader => (self.leader, self.parent) = (None, None),
            Fact::Parent(parent) => self.parent = Some(parent),
            Fact::PeerDown(_) => {
                if self.parent.is_some_and(|parent| !cx.peers.meets(cx.roster.set_of(parent))) {
                    self.parent = None;
                    self.own.iter_mut().for_each(Own::repeat);
                }
            }
            // A peer that comes or reboots changes no route by itself; there is no view without a group.
            Fact::PeerUp(_) | Fact::PeerReset(_) | Fact::View => {}
        }
    }
}

/// How a request ends at the leader or on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reply {
    Answer(Bytes),
    Refused(Refusal),
}

/// Returns how long a request may take.
fn timeout(cx: &Context<'_>) -> Duration {
    cx.timing.heartbeat.times(TIMEOUT_HEARTBEATS)
}

impl Algorithm for Requests {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Neighbours
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => self.on_message(cx, from, message, out),
            Input::Command(Command::Request { bytes, repeatable }) => self.request(cx, bytes, repeatable, out),
            Input::Command(Command::Answer { id, bytes }) => self.reply(cx, id, Reply::Answer(bytes), out),
            Input::Command(Command::Refuse { id, after_ms }) => {
                self.reply(cx, id, Reply::Refused(Refusal::Busy { after_ms }), out);
            }
            Input::Fact(fact) => self.on_fact(cx, fact),
            Input::Timeout => self.on_timeout(cx, out),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let own = self.own.iter().map(Own::deadline).min();
        let handled = self.handled.iter().map(|handled| handled.until);
        earliest(own, handled.chain(self.names.iter().map(|&(_, until)| until)).min())
    }
}

impl Service for Requests {
    const ROUTED: bool = true;

    fn resume(&mut self, incarnation: u32) {
        self.boot = incarnation.to_le_bytes()[0];
    }

    fn parent(&self) -> Option<NodeId> {
        self.parent
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        Some(&mut self.notices)
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        self.send_own(cx, out)
    }
}
