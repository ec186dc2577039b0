//! Every election in the same storm: loss, echoes, overtaking, crashes, restarts and a partition at any moment.
//!
//! `CONCLAVE_SEEDS` makes the campaign longer, or shorter.

use host_sim::campaign::{Report, campaign, campaign_of};
use host_sim::machine::{Birth, Machine, News};
use host_sim::{Member, Scenario};
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::{AnyElection, Command};
use protocol::records::Records;
use protocol::{Instant, NodeId};
use std::path::Path;

fn load(name: &str, election: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::load(&path).unwrap().with_election(election).unwrap()
}

fn seeds(usual: u64) -> u64 {
    std::env::var("CONCLAVE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

/// Nothing is violated, and in the end the best leads and everybody knows.
fn is_weathered(name: &str, election: &str, usual: u64) {
    let report: Report = campaign_of(&load(name, election), 0..seeds(usual), || {});
    let violations: Vec<_> = report.violations.iter().map(|violation| (violation.seed, &violation.text)).collect();
    assert_eq!(violations, [], "{name} --election {election}");
    assert_eq!((report.converged, report.leader_is_best), (report.seeds, report.seeds), "{name} --election {election}");
}

#[test]
fn e6_whatever_a_storm_does_every_election_ends_with_the_best_leading_all() {
    for election in AnyElection::NAMES {
        is_weathered("storm", election, 2_000);
    }
}

#[test]
fn f2_where_leaders_need_a_majority_no_two_may_act_at_once_in_any_storm() {
    for election in AnyElection::NAMES {
        is_weathered("storm-quorum", election, 400);
    }
}

/// A member that takes itself for the leader until it hears otherwise, whatever the time.
struct Careless {
    member: Member,
    me: NodeId,
    led: bool,
}

impl Machine for Careless {
    type Plan = <Member as Machine>::Plan;

    fn plan(scenario: &Scenario) -> Self::Plan {
        Member::plan(scenario)
    }

    fn boot(plan: &Self::Plan, birth: Birth) -> Self {
        Self { me: birth.me, member: Member::boot(plan, birth), led: false }
    }

    fn hear(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.member.hear(now, bytes, quality);
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.member.measure(now, capacity);
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.member.command(now, command);
    }

    fn wake(&mut self, now: Instant) {
        self.member.wake(now);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.member.poll_persist()
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        self.member.poll_transmit(now, buffer)
    }

    fn poll_news(&mut self) -> Option<News> {
        let news = self.member.poll_news();
        match news {
            Some(News::Leads(_)) => self.led = true,
            Some(News::Follows(leader, _)) => self.led = leader == self.me,
            Some(News::Leaderless | News::Halted(_) | News::Lock(_) | News::App(_)) | None => {} // it does not step down for that
        }
        news
    }

    fn deadline(&self) -> Option<Instant> {
        self.member.deadline()
    }

    fn acts(&self, _: Instant) -> bool {
        self.led
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.member.leader()
    }

    fn describe(plan: &Self::Plan, frame: &[u8]) -> &'static str {
        Member::describe(plan, frame)
    }
}

#[test]
fn a_member_that_does_not_step_down_in_time_is_found_out() {
    let report = campaign::<Careless>(&load("storm-quorum", "bully"), 0..20, || {});
    assert!(report.violations.iter().any(|violation| violation.checker == "one-acts"), "{:?}", report.violations);
}
