use super::{Buffers, PortZero, QUEUE_FRAMES, Udp};
use crate::net::address;
use crate::net::{Counters, FRAME_BYTES_MAX, Transport};
use core::cell::RefCell;
use core::future::Future;
use core::task::Context;
use embassy_futures::select::{Either, select};
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{IpEndpoint, Ipv4Address, Runner, Stack, StackResources};
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use std::boxed::Box;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec::Vec;

const PORT: u16 = 47_800;

type Frames = Rc<RefCell<VecDeque<Vec<u8>>>>;

struct Cable {
    id: u32,
    link: LinkState,
    incoming: Frames,
    outgoing: Frames,
}

struct Incoming(Vec<u8>);
struct Outgoing(Frames);

impl RxToken for Incoming {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, read: F) -> R {
        read(&mut self.0)
    }
}

impl TxToken for Outgoing {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = std::vec![0; length];
        let result = write(&mut frame);
        self.0.borrow_mut().push_back(frame);
        result
    }
}

impl Driver for Cable {
    type RxToken<'a> = Incoming;
    type TxToken<'a> = Outgoing;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Incoming, Outgoing)> {
        cx.waker().wake_by_ref();
        let frame = self.incoming.borrow_mut().pop_front()?;
        Some((Incoming(frame), Outgoing(self.outgoing.clone())))
    }

    fn transmit(&mut self, _cx: &mut Context<'_>) -> Option<Outgoing> {
        Some(Outgoing(self.outgoing.clone()))
    }

    fn link_state(&mut self, _cx: &mut Context<'_>) -> LinkState {
        self.link
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = 1514;
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(address::mac(self.id))
    }
}

fn stack(cable: Cable) -> (Stack<'static>, Runner<'static, Cable>) {
    let config = address::config(cable.id);
    embassy_net::new(cable, config, Box::leak(Box::new(StackResources::<2>::new())), 1)
}

type End = (Stack<'static>, Runner<'static, Cable>);

fn pair(link: LinkState) -> (End, End) {
    let (a_to_b, b_to_a) = (Frames::default(), Frames::default());
    let a = Cable { id: 1, link, incoming: b_to_a.clone(), outgoing: a_to_b.clone() };
    let b = Cable { id: 2, link, incoming: a_to_b, outgoing: b_to_a };
    (stack(a), stack(b))
}

fn open(stack: Stack<'static>) -> Udp<'static> {
    Udp::open(stack, Box::leak(Box::new(Buffers::empty())), PORT).unwrap()
}

/// Runs both networks until `work` is done.
fn run<T>(a: &mut Runner<'static, Cable>, b: &mut Runner<'static, Cable>, work: impl Future<Output = T>) -> T {
    embassy_futures::block_on(async {
        match select(work, select(a.run(), b.run())).await {
            Either::First(result) => result,
            Either::Second(_) => unreachable!("networks run for ever"),
        }
    })
}

#[test]
fn a_frame_reaches_the_other_side_as_it_was() {
    let ((a_stack, mut a_run), (b_stack, mut b_run)) = pair(LinkState::Up);
    let (mut a, mut b) = (open(a_stack), open(b_stack));
    let frame: Vec<u8> = (0..=127).collect();
    let received = run(&mut a_run, &mut b_run, async {
        a_stack.wait_link_up().await;
        a.broadcast(&frame).await;
        b.receive(&mut [0; FRAME_BYTES_MAX]).await.bytes.to_vec()
    });
    assert_eq!(received, frame);
    assert_eq!(a.counters(), Counters { sent: 1, ..Counters::default() });
    assert_eq!(b.counters(), Counters { received: 1, ..Counters::default() });
}

#[test]
fn frames_that_are_too_long_or_find_no_link_are_counted() {
    let ((a_stack, mut a_run), (_, mut b_run)) = pair(LinkState::Down);
    let mut a = open(a_stack);
    run(&mut a_run, &mut b_run, async {
        a.broadcast(&[0; FRAME_BYTES_MAX + 1]).await;
        a.broadcast(&[0; FRAME_BYTES_MAX]).await;
    });
    assert_eq!(a.counters(), Counters { send_too_long: 1, send_no_link: 1, ..Counters::default() });
}

#[test]
fn datagrams_that_are_no_frames_are_skipped_and_counted() {
    let ((a_stack, mut a_run), (b_stack, mut b_run)) = pair(LinkState::Up);
    let mut b = open(b_stack);
    let received = run(&mut a_run, &mut b_run, async {
        let (mut in_meta, mut out_meta) = ([PacketMetadata::EMPTY; 4], [PacketMetadata::EMPTY; 4]);
        let (mut in_bytes, mut out_bytes) = ([0; 16], [0; 4096]);
        let mut raw = UdpSocket::new(a_stack, &mut in_meta, &mut in_bytes, &mut out_meta, &mut out_bytes);
        raw.bind(PORT).unwrap();
        let everyone = IpEndpoint::new(Ipv4Address::BROADCAST.into(), PORT);
        for bytes in [&[][..], &[1; FRAME_BYTES_MAX + 1], &[2; 1400], &[3; 5]] {
            raw.send_to(bytes, everyone).await.unwrap();
        }
        b.receive(&mut [0; FRAME_BYTES_MAX]).await.bytes.to_vec()
    });
    assert_eq!(received, [3; 5]);
    let expected = Counters { received: 1, receive_empty: 1, receive_too_long: 2, ..Counters::default() };
    assert_eq!(b.counters(), expected);
}

#[test]
fn a_burst_of_a_whole_queue_arrives_in_order() {
    let ((a_stack, mut a_run), (b_stack, mut b_run)) = pair(LinkState::Up);
    let (mut a, mut b) = (open(a_stack), open(b_stack));
    let received = run(&mut a_run, &mut b_run, async {
        a_stack.wait_link_up().await;
        for number in 0..QUEUE_FRAMES {
            a.broadcast(&[u8::try_from(number).unwrap(); FRAME_BYTES_MAX]).await;
        }
        let mut received = Vec::new();
        for _ in 0..QUEUE_FRAMES {
            received.push(usize::from(b.receive(&mut [0; FRAME_BYTES_MAX]).await.bytes[0]));
        }
        received
    });
    assert_eq!(received, (0..QUEUE_FRAMES).collect::<Vec<_>>());
}

#[test]
fn dropping_the_receive_future_loses_no_frame() {
    let ((a_stack, mut a_run), (b_stack, mut b_run)) = pair(LinkState::Up);
    let (mut a, mut b) = (open(a_stack), open(b_stack));
    let received = run(&mut a_run, &mut b_run, async {
        a_stack.wait_link_up().await;
        assert!(embassy_futures::poll_once(b.receive(&mut [0; FRAME_BYTES_MAX])).is_pending());
        a.broadcast(&[9]).await;
        b.receive(&mut [0; FRAME_BYTES_MAX]).await.bytes.to_vec()
    });
    assert_eq!(received, [9]);
}

#[test]
fn port_zero_cannot_be_opened() {
    let ((stack, _runner), _) = pair(LinkState::Up);
    assert_eq!(Udp::open(stack, &mut Buffers::empty(), 0).err(), Some(PortZero));
}
