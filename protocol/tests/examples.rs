//! The examples do what they say, and stay short.

#[path = "../examples/lock_with_fence.rs"]
mod lock_with_fence;
#[allow(dead_code, reason = "its `main` reads the command line")]
#[path = "../examples/own_application.rs"]
mod own_application;
#[path = "../examples/three_nodes.rs"]
mod three_nodes;

#[test]
fn three_nodes_elect_the_best() {
    three_nodes::main();
}

#[test]
fn three_counters_on_this_machine_agree() {
    own_application::three_nodes();
}

#[test]
fn a_holder_that_slept_is_refused_by_the_resource() {
    lock_with_fence::main();
}

#[test]
fn no_example_is_longer_than_120_lines() {
    for (name, text) in [
        ("three_nodes", include_str!("../examples/three_nodes.rs")),
        ("own_application", include_str!("../examples/own_application.rs")),
        ("counter", include_str!("../examples/counter/mod.rs")),
        ("lock_with_fence", include_str!("../examples/lock_with_fence.rs")),
        ("simulate_my_app", include_str!("../../host-sim/examples/simulate_my_app.rs")),
    ] {
        assert!(text.lines().count() <= 120, "{name}");
    }
}
