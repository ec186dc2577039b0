//! Whatever members send, in whatever order, to a service: it works on.
//!
//! The frames have good tags and come from members; their bodies are any bytes, most of them small, so that many mean
//! something. Elections and heartbeats are among them: the leader and the members that are up change all the time.

#![allow(clippy::disallowed_types, reason = "a test may panic")]

use crate::histories::cases;
use crate::support::net::{Net, RELIABLE, SERVICE_ROOM as ROOM, config};
use proptest::prelude::*;
use proptest::strategy::Union;
use proptest::test_runner::TestRunner;
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::election::{Bully, bully};
use protocol::mutex::NoMutex;
use protocol::node::Input;
use protocol::service::Service;
use protocol::service::app_service::{self, Command, ObservedApp};
use protocol::service::clock_sync::{self, ClockSync};
use protocol::service::demo::{Diffusing, Tokens, counter, diffusing, tokens};
use protocol::service::snapshot;
use protocol::service::termination::{self, DijkstraScholten, Wave, dijkstra_scholten, wave};
use protocol::wire::{
    self, Attempt, Boots, Destination, FRAME_MAX, Kind, Kinded, Packet, Payload, Recipients, Relays, ReliableHeader,
};
use protocol::{Duration, Instant, NodeId, NodeSet, lease};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Debug;

const MEMBERS: usize = 5;

/// A message of a member.
#[derive(Clone, Debug)]
struct Sent {
    from: usize,
    /// Whether the sender has restarted.
    restarted: bool,
    kind: Kind,
    reliable: bool,
    body: Vec<u8>,
    /// How long after the last one.
    after: Duration,
}

/// A message arrives, or the application gives a command.
#[derive(Clone, Debug)]
enum Event<C> {
    Receive(Sent),
    Ask(C),
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![4 => anything(), 1 => leading()]
}

/// One of two members leads, or did, and adjusts clocks by any amount.
fn leading() -> impl Strategy<Value = Sent> {
    let by = prop_oneof![-3_000_000..3_000_000_i64, any::<i64>()];
    let message = (1..3_usize, 3..6_u32, 0..9_u32, by, any::<bool>());
    (message, 0..400_000_u32).prop_map(|((from, number, round, by, leads), after)| {
        let id = config(from).me;
        let term = Term { number, by: id };
        let leader = Candidate { capacity: Capacity::new(500), id };
        let mut buffer = [0; FRAME_MAX];
        let (kind, len) = if leads {
            (Bully::KIND, bully::Message::Coordinator { term, leader, runner_up: None }.encode(&mut buffer))
        } else {
            let entries = heapless::Vec::from_array([(0, by)]);
            let adjust = clock_sync::Message::Adjust { term, round, reliable: false, entries };
            (clock_sync::Message::KIND, adjust.encode(&mut buffer))
        };
        let body = buffer[..len.unwrap()].to_vec();
        Sent { from, restarted: false, kind, reliable: leads, body, after: Duration::from_micros(after) }
    })
}

fn anything() -> impl Strategy<Value = Sent> {
    let kinds = [
        (3, tokens::Give::KIND),
        (3, diffusing::Work::KIND),
        (8, snapshot::Message::KIND),
        (8, wave::Message::KIND),
        (8, dijkstra_scholten::Message::KIND),
        (8, clock_sync::Message::KIND),
        (1, counter::Message::KIND),
        (3, Bully::KIND),
        (1, lease::Message::KIND),
        (1, Kind::HEARTBEAT),
    ];
    let kind = Union::new_weighted(kinds.map(|(weight, kind)| (weight, Just(kind))).to_vec());
    let body = proptest::collection::vec(prop_oneof![9 => 0..6_u8, 1 => any::<u8>()], 0..20);
    let after =
        prop_oneof![4 => 0..20_000_u32, 2 => 0..800_000_u32, 1 => 0..9_000_000_u32].prop_map(Duration::from_micros);
    let restarted = prop_oneof![40 => Just(false), 1 => Just(true)];
    (1..MEMBERS, restarted, kind, any::<bool>(), body, after).prop_map(
        |(from, restarted, kind, reliable, body, after)| Sent { from, restarted, kind, reliable, body, after },
    )
}

/// Messages, and now and then a command.
fn events<C: Clone + Debug + 'static>(command: impl Strategy<Value = C>) -> impl Strategy<Value = Event<C>> {
    prop_oneof![12 => sent().prop_map(Event::Receive), 1 => command.prop_map(Event::Ask)]
}

/// A node of a group of which no other is up, and its shared clock.
struct Victim<S: Service> {
    net: Net<Bully, NoMutex, S, ROOM>,
    clock: fn(&S) -> &ClockSync<ROOM>,
    /// The boot of the node, and what its clock showed last in it.
    shown: (u32, Instant),
}

impl<S: Service + 'static> Victim<S> {
    fn new(make: fn() -> S, clock: fn(&S) -> &ClockSync<ROOM>) -> Self {
        let make = move |index| (config(index), make());
        let mut net = Net::with_service(MEMBERS, (RELIABLE, 3), |_, _| false, make);
        (1..MEMBERS).for_each(|index| _ = net.crash(index));
        Self { net, clock, shown: (0, Instant::ZERO) }
    }

    /// Lets time pass. The shared clock never runs backwards within a boot: a node that is named in a later boot of its own
    /// restarts above it, and its clock is set again.
    fn run(&mut self, span: Duration) {
        let (clock, shown) = (self.clock, Cell::new(self.shown));
        self.net.run_until(span, |net| {
            let boot = net.incarnation(0);
            let last = Some(shown.get()).filter(|&(of, _)| of == boot).map_or(Instant::ZERO, |(_, reading)| reading);
            let reading = clock(net.service(0)).read(net.now).unwrap_or(last);
            assert!(reading >= last, "the clock runs backwards");
            shown.set((boot, reading));
            false
        });
        self.shown = shown.get();
    }

    fn put(&mut self, events: Vec<Event<S::Command>>) {
        let key = self.net.key();
        let mut incarnations = [1; MEMBERS];
        for (seq, event) in (1..).zip(events) {
            match event {
                Event::Ask(command) => _ = self.net.ask(0, command),
                Event::Receive(Sent { from, restarted, kind, reliable, body, after }) => {
                    self.run(after);
                    incarnations[from] += u32::from(restarted);
                    let boots = Boots::from_slice(&[1]).unwrap();
                    let recipients = Recipients::Members { set: NodeSet::slot(0), boots, relays: Relays::Nobody };
                    let attempt = Attempt { seq, number: 0, hop_limit: 1, sent_at: LamportTime(seq.into()) };
                    let header = ReliableHeader { origin: None, attempt, recipients, ack: None };
                    let destination = if reliable { Destination::Reliable(header) } else { Destination::Broadcast };
                    let (sender, incarnation) = (config(from).me, incarnations[from]);
                    let packet = Packet { kind, sender, incarnation, seq, destination, body: &body };
                    let mut bytes = [0; FRAME_MAX];
                    let Some(len) = wire::seal(&key, &packet, &mut bytes) else { continue };
                    self.net.put(0, Input::Frame { bytes: &bytes[..len], quality: 255 });
                }
            }
            self.run(Duration::ZERO);
        }
    }
}

/// Runs many histories; returns how often there was a notice of each name.
fn run<S, C>(
    event: impl Strategy<Value = Event<C>>,
    make: fn() -> S,
    clock: fn(&S) -> &ClockSync<ROOM>,
    name: fn(&S::Notice) -> &'static str,
    after: impl Fn(&mut Victim<S>),
) -> BTreeMap<&'static str, usize>
where
    S: Service<Command = C> + 'static,
    C: Debug,
{
    let names = RefCell::new(BTreeMap::new());
    let history = proptest::collection::vec(event, 1..120);
    let result = TestRunner::new(cases(1_000)).run(&history, |history| {
        let mut victim = Victim::new(make, clock);
        victim.put(history);
        // No member sends anything any more: the node works alone.
        victim.run(Duration::from_secs(60));
        prop_assert_eq!(victim.net.leader(), Some(NodeId(1)));
        for (_, _, notice) in &victim.net.service_notices {
            *names.borrow_mut().entry(name(notice)).or_default() += 1;
        }
        after(&mut victim);
        Ok(())
    });
    result.unwrap();
    println!("{names:?}");
    names.into_inner()
}

fn name(notice: &app_service::Notice) -> &'static str {
    use app_service::Notice as N;
    match notice {
        N::Application(never) => match *never {},
        N::Snapshot(snapshot::Notice::Recorded { .. }) => "recorded",
        N::Snapshot(snapshot::Notice::Fragment { .. }) => "fragment",
        N::Snapshot(snapshot::Notice::Taken { .. }) => "taken",
        N::Snapshot(snapshot::Notice::Aborted { .. }) => "aborted",
        N::Termination(termination::Notice::Terminated { .. }) => "terminated",
        N::Termination(termination::Notice::Aborted { .. }) => "undetectable",
        N::Clock(clock_sync::Notice::Set) => "set",
        N::Clock(clock_sync::Notice::Adjusted { .. }) => "adjusted",
    }
}

/// A snapshot that is asked for at last ends, once.
fn take_snapshot<S, C>(victim: &mut Victim<S>)
where
    S: Service<Command = Command<C>, Notice = app_service::Notice> + 'static,
{
    let before = victim.net.service_notices.len();
    victim.net.ask(0, Command::SNAPSHOT);
    victim.run(Duration::from_secs(60));
    let new = &victim.net.service_notices[before..];
    let ends = new.iter().filter(|(_, _, notice)| matches!(name(notice), "taken" | "aborted"));
    assert_eq!(ends.count(), 1, "{new:?}");
}

#[test]
fn a_bank_watched_by_waves_survives_whatever_members_send() {
    type Bank = ObservedApp<Tokens<ROOM>, Wave<ROOM>, ROOM>;
    let make = || Bank::all(Tokens::new(1_000, Duration::from_millis(200)), Wave::new());
    let command = prop_oneof![Just(Command::SNAPSHOT), Just(Command::DETECT_TERMINATION)];
    let names = run(events(command), make, Bank::clock, name, take_snapshot);
    for name in ["recorded", "fragment", "aborted", "terminated", "set", "adjusted"] {
        assert!(names.contains_key(name), "no message leads to {name}: {names:?}");
    }
}

#[test]
fn a_job_watched_by_a_tree_survives_whatever_members_send() {
    type Job = ObservedApp<Diffusing, DijkstraScholten<ROOM>, ROOM>;
    let make = || Job::all(Diffusing::new(Duration::from_millis(30)), DijkstraScholten::new());
    let command = prop_oneof![
        Just(Command::SNAPSHOT),
        Just(Command::DETECT_TERMINATION),
        any::<u32>().prop_map(|units| Command::Application(diffusing::Command::Start { units: units % 9 })),
    ];
    let names = run(events(command), make, Job::clock, name, take_snapshot);
    for name in ["recorded", "fragment", "aborted", "terminated", "undetectable", "set", "adjusted"] {
        assert!(names.contains_key(name), "no message leads to {name}: {names:?}");
    }
}

#[test]
fn a_shared_clock_survives_whatever_members_send_and_never_runs_backwards() {
    let event = sent().prop_map(Event::Receive);
    let names = run(event, ClockSync::new, |clock| clock, |&notice| name(&app_service::Notice::Clock(notice)), |_| {});
    assert!(names.contains_key("set") && names.contains_key("adjusted"), "{names:?}");
}
