//! The network on which algorithms are compared.

use crate::base::Micros;
use crate::scenario::Scenario;

/// How long a frame takes to every node: one message time.
pub(super) const HOP: Micros = 1_000;

/// How long nodes are up before a trial: each has received frames of each other several times.
pub(super) const WARM_UP: Micros = 3_000_000;

/// Returns a complete network on which every frame takes [`HOP`], all capacities are equal, and no node begins an
/// election before it is asked to.
pub(super) fn lan_scenario(election: &str, nodes: u32) -> Scenario {
    let text = format!(
        r#"
name = "compare"
nodes = {nodes}
duration = "2m"
election = "{election}"

[topology]
shape = "complete"

[medium]
kind = "lan"
delay = "{HOP}us"

[capacity]
rule = "equal"

[timing]
boot_wait = "1h"
"#
    );
    Scenario::parse("the scenario of a comparison", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}
