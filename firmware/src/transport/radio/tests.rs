use super::mac::{Address, HEADER_BYTES, MAC_BYTES_MAX, MacBuffer, PAYLOAD_BYTES_MAX};
use super::{Ear, Port, Queues, RECEIVE_QUEUE_FRAMES, Radio, ReceiveError, Reception, SendError, run};
use crate::transport::{Counters, FRAME_BYTES_MAX, Transport};
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use embassy_time::{Duration, Instant, MockDriver};
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec::Vec;

const ADDRESS: Address = Address { pan: 0x1234, short: 1 };
const LOUD: Reception = Reception { length: 0, energy_dbm: -40, link_quality: 255 };

/// What the air is like, and what was put on it.
#[derive(Default)]
struct Air {
    sent: Vec<(u64, Vec<u8>)>,
    looks: u32,
    busy_until: u64,
    failing: bool,
    /// Until when a frame is on its way in.
    arriving_until: u64,
    incoming: VecDeque<Result<(Vec<u8>, Reception), ReceiveError>>,
}

#[derive(Clone, Default)]
struct Mock(Rc<RefCell<Air>>);

impl Ear for Mock {
    fn is_receiving(&self) -> bool {
        Instant::now().as_micros() < self.0.borrow().arriving_until
    }
}

impl Radio for Mock {
    type Ear = Self;

    fn ear(&self) -> Self {
        self.clone()
    }

    async fn send(&mut self, frame: &[u8]) -> Result<(), SendError> {
        let (now, mut air) = (Instant::now().as_micros(), self.0.borrow_mut());
        air.looks += 1;
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
        let heard = poll_fn(|_| self.0.borrow_mut().incoming.pop_front().map_or(Poll::Pending, Poll::Ready)).await;
        let (frame, reception) = heard?;
        let kept = &frame[..frame.len().min(buffer.len())];
        buffer[..kept.len()].copy_from_slice(kept);
        Ok(Reception { length: frame.len(), ..reception })
    }
}

/// A radio at work, and the clock it works by.
struct Bench {
    air: Mock,
    queues: &'static Queues,
    running: Pin<Box<dyn Future<Output = ()>>>,
}

impl Bench {
    fn new() -> Self {
        let (air, queues): (Mock, &Queues) = (Mock::default(), Box::leak(Box::new(Queues::new())));
        let radio = air.clone();
        let running = Box::pin(async move {
            run(radio, queues, ADDRESS, 7).await;
        });
        Self { air, queues, running }
    }

    /// Lets time pass.
    fn pass(&mut self, millis: u64) {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..millis * 10 {
            for _ in 0..4 {
                assert!(self.running.as_mut().poll(&mut context).is_pending());
            }
            MockDriver::get().advance(Duration::from_micros(100));
        }
    }

    /// The node sends a frame; how long that takes is up to the radio.
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
        panic!("a frame neither left nor was dropped within a second");
    }

    fn arrive(&mut self, frame: &[u8], reception: Reception) {
        self.air.0.borrow_mut().incoming.push_back(Ok((frame.to_vec(), reception)));
    }

    /// What the node hears.
    fn heard(&mut self) -> Vec<(Vec<u8>, u8)> {
        let mut port = Port(self.queues);
        let mut heard = Vec::new();
        let mut buffer = [0; FRAME_BYTES_MAX];
        while let Poll::Ready(frame) = embassy_futures::poll_once(port.receive(&mut buffer)) {
            heard.push((frame.bytes.to_vec(), frame.quality));
        }
        heard
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
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.send(b"hello");
    bench.pass(20);
    let sent = &bench.air.0.borrow().sent;
    assert_eq!(sent.len(), 1);
    assert_eq!(ADDRESS.open(&sent[0].1), Some(&b"hello"[..]));
    assert_eq!(bench.counters(), Counters { sent: 1, ..Counters::default() });
}

#[test]
fn frames_follow_each_other_in_order_and_not_too_closely() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    for number in 0..20 {
        bench.send(&[number]);
    }
    bench.pass(100);
    let sent = &bench.air.0.borrow().sent;
    let numbers: Vec<u8> = sent.iter().map(|(_, frame)| frame[HEADER_BYTES]).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<u8>>());
    assert!(sent.windows(2).all(|two| two[1].0 - two[0].0 >= 640), "a frame came before the others were ready for it");
}

#[test]
fn a_frame_longer_than_the_radio_carries_is_dropped_and_counted() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.send(&[1; PAYLOAD_BYTES_MAX + 1]);
    bench.send(&[1; PAYLOAD_BYTES_MAX]);
    bench.pass(20);
    assert_eq!(bench.air.0.borrow().sent.len(), 1);
    assert_eq!(bench.counters(), Counters { sent: 1, send_too_long: 1, ..Counters::default() });
}

#[test]
fn a_channel_busy_for_a_second_costs_frames_and_nothing_else() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.air.0.borrow_mut().busy_until = 1_000_000;
    let mut asked = 0;
    while Instant::now().as_millis() < 1_000 {
        bench.send(b"anybody?");
        bench.pass(50);
        asked += 1;
    }
    bench.send(b"at last");
    bench.pass(100);
    let counted = bench.counters();
    assert_eq!(counted.sent + counted.send_busy, asked + 1, "{counted:?}");
    assert!(counted.send_busy >= asked - 1 && counted.sent >= 1, "{counted:?}");
    let air = bench.air.0.borrow();
    assert!(air.looks >= 5 * counted.send_busy, "it looks five times before it gives up: {} looks", air.looks);
    assert_eq!(ADDRESS.open(&air.sent.last().unwrap().1), Some(&b"at last"[..]));
}

#[test]
fn a_channel_that_gets_free_in_time_costs_nothing() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.air.0.borrow_mut().busy_until = 5_000;
    bench.send(b"patience");
    bench.pass(60);
    assert_eq!(bench.counters(), Counters { sent: 1, ..Counters::default() });
    assert!(bench.air.0.borrow().looks > 1);
}

#[test]
fn a_radio_that_fails_is_counted_and_works_again_when_it_works_again() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.air.0.borrow_mut().failing = true;
    bench.send(b"lost");
    bench.air.0.borrow_mut().incoming.extend([Err(ReceiveError::Failed), Err(ReceiveError::Broken)]);
    bench.pass(50);
    assert_eq!(bench.counters(), Counters { send_refused: 1, receive_broken: 2, ..Counters::default() });
    bench.air.0.borrow_mut().failing = false;
    bench.send(b"sent");
    bench.arrive(&sealed(b"heard"), LOUD);
    bench.pass(50);
    assert_eq!(bench.heard(), [(b"heard".to_vec(), 255)]);
    assert_eq!(bench.air.0.borrow().sent.len(), 1);
}

#[test]
fn a_receiver_that_always_fails_leaves_time_for_everything_else() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.air.0.borrow_mut().incoming.extend((0..10_000).map(|_| Err(ReceiveError::Failed)));
    bench.send(b"still here");
    bench.pass(200);
    assert_eq!(bench.counters().sent, 1);
    assert!(bench.counters().receive_broken < 50, "it is left alone for a while each time");
}

#[test]
fn what_is_heard_while_waiting_to_send_is_not_lost() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.air.0.borrow_mut().busy_until = 10_000;
    bench.send(b"mine");
    bench.pass(1);
    bench.arrive(&sealed(b"theirs"), LOUD);
    bench.pass(60);
    assert_eq!(bench.heard(), [(b"theirs".to_vec(), 255)]);
    assert_eq!(bench.air.0.borrow().sent.len(), 1);
}

#[test]
fn a_frame_that_is_being_received_is_not_interrupted_to_send() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.air.0.borrow_mut().arriving_until = 4_000;
    bench.send(b"mine");
    bench.pass(3);
    assert_eq!(bench.air.0.borrow().looks, 0, "it waits for the end of the frame");
    bench.arrive(&sealed(b"theirs"), LOUD);
    bench.pass(20);
    assert_eq!(bench.heard(), [(b"theirs".to_vec(), 255)]);
    assert_eq!(bench.air.0.borrow().sent.len(), 1);
}

#[test]
fn an_ear_that_never_rests_does_not_keep_a_frame_for_ever() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    bench.air.0.borrow_mut().arriving_until = u64::MAX;
    bench.send(b"mine");
    bench.pass(50);
    assert_eq!(bench.counters().sent, 1);
}

#[test]
fn frames_of_others_and_frames_of_nothing_are_counted_and_skipped() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    let mut foreign = sealed(b"foreign");
    foreign[3] ^= 1;
    for frame in [foreign, sealed(b""), Vec::new(), std::vec![0xff; 200], sealed(b"ours")] {
        bench.arrive(&frame, LOUD);
    }
    bench.pass(5);
    assert_eq!(bench.heard(), [(b"ours".to_vec(), 255)]);
    assert_eq!(bench.counters(), Counters { received: 1, receive_foreign: 3, receive_empty: 1, ..Counters::default() });
}

#[test]
fn a_node_that_takes_nothing_loses_the_newest_and_is_told() {
    let _turn = crate::tests::turn();
    let mut bench = Bench::new();
    for number in 0..10 {
        bench.arrive(&sealed(&[number]), LOUD);
    }
    bench.pass(20);
    let first: Vec<_> = (0..10).take(RECEIVE_QUEUE_FRAMES).map(|number| (std::vec![number], 255)).collect();
    assert_eq!(bench.heard(), first);
    assert_eq!(usize::try_from(bench.counters().receive_crowded).unwrap(), 10 - RECEIVE_QUEUE_FRAMES);
}

#[test]
fn energy_and_link_quality_become_one_number() {
    let quality = |energy_dbm, link_quality| Reception { length: 0, energy_dbm, link_quality }.quality();
    assert_eq!([-20, -88, -94, -100, -128].map(|energy| quality(energy, 255)), [255, 255, 127, 0, 0]);
    assert_eq!(quality(-20, 100), 100, "strong and unclear");
    assert!((-100..-88).all(|energy| quality(energy, 255) < quality(energy + 1, 255)));
}
