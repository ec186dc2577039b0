//! News of the leader on their way: said, listened for, said again.

use super::{Belief, Notice, Office, Reign, Word};
use crate::algorithm::{Context, Outbox};
use crate::group::NodeSet;
use crate::time::{Instant, Span};

/// How far the current news have spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Spread {
    /// Everybody here has them, or was told often enough.
    Done,
    /// Listening for the neighbours to pass them on. `told` have; the others are told again at `at`, `left` times.
    Listening { told: NodeSet, left: u8, at: Instant },
}

impl Reign {
    /// Says the current news, which `told` have, and listens for them to be passed on.
    pub(super) fn say<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        told: NodeSet,
        left: u8,
        out: &mut Outbox<M, Notice>,
    ) {
        if let Some(word) = self.word(cx) {
            out.send(cx.peers, word.into());
        }
        self.spread = match left {
            0 => Spread::Done,
            left => Spread::Listening { told, left, at: cx.now.after(Self::pause(cx)) },
        };
    }

    /// How long the neighbours may take to pass news on.
    fn pause(cx: &Context<'_>) -> Span {
        cx.timing.repeat.plus(cx.timing.crowd(cx.near.len()))
    }

    /// Neighbours have shown that they have the current news.
    pub(super) fn heard_from(&mut self, set: NodeSet) {
        if let Spread::Listening { told, .. } = &mut self.spread {
            *told = told.with(set);
        }
    }

    /// The current news in words.
    fn word(&self, cx: &Context<'_>) -> Option<Word> {
        let (office, age) = match &self.belief {
            Belief::Vacant { .. } => return None,
            Belief::Leading { office, .. } => (office, 0),
            Belief::Following { office, until, .. } => (office, age(cx, *until)),
        };
        let Office { term, leader, second, beat } = *office;
        Some(if beat == 0 {
            Word::Leader { term, leader, second, age }
        } else {
            Word::Beat { term, leader, beat, age }
        })
    }

    /// Somebody in `set` does not have the news: says them again soon.
    pub fn tell(&mut self, cx: &Context<'_>, set: NodeSet) {
        match &mut self.spread {
            Spread::Listening { told, .. } => *told = told.without(set),
            Spread::Done if matches!(self.belief, Belief::Vacant { .. }) => {}
            Spread::Done => {
                let told = cx.near.without(set);
                self.spread = Spread::Listening { told, left: 1, at: cx.now.after(Self::pause(cx)) };
            }
        }
    }
}

/// How old news are that are good until `until`, in 1/255 of the lease.
///
/// Rounded down: a hop takes less than a 255th, and rounding up would age news by the hops they took.
fn age(cx: &Context<'_>, until: Instant) -> u8 {
    let lease = cx.timing.lease();
    let spent = u64::from(lease.minus(until.since(cx.now)).as_micros()).saturating_mul(u64::from(u8::MAX));
    let share = spent.checked_div(u64::from(lease.as_micros())).unwrap_or(0);
    u8::try_from(share).unwrap_or(u8::MAX)
}
