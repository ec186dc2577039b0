//! The laws of `laws.rs` for every lock, and one more: what the application was told is what is.

mod common;

use common::laws::{Event, Told, hold_also, news, node, stamp, term};
use proptest::prelude::*;
use protocol::algorithm::{Fact, Input, Output};
use protocol::link::{ANSWERS_MAX, LETTER_MAX};
use protocol::mutex::{Central, Command, Fence, LockId, Mutex, Notice, Refusal, central};
use protocol::wire::{FRAME_MAX, Message};
use protocol::{Instant, Span};
use std::collections::BTreeMap;
use std::fmt::Debug;

fn lock() -> impl Strategy<Value = LockId> {
    prop_oneof![Just("door"), Just("printer"), Just("a"), Just("b"), Just("c")].prop_map(LockId::from_name)
}

fn lease() -> impl Strategy<Value = Span> {
    prop_oneof![1 => Just(0), 6 => 0..5_000_000_u32, 1 => any::<u32>()].prop_map(Span::from_micros)
}

fn fence() -> impl Strategy<Value = Fence> {
    (term(), stamp()).prop_map(|(term, count)| Fence { term, count })
}

fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![Just(Refusal::Busy), Just(Refusal::Full), Just(Refusal::NotHeld), Just(Refusal::Outside)]
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
        3 => news(),
        1 => Just(Fact::View),
        2 => (node(), term()).prop_map(|(leader, term)| Fact::Leader { leader, term }),
        1 => Just(Fact::NoLeader),
    ]
}

fn history<M: Debug + Clone>(message: impl Strategy<Value = M>) -> impl Strategy<Value = Vec<Event<M, Command>>> {
    common::laws::history(message, command(), fact())
}

fn central_message() -> impl Strategy<Value = central::Message> {
    use central::Message as M;
    prop_oneof![
        3 => (lock(), stamp(), lease(), any::<bool>())
            .prop_map(|(lock, request, lease, trying)| M::Request { lock, request, lease, trying }),
        3 => (lock(), stamp(), fence(), lease())
            .prop_map(|(lock, request, fence, waited)| M::Grant { lock, request, fence, waited }),
        1 => (lock(), stamp()).prop_map(|(lock, request)| M::Release { lock, request }),
        1 => (lock(), stamp(), any::<u8>()).prop_map(|(lock, request, ahead)| M::Waiting { lock, request, ahead }),
        1 => (lock(), stamp()).prop_map(|(lock, request)| M::Cancel { lock, request }),
        1 => (lock(), stamp(), stamp(), lease())
            .prop_map(|(lock, request, number, lease)| M::Renew { lock, request, number, lease }),
        1 => (lock(), stamp()).prop_map(|(lock, number)| M::Renewed { lock, number }),
        1 => (lock(), stamp(), refusal()).prop_map(|(lock, request, why)| M::Refused { lock, request, why }),
    ]
}

/// What the application believes to hold: until when, under which fence.
type Belief = BTreeMap<LockId, (Instant, Fence)>;

/// The application was told what is; a letter is answered by no more letters than there is room for, each of which fits
/// its frame and is read as it was written.
fn honest<L>(
    belief: &mut Belief,
    lock: &L,
    at: Instant,
    told: &Told<L>,
    said: &[Output<L::Message, Notice>],
) -> Result<(), TestCaseError>
where
    L: Mutex<Message: PartialEq + Debug>,
{
    for output in said {
        match output {
            Output::Send { message, .. } => {
                let mut bytes = [0; FRAME_MAX];
                let len = message.encode(&mut bytes).expect("it fits a frame");
                prop_assert!(len <= LETTER_MAX, "{message:?} takes {len} bytes");
                let read = L::Message::decode(message.kind(), &bytes[..len]);
                prop_assert_eq!(read.as_ref(), Some(message));
            }
            Output::Notify(Notice::Acquired { lock, fence, until }) => {
                prop_assert!(*until > at, "granted for a time that is over");
                let before = belief.insert(*lock, (*until, *fence));
                prop_assert!(before.is_none_or(|(before, same)| same == *fence && before <= *until), "{before:?}");
            }
            Output::Notify(Notice::Lost { lock } | Notice::Released { lock }) => {
                prop_assert!(belief.remove(lock).is_some(), "{lock:?} was not held");
            }
            Output::Notify(Notice::Waiting { lock, .. }) => prop_assert!(!belief.contains_key(lock)),
            Output::Notify(Notice::Expiring { lock, until }) => {
                prop_assert_eq!(belief.get(lock).map(|(until, _)| until), Some(until));
            }
            Output::Notify(Notice::Refused { .. }) => {}
        }
    }
    for (&name, &(until, fence)) in &*belief {
        prop_assert_eq!(lock.holds(name, at), (at < until).then_some(fence));
        prop_assert!(at < until, "nobody was told that {:?} is lost", name);
    }
    for name in ["door", "printer", "a", "b", "c"].map(LockId::from_name) {
        prop_assert!(lock.holds(name, at).is_none() || belief.contains_key(&name), "{:?} is held", name);
    }
    if matches!(told, Input::Message { .. }) {
        let letters = said.iter().filter(|output| matches!(output, Output::Send { .. })).count();
        prop_assert!(letters <= ANSWERS_MAX, "{letters} letters answer one");
    }
    Ok(())
}

/// Drives a lock through a history and holds it to all laws.
fn hold<L>(lock: L, history: Vec<Event<L::Message, Command>>) -> Result<(), TestCaseError>
where
    L: Mutex<Message: PartialEq + Debug> + Clone + PartialEq + Debug,
{
    let mut belief = Belief::new();
    hold_also(lock, history, |lock, at, told, said| honest(&mut belief, lock, at, told, said))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_central_lock_keeps_the_laws(history in history(central_message())) {
        hold(Central::default(), history)?;
    }
}
