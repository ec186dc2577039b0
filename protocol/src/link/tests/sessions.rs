//! Boots that send to boots.

use super::*;

/// Board 2 takes in a message of board 1, and its acknowledgement is lost.
fn unacknowledged() -> (Board, Board, Frame) {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    receiver.on_frame(Instant::ZERO, &message).unwrap();
    receiver.poll(Instant::ZERO);
    (sender, receiver, message)
}

#[test]
fn a_message_for_an_earlier_boot_is_refused_and_abandoned() {
    let (mut sender, _, message) = unacknowledged();
    let mut rebooted = Board { incarnation: 2, ..Board::new(2) };
    assert_eq!(rebooted.on_frame(Instant::ZERO, &message), Err(DropReason::NoSession));
    let refusal = only(rebooted.poll(Instant::ZERO));
    assert_eq!((refusal.acks().accepted.len(), refusal.acks().refused.unwrap().boot), (0, 2));
    sender.on_frame(Instant::ZERO, &refusal).unwrap();
    assert_eq!(sender.link.deadline(), None, "what the earlier boot missed is for the stages to decide");
    sender.send(&[2], Test::Reliable(1));
    let next = only(sender.poll(Instant::ZERO));
    assert_eq!((next.boots(), next.header().attempt.seq), ([2].into(), 2));
    assert_eq!(rebooted.on_frame(Instant::ZERO, &next), Ok(Some(Test::Reliable(1))));
    assert_eq!(rebooted.on_frame(Instant::ZERO, &message), Err(DropReason::Duplicate), "from before the session");
}

#[test]
fn only_the_first_message_to_a_boot_names_it() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    let mut named = Vec::new();
    for number in 0..3 {
        sender.send(&[2], Test::Reliable(number));
        let message = only(sender.poll(Instant::ZERO));
        named.push(message.boots().len());
        receiver.on_frame(Instant::ZERO, &message).unwrap();
        sender.on_frame(Instant::ZERO, &only(receiver.poll(Instant::ZERO))).unwrap();
    }
    assert_eq!(named, [1, 0, 0]);
}

#[test]
fn a_boot_that_was_never_heard_of_is_learnt_from_its_refusal() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.peers = PeerTable::new(Moment { now: Instant::ZERO, random: 0, timing: &Timing::RADIO });
    (1..=NODES).for_each(|id| sender.peers.add_member(NodeId(id)).unwrap());
    sender.send(&[2], Test::Reliable(0));
    let knock = only(sender.poll(Instant::ZERO));
    assert_eq!(knock.boots(), [0]);
    assert_eq!(receiver.on_frame(Instant::ZERO, &knock), Err(DropReason::NoSession));
    sender.on_frame(Instant::ZERO, &only(receiver.poll(Instant::ZERO))).unwrap();
    let again = only(sender.poll(Instant::ZERO));
    assert_eq!(receiver.on_frame(Instant::ZERO, &again), Ok(Some(Test::Reliable(0))), "at once, and not abandoned");
}

#[test]
fn recipients_with_and_without_a_session_are_sent_apart() {
    let (mut sender, mut receiver, _) = unacknowledged();
    sender.link.abandon(Scope::Group, members(&[2]));
    sender.send(&[2], Test::Reliable(1));
    receiver.on_frame(Instant::ZERO, &only(sender.poll(Instant::ZERO))).unwrap();
    sender.on_frame(Instant::ZERO, &only(receiver.poll(Instant::ZERO))).unwrap();
    sender.send(&[2, 3, 4], Test::Reliable(2));
    let frames = sender.poll(Instant::ZERO);
    let sent: Vec<_> = frames.iter().map(|frame| (frame.message().0, frame.boots())).collect();
    assert_eq!(sent, [(to(&[2]), [].into()), (to(&[3, 4]), [1, 1].into())]);
}

#[test]
fn an_acknowledgement_of_an_earlier_boot_of_the_reader_is_ignored() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Reliable(0));
    receiver.on_frame(Instant::ZERO, &only(sender.poll(Instant::ZERO))).unwrap();
    let late = only(receiver.poll(Instant::ZERO));
    sender.peers.on_reliable(Origin { id: NodeId(2), incarnation: 2 }).unwrap();
    sender.end_sessions();
    sender.send(&[2], Test::Reliable(1));
    sender.on_frame(Instant::ZERO, &late).unwrap();
    let next = only(sender.poll(Instant::ZERO));
    assert_eq!((next.boots(), next.message().1), ([2].into(), Test::Reliable(1)), "it opens no session");
}

#[test]
fn an_election_does_not_wait_for_a_lock() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    sender.send(&[2], Test::Lock(0));
    sender.send(&[2], Test::Reliable(1));
    sender.send(&[2], Test::Reliable(2));
    let frames = sender.poll(Instant::ZERO);
    let sent: Vec<_> = frames.iter().map(|frame| frame.message().1).collect();
    assert_eq!(sent, [Test::Reliable(1), Test::Lock(0)], "the second message of the election waits for the first");
    for frame in &frames {
        receiver.on_frame(Instant::ZERO, frame).unwrap();
    }
    assert_eq!(only(receiver.poll(Instant::ZERO)).acks().accepted.len(), 2);
}
