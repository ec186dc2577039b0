//! One tier of the election: who serves within some reach, as each node decides by the beacons it hears.

use super::heard::{Heard, PACE_MAX, PACE_MAX_EVERYWHERE, Received, Relay, STEADY, Status, lease};
use super::load::{Tally, share};
use super::{Beacon, FIRST_REPEATS, Message, Out};
use crate::algorithm::{Context, Fact};
use crate::base::capacity::Candidate;
use crate::base::ids::NodeId;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use crate::election::Notice;
use core::cmp::Reverse;
use core::num::NonZeroU8;

/// What this node is to its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Hears no super-peer; serves at `serve`, if that stays so.
    Searching { serve: Option<Instant> },
    /// Follows a super-peer; serves at `serve`, if it outranks all it hears.
    Following { leader: NodeId, number: u32, serve: Option<Instant> },
    /// Is a super-peer; its next beacon is due at `next`, and `calm` have passed since something changed. It resigns at
    /// `leave`, in favour of a better one.
    Serving { next: Instant, calm: u8, leave: Option<Instant> },
}

/// How far a tier reaches, and whom it prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reach {
    /// Clusters: up to so many hops; the nearest super-peer is followed.
    Horizon(u8),
    /// The whole network: the best is followed.
    Everywhere,
}

/// The election of those that serve within some reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tier<const HEARD: usize> {
    pub(super) reach: Reach,
    /// How many clients a super-peer takes, where there is a limit.
    pub(super) limit: Option<NonZeroU8>,
    pub(super) role: Role,
    pub(super) heard: [Option<Heard>; HEARD],
    /// The highest term number ever heard of or used.
    pub(super) term_number: u32,
    /// This node yielded, and is no candidate before this time.
    pub(super) abstain_until: Option<Instant>,
    pub(super) tally: Tally,
}

impl<const HEARD: usize> Tier<HEARD> {
    pub(super) const fn new(reach: Reach, limit: Option<NonZeroU8>) -> Self {
        let role = Role::Searching { serve: None };
        let (tally, heard) = (Tally::NONE, [None; HEARD]);
        Self { reach, limit, role, heard, term_number: 0, abstain_until: None, tally }
    }

    /// Returns how many hops a beacon may take.
    pub(super) const fn horizon(&self) -> u8 {
        match self.reach {
            Reach::Horizon(hops) => hops,
            Reach::Everywhere => u8::MAX,
        }
    }

    /// Returns how often the interval between beacons doubles while nothing changes.
    pub(super) const fn pace_max(&self) -> u8 {
        match self.reach {
            Reach::Horizon(_) => PACE_MAX,
            Reach::Everywhere => PACE_MAX_EVERYWHERE,
        }
    }

    pub(super) const fn serves(&self) -> bool {
        matches!(self.role, Role::Serving { .. })
    }

    /// Returns the order in which super-peers are followed, the last one first: those that serve, stay and have room, the
    /// nearest, the best. Where their load is shared, those as near share the nodes by their capacities; where there is one
    /// for the whole network, it is the best.
    pub(super) fn preference(&self, me: NodeId, heard: &Heard) -> ([bool; 3], Reverse<u8>, u32, Candidate) {
        let hops = if self.reach == Reach::Everywhere { 0 } else { heard.hops };
        let share = if self.limit.is_some() { share(me, heard.candidate) } else { 0 };
        ([heard.serves(), !heard.is_leaving(), !heard.avoided], Reverse(hops), share, heard.candidate)
    }

    /// Returns the entry of the super-peer, which may be this node.
    pub(super) fn followed(&self) -> Option<&Heard> {
        let leader = match self.role {
            Role::Searching { .. } => return None,
            Role::Following { leader, .. } => Some(leader),
            Role::Serving { .. } => None,
        };
        let wanted = |heard: &&Heard| leader.map_or(heard.hops == 0, |leader| heard.id() == leader);
        self.heard.iter().flatten().find(wanted)
    }

    pub(super) fn entry(&mut self, id: NodeId) -> Option<&mut Heard> {
        self.heard.iter_mut().flatten().find(|heard| heard.id() == id)
    }

    /// Returns the other super-peers.
    pub(super) fn others(&self) -> impl Iterator<Item = &Heard> {
        self.heard.iter().flatten().filter(|heard| heard.serves() && heard.hops > 0)
    }

    /// Returns the other super-peers that do not leave their clients to a better one.
    pub(super) fn staying(&self) -> impl Iterator<Item = &Heard> {
        self.others().filter(|heard| !heard.is_leaving())
    }

    pub(super) fn candidate(&self, cx: &Context<'_>) -> Option<Candidate> {
        cx.candidate.filter(|_| self.abstain_until.is_none())
    }

    pub(super) fn observe_term(&mut self, number: u32) {
        self.term_number = self.term_number.max(number);
    }

    /// Makes room for a super-peer, by preference.
    fn insert(&mut self, new: Heard, me: NodeId) {
        if let Some(free) = self.heard.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(new);
            return;
        }
        let tier = *self;
        let others = self.heard.iter_mut().flatten().filter(|heard| heard.id() != me);
        if let Some(last) = others.min_by_key(|heard| tier.preference(me, heard))
            && tier.preference(me, last) < tier.preference(me, &new)
        {
            *last = new;
        }
    }

    pub(super) fn on_beacon(&mut self, cx: &Context<'_>, from: NodeId, beacon: Beacon, out: &mut Out) {
        let Beacon { term: Term { number, by: id }, capacity, count, pace, hops, age, load } = beacon;
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
        let received = Received { candidate, number, count, pace, hops, left, load };
        let (horizon, me) = (self.horizon(), cx.me);
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
                self.on_load(cx, id, count);
            }
        } else if (number, count) < known {
            if heard.hops < horizon {
                heard.inform(cx);
            }
        } else if within && heard.serves() {
            heard.on_copy(cx, from, hops);
        }
    }

    pub(super) fn on_resigned(&mut self, cx: &Context<'_>, from: NodeId, term: Term) {
        self.observe_term(term.number);
        let (horizon, from) = (self.horizon(), cx.roster.set_of(from));
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

    pub(super) fn on_fact(&mut self, cx: &Context<'_>, fact: Fact) {
        match fact {
            Fact::PeerUp(_) => {
                let horizon = self.horizon();
                for heard in self.heard.iter_mut().flatten().filter(|heard| heard.serves() && heard.hops < horizon) {
                    heard.inform(cx);
                }
            }
            Fact::PeerDown(set) => self.heard.iter_mut().flatten().for_each(|heard| heard.remove_peers(set)),
            // The link of a neighbour that rebooted went down before; the others are conclusions of this stage and later ones.
            Fact::PeerReset(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) => {}
        }
    }

    pub(super) fn on_timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
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
        self.poll_tally(cx, out);
    }

    /// Sends the beacons that are due: to relay them, or to ask for the next.
    fn relay(&mut self, cx: &Context<'_>, out: &mut Out) {
        let horizon = self.horizon();
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
        let near = |other: &Heard| heard.hops.saturating_add(other.hops) <= self.horizon();
        heard.serves() && self.staying().any(|other| other.candidate < heard.candidate && near(other))
    }

    /// Returns whether this node asks for the beacons of a super-peer: it follows it, or relays them to those that do.
    fn asks(&self, heard: &Heard) -> bool {
        let followed = matches!(self.role, Role::Following { leader, .. } if leader == heard.id());
        heard.serves() && heard.hops > 0 && (followed || heard.hops < self.horizon())
    }

    /// Decides after every step whom this node follows, and whether it serves.
    pub(super) fn decide(&mut self, cx: &Context<'_>, out: &mut Out) {
        if matches!(self.role, Role::Serving { .. }) && !self.keep_serving(cx, out) {
            return;
        }
        let serve_at = |before: Option<Instant>, delay: Option<Duration>| {
            delay.map(|delay| before.unwrap_or_else(|| cx.now.after(delay)))
        };
        let delay = self.serve_delay(cx);
        let chosen = self.choose(cx.me);
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

    /// Returns the super-peer to follow: the nearest with room, the better of two as near; the present one while none is
    /// nearer.
    fn choose(&self, me: NodeId) -> Option<Heard> {
        let best = self.others().max_by_key(|heard| self.preference(me, heard))?;
        let present = self.followed().filter(|present| present.serves() && present.hops > 0);
        let nearer = |present: &Heard| match self.reach {
            Reach::Horizon(_) => best.hops < present.hops && best.steady >= STEADY && best.avoided == present.avoided,
            Reach::Everywhere => best.candidate > present.candidate,
        };
        let stays = |present: &Heard| present.is_leaving() && !best.is_leaving();
        let moves = |present: &Heard| nearer(present) || stays(present) || (present.avoided && !best.avoided);
        Some(*present.filter(|present| !moves(present)).unwrap_or(best))
    }

    /// Returns when something changes by itself.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let role = match self.role {
            Role::Searching { serve } | Role::Following { serve, .. } => serve,
            Role::Serving { next, leave, .. } => earliest(Some(next), leave),
        };
        let heard = self.heard.iter().flatten().filter_map(|heard| heard.deadline(self.asks(heard))).min();
        earliest(earliest(role, heard), earliest(self.abstain_until, self.tally.at))
    }
}

/// Returns what an entry says to the neighbours.
pub(super) fn message(cx: &Context<'_>, heard: &Heard) -> Message {
    let &Heard { candidate: Candidate { capacity, .. }, count, pace, hops, load, .. } = heard;
    let term = heard.term();
    if heard.serves() {
        let age = if hops == 0 { 0 } else { heard.age(cx) };
        Message::Beacon(Beacon { term, capacity, count, pace, hops, age, load })
    } else {
        Message::Resigned { term }
    }
}
