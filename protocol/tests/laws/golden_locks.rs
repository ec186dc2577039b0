//! The wire format of the locks, byte by byte. A change here is a change of [`protocol::wire::VERSION`].

use crate::golden::{Cases, T, TERM, TERM_MAX, X, check_lengths, length, pin, pinned};
use heapless::Vec;
use protocol::base::lamport::LamportTime;
use protocol::mutex::permission::{MEMBERS_MAX, PermissionMessage, PermissionRequest, Round};
use protocol::mutex::raymond::Privilege;
use protocol::mutex::token::{Epoch, Need, Token, TokenMessage};
use protocol::mutex::{
    Fence, LOCKS_MAX, LockId, Refusal, central, lamport, maekawa, raymond, ricart_agrawala, suzuki_kasami, token_ring,
    voting,
};
use protocol::wire::Payload;
use protocol::{Duration, NodeSet};
use std::fmt::Debug;

/// The lock "a", whose number is 0xE40C292C, as it travels.
const LOCK: LockId = LockId::from_name("a");
const A: &[u8] = &[0xAC, 0xD2, 0xB0, 0xA0, 0x0E];

const TIME: LamportTime = LamportTime(300);
const SPAN: Duration = Duration::from_micros(300);

const EPOCH: Epoch = Epoch { term: TERM, serial: 7 };
const E: &[u8] = &[5, 0xAC, 2, 7];

protocol::for_each_mutex! { pinned }

fn central() {
    use central::Message as M;
    let (lock, request, number) = (LOCK, TIME, LamportTime(9));
    let fence = Fence { term: TERM, count: LamportTime(8) };
    let mut held = [None; LOCKS_MAX];
    held[1] = Some(LOCK);
    let ticket = central::Ticket { term: 5, number: 300 };
    let cases: &Cases<M> = &[
        (M::Request { lock, request, lease: SPAN, trying: true }, &[&[0], A, X, X, &[1]]),
        (M::Grant { lock, request, fence, waited: SPAN }, &[&[1], A, X, T, &[8], X]),
        (M::Release { lock, request }, &[&[2], A, X]),
        (M::Waiting { lock, request, ahead: 200, ticket }, &[&[3], A, X, &[200, 5], X]),
        (M::Cancel { lock, request }, &[&[4], A, X]),
        (M::Renew { lock, request, number, lease: SPAN }, &[&[5], A, X, &[9], X]),
        (M::Renewed { lock, number }, &[&[6], A, &[9]]),
        (M::Refused { lock, request, reason: Refusal::Busy }, &[&[7], A, X, &[1]]),
        (M::Follows { term: TERM, held, complete: true, since: number }, &[&[8], T, &[0, 1], A, &[0, 0, 1, 9]]),
        (M::Requeue { lock, request, lease: SPAN, ticket }, &[&[9], A, X, X, &[5], X]),
    ];
    pin(32, cases);
}

#[test]
fn every_refusal_is_pinned() {
    use Refusal as R;
    let all = [R::Reentry, R::Busy, R::Full, R::NotHeld, R::Lease, R::Cancelled, R::Outside, R::NoLocks, R::TimedOut];
    for (number, refusal) in (0_u8..).zip(all) {
        assert_eq!(postcard::to_vec::<_, 4>(&refusal).unwrap(), [number], "{refusal:?}");
    }
}

/// Pins the messages between token holders and issuer, which a lock carries in its own message of this tag.
fn pin_token_messages<M: From<TokenMessage> + Payload + PartialEq + Debug>(kind: u8, tag: u8) {
    use TokenMessage as T;
    let (lock, number, epoch) = (LOCK, TIME, EPOCH);
    let needs = [Need::Acquire, Need::Enter, Need::Renew, Need::InUse, Need::SuccessorLost, Need::RouteLost];
    for (need, at) in needs.into_iter().zip(0..) {
        pin::<M>(kind, &[(T::Request { lock, number, need, epoch }.into(), &[&[tag, 0], A, X, &[at], E])]);
    }
    let cases: &Cases<M> = &[
        (T::Lease { lock, number, epoch, ahead: 3 }.into(), &[&[tag, 1], A, X, E, &[3]]),
        (T::Refuse { lock, number }.into(), &[&[tag, 2], A, X]),
        (T::Recall { lock, epoch, via: NodeSet::slot(9) }.into(), &[&[tag, 3], A, E, &[0x80, 4]]),
        (T::RecallAck { lock, epoch, had: Some(epoch) }.into(), &[&[tag, 4], A, E, &[1], E]),
        (T::RecallAck { lock, epoch, had: None }.into(), &[&[tag, 4], A, E, &[0]]),
    ];
    pin(kind, cases);
}

fn token_ring() {
    use token_ring::Message as M;
    let token = Token { epoch: EPOCH, sequence: 300 };
    pin(33, &[(M::Token { lock: LOCK, token }, &[&[0], A, E, X])]);
    pin(33, &[(M::Circulating { lock: LOCK, token, lap: 9 }, &[&[2], A, E, X, &[9]])]);
    pin_token_messages::<M>(33, 1);
}

fn raymond() {
    use raymond::Message as M;
    let (lock, epoch) = (LOCK, EPOCH);
    let token = Token { epoch, sequence: 300 };
    let privilege = |return_request| {
        M::Privilege(Privilege { lock, token, number: 4, waited: SPAN, lease_left: SPAN, return_request })
    };
    let cases: &Cases<M> = &[
        (M::Request { lock, number: 300, epoch }, &[&[0], A, X, E]),
        (privilege(Some(6)), &[&[1], A, E, X, &[4], X, X, &[1, 6]]),
        (privilege(None), &[&[1], A, E, X, &[4], X, X, &[0]]),
        (M::Void { lock, epoch }, &[&[2], A, E]),
        (M::Full { lock }, &[&[3], A]),
    ];
    pin(38, cases);
    pin_token_messages::<M>(38, 4);
}

fn suzuki_kasami() {
    use suzuki_kasami::{Message as M, PassedLease};
    let (lock, token, id) = (LOCK, Token { epoch: EPOCH, sequence: 300 }, 300);
    let lease = PassedLease { waited: 300, left: 9 };
    let served = Vec::from_slice(&[1, 200]).unwrap();
    let cases: &Cases<M> = &[
        (M::Request { lock, number: 200, id }, &[&[0], A, &[200], X]),
        (M::Token { lock, token, id, lease, served }, &[&[1], A, E, X, X, X, &[9, 2, 1, 200]]),
    ];
    pin(39, cases);
    pin_token_messages::<M>(39, 2);
}

/// Pins the messages of every lock that asks all members for permission.
fn pin_permission_messages<M: From<PermissionMessage> + Payload + PartialEq + Debug>(kind: u8) {
    use PermissionMessage as P;
    let (lock, round) = (LOCK, Round(300));
    let request = PermissionRequest { lock, request: TIME, round, lease: SPAN, view: NodeSet::first(9) };
    let asked: &[u8] = &[A, X, X, X, &[0xFF, 3]].concat();
    let cases: &Cases<M> = &[
        (P::Request(request).into(), &[&[0, 0], asked]),
        (P::Try(request).into(), &[&[0, 1], asked]),
        (P::Repeat(request).into(), &[&[0, 2], asked]),
        (P::Outdated { lock, round }.into(), &[&[0, 3], A, X]),
        (P::Full { lock, round }.into(), &[&[0, 4], A, X]),
    ];
    pin(kind, cases);
}

fn lamport() {
    use lamport::Message as M;
    let (lock, rounds) = (LOCK, Vec::from_slice(&[(0, Round(1)), (15, Round(300))]).unwrap());
    let cases: &Cases<M> = &[
        (M::RequestAck { lock, own: Some(TIME), rounds }, &[&[1], A, &[1], X, &[2, 0, 1, 15], X]),
        (M::RequestAck { lock, own: None, rounds: Vec::new() }, &[&[1], A, &[0, 0]]),
        (M::Release { locks: Vec::from_slice(&[lock]).unwrap() }, &[&[2, 1], A]),
    ];
    pin(34, cases);
    pin_permission_messages::<M>(34);
}

fn ricart_agrawala() {
    use ricart_agrawala::Message as M;
    let (lock, round, rounds) = (LOCK, Round(300), Vec::from_slice(&[(0, Round(1)), (15, Round(300))]).unwrap());
    let cases: &Cases<M> = &[
        (M::Reply { lock, rounds }, &[&[1], A, &[2, 0, 1, 15], X]),
        (M::Deferred { lock, round }, &[&[2], A, X]),
        (M::Busy { lock, round }, &[&[3], A, X]),
        (M::Cancel { lock }, &[&[4], A]),
    ];
    pin(35, cases);
    pin_permission_messages::<M>(35);
}

fn maekawa() {
    use maekawa::Message as M;
    let (lock, request, number, attempt) = (LOCK, TIME, LamportTime(9), 300);
    let cases: &Cases<M> = &[
        (M::Request { lock, request, attempt, lease: SPAN }, &[&[0], A, X, X, X]),
        (M::Grant { lock, request, attempt, number, waited: SPAN }, &[&[1], A, X, X, &[9], X]),
        (M::Wait { lock, request, ahead: 3 }, &[&[2], A, X, &[3]]),
        (M::Fail { lock, request, ahead: 3 }, &[&[3], A, X, &[3]]),
        (M::Inquire { lock, request, attempt }, &[&[4], A, X, X]),
        (M::Relinquish { lock, request, attempt }, &[&[5], A, X, X]),
        (M::Release { lock, request }, &[&[6], A, X]),
        (M::Confirm { lock, request, number }, &[&[7], A, X, &[9]]),
        (M::Confirmed { lock, request, number }, &[&[8], A, X, &[9]]),
        (M::Renew { lock, request, number, lease: SPAN }, &[&[9], A, X, &[9], X]),
        (M::Renewed { lock, number }, &[&[10], A, &[9]]),
        (M::Full { lock, request }, &[&[11], A, X]),
    ];
    pin(36, cases);
}

fn voting() {
    use voting::Message as M;
    let (lock, request, number, attempt) = (LOCK, TIME, LamportTime(9), 300);
    let cases: &Cases<M> = &[
        (M::Request { lock, request, attempt, lease: SPAN, trying: true }, &[&[0], A, X, X, X, &[1]]),
        (M::Vote { lock, request, attempt, number, waited: SPAN }, &[&[1], A, X, X, &[9], X]),
        (M::Refuse { lock, request, ahead: 3 }, &[&[2], A, X, &[3]]),
        (M::Inquire { lock, request, attempt }, &[&[3], A, X, X]),
        (M::Relinquish { lock, request, attempt }, &[&[4], A, X, X]),
        (M::Release { lock, request, held: true }, &[&[5], A, X, &[1]]),
        (M::Confirm { lock, request, number }, &[&[6], A, X, &[9]]),
        (M::Confirmed { lock, request, attempt, number }, &[&[7], A, X, X, &[9]]),
        (M::Renew { lock, request, number, lease: SPAN }, &[&[8], A, X, &[9], X]),
        (M::Renewed { lock, number }, &[&[9], A, &[9]]),
    ];
    pin(37, cases);
}

#[test]
fn the_longest_messages_of_the_locks_fit_a_reliable_message() {
    let (lock, max, term) = (LOCK, u32::MAX, TERM_MAX);
    let epoch = Epoch { term, serial: max };
    let (request, number, span) = (LamportTime(u64::MAX), LamportTime(u64::MAX), Duration::from_micros(max));
    let token = Token { epoch, sequence: max };
    let rounds: Vec<_, MEMBERS_MAX> = std::iter::repeat_n((15, Round(u32::MAX)), 5).collect();
    let privilege = Privilege { lock, token, number: max, waited: span, lease_left: span, return_request: Some(max) };
    let grant = maekawa::Message::Grant { lock, request, attempt: u16::MAX, number, waited: span };
    let lengths = [
        length(&central::Message::Grant { lock, request, fence: Fence { term, count: number }, waited: span }),
        length(&central::Message::Follows {
            term,
            held: [Some(LOCK); LOCKS_MAX],
            complete: true,
            since: LamportTime(u64::MAX),
        }),
        length(&token_ring::Message::Issuer(TokenMessage::RecallAck { lock, epoch, had: Some(epoch) })),
        length(&lamport::Message::RequestAck { lock, own: Some(request), rounds: rounds.clone() }),
        length(&ricart_agrawala::Message::Reply { lock, rounds }),
        length(&grant),
        length(&voting::Message::Vote { lock, request, attempt: u16::MAX, number, waited: span }),
        length(&raymond::Message::Privilege(privilege)),
    ];
    check_lengths(&lengths, &[41, 46, 38, 48, 37, 34, 34, 47]);
}
