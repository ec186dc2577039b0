//! Clusters: super-peers of which none is within the horizon of another, and everybody is within the horizon of one.
//!
//! A super-peer sends beacons, which neighbours relay up to the horizon of k hops. A node that hears none within k waits,
//! the longer the lower its capacity, and then serves itself. Of two super-peers within k the worse resigns at once.
//! The others follow the nearest they hear, the better of two as near, and keep the one they have where no other is nearer.
//! A node that outranks all super-peers it hears serves itself, and those resign. So in the end the super-peers are what a
//! greedy choice by capacity would make them: the best node, the best beyond its horizon, and so on.
//!
//! Every node knows its super-peer, how many hops it is away and over which neighbour, and the other super-peers it
//! hears ([`Clusters::heard`]): a node that hears two is a gateway between them. No node knows anything beyond k hops, so
//! no cost grows with the network.
//!
//! # Paper
//! A. Amis, R. Prakash, T. Vuong, D. Huynh: Max-Min d-Cluster Formation in Wireless Ad Hoc Networks, INFOCOM 2000, for
//! clusters of d hops; M. Gerla, J. Tsai: Multicluster, Mobile, Multimedia Radio Network, Wireless Networks 1 (1995), for
//! heads by rank of which no two are neighbours. Together they are a maximal independent set of the network's k-th
//! power. Intervals that stretch while nothing changes: P. Levis et al., RFC 6206, 2011; relays that stay silent where
//! others reach the same neighbours: J. Wu, F. Dai: Broadcasting in Ad Hoc Networks Based on Self-Pruning, INFOCOM 2003.
//!
//! # Assumes
//! Bidirectional links. Frames may be lost, duplicated and reordered, nodes may crash, come back and move at any time.
//!
//! # Messages
//! [`Message::Beacon`] a super-peer serves, as far from the sender as it says; from a node that missed the next one, it
//! also asks for that. [`Message::Resigned`] it no longer does.
//!
//! # Cost
//! A beacon a super-peer and interval, and a relay by those of its neighbours within k - 1 hops that reach others.
//!
//! # Departures
//! - Max-Min runs in 2d synchronous rounds, once. Here there are no rounds: every node decides by what it hears, at any
//!   time, and any start ends in the same state.
//! - Heads are ranked by capacity, not by id or degree, and an incumbent keeps an eighth, so clusters follow neither noise
//!   nor every node that comes.
//! - A super-peer that was heard across a bad link now and then does not make another one resign: an incumbent waits for
//!   a second beacon in a row.
//! - The term's number grows with every super-peer that a node hears, and of two super-peers the better one rises above
//!   the other's. So in a single cluster terms are what they are in the other elections, and a quorum can lease by them.

use super::{Command, Election, Notice, Winner};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use crate::wire::impl_message;
use heard::{HEARD_MAX, Heard, INCUMBENT_AFTER, PACE_MAX, Received, Relay, STEADY, Status, interval, lease};
use serde::{Deserialize, Serialize};

mod heard;
mod serve;

/// The words for the horizons, the default first.
const HORIZONS: &[&str] = &["2", "1", "3", "4", "5", "6", "7", "8"];

/// The horizon where none is chosen.
const HORIZON: u8 = 2;

/// How often a new super-peer's beacon is repeated by those that relay it last, whom nobody confirms it to.
const FIRST_REPEATS: u8 = 1;

/// A super-peer's sign of life, as it travels: `term.by` serves under `term`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Beacon {
    /// The super-peer's term.
    pub term: Term,
    /// Its capacity, as it counts: an incumbent's eighth is included.
    pub capacity: Capacity,
    /// The number of the beacon in this term.
    pub count: u32,
    /// How often the interval to the next one has doubled.
    pub pace: u8,
    /// How many hops the sender is from the super-peer.
    pub hops: u8,
    /// How old it is, in 1/255 of the time for which it counts.
    pub age: u8,
}

/// Messages between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// A super-peer serves; where the sender has missed the next one, it asks for that.
    Beacon(Beacon),
    /// The super-peer `term.by` does not serve any more under `term`, nor did under earlier ones.
    Resigned { term: Term },
}

impl_message! {
    Unreliable: Beacon = "beacon", Resigned = "resigned";
}

type Out = Outbox<Message, Notice>;

/// What this node is to its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// Hears no super-peer; serves at `serve`, if that stays so.
    Searching { serve: Option<Instant> },
    /// Follows a super-peer; serves at `serve`, if it outranks all it hears.
    Following { leader: NodeId, number: u32, serve: Option<Instant> },
    /// Is a super-peer; its next beacon is due at `next`, and `calm` have passed since something changed.
    Serving { next: Instant, calm: u8 },
}

/// The cluster election of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clusters {
    horizon: u8,
    role: Role,
    heard: [Option<Heard>; HEARD_MAX],
    /// The highest term number ever heard of or used.
    term_number: u32,
    /// This node yielded, and is no candidate before this time.
    abstain_until: Option<Instant>,
}

impl Clusters {
    /// Creates the election of a node that hears nobody; `horizon` is at least 1.
    #[must_use]
    pub const fn new(horizon: u8) -> Self {
        let horizon = if horizon == 0 { 1 } else { horizon };
        let role = Role::Searching { serve: None };
        Self { horizon, role, heard: [None; HEARD_MAX], term_number: 0, abstain_until: None }
    }

    /// Returns the super-peers this node hears, with their distance in hops; itself at 0, where it is one. A node that
    /// hears two others is a gateway between them.
    pub fn heard(&self) -> impl Iterator<Item = (NodeId, u8)> {
        self.heard.iter().flatten().filter(|heard| heard.serves()).map(|heard| (heard.id(), heard.hops))
    }

    /// Returns how many hops away the super-peer is.
    #[must_use]
    pub fn hops(&self) -> Option<u8> {
        self.followed().map(|heard| heard.hops)
    }

    /// Returns the entry of the super-peer, which may be this node.
    fn followed(&self) -> Option<&Heard> {
        let leader = match self.role {
            Role::Searching { .. } => return None,
            Role::Following { leader, .. } => Some(leader),
            Role::Serving { .. } => None,
        };
        let wanted = |heard: &&Heard| leader.map_or(heard.hops == 0, |leader| heard.id() == leader);
        self.heard.iter().flatten().find(wanted)
    }

    fn entry(&mut self, id: NodeId) -> Option<&mut Heard> {
        self.heard.iter_mut().flatten().find(|heard| heard.id() == id)
    }

    /// Returns the other super-peers.
    fn others(&self) -> impl Iterator<Item = &Heard> {
        self.heard.iter().flatten().filter(|heard| heard.serves() && heard.hops > 0)
    }

    fn candidate(&self, cx: &Context<'_>) -> Option<Candidate> {
        cx.candidate.filter(|_| self.abstain_until.is_none())
    }

    fn observe_term(&mut self, number: u32) {
        self.term_number = self.term_number.max(number);
    }

    /// Makes room for a super-peer, by preference.
    fn insert(&mut self, new: Heard, me: NodeId) {
        if let Some(free) = self.heard.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(new);
            return;
        }
        let others = self.heard.iter_mut().flatten().filter(|heard| heard.id() != me);
        if let Some(last) = others.min_by_key(|heard| heard.preference())
            && last.preference() < new.preference()
        {
            *last = new;
        }
    }

    fn on_beacon(&mut self, cx: &Context<'_>, from: NodeId, beacon: Beacon, out: &mut Out) {
        let Beacon { term: Term { number, by: id }, capacity, count, pace, hops, age } = beacon;
        self.observe_term(number);
        if id == cx.me {
            return self.on_own_beacon(cx, cx.roster.set_of(from), (number, count), out);
        }
        if age == u8::MAX {
            return; // as old as its lease
        }
        let from = cx.roster.set_of(from);
        let hops = hops.saturating_add(1);
        let left = lease(cx.timing, pace).mul_ratio(u32::from(u8::MAX.saturating_sub(age)), u32::from(u8::MAX));
        let candidate = Candidate { capacity, id };
        let received = Received { candidate, number, count, pace, hops, left };
        let (horizon, me) = (self.horizon, cx.me);
        let within = hops <= horizon;
        let Some(heard) = self.entry(id) else {
            if within {
                let mut new = Heard::new(cx, from, &received);
                if hops < horizon {
                    new.relay_soon(cx, from);
                }
                self.insert(new, me);
            }
            return;
        };
        let known = (heard.number, heard.count);
        if (number, count) > known {
            if within {
                heard.renew(cx, from, &received);
                if heard.hops < horizon {
                    heard.relay_soon(cx, from);
                }
            }
        } else if (number, count) < known {
            if heard.hops < horizon {
                heard.inform(cx);
            }
        } else if within && heard.serves() {
            heard.on_copy(cx, from, hops);
        }
    }

    fn on_resigned(&mut self, cx: &Context<'_>, from: NodeId, term: Term) {
        self.observe_term(term.number);
        let (horizon, from) = (self.horizon, cx.roster.set_of(from));
        let Some(heard) = self.entry(term.by).filter(|heard| term.by != cx.me && heard.number <= term.number) else {
            return;
        };
        if heard.serves() {
            (heard.status, heard.number, heard.count) = (Status::Resigned, term.number, u32::MAX);
            if heard.hops < horizon {
                heard.relay_soon(cx, from);
            }
        } else {
            heard.on_echo(cx, from);
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact) {
        match fact {
            Fact::PeerUp(_) => {
                let horizon = self.horizon;
                for heard in self.heard.iter_mut().flatten().filter(|heard| heard.serves() && heard.hops < horizon) {
                    heard.inform(cx);
                }
            }
            Fact::PeerDown(set) => self.heard.iter_mut().flatten().for_each(|heard| heard.remove_peers(set)),
            // The link of a neighbour that rebooted went down before; the others are conclusions of this stage and later ones.
            Fact::PeerReset(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) => {}
        }
    }

    fn on_timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.abstain_until = self.abstain_until.filter(|&until| until > cx.now);
        let lost = |heard: &&mut Heard| heard.serves() && heard.hops > 0 && heard.until <= cx.now;
        for heard in self.heard.iter_mut().flatten().filter(lost) {
            (heard.status, heard.relay) = (Status::Lost, Relay::Done);
        }
        match self.role {
            Role::Serving { next, .. } if next <= cx.now => self.send_beacon(cx, out),
            Role::Searching { serve: Some(at) } | Role::Following { serve: Some(at), .. } if at <= cx.now => {
                self.serve(cx, out);
            }
            Role::Searching { .. } | Role::Following { .. } | Role::Serving { .. } => {}
        }
        self.relay(cx, out);
    }

    /// Sends the beacons that are due: to relay them, or to ask for the next.
    fn relay(&mut self, cx: &Context<'_>, out: &mut Out) {
        let horizon = self.horizon;
        let asks = self.heard.map(|slot| slot.is_some_and(|heard| self.asks(&heard)));
        let needed = self.heard.map(|slot| slot.is_some_and(|heard| self.is_missed_by_a_worse(&heard)));
        let slots = self.heard.iter_mut().zip(asks.into_iter().zip(needed));
        for (heard, (asks, needed)) in slots.filter_map(|(slot, flags)| Some((slot.as_mut()?, flags))) {
            // Those at the horizon relay nothing: who sends to them hears no confirmation.
            let unconfirmed = heard.hops.saturating_add(1) >= horizon;
            let repeats = if unconfirmed && heard.serves() && heard.count > 0 { 0 } else { FIRST_REPEATS };
            let asked = asks && heard.poll_ask(cx);
            if heard.poll_relay(cx, repeats, needed) || asked {
                out.send(cx.peers, message(cx, heard));
            }
        }
    }

    /// Returns whether a worse super-peer is within the horizon of this one, over this node: it has not heard this one, as
    /// across a one-way link, or it would have resigned.
    fn is_missed_by_a_worse(&self, heard: &Heard) -> bool {
        let near = |other: &Heard| heard.hops.saturating_add(other.hops) <= self.horizon;
        heard.serves() && self.others().any(|other| other.candidate < heard.candidate && near(other))
    }

    /// Returns whether this node asks for the beacons of a super-peer: it follows it, or relays them to those that do.
    fn asks(&self, heard: &Heard) -> bool {
        let followed = matches!(self.role, Role::Following { leader, .. } if leader == heard.id());
        heard.serves() && heard.hops > 0 && (followed || heard.hops < self.horizon)
    }

    /// Decides after every step whom this node follows, and whether it serves.
    fn decide(&mut self, cx: &Context<'_>, out: &mut Out) {
        if matches!(self.role, Role::Serving { .. }) && !self.keep_serving(cx, out) {
            return;
        }
        let serve_at = |before: Option<Instant>, delay: Option<Duration>| {
            delay.map(|delay| before.unwrap_or_else(|| cx.now.after(delay)))
        };
        let delay = self.serve_delay(cx);
        let chosen = self.choose();
        match (&mut self.role, chosen) {
            (Role::Searching { serve }, None) => *serve = serve_at(*serve, delay),
            (Role::Following { leader, number, serve, .. }, Some(heard))
                if (*leader, *number) == (heard.id(), heard.number) =>
            {
                *serve = serve_at(*serve, delay);
            }
            (role, Some(heard)) => {
                // Where the followed one only raised its term, the plan to take over stands.
                let serve = if let Role::Following { serve, .. } = role { *serve } else { None };
                let (leader, number) = (heard.id(), heard.number);
                *role = Role::Following { leader, number, serve: serve_at(serve, delay) };
                out.notify(Notice::Following { leader, term: heard.term() });
            }
            (role, None) => {
                *role = Role::Searching { serve: serve_at(None, delay) };
                out.notify(Notice::Leaderless);
            }
        }
    }

    /// Returns the super-peer to follow: the nearest, the better of two as near; the present one while none is nearer.
    fn choose(&self) -> Option<Heard> {
        let best = self.others().max_by_key(|heard| heard.preference())?;
        let present = self.followed().filter(|present| present.serves() && present.hops > 0);
        let nearer = |present: &Heard| best.hops < present.hops && best.steady >= STEADY;
        Some(*present.filter(|present| !nearer(present)).unwrap_or(best))
    }
}

/// Returns what an entry says to the neighbours.
fn message(cx: &Context<'_>, heard: &Heard) -> Message {
    let &Heard { candidate: Candidate { capacity, .. }, count, pace, hops, .. } = heard;
    let term = heard.term();
    if heard.serves() {
        let age = if hops == 0 { 0 } else { heard.age(cx) };
        Message::Beacon(Beacon { term, capacity, count, pace, hops, age })
    } else {
        Message::Resigned { term }
    }
}

impl Algorithm for Clusters {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Neighbours
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message: Message::Beacon(beacon), .. } => self.on_beacon(cx, from, beacon, out),
            Input::Message { from, message: Message::Resigned { term }, .. } => self.on_resigned(cx, from, term),
            Input::Command(command) => self.on_command(cx, command, out),
            Input::Fact(fact) => self.on_fact(cx, fact),
            Input::Timeout => self.on_timeout(cx, out),
        }
        self.decide(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let role = match self.role {
            Role::Searching { serve } | Role::Following { serve, .. } => serve,
            Role::Serving { next, .. } => Some(next),
        };
        let heard = self.heard.iter().flatten().filter_map(|heard| heard.deadline(self.asks(heard))).min();
        earliest(earliest(role, heard), self.abstain_until)
    }
}

impl Election for Clusters {
    fn resume(&mut self, number: u32) {
        self.observe_term(number);
    }

    fn term_number(&self) -> u32 {
        self.term_number
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.followed().map(|heard| (heard.id(), heard.term()))
    }

    fn winner(&self) -> Winner {
        Winner::Highest
    }

    fn parent(&self) -> NodeSet {
        self.followed().map_or(NodeSet::EMPTY, |heard| heard.via)
    }

    fn heartbeat(&self) -> Option<u32> {
        self.followed().map(|heard| heard.count)
    }

    fn horizon(&self) -> Option<u8> {
        Some(self.horizon)
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self::new(HORIZON)
    }
}

impl Configurable for Clusters {
    const OPTIONS: OptionKeys = &[("horizon", HORIZONS)];

    fn from_options(words: &str) -> Option<Self> {
        let mut horizon = HORIZON;
        set_all(words, |key, value| {
            horizon = value.parse().ok().filter(|_| key == "horizon" && HORIZONS.contains(&value))?;
            Some(())
        })?;
        Some(Self::new(horizon))
    }
}
