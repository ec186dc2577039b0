//! Acknowledgements: when they leave, and what takes them along.

use super::*;

#[test]
fn acknowledgements_to_several_origins_share_a_frame() {
    let (mut one, mut three, mut receiver) = (Board::new(1), Board::new(3), Board::new(2));
    one.send(&[2], Test::Reliable(0));
    three.send(&[2], Test::Reliable(1));
    for sender in [&mut one, &mut three] {
        receiver.on_frame(Instant::ZERO, &only(sender.poll(Instant::ZERO))).unwrap();
    }
    let acks = only(receiver.poll(Instant::ZERO));
    let origins: Vec<_> = acks.acks().accepted.iter().map(|ack| ack.origin).collect();
    assert_eq!(origins, [NodeId(1), NodeId(3)]);
    for sender in [&mut one, &mut three] {
        sender.on_frame(Instant::ZERO, &acks).unwrap();
        assert_eq!(sender.link.deadline(), None);
    }
}

#[test]
fn the_recipients_of_one_message_acknowledge_one_after_the_other() {
    let mut sender = Board::new(1);
    sender.send(&[2, 3, 4], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    let at: Vec<_> = [2, 3, 4]
        .map(|id| {
            let mut receiver = Board::new(id);
            receiver.on_frame(Instant::ZERO, &message).unwrap();
            receiver.link.deadline().unwrap()
        })
        .into();
    assert!(at.is_sorted_by(|earlier, later| earlier < later), "{at:?}");
}

#[test]
fn the_acknowledgement_of_a_locks_message_is_repeated_once_in_the_next_frame_of_acknowledgements() {
    let (mut one, mut three, mut receiver) = (Board::new(1), Board::new(3), Board::new(2));
    let acked =
        |frames: Vec<Frame>| -> Vec<_> { only(frames).acks().accepted.iter().map(|ack| ack.origin.0).collect() };
    one.send(&[2], Test::Lock(0));
    receiver.on_frame(Instant::ZERO, &only(one.poll(Instant::ZERO))).unwrap();
    let lost = at(Duration::from_secs(1));
    assert_eq!(acked(receiver.poll_acks(lost)), [1]);
    assert_eq!(receiver.poll_acks(at(Duration::from_secs(2))), [], "it takes no frame of its own");
    let mut frames = Vec::new();
    for message in [1, 2] {
        three.send(&[2], Test::Lock(message));
        receiver.on_frame(lost, &only(three.poll(lost))).unwrap();
        let acks = only(receiver.poll_acks(at(Duration::from_secs(3))));
        three.on_frame(lost, &acks).unwrap();
        one.on_frame(lost, &acks).unwrap();
        frames.push(acked([acks].into()));
    }
    assert_eq!(frames, [&[3, 1][..], &[3]]);
    assert_eq!(one.link.unacked(), 0);
}

#[test]
fn a_duplicate_is_acknowledged_without_delay() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    receiver.on_frame(Instant::ZERO, &message).unwrap();
    assert_eq!(receiver.poll_acks(Instant::ZERO), [], "a reply may take it along");
    assert_eq!(receiver.on_frame(Instant::ZERO, &message), Err(DropReason::Duplicate));
    assert_eq!(only(receiver.poll_acks(Instant::ZERO)).acks().accepted.len(), 1);
}

#[test]
fn a_message_to_the_origin_takes_the_acknowledgement_along() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Reliable(0));
    receiver.on_frame(Instant::ZERO, &only(sender.poll(Instant::ZERO))).unwrap();
    receiver.send(&[1], Test::Reliable(7));
    let reply = only(receiver.poll_messages(Instant::ZERO));
    assert_eq!(reply.header().ack, Some(1));
    assert_eq!(receiver.poll_acks(at(Duration::from_secs(1))), [], "it was said");
    sender.on_frame(Instant::ZERO, &reply).unwrap();
    assert_eq!(sender.link.unacked(), 0);
}

#[test]
fn more_acknowledgements_than_fit_a_frame_take_another() {
    let mut receiver = Board::new(2);
    let mut acks = Acks::default();
    let long =
        Ack { origin: NodeId(u32::MAX), incarnation: u32::MAX, seq: u32::MAX, via: Some(1), by: NodeSet::first(64) };
    let fitting = (0..9).take_while(|_| acks.add(long)).count();
    assert!((2..9).contains(&fitting), "{fitting}");
    let mut buffer = [0; FRAME_MAX];
    assert!(encode(&acks, &mut buffer).unwrap() + 28 <= FRAME_MAX);
    assert_eq!(receiver.poll(Instant::ZERO), [], "nothing is owed, nothing is sent");
}
