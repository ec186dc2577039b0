use super::mac::{Address, HEADER_BYTES, MAC_BYTES_MAX, MacBuffer, PAYLOAD_BYTES_MAX};
use super::{Port, Queues, RECEIVE_QUEUE_FRAMES, Radio, ReceiveError, Reception, RxStatus, SendError, run};
use crate::net::{Counters, FRAME_BYTES_MAX, Transport};
use crate::tests::{reset_clock, run_for};
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use embassy_time::{Duration, Instant};
use std::boxed::Box;
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec::Vec;

const ADDRESS: Address = Address { pan: 0x1234, short: 1 };
const LOUD: Reception = Reception { length: 0, energy_dbm: -40, link_quality: 255 };

/// State of the channel, and the frames sent on it.
#[derive(Default)]
struct Air {
    sent: Vec<(u64, Vec<u8>)>,
    assessments: u32,
    busy_until: u64,
    failing: bool,
    arriving_until: u64,
    incoming: VecDeque<Result<(Vec<u8>, Reception), ReceiveError>>,
}

#[derive(Clone, Default)]
struct MockRadio(Rc<RefCell<Air>>);

impl RxStatus for MockRadio {
    fn is_receiving(&self) -> bool {
        Instant::now().as_micros() < self.0.borrow().arriving_until
    }
}

impl Radio for MockRadio {
    type RxStatus = Self;

    fn rx_status(&self) -> Self {
        self.clone()
    }

    async fn send(&mut self, frame: &[u8]) -> Result<(), SendError> {
        let (now, mut air) = (Instant::now().as_micros(), self.0.borrow_mut());
        air.assessments += 1;
        if air.failing {
            return Err(SendError::Failed);
        }
        if now < air.busy_until {
            return Err(SendError::Busy);
        }
        air.sent.push((now, frame.to_vec()));
        Ok(())
    }

    async fn receive(&mut self, buffer: &mut MacBuffer) -> Result<Reception, ReceiveError> {
        let arrived = poll_fn(|_| self.0.borrow_mut().incoming.pop_front().map_or(Poll::Pending, Poll::Ready)).await;
        let (frame, reception) = arrived?;
        crate::copy_bytes(buffer, &frame);
        Ok(Reception { length: frame.len(), ..reception })
    }
}

/// A running radio, and the clock it runs by.
struct Bench {
    air: MockRadio,
    queues: &'static Queues,
    running: Pin<Box<dyn Future<Output = ()>>>,
}

impl Bench {
    fn new() -> Self {
        reset_clock();
        let (air, queues): (MockRadio, &Queues) = (MockRadio::default(), Box::leak(Box::new(Queues::empty())));
        let radio = air.clone();
        let running = Box::pin(async move {
            run(radio, queues, ADDRESS, 7).await;
        });
        Self { air, queues, running }
    }

    fn air(&self) -> RefMut<'_, Air> {
        self.air.0.borrow_mut()
    }

    fn pass(&mut self, millis: u64) {
        run_for(self.running.as_mut(), millis * 10, Duration::from_micros(100));
    }

    /// Broadcasts a frame, for as long as it takes to queue or drop it.
    fn send(&mut self, frame: &[u8]) {
        let mut port = Port(self.queues);
        let mut sending = Box::pin(port.broadcast(frame));
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..1_000 {
            if sending.as_mut().poll(&mut context).is_ready() {
                return;
            }
            self.pass(1);
        }
        panic!("a frame was neither sent nor dropped within a second");
    }

    fn arrive(&mut self, frame: &[u8], reception: Reception) {
        self.air().incoming.push_back(Ok((frame.to_vec(), reception)));
    }

    /// Receives the frames queued for the node.
    fn received(&mut self) -> Vec<(Vec<u8>, u8)> {
        let mut port = Port(self.queues);
        let mut received = Vec::new();
        let mut buffer = [0; FRAME_BYTES_MAX];
        while let Poll::Ready(frame) = embassy_futures::poll_once(port.receive(&mut buffer)) {
            received.push((frame.bytes.to_vec(), frame.quality));
        }
        received
    }

    fn counters(&self) -> Counters {
        Port(self.queues).counters()
    }
}

fn sealed(payload: &[u8]) -> Vec<u8> {
    Address { short: 2, ..ADDRESS }.seal(9, payload, &mut [0; MAC_BYTES_MAX]).unwrap().to_vec()
}

#[test]
fn a_frame_goes_out_behind_a_header_and_is_counted() {
    let mut bench = Bench::new();
    bench.send(b"hello");
    bench.pass(20);
    let sent = &bench.air().sent;
    assert_eq!(sent.len(), 1);
    assert_eq!(ADDRESS.open(&sent[0].1), Some(&b"hello"[..]));
    assert_eq!(bench.counters(), Counters { sent: 1, ..Counters::default() });
}

#[test]
fn frames_follow_each_other_in_order_and_not_too_closely() {
    let mut bench = Bench::new();
    for number in 0..20 {
        bench.send(&[number]);
    }
    bench.pass(100);
    let sent = &bench.air().sent;
    let numbers: Vec<u8> = sent.iter().map(|(_, frame)| frame[HEADER_BYTES]).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<u8>>());
    assert!(sent.windows(2).all(|two| two[1].0 - two[0].0 >= 640), "interframe spacing");
}

#[test]
fn a_frame_longer_than_the_radio_carries_is_dropped_and_counted() {
    let mut bench = Bench::new();
    bench.send(&[1; PAYLOAD_BYTES_MAX + 1]);
    bench.send(&[1; PAYLOAD_BYTES_MAX]);
    bench.pass(20);
    assert_eq!(bench.air().sent.len(), 1);
    assert_eq!(bench.counters(), Counters { sent: 1, send_too_long: 1, ..Counters::default() });
}

#[test]
fn a_channel_busy_for_a_second_drops_frames_and_then_recovers() {
    let mut bench = Bench::new();
    bench.air().busy_until = 1_000_000;
    let mut requested = 0;
    while Instant::now().as_millis() < 1_000 {
        bench.send(b"busy");
        bench.pass(50);
        requested += 1;
    }
    bench.send(b"at last");
    bench.pass(100);
    let counted = bench.counters();
    assert_eq!(counted.sent + counted.send_busy, requested + 1, "{counted:?}");
    assert!(counted.send_busy >= requested - 1 && counted.sent >= 1, "{counted:?}");
    let air = bench.air();
    assert!(air.assessments >= 5 * counted.send_busy, "five per dropped frame: {}", air.assessments);
    assert_eq!(ADDRESS.open(&air.sent.last().unwrap().1), Some(&b"at last"[..]));
}

#[test]
fn a_channel_that_clears_in_time_drops_nothing() {
    let mut bench = Bench::new();
    bench.air().busy_until = 5_000;
    bench.send(b"late");
    bench.pass(60);
    assert_eq!(bench.counters(), Counters { sent: 1, ..Counters::default() });
    assert!(bench.air().assessments > 1);
}

#[test]
fn a_failed_radio_is_counted_and_recovers() {
    let mut bench = Bench::new();
    bench.air().failing = true;
    bench.send(b"lost");
    bench.air().incoming.extend([Err(ReceiveError::Failed), Err(ReceiveError::Corrupt)]);
    bench.pass(50);
    assert_eq!(bench.counters(), Counters { send_refused: 1, receive_corrupt: 2, ..Counters::default() });
    bench.air().failing = false;
    bench.send(b"sent");
    bench.arrive(&sealed(b"received"), LOUD);
    bench.pass(50);
    assert_eq!(bench.received(), [(b"received".to_vec(), 255)]);
    assert_eq!(bench.air().sent.len(), 1);
}

#[test]
fn a_receiver_that_always_fails_does_not_block_sending() {
    let mut bench = Bench::new();
    bench.air().incoming.extend((0..10_000).map(|_| Err(ReceiveError::Failed)));
    bench.send(b"still here");
    bench.pass(200);
    assert_eq!(bench.counters().sent, 1);
    assert!(bench.counters().receive_corrupt < 50, "with a delay after each failure");
}

#[test]
fn a_frame_received_during_back_off_is_not_lost() {
    let mut bench = Bench::new();
    bench.air().busy_until = 10_000;
    bench.send(b"mine");
    bench.pass(1);
    bench.arrive(&sealed(b"theirs"), LOUD);
    bench.pass(60);
    assert_eq!(bench.received(), [(b"theirs".to_vec(), 255)]);
    assert_eq!(bench.air().sent.len(), 1);
}

#[test]
fn a_frame_that_is_being_received_is_not_interrupted_to_send() {
    let mut bench = Bench::new();
    bench.air().arriving_until = 4_000;
    bench.send(b"mine");
    bench.pass(3);
    assert_eq!(bench.air().assessments, 0, "sending waits for the end of the frame");
    bench.arrive(&sealed(b"theirs"), LOUD);
    bench.pass(20);
    assert_eq!(bench.received(), [(b"theirs".to_vec(), 255)]);
    assert_eq!(bench.air().sent.len(), 1);
}

#[test]
fn a_receiver_that_never_ends_does_not_block_sending() {
    let mut bench = Bench::new();
    bench.air().arriving_until = u64::MAX;
    bench.send(b"mine");
    bench.pass(50);
    assert_eq!(bench.counters().sent, 1);
}

#[test]
fn foreign_and_empty_frames_are_counted_and_skipped() {
    let mut bench = Bench::new();
    let mut foreign = sealed(b"foreign");
    foreign[3] ^= 1;
    for frame in [foreign, sealed(b""), Vec::new(), std::vec![0xff; 200], sealed(b"ours")] {
        bench.arrive(&frame, LOUD);
    }
    bench.pass(5);
    assert_eq!(bench.received(), [(b"ours".to_vec(), 255)]);
    assert_eq!(bench.counters(), Counters { received: 1, receive_foreign: 3, receive_empty: 1, ..Counters::default() });
}

#[test]
fn a_full_receive_queue_drops_and_counts_the_newest() {
    let mut bench = Bench::new();
    for number in 0..10 {
        bench.arrive(&sealed(&[number]), LOUD);
    }
    bench.pass(20);
    let first: Vec<_> = (0..10).take(RECEIVE_QUEUE_FRAMES).map(|number| (std::vec![number], 255)).collect();
    assert_eq!(bench.received(), first);
    assert_eq!(usize::try_from(bench.counters().receive_no_room).unwrap(), 10 - RECEIVE_QUEUE_FRAMES);
}

#[test]
fn quality_is_estimated_from_energy_and_link_quality() {
    let quality = |energy_dbm, link_quality| Reception { length: 0, energy_dbm, link_quality }.quality();
    assert_eq!([-20, -88, -94, -100, -128].map(|energy| quality(energy, 255)), [255, 255, 127, 0, 0]);
    assert_eq!(quality(-20, 100), 100, "strong and unclear");
    assert!((-100..-88).all(|energy| quality(energy, 255) < quality(energy + 1, 255)));
}
