use super::*;
use crate::fault::Faults;
use crate::frames::Frames;
use crate::network::Tally;
use crate::queue::Queue;
use crate::random::{Chance, Random, Stream};
use crate::topology::{Links, OneWay, Reach};

const PLAN: RadioPlan = RadioPlan {
    reach: Reach { range: 15.0, grey: 15.0 },
    bit_rate: 250_000,
    csma: true,
    collisions: true,
    loss: Chance::NEVER,
    one_way: Chance::NEVER,
    queue: 4,
};
const RECKLESS: RadioPlan = RadioPlan { csma: false, ..PLAN };

/// A channel and what was heard on it: when, by whom, what.
struct Bench {
    radio: Radio,
    ether: Ether,
    heard: Vec<(Micros, u32, u8)>,
}

impl Bench {
    fn new(plan: RadioPlan, links: &[&[u32]]) -> Self {
        let nodes = links.len() as u32;
        let both_ways = OneWay { share: Chance::NEVER, seed: 0 };
        let ether = Ether {
            now: 0,
            queue: Queue::default(),
            frames: Frames::default(),
            links: Links::by_rule(nodes, &both_ways, |node| links[node as usize].to_vec()),
            faults: Faults::new(nodes, Chance::NEVER),
            random: Random::new(1, Stream::Network),
            tally: Tally::default(),
        };
        Self { radio: Radio::new(nodes, plan), ether, heard: Vec::new() }
    }

    /// A node wants to send a frame of 20 bytes, all the same.
    fn send(&mut self, node: u32, byte: u8) -> Result<(), Refused> {
        let frame = self.ether.frames.insert(&[byte; 20], node, self.ether.now, "test");
        self.radio.submit(&mut self.ether, node, frame)
    }

    /// Lets everything happen up to a time; returns what was given up.
    fn run_until(&mut self, until: Micros) -> Vec<Refused> {
        let mut refused = Vec::new();
        while self.ether.queue.next_at().is_some_and(|at| at <= until) {
            let event = self.ether.queue.pop().unwrap();
            self.ether.now = event.at;
            match event.kind {
                Kind::Sense => refused.extend(self.radio.sense(&mut self.ether, event.target, event.detail).err()),
                Kind::AirStart => {
                    self.radio.start(&mut self.ether, event.target, event.detail);
                }
                Kind::AirEnd => self.end(event.target, event.detail),
                other => panic!("a radio has no event {other:?}"),
            }
        }
        self.ether.now = self.ether.now.max(until);
        refused
    }

    fn end(&mut self, node: u32, number: u32) {
        let Some(frame) = self.radio.end(&mut self.ether, node, number) else { return };
        let byte = self.ether.frames.get(frame).bytes()[0];
        for link in self.ether.links.of(node) {
            if self.radio.received(link.hearer(), number) {
                self.heard.push((self.ether.now, link.hearer(), byte));
            }
        }
        self.ether.frames.release(frame);
    }

    fn heard_by(&self, node: u32) -> Vec<u8> {
        self.heard.iter().filter(|&&(_, hearer, _)| hearer == node).map(|&(_, _, byte)| byte).collect()
    }
}

/// 0 and 2 hear 1, and not each other.
const HIDDEN: [&[u32]; 3] = [&[1], &[0, 2], &[1]];
/// Everybody hears everybody.
const TRIANGLE: [&[u32]; 3] = [&[1, 2], &[0, 2], &[0, 1]];

#[test]
fn a_frame_is_on_the_air_as_long_as_the_standard_says() {
    assert_eq!(Radio::new(1, PLAN).airtime(20), 1_184);
    assert_eq!(Radio::new(1, PLAN).airtime(116), 4_256);
}

#[test]
fn a_frame_alone_is_heard_by_all_in_range_after_back_off_look_and_air_time() {
    let mut bench = Bench::new(PLAN, &TRIANGLE);
    bench.send(0, 7).unwrap();
    bench.run_until(100_000);
    let &[(at, 1, 7), (also, 2, 7)] = bench.heard.as_slice() else { panic!("{:?}", bench.heard) };
    let back_off = at - SENSE - TURNAROUND - 1_184;
    assert_eq!((at, back_off % BACKOFF_UNIT), (also, 0));
    assert!(back_off / BACKOFF_UNIT < 8);
    assert_eq!(bench.ether.frames.under_way(), 0);
}

#[test]
fn hidden_terminals_collide_in_the_middle() {
    let mut bench = Bench::new(RECKLESS, &HIDDEN);
    bench.send(0, 1).unwrap();
    bench.run_until(700);
    bench.send(2, 2).unwrap();
    bench.run_until(100_000);
    assert!(bench.heard_by(1).is_empty(), "both are lost, the one that came first too");
}

#[test]
fn frames_one_after_the_other_do_not_collide() {
    let mut bench = Bench::new(RECKLESS, &HIDDEN);
    bench.send(0, 1).unwrap();
    bench.run_until(1_184); // its frame ends when the other's begins
    bench.send(2, 2).unwrap();
    bench.run_until(100_000);
    assert_eq!(bench.heard_by(1), [1, 2]);
}

#[test]
fn a_node_that_sends_hears_nothing() {
    let mut bench = Bench::new(RECKLESS, &TRIANGLE);
    bench.send(0, 1).unwrap();
    bench.run_until(300);
    bench.send(1, 2).unwrap();
    bench.run_until(100_000);
    assert_eq!((bench.heard_by(0), bench.heard_by(1), bench.heard_by(2)), (vec![], vec![], vec![]));
}

#[test]
fn who_backs_off_by_itself_is_told_at_the_first_busy_look_and_loses_what_it_was_receiving() {
    let mut bench = Bench::new(PLAN, &TRIANGLE);
    bench.radio = Radio::new(3, PLAN).with_one_look();
    bench.send(0, 1).unwrap();
    bench.run_until(SENSE + TURNAROUND + 100);
    bench.send(1, 2).unwrap();
    let refused = bench.run_until(100_000);
    assert_eq!(refused, [Refused { kind: "test", why: Unsent::MediumBusy }]);
    assert_eq!((bench.heard_by(1), bench.heard_by(2)), (vec![], vec![1]));
    bench.send(1, 2).unwrap();
    assert_eq!(bench.run_until(200_000), []);
    assert_eq!(bench.heard.last(), Some(&(100_000 + SENSE + TURNAROUND + 1_184, 2, 2)), "no back-off but its own");
}

#[test]
fn without_collisions_everybody_hears_everything() {
    let mut bench = Bench::new(RadioPlan { collisions: false, ..RECKLESS }, &TRIANGLE);
    bench.send(0, 1).unwrap();
    bench.send(1, 2).unwrap();
    bench.run_until(100_000);
    assert_eq!((bench.heard_by(0), bench.heard_by(1), bench.heard_by(2)), (vec![2], vec![1], vec![1, 2]));
}

#[test]
fn listening_first_saves_most_frames_in_the_open_and_few_hidden_ones() {
    let lost_of_1000 = |links: &[&[u32]; 3]| {
        let mut bench = Bench::new(PLAN, links);
        for round in 0..500 {
            bench.send(0, 1).unwrap();
            bench.send(2, 2).unwrap();
            bench.run_until((round + 1) * 50_000);
        }
        1_000 - bench.heard_by(1).len()
    };
    let (open, hidden) = (lost_of_1000(&TRIANGLE), lost_of_1000(&HIDDEN));
    // In the open, frames collide where both draw the same of eight back-offs.
    assert!((80..180).contains(&open), "{open}");
    assert!(hidden > 600, "{hidden}");
}

#[test]
fn a_full_queue_refuses_and_the_queue_is_sent_in_order() {
    let mut bench = Bench::new(PLAN, &TRIANGLE);
    for byte in 1..=4 {
        bench.send(0, byte).unwrap();
    }
    assert_eq!(bench.send(0, 5), Err(Refused { kind: "test", why: Unsent::QueueFull }));
    bench.run_until(100_000);
    assert_eq!(bench.heard_by(1), [1, 2, 3, 4]);
    let gaps = bench.heard.iter().filter(|&&(_, hearer, _)| hearer == 1).map(|&(at, ..)| at);
    let gaps: Vec<Micros> = gaps.collect();
    assert!(gaps.windows(2).all(|pair| pair[1] - pair[0] >= SPACING + SENSE + TURNAROUND + 1_184));
    assert_eq!((bench.ether.frames.under_way(), bench.ether.tally.queue_full), (0, 1));
}

#[test]
fn a_medium_that_is_always_busy_is_given_up() {
    let mut bench = Bench::new(RadioPlan { bit_rate: 1_000, ..PLAN }, &TRIANGLE);
    bench.send(0, 1).unwrap();
    bench.run_until(10_000);
    bench.send(1, 2).unwrap();
    let refused = bench.run_until(1_000_000);
    assert_eq!(refused, [Refused { kind: "test", why: Unsent::MediumBusy }]);
    assert_eq!((bench.heard_by(2), bench.ether.frames.under_way()), (vec![1], 0));
}

#[test]
fn a_node_that_falls_silent_breaks_off_and_starts_afresh() {
    let mut bench = Bench::new(RECKLESS, &TRIANGLE);
    bench.send(0, 1).unwrap();
    bench.send(0, 2).unwrap();
    bench.run_until(500);
    bench.radio.silence(&mut bench.ether, 0);
    assert_eq!(bench.ether.frames.under_way(), 0);
    bench.send(0, 3).unwrap();
    bench.run_until(100_000);
    assert!(bench.heard_by(1).is_empty(), "what broke off is still in the air when the next begins");
    bench.send(0, 4).unwrap();
    bench.run_until(200_000);
    assert_eq!(bench.heard_by(1), [4]);
}

#[test]
fn who_begins_to_listen_in_the_middle_of_a_frame_does_not_hear_it() {
    let mut bench = Bench::new(RECKLESS, &TRIANGLE);
    bench.send(0, 1).unwrap();
    bench.run_until(500);
    bench.radio.listen(1);
    bench.run_until(100_000);
    assert_eq!((bench.heard_by(1), bench.heard_by(2)), (vec![], vec![1]));
}

#[test]
fn across_a_partition_nothing_is_heard_nor_disturbed() {
    let mut bench = Bench::new(RECKLESS, &HIDDEN);
    bench.ether.faults.partition(|node| u16::from(node == 2));
    bench.send(0, 1).unwrap();
    bench.send(2, 2).unwrap();
    bench.run_until(100_000);
    assert_eq!(bench.heard_by(1), [1]);
}
