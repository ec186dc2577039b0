//! A node's own service as a super-peer: when it begins, its beacons, and when it resigns.

use super::heard::{Heard, INCUMBENT_AFTER, LEAVING, Received, STEADY, Status, interval, lease};
use super::tier::{Reach, Role, Tier, message};
use super::{Command, Notice, Out};
use crate::algorithm::Context;
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ids::NodeSet;
use crate::base::rng::jitter;
use crate::base::time::Duration;
use core::cmp::Ordering;

/// Over how many times the stagger those that could serve the whole network spread their delays.
const STAGGERS_EVERYWHERE: u32 = 4;

/// How many beacons a super-peer sends at each pace.
const BEACONS_EACH_PACE: u8 = 8;

/// From which beacon on a super-peer has clients that would miss it.
const CLIENTS_AFTER: u32 = 2;

/// How often a beacon is sent again to neighbours that are not known to have it.
const REPEATS: u8 = 1;

impl<const HEARD: usize> Tier<HEARD> {
    /// Returns the delay before this node serves; `None` where there is no reason to.
    pub(super) fn serve_delay(&self, cx: &Context<'_>) -> Option<Duration> {
        let candidate = self.candidate(cx)?;
        let timing = cx.timing;
        // Good candidates first: the others hear them in time, over as many hops as the horizon has.
        let short = Capacity::MAX.get().saturating_sub(candidate.capacity.get());
        let hops = match self.reach {
            Reach::Horizon(hops) => u32::from(hops),
            Reach::Everywhere => STAGGERS_EVERYWHERE,
        };
        let range = timing.stagger.times(hops);
        let rank = range.mul_ratio(u32::from(short), u32::from(Capacity::MAX.get()));
        let delay = rank.plus(jitter(timing.stagger.mul_ratio(1, 4), cx.random));
        if self.staying().next().is_none() {
            return Some(timing.boot_wait.minus(cx.uptime).plus(delay));
        }
        if self.staying().all(|other| self.is_closed(other)) {
            return Some(timing.takeover_delay_unsettled.plus(delay)); // the best of the clients that hear no other takes some
        }
        if self.staying().any(|other| other.candidate > candidate) {
            return None;
        }
        let wait = if self.staying().any(Heard::is_incumbent) {
            timing.takeover_delay.max(timing.uptime_min.minus(cx.uptime))
        } else {
            timing.takeover_delay_unsettled
        };
        Some(wait.plus(delay))
    }

    /// Begins to serve under a new term.
    pub(super) fn serve(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Some(candidate) = self.candidate(cx) else { return };
        self.term_number = self.term_number.saturating_add(1);
        let number = self.term_number;
        let left = lease(cx.timing, 0);
        let received = Received { candidate, number, count: 0, pace: 0, hops: 0, left, load: 0 };
        let own = Heard::new(cx, NodeSet::EMPTY, &received);
        self.insert_own(own);
        self.role = Role::Serving { next: cx.now.after(cx.timing.heartbeat), calm: 0, leave: None };
        out.notify(Notice::Gained { term: own.term() });
        self.send_own(cx, cx.timing.reflood_count, out);
    }

    /// Inserts this node's own entry, in place of an earlier one, of none, or of the one that matters least.
    fn insert_own(&mut self, own: Heard) {
        let (own_id, tier) = (own.id(), *self);
        if let Some(own_slot) = self.heard.iter_mut().find(|slot| slot.is_some_and(|heard| heard.id() == own_id)) {
            *own_slot = Some(own);
        } else if let Some(last) =
            self.heard.iter_mut().min_by_key(|slot| slot.as_ref().map(|heard| tier.preference(own_id, heard)))
        {
            *last = Some(own);
        }
    }

    /// Sends the own entry to all neighbours, and again while some are not known to have it.
    fn send_own(&mut self, cx: &Context<'_>, repeats: u8, out: &mut Out) {
        if let Some(own) = self.entry(cx.me) {
            own.on_sent(cx, cx.near, repeats);
            out.send(cx.peers, message(cx, own));
        }
    }

    /// Sends the next beacon.
    pub(super) fn send_beacon(&mut self, cx: &Context<'_>, out: &mut Out) {
        let pace_max = self.pace_max();
        let Role::Serving { next, calm, leave } = &mut self.role else { return };
        let calm_pace = calm.checked_div(BEACONS_EACH_PACE).unwrap_or(0).min(pace_max);
        let pace = if leave.is_some() { LEAVING } else { calm_pace };
        *calm = calm.saturating_add(1);
        *next = cx.now.after(interval(cx.timing, pace));
        if let Some(own) = self.entry(cx.me) {
            own.count = own.count.saturating_add(1);
            own.pace = pace;
            own.until = cx.now.after(lease(cx.timing, pace));
            if own.count >= INCUMBENT_AFTER
                && let Some(candidate) = cx.candidate
            {
                own.candidate = candidate.as_incumbent();
            }
        }
        self.send_own(cx, REPEATS, out);
        self.start_count(cx);
    }

    /// Sends the next beacon soon, and the following ones at the shortest interval.
    fn hurry(&mut self, cx: &Context<'_>) {
        if let Role::Serving { next, calm, .. } = &mut self.role {
            *calm = 0;
            *next = (*next).min(cx.now.after(cx.timing.contention_window(cx.near.len())));
        }
    }

    /// Handles a beacon that names this node, by its term and count.
    pub(super) fn on_own_beacon(&mut self, cx: &Context<'_>, from: NodeSet, said: (u32, u32), out: &mut Out) {
        if !matches!(self.role, Role::Serving { .. }) {
            return self.deny(cx);
        }
        let Some(own) = self.entry(cx.me) else { return };
        match said.cmp(&(own.number, own.count)) {
            Ordering::Less => own.inform(cx),
            Ordering::Equal => own.on_echo(cx, from),
            // Of an earlier boot, or nobody's: others would take no beacon of this term.
            Ordering::Greater => self.rise_above(cx, said.0, out),
        }
    }

    /// Says that this node does not serve: others follow an earlier term of it, of this boot or one before.
    fn deny(&mut self, cx: &Context<'_>) {
        if self.entry(cx.me).is_none() {
            let candidate = Candidate { capacity: Capacity::default(), id: cx.me };
            let (number, count, left) = (self.term_number, u32::MAX, Duration::ZERO);
            let received = Received { candidate, number, count, pace: 0, hops: 0, left, load: 0 };
            let mut own = Heard::new(cx, NodeSet::EMPTY, &received);
            own.status = Status::Resigned;
            self.insert_own(own);
        }
        let number = self.term_number;
        if let Some(own) = self.entry(cx.me) {
            own.number = number;
            own.inform(cx);
        }
    }

    /// Continues under a term above `number`.
    fn rise_above(&mut self, cx: &Context<'_>, number: u32, out: &mut Out) {
        self.observe_term(number);
        self.term_number = self.term_number.saturating_add(1);
        let number = self.term_number;
        if let Some(own) = self.entry(cx.me) {
            own.number = number;
            out.notify(Notice::Gained { term: own.term() });
        }
        self.hurry(cx);
    }

    /// Returns whether this node, a super-peer, has resigned, and is to decide what else it does.
    pub(super) fn keep_serving(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let Some(own) = self.entry(cx.me).copied() else { return true };
        let rank = own.candidate;
        let better = |other: &&Heard| {
            let steady = other.steady >= STEADY || !own.is_incumbent();
            other.candidate > rank && steady && !self.are_both_needed(&own, other)
        };
        let outranked = self.staying().any(|other| better(&other));
        if self.candidate(cx).is_none() || (outranked && !self.linger(cx, &own, out)) {
            self.resign(cx, out);
            return true;
        }
        if outranked {
            return false;
        }
        self.stay(cx);
        // The worse ones resign when they hear this one: soon, and under a term above theirs.
        let worse = self.staying().filter(|other| other.candidate < rank && !self.are_both_needed(&own, other));
        if let Some(number) = worse.map(|other| other.number).max() {
            if number >= own.number {
                self.rise_above(cx, number, out);
            } else if own.pace > 0 {
                self.hurry(cx);
            }
        }
        false
    }

    /// Returns whether this node, outranked, serves on for a while: so long that the best of the clients which hear no other
    /// super-peer serves them. One that has only begun to serve has hardly a client yet, and a chief leaves nobody alone.
    fn linger(&mut self, cx: &Context<'_>, own: &Heard, out: &mut Out) -> bool {
        let Reach::Horizon(hops) = self.reach else { return false };
        let Role::Serving { next, leave, .. } = &mut self.role else { return false };
        if own.count < CLIENTS_AFTER {
            return false;
        }
        if let Some(leave) = *leave {
            return leave > cx.now;
        }
        let longest = cx.timing.stagger.times(u32::from(hops).saturating_add(1)); // of the clients' delays, and to be heard
        (*leave, *next) = (Some(cx.now.after(longest)), cx.now);
        self.send_beacon(cx, out);
        true
    }

    /// Takes back that it leaves its clients: the better one is gone.
    fn stay(&mut self, cx: &Context<'_>) {
        if let Role::Serving { leave, .. } = &mut self.role
            && leave.take().is_some()
        {
            self.hurry(cx);
        }
    }

    /// Stops serving.
    fn resign(&mut self, cx: &Context<'_>, out: &mut Out) {
        if let Some(own) = self.entry(cx.me) {
            (own.status, own.count) = (Status::Resigned, u32::MAX);
        }
        self.send_own(cx, cx.timing.reflood_count, out);
        self.role = Role::Searching { serve: None };
        if self.others().next().is_none() {
            out.notify(Notice::Leaderless);
        }
    }

    pub(super) fn on_command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out) {
        match (command, self.role) {
            (Command::Call, Role::Searching { .. } | Role::Following { .. }) => {
                if self.serve_delay(cx).is_some() {
                    self.serve(cx, out);
                }
            }
            (Command::Call, Role::Serving { .. }) => self.hurry(cx),
            (Command::Yield, Role::Serving { .. }) => {
                self.abstain_until = Some(cx.now.after(cx.timing.takeover_delay));
            }
            (Command::Yield, Role::Searching { .. } | Role::Following { .. }) => {} // it does not serve
        }
    }
}
