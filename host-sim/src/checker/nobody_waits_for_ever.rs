//! Settled: whoever wants a lock has not waited for it longer than the network has been calm and had to agree.

use super::Settled;

pub(super) const NAME: &str = "nobody-waits-for-ever";

pub(super) fn check(settled: &Settled) -> impl Iterator<Item = String> {
    settled.wanting.iter().filter_map(|wanting| {
        let node = settled.node(wanting.node).filter(|node| settled.can_be_led(node.region))?;
        let waited = settled.at.saturating_sub(wanting.since.max(settled.disturbed_at));
        (waited >= settled.calm).then(|| {
            let seconds = waited as f64 / 1e6;
            format!("node {} has waited for lock {} for {seconds:.1} s in a calm network", node.name, wanting.lock)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::settled::{Wanting, agreeing};
    use super::*;

    #[test]
    fn a_waiter_is_reported_when_it_waited_as_long_as_the_network_was_calm() {
        let mut settled = agreeing(4, 3);
        (settled.at, settled.disturbed_at, settled.calm) = (30_000_000, 10_000_000, 15_000_000);
        settled.wanting = vec![Wanting { node: 1, lock: 0, since: 16_000_000 }];
        assert_eq!(check(&settled).count(), 0, "it has not waited long");
        settled.wanting = vec![Wanting { node: 1, lock: 0, since: 2_000_000 }];
        let expected = ["node 1 has waited for lock 0 for 20.0 s in a calm network"];
        assert_eq!(check(&settled).collect::<Vec<_>>(), expected);
        settled.quorum = 5;
        assert_eq!(check(&settled).count(), 0, "too few are left to grant anything");
    }
}
