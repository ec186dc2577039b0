//! The laws of every election.

use crate::histories::{Event, Laws, bytes, cases, check, encoded, history, peer_fact, set};
use proptest::prelude::*;
use protocol::election::bully::{self, Bully, Recovery, Transport};
use protocol::election::{Command, Direction, Election, Ring, ring};
use protocol::wire::Kind;
use std::fmt::Debug;

/// A piece of a message: a small number, be it of a term, an id or a capacity, a set, any byte.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        20 => (0..6_u8).prop_map(|number| vec![number]),
        1 => set().prop_map(encoded),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event<Command>>> {
    history(bytes(piece()), (1, prop_oneof![Just(Command::Call), Just(Command::Yield)]), peer_fact())
}

fn hold<E>(election: E, kind: Kind, history: Vec<Event<Command>>) -> Result<(), TestCaseError>
where
    E: Election<Message: PartialEq + Debug> + Clone + PartialEq + Debug,
{
    check(election, &Laws { kinds: &[kind], duplicates: true }, history, |_| Ok(()))
}

macro_rules! every_election_keeps_the_laws {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {
        proptest! {
            #![proptest_config(cases(4_000))]

            $(#[test]
            fn $module(history in events()) {
                hold(protocol::election::$name::default(), protocol::election::$name::KIND, history)?;
            })+
        }
    };
}

protocol::for_each_election! { every_election_keeps_the_laws }

fn options() -> impl Strategy<Value = bully::Options> {
    let recovery = prop_oneof![Just(Recovery::Ask), Just(Recovery::Elect), Just(Recovery::Announce)];
    let transport = prop_oneof![Just(Transport::Unicast), Just(Transport::Broadcast)];
    (recovery, transport, any::<bool>(), any::<bool>()).prop_map(|(recovery, transport, skip_suspected, alert)| {
        bully::Options { recovery, transport, skip_suspected, alert }
    })
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn bully_keeps_the_laws_with_any_options(options in options(), history in events()) {
        hold(Bully::new(options), Bully::KIND, history)?;
    }

    #[test]
    fn ring_keeps_the_laws_with_any_options(history in events(), successors in 0..3_u8) {
        let (direction, winner) = (Direction::Backward, protocol::election::Winner::Lowest);
        hold(Ring::new(ring::Options { direction, winner, successors }), Ring::KIND, history)?;
    }
}
