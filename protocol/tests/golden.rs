//! The wire format, byte by byte. A change here is a change of [`protocol::wire::VERSION`].

use heapless::Vec;
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Stamp, Term};
use protocol::detector::{Alive, Worth};
use protocol::election::reign::Word;
use protocol::election::{bully, chang_roberts, lelann, ring, wireless, wireless_flat};
use protocol::link::{LETTER_MAX, Receipt};
use protocol::mandate;
use protocol::neighbours::Hello;
use protocol::wire::{self, FRAME_MAX, Key, Kind, Letter, Message, Packet, Path, To};
use protocol::{NodeId, NodeSet};

const KEY: Key = Key::new([0; 16]);

fn frame(kind: Kind, path: Path, body: &[u8]) -> std::vec::Vec<u8> {
    let packet = Packet { kind, sender: NodeId(300), incarnation: 2, sequence: 7, path, body };
    let mut buffer = [0; FRAME_MAX];
    let len = wire::seal(&KEY, &packet, &mut buffer).unwrap();
    assert_eq!(wire::open(&KEY, &buffer[..len]).as_ref(), Ok(&packet));
    buffer[..len].to_vec()
}

/// The body of a message, which must read back as it was.
fn body<M: Message + PartialEq + std::fmt::Debug>(message: &M) -> std::vec::Vec<u8> {
    let mut buffer = [0; FRAME_MAX];
    let len = message.encode(&mut buffer).unwrap();
    assert_eq!(M::decode(message.kind(), &buffer[..len]).as_ref(), Some(message));
    buffer[..len].to_vec()
}

fn term() -> Term {
    Term { number: 5, by: NodeId(300) }
}

fn standing() -> Standing {
    Standing { capacity: Capacity::new(1_000), id: NodeId(301) }
}

#[test]
fn the_frame_around_a_message_is_pinned() {
    let everyone = frame(Kind::Hello, Path::Everyone, &[0xAA]);
    assert_eq!(everyone[..8], [1, 0, 0xAC, 0x02, 2, 7, 0, 0xAA]);
    assert_eq!(everyone.len(), 12);
    let neighbour = frame(Kind::Wireless, Path::Neighbours(Vec::from_array([NodeId(9)])), &[]);
    assert_eq!(neighbour[..8], [1, 16, 0xAC, 0x02, 2, 7, 1, 1]);
    let letter = Letter {
        writer: None,
        number: 3,
        attempt: 1,
        hops: 4,
        stamp: Stamp(6),
        to: To::Members(NodeSet::slot(0).with(NodeSet::slot(2))),
    };
    let letter = frame(Kind::Bully, Path::Letter(letter), &[]);
    assert_eq!(letter[..14], [1, 18, 0xAC, 0x02, 2, 7, 2, 0, 3, 1, 4, 6, 1, 5]);
}

#[test]
fn the_tag_of_a_frame_is_pinned() {
    let frame = frame(Kind::Hello, Path::Everyone, &[0]);
    // Computed by an implementation of SipHash-2-4 of its own, over 01 00 ac 02 02 07 00 00.
    assert_eq!(frame[frame.len() - 4..], [0xE8, 0x56, 0xE2, 0xA3]);
}

#[test]
fn every_message_of_the_wireless_election_is_pinned() {
    use wireless::Message as M;
    let (term, leader) = (term(), standing());
    let cases: [(M, &[u8]); 6] = [
        (M::Beat { term, leader, beat: 9, age: 3 }, &[0, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2, 9, 3]),
        (M::Election { index: term, parent: NodeId(1) }, &[1, 5, 0xAC, 2, 1]),
        (M::Probe { index: term, parent: NodeId(1) }, &[2, 5, 0xAC, 2, 1]),
        (M::Ack { index: term, best: Some(leader), second: None }, &[3, 5, 0xAC, 2, 1, 0xE8, 7, 0xAD, 2, 0]),
        (M::Leader { term, leader, second: None, age: 3 }, &[4, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2, 0, 3]),
        (M::Raise { term }, &[5, 5, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_of_the_flat_wireless_election_is_pinned() {
    use wireless_flat::Message as M;
    let (term, leader) = (term(), standing());
    let cases: [(M, &[u8]); 5] = [
        (M::Election { index: term }, &[0, 5, 0xAC, 2]),
        (M::Answer { index: term, candidate: leader }, &[1, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2]),
        (M::Reign(Word::Leader { term, leader, second: None, age: 3 }), &[2, 0, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2, 0, 3]),
        (M::Reign(Word::Beat { term, leader, beat: 9, age: 3 }), &[2, 1, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2, 9, 3]),
        (M::Reign(Word::Raise { term }), &[2, 2, 5, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_of_the_ring_election_is_pinned() {
    use ring::{List, Message as M, Outcome};
    let (term, leader) = (term(), standing());
    let members = NodeSet::slot(0).with(NodeSet::slot(9));
    let list = List { term, members, first: Some(leader), second: None };
    let outcome = Outcome { term, leader, second: None, ring: members };
    let cases: [(M, &[u8]); 5] = [
        (M::Election(list), &[0, 5, 0xAC, 2, 0x81, 4, 1, 0xE8, 7, 0xAD, 2, 0]),
        (M::Coordinator(outcome), &[1, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2, 0, 0x81, 4]),
        (M::Seek { term }, &[2, 5, 0xAC, 2]),
        (M::Here { term }, &[3, 5, 0xAC, 2]),
        (M::Reign(Word::Raise { term }), &[4, 2, 5, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_of_the_chang_roberts_election_is_pinned() {
    use chang_roberts::Message as M;
    let (term, leader) = (term(), standing());
    let cases: [(M, &[u8]); 4] = [
        (M::Election { round: 5, candidate: Some(leader) }, &[0, 5, 1, 0xE8, 7, 0xAD, 2]),
        (M::Election { round: 5, candidate: None }, &[0, 5, 0]),
        (M::Elected { term, leader }, &[1, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2]),
        (M::Reign(Word::Raise { term }), &[2, 2, 5, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_of_the_lelann_election_is_pinned() {
    use lelann::{Message as M, Number};
    let owner = NodeId(301);
    let cases: [(M, &[u8]); 3] = [
        (
            M::Number(Number { round: 5, owner, capacity: Some(Capacity::new(1_000)), hops: 3 }),
            &[0, 5, 0xAD, 2, 1, 0xE8, 7, 3],
        ),
        (M::Number(Number { round: 5, owner, capacity: None, hops: 3 }), &[0, 5, 0xAD, 2, 0, 3]),
        (M::Reign(Word::Raise { term: term() }), &[1, 2, 5, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_that_goes_round_a_ring_fits_a_letter() {
    let id = NodeId(u32::MAX);
    let term = Term { number: u32::MAX, by: id };
    let leader = Standing { capacity: Capacity::MAX.as_incumbent(), id };
    let (second, ring) = (Some(leader), NodeSet::first(64));
    let list = ring::List { term, members: ring, first: second, second };
    let outcome = ring::Outcome { term, leader, second, ring };
    let number = lelann::Number { round: u32::MAX, owner: id, capacity: Some(leader.capacity), hops: u8::MAX };
    let lengths = [
        body(&ring::Message::Election(list)).len(),
        body(&ring::Message::Coordinator(outcome)).len(),
        body(&chang_roberts::Message::Election { round: u32::MAX, candidate: second }).len(),
        body(&chang_roberts::Message::Elected { term, leader }).len(),
        body(&lelann::Message::Number(number)).len(),
    ];
    assert_eq!(lengths, [37, 36, 14, 18, 15]);
    assert!(lengths.iter().all(|&length| length <= LETTER_MAX));
}

#[test]
fn every_message_of_the_bully_election_is_pinned() {
    use bully::Message as M;
    let (term, leader) = (term(), standing());
    let cases: [(M, &[u8]); 7] = [
        (M::Election { term, caller: Some(leader) }, &[0, 5, 0xAC, 2, 1, 0xE8, 7, 0xAD, 2]),
        (M::Ok { term }, &[1, 5, 0xAC, 2]),
        (M::Coordinator { term, leader, second: None }, &[2, 5, 0xAC, 2, 0xE8, 7, 0xAD, 2, 0]),
        (M::Alert { term }, &[3, 5, 0xAC, 2]),
        (M::Ask, &[4]),
        (M::Shout { term, caller: None }, &[5, 5, 0xAC, 2, 0]),
        (M::Reign(Word::Raise { term }), &[6, 2, 5, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_of_the_mandate_is_pinned() {
    use mandate::Message as M;
    let (term, view) = (term(), NodeSet::first(9));
    let cases: [(M, &[u8]); 3] = [
        (M::Ask { term, number: 7, view, edition: 2 }, &[0, 5, 0xAC, 2, 7, 0xFF, 3, 2]),
        (M::Grant { term, number: 7 }, &[1, 5, 0xAC, 2, 7]),
        (M::Release { term }, &[2, 5, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn a_sign_of_life_is_pinned() {
    let worth = Worth::of(Some(standing()));
    let alive = Alive {
        worth,
        counts: Vec::from_slice(&[1, 0, 200]).unwrap(),
        worths: Vec::from_slice(&[(2, worth), (0, Worth::UNFIT)]).unwrap(),
    };
    let bytes = [0xEA, 7, 3, 1, 0, 200, 2, 2, 0xEA, 7, 0, 1];
    assert_eq!(postcard::to_vec::<_, 32>(&alive).unwrap(), bytes);
}

#[test]
fn hello_and_receipt_are_pinned() {
    let hello = Hello { complete: true, unsure: 1, heard: Vec::from_slice(&[NodeId(1), NodeId(300)]).unwrap() };
    assert_eq!(postcard::to_vec::<_, 32>(&hello).unwrap(), [1, 1, 2, 1, 0xAC, 2]);
    let receipt = Receipt { origin: NodeId(300), incarnation: 2, number: 3, attempt: 1, by: NodeId(4), hops: 8 };
    assert_eq!(postcard::to_vec::<_, 32>(&receipt).unwrap(), [0xAC, 2, 2, 3, 1, 4, 8]);
}

/// A frame in which every number is as long as it can be.
fn longest(path: Path, message: &wireless::Message) -> usize {
    let mut body = [0; FRAME_MAX];
    let len = message.encode(&mut body).unwrap();
    let max = u32::MAX;
    let packet =
        Packet { kind: message.kind(), sender: NodeId(max), incarnation: max, sequence: max, path, body: &body[..len] };
    wire::seal(&KEY, &packet, &mut [0; FRAME_MAX]).unwrap()
}

#[test]
fn no_message_of_the_wireless_election_takes_more_than_80_bytes() {
    use wireless::Message as M;
    let max = NodeId(u32::MAX);
    let index = Term { number: u32::MAX, by: max };
    let leader = Standing { capacity: Capacity::MAX.as_incumbent(), id: max };
    let second = Some(leader);
    let letter =
        Letter { writer: None, number: u32::MAX, attempt: u8::MAX, hops: 1, stamp: Stamp(u64::MAX), to: To::Node(max) };
    let some = Path::Neighbours(Vec::from_array([max; wire::NEIGHBOURS_MAX]));
    let near = [
        (Path::Everyone, M::Beat { term: index, leader, beat: u32::MAX, age: u8::MAX }),
        (Path::Everyone, M::Election { index, parent: max }),
        (some.clone(), M::Probe { index, parent: max }),
        (Path::Everyone, M::Leader { term: index, leader, second, age: u8::MAX }),
        (some, M::Raise { term: index }),
    ];
    for (path, message) in near {
        assert!(longest(path, &message) <= 80, "{message:?}");
    }
    assert!(longest(Path::Letter(letter), &M::Ack { index, best: second, second }) <= 80);
}

#[test]
fn the_leaders_beacon_takes_no_more_than_24_bytes() {
    // Ids below 2^14, fewer than 128 boots, fewer than 2^14 terms, frames and beats: four and a half hours of beats
    // every second. The longest possible beat is still well below the limit of a message.
    let id = NodeId(0x3FFF);
    let term = Term { number: 0x3FFF, by: id };
    let leader = Standing { capacity: Capacity::MAX, id };
    let beat = wireless::Message::Beat { term, leader, beat: 0x3FFF, age: u8::MAX };
    let body = body(&beat);
    let packet = Packet {
        kind: Kind::Wireless,
        sender: id,
        incarnation: 127,
        sequence: 0x3FFF,
        path: Path::Everyone,
        body: &body,
    };
    let len = wire::seal(&KEY, &packet, &mut [0; FRAME_MAX]).unwrap();
    assert!(len <= 24, "{len}");
}

#[test]
fn a_body_with_bytes_left_over_is_no_message() {
    let mut bytes = body(&wireless::Message::Raise { term: term() });
    bytes.push(0);
    assert_eq!(wireless::Message::decode(Kind::Wireless, &bytes), None);
}

#[test]
fn every_message_of_the_applications_is_pinned() {
    use protocol::application::{diffusing::Work, tokens::Give};
    assert_eq!(body(&Give { amount: 300, total: 7 }), [0xAC, 2, 7]);
    assert_eq!(body(&Work { job: 1, units: 300 }), [1, 0xAC, 2]);
}

#[test]
fn every_message_of_the_snapshot_is_pinned() {
    use protocol::application::Item;
    use protocol::snapshot::{Id, Message as M, Part, Why};
    let id = Id { initiator: NodeId(300), incarnation: 2, number: 7 };
    let bytes = Item::from_slice(&[9, 8]).unwrap();
    let (incarnation, number) = (2, 7);
    let state = Part::State { last: true, bytes: bytes.clone() };
    let message = Part::Message { from: NodeId(300), bytes };
    let cases: [(M, &[u8]); 5] = [
        (M::Marker { id, members: NodeSet::first(9) }, &[0, 0xAC, 2, 2, 7, 0xFF, 3]),
        (M::Part { incarnation, number, part: state }, &[1, 2, 7, 0, 1, 2, 9, 8]),
        (M::Part { incarnation, number, part: message }, &[1, 2, 7, 1, 0xAC, 2, 2, 9, 8]),
        (M::Done { incarnation, number, parts: 3 }, &[2, 2, 7, 3]),
        (M::Abort { id, why: Why::View }, &[3, 0xAC, 2, 2, 7, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_of_the_termination_detections_is_pinned() {
    use protocol::termination::dijkstra_scholten::Message as M;
    use protocol::termination::wave;
    let id = wave::Id { initiator: NodeId(300), incarnation: 2, number: 7 };
    let sums = wave::Sums { covered: NodeSet::first(9), sent: 1, heard: 128, job: 4 };
    let asked = NodeSet::first(2);
    let cases: [(wave::Message, &[u8]); 5] = [
        (wave::Message::Query { id, asked }, &[0, 0xAC, 2, 2, 7, 3]),
        (wave::Message::Done { id, sums }, &[1, 0xAC, 2, 2, 7, 0xFF, 3, 1, 0x80, 1, 4]),
        (wave::Message::Continue { id }, &[2, 0xAC, 2, 2, 7]),
        (wave::Message::Terminate { id, job: 4, waves: 3 }, &[3, 0xAC, 2, 2, 7, 4, 3]),
        (wave::Message::Mend { boot: 2, count: 300 }, &[4, 2, 0xAC, 2]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
    let cases: [(M, &[u8]); 4] = [
        (M::Signal { boot: 2, count: 300 }, &[0, 2, 0xAC, 2]),
        (M::Terminate { job: 4, boot: 2, number: 7 }, &[1, 4, 2, 7]),
        (M::Broken, &[2]),
        (M::Hail { boot: 2, lost: true }, &[3, 2, 1]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_message_of_the_shared_clock_is_pinned() {
    use protocol::Span;
    use protocol::clock_sync::Message as M;
    let (term, round) = (term(), 7);
    let held = Span::from_micros(300);
    let entries = Vec::from_slice(&[(3, -1), (4, 64)]).unwrap();
    let cases: [(M, &[u8]); 3] = [
        (M::Poll { term, round, letter: false }, &[0, 5, 0xAC, 2, 7, 0]),
        (
            M::Answer { term, round, letter: false, reading: 128, held, is_set: true },
            &[1, 5, 0xAC, 2, 7, 0, 0x80, 1, 0xAC, 2, 1],
        ),
        (M::Adjust { term, round, letter: true, entries }, &[2, 5, 0xAC, 2, 7, 1, 2, 3, 1, 4, 0x80, 1]),
    ];
    for (message, bytes) in cases {
        assert_eq!(body(&message), bytes, "{message:?}");
    }
}

#[test]
fn every_letter_of_what_stands_on_top_fits_a_letter() {
    use protocol::application::{Item, diffusing::Work, tokens::Give};
    use protocol::snapshot::{self, Part, Why};
    use protocol::termination::wave;
    use protocol::{Span, clock_sync};
    let (max, id, all) = (u32::MAX, NodeId(u32::MAX), NodeSet::first(64));
    let snapshot = snapshot::Id { initiator: id, incarnation: max, number: max };
    let wave = wave::Id { initiator: id, incarnation: max, number: max };
    let term = Term { number: max, by: id };
    let bytes = Item::from_slice(&[255; protocol::application::ITEM_MAX]).unwrap();
    let part = Part::Message { from: id, bytes };
    let sums = wave::Sums { covered: all, sent: u64::MAX, heard: u64::MAX, job: max };
    let held = Span::from_micros(max);
    let entries = Vec::from_slice(&[(u8::MAX, i64::MIN); 3]).unwrap();
    let lengths = [
        body(&Give { amount: max, total: max }).len(),
        body(&Work { job: max, units: max }).len(),
        body(&snapshot::Message::Marker { id: snapshot, members: all }).len(),
        body(&snapshot::Message::Part { incarnation: max, number: max, part }).len(),
        body(&snapshot::Message::Abort { id: snapshot, why: Why::Incomplete }).len(),
        body(&wave::Message::Query { id: wave, asked: all }).len(),
        body(&wave::Message::Done { id: wave, sums }).len(),
        body(&clock_sync::Message::Answer { term, round: max, letter: true, reading: u64::MAX, held, is_set: true })
            .len(),
        body(&clock_sync::Message::Adjust { term, round: max, letter: true, entries }).len(),
    ];
    assert_eq!(lengths, [10, 10, 26, 50, 17, 26, 51, 33, 51]);
    assert!(lengths.iter().all(|&length| length <= LETTER_MAX));
    let entries = Vec::from_slice(&[(u8::MAX, i64::MIN); clock_sync::ENTRIES_MAX]).unwrap();
    let adjust = body(&clock_sync::Message::Adjust { term, round: max, letter: false, entries });
    let some = Path::Neighbours(Vec::from_slice(&[id; clock_sync::ENTRIES_MAX]).unwrap());
    let packet =
        Packet { kind: Kind::ClockSync, sender: id, incarnation: max, sequence: max, path: some, body: &adjust };
    assert!(wire::seal(&KEY, &packet, &mut [0; FRAME_MAX]).is_some(), "the longest correction fits a frame");
}
