//! Laws that hold for every algorithm, whatever is said to it.
//!
//! Each is driven through random histories: messages that could never be said, facts that contradict each other,
//! timeouts early and late. After every step the laws are checked on the state reached.

mod common;

use common::laws::{Event, hold, news, node, set, standing, term};
use proptest::prelude::*;
use protocol::capacity::Capacity;
use protocol::election::bully::{self, Bully, Manner, Recovery, Rules};
use protocol::election::reign::Word;
use protocol::election::{
    ChangRoberts, Command, Direction, Lelann, Ring, Wireless, WirelessFlat, chang_roberts, lelann, ring, wireless,
    wireless_flat,
};
use std::fmt::Debug;

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        (term(), standing(), proptest::option::of(standing()), any::<u8>())
            .prop_map(|(term, leader, second, age)| Word::Leader { term, leader, second, age }),
        (term(), standing(), 1..12_u32, any::<u8>()).prop_map(|(term, leader, beat, age)| Word::Beat {
            term,
            leader,
            beat,
            age
        }),
        term().prop_map(|term| Word::Raise { term }),
    ]
}

fn wireless_message() -> impl Strategy<Value = wireless::Message> {
    let (best, second) = (proptest::option::of(standing()), proptest::option::of(standing()));
    prop_oneof![
        (term(), node()).prop_map(|(index, parent)| wireless::Message::Election { index, parent }),
        (term(), node()).prop_map(|(index, parent)| wireless::Message::Probe { index, parent }),
        (term(), best, second).prop_map(|(index, best, second)| wireless::Message::Ack { index, best, second }),
        word().prop_map(Into::into),
    ]
}

fn flat_message() -> impl Strategy<Value = wireless_flat::Message> {
    prop_oneof![
        term().prop_map(|index| wireless_flat::Message::Election { index }),
        (term(), standing()).prop_map(|(index, candidate)| wireless_flat::Message::Answer { index, candidate }),
        word().prop_map(Into::into),
    ]
}

fn ring_message() -> impl Strategy<Value = ring::Message> {
    let candidates = || (proptest::option::of(standing()), proptest::option::of(standing()));
    prop_oneof![
        3 => (term(), set(), candidates()).prop_map(|(term, members, (first, second))| {
            ring::Message::Election(ring::List { term, members, first, second })
        }),
        3 => (term(), standing(), proptest::option::of(standing()), set()).prop_map(|(term, leader, second, ring)| {
            ring::Message::Coordinator(ring::Outcome { term, leader, second, ring })
        }),
        1 => term().prop_map(|term| ring::Message::Seek { term }),
        1 => term().prop_map(|term| ring::Message::Here { term }),
        2 => word().prop_map(Into::into),
    ]
}

fn chang_roberts_message() -> impl Strategy<Value = chang_roberts::Message> {
    use chang_roberts::Message as M;
    prop_oneof![
        (0..5_u32, proptest::option::of(standing())).prop_map(|(round, candidate)| M::Election { round, candidate }),
        (term(), standing()).prop_map(|(term, leader)| M::Elected { term, leader }),
        word().prop_map(Into::into),
    ]
}

fn lelann_message() -> impl Strategy<Value = lelann::Message> {
    let number = (0..5_u32, node(), proptest::option::of(0..6_u16), 0..6_u8);
    prop_oneof![
        number.prop_map(|(round, owner, capacity, hops)| {
            let capacity = capacity.map(|capacity| Capacity::new(capacity * 1_000));
            lelann::Message::Number(lelann::Number { round, owner, capacity, hops })
        }),
        word().prop_map(Into::into),
    ]
}

fn bully_message() -> impl Strategy<Value = bully::Message> {
    let caller = || proptest::option::of(standing());
    prop_oneof![
        (term(), caller()).prop_map(|(term, caller)| bully::Message::Election { term, caller }),
        term().prop_map(|term| bully::Message::Ok { term }),
        (term(), standing(), caller()).prop_map(|(term, leader, second)| bully::Message::Coordinator {
            term,
            leader,
            second
        }),
        term().prop_map(|term| bully::Message::Alert { term }),
        Just(bully::Message::Ask),
        (term(), caller()).prop_map(|(term, caller)| bully::Message::Shout { term, caller }),
        word().prop_map(Into::into),
    ]
}

fn rules() -> impl Strategy<Value = Rules> {
    let recovery = prop_oneof![Just(Recovery::Ask), Just(Recovery::Elect), Just(Recovery::Announce)];
    let manner = prop_oneof![Just(Manner::Letters), Just(Manner::Shouts)];
    (recovery, manner, any::<bool>(), any::<bool>()).prop_map(|(recovery, manner, skip_suspected, alert)| Rules {
        recovery,
        manner,
        skip_suspected,
        alert,
    })
}

fn history<M: Debug + Clone>(message: impl Strategy<Value = M>) -> impl Strategy<Value = Vec<Event<M, Command>>> {
    common::laws::history(message, (1, prop_oneof![Just(Command::Call), Just(Command::Yield)]), news())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_wireless_election_keeps_the_laws(history in history(wireless_message())) {
        hold(Wireless::new(), history)?;
    }

    #[test]
    fn the_bully_election_keeps_the_laws(rules in rules(), history in history(bully_message())) {
        hold(Bully::new(rules), history)?;
    }

    #[test]
    fn the_flat_wireless_election_keeps_the_laws(history in history(flat_message())) {
        hold(WirelessFlat::new(), history)?;
    }

    #[test]
    fn the_ring_election_keeps_the_laws(history in history(ring_message())) {
        hold(Ring::default(), history)?;
    }

    #[test]
    fn the_ring_election_keeps_the_laws_under_any_rules(history in history(ring_message()), successors in 0..3_u8) {
        let (direction, winner) = (Direction::Back, ring::Winner::Lowest);
        hold(Ring::new(ring::Rules { direction, winner, successors }), history)?;
    }

    #[test]
    fn the_chang_roberts_election_keeps_the_laws(history in history(chang_roberts_message())) {
        hold(ChangRoberts::new(), history)?;
    }

    #[test]
    fn the_lelann_election_keeps_the_laws(history in history(lelann_message())) {
        hold(Lelann::new(), history)?;
    }
}
