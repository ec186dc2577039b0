//! The failure detector on whole nodes.

mod common;

use common::faults::worth;
use common::{Net, config, line};
use protocol::Span;
use protocol::election::Bully;
use protocol::mutex::NoMutex;

#[test]
fn e10_over_several_hops_nobody_is_suspected_where_nothing_is_lost() {
    for seed in 0..10 {
        let mut net = Net::new(6, line, |index| (config(index), Bully::default(), NoMutex)).in_group().worth(worth);
        for index in 0..6 {
            net.run(Span::from_millis(7 * seed));
            net.boot(index);
        }
        net.run(Span::from_secs(60));
        net.notices.clear();
        net.run(Span::from_secs(600));
        assert!(net.notices.is_empty(), "seed {seed}: {:?}", net.notices);
    }
}
