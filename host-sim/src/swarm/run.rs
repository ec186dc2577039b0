//! Running a swarm: the world's time is real time.

use super::board_node::{BoardNode, Plan};
use super::device::{Group, Identity, Kind};
use super::fleet::Fleet;
use super::report::{Report, report};
use super::uplink::Station;
use super::{Image, SwarmError, scenario};
use crate::base::Micros;
use crate::base::rng::{Stream, derive_seed};
use crate::boards::App;
use crate::check::convergence::Convergence;
use crate::check::{Checkers, Settled};
use crate::scenario::Scenario;
use crate::sim::fault_plan::{FaultAction, FaultStep, PauseClock};
use crate::sim::world::{PowerState, World};
use crate::trace::{EventKind, Observer, TraceEvent};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest wait for output of devices, so that an interrupt is noticed.
const TIMEOUT_MAX: Duration = Duration::from_millis(50);

/// The options of a run.
#[derive(Clone)]
pub struct Options {
    /// The boards' image; `None` where all nodes are desktop nodes.
    pub image: Option<Image>,
    /// This program, for desktop nodes.
    pub desktop: PathBuf,
    /// How many nodes, the last ones, are desktop nodes.
    pub desktops: u32,
    /// Further option bits of the boards' config pages.
    pub board_options: u32,
    /// The boards' application.
    pub app: App,
    /// The command that replays the run.
    pub replay: String,
}

/// The observers of a run, and the caller's.
struct Observers<'a> {
    convergence: Convergence,
    checkers: Checkers,
    extra: &'a mut dyn Observer,
    /// The nodes paused or resumed, whose devices have to follow.
    held: Vec<u32>,
    /// The crashes: time and node.
    crashes: Vec<(Micros, u32)>,
}

impl Observer for Observers<'_> {
    fn observe(&mut self, event: &TraceEvent) {
        match (event.kind, event.node) {
            (EventKind::Pause | EventKind::Resume, Some(node)) => self.held.push(node),
            (EventKind::Crash, Some(node)) => self.crashes.push((event.at, node)),
            _ => {} // the devices need not follow
        }
        self.convergence.observe(event);
        self.checkers.observe(event);
        self.extra.observe(event);
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.extra.on_frame(frame);
    }
}

/// Runs a scenario with devices as nodes; calls `meanwhile` with the time again and again. Ends early when
/// `interrupted`.
///
/// # Errors
/// If boards cannot run the scenario, a device fails, or the user interrupts the run.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    extra: &mut dyn Observer,
    meanwhile: &mut dyn FnMut(Micros, &Fleet),
    interrupted: &AtomicBool,
) -> Result<Report, SwarmError> {
    let mut meanwhile = |now, fleet: &Fleet, _: &World<BoardNode>| meanwhile(now, fleet);
    run_with_acts(scenario, seed, options, extra, &mut meanwhile, &mut |_, _| None, interrupted)
}

/// As [`run`]; `meanwhile` sees the world as well, and `acts` is asked again and again for a fault of a user, with its
/// moment and its number.
pub(crate) fn run_with_acts(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    extra: &mut dyn Observer,
    meanwhile: &mut dyn FnMut(Micros, &Fleet, &World<BoardNode>),
    acts: &mut dyn FnMut(Micros, u32) -> Option<FaultStep>,
    interrupted: &AtomicBool,
) -> Result<Report, SwarmError> {
    scenario::check(scenario, options.app)?;
    let station = match options.app {
        App::Uplink => Some(Station::start(&options.desktop).map_err(SwarmError::Refused)?),
        App::None | App::Counter | App::Tokens | App::Diffusing | App::Clock => None,
    };
    let broker = station.as_ref().map(|station| station.address().port());
    let group = Group::of(scenario, options.board_options, broker);
    let fleet = Fleet::new(options.image.clone(), options.desktop.clone(), group).map_err(SwarmError::Device)?;
    let fleet = Rc::new(fleet);
    let mut world = World::new(&scenario.world, Plan::new(&fleet), seed);
    fleet.install(&identities(&world, options.desktops))?;

    let mut observers = Observers {
        convergence: Convergence::new(&world),
        checkers: Checkers::default(),
        extra,
        held: Vec::new(),
        crashes: Vec::new(),
    };
    let mut stops: Vec<Micros> = world.plan().faults.iter().map(|step| step.at.saturating_sub(1)).collect();
    stops.push(scenario.world.duration);
    stops.dedup();
    let clock = fleet.clock();
    let mut delays = Vec::new();
    for stop in stops {
        while clock.micros() < stop {
            meanwhile(clock.micros(), &fleet, &world);
            delays.extend(world.next_at().and_then(|due| clock.micros().checked_sub(due)));
            catch_up(&mut world, clock.micros().min(stop), &mut observers, &fleet);
            let number = world.plan().faults.iter().map(|step| step.number + 1).max().unwrap_or(0);
            if let Some(step) = world.free_moment().and_then(|at| acts(at, number)) {
                world.add_fault(step);
            }
            let next = world.next_at().unwrap_or(stop).min(stop);
            fleet.poll_inbox(clock.until(next).min(TIMEOUT_MAX));
            if interrupted.load(Ordering::Relaxed) {
                return Err(SwarmError::Interrupted);
            }
            if let Some(error) = fleet.take_error() {
                return Err(error);
            }
        }
        catch_up(&mut world, stop, &mut observers, &fleet);
        world.run_until(stop, &mut observers);
        if stop >= world.disturbed_at() + scenario.settle_time && world.boots_pending() == 0 {
            observers.checkers.check_settled(&Settled::of(&world, &observers.convergence, scenario));
        }
    }
    let Observers { mut convergence, checkers, crashes, .. } = observers;
    convergence.finish(world.now());
    Ok(report(scenario, &world, &fleet, &convergence, checkers.findings(), &crashes, delays, options, station.as_ref()))
}

/// Runs all events up to `now`.
fn catch_up(world: &mut World<BoardNode>, now: Micros, observers: &mut Observers<'_>, fleet: &Fleet) {
    while world.next_at().is_some_and(|at| at <= now) && world.step(observers) {
        observers.convergence.refresh(world);
        for node in std::mem::take(&mut observers.held) {
            match world.view(node).power {
                PowerState::Paused => fleet.set_held(node, Some(pause_clock(world))),
                PowerState::Up => fleet.set_held(node, None),
                PowerState::Down => {} // it crashed at the same moment
            }
        }
    }
}

/// Returns what the present pause does to clocks.
fn pause_clock(world: &World<BoardNode>) -> PauseClock {
    let mut steps = world.plan().faults.iter().rev().filter(|step| step.at == world.now());
    let clock = steps.find_map(|step| match step.action {
        FaultAction::Pause { clock, .. } => Some(clock),
        _ => None, // no other fault pauses
    });
    clock.unwrap_or(PauseClock::Runs)
}

fn identities(world: &World<BoardNode>, desktops: u32) -> Vec<Identity> {
    let boards = world.node_count().saturating_sub(desktops);
    let identity = |node: u32| {
        let view = world.view(node);
        // The seed that the world derives for the first boot.
        let seed = derive_seed(world.seed(), Stream::Node, u64::from(node) | 1 << 32);
        let kind = if node < boards { Kind::Board } else { Kind::Desktop };
        let capacity = view.capacity.unwrap_or(0);
        Identity { node, kind, capacity, may_lead: view.may_lead, seed, blank: false }
    };
    (0..world.node_count()).map(identity).collect()
}
