//! Two-phase commit on simulated nodes: the leader proposes changes, applications vote, and all decisions are traced.

use super::{APP_GROUP_MAX, AppAction, AppAdapter, AppPlan};
use crate::trace::{AppEvent, AppRequest, TransactionStep};
use crate::workload::requests::RequestPlan;
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Output, Scope};
use protocol::base::time::earliest;
use protocol::service::commit::{Change, Command, Commit, Message, Notice, TransactionId};
use protocol::service::{NoticeQueue, Service};
use protocol::{Duration, Instant};
use std::cell::RefCell;
use std::collections::VecDeque;

const _: () = assert!(APP_GROUP_MAX <= 64, "a set of members has a bit for each");

/// One vote in so many is no.
const NO_ONE_IN: u32 = 20;

/// A member whose user proposes a change about every `pause`, and votes at once.
#[derive(Clone, Debug)]
pub struct CommitApp {
    commit: Commit,
    pause: Duration,
    next: Instant,
    /// The transaction that its user is to vote on.
    asked: Option<(TransactionId, Instant)>,
    log: RefCell<VecDeque<AppEvent>>,
}

impl CommitApp {
    fn trace(&self, step: TransactionStep, id: TransactionId) {
        let TransactionId { term, number } = id;
        let event = AppEvent::Transaction { step, term: term.number, by: term.by.0, number };
        self.log.borrow_mut().push_back(event);
    }

    /// Returns what the user does now.
    fn due(&mut self, cx: &Context<'_>) -> Option<Command> {
        if let Some((id, _)) = self.asked.take_if(|(_, at)| *at <= cx.now) {
            let yes = !cx.random.is_multiple_of(NO_ONE_IN);
            if yes {
                self.trace(TransactionStep::Voted, id);
            }
            return Some(Command::Vote { id, yes });
        }
        if self.next > cx.now {
            return None;
        }
        let first = self.next == Instant::ZERO;
        self.next = cx.now.after(self.pause.mul_ratio(cx.random % 1_000 + 500, 1_000));
        let change = Change::from_slice(&cx.now.as_micros().to_le_bytes()).unwrap_or_default();
        (!first).then_some(Command::Propose(change))
    }
}

impl Algorithm for CommitApp {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        self.commit.scope()
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        // One step at a time: a deadline of the service that is due as well expires again.
        let command = if matches!(input, Input::Timeout) { self.due(cx) } else { None };
        self.commit.handle(cx, command.map_or(input, Input::Command), out);
        let asked = out.outputs().iter().find_map(|output| match output {
            Output::Notify(Notice::Prepare { transaction }) => Some((transaction.id, cx.now)),
            _ => None, // nothing to vote on
        });
        self.asked = asked.or(self.asked);
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(earliest(self.commit.deadline(), self.asked.map(|(_, at)| at)), Some(self.next))
    }
}

impl Service for CommitApp {
    fn resume(&mut self, incarnation: u32) {
        self.commit.resume(incarnation);
    }

    fn restore(&mut self, log: &[u8]) {
        self.commit.restore(log);
    }

    fn log_due(&self) -> bool {
        self.commit.log_due()
    }

    fn poll_log(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.commit.poll_log(buffer)
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        self.commit.notices()
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) -> bool {
        self.commit.poll_send(cx, out)
    }
}

impl AppAdapter for CommitApp {
    fn from_plan(plan: Option<&AppPlan>, _: Option<&RequestPlan>) -> Self {
        let pause = plan.map_or(50_000, |plan| plan.pause);
        Self {
            commit: Commit::new(),
            pause: Duration::from_micros(pause as u32),
            next: Instant::ZERO,
            asked: None,
            log: RefCell::default(),
        }
    }

    fn command(_: AppRequest) -> Option<Command> {
        None // its members propose by themselves
    }

    fn on_notice(&self, notice: Notice) {
        match notice {
            Notice::Proposed { id } => self.trace(TransactionStep::Proposed, id),
            Notice::Blocked { transaction } => self.trace(TransactionStep::Blocked, transaction.id),
            Notice::Committed { transaction } | Notice::Restored { transaction } => {
                self.trace(TransactionStep::Committed, transaction.id);
            }
            Notice::Aborted { id, .. } => self.trace(TransactionStep::Aborted, id),
            Notice::Completed { id } => self.trace(TransactionStep::Completed, id),
            Notice::Refused { .. } | Notice::Prepare { .. } => {} // most are no leaders; the vote is traced
        }
    }

    fn observe(&self, _: Instant) {}

    fn next_action(&self) -> Option<AppAction> {
        self.log.borrow_mut().pop_front().map(AppAction::Event)
    }
}
