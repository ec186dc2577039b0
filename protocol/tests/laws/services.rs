//! The laws of services, and one more: they send reliable messages one at a time, and only when they are polled.

use crate::histories::{Event, Laws, Taken, any_fact, bytes, cases, check, encoded, history, set};
use crate::support::context::{context, roster, slots};
use proptest::prelude::*;
use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output};
use protocol::base::lamport::LamportTime;
use protocol::base::membership::Scope;
use protocol::base::term::Term;
use protocol::service::app_service::{self, ObservedApp};
use protocol::service::application::{Application, Recordable};
use protocol::service::demo::diffusing::{self, Diffusing, Work};
use protocol::service::demo::tokens::{Give, Tokens};
use protocol::service::snapshot;
use protocol::service::termination::{DijkstraScholten, Wave, dijkstra_scholten, wave};
use protocol::service::{Commit, Sequencer, Service, clock_sync, commit, sequencer};
use protocol::wire::{Delivery, Kind, Kinded, Payload};
use protocol::{Duration, Instant, NodeId, NodeSet};
use std::fmt::Debug;

/// A service as a machine that is held to the laws: distinguished by what can be seen of it, and polled by command.
#[derive(Clone, Debug)]
struct Polled<S>(S);

impl<S: Debug> PartialEq for Polled<S> {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl<S: Service> Algorithm for Polled<S> {
    type Message = S::Message;
    /// A command, or a poll for the next message.
    type Command = Option<S::Command>;
    type Notice = S::Notice;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<S::Message, Option<S::Command>>,
        out: &mut Outbox<S::Message, S::Notice>,
    ) {
        match input {
            Input::Message { from, sent_at, message } => {
                self.0.handle(cx, Input::Message { from, sent_at, message }, out);
            }
            Input::Command(Some(command)) => self.0.handle(cx, Input::Command(command), out),
            Input::Command(None) => _ = self.0.poll_send(cx, out),
            Input::Fact(fact) => self.0.handle(cx, Input::Fact(fact), out),
            Input::Timeout => self.0.handle(cx, Input::Timeout, out),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }
}

type Command = app_service::Command<diffusing::Command>;

/// A piece of a message: a small number, a set, all members, any byte.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        10 => (0..5_u8).prop_map(|number| vec![number]),
        1 => set().prop_map(encoded),
        2 => Just(encoded(NodeSet::first(5))),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event<Option<Command>>>> {
    let command = prop_oneof![
        Just(Command::SNAPSHOT),
        Just(Command::DETECT_TERMINATION),
        (0..5_u32).prop_map(|units| Command::Application(diffusing::Command::Start { units })),
    ];
    history(bytes(piece()), (8, prop_oneof![1 => command.prop_map(Some), 3 => Just(None)]), any_fact())
}

fn hold<S>(mut service: S, detection: Kind, history: Vec<Event<Option<Command>>>) -> Result<(), TestCaseError>
where
    S: Service<Command = Command, Message: PartialEq + Debug, Notice: PartialEq + Debug> + Clone + Debug,
{
    service.resume(1);
    let kinds = [Work::KIND, snapshot::Message::KIND, detection, clock_sync::Message::KIND];
    check(Polled(service), &Laws { kinds: &kinds, duplicates: false }, history, |Taken { input, outputs, .. }| {
        let reliable = outputs.iter().filter(|output| match output {
            Output::Send { message, .. } => message.delivery() == Delivery::Reliable,
            Output::Notify(_) => false,
        });
        let most = usize::from(matches!(input, Input::Command(None)));
        prop_assert!(reliable.count() <= most, "reliable messages are sent one at a time, when there is room");
        Ok(())
    })
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn a_job_watched_by_waves_keeps_the_laws(history in events()) {
        let job = Diffusing::new(Duration::from_millis(30));
        hold(ObservedApp::<_, Wave<8>, 8>::all(job, Wave::new()), wave::Message::KIND, history)?;
    }

    #[test]
    fn a_job_watched_by_a_tree_keeps_the_laws(history in events()) {
        let job = Diffusing::new(Duration::from_millis(30));
        let tree = DijkstraScholten::new();
        hold(ObservedApp::<_, DijkstraScholten<8>, 8>::all(job, tree), dijkstra_scholten::Message::KIND, history)?;
    }
}

/// Facts, messages and polls of a member of the sequencer.
fn ordered_events() -> impl Strategy<Value = Vec<Event<Option<sequencer::Command>>>> {
    let payload = sequencer::Payload::from_slice(&[7]).unwrap();
    let command = prop_oneof![1 => Just(Some(sequencer::Command::Submit(payload))), 3 => Just(None)];
    history(bytes(piece()), (8, command), any_fact())
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn e2_an_order_keeps_the_laws(history in ordered_events()) {
        let mut order = Sequencer::<8>::new();
        order.resume(1);
        let laws = Laws { kinds: &[sequencer::Message::KIND], duplicates: false };
        check(Polled(order), &laws, history, |Taken { input, outputs, .. }| {
            let sent = outputs.iter().filter(|output| matches!(output, Output::Send { .. })).count();
            prop_assert!(sent <= usize::from(matches!(input, Input::Command(None))), "one message at a time, when polled");
            Ok(())
        })?;
    }
}

/// Facts, messages and polls of a member of transactions, whose application votes on what it was not asked too.
fn commit_events() -> impl Strategy<Value = Vec<Event<Option<commit::Command>>>> {
    let change = commit::Change::from_slice(&[7]).unwrap();
    let id = |number| commit::TransactionId { term: Term { number: 1, by: NodeId(1) }, number };
    let vote = (0_u32..4, any::<bool>()).prop_map(move |(number, yes)| commit::Command::Vote { id: id(number), yes });
    let command = prop_oneof![1 => Just(commit::Command::Propose(change)).boxed(), 1 => vote.boxed()];
    history(bytes(piece()), (8, prop_oneof![1 => command.prop_map(Some).boxed(), 3 => Just(None).boxed()]), any_fact())
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn e1_a_commit_keeps_the_laws(history in commit_events()) {
        let laws = Laws { kinds: &[commit::Message::KIND], duplicates: false };
        check(Polled(Commit::new()), &laws, history, |Taken { input, outputs, .. }| {
            let sent = outputs.iter().filter(|output| matches!(output, Output::Send { .. })).count();
            prop_assert!(sent <= usize::from(matches!(input, Input::Command(None))), "one message at a time, when polled");
            Ok(())
        })?;
    }
}

#[test]
fn a_bank_makes_good_what_was_lost_and_transfers_nothing_twice() {
    let roster = roster::<8>(1..=3);
    let cx = Context { random: 1 << 20, ..context(roster.view(), NodeId(1)) };
    let give =
        |amount, total| Input::Message { from: NodeId(2), sent_at: LamportTime(0), message: Give { amount, total } };
    let mut bank = Tokens::<8>::new(100, Duration::from_secs(1));
    let step = |bank: &mut Tokens<8>, input| bank.handle(&cx, input, &mut Outbox::new());
    step(&mut bank, give(5, 5));
    step(&mut bank, give(0, 12)); // a message with seven tokens was lost
    assert_eq!(bank.balance(), 112);
    step(&mut bank, Input::Fact(Fact::PeerReset(slots(&[1]))));
    step(&mut bank, give(3, 3));
    assert_eq!(bank.balance(), 115);
    step(&mut bank, Input::Fact(Fact::PeerDown(slots(&[2]))));
    assert_eq!(bank.local_state(&cx), None, "it is not known what has arrived there");
    assert_eq!(bank.poll_send(&cx), Some((slots(&[2]), Give { amount: 0, total: 0 })));
    assert!(bank.local_state(&cx).is_some());
}
