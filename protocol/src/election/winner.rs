//! Which candidate wins an election on a ring: the highest, or the lowest.

use super::candidacy::Candidacy;
use crate::algorithm::Context;
use crate::base::capacity::Candidate;
use crate::base::named;
use crate::base::rng::jitter;
use crate::base::time::Duration;

/// Which candidate wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Winner {
    /// The best.
    #[default]
    Highest,
    /// The worst.
    Lowest,
}

named! { Winner: Highest = "highest", Lowest = "lowest" }

impl Winner {
    /// Returns whether `a` wins against `b`; none wins against nobody.
    pub(super) fn prefers(self, a: Option<Candidate>, b: Option<Candidate>) -> bool {
        match (self, a, b) {
            (_, None, _) => false,
            (_, Some(_), None) => true,
            (Self::Highest, Some(a), Some(b)) => a > b,
            (Self::Lowest, Some(a), Some(b)) => a < b,
        }
    }

    /// Returns the one of two that wins.
    pub(super) fn of(self, a: Option<Candidate>, b: Option<Candidate>) -> Option<Candidate> {
        if self.prefers(b, a) { b } else { a }
    }

    /// Returns the delay before a node starts a round; `None` where there is no reason to.
    pub(super) fn start_delay(self, candidacy: &Candidacy, cx: &Context<'_>) -> Option<Duration> {
        match (self, candidacy.leadership.leader()) {
            (Self::Highest, _) | (Self::Lowest, None) => candidacy.start_delay(cx),
            (Self::Lowest, Some(leader)) => {
                let lower = candidacy.candidate(cx).is_some_and(|candidate| candidate < leader.candidate);
                let timing = cx.timing;
                let incumbent = candidacy.leadership.has_incumbent();
                let takeover_delay = if incumbent { timing.takeover_delay } else { timing.takeover_delay_unsettled };
                let challenges = lower && !candidacy.leadership.is_leader();
                challenges.then(|| takeover_delay.plus(jitter(timing.stagger, cx.random)))
            }
        }
    }

    /// Returns the context as an election uses it: the best peer is no successor of the lowest.
    pub(super) fn context<'a>(self, cx: &Context<'a>) -> Context<'a> {
        Context { best_peer: cx.best_peer.filter(|_| self == Self::Highest), ..*cx }
    }
}
