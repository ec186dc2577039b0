//! The peer table of one node, frame by frame.

use super::super::quality::{QUALITY_DOWN, QUALITY_UP};
use super::hellos::UNLISTED_MAX;
use super::*;
use crate::wire::{self, Destination, FRAME_MAX, Kind};
use std::vec::Vec;

const ME: Origin = Origin { id: NodeId(1), incarnation: 1 };
const KEEP: Keep = Keep { me: ME.id, leader: None };
const TIMING: Timing = Timing::RADIO;
/// The quality of every frame on a perfect medium.
const CLEAR: u8 = u8::MAX;

fn at(millis: u32) -> Instant {
    Instant::ZERO.after(Duration::from_millis(millis))
}

fn moment(now: Instant) -> Moment<'static> {
    Moment { now, random: 0, timing: &TIMING }
}

fn new<const N: usize>() -> PeerTable<N> {
    PeerTable::new(moment(Instant::ZERO))
}

fn packet(sender: u32, incarnation: u32, seq: u32) -> Packet<'static> {
    let (kind, destination) = (Kind::HELLO, Destination::Broadcast);
    Packet { kind, sender: NodeId(sender), incarnation, seq, destination, body: &[] }
}

/// A hello that names the first boot of every node it lists.
fn hello(complete: bool, listed: &[u32]) -> Hello {
    let named = listed.iter().map(|&id| Origin { id: NodeId(id), incarnation: 1 }).collect();
    Hello { complete, named, ..Hello::default() }
}

/// A hello that lists nodes and names none.
fn listing(listed: &[u32]) -> Hello {
    Hello { complete: true, listed: listed.iter().map(|&id| NodeId(id)).collect(), ..Hello::default() }
}

impl<const N: usize> PeerTable<N> {
    fn receive(&mut self, now: Instant, sender: u32, seq: u32) -> Result<(), DropReason> {
        self.receive_from_boot(now, sender, 1, seq)
    }

    fn receive_from_boot(&mut self, now: Instant, sender: u32, boot: u32, seq: u32) -> Result<(), DropReason> {
        self.on_frame(moment(now), KEEP, &packet(sender, boot, seq), CLEAR)
    }

    fn receive_hello(&mut self, now: Instant, sender: u32, hello: &Hello) {
        self.on_hello(moment(now), ME, Origin { id: NodeId(sender), incarnation: 1 }, hello);
    }

    /// Receives a frame of `sender` and a hello that lists this node.
    fn connect(&mut self, now: Instant, sender: u32, seq: u32) {
        self.receive(now, sender, seq).unwrap();
        self.receive_hello(now, sender, &hello(true, &[1]));
    }

    /// Returns the next hello when it is due.
    fn next_hello(&mut self) -> Hello {
        self.poll_hello(moment(self.hello.deadline())).unwrap()
    }

    /// Returns the ids of the bidirectional neighbours.
    fn neighbours(&self) -> Vec<u32> {
        self.roster().ids_of(self.bidirectional()).map(|NodeId(id)| id).collect()
    }

    fn set_of(&self, id: u32) -> NodeSet {
        self.roster().set_of(NodeId(id))
    }
}

#[test]
fn a_link_is_bidirectional_once_each_end_receives_the_other() {
    let mut table = new::<4>();
    table.receive(at(0), 2, 1).unwrap();
    assert_eq!((table.bidirectional(), table.take_changes()), (NodeSet::EMPTY, Changes::default()));
    table.receive_hello(at(0), 2, &hello(true, &[7, 1]));
    assert_eq!(table.neighbours(), [2]);
    assert_eq!(table.take_changes(), Changes { up: table.set_of(2), ..Changes::default() });
    table.receive_hello(at(0), 2, &hello(true, &[7]));
    assert_eq!(table.neighbours(), []);
    assert_eq!(table.take_changes(), Changes { down: table.set_of(2), ..Changes::default() });
}

#[test]
fn a_unidirectional_link_never_counts() {
    let mut table = new::<4>();
    for seq in 1..100 {
        table.receive(at(seq * 100), 2, seq).unwrap(); // is received, and does not receive
        table.receive_hello(at(seq * 100), 2, &hello(true, &[3, 4]));
        let faint = QUALITY_UP / 2; // receives, and is hardly received
        table.on_frame(moment(at(seq * 100)), KEEP, &packet(3, 1, seq), faint).unwrap();
        table.receive_hello(at(seq * 100), 3, &hello(true, &[1]));
    }
    assert_eq!(table.neighbours(), []);
    assert_eq!(table.take_changes(), Changes::default());
}

#[test]
fn a_hello_of_an_unknown_node_changes_nothing() {
    let mut table = new::<4>();
    table.receive_hello(at(0), 2, &hello(true, &[1]));
    assert_eq!(table.roster().all(), NodeSet::EMPTY);
}

#[test]
fn a_link_stays_up_until_most_frames_are_lost_and_comes_up_again_only_when_most_arrive() {
    let mut table = new::<4>();
    let mut seq = 1;
    table.connect(at(0), 2, seq);
    let mut step = |table: &mut PeerTable<4>, lost: u32| {
        seq += 1 + lost;
        table.connect(at(seq * 10), 2, seq);
        (table.peers[0].quality.value, table.neighbours() == [2])
    };
    // One of two is lost: worse than a new link may be, and kept.
    let kept: Vec<_> = (0..40).map(|_| step(&mut table, 1)).collect();
    assert!(kept.iter().all(|&(quality, up)| quality > QUALITY_DOWN && up), "{kept:?}");
    assert!(kept[39].0 < QUALITY_UP);
    // Six of seven are lost: dropped.
    let lost: Vec<_> = (0..10).map(|_| step(&mut table, 6)).collect();
    assert!(lost.iter().all(|&(quality, up)| up == (quality >= QUALITY_DOWN)), "{lost:?}");
    assert!(!lost[9].1);
    // One of two is lost: as good as the link that was kept, and not taken back.
    let back: Vec<_> = (0..40).map(|_| step(&mut table, 1)).collect();
    assert!(back.iter().all(|&(_, up)| !up), "{back:?}");
    // None is lost.
    let good: Vec<_> = (0..20).map(|_| step(&mut table, 0)).collect();
    assert!(good.iter().all(|&(quality, up)| up == (quality >= QUALITY_UP)), "{good:?}");
    assert!(good[19].1);
}

#[test]
fn a_node_that_has_lost_a_neighbour_searches_it_quickly_at_first() {
    let mut table = new::<4>();
    table.connect(at(0), 2, 1);
    table.connect(at(0), 3, 1);
    let lost = Instant::ZERO.after(TIMING.heartbeat.times(SILENT_HEARTBEATS));
    table.receive(lost, 3, 2).unwrap();
    table.on_timeout(moment(lost));
    assert_eq!(table.neighbours(), [3]);
    let intervals = [(0, 1), (31, 1), (33, 2), (127, 2), (129, 32)];
    for (since, seconds) in intervals {
        let now = lost.after(Duration::from_secs(since));
        assert_eq!(table.longest_interval(moment(now)), Duration::from_secs(seconds), "{since}");
    }
}

#[test]
fn a_silent_neighbour_is_removed_at_its_timeout_and_not_before() {
    let mut table = new::<4>();
    table.connect(at(0), 2, 1);
    table.connect(at(500), 3, 1);
    table.take_changes();
    let two = table.set_of(2);
    let timeout = TIMING.heartbeat.times(SILENT_HEARTBEATS);
    table.on_timeout(moment(Instant::ZERO.after(timeout.minus(Duration::from_micros(1)))));
    assert_eq!(table.neighbours(), [2, 3]);
    table.on_timeout(moment(Instant::ZERO.after(timeout)));
    assert_eq!(table.neighbours(), [3]);
    assert_eq!(table.take_changes(), Changes { down: two, ..Changes::default() });
    assert_eq!(table.check_at, Some(at(500).after(timeout)));
}

#[test]
fn the_timeout_grows_with_the_longest_interval_between_frames() {
    let mut table = new::<4>();
    let mut now = Instant::ZERO;
    for seq in 1..20 {
        now = now.after(Duration::from_secs(5));
        table.connect(now, 2, seq);
    }
    let intervals = Duration::from_secs(5).times(SILENT_INTERVALS);
    table.on_timeout(moment(now.after(intervals.minus(Duration::from_micros(1)))));
    assert_eq!(table.neighbours(), [2]);
    table.on_timeout(moment(now.after(intervals.plus(Duration::from_millis(1)))));
    assert_eq!(table.neighbours(), []);
}

#[test]
fn a_change_resets_the_hello_timer() {
    let quiet = || {
        let mut table = new::<4>();
        table.connect(at(0), 2, 1);
        let mut seq = 1;
        let mut interval = Duration::ZERO;
        while interval.times(2) < TIMING.hello_max {
            let now = table.hello.deadline();
            seq += 1;
            table.connect(now, 2, seq);
            table.poll_hello(moment(now)).unwrap();
            interval = table.hello.deadline().since(now);
        }
        let now = table.hello.deadline().before(Duration::from_secs(10));
        (table, now, seq + 1)
    };
    let soon = |table: &PeerTable<4>, now: Instant| table.hello.deadline() <= now.after(TIMING.hello_min.times(2));

    let (mut table, now, next) = quiet();
    table.connect(now, 2, next);
    assert!(!soon(&table, now), "nothing changed");
    table.receive_hello(now, 2, &hello(false, &[8, 9]));
    assert!(!soon(&table, now), "this hello lists other nodes");

    let (mut table, now, _) = quiet();
    table.receive(now, 3, 1).unwrap();
    assert!(soon(&table, now), "a node came");

    let (mut table, now, _) = quiet();
    table.receive_hello(now, 2, &hello(true, &[8, 9]));
    assert!(soon(&table, now), "a link is gone");

    let (mut table, now, _) = quiet();
    table.receive_hello(now, 2, &Hello { waiting: 1, ..hello(true, &[1]) });
    assert!(soon(&table, now), "a neighbour asks to be listed");
}

/// Three ids, by the weights of their links to this node.
fn by_weight() -> [u32; 3] {
    let mut ids = [2, 3, 4];
    ids.sort_by_key(|&id| weight(ME.id, NodeId(id)));
    ids
}

#[test]
fn a_full_table_keeps_the_links_of_the_highest_weights() {
    let [light, middle, heavy] = by_weight();
    let mut table = new::<2>();
    table.connect(at(0), light, 1);
    table.connect(at(1), middle, 1);
    table.take_changes();
    let lightest = table.set_of(light);
    table.connect(at(2), heavy, 1);
    assert_eq!(table.take_changes().down, lightest, "later stages are told");
    assert_eq!(table.receive(at(3), light, 2), Err(DropReason::NoRoom));
    assert_eq!(table.neighbours().len(), 2);
    let leads = Keep { leader: Some(NodeId(light)), ..KEEP };
    table.on_frame(moment(at(4)), leads, &packet(light, 1, 3), CLEAR).unwrap();
    table.receive_hello(at(4), light, &hello(true, &[1]));
    assert!(table.neighbours().contains(&light), "the leader has a slot, whatever its weight");
    let other = table.on_frame(moment(at(5)), leads, &packet(middle, 1, 2), CLEAR);
    assert_eq!(other, Err(DropReason::NoRoom), "and keeps it");
}

#[test]
fn a_node_that_finds_no_slot_and_no_other_link_becomes_a_guest() {
    let [light, middle, heavy] = by_weight();
    let mut host = new::<2>();
    host.connect(at(0), middle, 1);
    host.connect(at(1), heavy, 1);
    let asks = Hello { waiting: 1, ..hello(true, &[ME.id.0]) };
    let well_connected = Hello { listed: [20, 21, 22].map(NodeId).into_iter().collect(), ..asks.clone() };
    host.receive_hello(at(2), light, &well_connected);
    assert_eq!(host.next_hello().guests, 0);
    host.receive_hello(at(2), light, &asks);
    let named = host.next_hello();
    let guest = Origin { id: NodeId(light), incarnation: 1 };
    assert_eq!((named.guests, named.named.last()), (1, Some(&guest)));
    assert_eq!(host.next_hello().guests, 0, "once");
}

#[test]
fn a_guest_keeps_its_host_though_later_hellos_omit_it() {
    let mut table = new::<4>();
    table.receive(at(0), 2, 1).unwrap();
    table.receive_hello(at(0), 2, &Hello { guests: 1, ..hello(true, &[7, 1]) });
    assert_eq!((table.neighbours(), table.hosts()), (std::vec![2], table.set_of(2)));
    for _ in 0..=UNLISTED_MAX {
        table.receive_hello(at(1), 2, &hello(true, &[7]));
    }
    assert_eq!(table.neighbours(), [2]);
    table.receive_hello(at(2), 2, &hello(true, &[1]));
    assert_eq!(table.hosts(), NodeSet::EMPTY, "it has a slot now");
    table.receive_hello(at(3), 2, &hello(true, &[7]));
    assert_eq!(table.neighbours(), [0; 0]);
}

#[test]
fn the_link_of_a_rebooted_neighbour_starts_over() {
    let mut table = new::<4>();
    table.connect(at(0), 2, 50);
    table.take_changes();
    table.receive_from_boot(at(1), 2, 2, 1).unwrap();
    assert_eq!(table.take_changes(), Changes { down: table.set_of(2), ..Changes::default() });
    table.receive_hello(at(1), 2, &hello(true, &[1]));
    assert_eq!(table.neighbours(), [2]);
    assert_eq!(table.receive_from_boot(at(2), 2, 1, 51), Err(DropReason::EarlierBoot));
    table.receive_from_boot(at(2), 2, 3, 1).unwrap();
    assert_eq!(table.receive_from_boot(at(3), 2, 1, 52), Err(DropReason::EarlierBoot), "two boots ago");
    assert_eq!(table.receive_from_boot(at(3), 2, 3, 2), Ok(()));
    assert_eq!(table.receive_from_boot(at(3), 2, 3, 2), Err(DropReason::Duplicate));
}

#[test]
fn nodes_that_have_not_listed_this_one_are_listed_first() {
    let mut table = new::<8>();
    for id in [2, 3, 4, 5] {
        table.receive(at(0), id, 1).unwrap();
    }
    table.receive_hello(at(0), 2, &hello(true, &[1]));
    table.receive_hello(at(0), 4, &hello(true, &[1]));
    let Hello { complete, waiting, guests: 0, named, listed } = table.next_hello() else { panic!("a guest") };
    assert_eq!((complete, waiting, named.len(), listed.len()), (true, 2, 4, 0));
    let waiting: Vec<_> = named[..2].iter().map(|named| named.id.0).collect();
    assert!(waiting.contains(&3) && waiting.contains(&5), "{named:?}");
    let Hello { waiting, named, listed, .. } = table.next_hello();
    assert_eq!((waiting, named.len(), listed.len()), (2, 2, 2), "who was named need not be named again");
}

#[test]
fn a_neighbour_counts_once_it_has_named_the_present_boot_of_this_node() {
    let mut table = new::<4>();
    table.receive(at(0), 2, 1).unwrap();
    table.receive_hello(at(0), 2, &listing(&[1]));
    let earlier = Origin { incarnation: 7, ..ME };
    table.receive_hello(at(0), 2, &Hello { named: [earlier].into_iter().collect(), ..listing(&[]) });
    assert_eq!(table.neighbours(), [], "recorded in an earlier boot of this node");
    table.receive_hello(at(0), 2, &hello(true, &[1]));
    table.receive_hello(at(0), 2, &listing(&[1]));
    assert_eq!(table.neighbours(), [2]);
}

#[test]
fn frames_heard_before_a_silence_are_duplicates_after_it() {
    let mut table = new::<4>();
    table.connect(at(0), 2, 5);
    table.on_timeout(moment(at(60_000)));
    assert_eq!(table.neighbours(), []);
    assert_eq!(table.receive(at(60_001), 2, 5), Err(DropReason::Duplicate));
    assert_eq!((table.receive(at(60_001), 2, 900), table.in_range()), (Ok(()), table.set_of(2)));
    table.receive_hello(at(60_001), 2, &listing(&[1]));
    assert_eq!(table.neighbours(), [2]);
}

#[test]
fn a_new_node_gets_the_slot_of_the_one_that_was_silent_for_longest() {
    let mut table = new::<3>();
    for (millis, id) in [(0, 2), (5, 3), (60_000, 4)] {
        table.connect(at(millis), id, 1);
    }
    table.on_timeout(moment(at(60_000)));
    table.connect(at(60_000), 5, 1);
    assert_eq!((table.set_of(2), table.neighbours()), (NodeSet::EMPTY, [5, 4].into()));
    assert_eq!(table.receive(at(60_000), 3, 1), Err(DropReason::Duplicate), "it is remembered");
}

#[test]
fn members_in_range_ask_each_other_to_be_named_and_are() {
    let mut table = new::<4>();
    (1..=3).for_each(|id| table.add_member(NodeId(id)).unwrap());
    table.receive_from_boot(at(0), 2, 4, 1).unwrap();
    let empty = Heartbeat {
        advertised: crate::peers::detector::AdvertisedCapacity::UNFIT,
        counts: heapless::Vec::new(),
        relayed: heapless::Vec::new(),
        lamport: crate::base::lamport::LamportTime(0),
        unconfirmed: NodeSet::EMPTY,
        named: heapless::Vec::new(),
    };
    let next = |table: &mut PeerTable<4>| {
        let mut heartbeat = empty.clone();
        table.name_members(&mut heartbeat);
        (heartbeat.unconfirmed, heartbeat.named.to_vec())
    };
    assert_eq!(next(&mut table), (table.set_of(2), [(1, 4)].into()), "a new boot is named unasked");
    assert_eq!(next(&mut table), (table.set_of(2), [].into()));
    let from_two = |unconfirmed: usize, boot: u32| {
        let named = [(0, boot)].into_iter().collect();
        Heartbeat { unconfirmed: NodeSet::first(unconfirmed), named, ..empty.clone() }
    };
    table.on_heartbeat(ME, NodeId(2), &from_two(1, 9));
    assert_eq!(next(&mut table), (table.set_of(2), [(1, 4)].into()), "it asked, and named another boot");
    table.on_heartbeat(ME, NodeId(2), &from_two(0, ME.incarnation));
    assert_eq!((table.confirmed(), next(&mut table)), (table.set_of(2), (NodeSet::EMPTY, [].into())));
}

/// Returns the hellos of a node with `count` neighbours until all were listed.
fn hellos<const N: usize>(count: u32, id: impl Fn(u32) -> u32) -> Vec<Hello> {
    let mut table = new::<N>();
    for index in 0..count {
        table.connect(at(0), id(index), 1);
    }
    table.asking = NodeSet::EMPTY;
    let mut hellos: Vec<Hello> = Vec::new();
    while hellos.iter().map(|hello| hello.listed.len()).sum::<usize>() < count as usize {
        hellos.push(table.next_hello());
    }
    assert_eq!(table.next_hello().listed, hellos[0].listed, "and from the start");
    let mut ids: Vec<_> = hellos.iter().flat_map(|hello| &hello.listed).map(|&NodeId(id)| id).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq((0..count).map(id)), "each id once");
    hellos
}

#[test]
fn ids_that_do_not_fit_one_hello_are_listed_in_turn() {
    let short = hellos::<32>(32, |index| 2 + index);
    assert!(short.len() == 1 && short[0].complete);
    let long = hellos::<32>(32, |index| u32::MAX - 31 + index);
    assert!(long.len() == 2 && long.iter().all(|hello| !hello.complete), "{long:?}");
    let many = hellos::<64>(64, |index| 2 + index);
    assert!(many.len() == 2 && many.iter().all(|hello| !hello.complete), "{many:?}");
    for hello in short.iter().chain(&long).chain(&many) {
        let mut body = [0; FRAME_MAX];
        let len = wire::encode(hello, &mut body).unwrap();
        let packet = Packet { body: &body[..len], ..packet(u32::MAX, u32::MAX, u32::MAX) };
        assert!(wire::seal(&wire::Key::new([0; 16]), &packet, &mut [0; FRAME_MAX]).is_some(), "{hello:?}");
    }
}

#[test]
fn some_incomplete_hellos_may_omit_this_node_but_not_many() {
    let mut table = new::<4>();
    table.connect(at(0), 2, 1);
    for _ in 1..UNLISTED_MAX {
        table.receive_hello(at(0), 2, &hello(false, &[8, 9]));
        assert_eq!(table.neighbours(), [2]);
    }
    table.receive_hello(at(0), 2, &hello(false, &[8, 9]));
    assert_eq!(table.neighbours(), []);
}

fn origin(incarnation: u32) -> Origin {
    Origin { id: NodeId(2), incarnation }
}

#[test]
fn a_silent_member_of_the_group_keeps_its_slot_and_is_not_renewed() {
    let mut table = new::<2>();
    table.add_member(NodeId(2)).unwrap();
    table.connect(at(0), 2, 1);
    let slot = table.on_reliable(origin(1));
    assert_eq!(table.take_renewed(), table.set_of(2));
    table.on_timeout(moment(at(60_000)));
    assert_eq!((table.in_range(), table.bidirectional()), (NodeSet::EMPTY, NodeSet::EMPTY));
    assert_eq!(table.group().all(), table.set_of(2));
    table.receive(at(60_001), 2, 700).unwrap();
    assert_eq!((table.on_reliable(origin(1)), table.take_renewed()), (slot, NodeSet::EMPTY));
}

#[test]
fn a_reliable_message_of_a_new_boot_restarts_the_link_and_reports_the_reset() {
    let mut table = new::<2>();
    table.add_member(NodeId(2)).unwrap();
    table.connect(at(0), 2, 1);
    table.on_reliable(origin(1)).unwrap();
    table.take_renewed();
    assert_eq!(table.take_changes().reset, NodeSet::EMPTY);
    table.on_reliable(origin(2)).unwrap(); // relayed by another node
    let changes = table.take_changes();
    assert_eq!((changes.reset, changes.down, table.in_range()), (table.set_of(2), table.set_of(2), NodeSet::EMPTY));
    assert_eq!(table.take_renewed(), table.set_of(2));
    assert_eq!(table.on_reliable(origin(1)), Err(DropReason::EarlierBoot));
    assert_eq!(table.receive_from_boot(at(3), 2, 2, 1), Ok(()), "its frames count from one again");
}
