//! Total order multicast: every member receives the messages of all members in one order.
//!
//! Members submit messages to the leader, which numbers them and sends them to all. A member delivers a message once a
//! majority of the group has it, in the order of the numbers: without gaps, none twice, over any change of leaders. This is
//! what a *multicast sequencer* is elected for; a replicated bank account or a table of settings is a member that applies
//! what is delivered.
//!
//! # Why nothing delivered is lost
//! A new leader asks before it numbers anything (`leader.rs`). Whoever answers takes nothing more from earlier leaders. What
//! was delivered anywhere is at a majority, two majorities share a member, and of the answers the leader takes over the one
//! whose order comes from the newest leader and reaches furthest. A member adopts that order message by message, replacing
//! only what differs, and counts for the new leader when it has all of it. A message that is in no majority may vanish with
//! its leader; the member that submitted it still has it, and submits it again to a leader whose order it has read so far
//! that it knows the message is not in it. So no message is ordered twice.
//!
//! # Memory
//! The order is in RAM, the last [`LOG_MAX`] messages of it. A member that rebooted has nothing, and its answer is no
//! memory: a majority of members that remember must answer, or all members, and then a new history begins, numbered above
//! every earlier one. A member that was away for longer than the others remember is told how much it missed
//! ([`Notice::Missed`]); it takes the state of another member by other means.
//!
//! # Paper
//! B. Liskov, J. Cowling: Viewstamped Replication Revisited, MIT-CSAIL-TR-2012-021, for the change of leaders and for
//! members that lost their memory. X. Defago, A. Schiper, P. Urban: Total Order Broadcast and Multicast Algorithms, ACM
//! Computing Surveys 36(4), 2004, calls it *fixed sequencer* with uniform agreement.
//!
//! # Assumes
//! Mode *quorum* ([`ConfigError::NeedsQuorum`](crate::base::config::ConfigError::NeedsQuorum) otherwise): two leaders at once
//! would number twice. Reliable FIFO channels (the link's).
//!
//! # Messages
//! [`Message::Submit`] to the leader, [`Message::Order`] to all, [`Message::Stored`] back, [`Message::Committed`] where no
//! further order says so. After a change of leaders [`Message::Collect`], [`Message::Have`] or [`Message::Blank`],
//! [`Message::Fetch`] and [`Message::Fetched`] where the leader lacks something, [`Message::Welcome`].
//!
//! # Cost
//! With N members a message takes 1 + 3 (N - 1) messages, of which two go to all at once: N + 2 frames where all are in
//! range. It is delivered three message delays after it was submitted, one later where the next order brings the news.
//!
//! # Departures
//! A number is not (term, count) but a count that goes on over all terms of one history: a gap shows. One message of each
//! member is under way at a time. A member accepts [`PENDING_MAX`] messages and refuses more as [`Refusal::Busy`]; the
//! leader numbers no more than every member of the view still has room for.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::base::time::{Instant, earliest};
use crate::service::{InstanceId, NoticeQueue, Service};
use heapless::Deque;
use leader::{Have, Leader};
use log::Log;

mod leader;
mod log;
mod member;
mod message;

pub use log::{Entry, LOG_MAX, Number, PAYLOAD_MAX, Payload};
pub use message::Message;

/// How many messages of its own a member keeps until they are delivered.
pub const PENDING_MAX: usize = 4;
/// How many messages one step delivers at most.
const DELIVERIES_MAX: usize = 5;

/// The unique id of a message: the member that submitted it, its boot, and the number within that boot.
pub type MessageId = InstanceId;

/// Commands of the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Submits a message.
    Submit(#[cfg_attr(feature = "defmt", defmt(Debug2Format))] Payload),
}

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// [`PENDING_MAX`] messages of this member are not delivered yet.
    Busy,
}

/// Notices to the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// The message was accepted under this `number`, and will be delivered to this member too.
    Accepted { number: u32 },
    /// The message was refused.
    Refused { reason: Refusal },
    /// The next message in the order: its `number` there, who submitted it, and what it says.
    Delivered {
        number: Number,
        id: MessageId,
        #[cfg_attr(feature = "defmt", defmt(Debug2Format))]
        payload: Payload,
    },
    /// This member does not receive what comes before and with this number: it was away for too long, or has rebooted.
    Missed { through: Number },
    /// The accepted message of this `number` may be among those missed: it is not submitted again.
    Unknown { number: u32 },
}

/// A message of this member that is not delivered yet.
#[derive(Clone, Debug)]
struct Pending {
    number: u32,
    payload: Payload,
    /// Whether a leader may have it.
    tried: bool,
}

/// What this member follows.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// It has what the leader has up to here.
    matched: u32,
    /// From here on it counts.
    target: u32,
}

/// The part of a member.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
enum Role<const N: usize> {
    Member(Option<Stream>),
    Leader(Leader<N>),
}

/// What another member, the new leader, fetches.
#[derive(Clone, Copy, Debug)]
struct Serving {
    to: NodeSet,
    term: Term,
    next: u32,
}

/// The order at one member, of a group of at most `N`.
#[derive(Clone, Debug)]
pub struct Sequencer<const N: usize> {
    incarnation: u32,
    /// Whether this member rebooted, and has not read the order since.
    blank: bool,
    log: Log,
    /// The term of the leader whose order the log is.
    log_term: Term,
    /// Nothing is taken from leaders of lower terms.
    promised: Term,
    leader: Option<(NodeId, Term)>,
    role: Role<N>,
    /// The leader that asked last.
    asked_by: Option<(NodeId, Term)>,
    /// Whether to say what this member has, or how far.
    answer_due: bool,
    stored_due: bool,
    serving: Option<Serving>,
    pending: Deque<Pending, PENDING_MAX>,
    /// Messages accepted in this boot.
    accepted: u32,
    /// The number of the message submitted last, and when to submit it again.
    submitted: Option<(u32, Instant)>,
    /// When to deliver what one step could not.
    deliver_at: Option<Instant>,
    notices: NoticeQueue<Notice>,
}

type Out = Outbox<Message, Notice>;

impl<const N: usize> Sequencer<N> {
    /// Creates the order of a member that has just booted.
    #[must_use]
    pub fn new() -> Self {
        Self {
            incarnation: 0,
            blank: false,
            log: Log::default(),
            log_term: Term::ZERO,
            promised: Term::ZERO,
            leader: None,
            role: Role::Member(None),
            asked_by: None,
            answer_due: false,
            stored_due: false,
            serving: None,
            pending: Deque::new(),
            accepted: 0,
            submitted: None,
            deliver_at: None,
            notices: NoticeQueue::new(),
        }
    }

    /// Returns the number of the last message delivered.
    #[must_use]
    pub const fn delivered(&self) -> Number {
        self.log.number(self.log.delivered)
    }

    /// Returns whether this member is the leader and numbers messages.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(&self.role, Role::Leader(leader) if matches!(leader.phase, leader::Phase::Open))
    }

    /// Returns what this member has; `None` where it has forgotten.
    fn have(&self) -> Option<Have> {
        let log = &self.log;
        let [base, commit, last] = [log.base(), log.commit, log.last()].map(|count| log.number(count));
        (!self.blank).then_some(Have { of: self.log_term, base, commit, last })
    }

    fn follow(&mut self, cx: &Context<'_>, leader: Option<(NodeId, Term)>, out: &mut Out) {
        if leader == self.leader {
            return;
        }
        self.leader = leader;
        (self.submitted, self.stored_due) = (None, false);
        match leader {
            Some((leader, term)) if leader == cx.me && term >= self.promised => {
                self.promised = term;
                self.collect(cx, term, out);
            }
            Some(_) | None => self.role = Role::Member(None),
        }
        self.answer_due = leader.is_some() && self.asked_by == leader;
    }

    /// Asks everybody what they have, as the leader of this term.
    fn collect(&mut self, cx: &Context<'_>, term: Term, out: &mut Out) {
        let mut leader = Leader::new(term);
        leader.on_answer(cx.roster.set_of(cx.me), self.have());
        self.role = Role::Leader(leader);
        self.choose(cx, out);
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out) {
        match fact {
            Fact::Leader { leader, term } => self.follow(cx, Some((leader, term)), out),
            Fact::NoLeader => self.follow(cx, None, out),
            Fact::PeerDown(set) => self.on_down(cx, set, false, out),
            Fact::PeerReset(set) => self.on_down(cx, set, true, out),
            Fact::PeerUp(set) => {
                // The link may have abandoned what this member told the leader.
                if self.leader.is_some_and(|(leader, _)| cx.roster.set_of(leader).meets(set)) {
                    self.answer_due = self.asked_by == self.leader;
                    self.submitted = None;
                }
            }
            Fact::View => self.number_own(cx), // whoever is not in it needs no room
            Fact::Parent(_) => {}              // the tree is irrelevant
        }
    }

    fn on_down(&mut self, cx: &Context<'_>, set: NodeSet, rebooted: bool, out: &mut Out) {
        if self.serving.is_some_and(|serving| serving.to.meets(set)) {
            self.serving = None;
        }
        if rebooted && self.asked_by.is_some_and(|(by, _)| cx.roster.set_of(by).meets(set)) {
            self.asked_by = None;
        }
        if let Role::Leader(leader) = &mut self.role
            && leader.on_down(set, rebooted)
        {
            let term = leader.term;
            self.collect(cx, term, out);
        }
    }

    fn submit(&mut self, payload: Payload, out: &mut Out) {
        let number = self.accepted.saturating_add(1);
        if self.pending.push_back(Pending { number, payload, tried: false }).is_err() {
            return out.notify(Notice::Refused { reason: Refusal::Busy });
        }
        self.accepted = number;
        out.notify(Notice::Accepted { number });
    }

    /// Delivers the next messages that a majority has.
    fn deliver(&mut self, cx: &Context<'_>, out: &mut Out) {
        for _ in 0..DELIVERIES_MAX {
            let count = self.log.delivered.saturating_add(1);
            let Some(entry) = self.log.get(count).filter(|_| count <= self.log.commit) else { break };
            let Entry { origin, incarnation, number, payload } = entry.clone();
            self.log.delivered = count;
            let Some(initiator) = cx.roster.id_of(usize::from(origin)) else { continue }; // of nobody: nothing to deliver
            if (initiator, incarnation) == (cx.me, self.incarnation) {
                while self.pending.front().is_some_and(|pending| pending.number <= number) {
                    self.pending.pop_front();
                }
            }
            let id = MessageId { initiator, incarnation, number };
            out.notify(Notice::Delivered { number: self.log.number(count), id, payload });
        }
        let more = self.log.delivered < self.log.commit && self.log.delivered < self.log.last();
        self.deliver_at = more.then_some(cx.now);
    }
}

impl<const N: usize> Default for Sequencer<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Algorithm for Sequencer<N> {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => {
                self.on_message(cx, from, message, out);
                self.deliver(cx, out);
                self.number_own(cx); // there may be room now
            }
            Input::Command(Command::Submit(payload)) => {
                self.submit(payload, out);
                self.number_own(cx);
            }
            Input::Fact(fact) => self.on_fact(cx, fact, out),
            Input::Timeout => {
                if self.submitted.is_some_and(|(_, again)| again <= cx.now) {
                    self.submitted = None;
                }
                if self.deliver_at.is_some_and(|at| at <= cx.now) {
                    self.deliver(cx, out);
                    self.number_own(cx);
                }
            }
        }
        let waits = self.log.delivered < self.log.commit && self.log.delivered < self.log.last();
        self.deliver_at = waits.then(|| self.deliver_at.unwrap_or(cx.now));
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.deliver_at, self.submitted.map(|(_, again)| again))
    }
}

impl<const N: usize> Service for Sequencer<N> {
    const NEEDS_QUORUM: bool = true;

    fn resume(&mut self, incarnation: u32) {
        self.incarnation = incarnation;
        self.blank = incarnation > 1; // in its first boot a node has nothing to forget
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        Some(&mut self.notices)
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let next = self.poll_member(cx).or_else(|| match &mut self.role {
            Role::Leader(leader) => leader.poll(cx, &self.log),
            Role::Member(_) => None,
        });
        let Some((to, message)) = next else { return false };
        out.send(to, message);
        true
    }
}

#[cfg(test)]
mod tests;
