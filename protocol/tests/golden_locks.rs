//! The wire format of the locks, byte by byte. A change here is a change of [`protocol::wire::VERSION`].

use heapless::Vec;
use protocol::clock::{Stamp, Term};
use protocol::link::LETTER_MAX;
use protocol::mutex::consent::{Ask, Word as Consent};
use protocol::mutex::keeper::{Generation, Need, Token, Word as Keeper};
use protocol::mutex::raymond::Privilege;
use protocol::mutex::{
    Fence, LOCKS_MAX, LockId, Refusal, central, lamport, maekawa, raymond, ricart_agrawala, token_ring, voting,
};
use protocol::wire::{FRAME_MAX, Kind, Message};
use protocol::{NodeId, NodeSet, Span};
use std::fmt::Debug;

/// The lock "a", whose number is 0xE40C292C, and how that travels.
const LOCK: LockId = LockId::from_name("a");
const A: &[u8] = &[0xAC, 0xD2, 0xB0, 0xA0, 0x0E];

/// 300, as a stamp, a span and what they travel as.
const STAMP: Stamp = Stamp(300);
const SPAN: Span = Span::from_micros(300);
const X: &[u8] = &[0xAC, 2];

const TERM: Term = Term { number: 5, by: NodeId(300) };
const T: &[u8] = &[5, 0xAC, 2];

const GENERATION: Generation = Generation { term: TERM, round: 7 };
const G: &[u8] = &[5, 0xAC, 2, 7];

/// Each message travels as these pieces say, one after the other, and reads back as it was.
fn pin<M: Message + PartialEq + Debug>(kind: Kind, cases: &[(M, &[&[u8]])]) {
    for (message, pieces) in cases {
        let mut buffer = [0; FRAME_MAX];
        let len = message.encode(&mut buffer).unwrap();
        assert_eq!(buffer[..len], pieces.concat(), "{message:?}");
        assert_eq!(message.kind(), kind);
        assert_eq!(M::decode(kind, &buffer[..len]).as_ref(), Some(message));
        assert_eq!(M::decode(Kind::Hello, &buffer[..len]), None, "{message:?} is of one kind only");
        buffer[len] = 0;
        assert_eq!(M::decode(kind, &buffer[..=len]), None, "{message:?} has nothing after it");
    }
}

#[test]
fn every_message_of_the_central_lock_is_pinned() {
    use central::Message as M;
    let (lock, request, number) = (LOCK, STAMP, Stamp(9));
    let fence = Fence { term: TERM, count: Stamp(8) };
    let mut holds = [None; LOCKS_MAX];
    holds[1] = Some(LOCK);
    pin(
        Kind::Central,
        &[
            (M::Request { lock, request, lease: SPAN, trying: true }, &[&[0], A, X, X, &[1]]),
            (M::Grant { lock, request, fence, waited: SPAN }, &[&[1], A, X, T, &[8], X]),
            (M::Release { lock, request }, &[&[2], A, X]),
            (M::Waiting { lock, request, ahead: 200 }, &[&[3], A, X, &[200]]),
            (M::Cancel { lock, request }, &[&[4], A, X]),
            (M::Renew { lock, request, number, lease: SPAN }, &[&[5], A, X, &[9], X]),
            (M::Renewed { lock, number }, &[&[6], A, &[9]]),
            (M::Refused { lock, request, why: Refusal::Busy }, &[&[7], A, X, &[1]]),
            (M::Follows { term: TERM, holds, all: true }, &[&[8], T, &[0, 1], A, &[0, 0, 1]]),
        ],
    );
}

#[test]
fn every_reason_to_refuse_is_pinned() {
    let all = [
        Refusal::Reentry,
        Refusal::Busy,
        Refusal::Full,
        Refusal::NotHeld,
        Refusal::Lease,
        Refusal::Cancelled,
        Refusal::Outside,
        Refusal::NoLocks,
    ];
    for (number, why) in all.into_iter().enumerate() {
        assert_eq!(postcard::to_vec::<_, 4>(&why).unwrap(), [u8::try_from(number).unwrap()], "{why:?}");
    }
}

/// What is said about tokens, whoever carries it: after `first`, the number of the message that does.
fn keepers<M: From<Keeper>>() -> std::vec::Vec<(M, std::vec::Vec<u8>)> {
    let (lock, number, generation) = (LOCK, STAMP, GENERATION);
    let need = |place, need| {
        let bytes: &[&[u8]] = &[&[0], A, X, &[place], G];
        (Keeper::Call { lock, number, need, generation }, bytes.concat())
    };
    let mut cases = vec![
        need(0, Need::Want),
        need(1, Need::Enter),
        need(2, Need::Keep),
        need(3, Need::Using),
        need(4, Need::Missing),
        need(5, Need::Astray),
    ];
    let said: [(Keeper, &[&[u8]]); 5] = [
        (Keeper::Warrant { lock, number, generation, ahead: 3 }, &[&[1], A, X, G, &[3]]),
        (Keeper::Refuse { lock, number }, &[&[2], A, X]),
        (Keeper::Recall { lock, generation, via: NodeSet::slot(9) }, &[&[3], A, G, &[0x80, 4]]),
        (Keeper::Clear { lock, generation, had: Some(generation) }, &[&[4], A, G, &[1], G]),
        (Keeper::Clear { lock, generation, had: None }, &[&[4], A, G, &[0]]),
    ];
    cases.extend(said.map(|(word, bytes)| (word, bytes.concat())));
    cases.into_iter().map(|(word, bytes)| (M::from(word), bytes)).collect()
}

#[test]
fn every_message_of_the_token_ring_is_pinned() {
    use token_ring::Message as M;
    let token = Token { generation: GENERATION, sequence: 300 };
    pin(Kind::TokenRing, &[(M::Token { lock: LOCK, token }, &[&[0], A, G, X])]);
    for (message, bytes) in keepers::<M>() {
        pin(Kind::TokenRing, &[(message, &[&[1], &bytes])]);
    }
}

#[test]
fn every_message_of_the_lock_of_raymond_is_pinned() {
    use raymond::Message as M;
    let (lock, generation) = (LOCK, GENERATION);
    let token = Token { generation, sequence: 300 };
    let privilege = |back| M::Privilege(Privilege { lock, token, number: 4, waited: SPAN, left: SPAN, back });
    pin(
        Kind::Raymond,
        &[
            (M::Request { lock, number: 300, generation }, &[&[0], A, X, G]),
            (privilege(Some(6)), &[&[1], A, G, X, &[4], X, X, &[1, 6]]),
            (privilege(None), &[&[1], A, G, X, &[4], X, X, &[0]]),
            (M::Void { lock, generation }, &[&[2], A, G]),
            (M::Full { lock }, &[&[3], A]),
        ],
    );
    for (message, bytes) in keepers::<M>() {
        pin(Kind::Raymond, &[(message, &[&[4], &bytes])]);
    }
}

/// What is said by every lock that asks everybody.
fn consents<M: From<Consent>>() -> [(M, std::vec::Vec<u8>); 5] {
    let ask = Ask { lock: LOCK, request: STAMP, turn: 200, lease: SPAN, view: NodeSet::first(9) };
    let asked: &[&[u8]] = &[A, X, &[200], X, &[0xFF, 3]];
    let (lock, turn) = (LOCK, 200);
    let with = |first: u8, rest: &[&[u8]]| [&[first], rest.concat().as_slice()].concat();
    [
        (Consent::Request(ask).into(), with(0, asked)),
        (Consent::Try(ask).into(), with(1, asked)),
        (Consent::Repeat(ask).into(), with(2, asked)),
        (Consent::Outdated { lock, turn }.into(), with(3, &[A, &[200]])),
        (Consent::Full { lock, turn }.into(), with(4, &[A, &[200]])),
    ]
}

#[test]
fn every_message_of_the_lock_of_lamport_is_pinned() {
    use lamport::Message as M;
    let turns = Vec::from_slice(&[(0, 1), (15, 200)]).unwrap();
    pin(
        Kind::Lamport,
        &[
            (M::Ack { lock: LOCK, mine: Some(STAMP), turns }, &[&[1], A, &[1], X, &[2, 0, 1, 15, 200]]),
            (M::Ack { lock: LOCK, mine: None, turns: Vec::new() }, &[&[1], A, &[0, 0]]),
            (M::Release { locks: Vec::from_slice(&[LOCK]).unwrap() }, &[&[2, 1], A]),
        ],
    );
    for (message, bytes) in consents::<M>() {
        pin(Kind::Lamport, &[(message, &[&[0], &bytes])]);
    }
}

#[test]
fn every_message_of_the_lock_of_ricart_and_agrawala_is_pinned() {
    use ricart_agrawala::Message as M;
    let (lock, turn) = (LOCK, 200);
    let turns = Vec::from_slice(&[(0, 1), (15, 200)]).unwrap();
    pin(
        Kind::RicartAgrawala,
        &[
            (M::Reply { lock, turns }, &[&[1], A, &[2, 0, 1, 15, 200]]),
            (M::Deferred { lock, turn }, &[&[2], A, &[200]]),
            (M::Busy { lock, turn }, &[&[3], A, &[200]]),
            (M::Cancel { lock }, &[&[4], A]),
        ],
    );
    for (message, bytes) in consents::<M>() {
        pin(Kind::RicartAgrawala, &[(message, &[&[0], &bytes])]);
    }
}

#[test]
fn every_message_of_the_lock_of_maekawa_is_pinned() {
    use maekawa::Message as M;
    let (lock, request, number, turn) = (LOCK, STAMP, Stamp(9), 300);
    pin(
        Kind::Maekawa,
        &[
            (M::Request { lock, request, turn, lease: SPAN }, &[&[0], A, X, X, X]),
            (M::Grant { lock, request, turn, number, waited: SPAN }, &[&[1], A, X, X, &[9], X]),
            (M::Wait { lock, request, ahead: 3 }, &[&[2], A, X, &[3]]),
            (M::Fail { lock, request, ahead: 3 }, &[&[3], A, X, &[3]]),
            (M::Inquire { lock, request, turn }, &[&[4], A, X, X]),
            (M::Relinquish { lock, request, turn }, &[&[5], A, X, X]),
            (M::Release { lock, request }, &[&[6], A, X]),
            (M::Confirm { lock, request, number }, &[&[7], A, X, &[9]]),
            (M::Confirmed { lock, request, number }, &[&[8], A, X, &[9]]),
            (M::Renew { lock, request, number, lease: SPAN }, &[&[9], A, X, &[9], X]),
            (M::Renewed { lock, number }, &[&[10], A, &[9]]),
            (M::Full { lock, request }, &[&[11], A, X]),
        ],
    );
}

#[test]
fn every_message_of_a_vote_is_pinned() {
    use voting::Message as M;
    let (lock, request, number) = (LOCK, STAMP, Stamp(9));
    pin(
        Kind::Voting,
        &[
            (M::Request { lock, request, lease: SPAN }, &[&[0], A, X, X]),
            (M::Vote { lock, request, number }, &[&[1], A, X, &[9]]),
            (M::Refuse { lock, request }, &[&[2], A, X]),
            (M::Release { lock, request, held: true }, &[&[3], A, X, &[1]]),
            (M::Confirm { lock, request, number }, &[&[4], A, X, &[9]]),
            (M::Confirmed { lock, request, number }, &[&[5], A, X, &[9]]),
            (M::Renew { lock, request, number, lease: SPAN }, &[&[6], A, X, &[9], X]),
            (M::Renewed { lock, number }, &[&[7], A, &[9]]),
        ],
    );
}

fn length<M: Message>(message: &M) -> usize {
    message.encode(&mut [0; FRAME_MAX]).unwrap()
}

#[test]
fn the_longest_messages_of_the_locks_fit_a_letter() {
    let term = Term { number: u32::MAX, by: NodeId(u32::MAX) };
    let generation = Generation { term, round: u32::MAX };
    let (stamp, span) = (Stamp(u64::MAX), Span::from_micros(u32::MAX));
    let token = Token { generation, sequence: u32::MAX };
    let fence = Fence { term, count: stamp };
    let turns: heapless::Vec<(u8, u8), { protocol::mutex::consent::MEMBERS_MAX }> =
        std::iter::repeat_n((15, u8::MAX), protocol::mutex::consent::MEMBERS_MAX).collect();
    let privilege = Privilege { lock: LOCK, token, number: u32::MAX, waited: span, left: span, back: Some(u32::MAX) };
    let lengths = [
        length(&central::Message::Grant { lock: LOCK, request: stamp, fence, waited: span }),
        length(&central::Message::Follows { term, holds: [Some(LOCK); LOCKS_MAX], all: true }),
        length(&token_ring::Message::Keeper(Keeper::Clear { lock: LOCK, generation, had: Some(generation) })),
        length(&lamport::Message::Ack { lock: LOCK, mine: Some(stamp), turns: turns.clone() }),
        length(&ricart_agrawala::Message::Reply { lock: LOCK, turns }),
        length(&maekawa::Message::Grant { lock: LOCK, request: stamp, turn: u16::MAX, number: stamp, waited: span }),
        length(&voting::Message::Renew { lock: LOCK, request: stamp, number: stamp, lease: span }),
        length(&raymond::Message::Privilege(privilege)),
    ];
    println!("{lengths:?}");
    assert!(lengths.iter().all(|&length| length <= LETTER_MAX), "{lengths:?}");
}
