//! A group election and a lock, sketched on the core to show that it carries them: over several hops, with frames lost,
//! alone and together.

#![allow(unreachable_pub, reason = "what is sketched here is public where it stands in full")]

mod common;

mod sketch {
    pub mod bully;
    pub mod ricart_agrawala;
}

use common::{Net, complete, config, line, lossy};
use protocol::algorithm::{self, Algorithm, Context, Fact, Outbox, Output};
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Stamp, Term};
use protocol::election::{self, Election, Wireless};
use protocol::group::Roster;
use protocol::mutex::{Mutex, NoMutex};
use protocol::node::{Input, Notice};
use protocol::wire::{self, Kind, Path, To};
use protocol::{Config, Instant, NodeId, NodeSet, Span, Timing};
use sketch::bully::{self, Bully};
use sketch::ricart_agrawala::{self as lock, RicartAgrawala};
use std::collections::BTreeSet;

/// How long a node keeps the lock.
const HOLD: Span = Span::from_millis(40);

fn bullies(count: usize, linked: impl Fn(usize, usize) -> bool) -> Net<Bully, NoMutex> {
    Net::new(count, linked, |index| (config(index), Bully::new(), NoMutex)).in_group()
}

fn locks(count: usize, linked: impl Fn(usize, usize) -> bool) -> Net<Bully, RicartAgrawala> {
    Net::new(count, linked, |index| (config(index), Bully::new(), RicartAgrawala::new())).in_group()
}

/// Nodes that all hear each other, and need not pass anything on.
fn room<M: Mutex>(count: usize, mutex: impl Fn() -> M + 'static) -> Net<Bully, M> {
    Net::new(count, complete, move |index| (Config { hops: 1, ..config(index) }, Bully::new(), mutex())).in_group()
}

/// How many letters of `kind` were written, each counted once for everyone it is for; and in how many frames.
fn letters<E: Election, M: Mutex>(net: &Net<E, M>, kind: Kind) -> (usize, usize) {
    let key = net.key();
    let mut letters = BTreeSet::new();
    let mut frames = 0;
    for packet in net.sent.iter().filter_map(|(_, bytes)| wire::open(&key, bytes).ok()) {
        let Path::Letter(letter) = packet.path else { continue };
        if packet.kind != kind || letter.writer.is_some() {
            continue;
        }
        frames += 1;
        let To::Members(set) = letter.to else { panic!("a group's letter is for members") };
        letters.extend(set.slots().map(|slot| (packet.sender, letter.number, slot)));
    }
    (letters.len(), frames)
}

/// Lets the nodes of `askers` ask for the lock at once and keep it for a while. Who held it, and by which request, in
/// order; nobody while another did.
fn share<E: Election>(net: &mut Net<E, RicartAgrawala>, askers: &[usize], patience: Span) -> Vec<(Stamp, NodeId)> {
    let mut seen = net.notices.len();
    let mut held = Vec::new();
    let mut holder = None;
    for &index in askers {
        net.put(index, Input::Mutex(lock::Command::Enter));
    }
    let end = net.now.after(patience);
    while net.now < end && (held.len() < askers.len() || holder.is_some()) {
        for &(at, index, notice) in &net.notices[seen..] {
            let Notice::Mutex(lock::Notice::Entered { stamp }) = notice else { continue };
            assert_eq!(holder, None, "two holders at {at:?}");
            holder = Some((index, at.after(HOLD)));
            held.push((stamp, config(index).me));
        }
        seen = net.notices.len();
        if let Some((index, until)) = holder
            && until <= net.now
        {
            holder = None;
            net.put(index, Input::Mutex(lock::Command::Leave));
        } else {
            net.run(Span::from_millis(1));
        }
    }
    assert!(net.nodes.iter().flatten().all(|node| node.halted().is_none()));
    held
}

/// What an algorithm of member 2 of {1, 2, 3} says to `input`, at stamp 20.
fn step<A: Algorithm>(
    member: &mut A,
    input: algorithm::Input<A::Message, A::Command>,
) -> Vec<Output<A::Message, A::Notice>>
where
    A::Message: Clone,
    A::Notice: Clone,
{
    let mut roster = Roster::<3>::new();
    for id in 1..=3 {
        roster.insert(NodeId(id));
    }
    let me = NodeId(2);
    let cx = Context {
        now: Instant::ZERO,
        uptime: Span::ZERO,
        me,
        standing: Some(Standing { capacity: Capacity::new(1), id: me }),
        roster: roster.view(),
        peers: set(&[1, 3]),
        stamp: Stamp(20),
        random: 0,
        timing: &Timing::RADIO,
    };
    let mut out = Outbox::new();
    member.handle(&cx, input, &mut out);
    out.outputs().to_vec()
}

fn set(ids: &[usize]) -> NodeSet {
    ids.iter().fold(NodeSet::EMPTY, |set, id| set.with(NodeSet::slot(id - 1)))
}

fn heard<M, C>(from: u32, stamp: u64, message: M) -> algorithm::Input<M, C> {
    algorithm::Input::Message { from: NodeId(from), stamp: Stamp(stamp), message }
}

#[test]
fn b12_a_leader_that_is_down_is_followed_by_an_election() {
    let mut member = Bully::new();
    let term = |number, by| Term { number, by: NodeId(by) };
    let claim = heard(3, 1, bully::Message::Coordinator { term: term(4, 3) });
    let following = election::Notice::Following { leader: NodeId(3), term: term(4, 3) };
    assert_eq!(step(&mut member, claim), [Output::Notify(following)]);
    assert_eq!(step(&mut member, algorithm::Input::Fact(Fact::PeerDown(set(&[1])))), []);
    assert_eq!(
        step(&mut member, algorithm::Input::Fact(Fact::PeerDown(set(&[3])))),
        [
            Output::Notify(election::Notice::Leaderless),
            Output::Send { to: set(&[3]), message: bully::Message::Election { term: term(5, 2) } },
        ]
    );
}

#[test]
fn mr1_an_earlier_request_is_answered_at_once_and_later_ones_on_leaving() {
    let mut member = RicartAgrawala::new();
    let reply = |to| lock::Message::Reply { to: Stamp(to) };
    let ask = step(&mut member, algorithm::Input::Command(lock::Command::Enter));
    assert_eq!(ask, [Output::Send { to: set(&[1, 3]), message: lock::Message::Request }]);
    let answer = step(&mut member, heard(1, 20, lock::Message::Request));
    assert_eq!(answer, [Output::Send { to: set(&[1]), message: reply(20) }], "as early, and of a lower member");
    assert_eq!(step(&mut member, heard(3, 20, lock::Message::Request)), [], "as early, and of a higher member");
    assert_eq!(step(&mut member, heard(1, 30, lock::Message::Request)), []);
    assert_eq!(step(&mut member, heard(1, 31, reply(20))), []);
    assert_eq!(step(&mut member, heard(1, 31, reply(20))), [], "heard twice, counted once");
    assert_eq!(step(&mut member, heard(3, 31, reply(19))), [], "to an earlier request");
    let entered = step(&mut member, heard(3, 32, reply(20)));
    assert_eq!(entered, [Output::Notify(lock::Notice::Entered { stamp: Stamp(20) })]);
    let left = step(&mut member, algorithm::Input::Command(lock::Command::Leave));
    assert_eq!(left, [Output::Send { to: set(&[1, 3]), message: reply(30) }]);
}

#[test]
fn b3_the_highest_of_a_line_wins_an_election_called_at_the_other_end() {
    let mut net = bullies(5, line);
    net.put(0, Input::Election(election::Command::Call));
    net.run(Span::from_secs(1));
    assert_eq!(net.leader(), Some(NodeId(5)));
}

#[test]
fn b3_the_highest_of_a_line_wins_although_a_fifth_of_all_frames_is_lost() {
    for seed in 1..=50 {
        let mut net = bullies(5, line).with_fate(lossy(20, seed));
        net.put(0, Input::Election(election::Command::Call));
        net.run(Span::from_secs(30));
        assert_eq!(net.leader(), Some(NodeId(5)), "seed {seed}");
    }
}

#[test]
fn b15_an_election_called_by_the_lowest_takes_as_many_letters_as_the_formula_says() {
    for nodes in 2..=8 {
        let mut net = room(nodes, || NoMutex);
        net.put(0, Input::Election(election::Command::Call));
        net.run(Span::from_secs(20));
        assert_eq!(net.leader(), Some(config(nodes - 1).me));
        assert_eq!(letters(&net, Kind::Bully).0, nodes * nodes - 1);
    }
}

#[test]
fn b14_an_election_called_by_the_highest_takes_one_letter_to_each() {
    let mut net = room(6, || NoMutex);
    net.put(5, Input::Election(election::Command::Call));
    net.run(Span::from_secs(20));
    assert_eq!(net.leader(), Some(NodeId(6)));
    assert_eq!(letters(&net, Kind::Bully), (5, 1));
}

#[test]
fn mr4_three_of_a_line_hold_the_lock_one_after_another_in_stamp_order() {
    for seed in 1..=50 {
        let mut net = locks(5, line).with_fate(lossy(20, seed));
        for askers in [&[4, 0, 2][..], &[1], &[3, 1, 0]] {
            let held = share(&mut net, askers, Span::from_secs(60));
            assert_eq!(held.len(), askers.len(), "seed {seed}: {held:?}");
            assert!(held.is_sorted(), "seed {seed}: {held:?}");
        }
    }
}

#[test]
fn mr5_an_entry_takes_a_request_and_a_reply_for_every_other_node() {
    for nodes in 2..=8 {
        let mut net = room(nodes, RicartAgrawala::new);
        assert_eq!(share(&mut net, &[0], Span::from_secs(1)).len(), 1);
        assert_eq!(letters(&net, Kind::RicartAgrawala), (2 * (nodes - 1), nodes));
    }
}

#[test]
fn mr5_entries_of_nodes_that_ask_at_once_cost_no_more() {
    for nodes in 2..=8 {
        let mut net = room(nodes, RicartAgrawala::new);
        let all: Vec<_> = (0..nodes).collect();
        assert_eq!(share(&mut net, &all, Span::from_secs(10)).len(), nodes);
        assert_eq!(letters(&net, Kind::RicartAgrawala).0, nodes * 2 * (nodes - 1));
    }
}

#[test]
fn sixteen_nodes_may_ask_at_once() {
    let mut net = room(16, RicartAgrawala::new);
    let all: Vec<_> = (0..16).collect();
    let held = share(&mut net, &all, Span::from_secs(60));
    assert_eq!(held.len(), 16, "{held:?}");
    assert!(held.is_sorted(), "{held:?}");
}

#[test]
fn a_member_that_was_down_answers_when_it_is_back() {
    let mut net = locks(5, line);
    net.run(Span::from_secs(1));
    net.crash(2); // the way from one half to the other, too
    assert_eq!(share(&mut net, &[0, 4], Span::from_secs(20)), []);
    net.boot(2);
    net.run(Span::from_secs(20));
    let entered = net.notices.iter().filter(|(_, _, notice)| matches!(notice, Notice::Mutex(_)));
    assert_eq!(entered.map(|&(_, index, _)| index).collect::<Vec<_>>(), [0]);
    net.put(0, Input::Mutex(lock::Command::Leave));
    net.run(Span::from_secs(1));
    assert!(matches!(net.notices.last(), Some((_, 4, Notice::Mutex(_)))));
}

#[test]
fn an_election_and_a_lock_share_one_link() {
    for seed in 1..=20 {
        let mut net = locks(5, line).with_fate(lossy(20, seed));
        net.put(0, Input::Election(election::Command::Call));
        let held = share(&mut net, &[3, 1, 4], Span::from_secs(60));
        assert!(held.len() == 3 && held.is_sorted(), "seed {seed}: {held:?}");
        net.run(Span::from_secs(20));
        assert_eq!(net.leader(), Some(NodeId(5)), "seed {seed}");
    }
}

#[test]
fn a_lock_of_a_group_works_beside_an_election_among_neighbours() {
    for seed in 1..=20 {
        let mut net = Net::new(5, line, |index| (config(index), Wireless::new(), RicartAgrawala::new()))
            .in_group()
            .with_fate(lossy(20, seed));
        for askers in [[0, 4, 2], [1, 2, 3], [4, 3, 0]] {
            net.put(askers[0], Input::Election(election::Command::Call));
            let held = share(&mut net, &askers, Span::from_secs(60));
            assert!(held.len() == 3 && held.is_sorted(), "seed {seed}: {held:?}");
        }
        net.run(Span::from_secs(20));
        assert_eq!(net.leader(), Some(NodeId(5)), "seed {seed}");
    }
}
