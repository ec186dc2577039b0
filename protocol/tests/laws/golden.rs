//! The wire format, byte by byte. A change here is a change of [`protocol::wire::VERSION`].

use heapless::Vec;
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::election::leadership::{Heir, LeaderMessage};
use protocol::election::{bully, chang_roberts, clusters, invitation, lelann, ring, wireless, wireless_flat};
use protocol::lease;
use protocol::link::{Ack, Acks, RELIABLE_MAX, Refusal};
use protocol::members::{self, Ballot, Change, List, Phase, Round};
use protocol::mutex::Fence;
use protocol::peers::detector::{AdvertisedCapacity, Heartbeat};
use protocol::peers::table::Hello;
use protocol::service::application::{CHANNEL_MESSAGE_MAX, ChannelMessage};
use protocol::service::demo::{counter, diffusing::Work, tokens::Give};
use protocol::service::snapshot::{self, AbortReason, Fragment};
use protocol::service::termination::{dijkstra_scholten, wave};
use protocol::service::{clock_sync, commit, sequencer};
use protocol::wire::{
    self, Attempt, Boots, Cipher, Destination, FRAME_MAX, Key, Kind, Origin, Packet, Payload, Reach, Recipients,
    Relays, ReliableHeader, TAG_BYTES,
};
use protocol::{Duration, NodeId, NodeSet};
use std::fmt::Debug;

const KEY: Key = Key::new([0; 16]);

/// 300 as it travels.
pub(crate) const X: &[u8] = &[0xAC, 2];

pub(crate) const TERM: Term = Term { number: 5, by: NodeId(300) };
pub(crate) const T: &[u8] = &[5, 0xAC, 2];

/// The longest term.
pub(crate) const TERM_MAX: Term = Term { number: u32::MAX, by: NodeId(u32::MAX) };

fn leader() -> Candidate {
    Candidate { capacity: Capacity::new(1_000), id: NodeId(301) }
}

/// The leader as it travels.
const L: &[u8] = &[0xE8, 7, 0xAD, 2];

fn longest_candidate() -> Candidate {
    Candidate { capacity: Capacity::MAX.as_incumbent(), id: NodeId(u32::MAX) }
}

/// Messages, and the pieces each is encoded as.
pub(crate) type Cases<'a, M> = [(M, &'a [&'a [u8]])];

/// Each message is of the kind of this number, is encoded as these pieces, one after the other, and decodes to itself.
pub(crate) fn pin<M: Payload + PartialEq + Debug>(number: u8, cases: &Cases<M>) {
    let kind = Kind::new(number);
    for (message, pieces) in cases {
        let mut buffer = [0; FRAME_MAX];
        let len = message.encode(&mut buffer).unwrap();
        assert_eq!(buffer[..len], pieces.concat(), "{message:?}");
        assert_eq!(message.kind(), kind);
        assert_eq!(M::decode(kind, &buffer[..len]).as_ref(), Some(message));
        assert_eq!(M::decode(Kind::HELLO, &buffer[..len]), None, "{message:?} is of one kind only");
        buffer[len] = 0;
        assert_eq!(M::decode(kind, &buffer[..=len]), None, "{message:?} has nothing after it");
    }
}

/// The length of a message, which decodes to itself.
pub(crate) fn length<M: Payload + PartialEq + Debug>(message: &M) -> usize {
    let mut buffer = [0; FRAME_MAX];
    let len = message.encode(&mut buffer).unwrap();
    assert_eq!(M::decode(message.kind(), &buffer[..len]).as_ref(), Some(message));
    len
}

/// Checks the lengths of the longest messages, which all fit a reliable message.
pub(crate) fn check_lengths(lengths: &[usize], expected: &[usize]) {
    assert_eq!(lengths, expected);
    assert!(lengths.iter().all(|&length| length <= RELIABLE_MAX), "{lengths:?}");
}

/// A function of this module's name pins the messages of every listed algorithm.
macro_rules! pinned {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {
        mod every_message_is_pinned {
            $(#[test] fn $module() { super::$module(); })+
        }
    };
}
pub(crate) use pinned;

protocol::for_each_election! { pinned }

fn wireless() {
    use wireless::Message as M;
    let (term, index, leader, parent) = (TERM, TERM, leader(), NodeId(1));
    let cases: &Cases<M> = &[
        (M::Leadership(LeaderMessage::Veto { term }), &[&[0, 5], T]),
        (M::Election { index, parent }, &[&[1], T, &[1]]),
        (M::Probe { index, parent }, &[&[2], T, &[1]]),
        (M::Report { index, best: Some(leader), runner_up: None }, &[&[3], T, &[1], L, &[0]]),
    ];
    pin(16, cases);
}

fn clusters() {
    use clusters::{Beacon, Message as M};
    let (term, capacity) = (TERM, Capacity::new(1_000));
    let beacon = Beacon { term, capacity, count: 9, pace: 2, hops: 1, age: 3, load: 4 };
    let cases: &Cases<M> = &[
        (M::Beacon(beacon), &[&[0], T, &[0xE8, 7, 9, 2, 1, 3, 4]]),
        (M::Resigned { term }, &[&[1], T]),
        (M::Report { by: NodeId(300), clients: 300, hops: 1, nonce: 7 }, &[&[2], X, X, &[1, 7]]),
        (M::Chief(beacon), &[&[3], T, &[0xE8, 7, 9, 2, 1, 3, 4]]),
        (M::ChiefResigned { term }, &[&[4], T]),
    ];
    pin(22, cases);
}

fn invitation() {
    use invitation::Message as M;
    let (group, term, coordinator) = (TERM, TERM, leader());
    let (forwarded, members) = (NodeSet::first(9), NodeSet::first(9));
    let cases: &Cases<M> = &[
        (M::Ask { term, coordinator: Some(coordinator) }, &[&[0], T, &[1], L]),
        (M::Ask { term, coordinator: None }, &[&[0], T, &[0]]),
        (M::Answer { term, coordinator: Some(coordinator), incumbent: true }, &[&[1], T, &[1], L, &[1]]),
        (M::Invitation { group, coordinator }, &[&[2], T, L]),
        (M::Accept { group, term, forwarded }, &[&[3], T, T, &[0xFF, 3]]),
        (M::Ready { group, term, members }, &[&[4], T, T, &[0xFF, 3]]),
        (M::Acknowledge { term }, &[&[5], T]),
        (M::Leadership(LeaderMessage::RaiseTerm { term }), &[&[6, 2], T]),
    ];
    pin(23, cases);
}

#[test]
fn every_message_of_groups_that_merge_fits_a_reliable_message() {
    use invitation::Message as M;
    let (group, term, members, coordinator) = (TERM_MAX, TERM_MAX, NodeSet::first(64), longest_candidate());
    let lengths = [
        length(&M::Ask { term, coordinator: Some(coordinator) }),
        length(&M::Answer { term, coordinator: Some(coordinator), incumbent: true }),
        length(&M::Invitation { group, coordinator }),
        length(&M::Accept { group, term, forwarded: members }),
        length(&M::Ready { group, term, members }),
        length(&M::Acknowledge { term }),
    ];
    check_lengths(&lengths, &[19, 20, 18, 31, 31, 11]);
}

fn wireless_flat() {
    use wireless_flat::Message as M;
    let (term, leader) = (TERM, leader());
    let elected = LeaderMessage::Elected { term, leader, runner_up: None, age: 3 };
    let heartbeat = LeaderMessage::Heartbeat { term, leader, runner_up: Some(leader), count: 9, age: 3 };
    let heir = Heir { number: 6, candidate: leader };
    let cases: &Cases<M> = &[
        (M::Election { index: term }, &[&[0], T]),
        (M::Answer { index: term, candidate: leader }, &[&[1], T, L]),
        (M::Leadership(elected), &[&[2, 0], T, L, &[0, 3]]),
        (M::Leadership(heartbeat), &[&[2, 1], T, L, &[1], L, &[9, 3]]),
        (M::Leadership(LeaderMessage::RaiseTerm { term }), &[&[2, 2], T]),
        (M::Leadership(LeaderMessage::Pulse { term, heir: Some(heir) }), &[&[2, 3], T, &[1, 6], L]),
        (M::Leadership(LeaderMessage::Pulse { term, heir: None }), &[&[2, 3], T, &[0]]),
        (M::Leadership(LeaderMessage::Doubt { term }), &[&[2, 4], T]),
        (M::Leadership(LeaderMessage::Veto { term }), &[&[2, 5], T]),
        (M::Leadership(LeaderMessage::Bid { term, candidate: leader }), &[&[2, 6], T, L]),
    ];
    pin(17, cases);
}

fn bully() {
    use bully::Message as M;
    let (term, leader) = (TERM, leader());
    let cases: &Cases<M> = &[
        (M::Election { term, caller: Some(leader) }, &[&[0], T, &[1], L]),
        (M::Ok { term }, &[&[1], T]),
        (M::Coordinator { term, leader, runner_up: None }, &[&[2], T, L, &[0]]),
        (M::Alert { term }, &[&[3], T]),
        (M::Ask, &[&[4]]),
        (M::Broadcast { term, caller: None }, &[&[5], T, &[0]]),
        (M::Leadership(LeaderMessage::RaiseTerm { term }), &[&[6, 2], T]),
    ];
    pin(18, cases);
}

fn ring() {
    use ring::{List, Message as M, Outcome};
    let (term, leader) = (TERM, leader());
    let members = NodeSet::slot(0).with(NodeSet::slot(9));
    let list = List { term, members, best: Some(leader), runner_up: None };
    let cases: &Cases<M> = &[
        (M::Election(list), &[&[0], T, &[0x81, 4, 1], L, &[0]]),
        (M::Coordinator(Outcome { term, leader, runner_up: None, members }), &[&[1], T, L, &[0, 0x81, 4]]),
        (M::Seek { term }, &[&[2], T]),
        (M::Here { term }, &[&[3], T]),
        (M::Leadership(LeaderMessage::RaiseTerm { term }), &[&[4, 2], T]),
    ];
    pin(19, cases);
}

fn chang_roberts() {
    use chang_roberts::Message as M;
    let (term, leader) = (TERM, leader());
    let cases: &Cases<M> = &[
        (M::Election { round: 5, candidate: Some(leader) }, &[&[0, 5, 1], L]),
        (M::Election { round: 5, candidate: None }, &[&[0, 5, 0]]),
        (M::Elected { term, leader }, &[&[1], T, L]),
        (M::Leadership(LeaderMessage::RaiseTerm { term }), &[&[2, 2], T]),
    ];
    pin(20, cases);
}

fn lelann() {
    use lelann::{Message as M, Number};
    let number = |capacity| M::Number(Number { round: 5, owner: NodeId(301), capacity, hops: 3 });
    let cases: &Cases<M> = &[
        (number(Some(Capacity::new(1_000))), &[&[0, 5, 0xAD, 2, 1, 0xE8, 7, 3]]),
        (number(None), &[&[0, 5, 0xAD, 2, 0, 3]]),
        (M::Leadership(LeaderMessage::RaiseTerm { term: TERM }), &[&[1, 2], T]),
    ];
    pin(21, cases);
}

#[test]
fn every_message_that_goes_round_a_ring_fits_a_reliable_message() {
    let (term, leader, members) = (TERM_MAX, longest_candidate(), NodeSet::first(64));
    let runner_up = Some(leader);
    let list = ring::List { term, members, best: runner_up, runner_up };
    let number = lelann::Number { round: u32::MAX, owner: leader.id, capacity: Some(leader.capacity), hops: u8::MAX };
    let lengths = [
        length(&ring::Message::Election(list)),
        length(&ring::Message::Coordinator(ring::Outcome { term, leader, runner_up, members })),
        length(&chang_roberts::Message::Election { round: u32::MAX, candidate: runner_up }),
        length(&chang_roberts::Message::Elected { term, leader }),
        length(&lelann::Message::Number(number)),
    ];
    check_lengths(&lengths, &[37, 36, 14, 18, 15]);
}

#[test]
fn every_message_of_the_lease_is_pinned() {
    use lease::Message as M;
    let (term, count, id) = (TERM, 7, NodeId(300));
    let granted = [NodeSet::first(9), NodeSet::EMPTY, NodeSet::slot(2)];
    let cases: &Cases<M> = &[
        (
            M::Grant { term, depth: 5, asks: true, view_number: 2, count, granted },
            &[&[0], T, &[5, 1, 2, 7, 0xFF, 3, 0, 4]],
        ),
        (M::View { term, number: 2, members: NodeSet::first(9) }, &[&[1], T, &[2, 0xFF, 3]]),
        (M::Release { term, count, leader: id }, &[&[2], T, &[7], X]),
    ];
    pin(28, cases);
}

#[test]
fn heartbeat_hello_and_ack_are_pinned() {
    fn encoded(value: &impl serde::Serialize) -> std::vec::Vec<u8> {
        postcard::to_vec::<_, 32>(value).unwrap().to_vec()
    }
    let advertised = AdvertisedCapacity::of(Some(leader()));
    let relayed = Vec::from_slice(&[(2, advertised), (0, AdvertisedCapacity::UNFIT)]).unwrap();
    let (unconfirmed, named) = (NodeSet::slot(0).with(NodeSet::slot(2)), Vec::from_slice(&[(1, 300)]).unwrap());
    let heartbeat = Heartbeat {
        advertised,
        counts: Vec::from_slice(&[1, 0, 200]).unwrap(),
        relayed,
        lamport: LamportTime(300),
        unconfirmed,
        named,
    };
    assert_eq!(encoded(&heartbeat), [0xEA, 7, 3, 1, 0, 200, 2, 2, 0xEA, 7, 0, 1, 0xAC, 2, 5, 1, 1, 0xAC, 2]);
    let named = Vec::from_slice(&[Origin { id: NodeId(4), incarnation: 300 }]).unwrap();
    let listed = Vec::from_slice(&[NodeId(1), NodeId(300)]).unwrap();
    let hello = Hello { complete: true, waiting: 1, guests: 0, named, listed };
    assert_eq!(encoded(&hello), [1, 1, 0, 1, 4, 0xAC, 2, 2, 1, 0xAC, 2]);
    let (origin, by) = (NodeId(300), NodeSet::slot(2));
    let here = Ack { origin, incarnation: 2, seq: 3, via: None, by: NodeSet::EMPTY };
    let far = Ack { origin, incarnation: 2, seq: 3, via: Some(7), by };
    let refused = Some(Refusal { origin, incarnation: 2, seq: 3, via: Some(7), by: NodeId(4), boot: 5 });
    let accepted = Vec::from_slice(&[here, far]).unwrap();
    let both = [2, 0xAC, 2, 2, 3, 0, 0, 0xAC, 2, 2, 3, 1, 7, 4];
    assert_eq!(encoded(&Acks { accepted: accepted.clone(), refused: None }), [&both[..], &[0]].concat());
    let bytes = [&both[..], &[1, 0xAC, 2, 2, 3, 1, 7, 4, 5]].concat();
    assert_eq!(encoded(&Acks { accepted, refused }), bytes);
}

#[test]
fn every_message_of_the_requests_is_pinned() {
    use protocol::service::requests::{Bytes, Message as M, Part, Refusal, RequestId, Route};
    let id = RequestId { origin: NodeId(300), boot: 7, number: 300 };
    let route = || Route::from_slice(&[NodeId(1), NodeId(300)]).unwrap();
    let bytes = || Bytes::from_slice(&[8, 9]).unwrap();
    let (name, way, said): (&[u8], &[u8], &[u8]) = (&[0xAC, 2, 7, 0xAC, 2], &[2, 1, 0xAC, 2], &[2, 8, 9]);
    let refused = |reason| M::Refused { id, route: Route::new(), reason };
    let part = |bytes: &[u8]| Part { length: 300, index: 2, bytes: bytes.iter().copied().collect() };
    let cases: &Cases<M> = &[
        (M::Request { id, once: None, route: route(), bytes: bytes() }, &[&[0], name, &[0], way, said]),
        (
            M::Request { id, once: Some((NodeId(300), 5)), route: route(), bytes: bytes() },
            &[&[0], name, &[1], X, &[5], way, said],
        ),
        (M::Answer { id, route: route(), bytes: bytes() }, &[&[1], name, way, said]),
        (refused(Refusal::Busy { after_ms: 300 }), &[&[2], name, &[0, 0], X]),
        (refused(Refusal::NoRoute), &[&[2], name, &[0, 1]]),
        (refused(Refusal::TooFar), &[&[2], name, &[0, 2]]),
        (refused(Refusal::Unknown), &[&[2], name, &[0, 3]]),
        (refused(Refusal::TooLong), &[&[2], name, &[0, 4]]),
        (M::Part { id, once: None, route: route(), part: part(&[8, 9]) }, &[&[3], name, &[0], way, X, &[2], said]),
        (M::Missing { id, route: route(), parts: 300 }, &[&[4], name, way, X]),
        (M::Send { id, to: NodeId(300), route: route(), bytes: bytes() }, &[&[5], name, X, way, said]),
        (
            M::Flood { id, to: Some(NodeId(300)), copy: 1, hops: 2, bytes: bytes() },
            &[&[6], name, &[1], X, &[1, 2], said],
        ),
        (M::Flood { id, to: None, copy: 0, hops: 2, bytes: bytes() }, &[&[6], name, &[0, 0, 2], said]),
        (M::Received { id, hops: 7 }, &[&[7], name, &[7]]),
    ];
    pin(68, cases);
    let far = [NodeId(16_383); 3];
    let long = M::Part {
        id: RequestId { origin: NodeId(16_383), boot: 255, number: u16::MAX },
        once: Some((NodeId(16_383), u16::MAX)),
        route: Route::from_slice(&far).unwrap(),
        part: Part { length: 1_024, index: 42, bytes: (0..24).collect() },
    };
    check_lengths(&[length(&long)], &[48]);
    let near = M::Request {
        id: RequestId { origin: NodeId(16_383), boot: 255, number: u16::MAX },
        once: Some((NodeId(16_383), u16::MAX)),
        route: Route::from_slice(&[NodeId(16_383)]).unwrap(),
        bytes: (0..32).collect(),
    };
    check_lengths(&[length(&near)], &[49]);
}

#[test]
fn every_message_of_the_services_is_pinned() {
    pin(48, &[(Give { amount: 300, total: 7 }, &[X, &[7]])]);
    pin(49, &[(Work { job: 1, units: 300 }, &[&[1], X])]);
    snapshot();
    termination();
    clock_sync();
    counter();
    sequencer();
    commit();
}

fn commit() {
    use commit::{Message as M, Transaction, TransactionId};
    let id = TransactionId { term: TERM, number: 300 };
    let transaction = || Transaction { id, change: commit::Change::from_slice(&[1, 2]).unwrap() };
    let cases: &Cases<M> = &[
        (M::Prepare { transaction: transaction() }, &[&[0], T, X, &[2, 1, 2]]),
        (M::Vote { id, yes: true }, &[&[1], T, X, &[1]]),
        (M::Commit { transaction: transaction() }, &[&[2], T, X, &[2, 1, 2]]),
        (M::Abort { id }, &[&[3], T, X]),
        (M::Ack { id }, &[&[4], T, X]),
        (M::Inquire { id }, &[&[5], T, X]),
    ];
    pin(76, cases);
    let id = TransactionId { term: TERM_MAX, number: u32::MAX };
    let change = commit::Change::from_slice(&[255; commit::CHANGE_MAX]).unwrap();
    check_lengths(&[length(&M::Prepare { transaction: Transaction { id, change } })], &[33]);
}

fn sequencer() {
    use sequencer::{Message as M, Number};
    let (term, number) = (TERM, Number { era: 9, count: 300 });
    let payload = || sequencer::Payload::from_slice(&[1, 2]).unwrap();
    let entry = || sequencer::Entry { origin: 3, incarnation: 2, number: 7, payload: payload() };
    let entry_bytes = &[3, 2, 7, 2, 1, 2][..];
    let place = &[&[9], X].concat()[..];
    let cases: &Cases<M> = &[
        (M::Collect { term }, &[&[0], T]),
        (M::Have { term, of: term, era: 9, base: 1, commit: 2, last: 300 }, &[&[1], T, T, &[9, 1, 2], X]),
        (M::Blank { term }, &[&[2], T]),
        (M::Fetch { term, after: number }, &[&[3], T, place]),
        (M::Fetched { term, number, entry: entry() }, &[&[4], T, place, entry_bytes]),
        (M::Welcome { term, after: number, target: 5 }, &[&[5], T, place, &[5]]),
        (M::Order { term, number, behind: 1, entry: entry() }, &[&[6], T, place, &[1], entry_bytes]),
        (M::Stored { term, last: 300 }, &[&[7], T, X]),
        (M::Committed { term, count: 300 }, &[&[8], T, X]),
        (
            M::Submit { term, after: number, incarnation: 2, number: 7, payload: payload() },
            &[&[9], T, place, &[2, 7, 2, 1, 2]],
        ),
    ];
    pin(72, cases);
    let (max, payload) = (u32::MAX, sequencer::Payload::from_slice(&[255; sequencer::PAYLOAD_MAX]).unwrap());
    let (term, number) = (TERM_MAX, Number { era: max, count: max });
    let entry = sequencer::Entry { origin: u8::MAX, incarnation: max, number: max, payload: payload.clone() };
    let lengths = [
        length(&M::Order { term, number, behind: u8::MAX, entry: entry.clone() }),
        length(&M::Fetched { term, number, entry }),
        length(&M::Have { term, of: term, era: max, base: max, commit: max, last: max }),
        length(&M::Submit { term, after: number, incarnation: max, number: max, payload }),
    ];
    check_lengths(&lengths, &[50, 49, 41, 48]);
}

fn counter() {
    use counter::Message as M;
    let fence = Fence { term: TERM, count: LamportTime(4) };
    let cases: &Cases<M> = &[
        (M::Add { fence }, &[&[0], T, &[4]]),
        (M::Sum { fence, total: 7 }, &[&[1], T, &[4, 7]]),
        (M::Outdated { fence }, &[&[2], T, &[4]]),
    ];
    pin(64, cases);
}

fn snapshot() {
    use snapshot::{Id, Message as M};
    let (incarnation, number) = (2, 7);
    let id = Id { initiator: NodeId(300), incarnation, number };
    let bytes = ChannelMessage::from_slice(&[9, 8]).unwrap();
    let state = Fragment::State { last: true, bytes: bytes.clone() };
    let message = Fragment::Message { from: NodeId(300), bytes };
    let cases: &Cases<M> = &[
        (M::Marker { id, members: NodeSet::first(9) }, &[&[0], X, &[2, 7, 0xFF, 3]]),
        (M::Fragment { incarnation, number, fragment: state }, &[&[1, 2, 7, 0, 1, 2, 9, 8]]),
        (M::Fragment { incarnation, number, fragment: message }, &[&[1, 2, 7, 1], X, &[2, 9, 8]]),
        (M::Done { incarnation, number, fragments: 3 }, &[&[2, 2, 7, 3]]),
        (M::Abort { id, reason: AbortReason::ViewChanged }, &[&[3], X, &[2, 7, 2]]),
    ];
    pin(52, cases);
}

fn termination() {
    use dijkstra_scholten::Message as D;
    use wave::Message as M;
    let id = wave::Id { initiator: NodeId(300), incarnation: 2, number: 7 };
    let sums = wave::Sums { covered: NodeSet::first(9), sent: 1, received: 128, job: 4 };
    let cases: &Cases<M> = &[
        (M::Query { id, queried: NodeSet::first(2) }, &[&[0], X, &[2, 7, 3]]),
        (M::Done { id, sums }, &[&[1], X, &[2, 7, 0xFF, 3, 1, 0x80, 1, 4]]),
        (M::Continue { id }, &[&[2], X, &[2, 7]]),
        (M::Terminate { id, job: 4, waves: 3 }, &[&[3], X, &[2, 7, 4, 3]]),
        (M::Resync { incarnation: 2, sent: 300 }, &[&[4, 2], X]),
    ];
    pin(56, cases);
    let cases: &Cases<D> = &[
        (D::Signal { incarnation: 2, count: 300 }, &[&[0, 2], X]),
        (D::Terminate { job: 4, incarnation: 2, number: 7 }, &[&[1, 4, 2, 7]]),
        (D::Broken, &[&[2]]),
        (D::Announce { incarnation: 2, lost: true }, &[&[3, 2, 1]]),
    ];
    pin(57, cases);
}

fn clock_sync() {
    use clock_sync::Message as M;
    let (term, round, held) = (TERM, 7, Duration::from_micros(300));
    let entries = Vec::from_slice(&[(3, -1), (4, 64)]).unwrap();
    let answer = M::Answer { term, round, reliable: false, reading: 128, held, is_set: true };
    let cases: &Cases<M> = &[
        (M::Poll { term, round, reliable: false }, &[&[0], T, &[7, 0]]),
        (answer, &[&[1], T, &[7, 0, 0x80, 1], X, &[1]]),
        (M::Adjust { term, round, reliable: true, entries }, &[&[2], T, &[7, 1, 2, 3, 1, 4, 0x80, 1]]),
    ];
    pin(60, cases);
}

#[test]
fn every_message_of_the_services_fits_a_reliable_message() {
    let (max, id, all, term) = (u32::MAX, NodeId(u32::MAX), NodeSet::first(64), TERM_MAX);
    let snapshot = snapshot::Id { initiator: id, incarnation: max, number: max };
    let wave = wave::Id { initiator: id, incarnation: max, number: max };
    let bytes = ChannelMessage::from_slice(&[255; CHANNEL_MESSAGE_MAX]).unwrap();
    let fragment = Fragment::Message { from: id, bytes };
    let sums = wave::Sums { covered: all, sent: u64::MAX, received: u64::MAX, job: max };
    let (held, reading) = (Duration::from_micros(max), u64::MAX);
    let adjust = |reliable, entries: &[(u8, i64)]| {
        let entries = Vec::from_slice(entries).unwrap();
        clock_sync::Message::Adjust { term, round: max, reliable, entries }
    };
    let entry = (u8::MAX, i64::MIN);
    let lengths = [
        length(&Give { amount: max, total: max }),
        length(&Work { job: max, units: max }),
        length(&snapshot::Message::Marker { id: snapshot, members: all }),
        length(&snapshot::Message::Fragment { incarnation: max, number: max, fragment }),
        length(&snapshot::Message::Abort { id: snapshot, reason: AbortReason::Incomplete }),
        length(&wave::Message::Query { id: wave, queried: all }),
        length(&wave::Message::Done { id: wave, sums }),
        length(&clock_sync::Message::Answer { term, round: max, reliable: true, reading, held, is_set: true }),
        length(&adjust(true, &[entry; 3])),
    ];
    check_lengths(&lengths, &[10, 10, 26, 50, 17, 26, 51, 33, 51]);
    let some = Destination::Neighbours(Vec::from_slice(&[id; clock_sync::ENTRIES_MAX]).unwrap());
    assert!(longest_frame(some, &adjust(false, &[entry; clock_sync::ENTRIES_MAX])).is_some(), "it fits a frame");
}

/// What every frame of these tests has in clear, and its nonce.
const CLEAR: [u8; 5] = [0x20, 0xAC, 0x02, 2, 7];
const NONCE: [u8; 16] = [0x2C, 0x01, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];

fn sealed(kind: Kind, destination: Destination, body: &[u8]) -> std::vec::Vec<u8> {
    let packet = Packet { kind, sender: NodeId(300), incarnation: 2, seq: 7, destination, body };
    let mut buffer = [0; FRAME_MAX];
    let len = wire::seal(&KEY, &packet, &mut buffer).unwrap();
    assert_eq!(wire::open(&KEY, &buffer[..len], &mut [0; FRAME_MAX]).as_ref(), Ok(&packet));
    buffer[..len].to_vec()
}

/// The encrypted part of a frame, decrypted.
fn text(kind: Kind, destination: Destination, body: &[u8]) -> std::vec::Vec<u8> {
    let mut frame = sealed(kind, destination, body);
    let tag = frame.split_off(frame.len() - TAG_BYTES).try_into().unwrap();
    let mut text = frame.split_off(CLEAR.len());
    assert_eq!(frame, CLEAR);
    KEY.open(0, &NONCE, &CLEAR, &mut text, &tag).unwrap();
    text
}

#[test]
fn the_frame_around_a_message_is_pinned() {
    assert_eq!(text(Kind::HELLO, Destination::Broadcast, &[0xAA]), [0, 0, 0xAA]);
    let neighbour = Destination::Neighbours(Vec::from_array([NodeId(9)]));
    assert_eq!(text(Kind::new(16), neighbour, &[]), [16, 1, 1, 9]);
    let attempt = Attempt { seq: 3, number: 1, hop_limit: 4, sent_at: LamportTime(6) };
    let node = Origin { id: NodeId(9), incarnation: 300 };
    let (set, origin) = (NodeSet::slot(0).with(NodeSet::slot(2)), Some(node));
    let members = |boots: &[u32], relays| {
        let boots = Boots::from_slice(boots).unwrap();
        Recipients::Members { set, boots, relays }
    };
    let cases: [(ReliableHeader, &[u8]); 4] = [
        (
            ReliableHeader { origin: None, attempt, recipients: Recipients::Node(node), ack: None },
            &[2, 3, 1, 4, 6, 9, 0xAC, 2],
        ),
        (
            ReliableHeader { origin: None, attempt, recipients: members(&[], Relays::Nobody), ack: None },
            &[0x80, 3, 1, 4, 6, 5],
        ),
        (
            ReliableHeader { origin: None, attempt, recipients: members(&[1, 300], Relays::One(6)), ack: Some(300) },
            &[0x96, 3, 1, 4, 6, 5, 1, 0xAC, 2, 6, 0xAC, 2],
        ),
        (
            ReliableHeader { origin, attempt, recipients: members(&[], Relays::Two(6, 7)), ack: None },
            &[0x89, 9, 0xAC, 2, 3, 1, 4, 6, 5, 6, 7],
        ),
    ];
    for (header, bytes) in cases {
        let reliable = text(Kind::new(18), Destination::Reliable(header), &[]);
        assert_eq!((reliable[0], &reliable[1..]), (18, bytes));
    }
}

#[test]
fn a_sealed_frame_is_pinned() {
    let frame = sealed(Kind::HELLO, Destination::Broadcast, &[0]);
    // Text and tag were computed by another implementation of Ascon-AEAD128.
    let (text, tag) = ([0x4B, 0x8E, 0x0A], [0x43, 0x7D, 0xBA, 0x9E, 0x9A, 0xBC, 0x0A, 0xA6]);
    assert_eq!(frame, [&CLEAR[..], &text, &tag].concat());
}

/// The length of a frame in which every number is as long as it can be; `None` where it is too long.
fn longest_frame<M: Payload>(destination: Destination, message: &M) -> Option<usize> {
    let (mut body, max) = ([0; FRAME_MAX], u32::MAX);
    let len = message.encode(&mut body).unwrap();
    let (kind, sender, body) = (message.kind(), NodeId(max), &body[..len]);
    wire::seal(&KEY, &Packet { kind, sender, incarnation: max, seq: max, destination, body }, &mut [0; FRAME_MAX])
}

#[test]
fn the_longest_reliable_message_fits_a_frame_that_names_one_boot_and_one_relay() {
    let max = u32::MAX;
    let node = Origin { id: NodeId(max), incarnation: max };
    let attempt = Attempt { seq: max, number: u8::MAX, hop_limit: u8::MAX, sent_at: LamportTime::MAX };
    let boots = Boots::from_slice(&[max]).unwrap();
    let recipients = Recipients::Members { set: NodeSet::slot(63), boots, relays: Relays::One(u8::MAX) };
    let destination = Destination::Reliable(ReliableHeader { origin: Some(node), attempt, recipients, ack: None });
    let sealed = |body: &[u8]| {
        let destination = destination.clone();
        let packet = Packet { kind: Kind::new(16), sender: node.id, incarnation: max, seq: max, destination, body };
        wire::seal(&KEY, &packet, &mut [0; FRAME_MAX])
    };
    assert_eq!(sealed(&[0; RELIABLE_MAX]), Some(FRAME_MAX));
    assert_eq!(sealed(&[0; RELIABLE_MAX + 1]), None);
}

#[test]
fn no_message_of_the_wireless_election_takes_more_than_84_bytes() {
    use wireless::Message as M;
    let (term, index, leader, parent) = (TERM_MAX, TERM_MAX, longest_candidate(), NodeId(u32::MAX));
    let runner_up = Some(leader);
    let heir = Some(Heir { number: u32::MAX, candidate: leader });
    let heartbeat = LeaderMessage::Heartbeat { term, leader, runner_up, count: u32::MAX, age: u8::MAX };
    let attempt = Attempt { seq: u32::MAX, number: u8::MAX, hop_limit: 1, sent_at: LamportTime::MAX };
    let recipients = Recipients::Node(Origin { id: parent, incarnation: u32::MAX });
    let header = ReliableHeader { origin: None, attempt, recipients, ack: None };
    let some = Destination::Neighbours(Vec::from_array([parent; wire::NEIGHBOURS_MAX]));
    let longest = [
        (Destination::Broadcast, heartbeat.into()),
        (Destination::Broadcast, LeaderMessage::Pulse { term, heir }.into()),
        (Destination::Broadcast, M::Election { index, parent }),
        (some.clone(), M::Probe { index, parent }),
        (Destination::Broadcast, LeaderMessage::Elected { term, leader, runner_up, age: u8::MAX }.into()),
        (some, LeaderMessage::Doubt { term }.into()),
        (Destination::Reliable(header.clone()), LeaderMessage::Bid { term, candidate: leader }.into()),
        (Destination::Reliable(header), M::Report { index, best: runner_up, runner_up }),
    ];
    for (destination, message) in longest {
        assert_eq!(Payload::reach(&message), Reach::of(&message), "{message:?}");
        assert!(longest_frame(destination, &message).is_some_and(|len| len <= 84), "{message:?}");
    }
}

#[test]
fn a_leaders_heartbeat_takes_no_more_than_34_bytes_and_a_pulse_no_more_than_32() {
    // Ids below 2^14, fewer than 128 boots, fewer than 2^14 terms, frames and heartbeats: a day and a half of calm. The
    // longest possible ones are still well below the limit of a message.
    let id = NodeId(0x3FFF);
    let term = Term { number: 0x3FFF, by: id };
    let leader = Candidate { capacity: Capacity::MAX, id };
    let runner_up = Some(leader);
    let heartbeat = LeaderMessage::Heartbeat { term, leader, runner_up, count: 0x3FFF, age: u8::MAX };
    let pulse = LeaderMessage::Pulse { term, heir: Some(Heir { number: 0x3FFF, candidate: leader }) };
    for (message, most) in [(heartbeat, 34), (pulse, 32)] {
        let message = wireless::Message::from(message);
        let mut body = [0; FRAME_MAX];
        let len = message.encode(&mut body).unwrap();
        let (kind, destination, body) = (message.kind(), Destination::Broadcast, &body[..len]);
        let packet = Packet { kind, sender: id, incarnation: 127, seq: 0x3FFF, destination, body };
        let len = wire::seal(&KEY, &packet, &mut [0; FRAME_MAX]).unwrap();
        assert!(len <= most, "{len}");
    }
}

#[test]
fn messages_about_the_list_of_members_are_pinned() {
    use members::Message as M;
    let ballot = Ballot { term: TERM, attempt: 2 };
    let set = NodeSet::slot(0).with(NodeSet::slot(2));
    let round = |phase| M::Round(Round { epoch: 300, ballot, phase });
    let asking = |best| Phase::Asking { wanted: Change::Add(NodeId(300)), boot: 9, promised: set, best };
    let cases: &Cases<M> = &[
        (M::List(List::first(&[NodeId(300), NodeId(1)]).unwrap()), &[&[0, 1, 2, 1], X]),
        (round(asking(None)), &[&[1], X, T, &[2, 0, 0], X, &[9, 5, 0]]),
        (
            round(asking(Some((ballot, Change::Remove(NodeId(1)), 0)))),
            &[&[1], X, T, &[2, 0, 0], X, &[9, 5, 1], T, &[2, 1, 1, 0]],
        ),
        (
            round(Phase::Storing { change: Change::Add(NodeId(300)), boot: 9, stored: set }),
            &[&[1], X, T, &[2, 1, 0], X, &[9, 5]],
        ),
    ];
    pin(31, cases);
    let most = Ballot { term: TERM_MAX, attempt: u32::MAX };
    let (change, all) = (Change::Add(NodeId(u32::MAX)), NodeSet::first(33));
    let best = Some((most, change, u32::MAX));
    let phase = Phase::Asking { wanted: change, boot: u32::MAX, promised: all, best };
    let ids: std::vec::Vec<_> = (0..16).map(|id| NodeId(u32::MAX - id)).collect();
    let longest = [
        length(&M::Round(Round { epoch: u32::MAX, ballot: most, phase })),
        length(&M::List(List::first(&ids).unwrap())) + 4, // and an epoch of five bytes
    ];
    assert_eq!(longest, [65, 87]);
    assert!(longest.iter().all(|len| len + 18 + TAG_BYTES <= FRAME_MAX), "sender, boot, number, kind, destination");
}
