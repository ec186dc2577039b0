//! The cost of an election grows with the network's diameter, not with its size.

use host_sim::Scenario;
use host_sim::metrics::run::run_of;
use host_sim::metrics::seeds::{Report, report};

/// Runs one election, started by one node, without loss and collisions.
fn election(nodes: u32) -> Report {
    let text = format!(
        r#"
name = "scale"
nodes = {nodes}
duration = "8s"

[topology]
shape = "geometric"

[medium]
range_max = 15.0
csma = false
collisions = false

[timing]
boot_wait = "1h"
jitter = "0ms"

[[faults]]
at = "5s"
do = "call"
node = 0
"#
    );
    let scenario = Scenario::parse("scale.toml", &text, &[]).unwrap();
    report(&scenario, &[run_of(&scenario, 1, &mut ())])
}

#[test]
fn time_follows_the_depth_and_frames_follow_the_nodes() {
    for nodes in [100, 1_000, 10_000] {
        let report = election(nodes);
        assert_eq!((report.converged, report.leader_is_best), (1, 1), "{nodes} nodes");
        let stretch = report.measures["stretch_per_mille"].max;
        assert!(stretch <= 1_500, "{nodes} nodes: {stretch} thousandths of three floods");
        let broadcasts = report.frames["election"] + report.frames["leader"];
        assert!(broadcasts <= 3.0 * f64::from(nodes), "{nodes} nodes: {broadcasts} broadcasts");
        assert!(
            report.frames["report"] <= 1.05 * f64::from(nodes),
            "{nodes} nodes: {} replies",
            report.frames["report"]
        );
    }
}
