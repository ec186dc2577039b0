//! The end of a job that spreads over the nodes: never announced before it, and soon after it.

mod common;

use common::bench::Bench;
use common::crowd::{Crowd, Event, FAIR, FOUL, Log, ROOM, Traced, Weather};
use common::{config, line};
use protocol::algorithm::{Context, Input};
use protocol::application::diffusing::{self, Work};
use protocol::application::{Application, Diffusing, Item, Record};
use protocol::suite::{self, Command, Suite};
use protocol::termination::{Detection, DijkstraScholten, Notice, Wave, Why};
use protocol::{Config, Instant, NodeId, NodeSet, Span};

type Job<D> = Suite<Traced<Diffusing>, D, ROOM>;

const START: Command<diffusing::Command> = Command::Application(diffusing::Command::Start { units: 60 });

fn job<D: Detection + Default + 'static>(count: usize, seed: u64, weather: Weather) -> (Crowd<Job<D>>, Log) {
    let log = Log::default();
    let shared = log.clone();
    let make = move |index| {
        let application = Traced { inner: Diffusing::new(Span::from_millis(30)), index, log: shared.clone() };
        (Config { hops: 8, ..config(index) }, Suite::new(application, D::default()))
    };
    (Crowd::new(count, seed, weather, make), log)
}

/// Whether the job is really over: nobody works, and nothing is on its way.
fn is_over(busy: impl IntoIterator<Item = bool>, log: &Log) -> bool {
    let log = log.borrow();
    let sent = log.iter().filter(|(_, event)| matches!(event, Event::Sent { .. })).count();
    let heard = log.iter().filter(|(_, event)| matches!(event, Event::Heard { .. })).count();
    !busy.into_iter().any(|busy| busy) && sent == heard
}

fn over<D: Detection>(crowd: &Crowd<Job<D>>, log: &Log) -> bool {
    is_over(crowd.nodes.iter().flatten().map(|node| node.upper().application().is_busy()), log)
}

/// What was told of the end: when, at which node, what.
fn ends<D: Detection>(crowd: &Crowd<Job<D>>) -> Vec<(Instant, usize, Notice)> {
    let notices = crowd.told.iter().filter_map(|(at, index, told)| match told {
        suite::Notice::Termination(notice) => Some((*at, *index, *notice)),
        suite::Notice::Snapshot(_) | suite::Notice::Clock(_) => None,
    });
    notices.collect()
}

/// Runs a job to its end: how long after it everybody knew, and how many waves it took then. Nobody was told before.
fn finish<D: Detection + Default + 'static>(
    count: usize,
    seed: u64,
    weather: Weather,
) -> (Span, u32, Crowd<Job<D>>, Log) {
    let (mut crowd, log) = job::<D>(count, seed, weather);
    crowd.run(Span::from_secs(5));
    crowd.ask(0, START);
    crowd.ask(0, Command::Watch);
    let most = Span::from_secs(60);
    assert!(crowd.run_until(most, |crowd| over(crowd, &log) || !ends(crowd).is_empty()), "seed {seed}: it never ends");
    assert!(over(&crowd, &log), "seed {seed}: told before it was over");
    let end = crowd.now;
    assert!(crowd.run_until(most, |crowd| ends(crowd).len() == count), "seed {seed}: {:?}", ends(&crowd));
    let waves = ends(&crowd).into_iter().map(|(_, _, notice)| match notice {
        Notice::Terminated { waves, job: 1, .. } => waves,
        Notice::Terminated { .. } | Notice::Aborted { .. } => panic!("{notice:?}"),
    });
    let waves = waves.max().unwrap();
    let done: u32 = crowd.nodes.iter().flatten().map(|node| node.upper().application().inner.done()).sum();
    assert_eq!(done, 60, "seed {seed}");
    (crowd.now.since(end), waves, crowd, log)
}

#[test]
fn t1_the_end_is_announced_to_all_and_never_before_it_over_many_seeds() {
    let mut worst = (Span::ZERO, 0);
    for seed in 0..150 {
        let count = 2 + usize::try_from(seed % 6).unwrap();
        let (late, waves, _, _) = finish::<Wave<ROOM>>(count, seed, Weather { lost: 5, ..FOUL });
        worst = (worst.0.max(late), worst.1.max(waves));
    }
    println!("wave: at most {} us after the end, {} waves", worst.0.as_micros(), worst.1);
    assert!(worst.0 < Span::from_secs(6), "{worst:?}");
}

#[test]
fn t2_the_first_wave_after_the_end_finds_it() {
    for seed in 0..30 {
        let count = 3 + usize::try_from(seed % 10).unwrap();
        let (mut crowd, log) = job::<Wave<ROOM>>(count, seed, FAIR);
        crowd.run(Span::from_secs(5));
        crowd.ask(0, START);
        crowd.ask(count - 1, Command::Watch);
        let waves = |crowd: &Crowd<Job<Wave<ROOM>>>| crowd.node(count - 1).upper().detection().waves();
        assert!(crowd.run_until(Span::from_secs(60), |crowd| over(crowd, &log)));
        let before = waves(&crowd);
        assert!(crowd.run_until(Span::from_secs(10), |crowd| !ends(crowd).is_empty()));
        assert!(waves(&crowd) <= before + 1, "seed {seed}: {before} waves before the end, {} in all", waves(&crowd));
    }
}

#[test]
fn t2_a_wave_costs_2_letters_a_member_and_terminate_one() {
    for count in [2_usize, 5, 9, 16] {
        let (mut crowd, _) = job::<Wave<ROOM>>(count, 1, FAIR);
        crowd.run(Span::from_secs(5));
        crowd.ask(0, Command::Watch); // nothing was ever begun: over at once
        crowd.run(Span::from_secs(3));
        assert_eq!(ends(&crowd).len(), count);
        let counts = ["query", "done", "continue", "terminate"].map(|word| crowd.letters(&[word]));
        println!("{count} nodes: query, done, continue, terminate {counts:?}");
        assert_eq!(counts, [count - 1, count - 1, 0, count - 1]);
    }
}

#[test]
fn t2_x15_on_a_line_and_a_ring_the_wave_goes_from_neighbour_to_neighbour_and_cycles_do_not_hold_it() {
    fn ring(a: usize, b: usize) -> bool {
        a.abs_diff(b) == 1 || a.abs_diff(b) == 5
    }
    for linked in [line, ring] {
        let log = Log::default();
        let shared = log.clone();
        let make = move |index| {
            let application = Traced { inner: Diffusing::new(Span::from_millis(30)), index, log: shared.clone() };
            (config(index), Suite::<_, Wave<ROOM>, ROOM>::new(application, Wave::new()))
        };
        let mut crowd = Crowd::linked(6, 4, FAIR, linked, make);
        crowd.run(Span::from_secs(6));
        crowd.ask(2, START);
        crowd.ask(3, Command::Watch);
        assert!(crowd.run_until(Span::from_secs(60), |crowd| over(crowd, &log) || !ends(crowd).is_empty()));
        assert!(over(&crowd, &log));
        assert!(crowd.run_until(Span::from_secs(20), |crowd| ends(crowd).len() == 6), "{:?}", ends(&crowd));
    }
}

#[test]
fn dijkstra_scholten_finds_the_same_end_with_a_signal_a_message_at_most() {
    let mut worst = Span::ZERO;
    for seed in 0..100 {
        let count = 2 + usize::try_from(seed % 6).unwrap();
        let (late, _, crowd, log) = finish::<DijkstraScholten<ROOM>>(count, seed, FAIR);
        worst = worst.max(late);
        let messages = log.borrow().iter().filter(|(_, event)| matches!(event, Event::Sent { .. })).count();
        let signals = crowd.letters(&["signal"]);
        assert!(signals <= messages && (signals > 0 || messages == 0), "{signals} signals for {messages} messages");
        assert_eq!(crowd.letters(&["terminate"]), count - 1);
    }
    println!("dijkstra-scholten: at most {} us after the end", worst.as_micros());
    assert!(worst < Span::from_secs(1));
}

#[test]
fn a_worker_that_crashes_keeps_both_from_announcing_and_dijkstra_scholten_says_that_it_never_will() {
    let (mut crowd, _) = job::<DijkstraScholten<ROOM>>(4, 3, FAIR);
    crowd.run(Span::from_secs(5));
    crowd.ask(0, START);
    crowd.run(Span::from_millis(300));
    crowd.crash(2);
    crowd.run(Span::from_secs(30));
    let told = ends(&crowd);
    assert!(matches!(told[..], [(_, 0, Notice::Aborted { why: Why::Lost })]), "{told:?}");

    let (mut crowd, _) = job::<Wave<ROOM>>(4, 3, FAIR);
    crowd.run(Span::from_secs(5));
    crowd.ask(0, START);
    crowd.ask(0, Command::Watch);
    crowd.run(Span::from_millis(300));
    crowd.crash(2);
    crowd.run(Span::from_secs(30));
    assert_eq!(ends(&crowd), [], "nobody knows whether it works");
    crowd.boot(2);
    assert!(crowd.run_until(Span::from_secs(20), |crowd| ends(crowd).len() == 4), "back, and idle: {:?}", ends(&crowd));
}

#[test]
fn a_second_job_is_watched_like_the_first_and_work_of_the_first_is_rejected() {
    let (_, _, mut crowd, log) = finish::<Wave<ROOM>>(5, 8, FAIR);
    crowd.ask(3, START);
    crowd.ask(1, Command::Watch);
    assert!(crowd.run_until(Span::from_secs(60), |crowd| over(crowd, &log) || ends(crowd).len() > 5));
    assert!(over(&crowd, &log));
    assert!(crowd.run_until(Span::from_secs(10), |crowd| ends(crowd).len() == 10));
    assert!(ends(&crowd)[5..].iter().all(|(_, _, notice)| matches!(notice, Notice::Terminated { job: 2, .. })));
    assert!(crowd.nodes.iter().flatten().all(|node| node.upper().application().inner.late() == 0));
}

/// Jobs without nodes, every order of events drawn from a seed: whether the end was announced, which it never is before it.
fn diffuse<D: Detection + Default>(count: usize, seed: u64, in_order: bool) -> Result<bool, String> {
    let log = Log::default();
    let make = |index| {
        Job::<D>::new(Traced { inner: Diffusing::new(Span::from_millis(30)), index, log: log.clone() }, D::default())
    };
    let mut bench = Bench::new(count, seed, make);
    bench.in_order = in_order;
    let (root, watcher) = (bench.draw(count), bench.draw(count));
    (0..count).for_each(|index| bench.speak(index));
    bench.step(root, Input::Command(START));
    bench.step(watcher, Input::Command(Command::Watch));
    for _ in 0..4_000 {
        bench.happen();
        let told =
            bench.told.iter().any(|(_, told)| matches!(told, suite::Notice::Termination(Notice::Terminated { .. })));
        if told {
            let busy = bench.uppers.iter().map(|upper| upper.application().is_busy());
            return if is_over(busy, &log) { Ok(true) } else { Err(format!("seed {seed}: told before it was over")) };
        }
    }
    Ok(false)
}

#[test]
fn never_announced_while_anybody_works_or_anything_is_on_its_way() {
    let (mut waves, mut trees) = (0, 0);
    for seed in 0..1_000 {
        let count = 2 + usize::try_from(seed % 6).unwrap();
        waves += usize::from(diffuse::<Wave<ROOM>>(count, seed, true).unwrap());
        trees += usize::from(diffuse::<DijkstraScholten<ROOM>>(count, seed, true).unwrap());
    }
    println!("announced: {waves} by waves, {trees} by trees");
    assert!(waves > 990 && trees == 1_000, "{waves} by waves, {trees} by trees");
}

/// An application that does what it is told: so many messages to one node, and busy or not.
#[derive(Clone, Debug, Default)]
struct Errand {
    to: Option<usize>,
    busy: bool,
    heard: u32,
}

impl Application for Errand {
    type Message = Work;
    type Command = (Option<usize>, bool);

    fn handle(&mut self, _: &Context<'_>, input: Input<Work, (Option<usize>, bool)>) {
        match input {
            Input::Command((to, busy)) => (self.to, self.busy) = (to, busy),
            Input::Message { .. } => (self.heard, self.busy) = (self.heard + 1, true),
            Input::Fact(_) | Input::Timeout => {}
        }
    }

    fn speak(&mut self, _: &Context<'_>) -> Option<(NodeSet, Work)> {
        Some((NodeSet::slot(self.to.take()?), Work { job: 1, units: 1 }))
    }

    fn is_busy(&self) -> bool {
        self.busy
    }

    fn record(&self, _: &Context<'_>) -> Option<Record> {
        None
    }

    fn item(&self, _: &Context<'_>, _: NodeId, _: &Work) -> Item {
        Item::new()
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

#[test]
fn x15_a_message_past_the_wave_and_one_back_do_not_cancel_out() {
    let mut bench = Bench::new(3, 1, |_| Suite::<_, Wave<ROOM>, ROOM>::new(Errand::default(), Wave::new()));
    (0..3).for_each(|index| bench.speak(index));
    while bench.happen() {} // everybody knows of everybody's boot
    let settle = |bench: &mut Bench<Suite<Errand, Wave<ROOM>, ROOM>>| (0..30).for_each(|_| _ = bench.happen());
    bench.step(2, Input::Command(Command::Application((None, true))));
    bench.stuck = vec![(0, 2)];
    bench.step(0, Input::Command(Command::Watch));
    (0..2).for_each(|_| _ = bench.happen()); // 1 is asked, and done; what asks 2 is on its way
    bench.step(2, Input::Command(Command::Application((Some(1), true))));
    bench.happen();
    assert!(bench.uppers[1].application().busy, "2 has made it work");
    bench.step(1, Input::Command(Command::Application((Some(2), true))));
    bench.happen();
    assert_eq!(bench.uppers[2].application().heard, 1);
    bench.step(2, Input::Command(Command::Application((None, false)))); // done: it has sent one and heard one
    bench.stuck.clear();
    settle(&mut bench);
    assert_eq!(bench.told, [], "1 still works, though as many were heard as sent by those that answered");
    bench.step(1, Input::Command(Command::Application((None, false))));
    settle(&mut bench);
    assert_eq!(bench.told.len(), 3, "{:?}", bench.told);
}
