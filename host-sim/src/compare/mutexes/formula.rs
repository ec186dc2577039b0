//! The number of messages of one entry and exit by its formula.

use super::Case;

/// Returns the messages of one entry and exit by a node that is not the coordinator; `None` if no formula is known.
/// `set` is the mean size of a voting set, for locks that have them.
///
/// With a crash, it is the formula of the same contention without one. Maekawa's under contention is an upper bound.
pub(super) fn messages(algorithm: &str, nodes: u32, case: Case, set: Option<f64>) -> Option<f64> {
    let others = f64::from(nodes) - 1.0;
    Some(match (algorithm, case) {
        // Request, grant, release.
        ("central", _) => 3.0,
        // Request and reply, with each other node.
        ("ricart-agrawala", _) => 2.0 * others,
        // Request, acknowledgement and release, with each other node.
        ("lamport", _) | ("voting", Case::Uncontended) => 3.0 * others,
        // Request, grant and release with the others of the set; at worst inquire, relinquish and failed too.
        ("maekawa", Case::Uncontended) => 3.0 * (set? - 1.0),
        ("maekawa", _) => 6.0 * (set? - 1.0),
        // Request to each other node, and the token; an idle token needs a fresh lease besides.
        ("suzuki-kasami", Case::Contended) => others + 1.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_give_the_published_numbers() {
        let of = |algorithm| messages(algorithm, 16, Case::Uncontended, Some(7.0));
        let known = [("central", 3.0), ("ricart-agrawala", 30.0), ("lamport", 45.0), ("maekawa", 18.0)];
        for (algorithm, number) in known {
            assert_eq!(of(algorithm), Some(number), "{algorithm}");
        }
        assert_eq!(messages("maekawa", 16, Case::Contended, Some(7.0)), Some(36.0));
        assert_eq!(messages("suzuki-kasami", 16, Case::Contended, None), Some(16.0));
        assert_eq!(of("token-ring"), None, "from one to any number");
    }
}
