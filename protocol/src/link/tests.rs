//! The link by itself: boards that exchange frames.

use super::pending::{DOUBLINGS_MAX, NEIGHBOUR_RETRIES};
use super::*;
use crate::base::config::Timing;
use crate::base::membership::Group;
use crate::base::time::Duration;
use crate::peers::table::Keep;
use crate::peers::table::PeerTable;
use crate::wire::{
    Attempt, Boots, Delivery, Destination, DropReason, Kind, Origin, Packet, Reach, ReliableHeader, decode, encode,
};
use serde::{Deserialize, Serialize};
use std::vec::Vec;

mod acks;
mod hops;
mod many;
mod pacing;
mod room;
mod sessions;

const NODES: u32 = 4;
const RETRY: Duration = Timing::RADIO.retry;

/// The messages of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Test {
    Reliable(u8),
    Latest(u8),
    Unreliable(u8),
    Lock(u8),
}

impl Payload for Test {
    fn kind(&self) -> Kind {
        match self {
            Self::Lock(_) => crate::mutex::RicartAgrawala::KIND,
            Self::Reliable(_) | Self::Latest(_) | Self::Unreliable(_) => crate::election::Bully::KIND,
        }
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Reliable(_) => Delivery::Reliable,
            Self::Latest(_) | Self::Lock(_) => Delivery::ReliableLatest,
            Self::Unreliable(_) => Delivery::Unreliable,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Reliable(_) => "reliable",
            Self::Latest(_) | Self::Lock(_) => "latest",
            Self::Unreliable(_) => "unreliable",
        }
    }

    fn topic(&self) -> u32 {
        match self {
            Self::Lock(lock) => u32::from(*lock),
            Self::Reliable(_) | Self::Latest(_) | Self::Unreliable(_) => 0,
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        encode(self, buffer)
    }

    fn decode(_: Kind, body: &[u8]) -> Option<Self> {
        decode(body)
    }

    fn reach(&self) -> Option<Reach> {
        Reach::of(self)
    }
}

/// A frame between two boards.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    kind: Kind,
    sender: NodeId,
    incarnation: u32,
    destination: Destination,
    body: Vec<u8>,
}

impl Frame {
    fn header(&self) -> ReliableHeader {
        let Destination::Reliable(header) = &self.destination else { panic!("not reliable: {self:?}") };
        header.clone()
    }

    fn acks(&self) -> Acks {
        assert_eq!(self.kind, Kind::ACK);
        decode(&self.body).unwrap()
    }

    /// The recipients, whether or not they are named by their boots, and the message.
    fn message(&self) -> (Recipients, Test) {
        let recipients = match self.header().recipients {
            Recipients::Members { set, .. } => to_set(set),
            node @ Recipients::Node(_) => node,
        };
        (recipients, decode(&self.body).unwrap())
    }

    /// The boots it names.
    fn boots(&self) -> Vec<u32> {
        match self.header().recipients {
            Recipients::Members { boots, .. } => boots.to_vec(),
            Recipients::Node(node) => [node.incarnation].to_vec(),
        }
    }
}

/// A node in its first boot.
fn node(id: u32) -> Origin {
    Origin { id: NodeId(id), incarnation: 1 }
}

/// A node that is nothing but a link. Boards 1 to 4 are a group, in slots 0 to 3, and know of each other's first boot.
struct Board {
    link: Link<Test, 6, Group>,
    hops: u8,
    me: NodeId,
    incarnation: u32,
    peers: PeerTable<6>,
    received: u32,
    random: u32,
    /// How many others contend for the air.
    crowd: u32,
}

impl Board {
    fn new(me: u32) -> Self {
        let mut peers = PeerTable::new(Moment { now: Instant::ZERO, random: 0, timing: &Timing::RADIO });
        for id in 1..=NODES {
            peers.add_member(NodeId(id)).unwrap();
            peers.on_reliable(node(id)).unwrap();
        }
        Self { link: Link::new(), hops: 1, me: NodeId(me), incarnation: 1, peers, received: 0, random: 0, crowd: 2 }
    }

    /// Receives a hello; returns the sender's slot.
    fn meet(&mut self, id: u32) -> NodeSet {
        let (kind, destination) = (Kind::HELLO, Destination::Broadcast);
        self.received += 1;
        let packet = Packet { kind, sender: NodeId(id), incarnation: 1, seq: self.received, destination, body: &[] };
        let keep = Keep { me: self.me, leader: None };
        self.peers
            .on_frame(Moment { now: Instant::ZERO, random: 0, timing: &Timing::RADIO }, keep, &packet, u8::MAX)
            .unwrap();
        self.peers.roster().set_of(NodeId(id))
    }

    fn with<T>(&mut self, now: Instant, act: impl FnOnce(&mut Link<Test, 6, Group>, &LinkContext<'_, 6>) -> T) -> T {
        let moment = Moment { now, random: self.random, timing: &Timing::RADIO };
        let (me, incarnation, peers) = (self.me, self.incarnation, &self.peers);
        let cx = LinkContext { me, incarnation, hops: self.hops, peers, crowd: self.crowd, moment };
        act(&mut self.link, &cx)
    }

    fn submit(&mut self, scope: Scope, to: NodeSet, message: Test) -> Result<(), Full> {
        let submit = Outgoing { scope, to, sent_at: LamportTime(7) };
        self.with(Instant::ZERO, |link, cx| link.submit(cx, message, submit))
    }

    fn send(&mut self, to: &[u32], message: Test) {
        self.submit(Scope::Group, members(to), message).unwrap();
    }

    /// Everything it has to send now, acknowledgements that wait to be taken along and paced messages included.
    fn poll(&mut self, now: Instant) -> Vec<Frame> {
        let mut frames = self.poll_acks(now.after(Duration::from_secs(1)));
        let mut paced = now;
        loop {
            frames.extend(self.poll_messages(paced));
            match self.link.paced_until {
                Some(until) => paced = until,
                None => return frames,
            }
        }
    }

    fn poll_acks(&mut self, now: Instant) -> Vec<Frame> {
        let (sender, incarnation, kind, destination) = (self.me, self.incarnation, Kind::ACK, Destination::Broadcast);
        let mut frames = Vec::new();
        while let Some(acks) = self.with(now, Link::poll_acks) {
            let mut buffer = [0; FRAME_MAX];
            let len = encode(&acks, &mut buffer).unwrap();
            let (destination, body) = (destination.clone(), buffer[..len].to_vec());
            frames.push(Frame { kind, sender, incarnation, destination, body });
        }
        frames
    }

    fn poll_messages(&mut self, now: Instant) -> Vec<Frame> {
        let (sender, incarnation) = (self.me, self.incarnation);
        let mut frames = Vec::new();
        while let Some((kind, destination, body)) = self.with(now, |link, cx| {
            if let Some((kind, destination, body)) = link.poll_relay(cx) {
                return Some((kind, destination, body.to_vec()));
            }
            let mut buffer = [0; RELIABLE_MAX];
            let (destination, message) = link.poll_message(cx, NodeSet::first(4), Precedence::Applications)?;
            let len = message.encode(&mut buffer)?;
            link.watch(cx, message.kind(), &destination, &buffer[..len]);
            Some((message.kind(), destination, buffer[..len].to_vec()))
        }) {
            frames.push(Frame { kind, sender, incarnation, destination, body });
        }
        frames
    }

    /// The message delivered from a frame.
    fn on_frame(&mut self, now: Instant, frame: &Frame) -> Result<Option<Test>, DropReason> {
        let Frame { kind, sender, incarnation, destination, body } = frame.clone();
        let packet = Packet { kind, sender, incarnation, seq: 0, destination, body: &body };
        if kind == Kind::ACK {
            let Acks { accepted, refused } = frame.acks();
            for ack in &accepted {
                let by = if ack.by.is_empty() { self.peers.roster().set_of(sender) } else { ack.by };
                let me = Origin { id: self.me, incarnation: self.incarnation };
                self.with(now, |link, cx| match ack {
                    ack if ack.origin != me.id => link.carry(cx, sender, ack),
                    ack if ack.incarnation == me.incarnation => link.on_ack(cx, ack.seq, by),
                    _ => {}
                });
            }
            let Some(refusal) = refused else { return Ok(None) };
            if refusal.origin != self.me {
                self.with(now, |link, cx| link.carry_refusal(cx, refusal));
                return Ok(None);
            }
            let slot = self.peers.on_reliable(Origin { id: refusal.by, incarnation: refusal.boot })?;
            self.end_sessions();
            self.with(now, |link, cx| link.on_refusal(cx, slot, &refusal));
            return Ok(None);
        }
        self.received += 1;
        let received = Packet { seq: self.received, ..packet.clone() };
        let keep = Keep { me: self.me, leader: None };
        self.peers.on_frame(Moment { now, random: 0, timing: &Timing::RADIO }, keep, &received, u8::MAX)?;
        let (header, origin) = (frame.header(), packet.origin());
        let mine = self.with(now, |link, cx| {
            link.relay(cx, &packet, &header);
            origin.id != cx.me && cx.is_for_me(&header.recipients)
        });
        if !mine {
            return Err(DropReason::NotForMe);
        }
        let slot = self.peers.on_reliable(origin)?;
        self.end_sessions();
        let stream = Stream::of::<Group>(kind);
        let accepted = self.with(now, |link, cx| link.accept(cx, slot, &header, stream));
        self.with(now, |link, cx| match accepted {
            Ok(new) => link.acknowledge(cx, slot, &header, stream, new),
            Err(DropReason::NoSession) => link.refuse(cx, origin, &header),
            Err(_) => {}
        });
        if let Some(seq) = header.ack.filter(|_| accepted != Err(DropReason::NoSession)) {
            self.with(now, |link, cx| link.on_ack(cx, seq, NodeSet::slot(slot)));
        }
        if accepted? { Ok(Some(decode(&body).unwrap())) } else { Err(DropReason::Duplicate) }
    }

    /// Ends the sessions with boards that have rebooted, and abandons what was queued for them.
    fn end_sessions(&mut self) {
        let reset = self.peers.take_changes().reset;
        self.link.end_sessions(self.peers.take_renewed());
        self.link.abandon(Scope::Group, reset);
    }
}

fn members(ids: &[u32]) -> NodeSet {
    ids.iter().fold(NodeSet::EMPTY, |set, &id| set.with(NodeSet::slot(id as usize - 1)))
}

fn to(ids: &[u32]) -> Recipients {
    to_set(members(ids))
}

fn to_set(set: NodeSet) -> Recipients {
    Recipients::Members { set, boots: Boots::new(), relays: Relays::Nobody }
}

fn at(span: Duration) -> Instant {
    Instant::ZERO.after(span)
}

/// The only frame of a poll.
fn only(frames: Vec<Frame>) -> Frame {
    let [frame] = <[Frame; 1]>::try_from(frames).unwrap();
    frame
}

/// The only acknowledgement of a poll.
fn ack(mut frames: Vec<Frame>) -> Frame {
    frames.retain(|frame| frame.kind == Kind::ACK);
    only(frames)
}

#[test]
fn a_reliable_message_waits_for_the_acknowledgement_of_the_one_before() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    for number in 0..3 {
        sender.send(&[2], Test::Reliable(number));
    }
    for number in 0..3 {
        let message = only(sender.poll(Instant::ZERO));
        assert_eq!(receiver.on_frame(Instant::ZERO, &message), Ok(Some(Test::Reliable(number))));
        let ack = only(receiver.poll(Instant::ZERO));
        sender.on_frame(Instant::ZERO, &ack).unwrap();
    }
    assert_eq!(sender.poll(Instant::ZERO), []);
    assert_eq!(sender.link.deadline(), None);
}

#[test]
fn a_message_is_sent_at_once_to_recipients_that_acknowledged_all_before_it() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2, 3], Test::Reliable(0));
    sender.send(&[2, 3, 4], Test::Reliable(1));
    let frames = sender.poll(Instant::ZERO);
    let message: Vec<_> = frames.iter().map(Frame::message).collect();
    assert_eq!(message, [(to(&[2, 3]), Test::Reliable(0)), (to(&[4]), Test::Reliable(1))]);
    receiver.on_frame(Instant::ZERO, &frames[0]).unwrap();
    sender.on_frame(Instant::ZERO, &ack(receiver.poll(Instant::ZERO))).unwrap();
    assert_eq!(only(sender.poll(Instant::ZERO)).message(), (to(&[2]), Test::Reliable(1)));
}

#[test]
fn messages_to_members_and_to_neighbours_are_one_stream() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2, 3], Test::Reliable(0));
    sender.submit(Scope::Neighbours, members(&[2]), Test::Reliable(1)).unwrap();
    let first = only(sender.poll(Instant::ZERO));
    assert_eq!(first.message(), (to(&[2, 3]), Test::Reliable(0)));
    receiver.on_frame(Instant::ZERO, &first).unwrap();
    sender.on_frame(Instant::ZERO, &ack(receiver.poll(Instant::ZERO))).unwrap();
    let second = only(sender.poll(Instant::ZERO));
    assert_eq!(second.message(), (Recipients::Node(node(2)), Test::Reliable(1)));
    assert_eq!(receiver.on_frame(Instant::ZERO, &second), Ok(Some(Test::Reliable(1))));
}

#[test]
fn a_duplicate_is_acknowledged_again_and_not_delivered() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    assert_eq!(receiver.on_frame(Instant::ZERO, &message), Ok(Some(Test::Reliable(0))));
    let ack = only(receiver.poll(Instant::ZERO));
    assert_eq!(receiver.on_frame(Instant::ZERO, &message), Err(DropReason::Duplicate));
    assert_eq!(only(receiver.poll(Instant::ZERO)), ack);
}

#[test]
fn a_message_is_retransmitted_with_exponential_backoff_until_it_is_acknowledged() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2, 3], Test::Reliable(0));
    let mut now = Instant::ZERO;
    let mut last = only(sender.poll(now));
    let first = sender.link.deadline().unwrap().since(now);
    for round in 0..9 {
        let due = sender.link.deadline().unwrap();
        assert_eq!(due.since(now), first.doubled(round.min(DOUBLINGS_MAX)).min(Duration::from_secs(2)));
        assert_eq!(sender.poll(at(due.since(Instant::ZERO).minus(Duration::from_micros(1)))), []);
        now = due;
        let again = only(sender.poll(now));
        let attempt = Attempt { number: round + 1, ..last.header().attempt };
        assert_eq!(again.header(), ReliableHeader { attempt, ..last.header() });
        last = again;
    }
    receiver.on_frame(now, &last).unwrap();
    sender.on_frame(now, &ack(receiver.poll(now))).unwrap();
    now = sender.link.deadline().unwrap();
    assert_eq!(only(sender.poll(now)).message(), (to(&[3]), Test::Reliable(0)));
    assert!(sender.link.deadline().unwrap().since(now) <= first, "the way is open: no reason to be slow");
}

#[test]
fn a_retransmission_keeps_the_lamport_time_of_the_first_attempt() {
    let mut sender = Board::new(1);
    sender.send(&[2], Test::Reliable(0));
    assert_eq!(only(sender.poll(Instant::ZERO)).header().attempt.sent_at, LamportTime(7));
    let due = sender.link.deadline().unwrap();
    assert_eq!(only(sender.poll(due)).header().attempt.sent_at, LamportTime(7));
}

#[test]
fn a_message_held_back_by_an_earlier_one_has_made_no_attempt() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Reliable(0));
    sender.send(&[2], Test::Reliable(1));
    let late = at(Duration::from_secs(60));
    let first = only(sender.poll(late));
    receiver.on_frame(late, &first).unwrap();
    sender.on_frame(late, &ack(receiver.poll(late))).unwrap();
    assert_eq!(only(sender.poll(late)).header().attempt.number, 0);
    assert!(sender.link.deadline().unwrap() >= late.after(RETRY));
}

#[test]
fn a_neighbour_that_never_acknowledges_is_abandoned_and_so_is_one_whose_link_is_down() {
    let mut sender = Board::new(1);
    let slot = sender.meet(9);
    sender.submit(Scope::Neighbours, slot, Test::Reliable(0)).unwrap();
    let mut frames = sender.poll(Instant::ZERO);
    while let Some(due) = sender.link.deadline() {
        frames.extend(sender.poll(due));
    }
    assert_eq!(frames.len(), usize::from(NEIGHBOUR_RETRIES));
    assert!(
        frames.iter().all(
            |frame| frame.header().attempt.hop_limit == 1 && frame.header().recipients == Recipients::Node(node(9))
        )
    );

    sender.submit(Scope::Neighbours, slot, Test::Reliable(1)).unwrap();
    sender.send(&[2], Test::Reliable(2));
    sender.link.abandon(Scope::Neighbours, slot);
    assert_eq!(only(sender.poll(Instant::ZERO)).message(), (to(&[2]), Test::Reliable(2)));
}

#[test]
fn a_rebooted_origin_is_accepted_and_its_earlier_incarnations_are_refused() {
    let mut receiver = Board::new(2);
    let mut boots = Vec::new();
    for incarnation in 1..=3 {
        let mut sender = Board { incarnation, ..Board::new(1) };
        sender.send(&[2], Test::Reliable(0));
        boots.push(only(sender.poll(Instant::ZERO)));
    }
    for boot in &boots {
        assert_eq!(receiver.on_frame(Instant::ZERO, boot), Ok(Some(Test::Reliable(0))));
        assert_eq!(only(receiver.poll(Instant::ZERO)).acks().accepted[0].incarnation, boot.incarnation);
    }
    for old in &boots[..2] {
        assert_eq!(receiver.on_frame(Instant::ZERO, old), Err(DropReason::EarlierBoot));
    }
    assert_eq!(receiver.on_frame(Instant::ZERO, &boots[2]), Err(DropReason::Duplicate));
}

#[test]
fn an_acknowledgement_of_an_earlier_incarnation_is_ignored() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Reliable(0));
    receiver.on_frame(Instant::ZERO, &only(sender.poll(Instant::ZERO))).unwrap();
    let ack = only(receiver.poll(Instant::ZERO));
    let mut rebooted = Board { incarnation: 2, ..Board::new(1) };
    rebooted.send(&[2], Test::Reliable(1));
    rebooted.poll(Instant::ZERO);
    rebooted.on_frame(Instant::ZERO, &ack).unwrap();
    assert!(rebooted.link.deadline().is_some());
}

#[test]
fn a_member_that_never_acknowledges_is_reported_unreachable_in_the_end() {
    let mut sender = Board::new(1);
    sender.send(&[2, 3], Test::Reliable(0));
    let mut rounds = 0;
    while let Some(due) = sender.link.deadline().or((rounds == 0).then_some(Instant::ZERO)) {
        rounds += sender.poll(due).len();
    }
    assert_eq!(rounds, usize::from(MEMBER_RETRIES));
    assert_eq!(sender.link.take_unreachable(), members(&[2, 3]));
    assert_eq!(sender.link.take_unreachable(), NodeSet::EMPTY);
}

#[test]
fn nothing_is_sent_to_a_suspected_member() {
    let mut sender = Board::new(1);
    sender.send(&[2], Test::Reliable(0));
    sender.send(&[2, 3], Test::Reliable(1));
    sender.link.abandon(Scope::Group, members(&[2]));
    assert_eq!(only(sender.poll(Instant::ZERO)).message(), (to(&[3]), Test::Reliable(1)));
}
