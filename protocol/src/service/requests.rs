//! Requests: any node asks its super-peer something, over any number of hops it can name, and gets an answer.
//!
//! A request goes from parent to parent, the neighbours that the leader's heartbeats or a super-peer's beacons come from,
//! until it reaches the leader; every relay adds its id, and the answer goes back the way it came. No group is
//! configured, and no relay remembers anything. The application at the leader gets [`Notice::Request`] and commands an
//! answer or a refusal. Each request ends once, with [`Notice::Answered`], [`Notice::Refused`] or [`Notice::TimedOut`].
//!
//! # At most once
//! A request is named by its origin, the origin's boot and a number. While no answer comes it is sent again, a few times, to
//! the same leader: that keeps the names for longer than copies travel, and as many answers as it has room for, and answers
//! a copy with what it answered before, or as [`Refusal::Unknown`]; so it refuses one that comes after eight later ones of its
//! origin. A leader that rebooted has forgotten them, but not that: a request names the leader and the term it
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
//! # Long requests
//! A request of up to [`LONG_MAX`] bytes travels in parts, and is put together at the leader (`long`). Nodes that make or
//! take such requests have `LONG` buffers; relays need none.
//!
//! # To clients
//! The leader sends to one client, or to all within its reach (`clients`).
//!
//! # Messages
//! [`Message::Request`] and [`Message::Part`] towards the leader; [`Message::Answer`], [`Message::Refused`] and
//! [`Message::Missing`] back; [`Message::Send`] and [`Message::Flood`] to clients, [`Message::Received`] back.
//!
//! # Cost
//! A frame and an acknowledgement for every hop of request and answer; for a flood one or two frames of each node in reach.
//!
//! # Departures
//! - No route is discovered: the election's tree is always there. The way to a client is the one its last request came.
//!
//! # Limits
//! [`PAYLOAD_MAX`] bytes, where the message fits a frame with all ids on its way ([`Refusal::TooFar`]); [`ROUTE_MAX`]
//! relays; [`OWN_MAX`] requests of one node at a time ([`Notice::Full`]); [`HANDLED_MAX`] open ones at the leader, and
//! [`NAMES_MAX`] clients that asked a few heartbeats ago ([`Refusal::Busy`]). A request that finds no
//! room in a link, or no way, is tried again or times out; one that no other leader may handle waits until its leader has led
//! for a heartbeat. [`SENDS_MAX`] messages to clients at a time, [`FLOODS_MAX`]
//! flooded ones; a client that has received [`SEEN_MAX`] in the time of a request receives no more.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::NodeId;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use crate::service::{NoticeQueue, Service};
use clients::{Flood, Flooding, Seen, Sending};
use heapless::Vec;
use long::Long;
use names::Names;
use own::Own;

pub use message::{Command, Message, Notice, Once, Part, Refusal, RequestId, long_commands};

mod clients;
mod long;
mod message;
mod names;
mod own;
mod serve;

/// The longest request or answer, in bytes.
pub const PAYLOAD_MAX: usize = 32;
/// The longest long request, in bytes.
pub const LONG_MAX: usize = 1_024;
/// The bytes of a part of a long request: it fits a frame with the ids of three relays.
pub const PART_MAX: usize = 24;
/// The most relays between a node and its leader.
pub const ROUTE_MAX: usize = 7;
/// How many requests of one node may be open.
pub const OWN_MAX: usize = 4;
/// How many requests a leader keeps, open or with their answers.
pub const HANDLED_MAX: usize = 24;
/// Of how many clients a leader keeps the names of the requests it handled.
pub const NAMES_MAX: usize = 72;
/// How many clients a leader knows the way to.
pub const ROUTES_MAX: usize = 12;
/// How many messages to single clients may be open.
pub const SENDS_MAX: usize = 2;
/// How many flooded messages a node sends or relays at a time.
pub const FLOODS_MAX: usize = 2;
/// How many names of messages a client or a relay keeps.
pub const SEEN_MAX: usize = 16;
/// After how many heartbeats a request has timed out.
pub const TIMEOUT_HEARTBEATS: u32 = 10;
/// How many hops a message to all clients takes, where no other reach is chosen: the default horizon of clusters.
pub const REACH: u8 = 2;
/// After how many heartbeats without an answer a request is sent again.
const AGAIN_HEARTBEATS: u32 = 2;
/// For how many heartbeats a leader is too new to be sent a request that no other may handle: while an election goes on,
/// it may resign soon.
const NEW_HEARTBEATS: u32 = 1;
/// How often a request that must be handled at most once is sent.
const TRIES_MAX: u8 = 3;
/// For how many heartbeats a leader keeps what it answered. The last copy leaves after [`TRIES_MAX`] - 1 times
/// [`AGAIN_HEARTBEATS`] or little more; the rest is for its way.
const KEPT_HEARTBEATS: u32 = TIMEOUT_HEARTBEATS;
/// The refusal of a leader without room: an answer takes about so long.
const BUSY: Refusal = Refusal::Busy { after_ms: 500 };

const _: () = assert!(LONG_MAX.div_ceil(PART_MAX) <= 64, "the parts of a long request are the bits of a number");

/// What a request or an answer says.
pub type Bytes = Vec<u8, PAYLOAD_MAX>;
/// The relays between the origin and the sender, the first one first.
pub type Route = Vec<NodeId, ROUTE_MAX>;

/// A request at the leader: open, or answered and kept for copies of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Handled {
    id: RequestId,
    route: Route,
    repeatable: bool,
    until: Instant,
    answer: Option<Bytes>,
}

/// The requests of one node, and those to it, with `LONG` buffers for long ones.
#[derive(Clone, Debug)]
pub struct Requests<const LONG: usize = 0> {
    boot: u8,
    number: u16,
    leader: Option<(NodeId, Term)>,
    /// The number of the first term under which this node led in this boot.
    led_since: Option<u32>,
    /// Until when the leader is too new to be sent what no other may handle.
    new_until: Option<Instant>,
    /// The neighbour on the way to the leader.
    parent: Option<NodeId>,
    own: Vec<Own, OWN_MAX>,
    handled: Vec<Handled, HANDLED_MAX>,
    /// The names of the last requests handled, by client.
    names: Vec<Names, NAMES_MAX>,
    longs: Vec<Long, LONG>,
    /// How many hops a flooded message takes.
    reach: u8,
    /// The ways to clients, the one that asked last at the end.
    routes: Vec<(NodeId, Route), ROUTES_MAX>,
    sends: Vec<Sending, SENDS_MAX>,
    floods: Vec<Flooding, FLOODS_MAX>,
    seen: Vec<Seen, SEEN_MAX>,
    notices: NoticeQueue<Notice>,
}

type Out = Outbox<Message, Notice>;

impl Requests {
    /// Creates the service of a node that has asked nothing, and neither makes nor takes long requests.
    #[must_use]
    pub const fn new() -> Self {
        Self::buffered()
    }
}

impl<const LONG: usize> Requests<LONG> {
    /// Creates the service of a node that has asked nothing, with its buffers for long requests.
    #[must_use]
    pub const fn buffered() -> Self {
        Self {
            boot: 0,
            number: 0,
            leader: None,
            led_since: None,
            new_until: None,
            parent: None,
            own: Vec::new(),
            handled: Vec::new(),
            names: Vec::new(),
            longs: Vec::new(),
            reach: REACH,
            routes: Vec::new(),
            sends: Vec::new(),
            floods: Vec::new(),
            seen: Vec::new(),
            notices: NoticeQueue::new(),
        }
    }

    /// Returns the service of a leader whose clients are within so many hops.
    #[must_use]
    pub const fn within(mut self, hops: u8) -> Self {
        self.reach = hops;
        self
    }

    /// Returns how many requests this node, as the leader, has not answered.
    #[must_use]
    pub fn open(&self) -> usize {
        self.handled.iter().filter(|handled| handled.answer.is_none()).count()
    }

    fn leads(&self, me: NodeId) -> bool {
        self.leader.is_some_and(|(leader, _)| leader == me)
    }

    /// Sends a reply on its way back, or takes it in where it is this node's.
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
                Reply::Missing(parts) => Message::Missing { id, route, parts },
            },
        );
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Request { id, once, route, bytes } => {
                self.on_request(cx, from, (id, once, route), Body::Whole(bytes), out);
            }
            Message::Part { id, once, route, part } => {
                self.on_request(cx, from, (id, once, route), Body::Part(part), out);
            }
            Message::Answer { id, route, bytes } => self.send_back(cx, id, route, Reply::Answer(bytes), out),
            Message::Refused { id, route, reason } => self.send_back(cx, id, route, Reply::Refused(reason), out),
            Message::Missing { id, route, parts } => self.send_back(cx, id, route, Reply::Missing(parts), out),
            Message::Send { id, to, route, bytes } => self.on_send(cx, id, to, (route, bytes), out),
            Message::Flood { id, to, copy, hops, bytes } => {
                self.on_flood(cx, Flood { id, to, copy, hops, bytes }, out);
            }
            Message::Received { id, hops } => self.on_received(cx, id, hops, out),
        }
    }

    /// Handles a request or a part of one as the leader, or passes it on.
    fn on_request(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        (id, once, route): (RequestId, Option<Once>, Route),
        body: Body,
        out: &mut Out,
    ) {
        let leads = self.leads(cx.me);
        if leads {
            self.on_route(id.origin, &route);
        }
        match body {
            Body::Whole(_) if self.is_copy(id) => self.on_copy(cx, id, route, out),
            Body::Whole(bytes) if leads => self.serve(cx, id, once, route, bytes, out),
            Body::Part(part) if leads || self.is_copy(id) => self.serve_part(cx, id, once, route, &part, out),
            Body::Whole(_) | Body::Part(_) => self.relay(cx, from, (id, once, route), body, out),
        }
    }

    /// Passes a request on to the parent, or refuses it.
    fn relay(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        (id, once, route): (RequestId, Option<Once>, Route),
        body: Body,
        out: &mut Out,
    ) {
        // A parent it came from, or a relay it has passed, would send it round.
        let looped = |parent: &NodeId| *parent == from || id.origin == cx.me || route.contains(&cx.me);
        let Some(parent) = self.parent.filter(|parent| !looped(parent)) else {
            return self.send_back(cx, id, route, Reply::Refused(Refusal::NoRoute), out);
        };
        let mut onward = route.clone();
        let named = onward.push(cx.me).is_ok();
        let message = body.message(id, once, onward);
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
                if changed {
                    let settles = cx.now.after(cx.timing.heartbeat.times(NEW_HEARTBEATS));
                    self.new_until = (leader != cx.me).then_some(settles);
                }
                if leader == cx.me {
                    self.parent = None;
                    self.led_since = self.led_since.or(Some(term.number));
                }
                if changed {
                    self.repeat_own();
                }
            }
            Fact::NoLeader => (self.leader, self.parent) = (None, None),
            Fact::Parent(parent) => self.parent = Some(parent),
            Fact::PeerDown(_) => {
                if self.parent.is_some_and(|parent| !cx.peers.meets(cx.roster.set_of(parent))) {
                    self.parent = None;
                    self.repeat_own();
                }
            }
            // A peer that comes or reboots changes no route by itself; there is no view without a group.
            Fact::PeerUp(_) | Fact::PeerReset(_) | Fact::View => {}
        }
    }
}

impl<const LONG: usize> Default for Requests<LONG> {
    fn default() -> Self {
        Self::buffered()
    }
}

/// What a request says, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Body {
    Whole(Bytes),
    Part(Part),
}

impl Body {
    fn message(self, id: RequestId, once: Option<Once>, route: Route) -> Message {
        match self {
            Self::Whole(bytes) => Message::Request { id, once, route, bytes },
            Self::Part(part) => Message::Part { id, once, route, part },
        }
    }
}

/// What goes back to the origin of a request: its end, or what is missing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reply {
    Answer(Bytes),
    Refused(Refusal),
    Missing(u64),
}

/// Returns how long a request may take.
fn timeout(cx: &Context<'_>) -> Duration {
    cx.timing.heartbeat.times(TIMEOUT_HEARTBEATS)
}

impl<const LONG: usize> Algorithm for Requests<LONG> {
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
            Input::Command(Command::Append { bytes }) => self.append(cx, &bytes, out),
            Input::Command(Command::RequestLong { repeatable }) => self.request_long(cx, repeatable, out),
            Input::Command(Command::Answer { id, bytes }) => self.reply(cx, id, Reply::Answer(bytes), out),
            Input::Command(Command::Refuse { id, after_ms }) => {
                self.reply(cx, id, Reply::Refused(Refusal::Busy { after_ms }), out);
            }
            Input::Command(Command::Send { to, bytes }) => self.send(cx, to, bytes, out),
            Input::Fact(fact) => self.on_fact(cx, fact),
            Input::Timeout => {
                self.on_timeout(cx, out);
                self.poll_longs(cx, out);
                self.poll_clients(cx, out);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let own = self.own.iter().map(Own::deadline).min();
        let handled = self.handled.iter().map(|handled| handled.until);
        let kept = handled.chain(self.names.iter().map(|names| names.until)).min();
        let longs = self.longs.iter().filter_map(Long::deadline).min();
        let waits = self.new_until.filter(|_| !self.own.is_empty());
        earliest(earliest(earliest(own, waits), kept), earliest(longs, self.clients_deadline()))
    }
}

impl<const LONG: usize> Service for Requests<LONG> {
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
        self.send_own(cx, out) || self.send_next(cx, out)
    }
}
