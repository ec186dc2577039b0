//! Who of the group is up, as far as one can tell.
//!
//! Every member says [`Alive`] once a heartbeat. Where members are out of each other's range, it also passes on how many
//! signs of life it knows of everybody else, so that news travel one hop a heartbeat and nobody floods anything. A member
//! whose count has not grown for too long is suspected; when it grows again, the member is up again.
//!
//! # Paper
//! R. van Renesse, Y. Minsky, M. Hayden: A Gossip-Style Failure Detection Service, Middleware 1998, for the counts; the
//! time to wait adapts to what arrives as V. Jacobson's retransmission timer does (SIGCOMM 1988).
//!
//! # Assumes
//! Nothing that later stages may rely on for safety: a suspicion may be wrong, and costs time only. Each wrong one makes
//! the next about the same member come later.
//!
//! # Departures
//! - Counts travel as their lowest byte. A member that was away for between 128 and 255 heartbeats looks old for as many
//!   more, unless it is heard directly.
//! - The usual pause and its deviation are kept for the group, not for each member: 8 bytes less a member.
//! - One that starts anew goes on from what the others remember of it: what they hear first after its boot.

use crate::capacity::{Capacity, Standing};
use crate::config::{Moment, Timing};
use crate::dice::within;
use crate::group::{NodeSet, RosterView, SLOTS_MAX};
use crate::time::{Instant, Span, Tick};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// How many members' capacities one [`Alive`] passes on.
const WORTHS_MAX: usize = 3;
/// How many pauses a member is granted at most, however irregular they are.
const PAUSES_MAX: u32 = 16;
/// How much more patience the wrong suspicions of a member can earn it, in halves.
const SLACK_MAX: u8 = 6;
/// How many signs of life in time take one wrong suspicion off a member.
const SLACK_BEATS: u8 = 32;

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Alive {
    /// What the sender would be worth as a leader.
    pub worth: Worth,
    /// The lowest byte of each member's count of signs of life, in the group's order; empty where everybody hears
    /// everybody.
    pub counts: Vec<u8, SLOTS_MAX>,
    /// What some others are worth, by their place in the group.
    pub worths: Vec<(u8, Worth), WORTHS_MAX>,
}

/// What a member would be worth as a leader, in the room of one number: a table is full of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Worth(u16);

impl Worth {
    /// It has not said yet.
    pub const UNKNOWN: Self = Self(0);
    /// It cannot lead, or must not.
    pub const UNFIT: Self = Self(1);

    /// The worth of a candidate, or of a node that is none.
    #[must_use]
    pub fn of(standing: Option<Standing>) -> Self {
        standing.map_or(Self::UNFIT, |standing| Self(standing.capacity.get().saturating_add(2)))
    }

    /// The capacity of one that can lead.
    #[must_use]
    pub fn capacity(self) -> Option<Capacity> {
        self.0.checked_sub(2).map(Capacity::new)
    }
}

/// What is known of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Member {
    /// When its count last grew.
    heard: Tick,
    count: u8,
    slack: u8,
    worth: Worth,
}

/// What changed in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Changes {
    /// Suspected from now on.
    pub down: NodeSet,
    /// Started anew.
    pub reset: NodeSet,
    /// Up again.
    pub up: NodeSet,
}

/// What the detector knows about the node it serves.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The group.
    pub group: RosterView<'a>,
    /// This node in it.
    pub me: NodeSet,
    /// This node as a candidate.
    pub standing: Option<Standing>,
    /// Whether some members are out of range of others.
    pub several_hops: bool,
    /// When this is.
    pub moment: Moment<'a>,
}

/// The failure detector of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detector<const N: usize> {
    members: [Member; N],
    /// Heard of since this node started.
    heard: NodeSet,
    suspected: NodeSet,
    changes: Changes,
    /// The usual pause between two signs of life of one member, and how far off it usually is.
    pause: Span,
    off: Span,
    next: Instant,
    /// Nobody's silence means anything before this.
    check_at: Instant,
    /// Whose worth is passed on next.
    turn: u8,
}

impl<const N: usize> Detector<N> {
    /// A member that has heard nobody: it takes the others to be up until it has waited for them.
    #[must_use]
    pub fn new(moment: Moment<'_>) -> Self {
        let Moment { now, random, timing } = moment;
        let member = Member { heard: Tick::of(now), count: 0, slack: 0, worth: Worth::UNKNOWN };
        Self {
            members: [member; N],
            heard: NodeSet::EMPTY,
            suspected: NodeSet::EMPTY,
            changes: Changes::default(),
            pause: timing.heartbeat,
            off: timing.heartbeat.share(1, 4),
            next: now.after(within(timing.heartbeat.share(1, 4), random)),
            check_at: now.after(least(timing)),
            turn: 0,
        }
    }

    /// The members that are suspected to be down.
    #[must_use]
    pub const fn suspected(&self) -> NodeSet {
        self.suspected
    }

    /// The members that would lead better than `me`, as far as they have told. Of those that have not, and where this
    /// node is no candidate, the order of names decides.
    #[must_use]
    pub fn better(&self, place: &Place<'_>) -> NodeSet {
        let me = place.group.ids_of(place.me).next();
        let better = |slot: &usize| {
            let (id, worth) = (place.group.id_of(*slot), self.members.get(*slot).map(|member| member.worth));
            match (worth.and_then(Worth::capacity), place.standing) {
                (Some(capacity), Some(mine)) => (capacity, id) > (mine.capacity, Some(mine.id)),
                (Some(_), None) => true,
                (None, _) => worth == Some(Worth::UNKNOWN) && id > me,
            }
        };
        let others = place.group.all().without(place.me);
        others.slots().filter(better).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
    }

    /// The best of the members of `set`, as far as they have told.
    #[must_use]
    pub fn best(&self, group: RosterView<'_>, set: NodeSet) -> Option<Standing> {
        let standing = |slot: usize| {
            Some(Standing { capacity: self.members.get(slot)?.worth.capacity()?, id: group.id_of(slot)? })
        };
        set.slots().filter_map(standing).max()
    }

    /// What changed since the last call.
    pub fn take_changes(&mut self) -> Changes {
        core::mem::take(&mut self.changes)
    }

    /// Hears a member's sign of life.
    pub fn hear(&mut self, place: &Place<'_>, from: NodeSet, alive: &Alive) {
        let now = place.moment.now;
        for slot in from.slots() {
            let count = alive.counts.get(slot).copied();
            let Some(member) = self.members.get_mut(slot) else { continue };
            member.worth = alive.worth;
            member.count = count.unwrap_or_else(|| member.count.wrapping_add(1));
            self.sign_of_life(slot, now);
        }
        for (slot, &count) in alive.counts.iter().enumerate() {
            self.hear_of(place, slot, count);
        }
        for &(slot, worth) in &alive.worths {
            let slot = usize::from(slot);
            let second_hand = !NodeSet::slot(slot).meets(place.me.with(from)) && worth != Worth::UNKNOWN;
            if let Some(member) = self.members.get_mut(slot).filter(|_| second_hand) {
                member.worth = worth;
            }
        }
    }

    /// Hears from another how far a member's count has come.
    fn hear_of(&mut self, place: &Place<'_>, slot: usize, count: u8) {
        let set = NodeSet::slot(slot);
        let Some(member) = self.members.get_mut(slot) else { return };
        let ahead = count.wrapping_sub(member.count);
        let newer = (1..=i8::MAX.unsigned_abs()).contains(&ahead) || (!self.heard.meets(set) && count != 0);
        if !newer {
            return;
        }
        member.count = count;
        if !set.meets(place.me) {
            self.sign_of_life(slot, place.moment.now);
        } // otherwise this node has started anew, and goes on from there
    }

    /// A member's count has grown.
    fn sign_of_life(&mut self, slot: usize, now: Instant) {
        let set = NodeSet::slot(slot);
        let Some(member) = self.members.get_mut(slot) else { return };
        let pause = member.heard.ago(now);
        member.heard = Tick::of(now);
        if self.suspected.meets(set) {
            self.suspected = self.suspected.without(set);
            self.changes.up = self.changes.up.with(set);
            self.changes.down = self.changes.down.without(set);
            member.slack = member.slack.saturating_add(1).min(SLACK_MAX);
        } else if self.heard.meets(set) {
            let off = pause.minus(self.pause).max(self.pause.minus(pause));
            self.off = self.off.share(3, 4).plus(off.share(1, 4));
            self.pause = self.pause.share(7, 8).plus(pause.share(1, 8));
            if member.count & SLACK_BEATS.wrapping_sub(1) == 0 {
                member.slack = member.slack.saturating_sub(1);
            }
        }
        self.heard = self.heard.with(set);
    }

    /// These members have started anew.
    pub fn reset(&mut self, set: NodeSet) {
        self.changes.reset = self.changes.reset.with(set);
    }

    /// The link could not reach these members: they are suspected until they give a sign of life.
    pub fn suspect(&mut self, set: NodeSet) {
        let new = set.without(self.suspected);
        self.suspected = self.suspected.with(new);
        self.changes.down = self.changes.down.with(new);
        self.changes.up = self.changes.up.without(new);
    }

    /// Suspects whoever has been silent for too long.
    pub fn timeout(&mut self, place: &Place<'_>) {
        let Moment { now, timing, .. } = place.moment;
        if self.check_at > now {
            return;
        }
        // Within a heartbeat anybody may have come back whose silence is to be measured anew.
        self.check_at = now.after(timing.heartbeat);
        let mut silent = NodeSet::EMPTY;
        for slot in place.group.all().without(place.me).without(self.suspected).slots() {
            let left = self.patience(slot, place);
            if left == Span::ZERO {
                silent = silent.with(NodeSet::slot(slot));
            } else {
                self.check_at = self.check_at.min(now.after(left));
            }
        }
        self.suspect(silent);
    }

    /// How much longer a member may be silent.
    fn patience(&self, slot: usize, place: &Place<'_>) -> Span {
        let Some(member) = self.members.get(slot) else { return Span::ZERO };
        let Moment { now, timing, .. } = place.moment;
        let usual = self.pause.plus(self.off.times(4)).min(timing.heartbeat.times(PAUSES_MAX));
        // Over several hops each may just have missed the last news, on a network that loses nothing too.
        let missed = if place.several_hops { timing.heartbeat } else { Span::ZERO };
        let patience = usual.max(least(timing).plus(missed));
        let patience = patience.plus(patience.share(1, 2).times(u32::from(member.slack)));
        patience.minus(member.heard.ago(now))
    }

    /// The sign of life that is due, if one is.
    pub fn poll_alive(&mut self, place: &Place<'_>) -> Option<Alive> {
        let Moment { now, random, timing } = place.moment;
        if self.next > now {
            return None;
        }
        let jitter = timing.heartbeat.share(1, 8);
        self.next = now.after(timing.heartbeat.minus(jitter.share(1, 2)).plus(within(jitter, random)));
        let mut alive = Alive { worth: Worth::of(place.standing), counts: Vec::new(), worths: Vec::new() };
        for slot in place.me.slots() {
            let Some(member) = self.members.get_mut(slot) else { continue };
            member.count = member.count.wrapping_add(1);
        }
        if place.several_hops {
            for member in place.group.all().slots().filter_map(|slot| self.members.get(slot)) {
                let _ = alive.counts.push(member.count); // there is room for every slot
            }
            let others = place.group.all().len();
            for _ in 0..WORTHS_MAX {
                self.turn = u8::try_from(u32::from(self.turn).wrapping_add(1).checked_rem(others)?).unwrap_or(0);
                let Some(member) = self.members.get(usize::from(self.turn)) else { continue };
                let _ = alive.worths.push((self.turn, member.worth)); // there is room for as many as the loop takes
            }
        }
        Some(alive)
    }

    /// When to call [`Detector::timeout`] and [`Detector::poll_alive`].
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.next.min(self.check_at)
    }
}

/// How long a member may be silent at least.
fn least(timing: &Timing) -> Span {
    timing.heartbeat.times(2).plus(timing.heartbeat.share(1, 4))
}

#[cfg(test)]
mod tests;
