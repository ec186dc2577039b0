//! The list of members on frames alone: a network that loses, repeats and reorders them, crashes, partitions, lost logs, and
//! leaders that come and go. Leases are modelled as what they promise: a majority of a leader's own list grants it the
//! lease, and nobody grants another one meanwhile.

use crate::support::prelude::*;
use protocol::base::rng::Rng;
use protocol::members::{Change, List, Members, Notice, Refusal, Stored};
use protocol::wire::{FRAME_MAX, Key};
use std::collections::{BTreeMap, BTreeSet};

const TICK: u32 = 20;
/// Nodes, and how many of them are on the first list.
const NODES: usize = 6;
const FIRST: usize = 4;

/// What a host does with logs.
#[derive(Clone, Copy, PartialEq)]
enum Flash {
    Stores,
    /// It acknowledges before it stores: after a crash it has the log in which the present list began.
    ForgetsVotes,
}

#[derive(Default)]
struct Host {
    members: Option<Members>,
    flash: Option<Vec<u8>>,
    /// Whether it has ever run, and how often.
    boots: u64,
    /// The list that its node is booted with; none while it is no member.
    used: Option<List>,
}

struct Leader {
    node: usize,
    term: Term,
    epoch: u32,
    granted: BTreeSet<usize>,
}

struct Net {
    rng: Rng,
    millis: u32,
    hosts: Vec<Host>,
    flash: Flash,
    /// Percent of frames lost and repeated, and the longest delay.
    lost: u32,
    delay: u32,
    sides: Vec<bool>,
    /// Who hears nothing.
    deaf: Vec<bool>,
    air: Vec<(u32, usize, Vec<u8>)>,
    /// Who may act now: one, or the lists failed.
    leaders: Vec<Leader>,
    terms: u32,
    lists: BTreeMap<u32, List>,
    decided: u32,
    refused: u32,
    broken: Option<String>,
}

fn id(node: usize) -> NodeId {
    NodeId(u32::try_from(node).unwrap() * 50 + 7)
}

impl Net {
    fn new(seed: u64, flash: Flash) -> Self {
        let mut net = Self {
            rng: Rng::new(seed),
            millis: 1,
            hosts: (0..NODES).map(|_| Host::default()).collect(),
            flash,
            lost: 0,
            delay: 5,
            sides: vec![false; NODES],
            deaf: vec![false; NODES],
            air: Vec::new(),
            leaders: Vec::new(),
            terms: 0,
            lists: BTreeMap::new(),
            decided: 0,
            refused: 0,
            broken: None,
        };
        for node in 0..NODES {
            net.boot(node, false);
        }
        net
    }

    fn now(&self) -> Instant {
        Instant::from_micros(u64::from(self.millis) * 1_000)
    }

    fn draw(&mut self, below: usize) -> usize {
        self.rng.next_u32() as usize % below
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.rng.next_u32() % 100 < percent
    }

    fn boot(&mut self, node: usize, lost: bool) {
        let (now, boots) = (self.now(), self.hosts[node].boots);
        let host = &mut self.hosts[node];
        if lost {
            host.flash = None;
        }
        let first: Vec<NodeId> = (0..FIRST).map(id).collect();
        let first = if node < FIRST { List::first(&first).unwrap() } else { List::NONE };
        let stored = match &host.flash {
            Some(log) => Stored::Log(log),
            None if boots == 0 => Stored::Nothing,
            None => Stored::Lost,
        };
        let seed = boots << 8 | node as u64;
        host.members = Some(Members::new(id(node), &Key::new([3; 16]), Timing::LAN, first, stored, now, seed));
        host.boots += 1;
        self.settle(node);
    }

    fn crash(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        (host.members, host.used) = (None, None);
        self.leaders.retain(|leader| leader.node != node);
    }

    fn acting(&self, node: usize) -> Option<Term> {
        self.leaders.iter().find(|leader| leader.node == node).map(|leader| leader.term)
    }

    /// The host's loop after each input: log, node, notices, frames.
    fn settle(&mut self, node: usize) {
        let (now, acting) = (self.now(), self.acting(node));
        let Some(members) = &mut self.hosts[node].members else { return };
        members.on_leader(now, acting);
        let (mut buffer, mut frames) = ([0; Members::<Key>::LOG_MAX], Vec::new());
        let (list, old) = (members.list().clone(), self.lists.get(&members.list().epoch()));
        if let Some(log) = members.poll_log(&mut buffer) {
            let known = self.hosts[node].used.as_ref().map(List::epoch) == Some(list.epoch());
            if self.flash == Flash::Stores || !known || self.hosts[node].flash.is_none() {
                self.hosts[node].flash = Some(log.to_vec());
            }
        }
        if list.epoch() > 0 && old.is_some_and(|old| *old != list) {
            self.broken = Some(format!("two lists of one epoch: {list:?} and {old:?}"));
        }
        self.lists.insert(list.epoch(), list.clone());
        let members = self.hosts[node].members.as_mut().unwrap();
        let used = members.is_member().then_some(list);
        let before = self.hosts[node].used.take();
        if before != used {
            self.leaders.retain(|leader| leader.node != node); // its node boots with another list
        }
        let members = self.hosts[node].members.as_mut().unwrap();
        while let Some(notice) = members.poll_notice() {
            match notice {
                Notice::Decided { .. } => self.decided += 1,
                Notice::Refused { .. } => self.refused += 1,
                Notice::Yield => self.leaders.retain(|leader| leader.node != node),
                Notice::Changed { .. } | Notice::Unknown { .. } => {}
            }
        }
        let mut buffer = [0; FRAME_MAX];
        while let Some(frame) = members.poll_transmit(now, &mut buffer) {
            frames.push(frame.to_vec());
        }
        self.hosts[node].used = used;
        for frame in frames {
            for to in (0..NODES).filter(|&to| to != node).collect::<Vec<_>>() {
                let copies = if self.percent(self.lost) { 0 } else { 1 + usize::from(self.percent(self.lost / 2)) };
                for _ in 0..copies {
                    let at = self.millis + 1 + self.rng.next_u32() % self.delay;
                    if self.sides[to] == self.sides[node] {
                        self.air.push((at, to, frame.clone()));
                    }
                }
            }
        }
    }

    /// Lets a node be elected and get a lease of a majority of its list, if that may grant one.
    fn elect(&mut self, node: usize) {
        let Some(list) = self.hosts[node].used.clone() else { return };
        let grants = |&other: &usize| {
            let host = &self.hosts[other];
            let free = self.leaders.iter().all(|leader| leader.node == node || !leader.granted.contains(&other));
            list.contains(id(other))
                && host.used.as_ref() == Some(&list)
                && self.sides[other] == self.sides[node]
                && free
        };
        let granted: BTreeSet<usize> = (0..NODES).filter(grants).collect();
        if granted.len() * 2 <= list.members().len() {
            return;
        }
        self.leaders.retain(|leader| leader.node != node);
        self.terms += 1;
        let term = Term { number: self.terms, by: id(node) };
        self.leaders.push(Leader { node, term, epoch: list.epoch(), granted });
        if let [one, other] = &self.leaders[..] {
            let text = format!("{} acts in list {} and {} in {}", one.node, one.epoch, other.node, other.epoch);
            self.broken = Some(text);
        }
        self.settle(node);
    }

    fn change(&mut self, node: usize, change: Change) {
        let (now, acting) = (self.now(), self.acting(node));
        let Some(members) = &mut self.hosts[node].members else { return };
        members.change(now, acting, change);
        self.settle(node);
    }

    /// Lets the leader add a node or remove one, and keep three.
    fn change_at_random(&mut self) {
        let Some(leader) = self.leaders.first().map(|leader| leader.node) else { return };
        let Some(list) = self.hosts[leader].used.clone() else { return };
        let other = id(self.draw(NODES));
        if !list.contains(other) {
            self.change(leader, Change::Add(other));
        } else if list.members().len() > 3 {
            self.change(leader, Change::Remove(other));
        }
    }

    fn run(&mut self, millis: u32, mut each: impl FnMut(&mut Self)) {
        let end = self.millis + millis;
        while self.millis < end && self.broken.is_none() {
            self.millis += TICK;
            each(self);
            let (mut due, later): (Vec<_>, Vec<_>) =
                core::mem::take(&mut self.air).into_iter().partition(|(at, ..)| *at <= self.millis);
            self.air = later;
            while !due.is_empty() {
                let (_, to, frame) = due.swap_remove(self.draw(due.len()));
                let now = self.now();
                if let Some(members) = self.hosts[to].members.as_mut().filter(|_| !self.deaf[to]) {
                    assert!(members.on_frame(now, &frame));
                    self.settle(to);
                }
            }
            for node in 0..NODES {
                let due = |members: &Members| members.deadline().is_some_and(|at| at <= self.now());
                if self.hosts[node].members.as_ref().is_some_and(due) {
                    self.settle(node);
                }
            }
        }
    }

    /// Crashes, partitions, elections and changes for half a minute.
    fn storm(&mut self, loses_a_log: bool) {
        (self.lost, self.delay) = (20, 150);
        let victim = loses_a_log.then(|| self.draw(NODES));
        self.run(30_000, |net| {
            let node = net.draw(NODES);
            match net.draw(150) {
                0..3 => net.crash(node),
                3..9 if net.hosts[node].members.is_none() => {
                    let lost = victim == Some(node) && net.percent(30);
                    net.boot(node, lost);
                }
                9 => net.sides = (0..NODES).map(|_| net.rng.next_u32() % 2 == 0).collect(),
                10..12 => net.sides = vec![false; NODES],
                12..24 => net.elect(node),
                24 => drop(net.leaders.pop()),
                25..32 => net.change_at_random(),
                _ => {} // nothing but frames in this moment
            }
        });
    }

    /// Everything is up and connected again: a leader that acts changes the list, and everybody has it.
    fn calm(&mut self) {
        (self.lost, self.delay) = (0, 5);
        self.sides = vec![false; NODES];
        for node in 0..NODES {
            if self.hosts[node].members.is_none() {
                self.boot(node, false);
            }
        }
        self.leaders.clear();
        self.run(5_000, |_| {});
        let decided = self.decided;
        let newest = self.lists.keys().copied().max().unwrap_or(0);
        let mut asked = 0;
        self.run(20_000, |net| {
            if net.leaders.is_empty() {
                let node = net.draw(NODES);
                net.elect(node);
            } else if net.decided < decided + 2 && net.millis > asked + 1_000 {
                asked = net.millis;
                net.change_at_random();
            }
        });
        if self.broken.is_some() {
            return;
        }
        assert!(self.decided >= decided + 2, "changes are decided");
        let last = self.lists.keys().copied().max().unwrap();
        assert!(last >= newest + 2);
        for (node, host) in self.hosts.iter().enumerate() {
            let members = host.members.as_ref().unwrap();
            assert_eq!(members.list(), &self.lists[&last], "node {node}");
        }
        for (epoch, list) in self.lists.range(2..) {
            let before: BTreeSet<_> =
                self.lists.get(&(epoch - 1)).map_or(list, |before| before).members().iter().collect();
            let changed = list.members().iter().collect::<BTreeSet<_>>().symmetric_difference(&before).count();
            assert!(changed == 1 || !self.lists.contains_key(&(epoch - 1)), "one member at a time: {list:?}");
        }
    }
}

#[test]
fn f4_in_any_storm_lists_are_equal_no_two_leaders_act_and_changes_go_on() {
    let (mut changes, mut refused) = (0, 0);
    for seed in 0..storms::seeds(2_000) {
        let mut net = Net::new(seed, Flash::Stores);
        net.storm(seed % 2 == 1);
        assert_eq!(net.broken, None, "seed {seed}");
        changes += net.decided;
        net.calm();
        assert_eq!(net.broken, None, "seed {seed}");
        refused += net.refused;
    }
    let seeds = u32::try_from(storms::seeds(2_000)).unwrap();
    assert!(changes > seeds && refused > seeds, "{changes} changes in the storms of {seeds} seeds, {refused} refused");
}

/// The first leader alone knows that its change is decided, and is cut off; the two that stored it reboot, and the next
/// leader makes another change. Returns what broke; `None` where no such moment came.
fn decided_and_forgotten(seed: u64, flash: Flash) -> Option<(Option<String>, Vec<u32>)> {
    let mut net = Net::new(seed, flash);
    net.crash(5);
    net.run(1_000, |_| {});
    net.sides[3] = true;
    net.sides[4] = true;
    net.elect(0);
    net.change(0, Change::Remove(id(3)));
    while epochs(&net)[..3] == [1, 1, 1] {
        net.run(TICK, |_| {});
        for node in [1, 2] {
            net.deaf[node] = net.hosts[node].members.as_ref().unwrap().open().is_some();
        }
    }
    net.deaf = vec![false; NODES];
    if epochs(&net)[..3] != [2, 1, 1] {
        return None;
    }
    for node in [1, 2] {
        net.crash(node);
        net.boot(node, false);
    }
    net.air.clear();
    net.sides = vec![true, false, false, false, false, false];
    net.leaders.clear();
    net.elect(1);
    net.change(1, Change::Add(id(4)));
    net.run(3_000, |_| {});
    Some((net.broken.clone(), epochs(&net)))
}

#[test]
fn a_change_that_one_node_knows_to_be_decided_is_finished_by_the_next_leader() {
    let runs: Vec<_> = (0..300).filter_map(|seed| decided_and_forgotten(seed, Flash::Stores)).collect();
    assert!(runs.len() > 3, "{runs:?}");
    for (broken, epochs) in runs {
        assert_eq!((broken, epochs), (None, vec![2, 2, 2, 2, 2, 0]));
    }
}

#[test]
fn hosts_that_acknowledge_before_they_store_have_two_lists_of_one_epoch() {
    let runs = (0..300).filter_map(|seed| decided_and_forgotten(seed, Flash::ForgetsVotes));
    let broken: Vec<_> = runs.map(|(broken, _)| broken).collect();
    assert!(broken.iter().flatten().any(|text| text.contains("two lists")), "{broken:?}");
}

/// A calm network of six nodes, of which the first four are members and the first leads.
fn calm_group() -> Net {
    let mut net = Net::new(1, Flash::Stores);
    net.run(1_000, |_| {});
    net.elect(0);
    net
}

fn epochs(net: &Net) -> Vec<u32> {
    net.hosts.iter().map(|host| host.members.as_ref().map_or(0, |members| members.list().epoch())).collect()
}

#[test]
fn a_change_is_known_to_all_within_half_a_second_and_is_used_by_members_alone() {
    let mut net = calm_group();
    net.change(0, Change::Add(id(4)));
    net.run(500, |_| {});
    assert_eq!((epochs(&net), net.decided), (vec![2; NODES], 1));
    let used: Vec<bool> = net.hosts.iter().map(|host| host.used.is_some()).collect();
    assert_eq!(used, [true, true, true, true, true, false]);
    net.elect(0);
    net.change(0, Change::Remove(id(1)));
    net.run(500, |_| {});
    assert_eq!((epochs(&net), net.decided), (vec![3; NODES], 2));
    assert!(net.hosts[1].used.is_none() && net.hosts[4].used.is_some());
}

#[test]
fn a_minority_of_either_list_changes_nothing_and_a_node_that_is_not_there_is_not_added() {
    let mut net = calm_group();
    net.crash(5);
    net.change(0, Change::Add(id(5)));
    net.run(6_000, |_| {});
    assert_eq!((epochs(&net), net.refused), (vec![1, 1, 1, 1, 1, 0], 1));
    net.crash(2);
    net.crash(3);
    net.change(0, Change::Add(id(4)));
    net.run(6_000, |_| {});
    assert_eq!((epochs(&net), net.refused, net.decided), (vec![1, 1, 0, 0, 1, 0], 2, 0), "two of four promise");
    net.boot(2, false);
    net.change(0, Change::Add(id(4)));
    net.run(1_000, |_| {});
    assert_eq!((epochs(&net), net.decided), (vec![2, 2, 2, 0, 2, 0], 1), "three of four, and of five");
}

#[test]
fn the_next_leader_finishes_a_change_that_only_a_minority_has_stored() {
    for seed in 0..200 {
        let mut net = Net::new(seed, Flash::Stores);
        net.run(1_000, |_| {});
        net.elect(0);
        net.change(0, Change::Remove(id(3)));
        let mut waits = 20 + net.rng.next_u32() % 15 * TICK;
        while waits > 0 && net.hosts[0].members.is_some() {
            net.run(TICK, |_| {});
            waits = waits.saturating_sub(TICK);
        }
        let open = net.hosts[1].members.as_ref().unwrap().open().is_some();
        net.crash(0);
        net.run(200, |_| {});
        for _ in 0..100 {
            net.elect(1);
        }
        net.run(3_000, |_| {});
        let epochs = epochs(&net);
        assert!(epochs[1..4].iter().all(|epoch| *epoch == epochs[1]), "{epochs:?}");
        assert!(epochs[1] == 2 || !open, "seed {seed}: what is open is finished");
        assert_eq!(net.hosts[1].members.as_ref().unwrap().open(), None);
    }
}

#[test]
fn a_leader_that_an_open_change_removes_yields_and_the_next_one_finishes() {
    let mut net = calm_group();
    net.change(0, Change::Remove(id(1)));
    while net.hosts[1].members.as_ref().unwrap().open().is_none() {
        net.run(TICK, |_| {});
    }
    if net.hosts[1].used.is_some() {
        net.crash(0);
        net.elect(1);
        net.run(1_000, |_| {});
        assert_eq!(net.acting(1), None, "it has yielded");
    }
    net.elect(2);
    net.run(2_000, |_| {});
    assert_eq!(epochs(&net)[1..], [2; 5]);
}

#[test]
fn a_node_that_lost_its_log_is_removed_and_added_again() {
    let mut net = calm_group();
    net.crash(3);
    net.boot(3, true);
    net.run(3_000, |_| {});
    assert_eq!((epochs(&net)[3], net.hosts[3].used.is_some()), (1, false), "it knows the list and is not on it");
    net.change(0, Change::Remove(id(3)));
    net.run(1_000, |_| {});
    net.elect(0);
    net.change(0, Change::Add(id(3)));
    net.run(1_000, |_| {});
    assert_eq!((epochs(&net), net.hosts[3].used.is_some()), (vec![3; NODES], true));
}

#[test]
fn a_laggard_catches_up_with_several_changes_at_once() {
    let mut net = calm_group();
    net.crash(3);
    for change in [Change::Add(id(4)), Change::Add(id(5)), Change::Remove(id(2))] {
        net.change(0, change);
        net.run(1_000, |_| {});
        net.elect(0);
    }
    assert_eq!(epochs(&net), [4, 4, 4, 0, 4, 4]);
    net.boot(3, false);
    net.run(1_000, |_| {});
    assert_eq!(epochs(&net), [4; NODES]);
    net.change(1, Change::Add(id(2)));
    assert_eq!(net.refused, 1, "{:?}", Refusal::NotLeader);
}
