//! Validation: from the file as it is written to a scenario.

use super::error::unknown_name;
use super::raw::{RawCapacity, RawMedium, RawMobility, RawScenario, RawTiming, RawTopology};
use super::read::{Spanned, read};
use super::values::{Between, Nodes, Positive, Seeds, Share, Time, Whole};
use super::{Scenario, ScenarioError, app, expect, faults, locks, supports};
use crate::base::Micros;
use crate::base::algorithm_words::check_words;
use crate::base::rng::Probability;
use crate::sim::capacity::{CapacityPlan, CapacityRule};
use crate::sim::fault_plan::FaultTarget;
use crate::sim::medium::{Capture, LanPlan, MediumPlan, RadioPlan};
use crate::sim::mobility::MobilityPlan;
use crate::sim::topology::{Area, Point, Reach, Shape};
use crate::sim::world::WorldPlan;
use crate::workload::apps::AppPlan;
use protocol::base::options::OptionKeys;
use protocol::base::quorum::Mode;
use protocol::registry::AnyElection;
use protocol::{Duration, Timing};
use std::ops::Range;

/// A complete network has a link for every pair: more nodes than this would fill the memory.
const COMPLETE_MAX: u32 = 4_096;

pub(super) struct Reader<'a> {
    file: &'a str,
    source: &'a str,
}

impl Reader<'_> {
    pub(super) fn error(&self, span: Range<usize>, text: impl Into<String>) -> ScenarioError {
        ScenarioError::at(self.file, self.source, span, text.into())
    }

    /// Refuses a range whose ends are in the wrong order.
    pub(super) fn check_order(&self, span: Range<usize>, ordered: bool) -> Result<(), ScenarioError> {
        if ordered { Ok(()) } else { Err(self.error(span, "the first of two values must not be above the second")) }
    }

    pub(super) fn range(&self, range: &Spanned<Between<Time>>) -> Result<(Micros, Micros), ScenarioError> {
        let Between { low: Time(low), high: Time(high) } = *range.get_ref();
        self.check_order(range.span(), low <= high)?;
        Ok((low, high))
    }

    pub(super) fn point(&self, span: Range<usize>, [x, y]: [f64; 2]) -> Result<Point, ScenarioError> {
        let in_range = |metres: f64| metres.abs() <= 1e7; // which NaN is not
        if in_range(x) && in_range(y) {
            return Ok(Point { x, y });
        }
        Err(self.error(span, "a position is out of range: it must be from -10000000 to 10000000"))
    }

    /// Returns the ids of nodes given by number.
    pub(super) fn ids(&self, span: Range<usize>, set: &Nodes, nodes: u32) -> Result<Vec<u32>, ScenarioError> {
        let ids = match set {
            Nodes::Listed(ids) => ids.clone(),
            Nodes::All => (0..nodes).collect(),
            Nodes::Leader | Nodes::Holder | Nodes::Random | Nodes::Last => {
                return Err(self.error(span, "nodes are given by number here"));
            }
        };
        match ids.iter().find(|&&id| id >= nodes) {
            Some(id) => Err(self.error(span, format!("there is no node {id}: they are numbered 0 to {}", nodes - 1))),
            None => Ok(ids),
        }
    }

    pub(super) fn target(&self, node: &Spanned<Nodes>, nodes: u32) -> Result<FaultTarget, ScenarioError> {
        Ok(match node.get_ref() {
            Nodes::Listed(_) => FaultTarget::Nodes(self.ids(node.span(), node.get_ref(), nodes)?),
            Nodes::Leader => FaultTarget::Leader,
            Nodes::Holder => FaultTarget::Holder,
            Nodes::Random => FaultTarget::Random,
            Nodes::Last => FaultTarget::Last,
            Nodes::All => FaultTarget::All,
        })
    }

    /// Refuses the given keys unless the condition that they depend on holds.
    pub(super) fn only_with<const N: usize>(
        &self,
        keys: [(&str, Option<Range<usize>>); N],
        holds: bool,
        condition: &str,
    ) -> Result<(), ScenarioError> {
        let given = keys.into_iter().find_map(|(key, span)| Some((key, span?)));
        match given.filter(|_| !holds) {
            Some((key, span)) => Err(self.error(span, format!("the key \"{key}\" goes with {condition}"))),
            None => Ok(()),
        }
    }

    /// Returns the given name if it is known, or the first known one if none is given.
    pub(super) fn name(
        &self,
        noun: &str,
        given: Option<Spanned<String>>,
        known: &[&str],
    ) -> Result<String, ScenarioError> {
        let index = given.map_or(Ok(0), |name| choose(self, noun, &name, known.iter().copied()))?;
        Ok(known[index].to_owned())
    }

    /// Returns the given words `NAME` or `NAME:OPTIONS` if they are known, or the first known name if none are given.
    pub(super) fn algorithm(
        &self,
        noun: &str,
        given: Option<Spanned<String>>,
        known: &[(&str, OptionKeys)],
    ) -> Result<String, ScenarioError> {
        let Some(words) = given else { return Ok(known[0].0.to_owned()) };
        check_words(noun, words.get_ref(), known).map_err(|text| self.error(words.span(), text))?;
        Ok(words.into_inner())
    }
}

/// Returns the index of a name among the `known` ones.
pub(super) fn choose<'a>(
    reader: &Reader<'_>,
    noun: &str,
    name: &Spanned<String>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, ScenarioError> {
    let found = known.clone().position(|known| known == name.get_ref());
    found.ok_or_else(|| reader.error(name.span(), unknown_name(noun, name.get_ref(), known)))
}

pub(super) fn span_of<T>(value: Option<&Spanned<T>>) -> Option<Range<usize>> {
    value.map(Spanned::span)
}

/// The named keys of a table, each with its place if it is given.
macro_rules! spans {
    ($table:expr; $($key:ident),*) => {
        [$((stringify!($key), crate::scenario::validate::span_of($table.$key.as_ref()))),*]
    };
}
pub(super) use spans;

pub(super) fn scenario(file: &str, source: &str, lock_checkers: &[&'static str]) -> Result<Scenario, ScenarioError> {
    let reader = Reader { file, source };
    let raw: RawScenario = read(source).map_err(|error| ScenarioError::of_reading(file, source, error))?;
    let (nodes, duration) = (raw.nodes.get_ref().0 as u32, raw.duration.0);
    let election = reader.algorithm("election", raw.election, AnyElection::OPTIONS)?;
    let mode_span = span_of(raw.mode.as_ref());
    let mode = mode(&reader, raw.mode)?;
    let medium = medium(&reader, raw.medium)?;
    let shape = shape(&reader, &raw.nodes, raw.topology, medium)?;
    let timing = timing(&reader, raw.timing, medium)?;
    let (app_span, service_span) = (span_of(raw.app.as_ref()), span_of(raw.service.as_ref()));
    let app = app::app(&reader, raw.app)?;
    let tokens = app.as_ref().and_then(|app| Some((nodes, app.token_sum(nodes)?)));
    let scenario = Scenario {
        file: file.to_owned(),
        overrides: String::new(),
        name: raw.name,
        about: raw.about,
        seeds: raw.seeds.map_or(0..1, |Seeds(seeds)| seeds),
        settle_time: raw.settle_time.map_or(10_000_000, |Time(time)| time),
        election,
        members: raw.members.as_ref().map(|members| members.get_ref().0 as u32),
        hops: raw.hops.map_or(1, |Whole(hops)| hops as u8),
        timing,
        expect: expect::expect(&reader, lock_checkers, tokens, raw.expect)?,
        world: WorldPlan {
            nodes,
            duration,
            mode,
            shape,
            mobility: raw.mobility.map(|plan| mobility(&reader, plan, medium)).transpose()?,
            medium,
            capacity: capacity(&reader, nodes, raw.capacity)?,
            drift_ppm: raw.drift_ppm.map_or(0, |Whole(ppm)| ppm as u32),
            boot_spread: raw.boot_spread.map_or(0, |Time(spread)| spread),
            faults: faults::steps(&reader, nodes, duration, (app.as_ref(), raw.members.is_some()), raw.faults)?,
            locks: locks::locks(&reader, nodes, &timing, raw.locks)?,
            app,
            requests: app::requests(&reader, raw.service)?,
        },
    };
    scenario.check_leaders().map_err(|text| reader.error(mode_span.unwrap_or(0..0), text))?;
    if let Some(span) = service_span.filter(|_| scenario.world.locks.is_some() || scenario.world.app.is_some()) {
        return Err(reader.error(span, "a run has requests, locks or an application, not two of them"));
    }
    if let Some(span) = app_span.clone().filter(|_| scenario.world.locks.is_some()) {
        return Err(reader.error(span, "a run has locks or an application, not both"));
    }
    let ordered = scenario.world.app.as_ref().is_some_and(AppPlan::is_ordered);
    if let Some(span) = app_span.filter(|_| ordered && mode != Mode::Quorum) {
        return Err(reader.error(span, "the application \"sequencer\" needs mode = \"quorum\""));
    }
    let members_max = scenario.members_max();
    if scenario.is_group() && nodes > members_max as u32 {
        let subject = match (&scenario.world.locks, &scenario.world.app) {
            (Some(_), _) => "locks work",
            (None, Some(_)) => "an application works",
            (None, None) => "this election or this mode works",
        };
        let text = format!("{subject} in a group, which has at most {members_max} members");
        return Err(reader.error(raw.nodes.span(), text));
    }
    if let Some(members) = raw.members {
        if mode != Mode::Quorum || scenario.world.app.is_some() || scenario.world.requests.is_some() {
            let text = "the list changes in mode = \"quorum\" alone, and without an application or requests";
            return Err(reader.error(members.span(), text));
        }
        if let Some(locks) = &scenario.world.locks {
            let sizes = (2..=nodes).try_for_each(|size| supports(&locks.mutex, size, scenario.hops));
            sizes.map_err(|text| reader.error(members.span(), text))?;
        }
        if members.get_ref().0 as u32 > nodes {
            return Err(reader.error(members.span(), format!("there are only {nodes} nodes")));
        }
    }
    if let Some(locks) = &scenario.world.locks {
        supports(&locks.mutex, nodes, scenario.hops).map_err(|text| reader.error(raw.nodes.span(), text))?;
    }
    Ok(scenario)
}

fn mode(reader: &Reader<'_>, name: Option<Spanned<String>>) -> Result<Mode, ScenarioError> {
    let Some(name) = name else { return Ok(Mode::Available) };
    let choice = choose(reader, "mode", &name, ["available", "quorum"].into_iter())?;
    Ok([Mode::Available, Mode::Quorum][choice])
}

const CAPTURES: [(&str, Capture); 2] = [("3dB", Capture::ThreeDb), ("none", Capture::None)];
/// How far frames interfere, in ranges: beyond it a frame alone does not spoil another.
const INTERFERENCE_RANGES: f64 = 2.0;

fn medium(reader: &Reader<'_>, raw: Option<Spanned<RawMedium>>) -> Result<MediumPlan, ScenarioError> {
    let span = span_of(raw.as_ref()).unwrap_or(0..0);
    let raw = raw.map(Spanned::into_inner).unwrap_or_default();
    let kind = raw.kind.as_ref().map_or(Ok(0), |kind| choose(reader, "medium", kind, ["radio", "lan"].into_iter()))?;
    let is_radio = kind == 0;
    let loss = raw.loss.map_or(Probability::NEVER, |Share(loss)| Probability::new(loss));
    let of_radio = spans!(raw; range, range_max, bit_rate, csma, collisions, capture, one_way, queue);
    reader.only_with(of_radio, is_radio, "the medium \"radio\"")?;
    reader.only_with(spans!(raw; delay, shared), !is_radio, "the medium \"lan\"")?;
    if !is_radio {
        let (delay_min, delay_max) = raw.delay.as_ref().map_or(Ok((200, 2_000)), |delay| reader.range(delay))?;
        let shared = raw.shared.is_some_and(Spanned::into_inner);
        return Ok(MediumPlan::Lan(LanPlan { delay_min, delay_max, loss, shared }));
    }
    let range = raw.range.as_ref().map_or(15.0, |range| range.get_ref().0);
    // By default reception fades out over a quarter of the range, in which no second neighbour of a grid lies.
    let range_max = raw.range_max.as_ref().map_or(range * 1.25, |range_max| range_max.get_ref().0);
    if range_max < range {
        let text = format!("reception ends at \"range_max\": it must not be below \"range\" ({range})");
        return Err(reader.error(span_of(raw.range_max.as_ref()).unwrap_or(span), text));
    }
    let named = |name| choose(reader, "capture", name, CAPTURES.iter().map(|&(name, _)| name));
    let capture = CAPTURES[raw.capture.as_ref().map_or(Ok(0), named)?].1;
    let interference = if capture == Capture::None { 0.0 } else { range * INTERFERENCE_RANGES };
    Ok(MediumPlan::Radio(RadioPlan {
        reach: Reach { range, range_max, interference },
        bit_rate: raw.bit_rate.map_or(250_000, |rate| rate.into_inner().0 as u32),
        csma: raw.csma.is_none_or(Spanned::into_inner),
        collisions: raw.collisions.is_none_or(Spanned::into_inner),
        capture,
        loss,
        one_way: raw.one_way.map_or(Probability::NEVER, |share| Probability::new(share.into_inner().0)),
        queue: raw.queue.map_or(1, |queue| queue.into_inner().0 as u16),
    }))
}

fn shape(
    reader: &Reader<'_>,
    nodes: &Spanned<Whole<1, 1_000_000>>,
    raw: Spanned<RawTopology>,
    medium: MediumPlan,
) -> Result<Shape, ScenarioError> {
    const SHAPES: [&str; 7] = ["line", "ring", "star", "grid", "geometric", "complete", "positions"];
    let span = raw.span();
    let raw = raw.into_inner();
    let count = nodes.get_ref().0 as u32;
    let name = SHAPES[choose(reader, "shape", &raw.shape, SHAPES.into_iter())?];
    let spaced = matches!(name, "line" | "ring" | "star" | "grid");
    reader.only_with(spans!(raw; spacing), spaced, "the shapes \"line\", \"ring\", \"star\" and \"grid\"")?;
    reader.only_with(spans!(raw; columns), name == "grid", "the shape \"grid\"")?;
    reader.only_with(spans!(raw; degree, connected), name == "geometric", "the shape \"geometric\"")?;
    reader.only_with(spans!(raw; positions), name == "positions", "the shape \"positions\"")?;
    let complete = name == "complete" || matches!(medium, MediumPlan::Lan(_));
    if complete && count > COMPLETE_MAX {
        let text = format!("a complete network has at most {COMPLETE_MAX} nodes");
        return Err(reader.error(nodes.span(), text));
    }
    let spacing = raw.spacing.map_or(10.0, |spacing| spacing.into_inner().0);
    Ok(match name {
        "line" => Shape::Line { spacing },
        "ring" => Shape::Ring { spacing },
        "star" => Shape::Star { spacing },
        "grid" => {
            let square = f64::from(count).sqrt().ceil() as u32;
            Shape::Grid { spacing, columns: raw.columns.map_or(square, |columns| columns.into_inner().0 as u32) }
        }
        "geometric" => {
            let degree = raw.degree.as_ref().map_or(10.0, |degree| degree.get_ref().0);
            let connected = raw.connected.is_none_or(Spanned::into_inner);
            // Below about 4.5 neighbours a random network is disconnected however often it is drawn.
            if connected && degree < 6.0 {
                let text = "a connected network needs a \"degree\" of at least 6";
                return Err(reader.error(span_of(raw.degree.as_ref()).unwrap_or(span), text));
            }
            Shape::Geometric { degree, connected }
        }
        "complete" => Shape::Complete,
        _ => positions(reader, span, raw.positions, count)?,
    })
}

fn positions(
    reader: &Reader<'_>,
    span: Range<usize>,
    raw: Option<Spanned<Vec<[f64; 2]>>>,
    nodes: u32,
) -> Result<Shape, ScenarioError> {
    let missing = || reader.error(span, "the shape \"positions\" needs the key \"positions\"");
    let positions = raw.ok_or_else(missing)?;
    let given = positions.get_ref().len();
    if given != nodes as usize {
        return Err(reader.error(positions.span(), format!("there are {given} positions for {nodes} nodes")));
    }
    let points = positions.get_ref().iter().map(|&position| reader.point(positions.span(), position));
    Ok(Shape::Positions(points.collect::<Result<_, _>>()?))
}

fn mobility(reader: &Reader<'_>, raw: Spanned<RawMobility>, medium: MediumPlan) -> Result<MobilityPlan, ScenarioError> {
    if matches!(medium, MediumPlan::Lan(_)) {
        return Err(reader.error(raw.span(), "nodes move in a \"radio\" medium only"));
    }
    let raw = raw.into_inner();
    let Between { low: Positive(speed_min), high: Positive(speed_max) } = *raw.speed.get_ref();
    reader.check_order(raw.speed.span(), speed_min <= speed_max)?;
    let tick = raw.tick.as_ref().map_or(500_000, |tick| tick.get_ref().0);
    if tick < 1_000 {
        let span = span_of(raw.tick.as_ref()).unwrap_or(0..0);
        return Err(reader.error(span, "nodes cannot move more often than every \"1ms\""));
    }
    let area = raw.area.map(|area| {
        let [left, top, right, bottom] = *area.get_ref();
        reader.check_order(area.span(), left < right && top < bottom)?;
        Ok(Area { low: Point { x: left, y: top }, high: Point { x: right, y: bottom } })
    });
    Ok(MobilityPlan {
        speed_min,
        speed_max,
        pause: raw.pause.map_or(0, |Time(pause)| pause),
        tick,
        area: area.transpose()?,
        until: raw.until.map_or(Micros::MAX, |Time(until)| until),
    })
}

fn capacity(reader: &Reader<'_>, nodes: u32, raw: RawCapacity) -> Result<CapacityPlan, ScenarioError> {
    const RULES: [&str; 5] = ["random", "equal", "rising", "falling", "values"];
    let default = if raw.values.is_some() { 4 } else { 0 };
    let rule = raw.rule.as_ref().map_or(Ok(default), |rule| choose(reader, "rule", rule, RULES.into_iter()))?;
    let name = RULES[rule];
    reader.only_with(spans!(raw; value), name == "equal", "the rule \"equal\"")?;
    reader.only_with(spans!(raw; values), name == "values", "the rule \"values\"")?;
    let rule = match name {
        "random" => CapacityRule::Random,
        "equal" => CapacityRule::Equal(raw.value.map_or(5_000, |value| value.into_inner().0 as u16)),
        "rising" => CapacityRule::Rising,
        "falling" => CapacityRule::Falling,
        _ => {
            let span = span_of(raw.rule.as_ref()).unwrap_or(0..0);
            let values =
                raw.values.ok_or_else(|| reader.error(span, "the rule \"values\" needs the key \"values\""))?;
            if values.get_ref().len() != nodes as usize {
                let text = format!("there are {} capacities for {nodes} nodes", values.get_ref().len());
                return Err(reader.error(values.span(), text));
            }
            CapacityRule::Values(values.into_inner().into_iter().map(|Whole(value)| value as u16).collect())
        }
    };
    let ineligible = raw.ineligible.map(|set| reader.ids(set.span(), set.get_ref(), nodes));
    let period = raw.period.as_ref().map_or(1_000_000, |period| period.get_ref().0);
    if period == 0 {
        return Err(reader.error(span_of(raw.period.as_ref()).unwrap_or(0..0), "\"period\" must be above zero"));
    }
    Ok(CapacityPlan {
        rule,
        noise: raw.noise.map_or(0.0, |Share(noise)| noise),
        period,
        ineligible: ineligible.transpose()?.unwrap_or_default(),
    })
}

fn timing(reader: &Reader<'_>, raw: Option<Spanned<RawTiming>>, medium: MediumPlan) -> Result<Timing, ScenarioError> {
    let default = if matches!(medium, MediumPlan::Lan(_)) { Timing::LAN } else { Timing::RADIO };
    let Some(raw) = raw else { return Ok(default) };
    let span = raw.span();
    let raw = raw.into_inner();
    let preset = raw.preset.as_ref().map(|preset| choose(reader, "preset", preset, ["radio", "lan"].into_iter()));
    let preset = preset.transpose()?.map_or(default, |choice| [Timing::RADIO, Timing::LAN][choice]);
    let or = |given: Option<Spanned<Time>>, preset: Duration| match given {
        None => Ok(preset),
        Some(time) => match u32::try_from(time.get_ref().0) {
            Ok(micros) => Ok(Duration::from_micros(micros)),
            Err(_) => Err(reader.error(time.span(), "a protocol's time is at most 71 minutes")),
        },
    };
    macro_rules! overridden {
        ($($time:ident),*; $($count:ident),*) => {
            Timing {
                pulse: Some(or(raw.pulse, preset.pulse.unwrap_or_default())?).filter(|&pulse| pulse != Duration::ZERO),
                $($time: or(raw.$time, preset.$time)?,)*
                $($count: raw.$count.map_or(preset.$count, |Whole(count)| count as u8),)*
            }
        };
    }
    let timing = overridden!(
        hello_min, hello_max, heartbeat, heartbeat_max, boot_wait, stagger, probe, reflood_interval, takeover_delay,
        takeover_delay_unsettled, uptime_min, jitter, retry, quarantine, lock_lease;
        heartbeats_missed_max, probes, reflood_count
    );
    timing.check().map_err(|error| reader.error(span, error.to_string()))
}
