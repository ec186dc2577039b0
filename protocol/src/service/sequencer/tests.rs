//! The order on messages alone: any schedule of messages, reboots, suspicions and leaders. The storms of the simulator run
//! it on whole nodes.

use super::*;
use crate::Timing;
use crate::algorithm::{Audience, Output};
use crate::base::ids::Roster;
use crate::base::lamport::LamportTime;
use crate::base::rng::Rng;
use crate::base::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::vec::Vec;

type Member = Sequencer<8>;

/// A group whose members, channels and leaders do what the test says.
struct Group {
    rng: Rng,
    now: Instant,
    members: Vec<Member>,
    boots: Vec<u32>,
    up: Vec<bool>,
    /// FIFO, by sender and recipient.
    channels: BTreeMap<(usize, usize), VecDeque<Message>>,
    leader: Option<(usize, Term)>,
    terms: u32,
    /// The first delivery of every number, and what each boot delivered last.
    order: BTreeMap<Number, MessageId>,
    last: Vec<Number>,
    missed: usize,
    refused: usize,
}

impl Group {
    fn new(count: usize, seed: u64) -> Self {
        let mut group = Self {
            rng: Rng::new(seed),
            now: Instant::from_micros(1),
            members: Vec::new(),
            boots: std::vec![1; count],
            up: std::vec![true; count],
            channels: BTreeMap::new(),
            leader: None,
            terms: 0,
            order: BTreeMap::new(),
            last: std::vec![Number::default(); count],
            missed: 0,
            refused: 0,
        };
        for _ in 0..count {
            let mut member = Member::new();
            member.resume(1);
            group.members.push(member);
        }
        group
    }

    fn draw(&mut self, below: usize) -> usize {
        self.rng.next_u32() as usize % below
    }

    /// Takes one step of a member, and lets it send; what it delivers must be the next in the one order.
    fn step(&mut self, index: usize, step: impl FnOnce(&mut Member, &Context<'_>, &mut Out)) {
        let mut roster = Roster::<8>::new();
        for id in 0..self.members.len() {
            roster.insert(NodeId(u32::try_from(id).unwrap()));
        }
        let all = roster.view().all();
        let others = all.without(NodeSet::slot(index));
        let up = (0..self.up.len())
            .filter(|&other| self.up[other])
            .fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
        let cx = Context {
            now: self.now,
            uptime: Duration::from_secs(60),
            me: NodeId(u32::try_from(index).unwrap()),
            candidate: None,
            roster: roster.view(),
            peers: others,
            up: others.and(up),
            near: others,
            crowd: others.len(),
            crowded: false,
            hold: Duration::ZERO,
            quarantined: false,
            audience: Audience::Unknown,
            better: NodeSet::EMPTY,
            best_peer: None,
            view: up,
            lamport: LamportTime(1),
            random: 0,
            timing: &Timing::LAN,
        };
        let mut out = Outbox::new();
        step(&mut self.members[index], &cx, &mut out);
        assert!(out.outputs().iter().all(|output| matches!(output, Output::Notify(_))), "reliable messages are polled");
        let mut polls = 0;
        while self.members[index].poll_send(&cx, &mut out) {
            let mut sent = Outbox::new();
            core::mem::swap(&mut sent, &mut out);
            self.take(index, sent, cx.up);
            polls += 1;
            assert!(polls < 200, "it always has something to say");
        }
        self.take(index, out, cx.up);
    }

    fn take(&mut self, index: usize, out: Out, up: NodeSet) {
        assert!(!out.overflowed());
        for output in out {
            match output {
                Output::Send { to, message } => {
                    for slot in to.and(up).slots() {
                        self.channels.entry((index, slot)).or_default().push_back(message.clone());
                    }
                }
                Output::Notify(notice) => self.on_notice(index, &notice),
            }
        }
    }

    fn on_notice(&mut self, index: usize, notice: &Notice) {
        match *notice {
            Notice::Delivered { number, id, .. } => {
                let last = core::mem::replace(&mut self.last[index], number);
                assert_eq!((number.era, number.count), (last.era, last.count + 1), "member {index}");
                assert_eq!(*self.order.entry(number).or_insert(id), id, "{number:?} at member {index}");
            }
            Notice::Missed { through } => {
                assert!(through > self.last[index], "member {index}");
                self.last[index] = through;
                self.missed += 1;
            }
            Notice::Refused { .. } => self.refused += 1,
            Notice::Accepted { .. } | Notice::Unknown { .. } => {}
        }
    }

    fn fact(&mut self, index: usize, fact: Fact) {
        self.step(index, |member, cx, out| member.handle(cx, Input::Fact(fact), out));
    }

    fn submit(&mut self, index: usize) {
        let payload = Payload::from_slice(&[7; PAYLOAD_MAX]).unwrap();
        self.step(index, |member, cx, out| member.handle(cx, Input::Command(Command::Submit(payload)), out));
    }

    /// Delivers the oldest message of a channel.
    fn receive(&mut self, from: usize, to: usize) {
        let Some(message) = self.channels.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return };
        let (from, sent_at) = (NodeId(u32::try_from(from).unwrap()), LamportTime(1));
        self.step(to, |member, cx, out| member.handle(cx, Input::Message { from, sent_at, message }, out));
    }

    /// Delivers a message of some channel; returns whether there was one.
    fn receive_any(&mut self) -> bool {
        let full: Vec<_> = self.channels.iter().filter(|(_, queue)| !queue.is_empty()).map(|(&pair, _)| pair).collect();
        if full.is_empty() {
            return false;
        }
        let (from, to) = full[self.draw(full.len())];
        self.receive(from, to);
        true
    }

    /// Time passes: whatever is due happens.
    fn wait(&mut self) {
        self.now = self.now.after(Duration::from_secs(1));
        for index in 0..self.members.len() {
            for _ in 0..8 {
                if self.up[index] && self.members[index].deadline().is_some_and(|at| at <= self.now) {
                    self.step(index, |member, cx, out| member.handle(cx, Input::Timeout, out));
                }
            }
        }
    }

    /// The leader loses its lease, and this member gets one.
    fn elect(&mut self, index: usize) {
        if let Some((old, _)) = self.leader.take() {
            self.fact(old, Fact::NoLeader);
        }
        self.terms += 1;
        let term = Term { number: self.terms, by: NodeId(u32::try_from(index).unwrap()) };
        self.leader = Some((index, term));
        self.learn(index);
    }

    /// A member learns who leads.
    fn learn(&mut self, index: usize) {
        if let Some((leader, term)) = self.leader {
            self.fact(index, Fact::Leader { leader: NodeId(u32::try_from(leader).unwrap()), term });
        }
    }

    fn learn_all(&mut self) {
        (0..self.members.len())
            .filter(|&index| self.up[index])
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|index| self.learn(index));
    }

    /// A member crashes.
    fn crash(&mut self, index: usize) {
        self.up[index] = false;
        self.channels.retain(|&(from, to), _| from != index && to != index);
        if self.leader.is_some_and(|(leader, _)| leader == index) {
            self.leader = None;
        }
        for other in (0..self.members.len()).filter(|&other| self.up[other]).collect::<Vec<_>>() {
            self.fact(other, Fact::PeerDown(NodeSet::slot(index)));
        }
    }

    /// A member that crashed boots again, without its memory.
    fn boot(&mut self, index: usize) {
        self.boots[index] += 1;
        self.members[index] = Member::new();
        self.members[index].resume(self.boots[index]);
        (self.up[index], self.last[index]) = (true, Number::default());
        for other in (0..self.members.len()).filter(|&other| other != index && self.up[other]).collect::<Vec<_>>() {
            self.fact(other, Fact::PeerReset(NodeSet::slot(index)));
            self.fact(other, Fact::PeerUp(NodeSet::slot(index)));
        }
    }

    /// One member suspects another: what it has sent is abandoned.
    fn suspect(&mut self, index: usize, other: usize) {
        self.channels.remove(&(index, other));
        for fact in [Fact::PeerDown, Fact::PeerUp] {
            self.fact(index, fact(NodeSet::slot(other)));
        }
    }

    fn settle(&mut self) {
        for _ in 0..40 {
            let mut left = 20_000;
            while self.receive_any() {
                left -= 1;
                assert!(left > 0, "messages without end");
            }
            self.wait();
        }
    }

    fn delivered(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.delivered().count).collect()
    }
}

#[test]
fn e2_three_members_deliver_what_all_of_them_submit_in_one_order() {
    let mut group = Group::new(3, 1);
    group.elect(1);
    group.learn_all();
    for _ in 0..4 {
        (0..3).for_each(|index| group.submit(index));
    }
    group.settle();
    assert_eq!(group.delivered(), [12, 12, 12]);
    assert_eq!(group.order.values().collect::<BTreeSet<_>>().len(), 12, "no message has two numbers");
}

#[test]
fn e2_a_message_that_one_member_delivered_is_delivered_by_all_though_its_leader_crashed() {
    let mut group = Group::new(3, 1);
    group.elect(0);
    group.learn_all();
    group.settle();
    group.submit(0);
    group.receive(0, 1); // the order
    group.receive(1, 0); // stored: the leader has a majority
    assert_eq!(group.delivered(), [1, 0, 0]);
    group.crash(0);
    group.elect(2); // which has never heard of the message
    group.learn_all();
    group.submit(2);
    group.settle();
    assert_eq!(group.delivered()[1..], [2, 2]);
}

#[test]
fn e2_the_order_of_a_later_leader_counts_though_an_earlier_ones_is_longer() {
    let mut group = Group::new(5, 1);
    group.elect(0);
    group.learn_all();
    group.settle();
    (0..3).for_each(|_| group.submit(0)); // nobody receives them
    group.channels.clear();
    group.elect(1);
    for index in [2, 3] {
        group.learn(index);
    }
    group.submit(1);
    for _ in 0..6 {
        for other in [2, 3] {
            group.receive(1, other);
            group.receive(other, 1);
        }
    }
    assert_eq!(group.delivered()[1], 1);
    group.channels.clear();
    group.elect(4);
    for other in [0, 2] {
        group.learn(other);
        group.receive(4, other);
        group.receive(other, 4);
    }
    group.learn_all();
    group.settle();
    assert!(group.delivered().iter().all(|&count| count >= 1), "in the same order, which is checked at every delivery");
}

#[test]
fn e2_a_message_is_delivered_to_nobody_before_a_majority_has_it() {
    let mut group = Group::new(5, 1);
    group.elect(0);
    group.learn_all();
    group.settle();
    group.submit(0);
    group.receive(0, 1);
    group.receive(1, 0);
    assert_eq!(group.delivered(), [0; 5], "two of five have it");
    group.receive(0, 2);
    group.receive(2, 0);
    assert_eq!(group.delivered(), [1, 0, 0, 0, 0]);
}

#[test]
fn e2_a_member_accepts_four_messages_and_refuses_a_fifth_as_busy() {
    let mut group = Group::new(3, 1);
    (0..6).for_each(|_| group.submit(1));
    assert_eq!(group.refused, 2);
    group.elect(0);
    group.learn_all();
    group.settle();
    assert_eq!(group.delivered(), [4; 3]);
    group.submit(1);
    assert_eq!(group.refused, 2);
}

#[test]
fn e2_the_leader_numbers_no_more_than_a_silent_member_of_the_view_has_room_for() {
    let mut group = Group::new(3, 1);
    group.elect(0);
    group.learn_all();
    group.settle();
    for _ in 0..40 {
        group.submit(0);
        (0..20).for_each(|_| {
            group.receive(0, 1);
            group.receive(1, 0);
        });
        group.wait();
    }
    let count = u32::try_from(LOG_MAX).unwrap();
    assert_eq!(group.delivered(), [count, count, 0], "member 2 reads nothing");
    group.settle();
    assert_eq!(group.delivered(), [count + 4; 3], "those that were accepted follow when it does");
}

#[test]
fn e2_who_was_away_too_long_is_told_what_it_missed_and_who_rebooted_starts_again() {
    let mut group = Group::new(3, 1);
    group.elect(0);
    group.learn_all();
    group.settle();
    group.crash(2);
    for _ in 0..30 {
        group.submit(0);
        group.settle();
    }
    group.boot(2);
    group.learn_all();
    group.settle();
    assert_eq!((group.delivered(), group.missed), (std::vec![30; 3], 1));
}

#[test]
fn e2_when_too_many_forget_all_must_answer_and_a_new_history_begins() {
    let mut group = Group::new(3, 1);
    group.elect(0);
    group.learn_all();
    group.submit(0);
    group.settle();
    assert_eq!(group.delivered(), [1; 3]);
    group.crash(0);
    group.crash(1);
    group.boot(0);
    group.elect(0);
    group.learn_all();
    group.submit(0);
    group.settle();
    assert_eq!(group.delivered(), [0, 1, 1], "one of three remembers, and one has not answered");
    group.boot(1);
    group.learn_all();
    group.settle();
    assert!(group.members.iter().all(|member| member.delivered() == Number { era: 2, count: 1 }));
}

#[test]
fn e2_any_schedule_of_reboots_suspicions_and_leaders_keeps_one_order() {
    let mut ordered = 0;
    for seed in 0..300 {
        let count = 3 + usize::try_from(seed % 3).unwrap();
        let mut group = Group::new(count, seed);
        for _ in 0..400 {
            let index = group.draw(count);
            match group.draw(40) {
                0 if group.up[index] && group.up.iter().filter(|&&up| up).count() > count / 2 + 1 => group.crash(index),
                1..=2 if !group.up[index] => group.boot(index),
                3 if group.up[index] => group.elect(index),
                4..=7 if group.up[index] => group.learn(index),
                8 if group.up[index] => {
                    let other = group.draw(count);
                    if other != index {
                        group.suspect(index, other);
                    }
                }
                9..=14 if group.up[index] => group.submit(index),
                15 => group.wait(),
                _ => _ = group.receive_any(),
            }
        }
        for index in 0..count {
            if !group.up[index] {
                group.boot(index);
            }
        }
        let last = group.draw(count);
        group.elect(last);
        group.learn_all();
        group.settle();
        group.submit(last);
        group.settle();
        let numbers: BTreeSet<_> = group.members.iter().map(Member::delivered).collect();
        assert_eq!(numbers.len(), 1, "seed {seed}: all have delivered everything: {numbers:?}");
        assert_eq!(
            group.order.values().collect::<BTreeSet<_>>().len(),
            group.order.len(),
            "seed {seed}: one number each"
        );
        ordered += group.order.len();
    }
    assert!(ordered > 5_000, "{ordered} messages were ordered");
}
