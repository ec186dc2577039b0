//! The table `[[faults]]`.

use super::ScenarioError;
use super::app;
use super::raw::RawFault;
use super::read::Spanned;
use super::validate::{Reader, choose, span_of, spans};
use super::values::{Between, Nodes, Share, Time, Whole};
use crate::base::Micros;
use crate::base::rng::Probability;
use crate::sim::attacker::Attack;
use crate::sim::fault_plan::{FaultAction, FaultStep, FaultTarget, PartitionCut, PauseClock, StoredRecords};
use crate::sim::link_fault::LinkFault;
use crate::trace::AppRequest;
use crate::workload::apps::AppPlan;
use std::ops::Range;

/// The values of `do`, and the keys that each takes besides `at`, `do`, `every` and `times`.
const ACTIONS: [(&str, &[&str]); 27] = [
    ("crash", &["node", "records", "for"]),
    ("restart", &["node"]),
    ("restart-blank", &["node"]),
    ("pause", &["node", "clock", "for"]),
    ("resume", &["node"]),
    ("partition", &["sets", "cut", "for"]),
    ("heal", &[]),
    ("loss", &["probability", "for"]),
    ("burst", &["good", "bad", "for"]),
    ("duplicate", &["probability", "for"]),
    ("reorder", &["probability", "delay", "for"]),
    ("delay", &["delay", "for"]),
    ("corrupt", &["probability", "for"]),
    ("attack", &["replay", "forge", "junk", "insider", "for"]),
    ("one-way", &["from", "to", "for"]),
    ("both-ways", &[]),
    ("move", &["node", "position"]),
    ("capacity", &["node", "capacity"]),
    ("yield", &["node"]),
    ("call", &["node"]),
    ("appoint", &["node"]),
    ("release", &["node"]),
    ("add-member", &["node"]),
    ("remove-member", &["node"]),
    ("snapshot", &["node"]),
    ("detect-termination", &["node"]),
    ("start", &["node", "units"]),
];

/// Returns the fault plan in the order of time.
pub(super) fn steps(
    reader: &Reader<'_>,
    nodes: u32,
    duration: Micros,
    (app, lists_change): (Option<&AppPlan>, bool),
    faults: Vec<Spanned<RawFault>>,
) -> Result<Vec<FaultStep>, ScenarioError> {
    let mut steps = Vec::new();
    for fault in faults {
        let span = fault.span();
        let fault = fault.into_inner();
        check_keys(reader, &fault)?;
        let action = Fault { reader, nodes, span, raw: &fault }.action()?;
        if let FaultAction::Request { request, .. } = action {
            app::check_request(reader, fault.action.span(), app, request)?;
        }
        if matches!(action, FaultAction::ChangeList { .. }) && !lists_change {
            let text = "the list changes only where \"members\" says how many nodes are on it at first";
            return Err(reader.error(fault.action.span(), text));
        }
        let Between { low: Time(at), high: Time(latest) } = *fault.at.get_ref();
        reader.check_order(fault.at.span(), at <= latest)?;
        if latest >= duration {
            return Err(reader.error(fault.at.span(), "the fault comes after the end of the run (\"duration\")"));
        }
        let times = match (&fault.every, &fault.times) {
            (None, None) => 1,
            (Some(every), times) => {
                let fits = 1 + (duration - 1 - at) / every.get_ref().0.max(1);
                times.as_ref().map_or(fits, |times| fits.min(times.get_ref().0 as u64))
            }
            (None, Some(times)) => return Err(reader.error(times.span(), "\"times\" needs \"every\"")),
        };
        let lasts = fault.duration.as_ref().map(|duration| reader.range(duration)).transpose()?;
        let records = stored_records(reader, &fault)?;
        let every = fault.every.as_ref().map_or(0, |every| every.get_ref().0);
        for time in 0..times {
            let (at, spread) = (at + time * every, latest - at);
            let number = steps.len() as u32;
            let begin = FaultStep { at, spread, lasts: (0, 0), draw: number, action: action.clone(), number };
            if let Some(lasts) = lasts {
                let end = FaultStep { lasts, action: end_of(&action, records, number), number: number + 1, ..begin };
                steps.extend([begin, end]);
            } else {
                steps.push(begin);
            }
        }
    }
    let earliest = |step: &FaultStep| step.at + step.lasts.0;
    steps.retain(|step| earliest(step) < duration);
    steps.sort_by_key(earliest);
    Ok(steps)
}

/// Refuses a key that the fault does not take.
fn check_keys(reader: &Reader<'_>, fault: &RawFault) -> Result<(), ScenarioError> {
    let (name, keys) = ACTIONS[choose(reader, "fault", &fault.action, ACTIONS.iter().map(|(name, _)| *name))?];
    let given = spans!(fault; node, records, clock, sets, cut, probability, replay, forge, junk, insider, delay, good, bad, from, to, position, capacity, units);
    let given = [("for", span_of(fault.duration.as_ref()))].into_iter().chain(given);
    for (key, span) in given {
        if let Some(span) = span.filter(|_| !keys.contains(&key)) {
            return Err(reader.error(span, format!("the fault \"{name}\" has no key \"{key}\"")));
        }
    }
    Ok(())
}

struct Fault<'a> {
    reader: &'a Reader<'a>,
    nodes: u32,
    span: Range<usize>,
    raw: &'a RawFault,
}

impl Fault<'_> {
    fn action(&self) -> Result<FaultAction, ScenarioError> {
        let raw = self.raw;
        Ok(match raw.action.get_ref().as_str() {
            "crash" => FaultAction::Crash(self.target()?),
            "restart" => FaultAction::Restart { target: self.target()?, records: StoredRecords::Kept },
            "restart-blank" => FaultAction::Restart { target: self.target()?, records: StoredRecords::Lost },
            "pause" => FaultAction::Pause { target: self.target()?, clock: self.pause_clock()? },
            "resume" => FaultAction::Resume(self.target()?),
            "partition" => FaultAction::Partition(self.partition_cut()?),
            "heal" => FaultAction::Heal,
            "loss" => FaultAction::Link(LinkFault::Loss(Some(self.probability()?))),
            "burst" => {
                let good = self.required("good", raw.good.as_ref())?.get_ref().0;
                let bad = self.required("bad", raw.bad.as_ref())?.get_ref().0;
                FaultAction::Link(LinkFault::Burst(Some((good, bad))))
            }
            "duplicate" => FaultAction::Link(LinkFault::Duplicate(self.probability()?)),
            "reorder" => FaultAction::Link(LinkFault::Reorder(self.probability()?, self.delay()?.1)),
            "delay" => {
                let (min, max) = self.delay()?;
                FaultAction::Link(LinkFault::Delay(min, max))
            }
            "corrupt" => FaultAction::Link(LinkFault::Corrupt(self.probability()?)),
            "attack" => {
                let share = |share: Option<&Spanned<Share>>| {
                    share.map_or(Probability::NEVER, |share| Probability::new(share.get_ref().0))
                };
                FaultAction::Link(LinkFault::Attack(Attack {
                    replay: share(raw.replay.as_ref()),
                    forge: share(raw.forge.as_ref()),
                    junk: raw.junk.as_ref().map_or(0, |junk| junk.get_ref().0 as u32),
                    insider: share(raw.insider.as_ref()),
                }))
            }
            "one-way" => {
                let (from, to) = (self.ids("from", raw.from.as_ref())?, self.ids("to", raw.to.as_ref())?);
                FaultAction::Link(LinkFault::OneWay { from, to })
            }
            "both-ways" => FaultAction::Link(LinkFault::BothWays),
            "move" => {
                let position = self.required("position", raw.position.as_ref())?;
                FaultAction::Move {
                    target: self.target()?,
                    to: self.reader.point(position.span(), *position.get_ref())?,
                }
            }
            "capacity" => {
                let capacity = self.required("capacity", raw.capacity.as_ref())?.get_ref().0;
                FaultAction::Capacity { target: self.target()?, capacity }
            }
            "yield" => FaultAction::Yield(self.target()?),
            "call" => FaultAction::Call(self.target()?),
            "appoint" => FaultAction::Appoint(self.target()?),
            "release" => FaultAction::Release(self.target()?),
            "add-member" => FaultAction::ChangeList { target: self.target()?, add: true },
            "remove-member" => FaultAction::ChangeList { target: self.target()?, add: false },
            "snapshot" => self.request(AppRequest::Snapshot)?,
            "detect-termination" => self.request(AppRequest::DetectTermination)?,
            // The names were checked: this is "start".
            _ => {
                let Whole(units) = *self.required("units", raw.units.as_ref())?.get_ref();
                self.request(AppRequest::Start { units: units as u32 })?
            }
        })
    }

    fn required<'a, T>(&self, key: &str, value: Option<&'a T>) -> Result<&'a T, ScenarioError> {
        let name = self.raw.action.get_ref();
        let missing = || self.reader.error(self.span.clone(), format!("the fault \"{name}\" needs the key \"{key}\""));
        value.ok_or_else(missing)
    }

    fn target(&self) -> Result<FaultTarget, ScenarioError> {
        self.reader.target(self.required("node", self.raw.node.as_ref())?, self.nodes)
    }

    fn ids(&self, key: &str, set: Option<&Spanned<Nodes>>) -> Result<Vec<u32>, ScenarioError> {
        let set = self.required(key, set)?;
        self.reader.ids(set.span(), set.get_ref(), self.nodes)
    }

    fn probability(&self) -> Result<Probability, ScenarioError> {
        let Share(probability) = *self.required("probability", self.raw.probability.as_ref())?.get_ref();
        Ok(Probability::new(probability))
    }

    fn delay(&self) -> Result<(Micros, Micros), ScenarioError> {
        self.reader.range(self.required("delay", self.raw.delay.as_ref())?)
    }

    fn request(&self, request: AppRequest) -> Result<FaultAction, ScenarioError> {
        Ok(FaultAction::Request { target: self.target()?, request })
    }

    fn pause_clock(&self) -> Result<PauseClock, ScenarioError> {
        let Some(clock) = &self.raw.clock else { return Ok(PauseClock::Runs) };
        let choice = choose(self.reader, "clock", clock, ["runs", "stops"].into_iter())?;
        Ok([PauseClock::Runs, PauseClock::Stops][choice])
    }

    fn partition_cut(&self) -> Result<PartitionCut, ScenarioError> {
        let reader = self.reader;
        match (&self.raw.sets, &self.raw.cut) {
            (Some(sets), None) => {
                let listed = sets.get_ref().iter().map(|set| reader.ids(sets.span(), set, self.nodes));
                let listed: Vec<Vec<u32>> = listed.collect::<Result<_, _>>()?;
                if listed.len() > 1_000 {
                    return Err(reader.error(sets.span(), "a partition has at most 1000 sets"));
                }
                Ok(PartitionCut::Listed(listed))
            }
            (None, Some(cut)) => {
                let choice = choose(reader, "cut", cut, ["left-right", "top-bottom", "random"].into_iter())?;
                Ok([PartitionCut::LeftRight, PartitionCut::TopBottom, PartitionCut::Random][choice].clone())
            }
            (Some(_), Some(_)) | (None, None) => {
                Err(reader.error(self.span.clone(), "a partition needs either \"sets\" or \"cut\""))
            }
        }
    }
}

/// Returns what becomes of the records of nodes that crash.
fn stored_records(reader: &Reader<'_>, fault: &RawFault) -> Result<StoredRecords, ScenarioError> {
    let Some(records) = &fault.records else { return Ok(StoredRecords::Kept) };
    if fault.duration.is_none() {
        return Err(reader.error(records.span(), "\"records\" needs \"for\": the nodes do not restart"));
    }
    let choice = choose(reader, "state of the records", records, ["kept", "lost", "torn"].into_iter())?;
    Ok([StoredRecords::Kept, StoredRecords::Lost, StoredRecords::Torn][choice])
}

/// Returns the action that ends another, which is step `number`.
fn end_of(action: &FaultAction, records: StoredRecords, number: u32) -> FaultAction {
    match action {
        FaultAction::Crash(_) => FaultAction::Restart { target: FaultTarget::HitBy(number), records },
        FaultAction::Pause { .. } => FaultAction::Resume(FaultTarget::HitBy(number)),
        FaultAction::Partition(_) => FaultAction::Heal,
        FaultAction::Link(fault) => FaultAction::Link(fault.end()),
        other => other.clone(), // it takes no "for": there is nothing to end
    }
}
