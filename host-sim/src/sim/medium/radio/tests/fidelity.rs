//! The model beside ns-3 3.37 (lr-wpan, unslotted CSMA/CA, broadcasts without acknowledgements): the same positions, the
//! same frames of 50 bytes, the share of receptions that succeed.
//!
//! In ns-3 a frame was lost below a ratio of 3 dB between it and noise with all others, at a path loss of exponent 3. "Any
//! overlap" is ns-3 with every node in range equally strong. Where ns-3 cut the path loss at the range, interference ends
//! there in the model too; in the last row nothing was cut.

use super::*;
use crate::base::rng::mix;
use crate::sim::topology::Point;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const RANGE: f64 = 15.0;
const BYTES: usize = 50;
/// The air time of one frame, in microseconds.
const AIRTIME: f64 = 67.0 * 32.0;
/// How far the model may be from ns-3.
const TOLERANCE: f64 = 0.05;
/// How many frames a run offers.
const FRAMES: f64 = 20_000.0;

/// Nodes that only send what is due.
struct Crowd {
    channel: TestChannel,
    rng: Rng,
    /// What to send: when, from which node, which byte.
    due: BinaryHeap<Reverse<(Micros, u32, u8)>>,
}

impl Crowd {
    fn new(capture: Capture, interference: f64, points: &[Point]) -> Self {
        let reach = Reach { interference, ..Reach::sharp(RANGE) };
        let links = Links::by_distance(points, reach, &OneWay::NONE);
        let channel = TestChannel::over(RadioPlan { reach, capture, queue: 16, ..PLAN }, links);
        Self { channel, rng: Rng::new(1, Stream::Noise), due: BinaryHeap::new() }
    }

    /// Sends what is due until nothing is; `relay` returns after which delay a node sends a byte it received.
    fn run(&mut self, mut relay: impl FnMut(&mut Rng, u32, u8) -> Option<Micros>) {
        let mut seen = self.channel.received.len();
        loop {
            let on_air = self.channel.medium.queue.next_at();
            let due = self.due.peek().map(|&Reverse((at, ..))| at);
            let Some(next) = on_air.into_iter().chain(due).min() else { return };
            self.channel.run_until(next);
            for &(at, node, byte) in &self.channel.received[seen..] {
                let delay = relay(&mut self.rng, node, byte);
                self.due.extend(delay.map(|delay| Reverse((at + delay, node, byte))));
            }
            seen = self.channel.received.len();
            while let Some(&Reverse((at, node, byte))) = self.due.peek()
                && at <= next
            {
                self.due.pop();
                // A frame that finds the queue full is none that could be received.
                let _ = self.channel.send(node, &[byte; BYTES]);
            }
        }
    }

    /// Returns the share of receptions that succeeded.
    fn received(&self) -> f64 {
        self.channel.received.len() as f64 / self.channel.possible as f64
    }
}

/// Returns the share of receptions when nodes send at random moments, `sharers` of them together for `load` % of the time.
fn random_sends(capture: Capture, interference: f64, points: &[Point], sharers: f64, load: f64) -> f64 {
    let mut crowd = Crowd::new(capture, interference, points);
    let gap = AIRTIME * sharers / load * 100.0;
    let until = (FRAMES * gap / points.len() as f64) as Micros;
    for node in 0..points.len() as u32 {
        let mut at = crowd.rng.exponential(gap as Micros);
        while at < until {
            crowd.due.push(Reverse((at, node, 0)));
            at += crowd.rng.exponential(gap as Micros);
        }
    }
    crowd.run(|_, _, _| None);
    crowd.received()
}

/// Returns the share of receptions lost when every node relays each of 200 floods once, after a delay up to `jitter`.
fn floods(capture: Capture, points: &[Point], jitter: Micros) -> f64 {
    let mut crowd = Crowd::new(capture, 0.0, points);
    let mut newest = vec![0; points.len()];
    for flood in 1..=200_u8 {
        let initiator = u32::from(flood) * 7_919 % points.len() as u32;
        newest[initiator as usize] = flood;
        crowd.due.push(Reverse((2_000_000 * Micros::from(flood), initiator, flood)));
        crowd.run(|rng, node, byte| {
            let is_new = std::mem::replace(&mut newest[node as usize], byte) < byte;
            is_new.then(|| rng.between(0, jitter))
        });
    }
    1.0 - crowd.received()
}

/// Random positions, the same that ns-3 had.
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn point(&mut self, side: f64) -> Point {
        let x = self.unit() * side;
        Point { x, y: self.unit() * side }
    }
}

/// Returns nodes in a disc as wide as the range: all in range of each other.
fn disc(nodes: usize) -> Vec<Point> {
    let mut draw = Draw(7);
    let centre = Point { x: RANGE / 2.0, y: RANGE / 2.0 };
    let points = std::iter::repeat_with(|| draw.point(RANGE));
    points.filter(|point| point.distance(centre) <= RANGE / 2.0).take(nodes).collect()
}

/// Returns 100 nodes at random positions, ten in range of each: the first draw that is connected.
fn scattered() -> Vec<Point> {
    let mut draw = Draw(3);
    let side = RANGE * (10.0 * std::f64::consts::PI).sqrt();
    loop {
        let points: Vec<Point> = (0..100).map(|_| draw.point(side)).collect();
        let links = Links::by_distance(&points, Reach::sharp(RANGE), &OneWay::NONE);
        if Components::find(&links, Link::QUALITY_MAX, |_| true, |_, _| true).count() == 1 {
            return points;
        }
    }
}

/// Returns rows of nodes, 10 m apart.
fn grid(columns: u32, rows: u32) -> Vec<Point> {
    let nodes = 0..columns * rows;
    nodes.map(|node| Point { x: 10.0 * f64::from(node % columns), y: 10.0 * f64::from(node / columns) }).collect()
}

fn agrees(case: &str, model: f64, ns3: f64) {
    println!("{case}: {model:.3}, ns-3 {ns3:.3}, {:+.1} %", (model / ns3 - 1.0) * 100.0);
    assert!((model / ns3 - 1.0).abs() <= TOLERANCE, "{case}: {model:.3}, ns-3 {ns3:.3}");
}

#[test]
fn the_model_agrees_with_ns3_where_sending_is_random() {
    type Row<'a> = (&'a str, &'a [Point], f64, &'a [(f64, f64, f64)]);
    let (five, sixteen, many, hidden, square) = (disc(5), disc(16), disc(64), grid(3, 1), grid(8, 8));
    // Load in %, then the share of receptions with capture and when any overlap spoils.
    let rows: [Row<'_>; 5] = [
        ("5 in one range", &five, 5.0, &[(40.0, 0.923, 0.908), (100.0, 0.722, 0.674)]),
        ("16 in one range", &sixteen, 16.0, &[(40.0, 0.913, 0.895), (100.0, 0.691, 0.636), (150.0, 0.539, 0.466)]),
        ("64 in one range", &many, 64.0, &[(40.0, 0.913, 0.896), (100.0, 0.693, 0.637), (150.0, 0.542, 0.466)]),
        ("hidden terminals", &hidden, 3.0, &[(40.0, 0.824, 0.824), (100.0, 0.467, 0.467)]),
        ("8 x 8 grid", &square, 9.0, &[(20.0, 0.864, 0.844), (40.0, 0.728, 0.690), (60.0, 0.610, 0.557)]),
    ];
    for (case, points, sharers, loads) in rows {
        for &(load, kept, spoilt) in loads {
            for (capture, ns3) in [(Capture::ThreeDb, kept), (Capture::None, spoilt)] {
                let model = random_sends(capture, 0.0, points, sharers, load);
                agrees(&format!("{case}, load {load} %, {capture:?}"), model, ns3);
            }
        }
    }
}

#[test]
fn the_model_agrees_with_ns3_where_frames_interfere_beyond_the_range() {
    let points = scattered();
    for (load, ns3) in [(10.0, 0.853), (30.0, 0.603), (60.0, 0.400)] {
        let model = random_sends(Capture::ThreeDb, 2.0 * RANGE, &points, 9.0, load);
        agrees(&format!("100 scattered, load {load} %"), model, ns3);
    }
}

#[test]
fn the_model_agrees_with_ns3_on_what_a_flood_loses() {
    let points = grid(8, 8);
    for (jitter, kept, spoilt) in [(500, 0.448, 0.496), (5_000, 0.403, 0.445), (50_000, 0.144, 0.160)] {
        for (capture, ns3) in [(Capture::ThreeDb, kept), (Capture::None, spoilt)] {
            agrees(&format!("jitter {jitter} us, {capture:?}"), floods(capture, &points, jitter), ns3);
        }
    }
}
