//! The laws of `laws.rs` for every lock, and those of a lock besides: what the application was told is what is, and what is
//! written can be sent and read.

mod common;

use common::laws::{Event, Told, hold_also, news, node, set, term};
use proptest::prelude::*;
use protocol::algorithm::{Fact, Input, Output};
use protocol::link::{ANSWERS_MAX, LETTER_MAX};
use protocol::mutex::{AnyMessage, AnyMutex, Command, Fence, LockId, Mutex, Notice};
use protocol::wire::{FRAME_MAX, Kind, Message};
use protocol::{Instant, NodeId, Span};
use std::collections::BTreeMap;

/// The locks that are asked for and spoken of, one more than there is room for.
const NAMES: [&str; 5] = ["door", "printer", "a", "b", "c"];

fn lock() -> impl Strategy<Value = LockId> {
    (0..NAMES.len()).prop_map(|place| LockId::from_name(NAMES[place]))
}

fn lease() -> impl Strategy<Value = Span> {
    prop_oneof![1 => Just(0), 6 => 1_000..5_000_000_u32, 1 => any::<u32>()].prop_map(Span::from_micros)
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => (lock(), lease()).prop_map(|(lock, lease)| Command::Acquire { lock, lease }),
        1 => (lock(), lease()).prop_map(|(lock, lease)| Command::Try { lock, lease }),
        2 => (lock(), lease()).prop_map(|(lock, lease)| Command::Renew { lock, lease }),
        2 => lock().prop_map(|lock| Command::Release { lock }),
        1 => lock().prop_map(|lock| Command::Cancel { lock }),
    ]
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        4 => news(),
        1 => Just(Fact::View),
        2 => (node(), term()).prop_map(|(leader, term)| Fact::Leader { leader, term }),
        1 => term().prop_map(|term| Fact::Leader { leader: NodeId(1), term }),
        1 => Just(Fact::NoLeader),
        1 => node().prop_map(Fact::Parent),
    ]
}

/// A piece of a message as it travels: a small number, a lock that is asked for, a span, a set, any byte.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    fn written<T: serde::Serialize>(value: T) -> Vec<u8> {
        postcard::to_vec::<T, 8>(&value).unwrap().to_vec()
    }
    prop_oneof![
        8 => (0..24_u8).prop_map(|number| vec![number]),
        5 => lock().prop_map(written),
        2 => lease().prop_map(written),
        1 => set().prop_map(written),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

/// Bytes of which each lock takes as many as make one of its messages.
fn sentence() -> impl Strategy<Value = Vec<u8>> {
    (0..12_u8, proptest::collection::vec(piece(), 1..16)).prop_map(|(first, rest)| {
        let mut bytes = vec![first];
        bytes.extend(rest.into_iter().flatten());
        bytes
    })
}

/// The message that these bytes begin with, if the lock of `kind` has any such.
fn read(kind: Kind, bytes: &[u8]) -> Option<AnyMessage> {
    (1..=bytes.len()).find_map(|len| AnyMessage::decode(kind, &bytes[..len]))
}

/// What the application believes to hold: until when, under which fence.
type Belief = BTreeMap<LockId, (Instant, Fence)>;

/// The application was told what is.
fn is_honest(belief: &mut Belief, at: Instant, notice: &Notice) -> Result<(), TestCaseError> {
    match *notice {
        Notice::Acquired { lock, fence, until } => {
            prop_assert!(until > at, "granted for a time that is over");
            let before = belief.insert(lock, (until, fence));
            prop_assert!(before.is_none_or(|(before, same)| same == fence && before <= until), "{:?}", before);
        }
        Notice::Lost { lock } | Notice::Released { lock } => {
            prop_assert!(belief.remove(&lock).is_some(), "{:?} was not held", lock);
        }
        Notice::Waiting { lock, .. } => prop_assert!(!belief.contains_key(&lock), "{:?} is held", lock),
        Notice::Expiring { lock, until } => {
            prop_assert_eq!(belief.get(&lock).map(|&(until, _)| until), Some(until));
        }
        Notice::Refused { .. } => {}
    }
    Ok(())
}

/// A letter can be sent, and is read as it was written.
fn is_letter(kind: Kind, message: &AnyMessage) -> Result<(), TestCaseError> {
    let mut bytes = [0; FRAME_MAX];
    let len = message.encode(&mut bytes).unwrap_or(FRAME_MAX);
    prop_assert!(len <= LETTER_MAX, "{:?} takes {} bytes", message, len);
    let read = AnyMessage::decode(message.kind(), &bytes[..len]);
    prop_assert_eq!(read.as_ref(), Some(message));
    prop_assert!(message.kind() == kind && !message.word().is_empty());
    Ok(())
}

/// Drives the lock called `name` through a history and holds it to all laws.
fn hold(name: &str, history: &[Event<Vec<u8>, Command>]) -> Result<(), TestCaseError> {
    let lock = AnyMutex::by_name(name).unwrap();
    let kind = lock.kind();
    let history = history.iter().cloned().filter_map(|event| event.read(|bytes| read(kind, &bytes))).collect();
    let mut belief = Belief::new();
    hold_also(lock, history, |lock, at, told: &Told<AnyMutex>, said| {
        for output in said {
            match output {
                Output::Send { message, .. } => is_letter(kind, message)?,
                Output::Notify(notice) => is_honest(&mut belief, at, notice)?,
            }
        }
        for id in NAMES.map(LockId::from_name) {
            let told = belief.get(&id).filter(|&&(until, _)| at < until);
            prop_assert_eq!(lock.holds(id, at), told.map(|&(_, fence)| fence), "{:?}", id);
        }
        if matches!(told, Input::Message { .. }) {
            let letters = said.iter().filter(|output| matches!(output, Output::Send { .. })).count();
            prop_assert!(letters <= ANSWERS_MAX, "{} letters answer one", letters);
        }
        Ok(())
    })
}

fn history() -> impl Strategy<Value = Vec<Event<Vec<u8>, Command>>> {
    common::laws::history(sentence(), (4, command()), fact())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_central_lock_keeps_the_laws(history in history()) {
        hold("central", &history)?;
    }

    #[test]
    fn the_token_ring_keeps_the_laws(history in history()) {
        hold("token-ring", &history)?;
    }

    #[test]
    fn the_lock_of_lamport_keeps_the_laws(history in history()) {
        hold("lamport", &history)?;
    }

    #[test]
    fn the_lock_of_ricart_and_agrawala_keeps_the_laws(history in history()) {
        hold("ricart-agrawala", &history)?;
    }

    #[test]
    fn the_lock_of_maekawa_keeps_the_laws(history in history()) {
        hold("maekawa", &history)?;
    }

    #[test]
    fn the_vote_keeps_the_laws(history in history()) {
        hold("voting", &history)?;
    }

    #[test]
    fn the_lock_of_raymond_keeps_the_laws(history in history()) {
        hold("raymond", &history)?;
    }
}
