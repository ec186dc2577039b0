//! What applications do with locks.

use super::ScenarioError;
use super::check::{Reader, choose};
use super::raw::RawLocks;
use super::values::{Between, Nodes, Share, Time};
use crate::peer;
use crate::queue::Micros;
use crate::random::Chance;
use protocol::Timing;
use protocol::mutex::LOCKS_MAX;
use toml::Spanned;

/// The locks of a run, and what applications do with them.
#[derive(Clone, Debug, PartialEq)]
pub struct LockPlan {
    /// The word for the algorithm.
    pub mutex: String,
    /// What the locks are called.
    pub names: Vec<String>,
    /// Who wants them, again and again.
    pub contenders: Vec<u32>,
    /// How long an application does without a lock before it asks for it: the shortest and the longest.
    pub think: (Micros, Micros),
    /// How long it uses a lock.
    pub hold: (Micros, Micros),
    /// For how long it asks for it.
    pub lease: (Micros, Micros),
    /// How long what it writes is on its way to the thing that the lock protects.
    pub write: (Micros, Micros),
    /// How often it would rather be refused than wait.
    pub trying: Chance,
    /// How often it stops waiting.
    pub cancel: Chance,
    /// How often it asks for more time instead of writing.
    pub renew: Chance,
    /// Whether the things that the locks protect look at fences.
    pub fencing: bool,
}

pub(super) fn locks(
    reader: &Reader<'_>,
    nodes: u32,
    timing: &Timing,
    raw: Option<Spanned<RawLocks>>,
) -> Result<Option<LockPlan>, ScenarioError> {
    let Some(raw) = raw else { return Ok(None) };
    let raw = raw.into_inner();
    let mutex = match raw.mutex {
        None => peer::MUTEXES[0].to_owned(),
        Some(word) => {
            choose(reader, "mutex", &word, peer::MUTEXES.iter().copied())?;
            word.into_inner()
        }
    };
    let longest = Micros::from(timing.lock_lease.as_micros());
    let lease = range(reader, raw.lease.as_ref(), (longest, longest))?;
    if let Some(given) = raw.lease.as_ref().filter(|_| lease.0 == 0 || lease.1 > longest) {
        let text = "a lease is above zero, and not above \"lock_lease\" of [timing]".to_owned();
        return Err(reader.error(given.span(), text));
    }
    let contenders = raw.contenders.map(|set| reader.listed(set.span(), set.get_ref(), nodes)).transpose()?;
    let chance = |share: Option<Share>| share.map_or(Chance::NEVER, |Share(share)| Chance::new(share));
    Ok(Some(LockPlan {
        mutex,
        names: names(reader, raw.names)?,
        contenders: contenders.map_or_else(|| reader.listed(0..0, &Nodes::All, nodes), Ok)?,
        think: range(reader, raw.think.as_ref(), (500_000, 2_000_000))?,
        hold: range(reader, raw.hold.as_ref(), (10_000, 100_000))?,
        lease,
        write: range(reader, raw.write.as_ref(), (0, 0))?,
        trying: chance(raw.trying),
        cancel: chance(raw.cancel),
        renew: chance(raw.renew),
        fencing: raw.fencing.unwrap_or(true),
    }))
}

fn names(reader: &Reader<'_>, raw: Option<Spanned<Vec<String>>>) -> Result<Vec<String>, ScenarioError> {
    let Some(raw) = raw else { return Ok(vec!["lock".to_owned()]) };
    let (span, names) = (raw.span(), raw.into_inner());
    let twice = names.iter().enumerate().any(|(place, name)| names[..place].contains(name));
    if names.is_empty() || names.len() > LOCKS_MAX || twice {
        return Err(reader.error(span, format!("there are 1 to {LOCKS_MAX} locks, each with a name of its own")));
    }
    Ok(names)
}

fn range(
    reader: &Reader<'_>,
    given: Option<&Spanned<Between<Time>>>,
    default: (Micros, Micros),
) -> Result<(Micros, Micros), ScenarioError> {
    let Some(given) = given else { return Ok(default) };
    let Between { low: Time(low), high: Time(high) } = *given.get_ref();
    reader.ordered(given.span(), low <= high)?;
    Ok((low, high))
}
