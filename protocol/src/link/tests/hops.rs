//! Letters and receipts over several hops.

use super::*;
use std::vec;

#[test]
fn a_receipt_goes_as_far_as_the_letter_came() {
    let (mut writer, mut reader) = (Board::new(1), Board::new(2));
    let slot = members(&[2]);
    writer.post(Scope::Neighbours, slot, Said::Letter(0)).unwrap();
    reader.hear(Instant::ZERO, &only(writer.poll(Instant::ZERO))).unwrap();
    let receipt = only(reader.poll(Instant::ZERO));
    assert_eq!(receipt.receipt().hops, 1);
    let mut other = Board::new(3);
    other.hear(Instant::ZERO, &receipt).unwrap();
    assert_eq!(other.link.deadline(), None);

    writer.hear(Instant::ZERO, &receipt).unwrap();
    writer.write(&[2], Said::Letter(1));
    reader.hear(Instant::ZERO, &only(writer.poll(Instant::ZERO))).unwrap();
    assert_eq!(only(reader.poll(Instant::ZERO)).receipt().hops, 8);
}

#[test]
fn letters_and_receipts_are_passed_on_from_node_to_node() {
    let mut boards = [1, 2, 3, 4].map(Board::new);
    boards[0].write(&[4], Said::Letter(0));
    let mut frame = only(boards[0].poll(Instant::ZERO));
    for next in [1, 2] {
        assert_eq!(boards[next].hear(Instant::ZERO, &frame), Err(Reason::NotForMe));
        frame = only(boards[next].poll(Instant::ZERO));
    }
    let writer = Some(Writer { id: NodeId(1), incarnation: 1 });
    let sent = Letter { writer, number: 1, attempt: 0, hops: 6, stamp: Stamp(7), to: to(&[4]) };
    assert_eq!(frame.letter(), sent);
    assert_eq!(boards[3].hear(Instant::ZERO, &frame), Ok(Some(Said::Letter(0))));
    frame = only(boards[3].poll(Instant::ZERO));
    for next in [2, 1] {
        boards[next].hear(Instant::ZERO, &frame).unwrap();
        frame = only(boards[next].poll(Instant::ZERO));
    }
    assert_eq!(frame.receipt().hops, 6);
    boards[0].hear(Instant::ZERO, &frame).unwrap();
    assert_eq!(boards[0].link.deadline(), None);
}

#[test]
fn a_frame_whose_hops_are_used_up_goes_no_further() {
    let (mut writer, mut between) = (Board::new(1), Board::new(2));
    writer.write(&[3], Said::Letter(0));
    let frame = only(writer.poll(Instant::ZERO));
    let last = Frame { path: Path::Letter(Letter { hops: 1, ..frame.letter() }), ..frame };
    assert_eq!(between.hear(Instant::ZERO, &last), Err(Reason::NotForMe));
    assert_eq!(between.link.deadline(), None);
}

#[test]
fn a_frame_is_said_again_while_nobody_passes_it_on_and_never_twice_if_somebody_does() {
    let (mut writer, mut between, mut beyond) = (Board::new(1), Board::new(2), Board::new(3));
    writer.write(&[4], Said::Letter(0));
    let letter = only(writer.poll(Instant::ZERO));
    let mut alone = Board::new(2);
    let mut said = 0;
    let _ = alone.hear(Instant::ZERO, &letter);
    while let Some(due) = alone.link.deadline() {
        said += alone.poll(due).len();
        let _ = alone.hear(due, &letter); // its own source is not one who passes it on
    }
    assert_eq!(said, 1 + usize::from(Timing::RADIO.repeats));

    let _ = between.hear(Instant::ZERO, &letter);
    let _ = beyond.hear(Instant::ZERO, &only(between.poll(Instant::ZERO)));
    assert!(between.link.deadline().is_some());
    let _ = between.hear(Instant::ZERO, &only(beyond.poll(Instant::ZERO)));
    assert_eq!(between.link.deadline(), None);
}

#[test]
fn a_letter_that_has_arrived_is_not_passed_on_any_more() {
    let (mut writer, mut reader, mut between) = (Board::new(1), Board::new(2), Board::new(3));
    writer.write(&[2], Said::Letter(0));
    let letter = only(writer.poll(Instant::ZERO));
    let _ = between.hear(Instant::ZERO, &letter);
    reader.hear(Instant::ZERO, &letter).unwrap();
    let receipt = only(reader.poll(Instant::ZERO));
    between.hear(Instant::ZERO, &receipt).unwrap();
    assert_eq!(only(between.poll(Instant::ZERO)).kind, Kind::Receipt);
}

#[test]
fn nobody_passes_its_own_words_on() {
    let (mut writer, mut reader, mut between) = (Board::new(1), Board::new(2), Board::new(3));
    writer.write(&[2, 4], Said::Letter(0));
    let letter = only(writer.poll(Instant::ZERO));
    let _ = between.hear(Instant::ZERO, &letter);
    assert_eq!(writer.hear(Instant::ZERO, &only(between.poll(Instant::ZERO))), Err(Reason::NotForMe));
    reader.hear(Instant::ZERO, &letter).unwrap();
    let frames = reader.poll(Instant::ZERO);
    assert_eq!(frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(), [Kind::Receipt, Kind::Bully]);
    between.hear(Instant::ZERO, &frames[0]).unwrap();
    let echo = only(between.poll(Instant::ZERO));
    reader.hear(Instant::ZERO, &echo).unwrap();
    assert_eq!(reader.poll(Instant::ZERO), []);
}

#[test]
fn relays_that_find_no_room_are_passed_on_at_the_next_attempt() {
    let mut between = Board::new(4);
    let mut letters = Vec::new();
    for id in [1, 2, 3, 9] {
        let mut writer = Board::new(id);
        writer.write(&[1, 2, 3], Said::Letter(0));
        letters.push(only(writer.poll(Instant::ZERO)));
    }
    for letter in &letters {
        let _ = between.hear(Instant::ZERO, letter);
    }
    assert_eq!(between.poll(Instant::ZERO).len(), RELAYS_MAX);
    let _ = between.hear(Instant::ZERO, &letters[RELAYS_MAX]); // takes the room of one that was said
    assert_eq!(only(between.poll(Instant::ZERO)).letter().writer.unwrap().id, NodeId(9));
}

/// Hands frames between boards in a line, each in its own good time: lost, repeated, late.
fn storm(seed: u64) {
    let mut dice = crate::dice::Dice::new(seed);
    let mut boards: Vec<_> = (1..=NODES).map(Board::new).collect();
    let mut taken = vec![vec![Vec::new(); boards.len()]; boards.len()];
    let mut air: Vec<(Instant, usize, Frame)> = Vec::new();
    for number in 0..5 {
        for (writer, board) in boards.iter_mut().enumerate() {
            board.post(Scope::Group, NodeSet::first(4).without(NodeSet::slot(writer)), Said::Letter(number)).unwrap();
        }
    }
    let mut now = Instant::ZERO;
    while now < at(Span::from_secs(120)) {
        for here in 0..boards.len() {
            boards[here].random = dice.throw();
            for frame in boards[here].poll(now) {
                for next in [here.wrapping_sub(1), here + 1].into_iter().filter(|&next| next < boards.len()) {
                    let copies = [0, 0, 1, 1, 1, 1, 1, 2][dice.throw() as usize % 8];
                    for _ in 0..copies {
                        let late = now.after(Span::from_micros(1 + dice.throw() % 60_000));
                        air.push((late, next, frame.clone()));
                    }
                }
            }
        }
        let next = air.iter().enumerate().min_by_key(|(_, (landing, ..))| *landing).map(|(at, _)| at);
        let landing = next.map(|at| air[at].0);
        let waking = boards.iter().filter_map(|board| board.link.deadline()).min();
        let Some(soon) = sooner(landing, waking) else { break };
        now = now.max(soon);
        if let Some(next) = next
            && landing == Some(soon)
        {
            let (_, reader, frame) = air.swap_remove(next);
            if let Ok(Some(Said::Letter(number))) = boards[reader].hear(now, &frame) {
                let writer = frame.letter().writer.map_or(frame.sender, |writer| writer.id);
                taken[reader][writer.0 as usize - 1].push(number);
            }
        }
    }
    for (reader, from) in taken.iter().enumerate() {
        for (writer, numbers) in from.iter().enumerate() {
            let all: &[u8] = if reader == writer { &[] } else { &[0, 1, 2, 3, 4] };
            assert_eq!(numbers, all, "seed {seed}: from {writer} to {reader}");
        }
    }
    assert!(boards.iter().all(|board| board.link.queue.is_empty()), "seed {seed}: not acknowledged");
}

#[test]
fn whatever_is_lost_repeated_or_late_every_letter_arrives_once_and_in_order() {
    for seed in 0..40 {
        storm(seed);
    }
}
