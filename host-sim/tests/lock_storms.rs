//! Every lock in the same storm: loss, echoes, overtaking, crashes, restarts with and without records, a partition, sleep
//! and clocks 2 % off. `CONCLAVE_SEEDS` makes the campaign longer, or shorter.

use host_sim::campaign::{Report, campaign, campaign_of};
use host_sim::machine::{Birth, Machine, News};
use host_sim::peer::{LOCKERS_MAX, Locker};
use host_sim::{Peer, Scenario};
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::Command;
use protocol::mutex::{self, Fence, LockId, NoMutex, Notice};
use protocol::records::Records;
use protocol::{Instant, NodeId};
use std::path::Path;

fn load(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::load(&path).unwrap()
}

fn storm() -> Scenario {
    load("lock-storm")
}

fn seeds() -> u64 {
    std::env::var("CONCLAVE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(2_000)
}

/// Never two hold one lock, fences grow, no late write comes through, and in the end nobody waits.
fn goes_well(scenario: &Scenario, seeds: u64) -> Report {
    let report: Report = campaign_of(scenario, 0..seeds, || {});
    let violations: Vec<_> = report.violations.iter().map(|violation| (violation.seed, &violation.text)).collect();
    assert_eq!(violations, [], "{}", scenario.name);
    report
}

fn is_weathered(mutex: &str) {
    let report = goes_well(&storm().with_mutex(mutex).unwrap(), seeds());
    assert!(report.measures["writes_refused"].p50 > 0, "the storm brings late writes: {:?}", report.measures);
    assert!(report.measures["lock_recovery_us"].count > 0, "holders crash: {:?}", report.measures);
}

#[test]
fn the_tree_lock_moves_along_the_tree_of_a_wireless_election_over_many_hops() {
    let scenario = load("lock-tree");
    let report = goes_well(&scenario, 40);
    assert!(report.measures["grants"].p50 > 100, "{:?}", report.measures);
}

#[test]
fn mc6_the_central_lock_weathers_the_storm() {
    is_weathered("central");
}

#[test]
fn mt4_the_token_ring_weathers_the_storm() {
    is_weathered("token-ring");
}

#[test]
fn ml4_the_lock_of_lamport_weathers_the_storm() {
    is_weathered("lamport");
}

#[test]
fn mr6_the_lock_of_ricart_and_agrawala_weathers_the_storm() {
    is_weathered("ricart-agrawala");
}

#[test]
fn mk6_the_lock_of_maekawa_weathers_the_storm() {
    is_weathered("maekawa");
}

#[test]
fn md2_the_lock_by_voting_weathers_the_storm() {
    is_weathered("voting");
}

#[test]
fn the_lock_of_raymond_weathers_the_storm() {
    is_weathered("raymond");
}

fn found(report: &Report, checker: &str) -> bool {
    report.violations.iter().any(|violation| violation.checker == checker)
}

#[test]
fn x13_a_build_without_fencing_is_found_out() {
    let mut careless = storm();
    careless.locks.as_mut().unwrap().fencing = false;
    let report = campaign_of(&careless, 0..20, || {});
    assert!(found(&report, "no-stale-write"), "{:?}", report.violations);
}

#[test]
fn m1_a_node_that_never_grants_anything_is_found_out() {
    let report = campaign::<Peer<LOCKERS_MAX, NoMutex>>(&storm(), 0..2, || {});
    assert!(found(&report, "nobody-waits-for-ever"), "{:?}", report.violations);
    assert!(found(&report, "expect"), "and there are no grants: {:?}", report.violations);
}

/// What a node does wrong.
trait Fault {
    /// It goes on believing that it holds a lock until it hears otherwise, whatever the time.
    const OVERSTAYS: bool;
    /// It numbers grants as it likes.
    const MISCOUNTS: bool;
}

struct Overstays;
struct Miscounts;

impl Fault for Overstays {
    const OVERSTAYS: bool = true;
    const MISCOUNTS: bool = false;
}

impl Fault for Miscounts {
    const OVERSTAYS: bool = false;
    const MISCOUNTS: bool = true;
}

/// A node with a fault.
struct Careless<F> {
    node: Locker,
    held: Vec<(LockId, Fence)>,
    fault: std::marker::PhantomData<F>,
}

impl<F: Fault> Machine for Careless<F> {
    type Plan = <Locker as Machine>::Plan;

    fn plan(scenario: &Scenario) -> Self::Plan {
        Locker::plan(scenario)
    }

    fn boot(plan: &Self::Plan, birth: Birth) -> Self {
        Self { node: Locker::boot(plan, birth), held: Vec::new(), fault: std::marker::PhantomData }
    }

    fn hear(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.node.hear(now, bytes, quality);
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.node.measure(now, capacity);
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.node.command(now, command);
    }

    fn ask(&mut self, now: Instant, command: mutex::Command) {
        self.node.ask(now, command);
    }

    fn wake(&mut self, now: Instant) {
        self.node.wake(now);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.node.poll_persist()
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        self.node.poll_transmit(now, buffer)
    }

    fn poll_news(&mut self) -> Option<News> {
        let news = self.node.poll_news()?;
        let News::Lock(notice) = news else { return Some(news) };
        Some(News::Lock(match notice {
            Notice::Acquired { lock, until, .. } if F::MISCOUNTS => {
                Notice::Acquired { lock, fence: Fence::ZERO, until }
            }
            Notice::Acquired { lock, fence, .. } => {
                self.held.retain(|&(held, _)| held != lock);
                self.held.push((lock, fence));
                notice
            }
            Notice::Lost { lock } | Notice::Released { lock } => {
                self.held.retain(|&(held, _)| held != lock);
                notice
            }
            Notice::Waiting { .. } | Notice::Refused { .. } | Notice::Expiring { .. } => notice,
        }))
    }

    fn deadline(&self) -> Option<Instant> {
        self.node.deadline()
    }

    fn acts(&self, now: Instant) -> bool {
        self.node.acts(now)
    }

    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        if !F::OVERSTAYS {
            return self.node.holds(lock, now);
        }
        self.held.iter().find(|(held, _)| *held == lock).map(|&(_, fence)| fence)
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.node.leader()
    }

    fn describe(plan: &Self::Plan, frame: &[u8]) -> &'static str {
        Locker::describe(plan, frame)
    }
}

#[test]
fn mc6_a_holder_that_sleeps_through_the_end_of_its_lease_and_does_not_look_is_found_out() {
    let report = campaign::<Careless<Overstays>>(&storm(), 0..40, || {});
    assert!(found(&report, "one-holder"), "{:?}", report.violations);
}

#[test]
fn a_lock_whose_fences_do_not_grow_is_found_out() {
    let report = campaign::<Careless<Miscounts>>(&storm(), 0..2, || {});
    assert!(found(&report, "fences-grow"), "{:?}", report.violations);
}
