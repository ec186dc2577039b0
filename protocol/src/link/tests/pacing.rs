//! The pace of locks and applications.

use super::*;

/// When the lock message after this one may leave.
fn next_lock(board: &mut Board, now: Instant) -> Instant {
    board.send(&[3], Test::Lock(9));
    assert_eq!(board.poll_messages(now).len(), 1);
    board.link.pace.next()
}

#[test]
fn messages_that_nobody_acknowledges_slow_locks_down_and_not_elections() {
    let mut board = Board::new(1);
    board.send(&[2], Test::Lock(0));
    let mut now = Instant::ZERO;
    for _ in 0..6 {
        board.poll(now);
        now = board.link.deadline().unwrap();
    }
    board.poll(now);
    board.link.abandon(Scope::Group, members(&[2]));
    let now = now.after(Duration::from_secs(10));
    let paused = next_lock(&mut board, now);
    assert!(paused > now.after(Timing::RADIO.jitter.times(8)), "{paused:?} is too soon after {now:?}");
    board.link.abandon(Scope::Group, members(&[3]));
    board.send(&[4], Test::Lock(1));
    assert_eq!(board.poll_messages(now), [], "it waits for its turn");
    assert_eq!(board.link.deadline(), Some(paused), "and the host is told when");
    board.send(&[4], Test::Latest(2));
    assert_eq!(only(board.poll_messages(now)).message().1, Test::Latest(2));
    board.link.abandon(Scope::Group, members(&[3]));
    assert!(board.poll_messages(paused).iter().any(|frame| frame.message().1 == Test::Lock(1)));
}

#[test]
fn messages_that_arrive_leave_no_pause() {
    let (mut board, mut receiver) = (Board::new(1), Board::new(2));
    let mut now = Instant::ZERO;
    for number in 0..8 {
        board.send(&[2], Test::Lock(number));
        receiver.on_frame(now, &only(board.poll(now))).unwrap();
        board.on_frame(now, &ack(receiver.poll(now))).unwrap();
        now = now.after(Duration::from_secs(1));
    }
    assert_eq!(next_lock(&mut board, now), now);
}
