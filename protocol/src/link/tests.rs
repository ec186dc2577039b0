//! The link by itself: boards that hand each other frames.

extern crate std;

use super::posted::{DOUBLINGS_MAX, NEAR_ROUNDS};
use super::*;
use crate::config::Timing;
use crate::neighbours::Neighbours;
use crate::time::Span;
use crate::wire::{Reason, decode};
use std::vec::Vec;

mod hops;

const NODES: u32 = 4;
const RETRY: Span = Timing::RADIO.retry;

/// What boards say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Said {
    Letter(u8),
    Latest(u8),
    Near(u8),
    OfTheLock(u8),
}

impl Message for Said {
    fn kind(&self) -> Kind {
        match self {
            Self::OfTheLock(_) => Kind::RicartAgrawala,
            Self::Letter(_) | Self::Latest(_) | Self::Near(_) => Kind::Bully,
        }
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Letter(_) => Delivery::Reliable,
            Self::Latest(_) | Self::OfTheLock(_) => Delivery::Latest,
            Self::Near(_) => Delivery::Near,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Letter(_) => "letter",
            Self::Latest(_) | Self::OfTheLock(_) => "latest",
            Self::Near(_) => "near",
        }
    }

    fn about(&self) -> u32 {
        match self {
            Self::OfTheLock(lock) => u32::from(*lock),
            Self::Letter(_) | Self::Latest(_) | Self::Near(_) => 0,
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        encode(self, buffer)
    }

    fn decode(_: Kind, body: &[u8]) -> Option<Self> {
        decode(body)
    }
}

/// A frame between two boards.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    kind: Kind,
    sender: NodeId,
    incarnation: u32,
    path: Path,
    body: Vec<u8>,
}

impl Frame {
    fn letter(&self) -> Letter {
        let Path::Letter(letter) = self.path else { panic!("no letter: {self:?}") };
        letter
    }

    fn receipt(&self) -> Receipt {
        assert_eq!(self.kind, Kind::Receipt);
        decode(&self.body).unwrap()
    }

    /// Whom the letter in it is for, and what it says.
    fn says(&self) -> (To, Said) {
        (self.letter().to, decode(&self.body).unwrap())
    }
}

/// A node that is nothing but a link. Boards 1 to 4 are a group, in slots 0 to 3.
struct Board {
    link: Link<Said>,
    me: NodeId,
    incarnation: u32,
    near: Neighbours<6>,
    heard: u32,
    random: u32,
}

impl Board {
    fn new(me: u32) -> Self {
        let mut near = Neighbours::new(Moment { now: Instant::ZERO, random: 0, timing: &Timing::RADIO });
        for id in 1..=NODES {
            near.join(NodeId(id)).unwrap();
        }
        Self { link: Link::new(), me: NodeId(me), incarnation: 1, near, heard: 0, random: 0 }
    }

    /// Hears a frame of a node: its place in the table.
    fn meet(&mut self, id: u32) -> NodeSet {
        let (kind, path) = (Kind::Hello, Path::Everyone);
        let packet = Packet { kind, sender: NodeId(id), incarnation: 1, sequence: 1, path, body: &[] };
        self.near.hear(Moment { now: Instant::ZERO, random: 0, timing: &Timing::RADIO }, &packet, u8::MAX).unwrap();
        self.near.roster().set_of(NodeId(id))
    }

    fn with<T>(&mut self, now: Instant, act: impl FnOnce(&mut Link<Said>, &Place<'_>) -> T) -> T {
        let moment = Moment { now, random: self.random, timing: &Timing::RADIO };
        let (roster, group) = (self.near.roster(), self.near.group().all());
        let place = Place { me: self.me, incarnation: self.incarnation, hops: 8, roster, group, crowd: 2, moment };
        act(&mut self.link, &place)
    }

    fn post(&mut self, scope: Scope, to: NodeSet, said: Said) -> Result<(), Full> {
        let submit = Submit { scope, to, stamp: Stamp(7) };
        self.with(Instant::ZERO, |link, place| link.submit(place, said, submit))
    }

    fn write(&mut self, to: &[u32], said: Said) {
        self.post(Scope::Group, members(to), said).unwrap();
    }

    /// Everything it has to send now.
    fn poll(&mut self, now: Instant) -> Vec<Frame> {
        let (sender, incarnation) = (self.me, self.incarnation);
        let mut frames = Vec::new();
        while let Some((kind, path, body)) = self.with(now, |link, place| {
            let mut buffer = [0; LETTER_MAX];
            if let Some(receipt) = link.poll_receipt() {
                let len = encode(&receipt, &mut buffer)?;
                return Some((Kind::Receipt, Path::Everyone, buffer[..len].to_vec()));
            }
            if let Some((kind, path, body)) = link.poll_relay(place) {
                return Some((kind, path, body.to_vec()));
            }
            let (path, said) = link.poll_own(place, NodeSet::first(4))?;
            let len = said.encode(&mut buffer)?;
            Some((said.kind(), path, buffer[..len].to_vec()))
        }) {
            frames.push(Frame { kind, sender, incarnation, path, body });
        }
        frames
    }

    /// What it takes in of a frame.
    fn hear(&mut self, now: Instant, frame: &Frame) -> Result<Option<Said>, Reason> {
        let Frame { kind, sender, incarnation, path, body } = frame.clone();
        let packet = Packet { kind, sender, incarnation, sequence: 0, path, body: &body };
        if kind == Kind::Receipt {
            self.with(now, |link, place| link.receive(place, frame.receipt()));
            return Ok(None);
        }
        self.heard += 1;
        let heard = Packet { sequence: self.heard, ..packet.clone() };
        self.near.hear(Moment { now, random: 0, timing: &Timing::RADIO }, &heard, u8::MAX)?;
        let (letter, writer) = (frame.letter(), packet.writer());
        let mine = self.with(now, |link, place| {
            link.pass_letter_on(place, &packet, letter);
            place.is_for_me(letter.to) && writer.id != place.me
        });
        if !mine {
            return Err(Reason::NotForMe);
        }
        let new = self.near.take_letter(writer, letter.number, self.link.has_room())?;
        self.with(now, |link, place| link.acknowledge(place, writer, letter));
        if new { Ok(Some(decode(&body).unwrap())) } else { Err(Reason::Duplicate) }
    }
}

fn members(ids: &[u32]) -> NodeSet {
    ids.iter().fold(NodeSet::EMPTY, |set, &id| set.with(NodeSet::slot(id as usize - 1)))
}

fn to(ids: &[u32]) -> To {
    To::Members(members(ids))
}

fn at(span: Span) -> Instant {
    Instant::ZERO.after(span)
}

/// The only frame of a poll.
fn only(frames: Vec<Frame>) -> Frame {
    let [frame] = <[Frame; 1]>::try_from(frames).unwrap();
    frame
}

/// The only receipt of a poll.
fn receipt(mut frames: Vec<Frame>) -> Frame {
    frames.retain(|frame| frame.kind == Kind::Receipt);
    only(frames)
}

#[test]
fn a_letter_waits_for_the_receipt_of_the_one_before() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    for number in 0..3 {
        writer.write(&[2], Said::Letter(number));
    }
    for number in 0..3 {
        let letter = only(writer.poll(Instant::ZERO));
        assert_eq!(reader.hear(Instant::ZERO, &letter), Ok(Some(Said::Letter(number))));
        let receipt = only(reader.poll(Instant::ZERO));
        writer.hear(Instant::ZERO, &receipt).unwrap();
    }
    assert_eq!(writer.poll(Instant::ZERO), []);
    assert_eq!(writer.link.deadline(), None);
}

#[test]
fn a_letter_goes_at_once_to_whoever_has_all_before_it() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    writer.write(&[2, 3], Said::Letter(0));
    writer.write(&[2, 3, 4], Said::Letter(1));
    let frames = writer.poll(Instant::ZERO);
    let said: Vec<_> = frames.iter().map(Frame::says).collect();
    assert_eq!(said, [(to(&[2, 3]), Said::Letter(0)), (to(&[4]), Said::Letter(1))]);
    reader.hear(Instant::ZERO, &frames[0]).unwrap();
    writer.hear(Instant::ZERO, &receipt(reader.poll(Instant::ZERO))).unwrap();
    assert_eq!(only(writer.poll(Instant::ZERO)).says(), (to(&[2]), Said::Letter(1)));
}

#[test]
fn letters_to_members_and_to_neighbours_are_one_stream() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    writer.write(&[2, 3], Said::Letter(0));
    writer.post(Scope::Neighbours, members(&[2]), Said::Letter(1)).unwrap();
    let first = only(writer.poll(Instant::ZERO));
    assert_eq!(first.says(), (to(&[2, 3]), Said::Letter(0)));
    reader.hear(Instant::ZERO, &first).unwrap();
    writer.hear(Instant::ZERO, &receipt(reader.poll(Instant::ZERO))).unwrap();
    let second = only(writer.poll(Instant::ZERO));
    assert_eq!(second.says(), (To::Node(NodeId(2)), Said::Letter(1)));
    assert_eq!(reader.hear(Instant::ZERO, &second), Ok(Some(Said::Letter(1))));
}

#[test]
fn a_letter_heard_again_is_acknowledged_again_and_not_taken_in() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    writer.write(&[2], Said::Letter(0));
    let letter = only(writer.poll(Instant::ZERO));
    assert_eq!(reader.hear(Instant::ZERO, &letter), Ok(Some(Said::Letter(0))));
    let receipt = only(reader.poll(Instant::ZERO));
    assert_eq!(reader.hear(Instant::ZERO, &letter), Err(Reason::Duplicate));
    assert_eq!(only(reader.poll(Instant::ZERO)), receipt);
}

#[test]
fn a_letter_is_sent_again_after_ever_longer_pauses_until_the_receipt_comes() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    writer.write(&[2, 3], Said::Letter(0));
    let mut now = Instant::ZERO;
    let mut last = only(writer.poll(now));
    for round in 0..9 {
        let due = writer.link.deadline().unwrap();
        assert_eq!(due.since(now), RETRY.doubled(round.min(DOUBLINGS_MAX)));
        assert_eq!(writer.poll(at(due.since(Instant::ZERO).minus(Span::from_micros(1)))), []);
        now = due;
        let again = only(writer.poll(now));
        assert_eq!(again.letter(), Letter { attempt: round + 1, ..last.letter() });
        last = again;
    }
    reader.hear(now, &last).unwrap();
    writer.hear(now, &receipt(reader.poll(now))).unwrap();
    now = writer.link.deadline().unwrap();
    assert_eq!(only(writer.poll(now)).says(), (to(&[3]), Said::Letter(0)));
    assert_eq!(writer.link.deadline().unwrap().since(now), RETRY, "the way is open: no reason to be slow");
}

#[test]
fn the_stamp_of_a_letter_stays_that_of_its_first_attempt() {
    let mut writer = Board::new(1);
    writer.write(&[2], Said::Letter(0));
    assert_eq!(only(writer.poll(Instant::ZERO)).letter().stamp, Stamp(7));
    assert_eq!(only(writer.poll(at(RETRY.times(2)))).letter().stamp, Stamp(7));
}

#[test]
fn a_letter_that_was_held_back_has_not_been_tried() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    writer.write(&[2], Said::Letter(0));
    writer.write(&[2], Said::Letter(1));
    let late = at(Span::from_secs(60));
    let first = only(writer.poll(late));
    reader.hear(late, &first).unwrap();
    writer.hear(late, &receipt(reader.poll(late))).unwrap();
    assert_eq!(only(writer.poll(late)).letter().attempt, 0);
    assert_eq!(writer.link.deadline(), Some(late.after(RETRY)));
}

#[test]
fn a_neighbour_that_never_answers_is_given_up_and_one_that_is_gone_forgotten() {
    let mut writer = Board::new(1);
    let slot = writer.meet(9);
    writer.post(Scope::Neighbours, slot, Said::Letter(0)).unwrap();
    let mut frames = writer.poll(Instant::ZERO);
    while let Some(due) = writer.link.deadline() {
        frames.extend(writer.poll(due));
    }
    assert_eq!(frames.len(), usize::from(NEAR_ROUNDS));
    assert!(frames.iter().all(|frame| frame.letter().hops == 1 && frame.letter().to == To::Node(NodeId(9))));

    writer.post(Scope::Neighbours, slot, Said::Letter(1)).unwrap();
    writer.write(&[2], Said::Letter(2));
    writer.link.forget(Scope::Neighbours, slot);
    assert_eq!(only(writer.poll(Instant::ZERO)).says(), (to(&[2]), Said::Letter(2)));
}

#[test]
fn a_restarted_writer_is_taken_in_and_its_earlier_boots_are_refused() {
    let mut reader = Board::new(2);
    let mut boots = Vec::new();
    for incarnation in 1..=3 {
        let mut writer = Board { incarnation, ..Board::new(1) };
        writer.write(&[2], Said::Letter(0));
        boots.push(only(writer.poll(Instant::ZERO)));
    }
    for boot in &boots {
        assert_eq!(reader.hear(Instant::ZERO, boot), Ok(Some(Said::Letter(0))));
        assert_eq!(only(reader.poll(Instant::ZERO)).receipt().incarnation, boot.incarnation);
    }
    for old in &boots[..2] {
        assert_eq!(reader.hear(Instant::ZERO, old), Err(Reason::Outdated));
    }
    assert_eq!(reader.hear(Instant::ZERO, &boots[2]), Err(Reason::Duplicate));
}

#[test]
fn a_receipt_of_an_earlier_boot_acknowledges_nothing() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    writer.write(&[2], Said::Letter(0));
    reader.hear(Instant::ZERO, &only(writer.poll(Instant::ZERO))).unwrap();
    let receipt = only(reader.poll(Instant::ZERO));
    let mut reborn = Board { incarnation: 2, ..Board::new(1) };
    reborn.write(&[2], Said::Letter(1));
    reborn.poll(Instant::ZERO);
    reborn.hear(Instant::ZERO, &receipt).unwrap();
    assert!(reborn.link.deadline().is_some());
}

#[test]
fn a_full_queue_drops_what_was_no_promise_and_refuses_one_more_letter_to_a_neighbour() {
    let mut board = Board::new(1);
    for _ in 0..QUEUE_MAX {
        board.write(&[2], Said::Near(0));
    }
    assert_eq!(board.post(Scope::Group, members(&[2]), Said::Near(1)), Err(Full));
    for number in 0..QUEUE_MAX {
        board.write(&[2], Said::Letter(u8::try_from(number).unwrap()));
    }
    let neighbour = board.meet(2);
    assert_eq!(board.post(Scope::Neighbours, neighbour, Said::Letter(99)), Err(Full));
    assert_eq!(board.post(Scope::Group, members(&[2]), Said::Near(99)), Err(Full));
    assert_eq!(only(board.poll(Instant::ZERO)).says().1, Said::Letter(0));
}

#[test]
fn a_link_with_no_room_for_answers_takes_no_letter_in_and_none_is_lost() {
    let (mut writer, mut busy) = (Board::new(1), Board::new(2));
    for number in 0..=WAITING_MAX {
        busy.write(&[3], Said::Letter(u8::try_from(number).unwrap()));
    }
    writer.write(&[2], Said::Letter(0));
    let letter = only(writer.poll(Instant::ZERO));
    assert_eq!(busy.hear(Instant::ZERO, &letter), Err(Reason::Crowded));
    let first = only(busy.poll(Instant::ZERO));
    assert_eq!(first.kind, Kind::Bully, "no receipt: {first:?}");

    let mut reader = Board::new(3);
    reader.hear(Instant::ZERO, &first).unwrap();
    busy.hear(Instant::ZERO, &only(reader.poll(Instant::ZERO))).unwrap();
    assert_eq!(busy.hear(Instant::ZERO, &letter), Ok(Some(Said::Letter(0))));
}

/// Lets a board try its letters for so many rounds in vain; when that is.
fn in_vain(board: &mut Board, rounds: u8) -> Instant {
    let mut now = Instant::ZERO;
    for _ in 0..rounds {
        board.poll(now);
        now = board.link.deadline().unwrap();
    }
    now
}

#[test]
fn nodes_that_wait_for_each_others_receipts_do_not_wait_for_ever() {
    let (mut one, mut other) = (Board::new(1), Board::new(2));
    for number in 0..=QUEUE_MAX - ANSWERS_MAX {
        one.write(&[2], Said::Letter(u8::try_from(number).unwrap()));
        other.write(&[1], Said::Letter(u8::try_from(number).unwrap()));
    }
    let letter = only(one.poll(Instant::ZERO));
    assert_eq!(other.hear(Instant::ZERO, &letter), Err(Reason::Crowded));
    in_vain(&mut other, STUCK_ROUNDS - 1);
    assert_eq!(other.hear(Instant::ZERO, &letter), Err(Reason::Crowded), "not yet");
    let now = in_vain(&mut other, STUCK_ROUNDS);
    assert_eq!(other.hear(now, &letter), Ok(Some(Said::Letter(0))));
}

#[test]
fn a_promised_letter_without_room_costs_whoever_left_one_unanswered_for_longest() {
    let mut board = Board::new(1);
    board.write(&[3], Said::Letter(0));
    in_vain(&mut board, STUCK_ROUNDS);
    for number in 1..QUEUE_MAX {
        board.write(&[2], Said::Letter(u8::try_from(number).unwrap()));
    }
    assert_eq!(board.post(Scope::Group, members(&[2]), Said::Latest(98)), Err(Full), "it was no promise");
    board.write(&[2], Said::Letter(99));
    assert_eq!(board.link.take_lost(), members(&[3]));
    assert_eq!(board.post(Scope::Group, members(&[4]), Said::Letter(100)), Ok(()));
    assert_eq!(board.link.take_lost(), members(&[4]), "where nobody is to blame, whoever it was for");
}

#[test]
fn a_promised_letter_takes_the_room_of_one_that_was_no_promise() {
    let mut board = Board::new(1);
    board.write(&[2], Said::Latest(0));
    for number in 0..QUEUE_MAX {
        board.write(&[2], Said::Letter(u8::try_from(number).unwrap()));
    }
    assert_eq!((only(board.poll(Instant::ZERO)).says().1, board.link.take_lost()), (Said::Letter(0), NodeSet::EMPTY));
}

#[test]
fn the_latest_word_replaces_the_one_before_and_no_word_of_another_stage() {
    let mut board = Board::new(1);
    board.write(&[2], Said::Latest(0));
    board.write(&[3], Said::OfTheLock(1));
    board.write(&[2], Said::Latest(2));
    let said: Vec<_> = board.poll(Instant::ZERO).iter().map(Frame::says).collect();
    assert_eq!(said, [(to(&[3]), Said::OfTheLock(1)), (to(&[2]), Said::Latest(2))]);
}

#[test]
fn the_latest_word_about_one_thing_leaves_the_word_about_another_alone() {
    let mut board = Board::new(1);
    board.write(&[2], Said::OfTheLock(1));
    board.write(&[3], Said::OfTheLock(2));
    board.write(&[2], Said::OfTheLock(2));
    board.write(&[3], Said::OfTheLock(2));
    let said: Vec<_> = board.poll(Instant::ZERO).iter().map(Frame::says).collect();
    assert_eq!(said, [(to(&[2]), Said::OfTheLock(1)), (to(&[3]), Said::OfTheLock(2))]);
}

#[test]
fn the_latest_word_to_one_node_leaves_the_word_to_another_alone() {
    let mut board = Board::new(1);
    board.write(&[2, 3], Said::Latest(0));
    board.write(&[2], Said::Latest(1));
    let said: Vec<_> = board.poll(Instant::ZERO).iter().map(Frame::says).collect();
    assert_eq!(said, [(to(&[3]), Said::Latest(0)), (to(&[2]), Said::Latest(1))]);
}

#[test]
fn a_member_that_never_answers_is_given_up_in_the_end_and_named() {
    let mut writer = Board::new(1);
    writer.write(&[2, 3], Said::Letter(0));
    let mut rounds = 0;
    while let Some(due) = writer.link.deadline().or((rounds == 0).then_some(Instant::ZERO)) {
        rounds += writer.poll(due).len();
    }
    assert_eq!(rounds, usize::from(MEMBER_ROUNDS));
    assert_eq!(writer.link.take_lost(), members(&[2, 3]));
    assert_eq!(writer.link.take_lost(), NodeSet::EMPTY);
}

#[test]
fn a_member_that_is_suspected_is_written_to_no_more() {
    let mut writer = Board::new(1);
    writer.write(&[2], Said::Letter(0));
    writer.write(&[2, 3], Said::Letter(1));
    writer.link.forget(Scope::Group, members(&[2]));
    assert_eq!(only(writer.poll(Instant::ZERO)).says(), (to(&[3]), Said::Letter(1)));
}
