//! The leader's part: it makes tokens, warrants their use, and makes them anew when they are lost.

use super::super::{LOCKS_MAX, LockId};
use super::word::{Generation, Need};
use crate::algorithm::Context;
use crate::clock::Term;
use crate::config::granted;
use crate::group::NodeSet;
use crate::time::{Instant, Span, sooner};
use heapless::Vec;

/// What became of a lock's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fate {
    /// It was made.
    Made,
    /// It will be made when everybody is clear, when the one before is given back, or at this time: then whatever was
    /// warranted before has ended. The question is to be put at `tell`.
    Asking { before: Option<Generation>, clear: NodeSet, wait: Instant, tell: Option<Instant> },
}

/// The token of one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Post {
    pub(super) lock: LockId,
    pub(super) generation: Generation,
    /// When its use was last warranted to anybody.
    issued: Instant,
    /// When it was last surely there.
    pub(super) sign: Instant,
    pub(super) fate: Fate,
    /// Who wants it.
    pub(super) calls: NodeSet,
    /// Whether the usual way to it failed.
    pub(super) direct: bool,
}

/// What a leader is answered by its own records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// The caller may use the token of this generation.
    Warranted(Generation),
    /// What the caller speaks of is void: the token is, or will be, this one.
    Void(Generation),
    /// Nothing is to be said.
    Noted,
    /// The token seems to be lost.
    Lost,
}

/// What a leader keeps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Office {
    since: Instant,
    /// The last token it began to make, of any lock.
    last: Generation,
    posts: Vec<Post, LOCKS_MAX>,
}

impl Office {
    /// Begins after `last`, which this node made earlier under the same term, if any.
    pub(super) const fn new(since: Instant, last: Generation) -> Self {
        Self { since, last, posts: Vec::new() }
    }

    pub(super) const fn last(&self) -> Generation {
        self.last
    }

    pub(super) fn post(&self, lock: LockId) -> Option<&Post> {
        self.posts.iter().find(|post| post.lock == lock)
    }

    pub(super) fn post_mut(&mut self, lock: LockId) -> Option<&mut Post> {
        self.posts.iter_mut().find(|post| post.lock == lock)
    }

    /// Forgets a lock nobody has wanted for so long that nothing of it is warranted any more.
    pub(super) fn forget(&mut self, lock: LockId) {
        self.posts.retain(|post| post.lock != lock);
    }

    /// Whether nothing of the lock is warranted any more.
    pub(super) fn is_over(&self, cx: &Context<'_>, lock: LockId) -> bool {
        self.post(lock).is_none_or(|post| {
            post.fate == Fate::Made
                && post.calls.is_empty()
                && post.issued.after(granted(cx.timing.lock_lease)) <= cx.now
        })
    }

    /// Goes on under another term: all tokens are made anew under it.
    pub(super) fn go_on(&mut self, cx: &Context<'_>, term: Term) {
        self.last.term = term; // the rounds go on
        self.recall_all(cx, |_| true);
    }

    /// Begins to keep a lock. Whether there was room.
    pub(super) fn open(&mut self, cx: &Context<'_>, lock: LockId) -> bool {
        if self.post(lock).is_some() {
            return true;
        }
        let generation = self.new_generation();
        let wait = self.since.after(granted(cx.timing.lock_lease));
        let fate = Fate::Asking { before: None, clear: NodeSet::EMPTY, wait, tell: Some(cx.now) };
        let post =
            Post { lock, generation, issued: self.since, sign: cx.now, fate, calls: NodeSet::EMPTY, direct: false };
        self.posts.push(post).is_ok()
    }

    /// Begins to make the tokens anew that `lost` says.
    pub(super) fn recall_all(&mut self, cx: &Context<'_>, lost: impl Fn(LockId) -> bool) {
        let locks = self.posts.clone();
        let mut tell = cx.now;
        for post in locks.iter().filter(|post| lost(post.lock)) {
            self.recall(cx, post.lock, tell);
            tell = tell.after(cx.timing.retry); // one after the other: letters take room
        }
    }

    /// Begins to make a token anew, and asks everybody at `tell`.
    pub(super) fn recall(&mut self, cx: &Context<'_>, lock: LockId, tell: Instant) {
        let (term, next) = (self.last.term, self.new_generation());
        let since = self.since;
        let Some(post) = self.post_mut(lock) else { return };
        let over = post.issued.max(since).after(granted(cx.timing.lock_lease));
        post.fate = match post.fate {
            Fate::Made => {
                let before = Some(post.generation);
                Fate::Asking { before, clear: NodeSet::EMPTY, wait: over, tell: Some(tell) }
            }
            Fate::Asking { before, wait, .. } if post.generation.term != term => {
                Fate::Asking { before, clear: NodeSet::EMPTY, wait, tell: Some(tell) }
            }
            Fate::Asking { before, clear, wait, .. } => {
                post.fate = Fate::Asking { before, clear, wait, tell: Some(tell) };
                return; // it is being made already
            }
        };
        post.generation = next;
    }

    /// Asks again whoever has come back.
    pub(super) fn ask_again(&mut self, cx: &Context<'_>) {
        for post in &mut self.posts {
            if let Fate::Asking { tell, .. } = &mut post.fate {
                *tell = Some(cx.now);
            }
        }
    }

    /// Rules on a call.
    pub(super) fn rule(&mut self, cx: &Context<'_>, from: NodeSet, lock: LockId, call: (Need, Generation)) -> Ruling {
        let (need, theirs) = call;
        let patience = patience(cx);
        let Some(post) = self.post_mut(lock) else { return Ruling::Noted };
        let current = post.generation == theirs;
        let over = cx.now.after(granted(cx.timing.lock_lease));
        match (need, &mut post.fate) {
            (Need::Want, fate) => {
                let lost = *fate == Fate::Made && post.sign.after(patience) <= cx.now;
                post.calls = post.calls.with(from);
                if lost {
                    post.direct = true;
                    return Ruling::Lost;
                }
                post.issued = cx.now;
                Ruling::Warranted(post.generation)
            }
            (Need::Enter | Need::Keep, Fate::Made) if current => {
                (post.issued, post.sign) = (cx.now, cx.now);
                Ruling::Warranted(post.generation)
            }
            // It is inside by the token before, so nobody else is; the next one must wait for it.
            (Need::Keep, Fate::Asking { wait, .. }) => {
                *wait = over.max(*wait);
                Ruling::Warranted(theirs)
            }
            (Need::Enter | Need::Keep, Fate::Made | Fate::Asking { .. }) => Ruling::Void(post.generation),
            (Need::Using, Fate::Made | Fate::Asking { .. }) => {
                post.sign = cx.now;
                Ruling::Noted
            }
            (Need::Missing | Need::Astray, Fate::Made) if current => Ruling::Lost,
            (Need::Missing | Need::Astray, Fate::Made | Fate::Asking { .. }) => Ruling::Noted, // known, or long found
        }
    }

    /// A member is clear of older tokens, and gave back one it had. Whether the new one can be made.
    pub(super) fn hear_clear(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        lock: LockId,
        answer: (Generation, Option<Generation>),
    ) -> bool {
        let (generation, had) = answer;
        let Some(post) = self.post_mut(lock).filter(|post| post.generation == generation) else { return false };
        let Fate::Asking { before, clear, .. } = &mut post.fate else { return false };
        *clear = clear.with(from);
        let found = before.is_some() && had == *before; // there was but one
        found || cx.roster.all().without(*clear).is_empty()
    }

    /// The token was made.
    pub(super) fn made(&mut self, cx: &Context<'_>, lock: LockId) -> Option<Generation> {
        let post = self.post_mut(lock)?;
        (post.fate, post.issued, post.sign, post.direct) = (Fate::Made, cx.now, cx.now, false);
        Some(post.generation)
    }

    /// A token that can be made now, because nothing older is warranted any more. Whoever knows the one before is told
    /// first.
    pub(super) fn ripe(&self, cx: &Context<'_>) -> Option<LockId> {
        let ripe = |post: &&Post| match post.fate {
            Fate::Made => false,
            Fate::Asking { before, wait, tell, .. } => wait <= cx.now && (before.is_none() || tell.is_none()),
        };
        self.posts.iter().find(ripe).map(|post| post.lock)
    }

    /// A question that is to be put now: of what, and to whom not. None is put about a first token when nothing older can
    /// be warranted any more.
    pub(super) fn question(&mut self, cx: &Context<'_>) -> Option<(Post, NodeSet)> {
        for post in &mut self.posts {
            if let Fate::Asking { before, clear, wait, tell } = &mut post.fate
                && tell.is_some_and(|at| at <= cx.now)
                && (before.is_some() || *wait > cx.now)
            {
                *tell = None;
                let clear = *clear;
                return Some((*post, clear));
            }
        }
        None
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.posts.iter().fold(None, |soonest, post| match post.fate {
            Fate::Made => soonest,
            // It is not made before whoever knows the one before was told.
            Fate::Asking { before: Some(_), tell: Some(tell), .. } => sooner(soonest, Some(tell)),
            Fate::Asking { wait, tell, .. } => sooner(soonest, sooner(Some(wait), tell)),
        })
    }

    fn new_generation(&mut self) -> Generation {
        self.last.round = self.last.round.saturating_add(1);
        self.last
    }
}

/// How long a token may be out of sight: everybody may use it, each a little shorter than it would have to tell.
fn patience(cx: &Context<'_>) -> Span {
    let lease = granted(cx.timing.lock_lease);
    lease.plus(lease.share(1, 3).times(cx.roster.all().len()))
}
