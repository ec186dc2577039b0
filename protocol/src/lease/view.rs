//! The view: the members that count, and whether enough of them are reachable.

use super::grants::OLDEST;
use super::notice::Notice;
use super::{LeaderLease, Out, Role, crowd, several_hops};
use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::quorum::Mode;
use crate::base::term::Term;

/// How many views a member may have missed in one term, and since the last one it adopted: one message moves the number
/// no further.
const VIEWS_MISSED_MAX: u16 = 1 << 15;
const VIEWS_STEP: u16 = 1 << 12;

impl LeaderLease {
    /// Removes members that are not up from the view of a leader with a lease, or adds them again.
    pub(super) fn update_view(&mut self, cx: &Context<'_>) {
        let (Role::Holding { term, .. }, Some((_, elected))) = (self.role, self.elected) else { return };
        let present = cx.up.with(self.grants.granted(OLDEST)).with(cx.roster.set_of(cx.me));
        let present = if self.lasting { cx.roster.all() } else { present };
        let stale = present != self.view || self.view_number.0 != term || !self.view_acting;
        if term == elected && stale && cx.is_quorum(present) {
            self.view = present;
            self.announce_view(cx, term, true);
        }
    }

    /// Announces the view under its next number.
    pub(super) fn announce_view(&mut self, cx: &Context<'_>, term: Term, acting: bool) {
        let number = if self.view_number.0 == term { self.view_number.1.saturating_add(1) } else { 1 };
        (self.view_number, self.view_acting) = ((term, number), acting);
        self.view_at = Some(cx.now);
    }

    /// The number of the view of the present term, 0 where none is known.
    pub(super) fn known_view(&self) -> u16 {
        let present = self.elected.is_some_and(|(_, term)| term == self.view_number.0);
        if present { self.view_number.1 } else { 0 }
    }

    /// Adopts a view, and relays it where some members may be out of the sender's range.
    pub(super) fn on_view(&mut self, cx: &Context<'_>, number: (Term, u16), members: NodeSet, out: &mut Out) {
        let Some((leader, term)) = self.elected else { return };
        if self.mode == Mode::Available || number.0 != term || number <= self.view_number {
            return;
        }
        let most =
            if self.view_number.0 == term { self.view_number.1.saturating_add(VIEWS_STEP) } else { VIEWS_MISSED_MAX };
        if number.1 > most {
            return; // nobody announced so many
        }
        if leader == cx.me {
            self.view_number = number; // no view of this node: it announces its own above it
            return self.announce_view(cx, term, self.view_acting);
        }
        (self.view_number, self.view_acting) = (number, !members.is_empty());
        if several_hops(cx) {
            self.view_at = Some(cx.now.after(crowd(cx)));
        }
        if members.is_empty() {
            self.notify(cx.me, None, out);
            self.degrade(out);
        } else {
            self.view = members;
            self.degraded = false;
            self.notify(cx.me, Some((leader, term)), out);
        }
    }

    pub(super) fn degrade(&mut self, out: &mut Out) {
        if !self.degraded {
            self.degraded = true;
            out.notify(Notice::Degraded);
        }
    }

    /// Notifies the application when the reachable members stop being a majority, and when they are one again.
    pub(super) fn update_degraded(&mut self, cx: &Context<'_>, out: &mut Out) {
        let up = cx.up.with(cx.roster.set_of(cx.me));
        match self.mode {
            Mode::Quorum if self.lasting && self.notified.is_some() => {} // a majority has granted that leader a lease
            _ if !cx.is_quorum(up) => self.degrade(out),
            Mode::Available if self.degraded => {
                self.degraded = false;
                let leader = self.notified.take();
                self.notify(cx.me, leader, out); // it leads a majority again
            }
            Mode::Available | Mode::Quorum => {} // unchanged; in quorum mode the leader's next view confirms it
        }
    }
}
