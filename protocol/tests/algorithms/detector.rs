//! The failure detector on whole nodes.

use crate::election_chaos::capacity;
use crate::support::prelude::*;
use protocol::election::Bully;

#[test]
fn e10_over_several_hops_no_node_is_suspected_where_nothing_is_lost() {
    for seed in 0..10 {
        let make = |index| (config(index), Bully::default(), NoMutex);
        let mut net = Net::new(6, line, make).in_group().with_capacities(capacity);
        for index in 0..6 {
            net.run(Duration::from_millis(7 * seed)).boot(index);
        }
        net.run_secs(60);
        net.notices.clear();
        net.run_secs(600);
        assert!(net.notices.is_empty(), "seed {seed}: {:?}", net.notices);
    }
}
