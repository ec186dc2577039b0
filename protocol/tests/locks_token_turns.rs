//! One member of a lock that hands a token round, told this or that second by second: turns that whole groups take rarely.

use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::clock::{Stamp, Term};
use protocol::group::Roster;
use protocol::mutex::keeper::{Generation, Token};
use protocol::mutex::raymond::Message as InTree;
use protocol::mutex::token_ring::Message as InRing;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice, Raymond, TokenRing};
use protocol::wire::Message;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};

const DOOR: LockId = LockId::from_name("door");
const LEASE: Span = Span::from_secs(1);
const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const THIRD: NodeId = NodeId(3);
const TERM: Term = Term { number: 3, by: OTHER };

/// What a step said: to whom, and what it is called.
type Said = Vec<(NodeSet, &'static str)>;

/// The first of three members.
struct Member<M: Mutex> {
    lock: M,
    notices: Vec<Notice>,
    stamp: u64,
}

impl<M: Mutex<Command = Command, Notice = Notice>> Member<M> {
    fn new(lock: M) -> Self {
        Self { lock, notices: Vec::new(), stamp: 0 }
    }

    fn step(&mut self, millis: u32, input: Input<M::Message, Command>) -> Said {
        let mut roster = Roster::<3>::new();
        for name in [ME, OTHER, THIRD] {
            roster.insert(name);
        }
        let all = roster.view().all();
        let others = all.without(NodeSet::slot(0));
        self.stamp += 1;
        let cx = Context {
            now: Instant::ZERO.after(Span::from_millis(millis)),
            uptime: Span::from_millis(millis),
            me: ME,
            standing: None,
            roster: roster.view(),
            peers: others,
            up: others,
            near: others,
            better: NodeSet::EMPTY,
            rival: None,
            view: all,
            stamp: Stamp(self.stamp),
            random: 0,
            timing: &Timing::RADIO,
        };
        let mut out = Outbox::new();
        self.lock.handle(&cx, input, &mut out);
        let mut said = Vec::new();
        for output in out.outputs() {
            match output {
                Output::Send { to, message } => said.push((*to, message.word())),
                Output::Notify(notice) => self.notices.push(*notice),
            }
        }
        said
    }

    fn learn(&mut self, millis: u32, fact: Fact) -> Said {
        self.step(millis, Input::Fact(fact))
    }

    fn obey(&mut self, millis: u32, command: Command) -> Said {
        self.step(millis, Input::Command(command))
    }

    fn hear(&mut self, millis: u32, from: NodeId, message: M::Message) -> Said {
        self.step(millis, Input::Message { from, stamp: Stamp(self.stamp), message })
    }

    /// Lets time pass, and the member act when something is due.
    fn pass(&mut self, from: u32, to: u32) -> Said {
        (from..to).step_by(100).flat_map(|millis| self.step(millis, Input::Timeout)).collect()
    }

    fn fence(&self) -> Option<Fence> {
        self.notices.iter().rev().find_map(|notice| match notice {
            Notice::Acquired { fence, .. } => Some(*fence),
            _ => None,
        })
    }
}

/// The first token of the leader, passed on once.
const TOKEN: Token = Token { generation: Generation { term: TERM, round: 1 }, sequence: 1 };

#[test]
fn a_leader_that_leads_again_under_the_same_term_makes_another_token() {
    let term = Term { number: 3, by: ME };
    let mut member = Member::new(TokenRing::new());
    member.learn(10_000, Fact::Leader { leader: ME, term });
    member.obey(10_000, Command::Acquire { lock: DOOR, lease: LEASE });
    member.pass(10_000, 20_000);
    let first = member.fence().unwrap();
    member.learn(20_000, Fact::NoLeader);
    member.learn(21_000, Fact::Leader { leader: ME, term });
    member.obey(21_000, Command::Acquire { lock: DOOR, lease: LEASE });
    member.pass(21_000, 30_000);
    let second = member.fence().unwrap();
    let round = |fence: Fence| fence.count.0 >> 32;
    assert!(round(second) > round(first), "{second:?} after {first:?}");
}

#[test]
fn a_call_that_was_never_answered_does_not_silence_the_next_claim() {
    let mut member = Member::new(TokenRing::new());
    member.learn(10_000, Fact::Leader { leader: OTHER, term: TERM });
    let said = member.obey(10_000, Command::Acquire { lock: DOOR, lease: LEASE });
    assert_eq!(said, [(NodeSet::slot(1), "call")]);
    member.obey(10_100, Command::Cancel { lock: DOOR });
    member.pass(10_100, 20_000);
    let said = member.obey(20_000, Command::Acquire { lock: DOOR, lease: LEASE });
    assert_eq!(said, [(NodeSet::slot(1), "call")]);
}

#[test]
fn a_try_that_is_given_up_lets_the_token_go_at_once() {
    let mut member = Member::new(TokenRing::new());
    member.learn(10_000, Fact::Leader { leader: OTHER, term: TERM });
    member.obey(10_000, Command::Try { lock: DOOR, lease: LEASE });
    let said = member.hear(10_010, THIRD, InRing::Token { lock: DOOR, token: TOKEN });
    assert!(said.is_empty(), "it has no warrant yet: {said:?}");
    let mut now = 10_010;
    while !member.notices.iter().any(|notice| matches!(notice, Notice::Refused { .. })) {
        now += 10;
        let said = member.step(now, Input::Timeout);
        let refused = !member.notices.is_empty();
        assert_eq!(said.contains(&(NodeSet::slot(1), "token")), refused, "at {now} ms: {said:?}");
        assert!(now < 20_000);
    }
}

#[test]
fn who_waits_long_in_the_tree_asks_the_leader_itself() {
    let mut member = Member::new(Raymond::new());
    member.learn(10_000, Fact::Leader { leader: OTHER, term: TERM });
    member.learn(10_000, Fact::Parent(THIRD));
    let said = member.obey(10_000, Command::Acquire { lock: DOOR, lease: LEASE });
    assert_eq!(said, [(NodeSet::slot(2), "request")]);
    let said = member.pass(10_000, 25_000);
    assert!(said.contains(&(NodeSet::slot(1), "request")), "{said:?}");
}

#[test]
fn a_request_that_is_repeated_is_passed_on_again() {
    let mut member = Member::new(Raymond::new());
    member.learn(10_000, Fact::Leader { leader: OTHER, term: TERM });
    let asks = |number| InTree::Request { lock: DOOR, number, generation: Generation::before(TERM) };
    assert_eq!(member.hear(10_000, THIRD, asks(1)), [(NodeSet::slot(1), "request")]);
    assert_eq!(member.hear(11_000, THIRD, asks(2)), [], "that was not long ago");
    assert_eq!(member.hear(15_000, THIRD, asks(3)), [(NodeSet::slot(1), "request")]);
}
