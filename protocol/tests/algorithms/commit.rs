//! Two-phase commit on messages alone: a coordinator that crashes in each phase, and any schedule of crashes, suspicions
//! and leaders. The storms of the simulator run it on whole nodes.

use crate::support::context::{context, roster};
use protocol::algorithm::{Algorithm as _, Context, Fact, Input, Outbox, Output};
use protocol::base::ids::NodeSet;
use protocol::base::lamport::LamportTime;
use protocol::base::rng::Rng;
use protocol::base::term::Term;
use protocol::service::Service as _;
use protocol::service::commit::{AbortReason, Change, Command, Commit, Message, Notice, Refusal, TransactionId};
use protocol::{Duration, Instant, NodeId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Out = Outbox<Message, Notice>;

fn node(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap())
}

/// A group whose members, channels and leaders do what the test says. Applications vote as `votes` says.
struct Group {
    rng: Rng,
    now: Instant,
    members: Vec<Commit>,
    boots: Vec<u32>,
    up: Vec<bool>,
    /// What each member has in flash.
    logs: Vec<Option<Vec<u8>>>,
    /// FIFO, by sender and recipient.
    channels: BTreeMap<(usize, usize), VecDeque<Message>>,
    terms: u32,
    votes: Vec<bool>,
    /// Who voted yes to what, the one decision on everything, and who was notified of which.
    yes: BTreeMap<TransactionId, BTreeSet<usize>>,
    decisions: BTreeMap<TransactionId, bool>,
    notified: Vec<BTreeMap<TransactionId, bool>>,
    blocked: Vec<bool>,
    notices: Vec<(usize, Notice)>,
    sent: usize,
}

impl Group {
    fn new(count: usize, seed: u64) -> Self {
        let mut group = Self {
            rng: Rng::new(seed),
            now: Instant::from_micros(1),
            members: vec![Commit::new(); count],
            boots: vec![1; count],
            up: vec![true; count],
            logs: vec![None; count],
            channels: BTreeMap::new(),
            terms: 0,
            votes: vec![true; count],
            yes: BTreeMap::new(),
            decisions: BTreeMap::new(),
            notified: vec![BTreeMap::new(); count],
            blocked: vec![false; count],
            notices: Vec::new(),
            sent: 0,
        };
        group.members.iter_mut().for_each(|member| member.resume(1));
        group
    }

    fn draw(&mut self, below: usize) -> usize {
        self.rng.next_u32() as usize % below
    }

    /// Takes one step of a member, lets it send, and writes its log before anything leaves.
    fn step(&mut self, index: usize, step: impl FnOnce(&mut Commit, &Context<'_>, &mut Out)) {
        let (outs, up) = self.take(index, step);
        self.save(index);
        self.release(index, outs, up);
    }

    /// Takes one step; returns what it would send and notify.
    fn take(&mut self, index: usize, step: impl FnOnce(&mut Commit, &Context<'_>, &mut Out)) -> (Vec<Out>, NodeSet) {
        let roster = roster::<8>(0..u32::try_from(self.members.len()).unwrap());
        let up = (0..self.up.len()).filter(|&other| self.up[other] && other != index);
        let up = up.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
        let cx = Context { now: self.now, up, ..context(roster.view(), node(index)) };
        let mut outs = vec![Outbox::new()];
        step(&mut self.members[index], &cx, &mut outs[0]);
        assert!(outs[0].outputs().iter().all(|output| matches!(output, Output::Notify(_))), "messages are polled");
        loop {
            let mut out = Outbox::new();
            let more = self.members[index].poll_send(&cx, &mut out);
            outs.push(out);
            assert!(outs.len() < 50, "it always has something to say");
            if !more {
                return (outs, up);
            }
        }
    }

    fn save(&mut self, index: usize) {
        let mut buffer = [0; Commit::LOG_MAX];
        if let Some(len) = self.members[index].poll_log(&mut buffer) {
            self.logs[index] = Some(buffer[..len].to_vec());
        }
        assert!(!self.members[index].log_due());
    }

    fn release(&mut self, index: usize, outs: Vec<Out>, up: NodeSet) {
        for output in outs.into_iter().flatten() {
            match output {
                Output::Send { to, message } => {
                    for slot in to.and(up).slots() {
                        self.sent += 1;
                        if let Message::Vote { id, yes: true } = message {
                            self.yes.entry(id).or_default().insert(index);
                        }
                        self.channels.entry((index, slot)).or_default().push_back(message.clone());
                    }
                }
                Output::Notify(notice) => self.on_notice(index, notice),
            }
        }
    }

    fn on_notice(&mut self, index: usize, notice: Notice) {
        match &notice {
            Notice::Proposed { id } => _ = self.yes.entry(*id).or_default().insert(index),
            Notice::Committed { transaction } => {
                assert_eq!(self.yes[&transaction.id].len(), self.members.len(), "all voted yes to {transaction:?}");
                self.decide(index, transaction.id, true);
            }
            Notice::Restored { transaction } => self.decide(index, transaction.id, true),
            Notice::Aborted { id, .. } => self.decide(index, *id, false),
            Notice::Blocked { .. } => self.blocked[index] = true,
            Notice::Prepare { .. } | Notice::Refused { .. } | Notice::Completed { .. } => {}
        }
        self.notices.push((index, notice.clone()));
        if let Notice::Prepare { transaction } = notice {
            let yes = self.votes[index];
            self.command(index, Command::Vote { id: transaction.id, yes });
        }
    }

    fn decide(&mut self, index: usize, id: TransactionId, commit: bool) {
        assert_eq!(*self.decisions.entry(id).or_insert(commit), commit, "one decision on {id:?}");
        self.notified[index].insert(id, commit);
        self.blocked[index] = false;
    }

    fn command(&mut self, index: usize, command: Command) {
        self.step(index, |member, cx, out| member.handle(cx, Input::Command(command), out));
    }

    fn propose(&mut self, index: usize) {
        self.command(index, Command::Propose(Change::from_slice(b"open").unwrap()));
    }

    fn fact(&mut self, index: usize, fact: Fact) {
        self.step(index, |member, cx, out| member.handle(cx, Input::Fact(fact), out));
    }

    /// Lets a member lead under a new term, and all know.
    fn elect(&mut self, leader: usize) {
        self.terms += 1;
        let term = Term { number: self.terms, by: node(leader) };
        for index in (0..self.up.len()).filter(|&index| self.up[index]).collect::<Vec<_>>() {
            self.fact(index, Fact::Leader { leader: node(leader), term });
        }
    }

    /// Stops a member; what it has sent stays under way, what it was sent is lost.
    fn crash(&mut self, index: usize) {
        self.up[index] = false;
        self.blocked[index] = false;
        self.channels.retain(|&(_, to), _| to != index);
        for other in (0..self.up.len()).filter(|&other| self.up[other]).collect::<Vec<_>>() {
            self.fact(other, Fact::PeerDown(NodeSet::slot(index)));
        }
    }

    /// Starts a member with its log, or without it as one that lost all records.
    fn boot(&mut self, index: usize, lost: bool) {
        self.channels.retain(|&(from, _), _| from != index);
        self.boots[index] += 1;
        let mut member = Commit::new();
        if lost {
            self.logs[index] = None;
            member.resume(1 << 31 | self.boots[index]);
        } else {
            self.logs[index].iter().for_each(|log| member.restore(log));
            member.resume(self.boots[index]);
        }
        self.members[index] = member;
        self.up[index] = true;
        self.step(index, |_, _, _| {});
        for other in (0..self.up.len()).filter(|&other| self.up[other] && other != index).collect::<Vec<_>>() {
            self.fact(other, Fact::PeerReset(NodeSet::slot(index)));
            self.fact(other, Fact::PeerUp(NodeSet::slot(index)));
            self.fact(index, Fact::PeerUp(NodeSet::slot(other)));
        }
    }

    /// Lets `to` receive the next message of `from`; returns whether there was one.
    fn receive(&mut self, from: usize, to: usize) -> bool {
        let Some(message) = self.channels.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return false };
        let from = node(from);
        let input = Input::Message { from, sent_at: LamportTime(0), message };
        self.step(to, |member, cx, out| member.handle(cx, input, out));
        true
    }

    fn receive_any(&mut self) -> bool {
        self.channels.retain(|_, queue| !queue.is_empty());
        let pairs: Vec<_> = self.channels.keys().copied().filter(|&(_, to)| self.up[to]).collect();
        if pairs.is_empty() {
            return false;
        }
        let (from, to) = pairs[self.draw(pairs.len())];
        self.receive(from, to)
    }

    fn receive_all(&mut self) {
        while self.receive_any() {}
    }

    /// Lets so much time pass.
    fn wait(&mut self, time: Duration) {
        self.now = self.now.after(time);
        for index in (0..self.up.len()).filter(|&index| self.up[index]).collect::<Vec<_>>() {
            if self.members[index].deadline().is_some_and(|at| at <= self.now) {
                self.step(index, |member, cx, out| member.handle(cx, Input::Timeout, out));
            }
        }
    }

    fn settle(&mut self) {
        for _ in 0..6 {
            self.receive_all();
            self.wait(Duration::from_secs(4));
        }
        self.receive_all();
    }

    /// The decision that each member was notified of last, by its number; `None` for none.
    fn decided(&self, number: u32) -> Vec<Option<bool>> {
        let of = |of: &BTreeMap<TransactionId, bool>| {
            of.iter().find(|(id, _)| id.number == number).map(|(_, &commit)| commit)
        };
        self.notified.iter().map(of).collect()
    }

    fn refusals(&self) -> Vec<Refusal> {
        let refused = self.notices.iter().filter_map(|(_, notice)| match notice {
            Notice::Refused { reason } => Some(*reason),
            _ => None, // not a refusal
        });
        refused.collect()
    }
}

const COMMITTED: Option<bool> = Some(true);
const ABORTED: Option<bool> = Some(false);

/// A group of which member 0 leads and has proposed a change; every prepare was received, and no vote.
fn prepared(count: usize) -> Group {
    let mut group = Group::new(count, 1);
    group.elect(0);
    group.propose(0);
    (1..count).for_each(|index| assert!(group.receive(0, index)));
    group
}

#[test]
fn e1_a_change_that_all_vote_for_is_committed_by_all_in_four_messages_a_participant() {
    for count in 1..=7 {
        let mut group = Group::new(count, 1);
        group.elect(0);
        group.propose(0);
        group.receive_all();
        assert_eq!(group.decided(1), vec![COMMITTED; count]);
        assert_eq!(group.sent, 4 * (count - 1), "{count} members");
        assert!(matches!(group.notices.last(), Some((0, Notice::Completed { .. }))), "{:?}", group.notices);
    }
}

#[test]
fn e1_one_vote_against_it_aborts_a_change_everywhere_in_three_messages_a_participant_at_most() {
    let mut group = Group::new(5, 1);
    group.votes[3] = false;
    group.elect(0);
    group.propose(0);
    group.receive_all();
    let decided = [ABORTED, ABORTED, ABORTED, None, ABORTED];
    assert_eq!(group.decided(1), decided, "who voted no knows");
    assert!(
        group
            .notices
            .iter()
            .any(|(_, notice)| { matches!(notice, Notice::Aborted { reason: AbortReason::VotedNo, .. }) })
    );
    assert!(group.sent <= 3 * 4, "{}", group.sent);
    group.votes[3] = true;
    group.propose(0);
    group.receive_all();
    assert_eq!(group.decided(2), [COMMITTED; 5]);
}

#[test]
fn e1_a_coordinator_that_crashes_before_a_vote_leaves_nobody_waiting() {
    let mut group = Group::new(3, 1);
    group.elect(0);
    group.propose(0);
    group.receive(0, 1); // which votes at once
    group.channels.clear();
    group.crash(0);
    group.settle();
    assert_eq!(group.decided(1)[1..], [ABORTED, None], "member 2, which never voted, may abort for both");
    group.boot(0, false);
    group.elect(1);
    group.propose(1);
    group.settle();
    assert!(group.notified.iter().all(|of| of.values().any(|&commit| commit)), "{:?}", group.notified);
}

#[test]
fn e1_a_coordinator_that_crashes_before_it_decides_blocks_all_until_it_is_back_and_the_change_is_aborted() {
    let mut group = prepared(4);
    group.crash(0);
    group.settle();
    assert_eq!(
        (group.decided(1), &group.blocked[1..]),
        (vec![None; 4], &[true; 3][..]),
        "nobody knows, and all say so"
    );
    group.elect(1);
    group.propose(1);
    assert_eq!(group.refusals(), [Refusal::InDoubt]);
    group.boot(0, false);
    group.settle();
    assert_eq!(group.decided(1)[1..], [ABORTED; 3]);
}

#[test]
fn e1_a_coordinator_that_crashes_after_it_decided_blocks_all_until_it_is_back_and_the_change_is_committed() {
    let mut group = prepared(4);
    for index in 1..4 {
        group.receive(index, 0);
    }
    assert_eq!(group.decided(1), [COMMITTED, None, None, None]);
    group.channels.clear(); // nobody is told
    group.crash(0);
    group.settle();
    assert_eq!(group.decided(1)[1..], [None; 3]);
    assert_eq!(group.blocked[1..], [true; 3]);
    group.boot(0, false);
    group.settle();
    assert_eq!(group.decided(1), [COMMITTED; 4], "the coordinator's application is told again, too");
}

#[test]
fn e1_a_member_that_was_told_tells_the_others_when_the_coordinator_is_gone() {
    let mut group = prepared(4);
    for index in 1..4 {
        group.receive(index, 0);
    }
    group.receive(0, 2);
    group.channels.clear();
    group.crash(0);
    group.settle();
    assert_eq!(group.decided(1), [COMMITTED; 4], "without the coordinator");
}

#[test]
fn e1_what_is_decided_in_a_step_that_ends_with_a_power_cut_was_not_decided() {
    let mut group = prepared(3);
    group.receive(1, 0);
    let vote = group.channels.get_mut(&(2, 0)).and_then(VecDeque::pop_front).unwrap();
    let input = Input::Message { from: NodeId(2), sent_at: LamportTime(0), message: vote };
    let (outs, _) = group.take(0, |member, cx, out| member.handle(cx, input, out));
    let decides = |output: &Output<_, _>| matches!(output, Output::Notify(Notice::Committed { .. }));
    assert!(outs.iter().flat_map(Outbox::outputs).any(decides));
    assert!(group.members[0].log_due(), "the power fails before the log is written, and nothing has left");
    group.crash(0);
    group.boot(0, false);
    group.settle();
    assert_eq!(group.decided(1), [None, ABORTED, ABORTED]);
}

#[test]
fn e1_a_participant_that_reboots_in_doubt_says_so_and_asks() {
    let mut group = prepared(3);
    group.receive(1, 0);
    group.receive(2, 0);
    group.crash(1); // it has voted, and hears no decision
    group.receive_all();
    group.propose(0);
    assert_eq!(group.refusals(), [Refusal::Busy], "one member has not acknowledged");
    group.boot(1, false);
    group.wait(Duration::ZERO);
    assert!(group.blocked[1]);
    group.settle();
    assert_eq!(group.decided(1), [COMMITTED; 3]);
    group.propose(0);
    group.settle();
    assert_eq!(group.decided(2), [COMMITTED; 3]);
}

#[test]
fn e1_a_silent_or_unreachable_member_aborts_a_change_and_a_member_that_is_away_refuses_it() {
    let mut group = Group::new(3, 1);
    group.elect(0);
    group.propose(0);
    group.wait(Duration::from_secs(4));
    group.channels.clear();
    assert_eq!(group.decided(1)[0], ABORTED);
    group.propose(0);
    group.crash(2);
    group.channels.clear();
    assert_eq!(group.decided(2)[0], ABORTED);
    group.propose(0);
    group.propose(1);
    assert_eq!(group.refusals(), [Refusal::Unreachable, Refusal::NotCoordinator]);
    let why = group.notices.iter().filter_map(|(_, notice)| match notice {
        Notice::Aborted { reason, .. } => Some(*reason),
        _ => None, // not an abort
    });
    assert_eq!(why.collect::<Vec<_>>(), [AbortReason::TimedOut, AbortReason::Unreachable]);
}

#[test]
fn e1_a_member_without_its_log_answers_for_no_transaction_before_the_next_commit() {
    let mut group = prepared(3);
    group.receive(1, 0);
    group.receive(2, 0);
    group.channels.clear(); // it is decided, and nobody is told
    group.crash(0);
    group.crash(2);
    group.boot(2, true);
    group.settle();
    assert_eq!(group.decided(1), [COMMITTED, None, None], "it has forgotten its vote, and does not say abort");
    assert!(group.blocked[1]);
    group.boot(0, false);
    group.settle();
    assert_eq!(group.decided(1)[..2], [COMMITTED; 2]);
}

#[test]
fn e1_any_schedule_of_crashes_suspicions_and_leaders_has_one_decision_on_everything() {
    let (mut committed, mut aborted, mut blocked) = (0, 0, 0);
    for seed in 0..400 {
        let count = 3 + (seed % 3) as usize;
        let mut group = Group::new(count, seed);
        for _ in 0..400 {
            let index = group.draw(count);
            match group.draw(60) {
                0 if group.up[index] => group.crash(index),
                1..=6 if !group.up[index] => group.boot(index, false),
                7 if group.up[index] => group.elect(index),
                8 if group.up[index] => {
                    let other = NodeSet::slot((index + 1) % count);
                    group.fact(index, Fact::PeerDown(other));
                    group.fact(index, Fact::PeerUp(other));
                }
                9..=14 if group.up[index] => group.propose(index),
                15 => group.votes[index] = group.draw(5) > 0,
                16..=17 => group.wait(Duration::from_secs(1)),
                _ => _ = group.receive_any(),
            }
            blocked += usize::from(group.blocked.contains(&true));
        }
        for index in 0..count {
            group.votes[index] = true;
            if !group.up[index] {
                group.boot(index, false);
            }
        }
        group.settle();
        assert!(group.members.iter().all(|member| member.prepared().is_none()), "seed {seed}: nobody is in doubt");
        let last = group.draw(count);
        group.elect(last);
        group.propose(last);
        group.settle();
        let ends: BTreeSet<_> = group.members.iter().map(|member| member.committed().unwrap().id).collect();
        assert_eq!(ends.len(), 1, "seed {seed}: all have committed the same last: {ends:?}");
        assert_eq!(ends.first().unwrap().term.number, group.terms, "seed {seed}: and it is the one just proposed");
        committed += group.decisions.values().filter(|&&commit| commit).count();
        aborted += group.decisions.values().filter(|&&commit| !commit).count();
    }
    assert!(committed > 1_000 && aborted > 500 && blocked > 400, "{committed} {aborted} {blocked}");
}
