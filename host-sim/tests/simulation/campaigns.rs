//! Campaigns of drawn scenarios: a short one finds nothing, and one with a planted fault finds and shrinks it.

use crate::faulty_node::Faulty;
use crate::lock_storms::Overstays;
use crate::support::seeds;
use host_sim::Scenario;
use host_sim::campaign::{Campaign, Length, Only};
use host_sim::check::OF_LOCKS;

#[test]
fn a_short_guided_campaign_finds_nothing_and_each_of_its_scenarios_can_be_played_again() {
    let campaign =
        Campaign { seed: 1, runs: seeds(36, 2_000), only: Only::default(), length: Length::Minutes, shrink: 1 };
    let played = campaign.play_guided(|| {});
    let guided = played.iter().rev().find(|one| one.network != one.index).expect("the second round follows the first");
    assert_eq!(campaign.play_on(guided.network, guided.index), *guided);
    let report = campaign.report(&played);
    assert!(report.pairs > 200, "{}", report.pairs);
    assert_eq!(report.violations, [], "{}", report.violations.first().map_or("", |found| &found.scenario));
    assert!(report.hours > 1.0 && report.faults.len() > 12 && report.frames.len() > 50, "{report:?}");
}

#[test]
fn a_planted_fault_is_found_and_shrunk_to_a_scenario_that_replays() {
    let only = Only::new(&["central".to_owned(), "bully".to_owned()]).unwrap();
    let campaign = Campaign { seed: 2, runs: 16, only, length: Length::Minutes, shrink: 1 };
    let report = campaign.run_with::<Faulty<Overstays>>();
    let found = &report.violations[0];
    assert_eq!(found.checker, "one-holder", "{found:?}");
    assert!(!report.holds() && found.shrunk_by > 0);
    let scenario = Scenario::parse(&found.file, &found.scenario, OF_LOCKS).unwrap();
    let faults = found.scenario.matches("[[faults]]").count();
    assert!(scenario.world.nodes <= 5 && faults <= 3, "{}", found.scenario);
    let replayed = host_sim::run_seeds::<Faulty<Overstays>>(&scenario, found.seed..found.seed + 1, || {});
    assert!(replayed.violations.iter().any(|violation| violation.text == found.text), "{:?}", replayed.violations);
}
