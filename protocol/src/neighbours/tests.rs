//! The neighbours of one node, frame by frame.

extern crate std;

use super::*;
use crate::wire::{self, Kind, Path};
use std::vec::Vec as List;

const ME: NodeId = NodeId(1);
const TIMING: Timing = Timing::RADIO;
/// What a perfect medium says of a frame.
const CLEAR: u8 = u8::MAX;

fn at(millis: u32) -> Instant {
    Instant::ZERO.after(Span::from_millis(millis))
}

fn moment(now: Instant) -> Moment<'static> {
    Moment { now, random: 0, timing: &TIMING }
}

fn new<const N: usize>() -> Neighbours<N> {
    Neighbours::new(moment(Instant::ZERO))
}

fn packet(sender: u32, incarnation: u32, sequence: u32) -> Packet<'static> {
    Packet { kind: Kind::Hello, sender: NodeId(sender), incarnation, sequence, path: Path::Everyone, body: &[] }
}

fn hello(complete: bool, heard: &[u32]) -> Hello {
    Hello { complete, unsure: 0, heard: heard.iter().map(|&id| NodeId(id)).collect() }
}

impl<const N: usize> Neighbours<N> {
    fn frame(&mut self, now: Instant, sender: u32, sequence: u32) -> Result<(), Reason> {
        self.hear(moment(now), &packet(sender, 1, sequence), CLEAR)
    }

    fn says(&mut self, now: Instant, sender: u32, heard: &Hello) {
        self.hello(moment(now), ME, NodeId(sender), heard);
    }

    /// A frame of `sender` and a hello that lists this node.
    fn befriend(&mut self, now: Instant, sender: u32, sequence: u32) {
        self.frame(now, sender, sequence).unwrap();
        self.says(now, sender, &hello(true, &[1]));
    }

    /// The names of the links that count.
    fn counted(&self) -> List<u32> {
        self.roster().ids_of(self.two_way()).map(|NodeId(id)| id).collect()
    }

    fn set_of(&self, id: u32) -> NodeSet {
        self.roster().set_of(NodeId(id))
    }
}

#[test]
fn a_neighbour_counts_from_when_each_hears_the_other() {
    let mut near = new::<4>();
    near.frame(at(0), 2, 1).unwrap();
    assert_eq!((near.two_way(), near.take_changes()), (NodeSet::EMPTY, Changes::default()));
    near.says(at(0), 2, &hello(true, &[7, 1]));
    assert_eq!(near.counted(), [2]);
    assert_eq!(near.take_changes(), Changes { up: near.set_of(2), ..Changes::default() });
    near.says(at(0), 2, &hello(true, &[7]));
    assert_eq!(near.counted(), []);
    assert_eq!(near.take_changes(), Changes { down: near.set_of(2), ..Changes::default() });
}

#[test]
fn a_link_that_works_one_way_never_counts() {
    let mut near = new::<4>();
    for sequence in 1..100 {
        near.frame(at(sequence * 100), 2, sequence).unwrap(); // heard, and does not hear
        near.says(at(sequence * 100), 2, &hello(true, &[3, 4]));
        let faint = QUALITY_UP / 2; // hears, and is hardly heard
        near.hear(moment(at(sequence * 100)), &packet(3, 1, sequence), faint).unwrap();
        near.says(at(sequence * 100), 3, &hello(true, &[1]));
    }
    assert_eq!(near.counted(), []);
    assert_eq!(near.take_changes(), Changes::default());
}

#[test]
fn a_hello_of_a_stranger_changes_nothing() {
    let mut near = new::<4>();
    near.says(at(0), 2, &hello(true, &[1]));
    assert_eq!(near.roster().all(), NodeSet::EMPTY);
}

#[test]
fn a_link_counts_until_most_frames_are_lost_and_again_only_when_most_arrive() {
    let mut near = new::<4>();
    let mut sequence = 1;
    near.befriend(at(0), 2, sequence);
    let mut step = |near: &mut Neighbours<4>, lost: u32| {
        sequence += 1 + lost;
        near.frame(at(sequence * 10), 2, sequence).unwrap();
        near.says(at(sequence * 10), 2, &hello(true, &[1]));
        (near.known[0].quality, near.counted() == [2])
    };
    // One of two is lost: worse than a new link may be, and kept.
    let kept: List<_> = (0..40).map(|_| step(&mut near, 1)).collect();
    assert!(kept.iter().all(|&(quality, counts)| quality > QUALITY_DOWN && counts), "{kept:?}");
    assert!(kept[39].0 < QUALITY_UP);
    // Four of five are lost: given up.
    let lost: List<_> = (0..10).map(|_| step(&mut near, 4)).collect();
    assert!(lost.iter().all(|&(quality, counts)| counts == (quality >= QUALITY_DOWN)), "{lost:?}");
    assert!(!lost[9].1);
    // One of two is lost: as good as what was kept, and not taken back.
    let back: List<_> = (0..40).map(|_| step(&mut near, 1)).collect();
    assert!(back.iter().all(|&(_, counts)| !counts), "{back:?}");
    // None is lost.
    let good: List<_> = (0..20).map(|_| step(&mut near, 0)).collect();
    assert!(good.iter().all(|&(quality, counts)| counts == (quality >= QUALITY_UP)), "{good:?}");
    assert!(good[19].1);
}

#[test]
fn a_silent_neighbour_is_given_up_when_its_time_is_over_and_not_before() {
    let mut near = new::<4>();
    near.befriend(at(0), 2, 1);
    near.befriend(at(500), 3, 1);
    near.take_changes();
    let two = near.set_of(2);
    let patience = TIMING.heartbeat.times(SILENT_BEATS);
    near.timeout(moment(Instant::ZERO.after(patience.minus(Span::from_micros(1)))));
    assert_eq!(near.counted(), [2, 3]);
    near.timeout(moment(Instant::ZERO.after(patience)));
    assert_eq!(near.counted(), [3]);
    assert_eq!(near.take_changes(), Changes { down: two, ..Changes::default() });
    assert_eq!(near.check_at, Some(at(500).after(patience)));
}

#[test]
fn silence_is_measured_by_what_a_neighbour_usually_says() {
    let mut near = new::<4>();
    let mut now = Instant::ZERO;
    for sequence in 1..20 {
        now = now.after(Span::from_secs(5));
        near.befriend(now, 2, sequence);
    }
    near.timeout(moment(now.after(Span::from_secs(25))));
    assert_eq!(near.counted(), [2], "five of its pauses");
    near.timeout(moment(now.after(Span::from_secs(31))));
    assert_eq!(near.counted(), []);
}

#[test]
fn hellos_slow_down_while_nothing_changes() {
    let mut near = new::<4>();
    let mut pauses = List::new();
    let mut now = near.hello_at;
    for _ in 0..16 {
        near.poll_hello(moment(now)).unwrap();
        assert_eq!(near.poll_hello(moment(now)), None);
        pauses.push(near.hello_at.since(now));
        now = near.hello_at;
    }
    // From half an interval to one and a half, by the draw: half with this one.
    let doubled = |times: u8| TIMING.hello_min.doubled(times + 1).min(TIMING.hello_max).share(1, 2);
    assert!(pauses.iter().copied().eq((0..16).map(doubled)), "{pauses:?}");
}

#[test]
fn a_change_makes_the_next_hello_come_soon() {
    let quiet = || {
        let mut near = new::<4>();
        near.befriend(at(0), 2, 1);
        let mut sequence = 1;
        while near.interval < TIMING.hello_max {
            let now = near.hello_at;
            sequence += 1;
            near.befriend(now, 2, sequence);
            near.poll_hello(moment(now)).unwrap();
        }
        let now = near.hello_at.since(Instant::ZERO).minus(Span::from_secs(10));
        (near, Instant::ZERO.after(now), sequence + 1)
    };
    let soon = |near: &Neighbours<4>, now: Instant| near.hello_at <= now.after(TIMING.hello_min.times(2));

    let (mut near, now, next) = quiet();
    near.befriend(now, 2, next);
    assert!(!soon(&near, now), "nothing new");
    near.says(now, 2, &hello(false, &[8, 9]));
    assert!(!soon(&near, now), "it lists the others today");

    let (mut near, now, _) = quiet();
    near.frame(now, 3, 1).unwrap();
    assert!(soon(&near, now), "a node is there");

    let (mut near, now, _) = quiet();
    near.says(now, 2, &hello(true, &[8, 9]));
    assert!(soon(&near, now), "a link is gone");

    let (mut near, now, _) = quiet();
    near.says(now, 2, &Hello { unsure: 1, ..hello(true, &[1]) });
    assert!(soon(&near, now), "a neighbour wants to be told");
}

#[test]
fn where_many_speak_each_speaks_less() {
    let mut near = new::<32>();
    for id in 2..=32 {
        near.befriend(at(0), id, 1);
    }
    assert_eq!(near.shortest(&TIMING), TIMING.hello_min.share(31, CROWD_FREE));
}

#[test]
fn a_full_table_keeps_those_that_count_and_gives_the_place_of_one_that_does_not() {
    let mut near = new::<2>();
    near.befriend(at(0), 2, 1);
    near.frame(at(0), 3, 1).unwrap();
    near.befriend(at(1), 4, 1);
    assert_eq!(near.counted(), [2, 4]);
    assert_eq!(near.frame(at(2), 3, 2), Err(Reason::Crowded));
    assert_eq!(near.counted(), [2, 4]);
}

#[test]
fn a_restarted_neighbour_has_to_be_heard_and_to_hear_anew() {
    let mut near = new::<4>();
    near.befriend(at(0), 2, 50);
    near.take_changes();
    near.hear(moment(at(1)), &packet(2, 2, 1), CLEAR).unwrap();
    assert_eq!(near.take_changes(), Changes { down: near.set_of(2), ..Changes::default() });
    near.says(at(1), 2, &hello(true, &[1]));
    assert_eq!(near.counted(), [2]);
    assert_eq!(near.hear(moment(at(2)), &packet(2, 1, 51), CLEAR), Err(Reason::Outdated));
    near.hear(moment(at(2)), &packet(2, 3, 1), CLEAR).unwrap();
    assert_eq!(near.hear(moment(at(3)), &packet(2, 1, 52), CLEAR), Err(Reason::Outdated), "two boots ago");
    assert_eq!(near.hear(moment(at(3)), &packet(2, 3, 2), CLEAR), Ok(()));
}

#[test]
fn a_frame_heard_twice_is_refused_and_a_late_one_is_not() {
    let mut near = new::<4>();
    let heard = [(10, true), (10, false), (14, true), (12, true), (12, false), (14, false), (10, false), (60, true)];
    for (sequence, new) in heard {
        assert_eq!(near.frame(at(0), 2, sequence).is_ok(), new, "{sequence}");
    }
    assert_eq!(near.frame(at(0), 2, 60 - WINDOW), Ok(()));
    assert_eq!(near.frame(at(0), 2, 60 - WINDOW - 1), Err(Reason::Duplicate), "too old to tell");
}

#[test]
fn those_who_are_not_known_to_hear_are_listed_first() {
    let mut near = new::<8>();
    for id in [2, 3, 4, 5] {
        near.frame(at(0), id, 1).unwrap();
    }
    near.says(at(0), 2, &hello(true, &[1]));
    near.says(at(0), 4, &hello(true, &[1]));
    let Hello { complete, unsure, heard } = near.poll_hello(moment(near.hello_at)).unwrap();
    assert_eq!((complete, unsure, heard.len()), (true, 2, 4));
    assert!(heard[..2].contains(&NodeId(3)) && heard[..2].contains(&NodeId(5)), "{heard:?}");
}

/// The hellos of a node with `count` neighbours of long names, until everyone was listed.
fn turns<const N: usize>(count: u32, id: impl Fn(u32) -> u32) -> List<Hello> {
    let mut near = new::<N>();
    for index in 0..count {
        near.befriend(at(0), id(index), 1);
    }
    let mut hellos: List<Hello> = List::new();
    while hellos.iter().map(|hello| hello.heard.len()).sum::<usize>() < count as usize {
        hellos.push(near.poll_hello(moment(near.hello_at)).unwrap());
    }
    let again = near.poll_hello(moment(near.hello_at)).unwrap();
    assert_eq!(again.heard, hellos[0].heard, "and from the start");
    let mut names: List<_> = hellos.iter().flat_map(|hello| &hello.heard).map(|&NodeId(id)| id).collect();
    names.sort_unstable();
    assert!(names.into_iter().eq((0..count).map(id)), "everyone once");
    hellos
}

#[test]
fn names_that_do_not_fit_one_hello_are_listed_in_turn() {
    let short = turns::<32>(32, |index| 2 + index);
    assert!(short.len() == 1 && short[0].complete);
    let long = turns::<32>(32, |index| u32::MAX - 31 + index);
    assert!(long.len() == 2 && long.iter().all(|hello| !hello.complete), "{long:?}");
    let many = turns::<64>(64, |index| 2 + index);
    assert!(many.len() == 2 && many.iter().all(|hello| !hello.complete), "{many:?}");
    for hello in short.iter().chain(&long).chain(&many) {
        let mut body = [0; FRAME_MAX];
        let len = wire::encode(hello, &mut body).unwrap();
        let packet = Packet { body: &body[..len], ..packet(u32::MAX, u32::MAX, u32::MAX) };
        assert!(wire::seal(&wire::Key::new([0; 16]), &packet, &mut [0; FRAME_MAX]).is_some(), "{hello:?}");
    }
}

#[test]
fn a_node_left_out_of_some_lists_still_counts_and_of_many_no_more() {
    let mut near = new::<4>();
    near.befriend(at(0), 2, 1);
    for _ in 1..UNLISTED_MAX {
        near.says(at(0), 2, &hello(false, &[8, 9]));
        assert_eq!(near.counted(), [2]);
    }
    near.says(at(0), 2, &hello(false, &[8, 9]));
    assert_eq!(near.counted(), []);
}

#[test]
fn a_member_of_the_group_keeps_its_place_and_its_letters_when_it_falls_silent() {
    let mut near = new::<2>();
    near.join(NodeId(2)).unwrap();
    let writer = |incarnation| Writer { id: NodeId(2), incarnation };
    near.befriend(at(0), 2, 1);
    assert_eq!(near.take_letter(writer(1), 5, true), Ok(true));
    near.timeout(moment(at(60_000)));
    assert_eq!((near.heard(), near.two_way()), (NodeSet::EMPTY, NodeSet::EMPTY));
    assert_eq!(near.group().all(), near.set_of(2));
    assert_eq!(near.take_letter(writer(1), 5, true), Ok(false), "heard before it fell silent");
    near.frame(at(60_001), 2, 700).unwrap();
    assert_eq!(near.take_letter(writer(1), 6, false), Err(Reason::Crowded));
    assert_eq!(near.take_letter(writer(1), 6, true), Ok(true));
}

#[test]
fn a_letter_of_a_new_boot_begins_everything_anew_and_says_so() {
    let mut near = new::<2>();
    near.join(NodeId(2)).unwrap();
    let writer = |incarnation| Writer { id: NodeId(2), incarnation };
    near.befriend(at(0), 2, 1);
    assert_eq!(near.take_letter(writer(1), 5, true), Ok(true));
    assert_eq!(near.take_changes().reset, NodeSet::EMPTY);
    assert_eq!(near.take_letter(writer(2), 1, true), Ok(true), "passed on by somebody");
    let changes = near.take_changes();
    assert_eq!((changes.reset, changes.down, near.heard()), (near.set_of(2), near.set_of(2), NodeSet::EMPTY));
    assert_eq!(near.take_letter(writer(1), 6, true), Err(Reason::Outdated));
    assert_eq!(near.hear(moment(at(3)), &packet(2, 2, 1), CLEAR), Ok(()), "its frames count from one again");
}
