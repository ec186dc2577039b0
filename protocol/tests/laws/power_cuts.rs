//! Power that fails at any instant: no boot repeats the nonces of another, and records never fall back.

use crate::support::prelude::*;
use protocol::Node;
use protocol::base::capacity::Capacity;
use protocol::base::membership::NoGroup;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::base::rng::Rng;
use protocol::election::Wireless;
use protocol::node::{Boot, Input, Stages};
use protocol::service::NoService;
use protocol::wire::{Cipher, FRAME_MAX, Nonce, Tag};
use std::collections::BTreeSet;
use std::sync::{self, Arc};

/// How often the power fails.
const CUTS: u32 = 1_000_000;

/// A cipher that only remembers its nonces.
#[derive(Clone, Debug, Default)]
struct Witness(Arc<sync::Mutex<BTreeSet<Nonce>>>);

impl Cipher for Witness {
    fn number(&self) -> u8 {
        0
    }

    fn knows(&self, _: u8) -> bool {
        true
    }

    fn for_group(&self, _: &[NodeId]) -> Self {
        self.clone()
    }

    fn seal(&self, nonce: &Nonce, _: &[u8], _: &mut [u8]) -> Tag {
        assert!(self.0.lock().unwrap().insert(*nonce), "a nonce is used twice: {nonce:?}");
        Tag::default()
    }

    fn fingerprint(&self) -> u16 {
        1
    }

    fn open(&self, _: u8, _: &Nonce, _: &[u8], _: &mut [u8], _: &Tag) -> Option<()> {
        Some(())
    }
}

/// What a store holds after a torn write: the records before or the new ones, and not always the same when it is read
/// again. A write that is done ends that.
struct Torn {
    before: Records,
    new: Records,
}

#[test]
fn no_nonce_is_used_twice_and_no_record_falls_back_whenever_the_power_fails() {
    let (witness, mut rng) = (Witness::default(), Rng::new(1));
    let mut stored = Torn { before: Records::FACTORY, new: Records::FACTORY };
    let (mut sent, mut torn) = (0, 0);
    for cut in 0..CUTS {
        let key = witness.clone();
        let config = Config { me: NodeId(1), key, hops: 1, may_lead: true, mode: Mode::Available, timing: Timing::LAN };
        let records = if rng.next_u32() % 2 == 0 { stored.before } else { stored.new };
        let boot = Boot { records: Some(records), capacity: None, seed: cut.into() };
        let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
        let mut node = Node::<_, _, 4, _, NoGroup, _>::new(config, &NoGroup, boot, Instant::ZERO, stages).unwrap();
        node.handle(Instant::ZERO, Input::Capacity(Some(Capacity::MAX)));
        let mut steps = rng.next_u32() % 12;
        let mut now = Instant::ZERO;
        // The power fails before a write, in the midst of one, or after it.
        'powered: while steps > 0 {
            while let Some(records) = node.poll_persist() {
                assert!(records.incarnation >= stored.before.incarnation);
                assert!(records.term >= stored.before.term && records.lamport >= stored.before.lamport);
                if rng.next_u32() % 4 == 0 {
                    torn += 1;
                    stored.new = records;
                    break 'powered;
                }
                stored = Torn { before: records, new: records };
            }
            while node.poll_transmit(now, &mut [0; FRAME_MAX]).is_some() {
                sent += 1;
            }
            while node.poll_notice().is_some() {}
            now = node.deadline().unwrap_or(now).max(now);
            node.handle(now, Input::Timeout);
            steps -= 1;
        }
    }
    assert!(
        sent > CUTS && torn > CUTS / 5 && stored.before.incarnation > CUTS / 4,
        "{sent} frames, {torn} torn writes"
    );
}
