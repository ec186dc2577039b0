//! Small applications for demonstrations and tests.

use crate::algorithm::Context;
use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant};

pub mod counter;
pub mod diffusing;
pub mod tokens;

pub use counter::Counter;
pub use diffusing::Diffusing;
pub use tokens::Tokens;

/// Returns a random time from half of `interval` to one and a half from now.
fn after_about(interval: Duration, cx: &Context<'_>) -> Instant {
    cx.now.after(interval.mul_ratio(1, 2)).after(jitter(interval, cx.random))
}

/// Returns the slot of a random member that is up.
fn random_peer(cx: &Context<'_>) -> Option<usize> {
    let choice = usize::try_from(cx.random.checked_rem(cx.up.len())?).ok()?;
    cx.up.slots().nth(choice)
}
