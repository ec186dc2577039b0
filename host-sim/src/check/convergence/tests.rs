use super::*;
use crate::nodes::toy_node::ToyNode;
use crate::nodes::world;
use crate::scenario::Scenario;

/// Observes a whole run of gossiping nodes, of which the highest id leads.
fn observed(nodes: u32, rest: &str) -> Convergence {
    let head = format!("name = \"test\"\nnodes = {nodes}\nduration = \"10s\"\n");
    let medium = "[topology]\nshape = \"line\"\n[medium]\ncsma = false\ncollisions = false\n";
    let scenario = Scenario::parse("test.toml", &format!("{head}{medium}{rest}"), &[]).unwrap();
    let mut world = world::<ToyNode>(&scenario, 1);
    let mut convergence = Convergence::new(&world);
    while world.step(&mut convergence) {
        convergence.refresh(&world);
    }
    convergence.finish(world.now());
    convergence
}

#[test]
fn the_time_to_a_leader_ends_when_the_last_node_follows_it() {
    let convergence = observed(5, "");
    // Node 4's claim takes four hops of at least one gossip interval each.
    let [("time_to_leader_us", took)] = *convergence.samples() else { panic!("{:?}", convergence.samples()) };
    assert!((100_000..600_000).contains(&took), "{took}");
    assert!(convergence.agrees() && !convergence.is_incumbent(4));
    assert_eq!(convergence.leader_changes(), 0);
}

#[test]
fn a_partition_and_a_heal_are_timed_and_a_fault_that_breaks_nothing_is_not() {
    // Separated before the first frame, each half has its own leader; merged, both follow the higher.
    let faults = "[[faults]]\nat = \"1us\"\ndo = \"partition\"\ncut = \"left-right\"\nfor = \"5s\"\n\
                  [[faults]]\nat = \"8s\"\ndo = \"partition\"\nsets = [[0, 1, 2, 3]]\n";
    let convergence = observed(4, faults);
    let names: Vec<&str> = convergence.samples().iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ["time_to_leader_us", "split_us", "merge_us"]);
    let merge = convergence.samples()[2].1;
    assert!((1..300_000).contains(&merge), "{merge}");
}

#[test]
fn a_network_that_follows_a_dead_leader_does_not_agree() {
    let convergence = observed(3, "[[faults]]\nat = \"5s\"\ndo = \"crash\"\nnode = \"leader\"\n");
    assert!(!convergence.agrees());
    assert!(convergence.samples().iter().all(|&(name, _)| name != "failover_us"), "it never recovered");
    assert_eq!(convergence.unfinished().collect::<Vec<_>>(), [("failover_us", 5_000_000)]);
    let times: Vec<LeaderTime> = convergence.leader_times().collect();
    assert_eq!(times[0].up, 10_000_000);
    assert!((4_500_000..=5_000_000).contains(&times[0].led), "led until the crash: {:?}", times[0]);
    assert_eq!(times[2].up, 5_000_000);
}

#[test]
fn a_leader_out_of_reach_does_not_count_as_reached() {
    let cut = "[[faults]]\nat = \"5s\"\ndo = \"partition\"\nsets = [[0, 1], [2]]\n";
    let convergence = observed(3, cut);
    let time = convergence.leader_times().next().unwrap();
    assert!(time.led > 9_000_000 && time.reached < 5_100_000, "{time:?}");
    assert!(!convergence.agrees());
}

#[test]
fn a_node_that_comes_back_is_timed_until_it_agrees() {
    let convergence = observed(3, "[[faults]]\nat = \"5s\"\ndo = \"crash\"\nnode = 0\nfor = \"1s\"\n");
    let names: Vec<&str> = convergence.samples().iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ["time_to_leader_us", "rejoin_us"]);
    assert!(convergence.agrees());
}

#[test]
fn a_node_that_leads_without_a_candidate_is_no_agreement() {
    let convergence = observed(1, "[capacity]\nineligible = [0]\n");
    assert!(!convergence.agrees(), "the toy node leads regardless of its capacity");
}

#[test]
fn a_follower_of_a_leader_that_crashes_was_led_until_then_whatever_its_id() {
    let text = "name = \"test\"\nnodes = 5\nduration = \"20s\"\n[topology]\nshape = \"complete\"\n\
                [capacity]\nvalues = [1, 2, 9000, 3, 4]\n\
                [[faults]]\nat = \"10s\"\ndo = \"crash\"\nnode = 2\n";
    let outcome =
        crate::metrics::run::run::<crate::ProtocolNode>(&Scenario::parse("test.toml", text, &[]).unwrap(), 1, &mut ());
    for time in &outcome.leader_times {
        assert!(time.led * 10 > time.up * 6, "{time:?}");
    }
}
