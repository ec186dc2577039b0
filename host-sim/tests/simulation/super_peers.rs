//! Clusters and requests, on networks small enough for every test run; the shipped scenarios are the large ones.

use crate::support::{converges, load, passes};
use host_sim::Scenario;

fn scattered(nodes: u32, rest: &str) -> Scenario {
    let text = format!(
        r#"
name = "scattered"
nodes = {nodes}
duration = "90s"
settle_time = "60s"
boot_spread = "1s"
election = "clusters"
{rest}
[topology]
shape = "geometric"
degree = 12

[medium]
loss = "10%"
"#
    );
    Scenario::parse("scattered.toml", &text, &[]).unwrap()
}

#[test]
fn scattered_nodes_settle_in_clusters_around_the_best_of_them() {
    converges(&scattered(100, ""), 4);
}

#[test]
fn across_one_way_links_no_two_super_peers_stay_in_reach_of_each_other() {
    passes(&load("one-way-links").with_election("clusters").unwrap(), 4);
}

#[test]
fn requests_end_once_and_nearly_all_are_answered() {
    let report = passes(&scattered(60, "service = { every = \"3s\", answer = \"10ms\" }"), 2);
    let count = |name: &str| report.measures[name].max;
    assert!(count("requests_answered") > 1_000, "{:?}", report.measures);
    assert!(count("requests_timed_out") + count("requests_refused") <= 40, "{:?}", report.measures);
    assert!(report.measures["round_trip_us"].p50 <= 500_000);
}

#[test]
fn super_peers_that_crash_make_no_request_end_twice_or_be_handled_twice() {
    let crashes = r#"
faults = [{ at = "10s", do = "crash", node = "leader", for = ["10ms", "8s"], every = "5s", times = 10 }]
service = { every = "3s", answer = "100ms" }"#;
    passes(&scattered(40, crashes), 2);
}
