//! One run of a scenario, watched by every checker.

use crate::checker::{self, Checkers, Finding, Settled};
use crate::machine::Machine;
use crate::network::{Count, Tally};
use crate::peer::{Actor, Locker, Member, Peer};
use crate::queue::Micros;
use crate::scenario::Scenario;
use crate::trace::{Observer, TraceEvent};
use crate::usage::Usage;
use crate::watch::{Service, Watch};
use crate::world::World;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Whether it ended with one leader per component, known to all its nodes.
    pub converged: bool,
    /// Whether the best of every component led it in the end.
    pub leader_is_best: bool,
    /// What was measured.
    pub samples: Vec<(&'static str, u64)>,
    /// What was sent, by kind.
    pub kinds: Vec<(&'static str, Count)>,
    /// What was heard and lost.
    pub tally: Tally,
    /// How well each node was served, by name.
    pub services: Vec<Service>,
    /// The hash of all that happened.
    pub hash: u64,
    /// What did not hold.
    pub findings: Vec<Finding>,
    /// How many events there were.
    pub events: u64,
}

/// The watch, the usage of what nodes are for, the checkers and whoever else looks on.
struct Audience<'a, O> {
    watch: &'a mut Watch,
    usage: &'a mut Usage,
    checkers: &'a mut Checkers,
    guest: &'a mut O,
}

impl<O: Observer> Observer for Audience<'_, O> {
    fn see(&mut self, event: &TraceEvent) {
        self.watch.see(event);
        self.usage.see(event);
        self.checkers.see(event);
        self.guest.see(event);
    }

    fn read(&mut self, frame: &[u8]) {
        self.guest.read(frame);
    }
}

/// Runs a scenario with one seed and the nodes it is about, while `guest` looks on.
pub fn run_of(scenario: &Scenario, seed: u64, guest: &mut impl Observer) -> Outcome {
    if scenario.locks.is_some() {
        run::<Locker>(scenario, seed, guest)
    } else if scenario.app.is_some() {
        run::<Actor>(scenario, seed, guest)
    } else if scenario.is_group() {
        run::<Member>(scenario, seed, guest)
    } else {
        run::<Peer>(scenario, seed, guest)
    }
}

/// Runs a scenario with one seed, while `guest` looks on.
pub fn run<M: Machine>(scenario: &Scenario, seed: u64, guest: &mut impl Observer) -> Outcome {
    let mut world = World::<M>::new(scenario, seed);
    let mut watch = Watch::new(&world);
    let mut usage = Usage::default();
    let mut checkers = Checkers::new(&scenario.expect);
    // Just before each fault, and at the end, the network must have settled if it had the time.
    let mut stops: Vec<Micros> = world.scenario().faults.iter().map(|step| step.at.saturating_sub(1)).collect();
    stops.push(scenario.duration);
    stops.dedup();
    for stop in stops {
        let mut audience = Audience { watch: &mut watch, usage: &mut usage, checkers: &mut checkers, guest };
        while world.next_at().is_some_and(|at| at <= stop) && world.step(&mut audience) {
            audience.watch.refresh(&world);
        }
        world.run_until(stop, &mut audience);
        if stop >= world.disturbed_at() + scenario.calm && world.boots_pending() == 0 {
            checkers.check_settled(&Settled::of(&world, &watch));
        }
    }
    watch.finish(world.now());
    let settled = Settled::of(&world, &watch);
    let mut samples = watch.samples().to_vec();
    samples.push(("leader_changes", watch.leader_changes()));
    samples.extend(usage.samples());
    if let Some(initiator) = watch.initiator() {
        let depth = u64::from(world.depth(initiator));
        samples.push(("depth_hops", depth));
        samples.extend(stretch(&samples, depth, &world.tally().kinds()));
    }
    Outcome {
        seed,
        converged: checker::converged(&settled),
        leader_is_best: checker::best_leads(&settled),
        samples,
        kinds: world.tally().kinds(),
        tally: world.tally().clone(),
        services: watch.services().collect(),
        hash: world.hash(),
        findings: checkers.findings().to_vec(),
        events: world.events(),
    }
}

/// How long an election took that one node was asked to start, in thousandths of what three floods take: out, back
/// and out again over the network's depth, at the pace of its own frames.
fn stretch(
    samples: &[(&'static str, u64)],
    depth: u64,
    kinds: &[(&'static str, Count)],
) -> Option<(&'static str, u64)> {
    let (_, took) = *samples.iter().find(|(name, _)| *name == "election_us")?;
    let mut of_election = Count::default();
    for (_, count) in kinds.iter().filter(|(kind, _)| ["election", "ack", "leader"].contains(kind)) {
        of_election.frames += count.frames;
        of_election.micros += count.micros;
    }
    let three_floods = 3 * depth * of_election.micros;
    Some(("stretch_per_mille", (took * of_election.frames * 1_000).checked_div(three_floods)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gossip::Gossip;

    fn outcome(rest: &str) -> Outcome {
        let head = "name = \"test\"\nnodes = 4\nduration = \"20s\"\ncalm = \"5s\"\n";
        let lan = "[topology]\nshape = \"complete\"\n[medium]\nkind = \"lan\"\n";
        run::<Gossip>(&Scenario::parse("test.toml", &format!("{head}{lan}{rest}")).unwrap(), 1, &mut ())
    }

    fn checkers(outcome: &Outcome) -> Vec<&'static str> {
        let mut names: Vec<&str> = outcome.findings.iter().map(|finding| finding.checker).collect();
        names.dedup();
        names
    }

    #[test]
    fn a_run_that_is_right_has_nothing_found() {
        let outcome = outcome("[capacity]\nrule = \"rising\"\n");
        assert!(outcome.converged && outcome.leader_is_best);
        assert_eq!(outcome.findings, []);
    }

    #[test]
    fn a_run_led_by_another_than_the_best_is_found_out() {
        let outcome = outcome("[capacity]\nrule = \"falling\"\n");
        assert!(outcome.converged && !outcome.leader_is_best);
        assert_eq!(checkers(&outcome), ["best-leads"]);
    }

    #[test]
    fn a_run_that_never_gets_over_a_crash_is_found_out() {
        let crash = "[[faults]]\nat = \"10s\"\ndo = \"crash\"\nnode = \"leader\"\n";
        let outcome = outcome(&format!("[capacity]\nrule = \"rising\"\n{crash}"));
        assert!(!outcome.converged && !outcome.leader_is_best);
        assert_eq!(checkers(&outcome), ["one-leader", "everyone-knows"]);
        assert!(outcome.findings.iter().all(|finding| finding.at == 20_000_000), "before the crash all was well");
    }

    #[test]
    fn a_network_that_had_no_time_to_settle_is_not_judged() {
        let crash = "[[faults]]\nat = \"16s\"\ndo = \"crash\"\nnode = \"leader\"\n";
        let outcome = outcome(&format!("[capacity]\nrule = \"rising\"\n{crash}"));
        assert!(!outcome.converged);
        assert_eq!(outcome.findings, []);
    }
}
