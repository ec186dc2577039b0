//! What becomes of messages where there is no room for all.

use super::*;

/// How many messages a member queues.
fn queue_max() -> usize {
    Board::new(1).link.queue.list().capacity()
}

#[test]
fn a_full_queue_drops_unreliable_messages_and_refuses_one_more_reliable_one_to_a_neighbour() {
    let mut board = Board::new(1);
    for _ in 0..queue_max() {
        board.send(&[2], Test::Unreliable(0));
    }
    assert_eq!(board.submit(Scope::Group, members(&[2]), Test::Unreliable(1)), Err(Full));
    for number in 0..queue_max() {
        board.send(&[2], Test::Reliable(u8::try_from(number).unwrap()));
    }
    let neighbour = board.meet(2);
    assert_eq!(board.submit(Scope::Neighbours, neighbour, Test::Reliable(99)), Err(Full));
    assert_eq!(board.submit(Scope::Group, members(&[2]), Test::Unreliable(99)), Err(Full));
    assert_eq!(only(board.poll(Instant::ZERO)).message().1, Test::Reliable(0));
}

#[test]
fn a_link_without_room_for_replies_accepts_nothing_and_loses_nothing() {
    let (mut sender, mut busy) = (Board::new(1), Board::new(2));
    for number in 0..=queue_max() - REPLIES_MAX {
        busy.send(&[3], Test::Reliable(u8::try_from(number).unwrap()));
    }
    sender.send(&[2], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    assert_eq!(busy.on_frame(Instant::ZERO, &message), Err(DropReason::NoRoom));
    let first = only(busy.poll(Instant::ZERO));
    assert_eq!(first.kind, crate::election::Bully::KIND, "not acknowledged: {first:?}");

    let mut receiver = Board::new(3);
    receiver.on_frame(Instant::ZERO, &first).unwrap();
    busy.on_frame(Instant::ZERO, &only(receiver.poll(Instant::ZERO))).unwrap();
    assert_eq!(busy.on_frame(Instant::ZERO, &message), Ok(Some(Test::Reliable(0))));
}

/// Lets a board try its messages for so many rounds in vain; when that is.
fn retry_in_vain(board: &mut Board, rounds: u8) -> Instant {
    let mut now = Instant::ZERO;
    for _ in 0..rounds {
        board.poll(now);
        now = board.link.deadline().unwrap();
    }
    now
}

#[test]
fn links_that_wait_for_each_others_acknowledgements_do_not_deadlock() {
    let (mut one, mut other) = (Board::new(1), Board::new(2));
    for number in 0..=queue_max() - REPLIES_MAX {
        one.send(&[2], Test::Reliable(u8::try_from(number).unwrap()));
        other.send(&[1], Test::Reliable(u8::try_from(number).unwrap()));
    }
    let message = only(one.poll(Instant::ZERO));
    assert_eq!(other.on_frame(Instant::ZERO, &message), Err(DropReason::NoRoom));
    retry_in_vain(&mut other, STALLED_RETRIES - 1);
    assert_eq!(other.on_frame(Instant::ZERO, &message), Err(DropReason::NoRoom), "not yet");
    let now = retry_in_vain(&mut other, STALLED_RETRIES);
    assert_eq!(other.on_frame(now, &message), Ok(Some(Test::Reliable(0))));
}

#[test]
fn a_reliable_message_takes_the_room_of_the_one_unacknowledged_longest() {
    let mut board = Board::new(1);
    board.send(&[3], Test::Reliable(0));
    retry_in_vain(&mut board, STALLED_RETRIES);
    for number in 1..queue_max() {
        board.send(&[2], Test::Reliable(u8::try_from(number).unwrap()));
    }
    assert_eq!(board.submit(Scope::Group, members(&[2]), Test::Latest(98)), Err(Full), "it was no promise");
    board.send(&[2], Test::Reliable(99));
    assert_eq!(board.link.take_unreachable(), members(&[3]));
    assert_eq!(board.submit(Scope::Group, members(&[4]), Test::Reliable(100)), Ok(()));
    assert_eq!(board.link.take_unreachable(), members(&[4]), "where nobody is to blame, whoever it was for");
}

#[test]
fn a_reliable_message_takes_the_room_of_one_that_may_be_lost() {
    let mut board = Board::new(1);
    board.send(&[2], Test::Latest(0));
    for number in 0..queue_max() {
        board.send(&[2], Test::Reliable(u8::try_from(number).unwrap()));
    }
    assert_eq!(
        (only(board.poll(Instant::ZERO)).message().1, board.link.take_unreachable()),
        (Test::Reliable(0), NodeSet::EMPTY)
    );
}

#[test]
fn the_latest_message_replaces_the_one_before_and_none_of_another_stage() {
    let mut board = Board::new(1);
    board.send(&[2], Test::Latest(0));
    board.send(&[3], Test::Lock(1));
    board.send(&[2], Test::Latest(2));
    let message: Vec<_> = board.poll(Instant::ZERO).iter().map(Frame::message).collect();
    assert_eq!(message, [(to(&[2]), Test::Latest(2)), (to(&[3]), Test::Lock(1))]);
}

#[test]
fn the_latest_message_of_one_topic_leaves_other_topics_alone() {
    let mut board = Board::new(1);
    board.send(&[2], Test::Lock(1));
    board.send(&[3], Test::Lock(2));
    board.send(&[2], Test::Lock(2));
    board.send(&[3], Test::Lock(2));
    let message: Vec<_> = board.poll(Instant::ZERO).iter().map(Frame::message).collect();
    assert_eq!(message, [(to(&[2]), Test::Lock(1)), (to(&[3]), Test::Lock(2))]);
}

#[test]
fn the_latest_message_to_one_node_leaves_those_to_others_alone() {
    let mut board = Board::new(1);
    board.send(&[2, 3], Test::Latest(0));
    board.send(&[2], Test::Latest(1));
    let message: Vec<_> = board.poll(Instant::ZERO).iter().map(Frame::message).collect();
    assert_eq!(message, [(to(&[3]), Test::Latest(0)), (to(&[2]), Test::Latest(1))]);
}
