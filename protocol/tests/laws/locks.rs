//! The laws of every lock, and more: the application's notices are true, and every message can be sent and decoded.

use crate::histories::{Event, Laws, Taken, any_fact, bytes, cases, check, encoded, history, set};
use proptest::prelude::*;
use protocol::algorithm::{Input, Output};
use protocol::link::{RELIABLE_MAX, REPLIES_MAX};
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::{FRAME_MAX, Kind, Payload};
use protocol::{Duration, Instant};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The locks that are asked for and named in messages, one more than there is room for.
const NAMES: [&str; 5] = ["door", "printer", "a", "b", "c"];

fn lock() -> impl Strategy<Value = LockId> {
    (0..NAMES.len()).prop_map(|which| LockId::from_name(NAMES[which]))
}

fn lease() -> impl Strategy<Value = Duration> {
    prop_oneof![1 => Just(0), 6 => 1_000..5_000_000_u32, 1 => any::<u32>()].prop_map(Duration::from_micros)
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => (lock(), lease()).prop_map(|(lock, lease)| Command::Acquire { lock, lease }),
        1 => (lock(), lease()).prop_map(|(lock, lease)| Command::Try { lock, lease }),
        1 => (lock(), lease(), lease()).prop_map(|(lock, lease, wait)| Command::AcquireWithin { lock, lease, wait }),
        2 => (lock(), lease()).prop_map(|(lock, lease)| Command::Renew { lock, lease }),
        2 => lock().prop_map(|lock| Command::Release { lock }),
        1 => lock().prop_map(|lock| Command::Cancel { lock }),
    ]
}

/// A piece of a message: a small number, a lock that is asked for, a lease, a set, any byte.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0..24_u8).prop_map(|number| vec![number]),
        5 => lock().prop_map(encoded),
        2 => lease().prop_map(encoded),
        1 => set().prop_map(encoded),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

/// The locks the application holds by its notices: until when, under which fence.
type Belief = BTreeMap<LockId, (Instant, Fence)>;

/// A notice agrees with those before it.
fn check_notice(belief: &mut Belief, now: Instant, notice: &Notice) -> Result<(), TestCaseError> {
    match *notice {
        Notice::Acquired { lock, fence, until } => {
            prop_assert!(until > now, "granted for a time that is over");
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

/// A message can be sent, and decodes to itself.
fn check_message<M: Payload + PartialEq + Debug>(kind: Kind, message: &M) -> Result<(), TestCaseError> {
    let mut bytes = [0; FRAME_MAX];
    let len = message.encode(&mut bytes).unwrap_or(FRAME_MAX);
    prop_assert!(len <= RELIABLE_MAX, "{:?} takes {} bytes", message, len);
    let decoded = M::decode(message.kind(), &bytes[..len]);
    prop_assert_eq!(decoded.as_ref(), Some(message));
    prop_assert!(message.kind() == kind && !message.name().is_empty());
    Ok(())
}

fn hold<M>(lock: M, kind: Kind, history: Vec<Event<Command>>) -> Result<(), TestCaseError>
where
    M: Mutex<Message: PartialEq + Debug> + Clone + PartialEq + Debug,
{
    let mut belief = Belief::new();
    check(lock, &Laws { kinds: &[kind], duplicates: true }, history, |Taken { after, now, input, outputs }| {
        for output in outputs {
            match output {
                Output::Send { message, .. } => check_message(kind, message)?,
                Output::Notify(notice) => check_notice(&mut belief, now, notice)?,
            }
        }
        for id in NAMES.map(LockId::from_name) {
            let notified = belief.get(&id).filter(|&&(until, _)| now < until);
            prop_assert_eq!(after.holds(id, now), notified.map(|&(_, fence)| fence), "{:?}", id);
        }
        if matches!(input, Input::Message { .. }) {
            let replies = outputs.iter().filter(|output| matches!(output, Output::Send { .. })).count();
            prop_assert!(replies <= REPLIES_MAX, "{} replies to one message", replies);
        }
        Ok(())
    })
}

fn events() -> impl Strategy<Value = Vec<Event<Command>>> {
    history(bytes(piece()), (4, command()), any_fact())
}

macro_rules! every_lock_keeps_the_laws {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {
        proptest! {
            #![proptest_config(cases(4_000))]

            $(#[test]
            fn $module(history in events()) {
                hold(protocol::mutex::$name::default(), protocol::mutex::$name::KIND, history)?;
            })+
        }
    };
}

protocol::for_each_mutex! { every_lock_keeps_the_laws }
