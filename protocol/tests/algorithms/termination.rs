//! Termination detection of a job that spreads over the nodes: never announced early, and soon after the end.

use crate::support::net::SERVICE_ROOM as ROOM;
use crate::support::net::traced::{Event, Log, Traced};
use crate::support::prelude::*;
use protocol::algorithm::{Context, Input, Outbox};
use protocol::election::Bully;
use protocol::service::app_service::{self, Command, ObservedApp};
use protocol::service::application::{Application, ChannelMessage, LocalState, Recordable, Terminating};
use protocol::service::demo::Diffusing;
use protocol::service::demo::diffusing::{self, Work};
use protocol::service::termination::{AbortReason, Detection, DijkstraScholten, Notice, Wave};
use std::convert::Infallible;

type Job<D> = ObservedApp<Traced<Diffusing>, D, ROOM>;
type JobNet<D> = Net<Bully, NoMutex, Job<D>, ROOM>;

const START: Command<diffusing::Command> = Command::Application(diffusing::Command::Start { units: 60 });

fn worker<D: Detection + Default>(index: usize, log: &Log) -> Job<D> {
    let application = Traced { inner: Diffusing::new(Duration::from_millis(30)), index, log: log.clone() };
    ObservedApp::all(application, D::default())
}

fn linked_job<D: Detection + Default + 'static>(
    count: usize,
    medium: (Medium, u64),
    linked: fn(usize, usize) -> bool,
) -> (JobNet<D>, Log) {
    let log = Log::default();
    let shared = log.clone();
    let mut net = Net::with_service(count, medium, linked, move |index| (config(index), worker(index, &shared)));
    net.run_secs(6);
    (net, log)
}

fn job<D: Detection + Default + 'static>(count: usize, medium: (Medium, u64)) -> (JobNet<D>, Log) {
    linked_job(count, medium, complete)
}

/// Whether the job has terminated: no node works, and nothing is in flight.
fn is_over(busy: impl IntoIterator<Item = bool>, log: &Log) -> bool {
    let log = log.borrow();
    let sent = log.iter().filter(|(_, event)| matches!(event, Event::Sent { .. })).count();
    let received = log.iter().filter(|(_, event)| matches!(event, Event::Received { .. })).count();
    !busy.into_iter().any(|busy| busy) && sent == received
}

fn over<D: Detection>(net: &JobNet<D>, log: &Log) -> bool {
    is_over(net.nodes.iter().flatten().map(|node| node.service().application().is_busy()), log)
}

/// The notices of termination: when, at which node.
fn announced<D: Detection>(net: &JobNet<D>) -> Vec<(Instant, usize, Notice)> {
    let notices = net.service_notices.iter().filter_map(|(at, index, notice)| match notice {
        app_service::Notice::Termination(notice) => Some((*at, *index, *notice)),
        app_service::Notice::Application(never) => match *never {},
        app_service::Notice::Snapshot(_) | app_service::Notice::Clock(_) => None,
    });
    notices.collect()
}

/// Runs a job to its end: how long after it every node knew, and how many waves it took then. None knew before.
fn finish<D: Detection + Default + 'static>(count: usize, medium: (Medium, u64)) -> (Duration, u32, JobNet<D>, Log) {
    let seed = medium.1;
    let (mut net, log) = job::<D>(count, medium);
    net.ask(0, START).ask(0, Command::DETECT_TERMINATION);
    let most = Duration::from_secs(60);
    let ended = net.run_until(most, |net| over(net, &log) || !announced(net).is_empty());
    assert!(ended, "seed {seed}: it never terminates");
    assert!(over(&net, &log), "seed {seed}: announced early");
    let end = net.now;
    assert!(net.run_until(most, |net| announced(net).len() == count), "seed {seed}: {:?}", announced(&net));
    let waves = announced(&net).into_iter().map(|(_, _, notice)| match notice {
        Notice::Terminated { waves, job: 1, .. } => waves,
        Notice::Terminated { .. } | Notice::Aborted { .. } => panic!("{notice:?}"),
    });
    let waves = waves.max().unwrap();
    let done: u32 = net.nodes.iter().flatten().map(|node| node.service().application().inner.done()).sum();
    assert_eq!(done, 60, "seed {seed}");
    (net.now.since(end), waves, net, log)
}

#[test]
fn t1_termination_is_announced_to_all_and_never_early() {
    let mut worst = (Duration::ZERO, 0);
    for seed in 0..storms::seeds(150) {
        let count = 2 + usize::try_from(seed % 6).unwrap();
        let (late, waves, _, _) = finish::<Wave<ROOM>>(count, (Medium { lost: 5, ..UNRELIABLE }, seed));
        worst = (worst.0.max(late), worst.1.max(waves));
    }
    println!("wave: at most {} us after the end, {} waves", worst.0.as_micros(), worst.1);
    assert!(worst.0 < Duration::from_secs(6), "{worst:?}");
}

#[test]
fn t2_the_first_wave_after_the_end_detects_it() {
    for seed in 0..30 {
        let count = 3 + usize::try_from(seed % 10).unwrap();
        let (mut net, log) = job::<Wave<ROOM>>(count, (RELIABLE, seed));
        net.ask(0, START).ask(count - 1, Command::DETECT_TERMINATION);
        let waves = |net: &JobNet<Wave<ROOM>>| net.service(count - 1).detection().waves();
        assert!(net.run_until(Duration::from_secs(60), |net| over(net, &log)));
        let before = waves(&net);
        assert!(net.run_until(Duration::from_secs(10), |net| !announced(net).is_empty()));
        assert!(waves(&net) <= before + 1, "seed {seed}: {before} waves before the end, {} in all", waves(&net));
    }
}

#[test]
fn t2_a_wave_costs_2_messages_a_member_and_terminate_one() {
    for count in [2_usize, 5, 9, 16] {
        let (mut net, _) = job::<Wave<ROOM>>(count, (RELIABLE, 1));
        net.ask(0, Command::DETECT_TERMINATION); // no job was ever begun: terminated at once
        net.run_secs(3);
        assert_eq!(announced(&net).len(), count);
        let counts = ["query", "done", "continue", "terminate"].map(|name| net.copies_named(name));
        println!("{count} nodes: query, done, continue, terminate {counts:?}");
        assert_eq!(counts, [count - 1, count - 1, 0, count - 1]);
    }
}

#[test]
fn t2_x15_on_a_line_and_a_ring_the_wave_goes_from_neighbour_to_neighbour_and_cycles_do_not_block_it() {
    fn ring(a: usize, b: usize) -> bool {
        a.abs_diff(b) == 1 || a.abs_diff(b) == 5
    }
    for linked in [line, ring] {
        let (mut net, log) = linked_job::<Wave<ROOM>>(6, (RELIABLE, 4), linked);
        net.ask(2, START).ask(3, Command::DETECT_TERMINATION);
        assert!(net.run_until(Duration::from_secs(60), |net| over(net, &log) || !announced(net).is_empty()));
        assert!(over(&net, &log));
        assert!(net.run_until(Duration::from_secs(20), |net| announced(net).len() == 6), "{:?}", announced(&net));
    }
}

#[test]
fn dijkstra_scholten_detects_termination_with_at_most_a_signal_for_every_message() {
    let mut worst = Duration::ZERO;
    for seed in 0..storms::seeds(100) {
        let count = 2 + usize::try_from(seed % 6).unwrap();
        let (late, _, net, log) = finish::<DijkstraScholten<ROOM>>(count, (RELIABLE, seed));
        worst = worst.max(late);
        let messages = log.borrow().iter().filter(|(_, event)| matches!(event, Event::Sent { .. })).count();
        let signals = net.copies_named("signal");
        assert!(signals <= messages && (signals > 0 || messages == 0), "{signals} signals for {messages} messages");
        assert_eq!(net.copies_named("terminate"), count - 1);
    }
    println!("dijkstra-scholten: at most {} us after the end", worst.as_micros());
    assert!(worst < Duration::from_secs(1));
}

#[test]
fn a_worker_that_crashes_keeps_both_from_announcing_and_dijkstra_scholten_aborts() {
    let (mut net, _) = job::<DijkstraScholten<ROOM>>(4, (RELIABLE, 3));
    net.ask(0, START).run(Duration::from_millis(300)).crash(2).run_secs(30);
    let notices = announced(&net);
    assert!(matches!(notices[..], [(_, 0, Notice::Aborted { reason: AbortReason::MessagesLost })]), "{notices:?}");

    let (mut net, _) = job::<Wave<ROOM>>(4, (RELIABLE, 3));
    net.ask(0, START).ask(0, Command::DETECT_TERMINATION).run(Duration::from_millis(300)).crash(2).run_secs(30);
    assert_eq!(announced(&net), [], "no node knows whether it works");
    net.boot(2);
    let all = net.run_until(Duration::from_secs(20), |net| announced(net).len() == 4);
    assert!(all, "back, and passive: {:?}", announced(&net));
}

#[test]
fn a_second_job_is_watched_like_the_first() {
    let (_, _, mut net, log) = finish::<Wave<ROOM>>(5, (RELIABLE, 8));
    net.ask(3, START).ask(1, Command::DETECT_TERMINATION);
    assert!(net.run_until(Duration::from_secs(60), |net| over(net, &log) || announced(net).len() > 5));
    assert!(over(&net, &log));
    assert!(net.run_until(Duration::from_secs(10), |net| announced(net).len() == 10));
    assert!(announced(&net)[5..].iter().all(|(_, _, notice)| matches!(notice, Notice::Terminated { job: 2, .. })));
    assert!(net.nodes.iter().flatten().all(|node| node.service().application().inner.late() == 0));
}

/// A job in the lab: whether termination was announced, which it never is early.
fn diffuse<D: Detection + Default>(count: u32, seed: u64) -> Result<bool, String> {
    let log = Log::default();
    let mut lab = Lab::services(count, Order::Fifo, seed, |index| worker::<D>(index, &log));
    let (root, watcher) = (lab.draw(count as usize), lab.draw(count as usize));
    lab.flush_all().ask(root, START).ask(watcher, Command::DETECT_TERMINATION);
    for _ in 0..4_000 {
        lab.advance();
        let terminated = |(_, notice): &(usize, app_service::Notice)| {
            matches!(notice, app_service::Notice::Termination(Notice::Terminated { .. }))
        };
        if lab.notices.iter().any(terminated) {
            let busy = lab.nodes.iter().map(|machine| machine.algorithm.application().is_busy());
            return if is_over(busy, &log) { Ok(true) } else { Err(format!("seed {seed}: announced early")) };
        }
    }
    Ok(false)
}

#[test]
fn never_announced_while_a_node_works_or_a_message_is_in_flight() {
    let (mut waves, mut trees) = (0, 0);
    for seed in 0..1_000 {
        let count = 2 + u32::try_from(seed % 6).unwrap();
        waves += usize::from(diffuse::<Wave<ROOM>>(count, seed).unwrap());
        trees += usize::from(diffuse::<DijkstraScholten<ROOM>>(count, seed).unwrap());
    }
    println!("announced: {waves} by waves, {trees} by trees");
    assert!(waves > 990 && trees == 1_000, "{waves} by waves, {trees} by trees");
}

/// An application that follows commands: sends one message, and is busy or not.
#[derive(Clone, Debug, Default)]
struct Errand {
    to: Option<usize>,
    busy: bool,
    received: u32,
}

impl Application for Errand {
    type Message = Work;
    type Command = (Option<usize>, bool);
    type Notice = Infallible;

    fn handle(&mut self, _: &Context<'_>, input: Input<Work, (Option<usize>, bool)>, _: &mut Outbox<Work, Infallible>) {
        match input {
            Input::Command((to, busy)) => (self.to, self.busy) = (to, busy),
            Input::Message { .. } => (self.received, self.busy) = (self.received + 1, true),
            Input::Fact(_) | Input::Timeout => {}
        }
    }

    fn poll_send(&mut self, _: &Context<'_>) -> Option<(NodeSet, Work)> {
        Some((NodeSet::slot(self.to.take()?), Work { job: 1, units: 1 }))
    }
}

impl Recordable for Errand {
    fn local_state(&self, _: &Context<'_>) -> Option<LocalState> {
        None
    }

    fn channel_message(&self, _: &Context<'_>, _: NodeId, _: &Work) -> ChannelMessage {
        ChannelMessage::new()
    }
}

impl Terminating for Errand {
    fn is_busy(&self) -> bool {
        self.busy
    }
}

#[test]
fn x15_a_message_past_the_wave_and_one_back_do_not_cancel_out() {
    let make = |_| ObservedApp::<_, Wave<ROOM>, ROOM>::all(Errand::default(), Wave::new());
    let mut lab = Lab::services(3, Order::Fifo, 1, make);
    lab.flush_all();
    while lab.advance() {} // all know of each other's incarnation
    lab.ask(2, Command::Application((None, true)));
    lab.blocked = vec![(0, 2)];
    lab.ask(0, Command::DETECT_TERMINATION).advance_by(2); // 1 is asked, and done; the query to 2 is in flight
    lab.ask(2, Command::Application((Some(1), true)));
    lab.advance();
    assert!(lab.nodes[1].algorithm.application().busy, "2 has made it work");
    lab.ask(1, Command::Application((Some(2), true)));
    lab.advance();
    assert_eq!(lab.nodes[2].algorithm.application().received, 1);
    lab.ask(2, Command::Application((None, false))); // done: it has sent one and received one
    lab.blocked.clear();
    lab.advance_by(30);
    assert_eq!(lab.notices, [], "1 still works, though those that answered received as many as they sent");
    lab.ask(1, Command::Application((None, false))).advance_by(30);
    assert_eq!(lab.notices.len(), 3, "{:?}", lab.notices);
}
