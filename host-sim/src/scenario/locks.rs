//! The table `[locks]`.

use super::ScenarioError;
use super::raw::RawLocks;
use super::read::Spanned;
use super::validate::Reader;
use super::values::{Nodes, Share, Time};
use crate::base::Micros;
use crate::base::rng::Probability;
use crate::workload::locks::LockPlan;
use protocol::Timing;
use protocol::mutex::LOCKS_MAX;
use protocol::registry::AnyMutex;

pub(super) fn locks(
    reader: &Reader<'_>,
    nodes: u32,
    timing: &Timing,
    raw: Option<Spanned<RawLocks>>,
) -> Result<Option<LockPlan>, ScenarioError> {
    let Some(raw) = raw else { return Ok(None) };
    let raw = raw.into_inner();
    let longest = Micros::from(timing.lock_lease.as_micros());
    let range = |given: &Option<_>, default| given.as_ref().map_or(Ok(default), |given| reader.range(given));
    let lease = range(&raw.lease, (longest, longest))?;
    if let Some(given) = raw.lease.as_ref().filter(|_| lease.0 == 0 || lease.1 > longest) {
        return Err(reader.error(given.span(), "a lease is above zero, and not above \"lock_lease\" of [timing]"));
    }
    let contenders = raw
        .contenders
        .map_or(Ok((0..nodes).collect()), |set: Spanned<Nodes>| reader.ids(set.span(), set.get_ref(), nodes))?;
    let probability = |share: Option<Share>| share.map_or(Probability::NEVER, |Share(share)| Probability::new(share));
    Ok(Some(LockPlan {
        mutex: reader.algorithm("mutex", raw.mutex, AnyMutex::OPTIONS)?,
        names: names(reader, raw.names)?,
        contenders,
        think: range(&raw.think, (500_000, 2_000_000))?,
        hold: range(&raw.hold, (10_000, 100_000))?,
        lease,
        write: range(&raw.write, (0, 0))?,
        timeout: raw.timeout.map(|Time(timeout)| timeout),
        try_only: probability(raw.try_only),
        cancel: probability(raw.cancel),
        renew: probability(raw.renew),
        fencing: raw.fencing.unwrap_or(true),
    }))
}

fn names(reader: &Reader<'_>, raw: Option<Spanned<Vec<String>>>) -> Result<Vec<String>, ScenarioError> {
    let Some(raw) = raw else { return Ok(vec!["lock".to_owned()]) };
    let (span, names) = (raw.span(), raw.into_inner());
    let twice = names.iter().enumerate().any(|(index, name)| names[..index].contains(name));
    if names.is_empty() || names.len() > LOCKS_MAX || twice {
        return Err(reader.error(span, format!("there are 1 to {LOCKS_MAX} locks, each with a name of its own")));
    }
    Ok(names)
}
