//! From the leader to its clients: to one, over the way its requests came, or to all, flooded within the reach.
//!
//! A client says that it has received a message, parent by parent. Without that the leader sends it again, flooded, as the way
//! may be another by now. A flood is relayed once by each node in reach, and once more where few others were heard to.
//! Names of messages are kept for as long as copies may come: no message is delivered twice to one boot of a client.

use super::{
    AGAIN_HEARTBEATS, Bytes, FLOODS_MAX, KEPT_HEARTBEATS, Message, Notice, Out, ROUTE_MAX, RequestId, Requests, Route,
    TRIES_MAX, timeout,
};
use crate::algorithm::Context;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant, earliest};

/// How often a node sends a flooded message, the second time only where it hears fewer than [`ECHOES_ENOUGH`].
const FLOOD_SENDS: u8 = 2;

/// How many copies from others spare a node its own.
const ECHOES_ENOUGH: u8 = 3;

/// A message of this leader to one client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sending {
    id: RequestId,
    to: NodeId,
    bytes: Bytes,
    tries: u8,
    /// When it is sent again; `None` as soon as there is room.
    again: Option<Instant>,
    until: Instant,
}

/// A flooded message that this node relays, or sends first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flooding {
    flood: Flood,
    at: Instant,
    /// How often it is sent yet.
    left: u8,
    /// How many copies were heard since it was planned.
    echoes: u8,
}

/// What a flooded message says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flood {
    pub(super) id: RequestId,
    pub(super) to: Option<NodeId>,
    /// How often the leader has sent it before: relays tell by it whether it is new to them.
    pub(super) copy: u8,
    /// How many hops it may take.
    pub(super) hops: u8,
    pub(super) bytes: Bytes,
}

/// The name of a message that this node has received or relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    id: RequestId,
    copy: u8,
    delivered: bool,
    until: Instant,
}

fn kept(cx: &Context<'_>) -> Duration {
    cx.timing.heartbeat.times(KEPT_HEARTBEATS)
}

impl<const LONG: usize> Requests<LONG> {
    /// Remembers the way to a client, in place of the one that asked longest ago.
    pub(super) fn on_route(&mut self, client: NodeId, route: &Route) {
        self.routes.retain(|(known, _)| *known != client);
        if self.routes.is_full() {
            self.routes.remove(0);
        }
        let _ = self.routes.push((client, route.clone())); // it is not full
    }

    pub(super) fn send(&mut self, cx: &Context<'_>, to: Option<NodeId>, bytes: Bytes, out: &mut Out) {
        let id = self.next_id(cx);
        let (until, reach) = (cx.now.after(timeout(cx)), self.reach);
        let room = match to {
            Some(to) => self.sends.push(Sending { id, to, bytes, tries: 0, again: None, until }).is_ok(),
            None => self.flood(cx.now, Flood { id, to, copy: 0, hops: reach, bytes }),
        };
        if !room {
            return out.notify(Notice::Full);
        }
        self.number = id.number;
        out.notify(Notice::Sending { id });
        if !self.leads(cx.me) {
            self.floods.retain(|flooding| flooding.flood.id != id);
            self.end_send(id, Notice::Undelivered { id }, out);
        }
    }

    /// Ends a message to one client.
    fn end_send(&mut self, id: RequestId, notice: Notice, out: &mut Out) {
        let open = self.sends.len();
        self.sends.retain(|sending| sending.id != id);
        if self.sends.len() < open {
            out.notify(notice);
        }
    }

    /// Sends the next message to a client that is ready; returns whether it did.
    pub(super) fn send_next(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let reach = self.reach;
        let Some(sending) = self.sends.iter_mut().find(|sending| sending.again.is_none()) else { return false };
        let (id, to, bytes, copy) = (sending.id, sending.to, sending.bytes.clone(), sending.tries);
        if to == cx.me {
            if self.deliver(cx, id, bytes, out) {
                self.end_send(id, Notice::Delivered { id }, out);
            }
            return true;
        }
        sending.tries = copy.saturating_add(1);
        let pause = cx.timing.heartbeat.times(AGAIN_HEARTBEATS);
        sending.again = Some(if sending.tries < TRIES_MAX { cx.now.after(pause) } else { sending.until });
        let way = self.routes.iter().find(|(client, _)| copy == 0 && *client == to);
        if let Some((_, route)) = way
            && let Some((next, message)) = on_the_way(cx, id, to, route.clone(), bytes.clone())
        {
            out.send(next, message);
            return true;
        }
        // Where there is no room for it now, there is when it is sent again.
        let _ = self.flood(cx.now, Flood { id, to: Some(to), copy, hops: reach, bytes });
        true
    }

    /// Takes in a message to a client, or passes it on.
    pub(super) fn on_send(
        &mut self,
        cx: &Context<'_>,
        id: RequestId,
        to: NodeId,
        (route, bytes): (Route, Bytes),
        out: &mut Out,
    ) {
        if to == cx.me {
            if self.deliver(cx, id, bytes, out) {
                self.acknowledge(cx, id, out);
            }
        } else if let Some((next, message)) = on_the_way(cx, id, to, route, bytes) {
            out.send(next, message);
        }
    }

    /// Notifies the application, unless it knows; returns whether it does now.
    fn deliver(&mut self, cx: &Context<'_>, id: RequestId, bytes: Bytes, out: &mut Out) -> bool {
        let Some(seen) = self.seen(cx, id, 0) else { return false };
        let new = !seen.delivered;
        (seen.delivered, seen.until) = (true, cx.now.after(kept(cx)));
        if new {
            out.notify(Notice::Message { id, bytes });
        }
        true
    }

    fn acknowledge(&mut self, cx: &Context<'_>, id: RequestId, out: &mut Out) {
        let hops = u8::try_from(ROUTE_MAX).unwrap_or(u8::MAX);
        self.on_received(cx, id, hops, out);
    }

    /// Takes in the acknowledgement of a client, or passes it on.
    pub(super) fn on_received(&mut self, cx: &Context<'_>, id: RequestId, hops: u8, out: &mut Out) {
        if id.origin == cx.me {
            self.end_send(id, Notice::Delivered { id }, out);
        } else if let Some((parent, hops)) = self.parent.zip(hops.checked_sub(1)) {
            out.send(cx.roster.set_of(parent), Message::Received { id, hops });
        }
    }

    /// Returns the entry of a message, made where there is none; `None` where there is no room for it.
    fn seen(&mut self, cx: &Context<'_>, id: RequestId, copy: u8) -> Option<&mut Seen> {
        if self.seen.iter().all(|seen| seen.id != id) {
            if self.seen.is_full() {
                let relayed = self.seen.iter().filter(|seen| !seen.delivered).min_by_key(|seen| seen.until)?.id;
                self.seen.retain(|seen| seen.id != relayed);
            }
            let _ = self.seen.push(Seen { id, copy, delivered: false, until: cx.now.after(kept(cx)) });
        }
        self.seen.iter_mut().find(|seen| seen.id == id)
    }

    /// Plans to flood a message; returns whether there is room.
    fn flood(&mut self, at: Instant, flood: Flood) -> bool {
        self.floods.push(Flooding { flood, at, left: FLOOD_SENDS, echoes: 0 }).is_ok()
    }

    /// Takes in a flooded message, and relays it where it is new.
    pub(super) fn on_flood(&mut self, cx: &Context<'_>, flood: Flood, out: &mut Out) {
        let Flood { id, to, copy, hops, .. } = flood;
        if id.origin == cx.me {
            return;
        }
        let known = self.seen.iter().any(|seen| seen.id == id && seen.copy >= copy);
        if known {
            let relayed = self.floods.iter_mut().find(|flooding| flooding.flood.id == id);
            if let Some(flooding) = relayed {
                flooding.echoes = flooding.echoes.saturating_add(1);
            }
            return;
        }
        let Some(seen) = self.seen(cx, id, copy) else { return };
        seen.copy = copy;
        let mine = to.map_or(self.leader.is_some_and(|(leader, _)| leader == id.origin), |to| to == cx.me);
        let delivered = mine && self.deliver(cx, id, flood.bytes.clone(), out);
        if to == Some(cx.me) {
            if delivered {
                self.acknowledge(cx, id, out);
            }
            return;
        }
        if let Some(hops) = hops.checked_sub(1).filter(|&hops| hops > 0) {
            let window = cx.timing.contention_window(cx.near.len());
            let _ = self.flood(cx.now.after(jitter(window, cx.random)), Flood { hops, ..flood }); // or others do
        }
    }

    /// Sends a flooded message that is due, ends a message to a client that took too long, forgets names.
    pub(super) fn poll_clients(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.seen.retain(|seen| seen.until > cx.now);
        if let Some(id) = self.sends.iter().find(|sending| sending.until <= cx.now).map(|sending| sending.id) {
            self.end_send(id, Notice::Undelivered { id }, out);
        }
        for sending in self.sends.iter_mut().filter(|sending| sending.again.is_some_and(|at| at <= cx.now)) {
            sending.again = None;
        }
        let Some(flooding) = self.floods.iter_mut().find(|flooding| flooding.at <= cx.now) else { return };
        if flooding.left == FLOOD_SENDS || flooding.echoes < ECHOES_ENOUGH {
            let Flood { id, to, copy, hops, bytes } = flooding.flood.clone();
            out.send(cx.peers, Message::Flood { id, to, copy, hops, bytes });
        }
        let pause = cx.timing.heartbeat.mul_ratio(1, 8);
        (flooding.left, flooding.echoes) = (flooding.left.saturating_sub(1), 0);
        flooding.at = cx.now.after(pause.plus(jitter(pause, cx.random)));
        self.floods.retain(|flooding| flooding.left > 0);
    }

    /// Returns when messages to clients, or their names, change by themselves.
    pub(super) fn clients_deadline(&self) -> Option<Instant> {
        let sends = self.sends.iter().filter_map(|sending| Some(sending.again?.min(sending.until))).min();
        let floods = self.floods.iter().map(|flooding| flooding.at).min();
        earliest(earliest(sends, floods), self.seen.iter().map(|seen| seen.until).min())
    }
}

/// Returns a message to a client and the next node on its way; `None` where it does not fit or the next is no neighbour.
fn on_the_way(
    cx: &Context<'_>,
    id: RequestId,
    to: NodeId,
    mut route: Route,
    bytes: Bytes,
) -> Option<(NodeSet, Message)> {
    let next = cx.roster.set_of(route.pop().unwrap_or(to));
    let message = Message::Send { id, to, route, bytes };
    (cx.peers.meets(next) && message.fits()).then_some((next, message))
}

const _: () = assert!(FLOODS_MAX > 1, "a node relays one message while it sends another");
