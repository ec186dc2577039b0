//! A group whose numbers are used up goes on under another key.

use crate::support::prelude::*;
use protocol::base::capacity::Capacity;
use protocol::base::keyring::Keyring;
use protocol::base::membership::NoGroup;
use protocol::base::records::Records;
use protocol::election::Wireless;
use protocol::node::{Boot, Halt, Input, Node, Stages};
use protocol::service::NoService;
use protocol::wire::{FRAME_MAX, Key};

type Board = Node<Wireless, NoMutex, 8, NoService, NoGroup, Keyring>;

const OLD: [u8; 16] = [1; 16];
const NEW: [u8; 16] = [2; 16];

/// Boots a node with these keys and records; returns it and the records it wrote.
fn boot(keys: Keyring, records: Records) -> (Board, Records) {
    let Config { me, hops, may_lead, mode, timing, .. } = config(1);
    let config = Config { me, key: keys, hops, may_lead, mode, timing };
    let records = Records { flaps: 0, ..records }; // a node that has just rebooted would wait before it leads itself alone
    let boot = Boot { records: Some(records), capacity: Some(Capacity::new(500)), seed: 7 };
    let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
    let mut node = Board::new(config, &NoGroup, boot, Instant::ZERO, stages).unwrap();
    let mut now = Instant::ZERO;
    let mut written = records;
    for _ in 0..300 {
        node.handle(now, Input::Timeout);
        written = node.poll_persist().unwrap_or(written);
        while node.poll_transmit(now, &mut [0; FRAME_MAX]).is_some() {}
        while node.poll_notice().is_some() {}
        now = now.after(Duration::from_millis(100));
    }
    (node, written)
}

fn old_alone() -> Keyring {
    Keyring::new(Key::new(OLD), 3)
}

fn new_alone() -> Keyring {
    Keyring::new(Key::new(NEW), 4)
}

/// The records of a node that was stopped by an insider.
fn spent() -> Records {
    let (node, records) = boot(old_alone(), Records { incarnation: 9, term: u32::MAX, ..Records::FACTORY });
    assert_eq!(node.halted(), Some(Halt::Numbers));
    records
}

#[test]
fn a_node_whose_terms_are_used_up_leads_again_under_the_next_key() {
    let (node, records) = boot(new_alone(), spent());
    assert_eq!(node.halted(), None);
    assert_eq!(node.leader().map(|(leader, term)| (leader, term.number)), Some((config(1).me, 1)));
    assert_eq!(records.incarnation, 11, "boots are counted on");
    let (again, _) = boot(new_alone(), records);
    assert!(again.leader().expect("it leads").1.number > 1, "and terms grow under that key");
}

#[test]
fn while_the_key_changes_and_under_the_old_one_it_stays_stopped() {
    for keys in [old_alone(), new_alone().after(Key::new(OLD))] {
        let (node, records) = boot(keys, spent());
        assert_eq!((node.halted(), records.term), (Some(Halt::Numbers), u32::MAX));
    }
}

#[test]
fn a_change_of_the_key_takes_nothing_from_numbers_that_are_not_spent() {
    let (_, before) = boot(old_alone(), Records { incarnation: 9, term: 1_000_000, ..Records::FACTORY });
    let (node, after) = boot(new_alone(), before);
    assert!(node.leader().expect("it leads").1.number > before.term && after.term > before.term);
}
