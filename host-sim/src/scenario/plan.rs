//! What goes wrong, and when.

use super::ScenarioError;
use super::app::{self, AppPlan};
use super::check::{Reader, choose};
use super::raw::RawFault;
use super::values::{Between, Nodes, Share, Time, Whole};
use crate::machine::Request;
use crate::queue::Micros;
use crate::random::Chance;
use std::ops::Range;
use toml::Spanned;

/// One step of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When, at the earliest.
    pub at: Micros,
    /// How much later it may be: each run draws its own moment.
    pub spread: Micros,
    /// Which draw: the end of a fault is drawn with its beginning.
    pub draw: u32,
    /// What.
    pub action: Action,
    /// Its number, by which [`Who::HitBy`] names it.
    pub number: u32,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nodes stop; what they have not stored is lost.
    Crash(Who),
    /// Nodes that are down start again.
    Restart {
        /// Which.
        who: Who,
        /// Whether what they stored is lost too.
        blank: bool,
    },
    /// Nodes hear and say nothing for a while.
    Pause {
        /// Which.
        who: Who,
        /// What their clocks do.
        clock: PauseClock,
    },
    /// Paused nodes go on.
    Resume(Who),
    /// Only nodes of one set hear each other.
    Partition(Sets),
    /// Everybody hears everybody in range again.
    Heal,
    /// Frames are lost with this chance; `None` for the medium's own.
    Loss(Option<Chance>),
    /// Hearers are deaf now and then: mean length of good and of bad times; `None` to end it.
    Burst(Option<(Micros, Micros)>),
    /// Frames arrive a second time with this chance.
    Duplicate(Chance),
    /// Frames are overtaken with this chance, held back for up to this long.
    Reorder(Chance, Micros),
    /// Every frame takes longer, by a time from a range.
    Delay(Micros, Micros),
    /// Frames arrive with flipped bits with this chance.
    Corrupt(Chance),
    /// What `from` says does not reach `to` any more.
    OneWay {
        /// Who is not heard.
        from: Vec<u32>,
        /// By whom.
        to: Vec<u32>,
    },
    /// Links cut in one direction work again.
    BothWays,
    /// Nodes measure another capacity; `None` makes them unfit to lead.
    Capacity {
        /// Which.
        who: Who,
        /// What they measure.
        capacity: Option<u16>,
    },
    /// The application asks a leader to hand over.
    Yield(Who),
    /// The application asks for an election.
    Call(Who),
    /// The user asks something of the application.
    Request {
        /// Of which nodes'.
        who: Who,
        /// What.
        request: Request,
    },
}

/// Whom a fault hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// These.
    Nodes(Vec<u32>),
    /// Whoever leads most nodes.
    Leader,
    /// Whoever holds a lock; of several the lowest.
    Holder,
    /// Any node that is up (or down, where down is what the fault needs).
    Random,
    /// Whom the fault before hit.
    Last,
    /// Everybody.
    All,
    /// Whom the step of this number hit.
    HitBy(u32),
}

/// What the clock of a paused node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseClock {
    /// It goes on: the node sleeps.
    Runs,
    /// It stands still: the node is held by a debugger.
    Stops,
}

/// How a partition cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sets {
    /// Into these sets; who is in none is alone with the others in none.
    Listed(Vec<Vec<u32>>),
    /// Into a left and a right half.
    LeftRight,
    /// Into an upper and a lower half.
    TopBottom,
    /// Into two, each node by chance.
    Random,
}

/// The words of `do`, and which keys each takes besides `at`, `do`, `every` and `times`.
const WORDS: [(&str, &[&str]); 21] = [
    ("crash", &["node", "for"]),
    ("restart", &["node"]),
    ("restart-blank", &["node"]),
    ("pause", &["node", "clock", "for"]),
    ("resume", &["node"]),
    ("partition", &["sets", "cut", "for"]),
    ("heal", &[]),
    ("loss", &["share", "for"]),
    ("burst", &["good", "bad", "for"]),
    ("duplicate", &["share", "for"]),
    ("reorder", &["share", "delay", "for"]),
    ("delay", &["delay", "for"]),
    ("corrupt", &["share", "for"]),
    ("one-way", &["from", "to", "for"]),
    ("both-ways", &[]),
    ("capacity", &["node", "capacity"]),
    ("yield", &["node"]),
    ("call", &["node"]),
    ("snapshot", &["node"]),
    ("watch", &["node"]),
    ("start", &["node", "units"]),
];

/// The steps of the plan in the order of time.
pub(super) fn steps(
    reader: &Reader<'_>,
    nodes: u32,
    duration: Micros,
    app: Option<&AppPlan>,
    faults: Vec<Spanned<RawFault>>,
) -> Result<Vec<Step>, ScenarioError> {
    let mut steps = Vec::new();
    for fault in faults {
        let span = fault.span();
        let fault = fault.into_inner();
        check_keys(reader, &fault)?;
        let action = action(reader, nodes, span, &fault)?;
        if let Action::Request { request, .. } = action {
            app::can_be_asked(reader, fault.what.span(), app, request)?;
        }
        let Between { low: Time(at), high: Time(latest) } = *fault.at.get_ref();
        reader.ordered(fault.at.span(), at <= latest)?;
        if latest >= duration {
            let text = "the fault comes after the end of the run (\"duration\")".to_owned();
            return Err(reader.error(fault.at.span(), text));
        }
        let times = match (&fault.every, &fault.times) {
            (None, None) => 1,
            (Some(every), times) => {
                let fits = 1 + (duration - 1 - at) / every.get_ref().0.max(1);
                times.as_ref().map_or(fits, |times| fits.min(times.get_ref().0 as u64))
            }
            (None, Some(times)) => {
                return Err(reader.error(times.span(), "\"times\" needs \"every\"".to_owned()));
            }
        };
        let every = fault.every.as_ref().map_or(0, |every| every.get_ref().0);
        for time in 0..times {
            let (at, spread) = (at + time * every, latest - at);
            let number = steps.len() as u32;
            steps.push(Step { at, spread, draw: number, action: action.clone(), number });
            if let Some(lasts) = &fault.lasts {
                let (at, action) = (at + lasts.get_ref().0, undo(&action, number));
                steps.push(Step { at, spread, draw: number, action, number: number + 1 });
            }
        }
    }
    steps.retain(|step| step.at < duration);
    steps.sort_by_key(|step| step.at);
    Ok(steps)
}

/// Refuses a key that the fault does not take.
fn check_keys(reader: &Reader<'_>, fault: &RawFault) -> Result<(), ScenarioError> {
    let names = WORDS.iter().map(|(word, _)| *word);
    let word = choose(reader, "fault", &fault.what, names)?;
    let given: [(&str, Option<Range<usize>>); 12] = [
        ("for", fault.lasts.as_ref().map(Spanned::span)),
        ("node", fault.node.as_ref().map(Spanned::span)),
        ("clock", fault.clock.as_ref().map(Spanned::span)),
        ("sets", fault.sets.as_ref().map(Spanned::span)),
        ("cut", fault.cut.as_ref().map(Spanned::span)),
        ("share", fault.share.as_ref().map(Spanned::span)),
        ("delay", fault.delay.as_ref().map(Spanned::span)),
        ("good", fault.good.as_ref().map(Spanned::span)),
        ("bad", fault.bad.as_ref().map(Spanned::span)),
        ("from", fault.from.as_ref().or(fault.to.as_ref()).map(Spanned::span)),
        ("capacity", fault.capacity.as_ref().map(Spanned::span)),
        ("units", fault.units.as_ref().map(Spanned::span)),
    ];
    for (key, span) in given {
        if let Some(span) = span
            && !WORDS[word].1.contains(&key)
        {
            return Err(reader.error(span, format!("the fault \"{}\" has no key \"{key}\"", WORDS[word].0)));
        }
    }
    Ok(())
}

fn action(reader: &Reader<'_>, nodes: u32, span: Range<usize>, fault: &RawFault) -> Result<Action, ScenarioError> {
    let word = fault.what.get_ref().as_str();
    let missing = |key: &str| reader.error(span.clone(), format!("the fault \"{word}\" needs the key \"{key}\""));
    let who = || -> Result<Who, ScenarioError> {
        let node = fault.node.as_ref().ok_or_else(|| missing("node"))?;
        reader.who(node, nodes)
    };
    let share = || -> Result<Chance, ScenarioError> {
        let share = fault.share.as_ref().ok_or_else(|| missing("share"))?;
        let Share(share) = *share.get_ref();
        Ok(Chance::new(share))
    };
    let delay = || -> Result<(Micros, Micros), ScenarioError> {
        let delay = fault.delay.as_ref().ok_or_else(|| missing("delay"))?;
        let Between { low: Time(low), high: Time(high) } = *delay.get_ref();
        reader.ordered(delay.span(), low <= high)?;
        Ok((low, high))
    };
    let listed = |key: &str, set: &Option<Spanned<Nodes>>| -> Result<Vec<u32>, ScenarioError> {
        let set = set.as_ref().ok_or_else(|| missing(key))?;
        reader.listed(set.span(), set.get_ref(), nodes)
    };
    Ok(match word {
        "crash" => Action::Crash(who()?),
        "restart" => Action::Restart { who: who()?, blank: false },
        "restart-blank" => Action::Restart { who: who()?, blank: true },
        "pause" => Action::Pause { who: who()?, clock: pause_clock(reader, fault)? },
        "resume" => Action::Resume(who()?),
        "partition" => Action::Partition(sets(reader, nodes, span, fault)?),
        "heal" => Action::Heal,
        "loss" => Action::Loss(Some(share()?)),
        "burst" => {
            let good = fault.good.as_ref().ok_or_else(|| missing("good"))?.get_ref().0;
            let bad = fault.bad.as_ref().ok_or_else(|| missing("bad"))?.get_ref().0;
            Action::Burst(Some((good, bad)))
        }
        "duplicate" => Action::Duplicate(share()?),
        "reorder" => Action::Reorder(share()?, delay()?.1),
        "delay" => {
            let (low, high) = delay()?;
            Action::Delay(low, high)
        }
        "corrupt" => Action::Corrupt(share()?),
        "one-way" => Action::OneWay { from: listed("from", &fault.from)?, to: listed("to", &fault.to)? },
        "both-ways" => Action::BothWays,
        "capacity" => {
            let capacity = fault.capacity.as_ref().ok_or_else(|| missing("capacity"))?.get_ref().0;
            Action::Capacity { who: who()?, capacity }
        }
        "yield" => Action::Yield(who()?),
        "call" => Action::Call(who()?),
        "snapshot" => Action::Request { who: who()?, request: Request::Snapshot },
        "watch" => Action::Request { who: who()?, request: Request::Watch },
        // The words were checked: this is "start".
        _ => {
            let Whole(units) = *fault.units.as_ref().ok_or_else(|| missing("units"))?.get_ref();
            Action::Request { who: who()?, request: Request::Start { units: units as u32 } }
        }
    })
}

fn pause_clock(reader: &Reader<'_>, fault: &RawFault) -> Result<PauseClock, ScenarioError> {
    let Some(clock) = &fault.clock else { return Ok(PauseClock::Runs) };
    let choice = choose(reader, "clock", clock, ["runs", "stops"].into_iter())?;
    Ok([PauseClock::Runs, PauseClock::Stops][choice])
}

fn sets(reader: &Reader<'_>, nodes: u32, span: Range<usize>, fault: &RawFault) -> Result<Sets, ScenarioError> {
    match (&fault.sets, &fault.cut) {
        (Some(sets), None) => {
            let listed = sets.get_ref().iter().map(|set| reader.listed(sets.span(), set, nodes));
            let listed: Vec<Vec<u32>> = listed.collect::<Result<_, _>>()?;
            if listed.len() > 1_000 {
                return Err(reader.error(sets.span(), "a partition has at most 1000 sets".to_owned()));
            }
            Ok(Sets::Listed(listed))
        }
        (None, Some(cut)) => {
            let choice = choose(reader, "cut", cut, ["left-right", "top-bottom", "random"].into_iter())?;
            Ok([Sets::LeftRight, Sets::TopBottom, Sets::Random][choice].clone())
        }
        (Some(_), Some(_)) | (None, None) => {
            Err(reader.error(span, "a partition needs either \"sets\" or \"cut\"".to_owned()))
        }
    }
}

/// What ends an action that lasts a while.
fn undo(action: &Action, number: u32) -> Action {
    match action {
        Action::Crash(_) => Action::Restart { who: Who::HitBy(number), blank: false },
        Action::Pause { .. } => Action::Resume(Who::HitBy(number)),
        Action::Partition(_) => Action::Heal,
        Action::Loss(_) => Action::Loss(None),
        Action::Burst(_) => Action::Burst(None),
        Action::Duplicate(_) => Action::Duplicate(Chance::NEVER),
        Action::Reorder(..) => Action::Reorder(Chance::NEVER, 0),
        Action::Delay(..) => Action::Delay(0, 0),
        Action::Corrupt(_) => Action::Corrupt(Chance::NEVER),
        Action::OneWay { .. } => Action::BothWays,
        // These take no "for": there is nothing to undo.
        Action::Restart { .. }
        | Action::Resume(_)
        | Action::Heal
        | Action::BothWays
        | Action::Capacity { .. }
        | Action::Yield(_)
        | Action::Call(_)
        | Action::Request { .. } => action.clone(),
    }
}
