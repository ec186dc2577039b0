//! Atomic commit: a change is applied by all members of the group, or by none.
//!
//! The leader is the coordinator. It sends a change to all members (prepare), each application votes, and the change is
//! committed if all vote yes, and aborted otherwise. A member that has voted yes cannot know by itself how the others
//! voted: until it is told the decision it is *in doubt* and must keep ready for both. This is what a *commit coordinator* is elected for:
//! a setting that has to change everywhere at once, two valves of which never one alone may open.
//!
//! # Why no two members decide differently
//! A commit needs the vote of every member, and what each promised by it is in its log before the vote leaves; the
//! decision is in the coordinator's log before anybody is told. Whoever has no record of a transaction has not voted yes
//! and never will, so it may answer *abort* for all: the coordinator after a reboot too (*presumed abort*), and any other
//! member (*cooperative termination*). Who is in doubt votes yes to nothing else. So when a transaction commits, nobody
//! is in doubt about an earlier one, and of all that were committed a member needs to remember the last one only.
//!
//! # Memory
//! The log ([`Service::poll_log`]) has room for one transaction in doubt and for the last one committed, with their
//! changes: [`Commit::LOG_MAX`] bytes. A commit writes it once at the coordinator and twice at every other member; an
//! abort at most twice. After a reboot the application is told the last change committed ([`Notice::Restored`]), as the
//! power may have failed before it was applied. A member whose log is lost answers for no transaction until the next commit.
//!
//! # Paper
//! J. Gray: Notes on Data Base Operating Systems, 1978, for two phases. P. Bernstein, V. Hadzilacos, N. Goodman:
//! Concurrency Control and Recovery in Database Systems, 1987, chapter 7, for the termination protocol. C. Mohan,
//! B. Lindsay, R. Obermarck: Transaction Management in the R* Distributed Database Management System, 1986, for presumed
//! abort.
//!
//! # Assumes
//! A log that survives reboots. Reliable FIFO channels (the link's). Atomicity does not need a single leader: any mode
//! will do.
//!
//! # Messages
//! [`Message::Prepare`] to all, [`Message::Vote`] back, [`Message::Commit`] or [`Message::Abort`] to all, and
//! [`Message::Ack`] for a commit. Who is in doubt for too long sends [`Message::Inquire`] to all.
//!
//! # Cost
//! With N members a commit takes 4 (N - 1) messages, of which two go to all at once: 2 N frames where all are in range.
//! It is decided two message delays after it was proposed, and known to all after three. An abort takes 3 (N - 1) at most.
//!
//! # Blocking
//! Where the coordinator fails after all have voted yes and before it told anybody, no member knows the decision until the
//! coordinator is back. Such members say so ([`Notice::Blocked`]) and refuse all else. No protocol of two phases avoids it.
//!
//! # Departures
//! The participants are all members of the group, not only those that are up: a transaction is refused or aborted while one
//! is away. One transaction at a time: the next one follows when all have acknowledged the last. The coordinator's own vote
//! is its proposal. A decision carries the change, for a member whose log is lost. The coordinator need not remember that all
//! have acknowledged: the next commit implies it.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::incarnation::INCARNATION_DRAWN;
use crate::base::term::Term;
use crate::base::time::{Instant, earliest};
use crate::service::{NoticeQueue, Service};
use crate::wire;
use coordinator::Round;
use participant::{Asked, Doubt};

mod coordinator;
mod log;
mod message;
mod participant;

use log::Log;
pub use log::{CHANGE_MAX, Change, Transaction, TransactionId};
pub use message::Message;

/// Commands of the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each command names its fields")]
pub enum Command {
    /// Proposes a change to all members; the proposer votes for it.
    Propose(#[cfg_attr(feature = "defmt", defmt(Debug2Format))] Change),
    /// Votes on the transaction `id` ([`Notice::Prepare`]).
    Vote { id: TransactionId, yes: bool },
}

/// Why a proposal was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// This member is not the leader.
    NotCoordinator,
    /// A transaction is under way here: not every member has acknowledged the last one, or this member is to vote on another.
    Busy,
    /// This member is in doubt about an earlier transaction.
    InDoubt,
    /// A member cannot be reached.
    Unreachable,
}

impl Refusal {
    /// Returns the reason in words.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::NotCoordinator => "not the leader",
            Self::Busy => "busy",
            Self::InDoubt => "in doubt",
            Self::Unreachable => "a member is away",
        }
    }
}

/// Why a transaction was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AbortReason {
    /// A member voted no.
    VotedNo,
    /// A member did not vote in time.
    TimedOut,
    /// A member, or the coordinator before this member's vote, cannot be reached or has rebooted.
    Unreachable,
    /// The coordinator leads no more, or another one has asked for votes since.
    NewCoordinator,
    /// The coordinator, or a member that knows, said so.
    Decided,
}

/// Notices to the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// The proposal is the transaction `id`.
    Proposed { id: TransactionId },
    /// The proposal was refused.
    Refused { reason: Refusal },
    /// The application is to vote on this transaction ([`Command::Vote`]). Whoever votes yes must be able to apply the
    /// change, after a reboot too.
    Prepare { transaction: Transaction },
    /// The transaction that this member voted for is in doubt: its coordinator is silent, and nobody reachable knows the
    /// decision yet. Told after a reboot, too.
    Blocked { transaction: Transaction },
    /// The change is to be applied: all members have voted for it.
    Committed { transaction: Transaction },
    /// The transaction was aborted.
    Aborted { id: TransactionId, reason: AbortReason },
    /// All members have committed the transaction that this member proposed.
    Completed { id: TransactionId },
    /// After a reboot: the last change that was committed, which may not have been applied.
    Restored { transaction: Transaction },
}

/// Atomic commit at one member.
#[derive(Clone, Debug)]
pub struct Commit {
    log: Log,
    /// Whether the log has to be written before anything is sent.
    unsaved: bool,
    /// Whether the application is to be told what the log of an earlier boot says.
    restored: bool,
    leader: Option<(NodeId, Term)>,
    /// The number of the last proposal, and its term.
    proposed: (Term, u32),
    /// The transaction that this member coordinates.
    round: Option<Round>,
    /// The transaction that the application is to vote on.
    asked: Option<Asked>,
    /// The vote to be sent, and to whom.
    vote: Option<(NodeSet, TransactionId, bool)>,
    /// What this member, in doubt, does about it.
    doubt: Option<Doubt>,
    /// The transaction that others are in doubt about, and who.
    inquiry: Option<(TransactionId, NodeSet)>,
    /// The commit to be acknowledged, and to whom.
    ack: Option<(NodeSet, TransactionId)>,
    notices: NoticeQueue<Notice>,
}

type Out = Outbox<Message, Notice>;

impl Commit {
    /// Length of the longest log, in bytes.
    pub const LOG_MAX: usize = log::LOG_MAX;

    /// Creates a member with an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self {
            log: Log::default(),
            unsaved: false,
            restored: false,
            leader: None,
            proposed: (Term::ZERO, 0),
            round: None,
            asked: None,
            vote: None,
            doubt: None,
            inquiry: None,
            ack: None,
            notices: NoticeQueue::new(),
        }
    }

    /// Returns the last transaction that was committed here.
    #[must_use]
    pub const fn committed(&self) -> Option<&Transaction> {
        self.log.committed.as_ref()
    }

    /// Returns the transaction that the application is to vote on.
    #[must_use]
    pub fn asked(&self) -> Option<&Transaction> {
        self.asked.as_ref().map(|asked| &asked.transaction)
    }

    /// Returns the transaction that this member is in doubt about.
    #[must_use]
    pub const fn prepared(&self) -> Option<&Transaction> {
        self.log.prepared.as_ref()
    }

    /// Changes the log, which leaves before anything that is sent from now on.
    fn write(&mut self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log);
        self.unsaved = true;
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Prepare { transaction } => self.on_prepare(sender, transaction, out),
            Message::Vote { id, yes } => self.on_vote(cx, sender, id, yes, out),
            Message::Commit { transaction } => self.on_commit(sender, transaction, out),
            Message::Abort { id } => self.on_abort(id, out),
            Message::Ack { id } => self.on_ack(sender, id, out),
            Message::Inquire { id } => {
                let others = self.inquiry.filter(|(asked, _)| *asked == id).map_or(NodeSet::EMPTY, |(_, by)| by);
                self.inquiry = Some((id, others.with(sender)));
            }
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out) {
        match fact {
            Fact::Leader { leader, term } => self.follow(cx, Some((leader, term)), out),
            Fact::NoLeader => self.follow(cx, None, out),
            Fact::PeerDown(set) | Fact::PeerReset(set) => {
                self.abort_where(cx, AbortReason::Unreachable, |round| round.waits_for(set), out);
                self.on_down(cx, set, out);
            }
            Fact::PeerUp(set) => {
                if let Some(round) = &mut self.round {
                    round.on_up(set);
                }
                if let Some(doubt) = &mut self.doubt {
                    doubt.ask = doubt.ask.with(set);
                }
            }
            Fact::View | Fact::Parent(_) => {} // all members vote, whatever the view
        }
    }
}

impl Default for Commit {
    fn default() -> Self {
        Self::new()
    }
}

impl Algorithm for Commit {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => self.on_message(cx, from, message, out),
            Input::Command(Command::Propose(change)) => self.propose(cx, change, out),
            Input::Command(Command::Vote { id, yes }) => self.vote_on(cx, id, yes),
            Input::Fact(fact) => self.on_fact(cx, fact, out),
            Input::Timeout => {
                if core::mem::take(&mut self.restored)
                    && let Some(transaction) = self.log.committed.clone()
                {
                    out.notify(Notice::Restored { transaction });
                }
                self.abort_where(
                    cx,
                    AbortReason::TimedOut,
                    |round| round.deadline().is_some_and(|at| at <= cx.now),
                    out,
                );
                self.inquire_if_due(cx, out);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let waits = earliest(self.round.as_ref().and_then(Round::deadline), self.doubt.map(|doubt| doubt.at));
        if self.restored { Some(Instant::ZERO) } else { waits }
    }
}

impl Service for Commit {
    fn resume(&mut self, incarnation: u32) {
        if incarnation >= INCARNATION_DRAWN && !self.log.lost {
            self.write(|log| log.lost = true);
        }
    }

    fn restore(&mut self, log: &[u8]) {
        if let Some(log) = wire::decode::<Log>(log) {
            self.log = log;
        } else {
            self.write(|log| log.lost = true);
        }
        self.restored = true;
        self.doubt = self.log.prepared.is_some().then(Doubt::after_reboot);
    }

    fn log_due(&self) -> bool {
        self.unsaved
    }

    fn poll_log(&mut self, buffer: &mut [u8]) -> Option<usize> {
        if !self.unsaved {
            return None;
        }
        let len = wire::encode(&self.log, buffer)?;
        self.unsaved = false;
        Some(len)
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        Some(&mut self.notices)
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let next = self.poll_participant(cx, out).or_else(|| self.poll_round(cx));
        let Some((to, message)) = next else { return false };
        out.send(to, message);
        true
    }
}
