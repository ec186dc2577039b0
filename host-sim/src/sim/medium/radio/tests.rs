mod fidelity;

use super::*;
use crate::base::rng::{Probability, Rng, Stream};
use crate::sim::event_queue::EventQueue;
use crate::sim::frame_pool::FramePool;
use crate::sim::link_fault::LinkFaults;
use crate::sim::medium::FrameStats;
use crate::sim::topology::{Components, Link, Links, OneWay, Point, Reach};

const PLAN: RadioPlan = RadioPlan {
    reach: Reach::sharp(15.0),
    bit_rate: 250_000,
    csma: true,
    collisions: true,
    capture: Capture::ThreeDb,
    loss: Probability::NEVER,
    one_way: Probability::NEVER,
    queue: 4,
};
const RECKLESS: RadioPlan = RadioPlan { csma: false, ..PLAN };

/// A channel and the frames received on it: moment, receiver, byte.
struct TestChannel {
    radio: Radio,
    medium: Medium,
    received: Vec<(Micros, u32, u8)>,
    /// How many receptions there would have been without collisions.
    possible: usize,
}

impl TestChannel {
    /// Runs a channel on which node 0 sends a frame at once and another node one later.
    fn two_frames(plan: RadioPlan, links: &[&[u32]; 3], (node, at): (u32, Micros)) -> Self {
        let mut channel = Self::new(plan, links);
        channel.send(0, &[1; 20]).unwrap();
        channel.run_until(at);
        channel.send(node, &[2; 20]).unwrap();
        channel.run_until(100_000);
        channel
    }

    fn new(plan: RadioPlan, links: &[&[u32]]) -> Self {
        let nodes = links.len() as u32;
        Self::over(plan, Links::by_rule(nodes, &OneWay::NONE, |node| links[node as usize].to_vec()))
    }

    fn over(plan: RadioPlan, links: Links) -> Self {
        let nodes = links.nodes();
        let medium = Medium {
            now: 0,
            queue: EventQueue::default(),
            frames: FramePool::default(),
            links,
            faults: LinkFaults::new(nodes, Probability::NEVER),
            rng: Rng::new(1, Stream::Network),
            stats: FrameStats::default(),
        };
        Self { radio: Radio::new(nodes, plan), medium, received: Vec::new(), possible: 0 }
    }

    /// Submits a frame.
    fn send(&mut self, node: u32, bytes: &[u8]) -> Result<(), Dropped> {
        let frame = self.medium.frames.insert(bytes, node, self.medium.now, "test");
        self.radio.submit(&mut self.medium, node, frame)
    }

    /// Processes all events up to a moment; returns the dropped frames.
    fn run_until(&mut self, until: Micros) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        while self.medium.queue.next_at().is_some_and(|at| at <= until) {
            let event = self.medium.queue.pop().unwrap();
            self.medium.now = event.at;
            match event.kind {
                Kind::CarrierSense => {
                    dropped.extend(self.radio.sense(&mut self.medium, event.target, event.detail).err());
                }
                Kind::TransmitStart => {
                    self.radio.start(&mut self.medium, event.target, event.detail);
                }
                Kind::TransmitEnd => self.end(event.target, event.detail),
                other => panic!("a radio has no event {other:?}"),
            }
        }
        self.medium.now = self.medium.now.max(until);
        dropped
    }

    fn end(&mut self, node: u32, number: u32) {
        let Some(frame) = self.radio.end(&mut self.medium, node, number) else { return };
        let byte = self.medium.frames.get(frame).bytes()[0];
        self.possible += self.medium.links.of(node).len();
        for link in self.medium.links.of(node) {
            if self.radio.received(link.receiver(), number) {
                self.received.push((self.medium.now, link.receiver(), byte));
            }
        }
        self.medium.frames.release(frame);
    }

    fn received_by(&self, node: u32) -> Vec<u8> {
        self.received.iter().filter(|&&(_, receiver, _)| receiver == node).map(|&(_, _, byte)| byte).collect()
    }
}

/// 0 and 2 receive from 1, and not from each other.
const HIDDEN: [&[u32]; 3] = [&[1], &[0, 2], &[1]];
/// Every node receives from every other.
const TRIANGLE: [&[u32]; 3] = [&[1, 2], &[0, 2], &[0, 1]];

#[test]
fn a_frame_is_on_the_air_as_long_as_the_standard_says() {
    assert_eq!(Radio::new(1, PLAN).airtime(20), 1_184);
    assert_eq!(Radio::new(1, PLAN).airtime(116), 4_256);
}

#[test]
fn a_frame_alone_is_received_by_all_in_range_after_back_off_carrier_sense_and_airtime() {
    let mut channel = TestChannel::new(PLAN, &TRIANGLE);
    channel.send(0, &[7; 20]).unwrap();
    channel.run_until(100_000);
    let &[(at, 1, 7), (also, 2, 7)] = channel.received.as_slice() else { panic!("{:?}", channel.received) };
    let back_off = at - SENSE - TURNAROUND - 1_184;
    assert_eq!((at, back_off % BACKOFF_UNIT), (also, 0));
    assert!(back_off / BACKOFF_UNIT < 8);
    assert_eq!(channel.medium.frames.in_flight(), 0);
}

#[test]
fn frames_that_overlap_at_a_receiver_are_lost_there_and_others_are_received() {
    let without_collisions = RadioPlan { collisions: false, ..RECKLESS };
    let cases: [(&str, RadioPlan, _, _, [&[u8]; 3]); 4] = [
        ("hidden terminals collide, the first frame is lost too", RECKLESS, &HIDDEN, (2, 700), [&[], &[], &[]]),
        ("one frame ends when the other begins", RECKLESS, &HIDDEN, (2, 1_184), [&[], &[1, 2], &[]]),
        ("a node that sends receives nothing", RECKLESS, &TRIANGLE, (1, 300), [&[], &[], &[]]),
        ("without collisions", without_collisions, &TRIANGLE, (1, 0), [&[2], &[1], &[1, 2]]),
    ];
    for (case, plan, links, second, expected) in cases {
        let channel = TestChannel::two_frames(plan, links, second);
        assert_eq!([0, 1, 2].map(|node| channel.received_by(node)), expected, "{case}");
    }
}

#[test]
fn with_node_backoff_the_first_busy_channel_drops_the_frame_and_the_one_being_received() {
    let mut channel = TestChannel::new(PLAN, &TRIANGLE);
    channel.radio = Radio::new(3, PLAN).with_node_backoff();
    channel.send(0, &[1; 20]).unwrap();
    channel.run_until(SENSE + TURNAROUND + 100);
    channel.send(1, &[2; 20]).unwrap();
    let dropped = channel.run_until(100_000);
    assert_eq!(dropped, [Dropped { kind: "test", reason: SendFailure::MediumBusy }]);
    assert_eq!((channel.received_by(1), channel.received_by(2)), (vec![], vec![1]));
    channel.send(1, &[2; 20]).unwrap();
    assert_eq!(channel.run_until(200_000), []);
    assert_eq!(channel.received.last(), Some(&(100_000 + SENSE + TURNAROUND + 1_184, 2, 2)), "without any back-off");
}

#[test]
fn carrier_sense_saves_most_frames_of_nodes_in_range_and_few_of_hidden_ones() {
    let lost_of_1000 = |links: &[&[u32]; 3]| {
        let mut channel = TestChannel::new(PLAN, links);
        for round in 0..500 {
            channel.send(0, &[1; 20]).unwrap();
            channel.send(2, &[2; 20]).unwrap();
            channel.run_until((round + 1) * 50_000);
        }
        1_000 - channel.received_by(1).len()
    };
    let (open, hidden) = (lost_of_1000(&TRIANGLE), lost_of_1000(&HIDDEN));
    // In range of each other, frames collide if both draw the same of eight back-offs.
    assert!((80..180).contains(&open), "{open}");
    assert!(hidden > 600, "{hidden}");
}

#[test]
fn a_full_queue_drops_and_the_queue_is_sent_in_order() {
    let mut channel = TestChannel::new(PLAN, &TRIANGLE);
    for byte in 1..=4 {
        channel.send(0, &[byte; 20]).unwrap();
    }
    assert_eq!(channel.send(0, &[5; 20]), Err(Dropped { kind: "test", reason: SendFailure::QueueFull }));
    channel.run_until(100_000);
    assert_eq!(channel.received_by(1), [1, 2, 3, 4]);
    let gaps = channel.received.iter().filter(|&&(_, receiver, _)| receiver == 1).map(|&(at, ..)| at);
    let gaps: Vec<Micros> = gaps.collect();
    assert!(gaps.windows(2).all(|pair| pair[1] - pair[0] >= SPACING + SENSE + TURNAROUND + 1_184));
    assert_eq!((channel.medium.frames.in_flight(), channel.medium.stats.queue_full), (0, 1));
}

#[test]
fn a_frame_is_dropped_when_the_channel_stays_busy() {
    let mut channel = TestChannel::new(RadioPlan { bit_rate: 1_000, ..PLAN }, &TRIANGLE);
    channel.send(0, &[1; 20]).unwrap();
    channel.run_until(10_000);
    channel.send(1, &[2; 20]).unwrap();
    let dropped = channel.run_until(1_000_000);
    assert_eq!(dropped, [Dropped { kind: "test", reason: SendFailure::MediumBusy }]);
    assert_eq!((channel.received_by(2), channel.medium.frames.in_flight()), (vec![1], 0));
}

#[test]
fn a_radio_that_stops_breaks_off_and_starts_afresh() {
    let mut channel = TestChannel::new(RECKLESS, &TRIANGLE);
    channel.send(0, &[1; 20]).unwrap();
    channel.send(0, &[2; 20]).unwrap();
    channel.run_until(500);
    channel.radio.stop(&mut channel.medium, 0);
    assert_eq!(channel.medium.frames.in_flight(), 0);
    channel.send(0, &[3; 20]).unwrap();
    channel.run_until(100_000);
    // The frame that broke off still occupies the channel when the next begins.
    assert_eq!(channel.received, []);
    channel.send(0, &[4; 20]).unwrap();
    channel.run_until(200_000);
    assert_eq!(channel.received_by(1), [4]);
}

#[test]
fn a_node_that_begins_to_listen_in_the_middle_of_a_frame_does_not_receive_it() {
    let mut channel = TestChannel::new(RECKLESS, &TRIANGLE);
    channel.send(0, &[1; 20]).unwrap();
    channel.run_until(500);
    channel.radio.listen(1);
    channel.run_until(100_000);
    assert_eq!((channel.received_by(1), channel.received_by(2)), (vec![], vec![1]));
}

#[test]
fn across_a_partition_nothing_is_received_and_nothing_collides() {
    let mut channel = TestChannel::new(RECKLESS, &HIDDEN);
    channel.medium.faults.partition(|node| u16::from(node == 2));
    channel.send(0, &[1; 20]).unwrap();
    channel.send(2, &[2; 20]).unwrap();
    channel.run_until(100_000);
    assert_eq!(channel.received_by(1), [1]);
}

/// Runs a channel of nodes on a line, of which those listed send at these moments; returns what node 0 received.
fn at_the_first(capture: Capture, places: &[f64], sends: &[(u32, Micros)]) -> Vec<u8> {
    let points: Vec<Point> = places.iter().map(|&x| Point { x, y: 0.0 }).collect();
    let reach = Reach { interference: 30.0, ..Reach::sharp(15.0) };
    let plan = RadioPlan { reach, capture, ..RECKLESS };
    let mut channel = TestChannel::over(plan, Links::by_distance(&points, reach, &OneWay::NONE));
    for &(node, at) in sends {
        channel.run_until(at);
        channel.send(node, &[node as u8; 20]).unwrap();
    }
    channel.run_until(100_000);
    channel.received_by(0)
}

#[test]
fn the_first_frame_is_kept_while_it_is_3_db_above_all_others_together() {
    type Case<'a> = (&'a str, Capture, &'a [f64], &'a [(u32, Micros)], &'a [u8]);
    const KEPT: Capture = Capture::ThreeDb;
    let cases: [Case<'_>; 9] = [
        ("9 dB above", KEPT, &[0.0, 5.0, -10.0], &[(1, 0), (2, 500)], &[1]),
        ("without capture", Capture::None, &[0.0, 5.0, -10.0], &[(1, 0), (2, 500)], &[]),
        ("2 dB above", KEPT, &[0.0, 5.0, -6.0], &[(1, 0), (2, 500)], &[]),
        ("4 dB above each of two, 1 dB above both", KEPT, &[0.0, 5.0, -7.0, 7.0], &[(1, 0), (2, 500), (3, 600)], &[]),
        ("4 dB above one after the other", KEPT, &[0.0, 5.0, -7.0, 7.0], &[(2, 0), (1, 1_184), (3, 1_700)], &[2, 1]),
        ("a stronger frame comes second", KEPT, &[0.0, 10.0, -5.0], &[(1, 0), (2, 500)], &[]),
        ("interference from beyond the range", KEPT, &[0.0, 14.0, -18.0], &[(1, 0), (2, 500)], &[]),
        ("a weak frame from beyond the range", KEPT, &[0.0, 5.0, -18.0], &[(1, 0), (2, 500)], &[1]),
        ("a weak frame that is detected first", KEPT, &[0.0, 5.0, -18.0], &[(2, 0), (1, 500)], &[]),
    ];
    for (case, capture, places, sends, expected) in cases {
        assert_eq!(at_the_first(capture, places, sends), expected, "{case}");
    }
}

#[test]
fn carrier_sense_does_not_detect_frames_from_beyond_the_range() {
    let points = [0.0, 20.0].map(|x| Point { x, y: 0.0 });
    let reach = Reach { interference: 30.0, ..Reach::sharp(15.0) };
    let plan = RadioPlan { reach, bit_rate: 1_000, ..PLAN };
    let mut channel = TestChannel::over(plan, Links::by_distance(&points, reach, &OneWay::NONE));
    channel.send(0, &[1; 20]).unwrap();
    channel.run_until(10_000);
    channel.send(1, &[2; 20]).unwrap();
    assert_eq!(channel.run_until(1_000_000), []);
}

#[test]
fn a_node_is_deaf_until_its_radio_has_turned_around() {
    let second_after = |pause| TestChannel::two_frames(RECKLESS, &TRIANGLE, (1, 1_184 + pause));
    assert_eq!([0, 2].map(|node| second_after(TURNAROUND - 1).received_by(node)), [vec![], vec![1, 2]]);
    assert_eq!([0, 2].map(|node| second_after(TURNAROUND).received_by(node)), [vec![2], vec![1, 2]]);
}
