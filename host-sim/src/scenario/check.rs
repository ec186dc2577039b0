//! From the file as written to a scenario that makes sense.

use super::app;
use super::error::unknown;
use super::expect;
use super::locks;
use super::plan;
use super::raw::{RawCapacity, RawMedium, RawMobility, RawScenario, RawTiming, RawTopology};
use super::values::{Between, Nodes, Positive, Seeds, Share, Time, Whole};
use super::{CapacityPlan, CapacityRule, LanPlan, Medium, RadioPlan, Scenario, ScenarioError, Who};
use crate::mobility::Mobility;
use crate::peer;
use crate::queue::Micros;
use crate::random::Chance;
use crate::topology::{Area, Point, Reach, Shape};
use protocol::mandate::Mode;
use protocol::{Span, Timing};
use std::ops::Range;
use toml::Spanned;

/// Everybody in one broadcast domain is a link for every pair: more nodes than this would fill the memory.
const COMPLETE_MAX: u32 = 4_096;

/// A file being read.
pub(super) struct Reader<'a> {
    file: &'a str,
    source: &'a str,
}

impl Reader<'_> {
    pub(super) fn error(&self, span: Range<usize>, text: String) -> ScenarioError {
        ScenarioError::at(self.file, self.source, span, text)
    }

    /// Refuses a range whose ends are the wrong way round.
    pub(super) fn ordered(&self, span: Range<usize>, ordered: bool) -> Result<(), ScenarioError> {
        let text = || "the first of two values must not be above the second".to_owned();
        if ordered { Ok(()) } else { Err(self.error(span, text())) }
    }

    /// Nodes given by number, all of which exist.
    pub(super) fn listed(&self, span: Range<usize>, set: &Nodes, nodes: u32) -> Result<Vec<u32>, ScenarioError> {
        let listed = match set {
            Nodes::Listed(listed) => listed.clone(),
            Nodes::All => (0..nodes).collect(),
            Nodes::Leader | Nodes::Holder | Nodes::Random | Nodes::Last => {
                return Err(self.error(span, "nodes are given by number here".to_owned()));
            }
        };
        match listed.iter().find(|&&node| node >= nodes) {
            Some(node) => {
                Err(self.error(span, format!("there is no node {node}: they are numbered 0 to {}", nodes - 1)))
            }
            None => Ok(listed),
        }
    }

    /// Whom a fault hits.
    pub(super) fn who(&self, node: &Spanned<Nodes>, nodes: u32) -> Result<Who, ScenarioError> {
        Ok(match node.get_ref() {
            Nodes::Listed(_) => Who::Nodes(self.listed(node.span(), node.get_ref(), nodes)?),
            Nodes::Leader => Who::Leader,
            Nodes::Holder => Who::Holder,
            Nodes::Random => Who::Random,
            Nodes::Last => Who::Last,
            Nodes::All => Who::All,
        })
    }

    /// Refuses a key that means nothing beside the value of another.
    pub(super) fn only_with<T>(
        &self,
        key: &str,
        value: Option<&Spanned<T>>,
        holds: bool,
        with: &str,
    ) -> Result<(), ScenarioError> {
        match value {
            Some(value) if !holds => Err(self.error(value.span(), format!("the key \"{key}\" goes with {with}"))),
            Some(_) | None => Ok(()),
        }
    }
}

/// Which of the `known` words is given.
pub(super) fn choose<'a>(
    reader: &Reader<'_>,
    what: &str,
    word: &Spanned<String>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, ScenarioError> {
    let found = known.clone().position(|known| known == word.get_ref());
    found.ok_or_else(|| reader.error(word.span(), unknown(what, word.get_ref(), known)))
}

pub(super) fn scenario(file: &str, source: &str) -> Result<Scenario, ScenarioError> {
    let reader = Reader { file, source };
    let raw: RawScenario = toml::from_str(source).map_err(|error| ScenarioError::from_toml(file, source, &error))?;
    let nodes = raw.nodes.get_ref().0 as u32;
    let election = election(&reader, raw.election)?;
    let mode = mode(&reader, raw.mode)?;
    let medium = medium(&reader, raw.medium)?;
    let shape = shape(&reader, &raw.nodes, raw.topology, medium)?;
    let duration = raw.duration.0;
    let timing = timing(&reader, raw.timing, medium)?;
    let app_span = raw.app.as_ref().map(Spanned::span);
    let app = app::app(&reader, raw.app)?;
    let scenario = Scenario {
        file: file.to_owned(),
        choices: String::new(),
        name: raw.name,
        about: raw.about,
        nodes,
        duration,
        seeds: raw.seeds.map_or(0..1, |Seeds(seeds)| seeds),
        calm: raw.calm.map_or(10_000_000, |Time(calm)| calm),
        election,
        mode,
        hops: raw.hops.map_or(1, |Whole(hops)| hops as u8),
        shape,
        mobility: raw.mobility.map(|plan| mobility(&reader, plan, medium)).transpose()?,
        medium,
        capacity: capacity(&reader, nodes, raw.capacity)?,
        drift_ppm: raw.drift_ppm.map_or(0, |Whole(ppm)| ppm as u32),
        boot_spread: raw.boot_spread.map_or(0, |Time(spread)| spread),
        timing,
        faults: plan::steps(&reader, nodes, duration, app.as_ref(), raw.faults)?,
        locks: locks::locks(&reader, nodes, &timing, raw.locks)?,
        expect: expect::expect(&reader, app.as_ref().and_then(|app| Some((nodes, app.sum(nodes)?))), raw.expect)?,
        app,
    };
    if let Some(span) = app_span.filter(|_| scenario.locks.is_some()) {
        return Err(reader.error(span, "a run has locks or an application, not both".to_owned()));
    }
    let most = scenario.members_max();
    if scenario.is_group() && nodes > most as u32 {
        let who = match (&scenario.locks, &scenario.app) {
            (Some(_), _) => "locks work",
            (None, Some(_)) => "an application works",
            (None, None) => "this election or this mode works",
        };
        let text = format!("{who} in a group, which has at most {most} members");
        return Err(reader.error(raw.nodes.span(), text));
    }
    Ok(scenario)
}

fn mode(reader: &Reader<'_>, word: Option<Spanned<String>>) -> Result<Mode, ScenarioError> {
    let Some(word) = word else { return Ok(Mode::Available) };
    let choice = choose(reader, "mode", &word, ["available", "quorum"].into_iter())?;
    Ok([Mode::Available, Mode::Quorum][choice])
}

fn election(reader: &Reader<'_>, word: Option<Spanned<String>>) -> Result<String, ScenarioError> {
    let Some(word) = word else { return Ok(peer::ELECTIONS[0].to_owned()) };
    choose(reader, "election", &word, peer::ELECTIONS.iter().copied())?;
    Ok(word.into_inner())
}

fn medium(reader: &Reader<'_>, raw: Option<Spanned<RawMedium>>) -> Result<Medium, ScenarioError> {
    let span = raw.as_ref().map_or(0..0, Spanned::span);
    let raw = raw.map(Spanned::into_inner).unwrap_or_default();
    let kind = raw.kind.as_ref().map(|kind| choose(reader, "medium", kind, ["radio", "lan"].into_iter()));
    let is_radio = kind.transpose()?.unwrap_or(0) == 0;
    let loss = raw.loss.map_or(Chance::NEVER, |Share(loss)| Chance::new(loss));
    let radio = "the medium \"radio\"";
    reader.only_with("range", raw.range.as_ref(), is_radio, radio)?;
    reader.only_with("grey", raw.grey.as_ref(), is_radio, radio)?;
    reader.only_with("bit_rate", raw.bit_rate.as_ref(), is_radio, radio)?;
    reader.only_with("csma", raw.csma.as_ref(), is_radio, radio)?;
    reader.only_with("collisions", raw.collisions.as_ref(), is_radio, radio)?;
    reader.only_with("one_way", raw.one_way.as_ref(), is_radio, radio)?;
    reader.only_with("queue", raw.queue.as_ref(), is_radio, radio)?;
    reader.only_with("delay", raw.delay.as_ref(), !is_radio, "the medium \"lan\"")?;
    if !is_radio {
        let delay = raw.delay.map_or(Between { low: Time(200), high: Time(2_000) }, Spanned::into_inner);
        let Between { low: Time(delay_min), high: Time(delay_max) } = delay;
        reader.ordered(span, delay_min <= delay_max)?;
        return Ok(Medium::Lan(LanPlan { delay_min, delay_max, loss }));
    }
    let range = raw.range.as_ref().map_or(15.0, |range| range.get_ref().0);
    // By default reception fades out over a quarter of the range, in which no second neighbour of a grid lies.
    let grey = raw.grey.as_ref().map_or(range * 1.25, |grey| grey.get_ref().0);
    if grey < range {
        let text = format!("\"grey\" is where reception ends: it must not be below \"range\" ({range})");
        return Err(reader.error(raw.grey.map_or(span, |grey| grey.span()), text));
    }
    Ok(Medium::Radio(RadioPlan {
        reach: Reach { range, grey },
        bit_rate: raw.bit_rate.map_or(250_000, |rate| rate.into_inner().0 as u32),
        csma: raw.csma.is_none_or(Spanned::into_inner),
        collisions: raw.collisions.is_none_or(Spanned::into_inner),
        loss,
        one_way: raw.one_way.map_or(Chance::NEVER, |share| Chance::new(share.into_inner().0)),
        queue: raw.queue.map_or(16, |queue| queue.into_inner().0 as u16),
    }))
}

fn shape(
    reader: &Reader<'_>,
    nodes: &Spanned<Whole<1, 1_000_000>>,
    raw: Spanned<RawTopology>,
    medium: Medium,
) -> Result<Shape, ScenarioError> {
    const WORDS: [&str; 6] = ["line", "ring", "grid", "geometric", "complete", "positions"];
    let span = raw.span();
    let raw = raw.into_inner();
    let count = nodes.get_ref().0 as u32;
    let word = WORDS[choose(reader, "shape", &raw.shape, WORDS.into_iter())?];
    let spaced = matches!(word, "line" | "ring" | "grid");
    reader.only_with("spacing", raw.spacing.as_ref(), spaced, "the shapes \"line\", \"ring\" and \"grid\"")?;
    reader.only_with("columns", raw.columns.as_ref(), word == "grid", "the shape \"grid\"")?;
    reader.only_with("degree", raw.degree.as_ref(), word == "geometric", "the shape \"geometric\"")?;
    reader.only_with("connected", raw.connected.as_ref(), word == "geometric", "the shape \"geometric\"")?;
    reader.only_with("positions", raw.positions.as_ref(), word == "positions", "the shape \"positions\"")?;
    let complete = word == "complete" || matches!(medium, Medium::Lan(_));
    if complete && count > COMPLETE_MAX {
        let text = format!("where everybody hears everybody there can be at most {COMPLETE_MAX} nodes");
        return Err(reader.error(nodes.span(), text));
    }
    let spacing = raw.spacing.map_or(10.0, |spacing| spacing.into_inner().0);
    Ok(match word {
        "line" => Shape::Line { spacing },
        "ring" => Shape::Ring { spacing },
        "grid" => {
            let square = f64::from(count).sqrt().ceil() as u32;
            Shape::Grid { spacing, columns: raw.columns.map_or(square, |columns| columns.into_inner().0 as u32) }
        }
        "geometric" => {
            let degree = raw.degree.as_ref().map_or(10.0, |degree| degree.get_ref().0);
            let connected = raw.connected.is_none_or(Spanned::into_inner);
            // Below about 4.5 neighbours a random network falls apart however often it is drawn.
            if connected && degree < 6.0 {
                let text = "a network that hangs together needs a \"degree\" of at least 6".to_owned();
                return Err(reader.error(raw.degree.map_or(span, |degree| degree.span()), text));
            }
            Shape::Geometric { degree, connected }
        }
        "complete" => Shape::Complete,
        _ => {
            let missing = || reader.error(span, "the shape \"positions\" needs the key \"positions\"".to_owned());
            let positions = raw.positions.ok_or_else(missing)?;
            let given = positions.get_ref().len();
            if given != count as usize {
                let text = format!("there are {given} positions for {count} nodes");
                return Err(reader.error(positions.span(), text));
            }
            if positions.get_ref().iter().flatten().any(|metres| metres.is_nan() || metres.abs() > 1e7) {
                let text = "a position is out of range: it must be from -10000000 to 10000000".to_owned();
                return Err(reader.error(positions.span(), text));
            }
            Shape::Positions(positions.into_inner().into_iter().map(|[x, y]| Point { x, y }).collect())
        }
    })
}

fn mobility(reader: &Reader<'_>, raw: Spanned<RawMobility>, medium: Medium) -> Result<Mobility, ScenarioError> {
    if matches!(medium, Medium::Lan(_)) {
        return Err(reader.error(raw.span(), "nodes walk in a \"radio\" medium only".to_owned()));
    }
    let raw = raw.into_inner();
    let Between { low: Positive(speed_min), high: Positive(speed_max) } = *raw.speed.get_ref();
    reader.ordered(raw.speed.span(), speed_min <= speed_max)?;
    let tick = raw.tick.as_ref().map_or(500_000, |tick| tick.get_ref().0);
    if tick < 1_000 {
        let span = raw.tick.map_or(0..0, |tick| tick.span());
        return Err(reader.error(span, "nodes cannot move more often than every \"1ms\"".to_owned()));
    }
    let area = raw.area.map(|area| {
        let [left, top, right, bottom] = *area.get_ref();
        reader.ordered(area.span(), left < right && top < bottom)?;
        Ok(Area { low: Point { x: left, y: top }, high: Point { x: right, y: bottom } })
    });
    Ok(Mobility {
        speed_min,
        speed_max,
        pause: raw.pause.map_or(0, |Time(pause)| pause),
        tick,
        area: area.transpose()?,
        until: raw.until.map_or(Micros::MAX, |Time(until)| until),
    })
}

fn capacity(reader: &Reader<'_>, nodes: u32, raw: RawCapacity) -> Result<CapacityPlan, ScenarioError> {
    const WORDS: [&str; 5] = ["random", "equal", "rising", "falling", "values"];
    let default = if raw.values.is_some() { 4 } else { 0 };
    let word = raw.rule.as_ref().map(|rule| choose(reader, "rule", rule, WORDS.into_iter()));
    let word = WORDS[word.transpose()?.unwrap_or(default)];
    reader.only_with("value", raw.value.as_ref(), word == "equal", "the rule \"equal\"")?;
    reader.only_with("values", raw.values.as_ref(), word == "values", "the rule \"values\"")?;
    let rule = match word {
        "random" => CapacityRule::Random,
        "equal" => CapacityRule::Equal(raw.value.map_or(5_000, |value| value.into_inner().0 as u16)),
        "rising" => CapacityRule::Rising,
        "falling" => CapacityRule::Falling,
        _ => {
            let span = raw.rule.map_or(0..0, |rule| rule.span());
            let missing = || reader.error(span, "the rule \"values\" needs the key \"values\"".to_owned());
            let values = raw.values.ok_or_else(missing)?;
            if values.get_ref().len() != nodes as usize {
                let text = format!("there are {} capacities for {nodes} nodes", values.get_ref().len());
                return Err(reader.error(values.span(), text));
            }
            CapacityRule::Values(values.into_inner().into_iter().map(|Whole(value)| value as u16).collect())
        }
    };
    let never = raw.never.map(|never| reader.listed(never.span(), never.get_ref(), nodes));
    let period = raw.period.as_ref().map_or(1_000_000, |period| period.get_ref().0);
    if period == 0 {
        let span = raw.period.map_or(0..0, |period| period.span());
        return Err(reader.error(span, "\"period\" must be above zero".to_owned()));
    }
    Ok(CapacityPlan {
        rule,
        noise: raw.noise.map_or(0.0, |Share(noise)| noise),
        period,
        never: never.transpose()?.unwrap_or_default(),
    })
}

fn timing(reader: &Reader<'_>, raw: Option<Spanned<RawTiming>>, medium: Medium) -> Result<Timing, ScenarioError> {
    let fitting = if matches!(medium, Medium::Lan(_)) { Timing::LAN } else { Timing::RADIO };
    let Some(raw) = raw else { return Ok(fitting) };
    let span = raw.span();
    let raw = raw.into_inner();
    let preset = raw.preset.as_ref().map(|preset| choose(reader, "preset", preset, ["radio", "lan"].into_iter()));
    let preset = preset.transpose()?.map_or(fitting, |choice| [Timing::RADIO, Timing::LAN][choice]);
    let over = |given: Option<Spanned<Time>>, preset: Span| match given {
        None => Ok(preset),
        Some(time) => match u32::try_from(time.get_ref().0) {
            Ok(micros) => Ok(Span::from_micros(micros)),
            Err(_) => Err(reader.error(time.span(), "a protocol's time is at most 71 minutes".to_owned())),
        },
    };
    let timing = Timing {
        hello_min: over(raw.hello_min, preset.hello_min)?,
        hello_max: over(raw.hello_max, preset.hello_max)?,
        heartbeat: over(raw.heartbeat, preset.heartbeat)?,
        beats_missed: raw.beats_missed.map_or(preset.beats_missed, |Whole(beats)| beats as u8),
        settle: over(raw.settle, preset.settle)?,
        stagger: over(raw.stagger, preset.stagger)?,
        probe: over(raw.probe, preset.probe)?,
        probes: raw.probes.map_or(preset.probes, |Whole(probes)| probes as u8),
        repeat: over(raw.repeat, preset.repeat)?,
        repeats: raw.repeats.map_or(preset.repeats, |Whole(repeats)| repeats as u8),
        hold: over(raw.hold, preset.hold)?,
        grace: over(raw.grace, preset.grace)?,
        uptime_min: over(raw.uptime_min, preset.uptime_min)?,
        jitter: over(raw.jitter, preset.jitter)?,
        retry: over(raw.retry, preset.retry)?,
        quarantine: over(raw.quarantine, preset.quarantine)?,
        lock_lease: over(raw.lock_lease, preset.lock_lease)?,
    };
    timing.check().map_err(|error| reader.error(span, error.to_string()))
}
