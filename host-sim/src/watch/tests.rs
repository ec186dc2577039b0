use super::*;
use crate::gossip::Gossip;
use crate::scenario::Scenario;

/// A watch over a whole run of gossips, of which the highest name leads.
fn watched(nodes: u32, rest: &str) -> Watch {
    let head = format!("name = \"test\"\nnodes = {nodes}\nduration = \"10s\"\n");
    let medium = "[topology]\nshape = \"line\"\n[medium]\ncsma = false\ncollisions = false\n";
    let scenario = Scenario::parse("test.toml", &format!("{head}{medium}{rest}")).unwrap();
    let mut world = World::<Gossip>::new(&scenario, 1);
    let mut watch = Watch::new(&world);
    while world.step(&mut watch) {
        watch.refresh(&world);
    }
    watch.finish(world.now());
    watch
}

#[test]
fn the_time_to_a_leader_is_when_the_last_node_heard_of_it() {
    let watch = watched(5, "");
    // The news of node 4 takes four hops, each as long as it takes until a node speaks: at least a tick each.
    let [("time_to_leader_us", took)] = *watch.samples() else { panic!("{:?}", watch.samples()) };
    assert!((100_000..600_000).contains(&took), "{took}");
    assert!(watch.agrees() && !watch.is_incumbent(4));
    assert_eq!(watch.leader_changes(), 0);
}

#[test]
fn a_partition_and_a_heal_are_timed_and_what_breaks_nothing_is_not() {
    // Cut off before they ever spoke, the halves have each their own leader; joined, the higher one has all.
    let faults = "[[faults]]\nat = \"1us\"\ndo = \"partition\"\ncut = \"left-right\"\nfor = \"5s\"\n\
                  [[faults]]\nat = \"8s\"\ndo = \"partition\"\nsets = [[0, 1, 2, 3]]\n";
    let watch = watched(4, faults);
    let names: Vec<&str> = watch.samples().iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ["time_to_leader_us", "split_us", "merge_us"]);
    let merge = watch.samples()[2].1;
    assert!((1..300_000).contains(&merge), "{merge}");
}

#[test]
fn a_network_that_follows_a_dead_leader_does_not_agree() {
    let watch = watched(3, "[[faults]]\nat = \"5s\"\ndo = \"crash\"\nnode = \"leader\"\n");
    assert!(!watch.agrees());
    assert!(watch.samples().iter().all(|&(name, _)| name != "failover_us"), "it never got over it");
    let services: Vec<Service> = watch.services().collect();
    assert_eq!(services[0].up, 10_000_000);
    assert!((4_500_000..=5_000_000).contains(&services[0].led), "led until the crash: {:?}", services[0]);
    assert_eq!(services[2].up, 5_000_000);
}

#[test]
fn a_leader_out_of_reach_serves_nobody() {
    let cut = "[[faults]]\nat = \"5s\"\ndo = \"partition\"\nsets = [[0, 1], [2]]\n";
    let watch = watched(3, cut);
    let service = watch.services().next().unwrap();
    assert!(service.led > 9_000_000 && service.reached < 5_100_000, "{service:?}");
    assert!(!watch.agrees());
}

#[test]
fn a_node_that_comes_back_is_timed_until_it_agrees() {
    let watch = watched(3, "[[faults]]\nat = \"5s\"\ndo = \"crash\"\nnode = 0\nfor = \"1s\"\n");
    let names: Vec<&str> = watch.samples().iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ["time_to_leader_us", "rejoin_us"]);
    assert!(watch.agrees());
}

#[test]
fn nobody_follows_anybody_where_nobody_can_lead() {
    let watch = watched(1, "[capacity]\nnever = [0]\n");
    assert!(!watch.agrees(), "a gossip leads all the same");
}

#[test]
fn who_follows_a_leader_that_dies_was_led_until_then_whatever_its_name() {
    let text = "name = \"test\"\nnodes = 5\nduration = \"20s\"\n[topology]\nshape = \"complete\"\n\
                [capacity]\nvalues = [1, 2, 9000, 3, 4]\n\
                [[faults]]\nat = \"10s\"\ndo = \"crash\"\nnode = 2\n";
    let outcome = crate::run::run::<crate::Peer>(&Scenario::parse("test.toml", text).unwrap(), 1, &mut ());
    for service in &outcome.services {
        assert!(service.led * 10 > service.up * 6, "{service:?}");
    }
}
