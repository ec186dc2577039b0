//! One lock's token, seen from one node.

use super::super::LockId;
use super::super::claims::{Claim, Granted};
use super::word::{Generation, Need, Token};
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::group::{NodeSet, SLOTS_MAX};
use crate::time::{Instant, Span};

/// A call that was not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    pub(super) number: Stamp,
    pub(super) at: Instant,
}

/// What this node knows of one lock's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Place {
    pub(in super::super) lock: LockId,
    /// The token as this node last saw it, or the one that will be made.
    pub(in super::super) token: Token,
    /// Whether it is here.
    pub(in super::super) here: bool,
    /// Who else than the leader may be asked for it.
    pub(in super::super) via: NodeSet,
    /// The leader that last spoke of it.
    pub(in super::super) root: NodeSet,
    /// Whether others wait for it here.
    pub(in super::super) busy: bool,
    /// Until when which token may be used.
    pub(super) warrant: Option<(Generation, Instant)>,
    pub(super) pending: Option<Pending>,
    /// The request the leader was told of.
    pub(super) told: Option<Stamp>,
    /// When to call again.
    pub(super) due: Option<Instant>,
    /// A void token this node had, which the leader was not told yet.
    pub(super) had: Option<Generation>,
    /// To whom it owes word that it is not inside.
    pub(super) owed: NodeSet,
    /// Whom the token was passed to.
    pub(super) passed: NodeSet,
    /// What to tell the leader because somebody is gone.
    pub(super) trouble: Option<Need>,
    /// Until when a claim that is only tried is worth waiting for.
    pub(super) tried: Option<Instant>,
    /// When it was last spoken of.
    pub(super) touched: Instant,
}

impl Place {
    pub(super) fn new(lock: LockId, generation: Generation, root: NodeSet, now: Instant) -> Self {
        Self {
            lock,
            token: Token::new(generation),
            here: false,
            via: NodeSet::first(SLOTS_MAX),
            root,
            busy: false,
            warrant: None,
            pending: None,
            told: None,
            due: None,
            had: None,
            owed: NodeSet::EMPTY,
            passed: NodeSet::EMPTY,
            trouble: None,
            tried: None,
            touched: now,
        }
    }

    /// Older tokens than this are void.
    pub(super) fn raise(&mut self, generation: Generation, now: Instant) {
        self.touched = now;
        if generation <= self.token.generation {
            return;
        }
        if core::mem::take(&mut self.here) {
            self.had = self.had.max(Some(self.token.generation));
        }
        self.token = Token::new(generation);
        (self.passed, self.trouble, self.via) = (NodeSet::EMPTY, None, NodeSet::first(SLOTS_MAX));
    }

    /// Whether the leader asked for the token before, and tells who may be asked for this one.
    pub(in super::super) fn is_recalled(&self) -> bool {
        self.via != NodeSet::first(SLOTS_MAX)
    }

    /// Whether the token has never been here.
    pub(in super::super) const fn is_strange(&self) -> bool {
        !self.here && self.token.sequence == 0
    }

    /// How long the token that is here may still be used.
    pub(in super::super) fn left(&self, now: Instant) -> Span {
        match self.warrant {
            Some((generation, until)) if self.here && generation == self.token.generation => until.since(now),
            Some(_) | None => Span::ZERO,
        }
    }

    /// The token may be used until then, as whoever passed it on says.
    pub(in super::super) fn inherit(&mut self, until: Instant) {
        let own = self.warrant.filter(|&(generation, _)| generation == self.token.generation);
        self.warrant = Some((self.token.generation, own.map_or(until, |(_, own)| own.max(until))));
    }

    /// Whether the leader has to be called before `claim` can be entered.
    pub(in super::super) fn may_enter(&self, cx: &Context<'_>, claim: &Claim) -> bool {
        self.here && self.left(cx.now) >= claim.lease.share(1, 2)
    }

    /// Enters.
    pub(in super::super) fn enter(&mut self, cx: &Context<'_>, claim: &Claim) -> Granted {
        self.token = self.token.next();
        self.due = Some(cx.now.after(cx.timing.lock_lease.share(1, 3)));
        let until = cx.now.after(claim.lease.min(self.left(cx.now)));
        Granted { lock: claim.lock, request: claim.request, fence: self.token.fence(), until }
    }

    /// Whether the leader has still to be called for this request; from now on it has not.
    pub(in super::super) fn tell(&mut self, cx: &Context<'_>, request: Stamp) -> bool {
        let news = self.told != Some(request) && self.pending.is_none();
        if news {
            self.told = Some(request);
            self.due = Some(cx.now.after(cx.timing.lock_lease));
        }
        news
    }

    /// Whether a call is on its way.
    pub(in super::super) const fn calls(&self) -> bool {
        self.pending.is_some()
    }

    /// Waits for the token to come by itself, but calls the leader if it does not: silence means failure.
    pub(in super::super) fn wait(&mut self, cx: &Context<'_>) {
        self.due = self.due.or(Some(cx.now.after(cx.timing.heartbeat.share(1, 2))));
    }

    /// Whoever was asked for the token is gone.
    pub(in super::super) fn go_astray(&mut self, cx: &Context<'_>) {
        (self.trouble, self.due) = (Some(Need::Astray), Some(cx.now));
    }

    /// Older tokens than this are void, as another member says.
    pub(in super::super) fn void(&mut self, cx: &Context<'_>, generation: Generation) {
        self.raise(generation, cx.now);
    }

    /// Passes the token on. This is its copy: the token is looked for if `to` is gone.
    pub(in super::super) fn pass(&mut self, to: NodeSet) -> Token {
        self.token = self.token.next();
        (self.here, self.passed) = (false, to);
        self.token
    }
}
