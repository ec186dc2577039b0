//! The number of messages of an election by its formula.

use super::trial::Start;

/// Returns the messages of one election without faults; `None` if no formula is known.
///
/// For bully, `nodes` includes the coordinator that crashed. It is asked like the others, so the best start costs n -
/// 1; an election that skips members known to be down would cost one less.
pub(super) fn messages(algorithm: &str, nodes: u32, start: Start) -> Option<f64> {
    let n = f64::from(nodes);
    // Capacities are equal, so ids decide: how many members outrank the starter, or how many hops it is to the best.
    let better = match start {
        Start::One(starter) => Some(n - 1.0 - f64::from(starter)),
        Start::All => None,
    };
    Some(match (algorithm, better) {
        // The starter and each of the `better` members ask those above them; all but the crashed one answer.
        ("bully", Some(better)) => better * better + n - 2.0,
        ("ring", Some(_)) => 2.0 * n,
        ("chang-roberts", Some(better)) => better + 2.0 * n,
        // The candidates passed on; announcing the result takes n more.
        ("chang-roberts", None) => n * (1..=nodes).map(|k| 1.0 / f64::from(k)).sum::<f64>(),
        ("lelann", _) => n * n,
        ("wireless" | "wireless-flat", Some(_)) => 3.0 * n - 1.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_give_the_published_numbers() {
        let worst = [4, 8, 16].map(|nodes| messages("bully", nodes, Start::One(0)));
        assert_eq!(worst, [Some(11.0), Some(55.0), Some(239.0)]);
        assert_eq!(messages("bully", 8, Start::One(6)), Some(7.0));
        assert_eq!(messages("chang-roberts", 9, Start::One(0)), Some(26.0));
        assert_eq!(messages("chang-roberts", 9, Start::One(8)), Some(18.0));
        for (nodes, average) in [(8, 21.7), (16, 54.1), (64, 303.6)] {
            let number = messages("chang-roberts", nodes, Start::All).unwrap();
            assert!((number - average).abs() < 0.05, "{number}");
        }
        assert_eq!(messages("unknown", 4, Start::One(0)), None);
    }
}
