//! Clusters: super-peers of which none is within the horizon of another, and everybody is within the horizon of one.
//!
//! A super-peer sends beacons, which neighbours relay up to the horizon of k hops. A node that hears none within k waits,
//! the longer the lower its capacity, and then serves itself. Of two super-peers within k the worse resigns: at once if it
//! has only begun to serve, and otherwise after it has said so for as long as its clients may need to find another.
//! The others follow the nearest they hear, the better of two as near, and keep the one they have where no other is nearer.
//! A node that outranks all super-peers it hears serves itself, and those resign. So in the end the super-peers are what a
//! greedy choice by capacity would make them: the best node, the best beyond its horizon, and so on.
//!
//! A super-peer may have a limit of clients. One that has more says so, and some of them go to another that they hear, or
//! to the best among them, which serves beside it while the clients of both are too many for one (`load`). Where a chief is
//! wanted, the super-peers elect one among themselves by the same rules with no horizon: its beacons reach all nodes.
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
//! also asks for that. [`Message::Resigned`] it no longer does. [`Message::Report`] a super-peer has so many clients over the
//! sender. [`Message::Chief`] and [`Message::ChiefResigned`] are the first two of the chief.
//!
//! # Cost
//! A beacon a super-peer and interval, and a relay by those of its neighbours within k - 1 hops that reach others. With a
//! limit of clients, a report of each node with every eighth beacon; with a chief, a relay of its beacons.
//!
//! # Departures
//! - Max-Min runs in 2d synchronous rounds, once. Here there are no rounds: every node decides by what it hears, at any
//!   time, and any start ends in the same state.
//! - Heads are ranked by capacity, not by id or degree, and an incumbent keeps an eighth, so clusters follow neither noise
//!   nor every node that comes.
//! - A super-peer that was heard across a bad link now and then does not make another one resign: an incumbent waits for
//!   a second beacon in a row.
//! - The term's number grows with every super-peer that a node hears, and of two super-peers the better one rises above
//!   the other's. So in a single cluster terms are what they are in the other elections. Between clusters they are not
//!   ordered, and no majority could lease by them: mode *quorum* is refused.

use super::{Command, Election, Notice, Winner};
use crate::algorithm::{Algorithm, Context, Input, OUTPUTS_MAX, Outbox, Output, Scope};
use crate::base::capacity::Capacity;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::{Configurable, OptionKeys, SWITCH, set_all, switch};
use crate::base::term::Term;
use crate::base::time::{Instant, earliest};
use crate::wire::impl_message;
use core::num::NonZeroU8;
use serde::{Deserialize, Serialize};
use tier::{Reach, Tier};

mod heard;
mod load;
mod serve;
mod tier;

/// The words for the horizons, the default first.
const HORIZONS: &[&str] = &["2", "1", "3", "4", "5", "6", "7", "8"];

/// The words for the limits of clients, the default first.
const LIMITS: &[&str] = &["any", "16", "32", "64", "..."];

/// The horizon where none is chosen.
const HORIZON: u8 = 2;

/// How many super-peers a node keeps. Those beyond are the farthest: a settled network has one within half the horizon,
/// and a node relays none at the horizon.
const HEARD_MAX: usize = 4;

/// How many that claim to be chief a node keeps: the best.
const CHIEFS_MAX: usize = 2;

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
    /// How often the interval to the next one has doubled; 255 from a super-peer that leaves its clients to a better one.
    pub pace: u8,
    /// How many hops the sender is from the super-peer.
    pub hops: u8,
    /// How old it is, in 1/255 of the time for which it counts.
    pub age: u8,
    /// How many clients it has, up to 255; 0 where they are not counted.
    pub load: u8,
}

/// Messages between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// A super-peer serves; where the sender has missed the next one, it asks for that.
    Beacon(Beacon),
    /// The super-peer `term.by` does not serve any more under `term`, nor did under earlier ones.
    Resigned { term: Term },
    /// So many clients of the super-peer `by` are behind the sender, itself included; `hops` more may pass it on, and `nonce`
    /// tells this report from others.
    Report { by: NodeId, clients: u16, hops: u8, nonce: u8 },
    /// A super-peer is chief; where the sender has missed the next one, it asks for that.
    Chief(Beacon),
    /// The super-peer `term.by` is chief no more under `term`, nor was under earlier ones.
    ChiefResigned { term: Term },
}

impl_message! {
    Unreliable: Beacon = "beacon", Resigned = "resigned", Chief = "chief", ChiefResigned = "chief resigned";
    ReliableLatest: Report = "report";
    {
        fn topic(&self) -> u32 {
            let Self::Report { by, nonce, .. } = self else { return 0 };
            by.0 ^ u32::from(*nonce) << 24
        }
    }
}

type Out = Outbox<Message, Notice>;

/// The cluster election of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clusters {
    tier: Tier<HEARD_MAX>,
    /// The election of the chief among those that serve, where one is wanted.
    chiefs: Option<Tier<CHIEFS_MAX>>,
}

impl Clusters {
    /// Creates the election of a node that hears nobody; `horizon` is at least 1.
    #[must_use]
    pub const fn new(horizon: u8) -> Self {
        let horizon = if horizon == 0 { 1 } else { horizon };
        Self { tier: Tier::new(Reach::Horizon(horizon), None), chiefs: None }
    }

    /// Returns the same election with a limit of clients for each super-peer.
    #[must_use]
    pub const fn with_clients_max(mut self, clients: NonZeroU8) -> Self {
        self.tier.limit = Some(clients);
        self
    }

    /// Returns the same election with a chief among the super-peers.
    #[must_use]
    pub const fn with_chief(mut self) -> Self {
        self.chiefs = Some(Tier::new(Reach::Everywhere, None));
        self
    }

    /// Returns the super-peers this node hears, with their distance in hops; itself at 0, where it is one. A node that
    /// hears two others is a gateway between them.
    pub fn heard(&self) -> impl Iterator<Item = (NodeId, u8)> {
        self.tier.heard.iter().flatten().filter(|heard| heard.serves()).map(|heard| (heard.id(), heard.hops))
    }

    /// Returns how many hops away the super-peer is.
    #[must_use]
    pub fn hops(&self) -> Option<u8> {
        self.tier.followed().map(|heard| heard.hops)
    }

    /// Takes a step of the election of the chief: its messages are the same under other names, and nobody is notified.
    fn step_chiefs(&mut self, cx: &Context<'_>, input: &Input<Message, Command>, out: &mut Out) {
        let Some(chiefs) = &mut self.chiefs else { return };
        if matches!(input, Input::Timeout) && out.outputs().len() > OUTPUTS_MAX / 2 {
            return; // its deadline stays due
        }
        // Only who serves may be chief. Notices of the clusters say when that changes: the step after them sees it.
        let cx = Context { candidate: cx.candidate.filter(|_| self.tier.serves()), ..*cx };
        let mut own = Outbox::new();
        match *input {
            Input::Message { from, message: Message::Chief(beacon), .. } => {
                chiefs.on_beacon(&cx, from, beacon, &mut own);
            }
            Input::Message { from, message: Message::ChiefResigned { term }, .. } => {
                chiefs.on_resigned(&cx, from, term);
            }
            Input::Fact(fact) => chiefs.on_fact(&cx, fact),
            Input::Timeout => chiefs.on_timeout(&cx, &mut own),
            Input::Message { .. } | Input::Command(_) => {} // of the clusters
        }
        chiefs.decide(&cx, &mut own);
        for output in own {
            match output {
                Output::Send { to, message: Message::Beacon(beacon) } => out.send(to, Message::Chief(beacon)),
                Output::Send { to, message: Message::Resigned { term } } => {
                    out.send(to, Message::ChiefResigned { term });
                }
                Output::Send { .. } | Output::Notify(_) => {}
            }
        }
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
        let tier = &mut self.tier;
        match input {
            Input::Message { from, message: Message::Beacon(beacon), .. } => tier.on_beacon(cx, from, beacon, out),
            Input::Message { from, message: Message::Resigned { term }, .. } => tier.on_resigned(cx, from, term),
            Input::Message { message: Message::Report { by, clients, hops, .. }, .. } => {
                tier.on_report(cx, by, clients, hops, out);
            }
            Input::Message { message: Message::Chief(_) | Message::ChiefResigned { .. }, .. } => {}
            Input::Command(command) => tier.on_command(cx, command, out),
            Input::Fact(fact) => tier.on_fact(cx, fact),
            Input::Timeout => tier.on_timeout(cx, out),
        }
        tier.decide(cx, out);
        self.step_chiefs(cx, &input, out);
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.tier.deadline(), self.chiefs.as_ref().and_then(Tier::deadline))
    }
}

impl Election for Clusters {
    fn resume(&mut self, number: u32) {
        self.tier.observe_term(number);
        if let Some(chiefs) = &mut self.chiefs {
            chiefs.observe_term(number);
        }
    }

    fn term_number(&self) -> u32 {
        self.tier.term_number.max(self.chiefs.as_ref().map_or(0, |chiefs| chiefs.term_number))
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.tier.followed().map(|heard| (heard.id(), heard.term()))
    }

    fn winner(&self) -> Winner {
        Winner::Highest
    }

    fn parent(&self) -> NodeSet {
        self.tier.followed().map_or(NodeSet::EMPTY, |heard| heard.via)
    }

    fn heartbeat(&self) -> Option<u32> {
        self.tier.followed().map(|heard| heard.count)
    }

    fn horizon(&self) -> Option<u8> {
        Some(self.tier.horizon())
    }

    fn clients_max(&self) -> Option<NonZeroU8> {
        self.tier.limit
    }

    fn clients(&self) -> Option<u8> {
        let counted = self.tier.limit.is_some() && self.tier.serves();
        self.tier.followed().filter(|_| counted).map(|own| own.load)
    }

    fn has_chief(&self) -> bool {
        self.chiefs.is_some()
    }

    fn chief(&self) -> Option<(NodeId, Term)> {
        let chief = self.chiefs.as_ref()?.followed()?;
        Some((chief.id(), chief.term()))
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self::new(HORIZON)
    }
}

impl Configurable for Clusters {
    const OPTIONS: OptionKeys = &[("horizon", HORIZONS), ("clients", LIMITS), ("chief", SWITCH)];

    fn from_options(words: &str) -> Option<Self> {
        let (mut horizon, mut clients, mut chief) = (HORIZON, None, false);
        set_all(words, |key, value| {
            match key {
                "horizon" => horizon = value.parse().ok().filter(|_| HORIZONS.contains(&value))?,
                "clients" => clients = if value == "any" { None } else { Some(value.parse().ok()?) },
                "chief" => chief = switch(value)?,
                _ => return None,
            }
            Some(())
        })?;
        let mut clusters = Self::new(horizon);
        clusters.tier.limit = clients;
        Some(if chief { clusters.with_chief() } else { clusters })
    }
}
