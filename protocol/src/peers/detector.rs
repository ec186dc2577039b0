//! The failure detector of a group: which members are suspected to be down.
//!
//! Every member sends a [`Heartbeat`] once per interval. Where members are out of each other's range, it also gossips
//! the heartbeat counters of all members, so that they travel one hop per heartbeat without flooding. A member whose
//! counter has not grown for too long, and of which no other frame was received, is suspected; when its counter grows
//! again, the member is up again.
//!
//! # Paper
//! R. van Renesse, Y. Minsky, M. Hayden: A Gossip-Style Failure Detection Service, Middleware 1998, for the counters;
//! the timeout adapts to the arrivals as V. Jacobson's retransmission timeout does (SIGCOMM 1988).
//!
//! # Assumes
//! Nothing that later stages may rely on for safety: a suspicion may be wrong, and then costs only time. Each wrong
//! suspicion of a member lengthens its next timeout.
//!
//! # Departures
//! - Counters are sent as their lowest byte. A member that was away for 128 to 255 heartbeats looks old for as many
//!   more, unless its own frames arrive.
//! - The mean interval and its deviation are kept for the group, not for each member: 8 bytes less per member.
//! - A restarted member continues from the counter that the others remember.

use super::heartbeat::RELAYED_MAX;
use crate::base::capacity::Candidate;
use crate::base::config::{Moment, Timing};
use crate::base::ids::{NodeSet, RosterView};
use crate::base::lamport::LamportTime;
use crate::base::membership::Membership;
use crate::base::rng::jitter;
use crate::base::time::{CoarseInstant, Duration, Instant};
use heapless::Vec;

pub(crate) use super::Changes;
pub use super::heartbeat::{AdvertisedCapacity, Heartbeat};

/// Longest timeout, in heartbeats, however irregular the arrivals are.
const TIMEOUT_MAX_HEARTBEATS: u32 = 16;
/// Most wrong suspicions of a member that count; each adds half a timeout.
const WRONG_SUSPICIONS_MAX: u8 = 6;
/// Heartbeats in time that cancel one wrong suspicion.
const FORGIVEN_AFTER: u8 = 32;

/// The state of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    /// When its counter last grew.
    last: CoarseInstant,
    count: u8,
    wrong_suspicions: u8,
    advertised: AdvertisedCapacity,
}

/// What the detector needs to know about its node.
#[derive(Clone, Copy)]
pub(crate) struct DetectorContext<'a> {
    /// The group.
    pub group: RosterView<'a>,
    /// This node in it.
    pub me: NodeSet,
    /// This node as a candidate.
    pub candidate: Option<Candidate>,
    /// Whether some members are out of range of others.
    pub several_hops: bool,
    /// By how much heartbeats are rarer than in `moment`: where nothing but the view depends on them.
    pub stretch: u32,
    /// The last Lamport time of this node.
    pub lamport: LamportTime,
    /// Time and randomness of this step.
    pub moment: Moment<'a>,
}

/// The failure detector of one member.
#[derive(Clone, Debug)]
pub struct Detector<const N: usize, G: Membership> {
    members: G::PerMember<Member, N>,
    /// Members whose counter has grown since this node booted.
    seen: NodeSet,
    suspected: NodeSet,
    changes: Changes,
    /// Mean interval between a member's heartbeats, and its mean deviation.
    interval: Duration,
    deviation: Duration,
    heartbeat_at: Instant,
    /// No member times out before this.
    check_at: Instant,
    /// The slot whose capacity was relayed last.
    cursor: u8,
}

impl<const N: usize, G: Membership> Detector<N, G> {
    /// Creates the detector of a member that has received nothing: all others count as up until they time out.
    pub(crate) fn new(moment: Moment<'_>) -> Self {
        let Moment { now, random, timing } = moment;
        let advertised = AdvertisedCapacity::UNKNOWN;
        let member = Member { last: CoarseInstant::of(now), count: 0, wrong_suspicions: 0, advertised };
        Self {
            members: G::per_member(member),
            seen: NodeSet::EMPTY,
            suspected: NodeSet::EMPTY,
            changes: Changes::default(),
            interval: timing.heartbeat,
            deviation: timing.heartbeat.mul_ratio(1, 4),
            heartbeat_at: now.after(jitter(timing.heartbeat.mul_ratio(1, 4), random)),
            check_at: now.after(timeout_min(timing)),
            cursor: 0,
        }
    }

    /// Returns the members that are suspected to be down.
    pub(crate) const fn suspected(&self) -> NodeSet {
        self.suspected
    }

    /// Returns the members that would lead better than this node, as far as they have advertised. For members that have
    /// not, and where this node is no candidate, ids decide.
    pub(crate) fn better(&self, cx: &DetectorContext<'_>) -> NodeSet {
        let me = cx.group.ids_of(cx.me).next();
        let better = |slot: &usize| {
            let (id, advertised) =
                (cx.group.id_of(*slot), self.members.as_ref().get(*slot).map(|member| member.advertised));
            match (advertised.and_then(AdvertisedCapacity::capacity), cx.candidate) {
                (Some(capacity), Some(mine)) => (capacity, id) > (mine.capacity, Some(mine.id)),
                (Some(_), None) => true,
                (None, _) => advertised == Some(AdvertisedCapacity::UNKNOWN) && id > me,
            }
        };
        let others = cx.group.all().without(cx.me);
        others.slots().filter(better).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
    }

    /// Returns the best candidate of `set`, as far as they have advertised.
    pub(crate) fn best(&self, group: RosterView<'_>, set: NodeSet) -> Option<Candidate> {
        let candidate = |slot: usize| {
            Some(Candidate {
                capacity: self.members.as_ref().get(slot)?.advertised.capacity()?,
                id: group.id_of(slot)?,
            })
        };
        set.slots().filter_map(candidate).max()
    }

    /// Returns the members whose state changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Changes {
        core::mem::take(&mut self.changes)
    }

    /// Handles a member's heartbeat; returns the members of which it is the newest word. It shows that the member is up if
    /// it is `proven` to be no recording.
    pub(crate) fn on_heartbeat(
        &mut self,
        cx: &DetectorContext<'_>,
        from: NodeSet,
        heartbeat: &Heartbeat,
        proven: bool,
    ) -> NodeSet {
        if !proven {
            return NodeSet::EMPTY;
        }
        let mut news = from;
        let now = cx.moment.now;
        for slot in from.slots() {
            let count = heartbeat.counts.get(slot).copied();
            let Some(member) = self.members.as_mut().get_mut(slot) else { continue };
            member.advertised = heartbeat.advertised;
            member.count = count.unwrap_or_else(|| member.count.wrapping_add(1));
            self.on_alive(slot, now);
        }
        for (slot, &count) in heartbeat.counts.iter().enumerate() {
            if self.on_relayed_count(cx, slot, count) {
                news = news.with(NodeSet::slot(slot));
            }
        }
        for &(slot, advertised) in &heartbeat.relayed {
            let slot = usize::from(slot);
            let second_hand = !NodeSet::slot(slot).meets(cx.me.with(from)) && advertised != AdvertisedCapacity::UNKNOWN;
            if let Some(member) = self.members.as_mut().get_mut(slot).filter(|_| second_hand) {
                member.advertised = advertised;
            }
        }
        news
    }

    /// Handles a member's counter as another member relays it; returns whether it is news.
    fn on_relayed_count(&mut self, cx: &DetectorContext<'_>, slot: usize, count: u8) -> bool {
        let set = NodeSet::slot(slot);
        let Some(member) = self.members.as_mut().get_mut(slot) else { return false };
        let ahead = count.wrapping_sub(member.count);
        let newer = (1..=i8::MAX.unsigned_abs()).contains(&ahead) || (!self.seen.meets(set) && count != 0);
        if !newer {
            return false;
        }
        member.count = count;
        if !set.meets(cx.me) {
            self.on_alive(slot, cx.moment.now);
        } // otherwise this node has rebooted, and continues from its old counter
        true
    }

    /// Records that a member's counter has grown.
    fn on_alive(&mut self, slot: usize, now: Instant) {
        let set = NodeSet::slot(slot);
        let Some(member) = self.members.as_mut().get_mut(slot) else { return };
        let interval = member.last.elapsed(now);
        member.last = CoarseInstant::of(now);
        if self.suspected.meets(set) {
            self.suspected = self.suspected.without(set);
            self.changes.up = self.changes.up.with(set);
            self.changes.down = self.changes.down.without(set);
            member.wrong_suspicions = member.wrong_suspicions.saturating_add(1).min(WRONG_SUSPICIONS_MAX);
        } else if self.seen.meets(set) {
            let deviation = interval.minus(self.interval).max(self.interval.minus(interval));
            self.deviation = self.deviation.mul_ratio(3, 4).plus(deviation.mul_ratio(1, 4));
            self.interval = self.interval.mul_ratio(7, 8).plus(interval.mul_ratio(1, 8));
            if member.count & FORGIVEN_AFTER.wrapping_sub(1) == 0 {
                member.wrong_suspicions = member.wrong_suspicions.saturating_sub(1);
            }
        }
        self.seen = self.seen.with(set);
    }

    /// Records a frame of a member that is proven to be no recording: a sign of life, if not a heartbeat.
    pub(crate) fn on_frame(&mut self, from: NodeSet, now: Instant) {
        for slot in from.without(self.suspected).slots() {
            if let Some(member) = self.members.as_mut().get_mut(slot) {
                member.last = CoarseInstant::of(now);
            }
        }
    }

    /// Records that these members have granted a lease that was just asked for: they are up, however long their heartbeats
    /// take. Returns whether one was suspected.
    pub(crate) fn on_granted(&mut self, set: NodeSet, now: Instant) -> bool {
        let wrong = set.and(self.suspected);
        wrong.slots().for_each(|slot| self.on_alive(slot, now));
        self.on_frame(set, now);
        !wrong.is_empty()
    }

    /// Records that these members have rebooted.
    pub(crate) fn reset(&mut self, set: NodeSet) {
        self.changes.reset = self.changes.reset.with(set);
    }

    /// Suspects members that the link could not reach, until their counters grow.
    pub(crate) fn suspect(&mut self, set: NodeSet) {
        let new = set.without(self.suspected);
        self.suspected = self.suspected.with(new);
        self.changes.down = self.changes.down.with(new);
        self.changes.up = self.changes.up.without(new);
    }

    /// Suspects the members that have been silent for too long.
    pub(crate) fn on_timeout(&mut self, cx: &DetectorContext<'_>) {
        let Moment { now, timing, .. } = cx.moment;
        if self.check_at > now {
            return;
        }
        // A suspected member may come up within a heartbeat, and its silence must be measured from then on.
        self.check_at = now.after(timing.heartbeat);
        let mut silent = NodeSet::EMPTY;
        for slot in cx.group.all().without(cx.me).without(self.suspected).slots() {
            match self.time_left(slot, cx) {
                Duration::ZERO => silent = silent.with(NodeSet::slot(slot)),
                left => self.check_at = self.check_at.min(now.after(left)),
            }
        }
        self.suspect(silent);
    }

    /// Returns how much longer a member may be silent.
    fn time_left(&self, slot: usize, cx: &DetectorContext<'_>) -> Duration {
        let Some(member) = self.members.as_ref().get(slot) else { return Duration::ZERO };
        let Moment { now, timing, .. } = cx.moment;
        let heartbeat = timing.heartbeat.times(cx.stretch);
        let usual = self.interval.plus(self.deviation.times(4)).min(heartbeat.times(TIMEOUT_MAX_HEARTBEATS));
        // Over several hops each relay may just have missed the last counter, even where no frame is lost.
        let relay_delay = if cx.several_hops { heartbeat } else { Duration::ZERO };
        let timeout = usual.max(timeout_min(timing).times(cx.stretch).plus(relay_delay));
        let timeout = timeout.plus(timeout.mul_ratio(1, 2).times(u32::from(member.wrong_suspicions)));
        timeout.minus(member.last.elapsed(now))
    }

    /// Returns the heartbeat that is due, if one is.
    pub(crate) fn poll_heartbeat(&mut self, cx: &DetectorContext<'_>) -> Option<Heartbeat> {
        let Moment { now, random, timing } = cx.moment;
        if self.heartbeat_at > now {
            return None;
        }
        let interval = timing.heartbeat.times(cx.stretch);
        let spread = interval.mul_ratio(1, 8);
        self.heartbeat_at = now.after(interval.minus(spread.mul_ratio(1, 2)).plus(jitter(spread, random)));
        let advertised = AdvertisedCapacity::of(cx.candidate);
        let (unconfirmed, named) = (NodeSet::EMPTY, Vec::new());
        let (counts, relayed, lamport) =
            (Vec::new(), Vec::new(), if cx.several_hops { LamportTime(0) } else { cx.lamport });
        let mut heartbeat = Heartbeat { advertised, counts, relayed, lamport, unconfirmed, named };
        for slot in cx.me.slots() {
            let Some(member) = self.members.as_mut().get_mut(slot) else { continue };
            member.count = member.count.wrapping_add(1);
        }
        if cx.several_hops {
            for member in cx.group.all().slots().filter_map(|slot| self.members.as_ref().get(slot)) {
                let _ = heartbeat.counts.push(member.count); // there is room for every slot
            }
            let members = cx.group.all().len();
            for _ in 0..RELAYED_MAX {
                self.cursor = u8::try_from(u32::from(self.cursor).wrapping_add(1).checked_rem(members)?).unwrap_or(0);
                let Some(member) = self.members.as_ref().get(usize::from(self.cursor)) else { continue };
                let _ = heartbeat.relayed.push((self.cursor, member.advertised)); // as many as the loop has turns
            }
        }
        Some(heartbeat)
    }

    /// Sends the next heartbeat sooner: a member waits to be named.
    pub(crate) fn hurry(&mut self, moment: Moment<'_>, in_range: u32) {
        let Moment { now, random, timing } = moment;
        let window = timing.heartbeat.mul_ratio(1, 8).max(timing.contention_window(in_range));
        self.heartbeat_at = self.heartbeat_at.min(now.after(window.plus(jitter(window, random))));
    }

    /// Returns when to call [`Detector::on_timeout`] and [`Detector::poll_heartbeat`].
    pub(crate) fn deadline(&self) -> Instant {
        self.heartbeat_at.min(self.check_at)
    }
}

/// Returns the shortest timeout of a member.
fn timeout_min(timing: &Timing) -> Duration {
    timing.heartbeat.times(2).plus(timing.heartbeat.mul_ratio(1, 4))
}

#[cfg(test)]
mod tests;
