//! The network on which algorithms are compared.

use crate::queue::Micros;
use crate::scenario::Scenario;

/// How long a frame takes, to everybody: one message time.
pub const HOP: Micros = 1_000;

/// How long nodes are up before anything is asked of them: everybody has heard of everybody, several times.
pub const WARM_UP: Micros = 3_000_000;

/// Everybody hears everybody, every frame takes [`HOP`], all are worth the same, and nobody begins an election before
/// it is asked to.
///
/// # Panics
/// Where there is no such election, or no network of so many nodes.
#[must_use]
pub fn ground(election: &str, nodes: u32) -> Scenario {
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
settle = "1h"
"#
    );
    Scenario::parse("the ground of a comparison", &text).unwrap_or_else(|error| panic!("{error}"))
}
