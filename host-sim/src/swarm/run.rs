//! A swarm, run: the world goes on as real time does.

use super::device::{Identity, Kind};
use super::rack::Rack;
use super::report::{Report, report};
use super::station::{Station, lend};
use super::{Group, Image, SwarmError, tale};
use crate::boards::App;
use crate::checker::{Checkers, Settled};
use crate::queue::Micros;
use crate::random::{Stream, derive};
use crate::scenario::{Action, PauseClock, Scenario};
use crate::trace::{Observer, TraceEvent, What};
use crate::watch::Watch;
use crate::world::{Life, World};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest wait for mail, so that an interrupt is noticed.
const PATIENCE_MAX: Duration = Duration::from_millis(50);

/// How a swarm is run.
#[derive(Clone)]
pub struct Options {
    /// What the boards run.
    pub image: Image,
    /// This program, for the nodes that run on this desktop.
    pub desktop: PathBuf,
    /// How many nodes, the last ones, run on this desktop.
    pub desktops: u32,
    /// Bits of the boards' config pages that are set besides what the scenario says.
    pub board_options: u32,
    /// What stands on top of the boards' nodes.
    pub app: App,
    /// The command that runs the same again, for those who find something wrong.
    pub replay: String,
}

/// Whoever sees what happens, gathered.
struct Audience<'a, O> {
    watch: &'a mut Watch,
    checkers: &'a mut Checkers,
    guest: &'a mut O,
    /// Who was paused or resumed and has to be told.
    held: Vec<u32>,
    /// Who crashed, and when.
    crashes: Vec<(Micros, u32)>,
}

impl<O: Observer> Observer for Audience<'_, O> {
    fn see(&mut self, event: &TraceEvent) {
        match (event.what, event.node) {
            (What::Pause | What::Resume, Some(node)) => self.held.push(node),
            (What::Crash, Some(node)) => self.crashes.push((event.at, node)),
            _ => {} // the others need no hand of ours
        }
        self.watch.see(event);
        self.checkers.see(event);
        self.guest.see(event);
    }
}

/// Runs a scenario with devices in the nodes' seats, while `guest` looks on and `meanwhile` is called again and again
/// with the time. Ends early when `interrupted`.
///
/// # Errors
/// When the scenario is not one for boards, a device fails, or the user has had enough.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    guest: &mut impl Observer,
    mut meanwhile: impl FnMut(Micros, &Rack),
    interrupted: &AtomicBool,
) -> Result<Report, SwarmError> {
    tale::check(scenario)?;
    let group = Group::of(scenario, options.board_options);
    let rack = Rack::new(options.image.clone(), options.desktop.clone(), group).map_err(SwarmError::Device)?;
    let rack = Rc::new(rack);
    let mut world = lend(&rack, || World::<Station>::new(scenario, seed));
    rack.install(&identities(&world, options.desktops))?;

    let mut watch = Watch::new(&world);
    let mut checkers = Checkers::default();
    let mut audience =
        Audience { watch: &mut watch, checkers: &mut checkers, guest, held: Vec::new(), crashes: Vec::new() };
    let mut stops: Vec<Micros> = scenario.faults.iter().map(|step| step.at.saturating_sub(1)).collect();
    stops.push(scenario.duration);
    stops.dedup();
    let clock = rack.watch();
    for stop in stops {
        while clock.micros() < stop {
            meanwhile(clock.micros(), &rack);
            catch_up(&mut world, clock.micros().min(stop), &mut audience, &rack);
            let next = world.next_at().unwrap_or(stop).min(stop);
            rack.collect(clock.until(next).min(PATIENCE_MAX));
            if interrupted.load(Ordering::Relaxed) {
                return Err(SwarmError::Interrupted);
            }
            if let Some(trouble) = rack.trouble() {
                return Err(trouble);
            }
        }
        catch_up(&mut world, stop, &mut audience, &rack);
        world.run_until(stop, &mut audience);
        if stop >= world.disturbed_at() + scenario.calm && world.boots_pending() == 0 {
            audience.checkers.check_settled(&Settled::of(&world, audience.watch));
        }
    }
    let crashes = audience.crashes;
    watch.finish(world.now());
    Ok(report(&world, &rack, &watch, checkers.findings(), &crashes, options))
}

/// Lets everything happen that should have happened by `now`.
fn catch_up<O: Observer>(world: &mut World<Station>, now: Micros, audience: &mut Audience<'_, O>, rack: &Rack) {
    while world.next_at().is_some_and(|at| at <= now) && world.step(audience) {
        audience.watch.refresh(world);
        for node in std::mem::take(&mut audience.held) {
            match world.node(node).life {
                Life::Paused => rack.hold(node, pause_clock(world)),
                Life::Up => rack.go_on(node),
                Life::Down => {} // it crashed at the same moment
            }
        }
    }
}

/// What the pause of this moment does to clocks.
fn pause_clock(world: &World<Station>) -> PauseClock {
    let mut steps = world.scenario().faults.iter().rev().filter(|step| step.at == world.now());
    let clock = steps.find_map(|step| match step.action {
        Action::Pause { clock, .. } => Some(clock),
        _ => None, // no other fault pauses
    });
    clock.unwrap_or(PauseClock::Runs)
}

fn identities(world: &World<Station>, desktops: u32) -> Vec<(Kind, Identity)> {
    let boards = world.nodes().saturating_sub(desktops);
    let identity = |node: u32| {
        let view = world.node(node);
        // The seed the world gives at the first boot, which has yet to come.
        let seed = derive(world.seed(), Stream::Node, u64::from(node) | 1 << 32);
        let kind = if node < boards { Kind::Board } else { Kind::Desktop };
        let capacity = view.capacity.unwrap_or(0);
        (kind, Identity { node, capacity, may_lead: view.may_lead, seed, blank: false })
    };
    (0..world.nodes()).map(identity).collect()
}
