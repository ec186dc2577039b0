//! Settled: no request for a lock has waited as long as a calm network needs to agree.

use super::Settled;

pub(super) const NAME: &str = "nobody-waits-for-ever";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.waiters.iter().filter_map(|waiter| {
        let node = settled.node(waiter.node).filter(|node| settled.can_be_led(node.region))?;
        let waited = settled.at.saturating_sub(waiter.since.max(settled.disturbed_at));
        (waited >= settled.settle_time).then(|| {
            let seconds = waited as f64 / 1e6;
            format!("node {} has waited for lock {} for {seconds:.1} s in a calm network", node.id, waiter.lock)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::settled::Waiter;
    use super::super::test_support::agreeing;
    use super::*;

    #[test]
    fn a_waiter_is_reported_when_it_waited_as_long_as_the_network_was_calm() {
        let mut settled = agreeing(4, 3);
        (settled.at, settled.disturbed_at, settled.settle_time) = (30_000_000, 10_000_000, 15_000_000);
        settled.waiters = vec![Waiter { node: 1, lock: 0, since: 16_000_000 }];
        assert_eq!(check(&settled).count(), 0, "it has not waited long");
        settled.waiters[0].since = 2_000_000;
        let expected = ["node 1 has waited for lock 0 for 20.0 s in a calm network"];
        assert_eq!(check(&settled).collect::<Vec<_>>(), expected);
        settled.quorum = 5;
        assert_eq!(check(&settled).count(), 0, "too few are left to grant anything");
    }
}
