//! Messages and acknowledgements over several hops.

use super::relay::RELAYS_MAX;
use super::*;
use std::vec;

#[test]
fn an_acknowledgement_has_the_hop_limit_of_its_message() {
    let (mut sender, mut receiver) = (Board::new(1), Board::new(2));
    let slot = members(&[2]);
    sender.submit(Scope::Neighbours, slot, Test::Reliable(0)).unwrap();
    receiver.on_frame(Instant::ZERO, &only(sender.poll(Instant::ZERO))).unwrap();
    let ack = only(receiver.poll(Instant::ZERO));
    assert_eq!(ack.ack().hop_limit, 1);
    let mut other = Board::new(3);
    other.on_frame(Instant::ZERO, &ack).unwrap();
    assert_eq!(other.link.deadline(), None);

    sender.on_frame(Instant::ZERO, &ack).unwrap();
    sender.send(&[2], Test::Reliable(1));
    receiver.on_frame(Instant::ZERO, &only(sender.poll(Instant::ZERO))).unwrap();
    assert_eq!(only(receiver.poll(Instant::ZERO)).ack().hop_limit, 8);
}

#[test]
fn messages_and_acknowledgements_are_relayed_hop_by_hop() {
    let mut boards = [1, 2, 3, 4].map(Board::new);
    boards[0].send(&[4], Test::Reliable(0));
    let mut frame = only(boards[0].poll(Instant::ZERO));
    for next in [1, 2] {
        assert_eq!(boards[next].on_frame(Instant::ZERO, &frame), Err(DropReason::NotForMe));
        frame = only(boards[next].poll(Instant::ZERO));
    }
    let attempt = Attempt { seq: 1, number: 0, hop_limit: 6, sent_at: LamportTime(7) };
    let recipients = Recipients::Members { set: members(&[4]), boots: Boots::from_slice(&[1]).unwrap() };
    assert_eq!(frame.header(), ReliableHeader { origin: Some(node(1)), attempt, recipients });
    assert_eq!(boards[3].on_frame(Instant::ZERO, &frame), Ok(Some(Test::Reliable(0))));
    frame = only(boards[3].poll(Instant::ZERO));
    for next in [2, 1] {
        boards[next].on_frame(Instant::ZERO, &frame).unwrap();
        frame = only(boards[next].poll(Instant::ZERO));
    }
    assert_eq!(frame.ack().hop_limit, 6);
    boards[0].on_frame(Instant::ZERO, &frame).unwrap();
    assert_eq!(boards[0].link.deadline(), None);
}

#[test]
fn a_frame_whose_hop_limit_is_used_up_is_not_relayed() {
    let (mut sender, mut relay) = (Board::new(1), Board::new(2));
    sender.send(&[3], Test::Reliable(0));
    let frame = only(sender.poll(Instant::ZERO));
    let attempt = Attempt { hop_limit: 1, ..frame.header().attempt };
    let last = Frame { destination: Destination::Reliable(ReliableHeader { attempt, ..frame.header() }), ..frame };
    assert_eq!(relay.on_frame(Instant::ZERO, &last), Err(DropReason::NotForMe));
    assert_eq!(relay.link.deadline(), None);
}

#[test]
fn a_relay_repeats_a_frame_until_it_overhears_the_next_hop() {
    let (mut sender, mut relay, mut beyond) = (Board::new(1), Board::new(2), Board::new(3));
    sender.send(&[4], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    let mut alone = Board::new(2);
    let mut sent = 0;
    let _ = alone.on_frame(Instant::ZERO, &message);
    while let Some(due) = alone.link.deadline() {
        sent += alone.poll(due).len();
        let _ = alone.on_frame(due, &message); // the origin's own copy is no relay
    }
    assert_eq!(sent, 1 + usize::from(Timing::RADIO.reflood_count));

    let _ = relay.on_frame(Instant::ZERO, &message);
    let _ = beyond.on_frame(Instant::ZERO, &only(relay.poll(Instant::ZERO)));
    assert!(relay.link.deadline().is_some());
    let _ = relay.on_frame(Instant::ZERO, &only(beyond.poll(Instant::ZERO)));
    assert_eq!(relay.link.deadline(), None);
}

#[test]
fn an_acknowledged_message_is_not_relayed_any_more() {
    let (mut sender, mut receiver, mut relay) = (Board::new(1), Board::new(2), Board::new(3));
    sender.send(&[2], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    let _ = relay.on_frame(Instant::ZERO, &message);
    receiver.on_frame(Instant::ZERO, &message).unwrap();
    let ack = only(receiver.poll(Instant::ZERO));
    relay.on_frame(Instant::ZERO, &ack).unwrap();
    assert_eq!(only(relay.poll(Instant::ZERO)).kind, Kind::ACK);
}

#[test]
fn no_node_relays_its_own_messages() {
    let (mut sender, mut receiver, mut relay) = (Board::new(1), Board::new(2), Board::new(3));
    sender.send(&[2, 4], Test::Reliable(0));
    let message = only(sender.poll(Instant::ZERO));
    let _ = relay.on_frame(Instant::ZERO, &message);
    assert_eq!(sender.on_frame(Instant::ZERO, &only(relay.poll(Instant::ZERO))), Err(DropReason::NotForMe));
    receiver.on_frame(Instant::ZERO, &message).unwrap();
    let frames = receiver.poll(Instant::ZERO);
    assert_eq!(frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(), [Kind::ACK, crate::election::Bully::KIND]);
    relay.on_frame(Instant::ZERO, &frames[0]).unwrap();
    let echo = only(relay.poll(Instant::ZERO));
    receiver.on_frame(Instant::ZERO, &echo).unwrap();
    assert_eq!(receiver.poll(Instant::ZERO), []);
}

#[test]
fn a_relay_that_found_no_room_is_made_at_the_next_attempt() {
    let mut relay = Board::new(4);
    let mut messages = Vec::new();
    for id in [1, 2, 3, 9] {
        let mut sender = Board::new(id);
        sender.send(&[1, 2, 3], Test::Reliable(0));
        messages.push(only(sender.poll(Instant::ZERO)));
    }
    for message in &messages {
        let _ = relay.on_frame(Instant::ZERO, message);
    }
    assert_eq!(relay.poll(Instant::ZERO).len(), RELAYS_MAX);
    let _ = relay.on_frame(Instant::ZERO, &messages[RELAYS_MAX]); // takes the room of one that was sent
    assert_eq!(only(relay.poll(Instant::ZERO)).header().origin.unwrap().id, NodeId(9));
}

/// Exchanges frames between boards in a line; each frame is lost, duplicated or delayed by chance.
fn storm(seed: u64) {
    let mut rng = crate::base::rng::Rng::new(seed);
    let mut boards: Vec<_> = (1..=NODES).map(Board::new).collect();
    let mut taken = vec![vec![Vec::new(); boards.len()]; boards.len()];
    let mut air: Vec<(Instant, usize, Frame)> = Vec::new();
    for number in 0..5 {
        for (sender, board) in boards.iter_mut().enumerate() {
            board
                .submit(Scope::Group, NodeSet::first(4).without(NodeSet::slot(sender)), Test::Reliable(number))
                .unwrap();
        }
    }
    let mut now = Instant::ZERO;
    while now < at(Duration::from_secs(120)) {
        for here in 0..boards.len() {
            boards[here].random = rng.next_u32();
            for frame in boards[here].poll(now) {
                for next in [here.wrapping_sub(1), here + 1].into_iter().filter(|&next| next < boards.len()) {
                    let copies = [0, 0, 1, 1, 1, 1, 1, 2][rng.next_u32() as usize % 8];
                    for _ in 0..copies {
                        let late = now.after(Duration::from_micros(1 + rng.next_u32() % 60_000));
                        air.push((late, next, frame.clone()));
                    }
                }
            }
        }
        let next = air.iter().enumerate().min_by_key(|(_, (landing, ..))| *landing).map(|(at, _)| at);
        let landing = next.map(|at| air[at].0);
        let waking = boards.iter().filter_map(|board| board.link.deadline()).min();
        let Some(soon) = earliest(landing, waking) else { break };
        now = now.max(soon);
        if let Some(next) = next
            && landing == Some(soon)
        {
            let (_, receiver, frame) = air.swap_remove(next);
            if let Ok(Some(Test::Reliable(number))) = boards[receiver].on_frame(now, &frame) {
                let sender = frame.header().origin.map_or(frame.sender, |sender| sender.id);
                taken[receiver][sender.0 as usize - 1].push(number);
            }
        }
    }
    for (receiver, from) in taken.iter().enumerate() {
        for (sender, numbers) in from.iter().enumerate() {
            let all: &[u8] = if receiver == sender { &[] } else { &[0, 1, 2, 3, 4] };
            assert_eq!(numbers, all, "seed {seed}: from {sender} to {receiver}");
        }
    }
    assert!(boards.iter().all(|board| board.link.queue.is_empty()), "seed {seed}: not acknowledged");
}

#[test]
fn under_loss_duplication_and_delay_every_message_is_delivered_once_and_in_order() {
    for seed in 0..40 {
        storm(seed);
    }
}
