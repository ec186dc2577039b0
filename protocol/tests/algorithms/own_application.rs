//! An application outside the crate: its own kind, messages, commands and notices, alone or with the observers chosen.

use crate::support::prelude::*;
use protocol::algorithm::{Algorithm, Context, Input, Outbox};
use protocol::service::app_service::{self, AppService, Command};
use protocol::service::application::{Application, ChannelMessage, LocalState, Recordable, Terminating, encode};
use protocol::service::termination::{self, DijkstraScholten, Wave};
use protocol::service::{Service, clock_sync, snapshot};
use protocol::wire::{Delivery, Kinded, Message};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A word from one node to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Word {
    Reliable(u32),
    Unreliable(u32),
    Latest(u32),
}

impl Kinded for Word {
    const KIND: Kind = Kind::application::<7>();
}

impl Message for Word {
    fn delivery(&self) -> Delivery {
        match self {
            Self::Reliable(_) => Delivery::Reliable,
            Self::Unreliable(_) => Delivery::Unreliable,
            Self::Latest(_) => Delivery::ReliableLatest,
        }
    }

    fn name(&self) -> &'static str {
        "word"
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    One(NodeId),
    Others,
    Leader,
}

/// Sends the words it is given, and notifies of those it receives.
#[derive(Clone, Debug, Default)]
struct Messenger {
    leader: Option<NodeId>,
    unsent: VecDeque<(To, u32)>,
}

impl Messenger {
    fn set(&self, cx: &Context<'_>, to: To) -> NodeSet {
        match to {
            To::One(id) => cx.roster.set_of(id),
            To::Others => cx.peers,
            To::Leader => self.leader.map_or(NodeSet::EMPTY, |leader| cx.roster.set_of(leader)),
        }
    }
}

impl Application for Messenger {
    type Message = Word;
    type Command = (To, Word);
    type Notice = (NodeId, Word);

    fn handle(&mut self, cx: &Context<'_>, input: Input<Word, (To, Word)>, out: &mut Outbox<Word, (NodeId, Word)>) {
        match input {
            Input::Message { from, message, .. } => out.notify((from, message)),
            Input::Command((to, Word::Reliable(number))) if number > 0 => self.unsent.push_back((to, number)),
            Input::Command((to, word)) => out.send(self.set(cx, to), word), // number 0: a mistake
            Input::Fact(Fact::Leader { leader, .. }) => self.leader = Some(leader),
            Input::Fact(_) | Input::Timeout => {}
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Word)> {
        let (to, number) = self.unsent.pop_front()?;
        Some((self.set(cx, to), Word::Reliable(number)))
    }
}

impl Recordable for Messenger {
    fn local_state(&self, _: &Context<'_>) -> Option<LocalState> {
        encode(&self.unsent.len())
    }

    fn channel_message(&self, _: &Context<'_>, _: NodeId, message: &Word) -> ChannelMessage {
        encode(message).unwrap_or_default()
    }
}

impl Terminating for Messenger {
    fn is_busy(&self) -> bool {
        !self.unsent.is_empty()
    }
}

fn net<S: Service + 'static>(
    medium: Medium,
    service: fn(AppService<Messenger>) -> S,
) -> Net<protocol::election::Bully, NoMutex, S, SERVICE_ROOM> {
    let make = move |index| {
        let config = Config { hops: 1, timing: Timing::LAN, ..config(index) };
        (config, service(AppService::new(Messenger::default())))
    };
    let mut net = Net::with_service(4, (medium, 1), complete, make);
    net.run_secs(8);
    net
}

/// The words that node `index` was notified of, with their senders.
fn words<S: Service<Notice = N>, N: Clone>(
    net: &Net<protocol::election::Bully, NoMutex, S, SERVICE_ROOM>,
    index: usize,
    word: impl Fn(N) -> Option<(NodeId, Word)>,
) -> Vec<(u32, Word)> {
    let own = net.service_notices.iter().filter(|(_, at, _)| *at == index);
    own.filter_map(|(_, _, notice)| word(notice.clone())).map(|(from, word)| (from.0, word)).collect()
}

macro_rules! heard {
    ($net:expr, $index:expr) => {
        words(&$net, $index, |notice| match notice {
            app_service::Notice::Application(word) => Some(word),
            _ => None,
        })
    };
}

#[test]
fn reliable_messages_reach_one_member_the_leader_and_all_in_order_and_once_under_loss() {
    let mut net = net(UNRELIABLE, |alone| alone);
    for number in 1..=10 {
        net.ask(0, (To::Others, Word::Reliable(number)).into());
        net.ask(1, (To::One(NodeId(1)), Word::Reliable(100 + number)).into());
        net.ask(2, (To::Leader, Word::Reliable(200 + number)).into());
    }
    net.run_secs(20);
    let from = |sender: u32, first: u32| (1..=10).map(move |number| (sender, Word::Reliable(first + number)));
    assert!(heard!(net, 1).into_iter().eq(from(1, 0)));
    assert!(heard!(net, 0).into_iter().eq(from(2, 100)));
    let (mut leader, all) = (heard!(net, 3), from(1, 0).chain(from(3, 200)));
    leader.sort_by_key(|(sender, _)| *sender); // messages of different senders have no order
    assert!(leader.into_iter().eq(all));
}

#[test]
fn unreliable_messages_arrive_at_once_at_their_recipients_only_and_the_latest_arrives_in_the_end() {
    let mut net = net(RELIABLE, |alone| alone);
    net.ask(0, (To::Others, Word::Unreliable(1)).into());
    net.ask(0, (To::One(NodeId(2)), Word::Unreliable(2)).into());
    net.run(Duration::from_millis(20));
    assert_eq!(heard!(net, 1), [(1, Word::Unreliable(1)), (1, Word::Unreliable(2))]);
    assert_eq!(heard!(net, 2), [(1, Word::Unreliable(1))]);
    for number in 3..=9 {
        net.ask(0, (To::One(NodeId(3)), Word::Latest(number)).into());
    }
    net.run_secs(1);
    assert_eq!(heard!(net, 2).last(), Some(&(1, Word::Latest(9))));
}

#[test]
fn a_reliable_message_out_of_turn_breaks_the_bound_on_which_a_node_halts() {
    let (roster, mut service) = (roster::<4>(1..=3), AppService::new(Messenger::default()));
    let mut step = |word| {
        let mut out = Outbox::new();
        service.handle(&context(roster.view(), NodeId(1)), Input::Command((To::Others, word).into()), &mut out);
        (out.overflowed(), out.outputs().len())
    };
    assert_eq!(step(Word::Unreliable(1)), (false, 1));
    assert_eq!(step(Word::Reliable(0)), (true, 0));
}

#[test]
fn every_choice_of_observers_runs_the_same_application() {
    macro_rules! delivers {
        ($service:expr) => {
            let mut net = net(RELIABLE, $service);
            net.ask(0, (To::Others, Word::Reliable(5)).into()).run_secs(1);
            assert_eq!(heard!(net, 1), [(1, Word::Reliable(5))]);
        };
    }
    delivers!(|alone| alone);
    delivers!(AppService::with_clock::<SERVICE_ROOM>);
    delivers!(AppService::with_snapshot);
    delivers!(|alone| alone.with_detection(Wave::<SERVICE_ROOM>::new()));
    delivers!(|alone| alone.with_snapshot().with_clock::<SERVICE_ROOM>());
    delivers!(|alone| alone.with_snapshot().with_detection(Wave::<SERVICE_ROOM>::new()).with_clock::<SERVICE_ROOM>());
}

#[test]
fn each_observer_chosen_does_its_part() {
    let mut net = net(RELIABLE, |alone| {
        alone.with_snapshot().with_detection(DijkstraScholten::<SERVICE_ROOM>::new()).with_clock::<SERVICE_ROOM>()
    });
    net.run_secs(10).ask(0, (To::Others, Word::Reliable(5)).into()).ask(0, Command::SNAPSHOT).run_secs(1);
    let notices = || net.service_notices.iter().map(|(_, _, notice)| notice);
    let any = |of: fn(&_) -> bool| notices().any(of);
    assert!(any(|notice| matches!(notice, app_service::Notice::Snapshot(snapshot::Notice::Taken { .. }))));
    assert!(any(|notice| matches!(notice, app_service::Notice::Termination(termination::Notice::Terminated { .. }))));
    assert!(any(|notice| matches!(notice, app_service::Notice::Clock(clock_sync::Notice::Set))));
    assert!(net.service(1).time(net.now).is_some());
}

#[test]
fn unreliable_messages_are_not_counted_as_work() {
    let mut net = net(UNRELIABLE, |alone| alone.with_detection(Wave::<SERVICE_ROOM>::new()));
    for number in 0..20 {
        net.ask(0, (To::Others, Word::Unreliable(number)).into()).run(Duration::from_millis(50)); // some are lost
    }
    net.ask(1, Command::DETECT_TERMINATION).run_secs(10);
    let terminated =
        |notice: &_| matches!(notice, app_service::Notice::Termination(termination::Notice::Terminated { .. }));
    assert_eq!(net.service_notices.iter().filter(|(_, _, notice)| terminated(notice)).count(), 4);
}
