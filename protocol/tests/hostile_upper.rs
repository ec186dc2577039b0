//! Whatever members say, in whatever order, to what stands on top of a node: it stays what it is.
//!
//! The letters have good tags and come from members; their bodies are any bytes, most of them small, so that many mean
//! something. Elections and signs of life are among them: who leads and who is up changes all the time.

mod common;

use common::config;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use protocol::algorithm::{Algorithm, OUTPUTS_MAX};
use protocol::application::{Diffusing, Tokens, diffusing};
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Stamp, Term};
use protocol::clock_sync::{self, ClockSync};
use protocol::election::{Bully, bully};
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Node};
use protocol::records::Records;
use protocol::suite::{self, Command, Suite};
use protocol::termination::{self, DijkstraScholten, Wave};
use protocol::upper::Upper;
use protocol::wire::{self, FRAME_MAX, Kind, Letter, Message as _, Packet, Path, To};
use protocol::{Instant, NodeId, NodeSet, Span, snapshot};
use std::cell::RefCell;
use std::collections::BTreeMap;

const MEMBERS: usize = 5;

/// What is said: by whom, whether it has started anew, what kind, whether by letter, the body; how long after the last.
type Said = (usize, bool, Kind, bool, Vec<u8>, Span);

/// One thing that happens: something is said, or the application asks.
#[derive(Clone, Debug)]
enum Event<C> {
    Said(Said),
    Asked(C),
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![4 => anything(), 1 => led()]
}

/// One of two members leads, or did, and corrects clocks by whatever it likes.
fn led() -> impl Strategy<Value = Said> {
    let by = prop_oneof![-3_000_000..3_000_000_i64, any::<i64>()];
    let message = (1..3_usize, 3..6_u32, 0..9_u32, by, any::<bool>());
    (message, 0..400_000_u32).prop_map(|((from, number, round, by, leads), after)| {
        let id = config(from).me;
        let term = Term { number, by: id };
        let leader = Standing { capacity: Capacity::new(500), id };
        let mut buffer = [0; FRAME_MAX];
        let (kind, len) = if leads {
            (Kind::Bully, bully::Message::Coordinator { term, leader, second: None }.encode(&mut buffer))
        } else {
            let entries = heapless::Vec::from_array([(0, by)]);
            let adjust = clock_sync::Message::Adjust { term, round, letter: false, entries };
            (Kind::ClockSync, adjust.encode(&mut buffer))
        };
        (from, false, kind, leads, buffer[..len.unwrap()].to_vec(), Span::from_micros(after))
    })
}

fn anything() -> impl Strategy<Value = Said> {
    let kinds = [
        (3, Kind::Tokens),
        (3, Kind::Diffusing),
        (8, Kind::Snapshot),
        (8, Kind::Wave),
        (8, Kind::DijkstraScholten),
        (8, Kind::ClockSync),
        (1, Kind::Counter),
        (3, Kind::Bully),
        (1, Kind::Mandate),
        (1, Kind::Alive),
    ];
    let kind = proptest::strategy::Union::new_weighted(kinds.map(|(weight, kind)| (weight, Just(kind))).to_vec());
    let byte = prop_oneof![9 => 0..6_u8, 1 => any::<u8>()];
    let body = proptest::collection::vec(byte, 0..20);
    let after = prop_oneof![4 => 0..20_000_u32, 2 => 0..800_000_u32, 1 => 0..9_000_000_u32].prop_map(Span::from_micros);
    let anew = prop_oneof![40 => Just(false), 1 => Just(true)];
    (1..MEMBERS, anew, kind, any::<bool>(), body, after)
}

/// What is said, and now and then something that is asked.
fn beside<C: Clone + std::fmt::Debug + 'static>(command: impl Strategy<Value = C>) -> impl Strategy<Value = Event<C>> {
    prop_oneof![12 => said().prop_map(Event::Said), 1 => command.prop_map(Event::Asked)]
}

type Member<U> = Node<Bully, NoMutex, 8, U>;

/// A node that hears all this, and what it tells.
struct Victim<U: Upper> {
    node: Member<U>,
    now: Instant,
    told: Vec<U::Notice>,
    /// The most it told in one step.
    most: usize,
    clock: fn(&U) -> &ClockSync<8>,
    shown: Instant,
}

impl<U: Upper> Victim<U> {
    fn new(upper: U, clock: fn(&U) -> &ClockSync<8>) -> Self {
        let members: Vec<NodeId> = (0..MEMBERS).map(|index| config(index).me).collect();
        let boot = Boot { records: Some(Records::FACTORY), seed: 3 };
        let node = Node::with_upper(config(0), boot, Instant::ZERO, Bully::default(), NoMutex, upper).unwrap();
        let mut node = node.in_group(&members).unwrap();
        node.handle(Instant::ZERO, Input::Capacity(Some(Capacity::new(100))));
        let mut victim = Self { node, now: Instant::ZERO, told: Vec::new(), most: 0, clock, shown: Instant::ZERO };
        victim.drain();
        victim
    }

    fn drain(&mut self) {
        while self.node.poll_persist().is_some() {}
        let mut buffer = [0; FRAME_MAX];
        while self.node.poll_transmit(self.now, &mut buffer).is_some() {}
        while self.node.poll_notice().is_some() {}
        let before = self.told.len();
        while let Some(notice) = self.node.poll_told() {
            self.told.push(notice);
        }
        self.most = self.most.max(self.told.len() - before);
        let shows = (self.clock)(self.node.upper()).read(self.now);
        if let Some(shown) = shows {
            assert!(shown >= self.shown, "the clock runs backwards");
            self.shown = shown;
        }
        assert_eq!(self.node.halted(), None);
    }

    /// Lets time pass, and the node do what is due.
    fn pass(&mut self, span: Span) {
        let end = self.now.after(span);
        while let Some(at) = self.node.deadline().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            self.node.handle(self.now, Input::Timeout);
            self.drain();
        }
        self.now = end;
    }

    fn happen(&mut self, events: Vec<Event<U::Command>>) {
        let members: Vec<NodeId> = (0..MEMBERS).map(|index| config(index).me).collect();
        let key = config(0).key.for_group(&members);
        let mut boots = [1; MEMBERS];
        for (number, event) in (1..).zip(events) {
            let (from, anew, kind, by_letter, body, after) = match event {
                Event::Said(said) => said,
                Event::Asked(command) => {
                    self.node.ask(self.now, command);
                    self.drain();
                    continue;
                }
            };
            self.pass(after);
            boots[from] += u32::from(anew);
            let to = To::Members(NodeSet::first(MEMBERS));
            let letter = Letter { writer: None, number, attempt: 0, hops: 1, stamp: Stamp(number.into()), to };
            let path = if by_letter { Path::Letter(letter) } else { Path::Everyone };
            let (sender, incarnation) = (members[from], boots[from]);
            let packet = Packet { kind, sender, incarnation, sequence: number, path, body: &body };
            let mut bytes = [0; FRAME_MAX];
            let Some(len) = wire::seal(&key, &packet, &mut bytes) else { continue };
            self.node.handle(self.now, Input::Frame { bytes: &bytes[..len], quality: 255 });
            self.drain();
        }
        assert!(self.most <= OUTPUTS_MAX + 4, "it told {} things at once", self.most);
    }
}

/// Runs many histories: how often each thing was told.
fn run<U, C>(
    event: impl Strategy<Value = Event<C>>,
    make: fn() -> U,
    clock: fn(&U) -> &ClockSync<8>,
    word: fn(&<U as Algorithm>::Notice) -> &'static str,
    after: impl Fn(&mut Victim<U>),
) -> BTreeMap<&'static str, usize>
where
    U: Upper<Command = C>,
    C: std::fmt::Debug,
{
    let history = proptest::collection::vec(event, 1..120);
    let told = RefCell::new(BTreeMap::new());
    let config = ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() };
    let ran = TestRunner::new(config).run(&history, |history| {
        let mut victim = Victim::new(make(), clock);
        victim.happen(history);
        // Nobody says anything any more: it goes on alone.
        victim.pass(Span::from_secs(60));
        prop_assert_eq!(victim.node.leader().map(|(leader, _)| leader), Some(NodeId(1)));
        for notice in &victim.told {
            *told.borrow_mut().entry(word(notice)).or_default() += 1;
        }
        after(&mut victim);
        Ok(())
    });
    ran.unwrap();
    let told = told.into_inner();
    println!("{told:?}");
    told
}

fn word(notice: &suite::Notice) -> &'static str {
    match notice {
        suite::Notice::Snapshot(snapshot::Notice::Recorded { .. }) => "recorded",
        suite::Notice::Snapshot(snapshot::Notice::Part { .. }) => "part",
        suite::Notice::Snapshot(snapshot::Notice::Taken { .. }) => "taken",
        suite::Notice::Snapshot(snapshot::Notice::Aborted { .. }) => "aborted",
        suite::Notice::Termination(termination::Notice::Terminated { .. }) => "terminated",
        suite::Notice::Termination(termination::Notice::Aborted { .. }) => "lost",
        suite::Notice::Clock(clock_sync::Notice::Set) => "set",
        suite::Notice::Clock(clock_sync::Notice::Adjusted { .. }) => "adjusted",
    }
}

/// A snapshot that is asked for at last ends, and its application is told how.
fn photograph<U: Upper<Command = Command<C>, Notice = suite::Notice>, C>(victim: &mut Victim<U>) {
    let before = victim.told.len();
    victim.node.ask(victim.now, Command::Snapshot);
    victim.drain();
    victim.pass(Span::from_secs(60));
    let ends = victim.told[before..].iter().filter(|notice| matches!(word(notice), "taken" | "aborted"));
    assert_eq!(ends.count(), 1, "{:?}", &victim.told[before..]);
}

#[test]
fn a_bank_watched_by_waves_survives_whatever_members_say() {
    type Bank = Suite<Tokens<8>, Wave<8>, 8>;
    let make = || Bank::new(Tokens::new(1_000, Span::from_millis(200)), Wave::new());
    let command = prop_oneof![Just(Command::Snapshot), Just(Command::Watch)];
    let told = run(beside(command), make, Bank::clock, word, photograph);
    for word in ["recorded", "part", "aborted", "terminated", "set", "adjusted"] {
        assert!(told.contains_key(word), "nothing that is said comes to {word}: {told:?}");
    }
}

#[test]
fn a_job_watched_by_a_tree_survives_whatever_members_say() {
    type Job = Suite<Diffusing, DijkstraScholten<8>, 8>;
    let make = || Job::new(Diffusing::new(Span::from_millis(30)), DijkstraScholten::new());
    let command = prop_oneof![
        Just(Command::Snapshot),
        Just(Command::Watch),
        any::<u32>().prop_map(|units| Command::Application(diffusing::Command::Start { units: units % 9 })),
    ];
    let told = run(beside(command), make, Job::clock, word, photograph);
    for word in ["recorded", "part", "aborted", "terminated", "lost", "set", "adjusted"] {
        assert!(told.contains_key(word), "nothing that is said comes to {word}: {told:?}");
    }
}

#[test]
fn a_shared_clock_survives_whatever_members_say_and_never_runs_backwards() {
    let told = run(
        said().prop_map(Event::Said),
        ClockSync::new,
        |clock| clock,
        |&notice| word(&suite::Notice::Clock(notice)),
        |_| {},
    );
    assert!(told.contains_key("set") && told.contains_key("adjusted"), "{told:?}");
}
