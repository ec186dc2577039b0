//! Messages and acknowledgements over several hops.

use super::relay::RELAYS_MAX;
use super::*;
use std::vec;

fn relays_of(frame: &Frame) -> Relays {
    match frame.header().recipients {
        Recipients::Members { relays, .. } => relays,
        Recipients::Node(_) => Relays::Nobody,
    }
}

/// Boards 1 to 4 in a line: each hears its neighbours, and knows the way to the others.
fn line() -> [Board; 4] {
    [1, 2, 3, 4].map(|id: u32| {
        let mut board = Board { hops: 8, ..Board::new(id) };
        for (next, beyond) in [(id.wrapping_sub(1), 1..id.max(1)), (id + 1, id + 1..5)] {
            if (1..=NODES).contains(&next) {
                board.meet(next);
                board.peers.set_next_hop(beyond.fold(NodeSet::EMPTY, |set, id| set.with(members(&[id]))), NodeId(next));
            }
        }
        board
    })
}

#[test]
fn a_message_and_its_acknowledgement_take_the_named_hops() {
    let mut boards = line();
    boards[0].send(&[4], Test::Reliable(0));
    let mut frame = only(boards[0].poll(Instant::ZERO));
    for (next, relay) in [(1, Relays::One(1)), (2, Relays::One(2))] {
        assert_eq!(relays_of(&frame), relay);
        assert_eq!(boards[next].on_frame(Instant::ZERO, &frame), Err(DropReason::NotForMe));
        frame = only(boards[next].poll(Instant::ZERO));
    }
    let attempt = Attempt { seq: 1, number: 0, hop_limit: 6, sent_at: LamportTime(7) };
    let (boots, relays) = (Boots::from_slice(&[1]).unwrap(), Relays::Nobody);
    let recipients = Recipients::Members { set: members(&[4]), boots, relays };
    assert_eq!(frame.header(), ReliableHeader { origin: Some(node(1)), attempt, recipients, ack: None });
    assert_eq!(boards[3].on_frame(Instant::ZERO, &frame), Ok(Some(Test::Reliable(0))));
    frame = only(boards[3].poll(Instant::ZERO));
    for (next, via) in [(2, Some(2)), (1, Some(1))] {
        assert_eq!(frame.acks().accepted[0].via, via);
        boards[next].on_frame(Instant::ZERO, &frame).unwrap();
        frame = only(boards[next].poll_acks(at(Duration::from_millis(40))));
    }
    assert_eq!((frame.acks().accepted[0].via, frame.acks().accepted[0].by), (None, members(&[4])));
    boards[0].on_frame(Instant::ZERO, &frame).unwrap();
    assert_eq!(boards[0].link.deadline(), None);
}

#[test]
fn only_the_named_relay_relays() {
    let mut boards = line();
    boards[1].send(&[4], Test::Reliable(0));
    let frame = only(boards[1].poll(Instant::ZERO));
    assert_eq!(boards[0].on_frame(Instant::ZERO, &frame), Err(DropReason::NotForMe));
    assert_eq!(boards[0].poll(Instant::ZERO), []);
    let _ = boards[2].on_frame(Instant::ZERO, &frame);
    assert_eq!(boards[2].poll(Instant::ZERO).len(), 1);
}

#[test]
fn a_message_waits_until_a_way_is_known() {
    let mut board = Board { hops: 8, ..Board::new(1) };
    board.send(&[4], Test::Reliable(0));
    assert_eq!(board.poll(Instant::ZERO), []);
    board.meet(2);
    board.peers.set_next_hop(members(&[4]), NodeId(2));
    assert_eq!(relays_of(&only(board.poll(Instant::ZERO))), Relays::One(1));
}

#[test]
fn acknowledgements_of_one_message_are_joined_on_the_way() {
    let mut boards = line();
    boards[0].send(&[3, 4], Test::Reliable(0));
    let message = only(boards[0].poll(Instant::ZERO));
    let _ = boards[1].on_frame(Instant::ZERO, &message);
    let relayed = only(boards[1].poll(Instant::ZERO));
    boards[2].on_frame(Instant::ZERO, &relayed).unwrap();
    let frames = boards[2].poll_messages(Instant::ZERO);
    boards[3].on_frame(Instant::ZERO, &only(frames)).unwrap();
    let far = only(boards[3].poll(Instant::ZERO));
    boards[2].on_frame(Instant::ZERO, &far).unwrap();
    let joined = only(boards[2].poll_acks(at(Duration::from_millis(40)))).acks();
    let by = joined.accepted.iter().fold(NodeSet::EMPTY, |set, ack| set.with(ack.by));
    assert_eq!(by, members(&[3, 4]), "{joined:?}");
}

#[test]
fn a_relay_that_knows_of_the_acknowledgement_answers_for_the_recipient() {
    let mut boards = line();
    boards[0].send(&[3], Test::Reliable(0));
    let message = only(boards[0].poll(Instant::ZERO));
    let _ = boards[1].on_frame(Instant::ZERO, &message);
    let frame = only(boards[1].poll(Instant::ZERO));
    boards[2].on_frame(Instant::ZERO, &frame).unwrap();
    let ack = only(boards[2].poll(Instant::ZERO));
    boards[1].on_frame(Instant::ZERO, &ack).unwrap();
    assert_eq!(boards[1].poll_acks(at(Duration::from_millis(40))).len(), 1, "and it is lost on the last hop");
    let due = boards[0].link.deadline().unwrap();
    let again = boards[0].poll(due).into_iter().next().unwrap();
    let _ = boards[1].on_frame(due, &again);
    assert_eq!(only(boards[1].poll(due)).acks().accepted[0].by, members(&[3]), "it is not relayed again");
}

#[test]
fn a_frame_whose_hop_limit_is_used_up_is_not_relayed() {
    let mut boards = line();
    boards[0].send(&[3], Test::Reliable(0));
    let frame = only(boards[0].poll(Instant::ZERO));
    let attempt = Attempt { hop_limit: 1, ..frame.header().attempt };
    let last = Frame { destination: Destination::Reliable(ReliableHeader { attempt, ..frame.header() }), ..frame };
    assert_eq!(boards[1].on_frame(Instant::ZERO, &last), Err(DropReason::NotForMe));
    assert_eq!(boards[1].link.deadline(), None);
}

#[test]
fn a_relay_repeats_a_frame_until_it_overhears_the_next_hop() {
    let mut boards = line();
    boards[0].send(&[4], Test::Reliable(0));
    let message = only(boards[0].poll(Instant::ZERO));
    let [_, mut alone, _, _] = line();
    let mut sent = 0;
    let _ = alone.on_frame(Instant::ZERO, &message);
    while let Some(due) = alone.link.deadline() {
        sent += alone.poll(due).len();
        let _ = alone.on_frame(due, &message); // the origin's own copy is no relay
    }
    assert_eq!(sent, 1 + usize::from(Timing::RADIO.reflood_count));

    let _ = boards[1].on_frame(Instant::ZERO, &message);
    let relayed = only(boards[1].poll(Instant::ZERO));
    let _ = boards[2].on_frame(Instant::ZERO, &relayed);
    assert!(boards[1].link.deadline().is_some());
    let frame = only(boards[2].poll(Instant::ZERO));
    let _ = boards[1].on_frame(Instant::ZERO, &frame);
    assert_eq!(boards[1].link.deadline(), None);
}

#[test]
fn an_acknowledged_message_is_not_relayed_any_more() {
    let mut boards = line();
    boards[0].send(&[3], Test::Reliable(0));
    let message = only(boards[0].poll(Instant::ZERO));
    let _ = boards[1].on_frame(Instant::ZERO, &message);
    let frame = only(boards[1].poll(Instant::ZERO));
    boards[2].on_frame(Instant::ZERO, &frame).unwrap();
    let frame = only(boards[2].poll(Instant::ZERO));
    boards[1].on_frame(Instant::ZERO, &frame).unwrap();
    let late = at(Duration::from_millis(200));
    assert!(boards[1].poll(late).iter().all(|frame| frame.kind == Kind::ACK));
}

#[test]
fn no_node_relays_its_own_messages() {
    let mut boards = line();
    boards[1].send(&[4], Test::Reliable(0));
    let message = only(boards[1].poll(Instant::ZERO));
    let _ = boards[2].on_frame(Instant::ZERO, &message);
    let relayed = only(boards[2].poll(Instant::ZERO));
    assert_eq!(boards[1].on_frame(Instant::ZERO, &relayed), Err(DropReason::NotForMe));
    assert_eq!(boards[1].poll(Instant::ZERO), []);
}

#[test]
fn a_relay_that_found_no_room_is_made_at_the_next_attempt() {
    let [_, mut relay, _, _] = line();
    let mut messages = Vec::new();
    for number in 0..=u8::try_from(RELAYS_MAX).unwrap() {
        let mut sender = Board { incarnation: 1 + u32::from(number), ..line().into_iter().next().unwrap() };
        sender.send(&[4], Test::Reliable(number));
        messages.push(only(sender.poll(Instant::ZERO)));
    }
    for message in &messages {
        let _ = relay.on_frame(Instant::ZERO, message);
    }
    assert_eq!(relay.poll(Instant::ZERO).len(), RELAYS_MAX);
    let _ = relay.on_frame(Instant::ZERO, &messages[RELAYS_MAX]); // takes the room of one that was sent
    assert_eq!(only(relay.poll(Instant::ZERO)).message().1, Test::Reliable(u8::try_from(RELAYS_MAX).unwrap()));
}

/// Exchanges frames between boards in a line; each frame is lost, duplicated or delayed by chance.
fn storm(seed: u64) {
    let mut rng = crate::base::rng::Rng::new(seed);
    let mut boards: Vec<_> = line().into();
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
    assert!(boards.iter().all(|board| board.link.unacked() == 0), "seed {seed}: not acknowledged");
}

#[test]
fn under_loss_duplication_and_delay_every_message_is_delivered_once_and_in_order() {
    for seed in 0..40 {
        storm(seed);
    }
}
