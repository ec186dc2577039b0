//! Messages to many: one frame for all, and the reply to one that is sent again.

use super::*;

/// Board 1 sends a message to all; the boards that have received it.
fn asked() -> (Board, Frame, [Board; 3]) {
    let mut sender = Board::new(1);
    sender.send(&[2, 3, 4], Test::Lock(0));
    let message = only(sender.poll(Instant::ZERO));
    let receivers = [2, 3, 4].map(|id| {
        let mut receiver = Board::new(id);
        receiver.on_frame(Instant::ZERO, &message).unwrap();
        receiver
    });
    (sender, message, receivers)
}

#[test]
fn a_message_to_many_takes_one_frame_when_the_last_has_acknowledged_the_one_before() {
    let (mut sender, _, receivers) = asked();
    sender.send(&[2, 3, 4], Test::Lock(1));
    let mut frames = Vec::new();
    for mut receiver in receivers {
        sender.on_frame(Instant::ZERO, &ack(receiver.poll(Instant::ZERO))).unwrap();
        frames.extend(sender.poll_messages(at(Duration::from_millis(60))));
    }
    assert_eq!(only(frames).message(), (to(&[2, 3, 4]), Test::Lock(1)));
}

#[test]
fn a_message_to_many_does_not_wait_for_one_that_is_silent() {
    let (mut sender, _, [mut two, mut three, _]) = asked();
    sender.send(&[2, 3, 4], Test::Lock(1));
    for receiver in [&mut two, &mut three] {
        sender.on_frame(Instant::ZERO, &ack(receiver.poll(Instant::ZERO))).unwrap();
    }
    let sent: Vec<_> =
        [1_000, 1_040].into_iter().flat_map(|ms| sender.poll_messages(at(Duration::from_millis(ms)))).collect();
    assert!(sent.iter().any(|frame| frame.message() == (to(&[2, 3]), Test::Lock(1))), "{sent:?}");
}

#[test]
fn in_a_crowd_the_recipients_of_one_message_reply_one_after_the_other() {
    let jitter = Timing::RADIO.jitter.as_micros() / 1_000;
    for (crowd, turn) in [(2, 0), (15, jitter)] {
        let mut sender = Board::new(1);
        sender.send(&[2, 3, 4], Test::Lock(0));
        let message = only(sender.poll(Instant::ZERO));
        let replied_at = [2, 3, 4].map(|id| {
            let mut receiver = Board { crowd, ..Board::new(id) };
            receiver.on_frame(Instant::ZERO, &message).unwrap();
            receiver.send(&[1], Test::Lock(1));
            (0..100).find(|&ms| !receiver.poll_messages(at(Duration::from_millis(ms))).is_empty())
        });
        assert_eq!(replied_at, [Some(0), Some(turn), Some(2 * turn)]);
    }
}

#[test]
fn a_message_that_is_sent_again_is_answered_by_the_reply_and_not_by_an_acknowledgement() {
    let (mut sender, message, [mut two, ..]) = asked();
    two.send(&[1], Test::Lock(1));
    let lost = only(two.poll_messages(Instant::ZERO));
    let later = at(Duration::from_millis(30));
    assert_eq!(two.poll_messages(later), [], "it waits for the acknowledgement");
    assert_eq!(two.poll_acks(later), [], "the reply took it along");
    assert_eq!(two.on_frame(later, &message), Err(DropReason::Duplicate));
    assert_eq!(two.poll_acks(later), []);
    let again = only(two.poll_messages(at(Duration::from_millis(40))));
    assert_eq!((again.message(), again.header().ack), (lost.message(), Some(1)));
    assert_eq!(sender.on_frame(later, &again), Ok(Some(Test::Lock(1))));
}

#[test]
fn one_loss_does_not_slow_a_lock_down_and_two_do() {
    let mut sender = Board::new(1);
    sender.send(&[2], Test::Lock(0));
    let mut waits = Vec::new();
    let mut now = Instant::ZERO;
    for _ in 0..3 {
        assert_eq!(sender.poll(now).len(), 1);
        let due = sender.link.deadline().unwrap();
        waits.push(due.since(now));
        now = due;
    }
    assert_eq!((waits[1], waits[2]), (waits[0], waits[0].times(2)));
}

#[test]
fn the_recipients_of_a_message_that_is_sent_again_acknowledge_one_after_the_other() {
    let (_, message, receivers) = asked();
    let later = at(Duration::from_millis(100));
    let left = receivers.map(|mut receiver| {
        assert_eq!(receiver.poll_acks(later).len(), 1);
        assert_eq!(receiver.on_frame(later, &message), Err(DropReason::Duplicate));
        receiver.link.deadline().unwrap()
    });
    assert!(left[0] == later && left[0] < left[1] && left[1] < left[2], "{left:?}");
}
