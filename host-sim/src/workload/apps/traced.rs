//! An application whose actions are logged.

use super::app_adapter::APP_GROUP_MAX;
use super::{AppAction, AppPlan};
use crate::base::rng::Probability;
use crate::trace::AppEvent;
use protocol::algorithm::{Context, Fact, Input, Outbox};
use protocol::base::ids::NodeSet;
use protocol::base::lamport::LamportTime;
use protocol::registry::{AnyApplication, AnyApplicationMessage};
use protocol::service::application::{Application, ChannelMessage, LocalState, Recordable, Terminating};
use protocol::service::demo::diffusing;
use protocol::service::snapshot;
use protocol::{Duration, Instant, NodeId};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;

#[derive(Clone, Debug, Default)]
struct Log {
    actions: VecDeque<AppAction>,
    /// The snapshots of the recorded states, in the order of the states.
    snapshots: VecDeque<snapshot::Id>,
    /// Whether a state was recorded since messages were held back.
    recorded: bool,
    /// The waves, rounds and shared time at the last observation.
    waves: u32,
    rounds: u32,
    shared_time: Option<Instant>,
}

impl Log {
    fn push(&mut self, event: AppEvent) {
        self.actions.push_back(AppAction::Event(event));
    }
}

/// An application, or none, with a log of its actions.
#[derive(Clone, Debug)]
pub struct Traced {
    application: Option<AnyApplication<APP_GROUP_MAX>>,
    log: RefCell<Log>,
    busy: bool,
    reordering: Probability,
    /// Messages held back, for a marker to overtake, and since when.
    held: Vec<(NodeId, LamportTime, AnyApplicationMessage)>,
    held_since: Instant,
}

type Out = Outbox<AnyApplicationMessage, Infallible>;

/// How long a message is held back where no marker comes: a marker leaves once the message before it is acknowledged.
const HELD_FOR: Duration = Duration::from_millis(50);

/// The id of a recorded state whose snapshot is not known yet.
const UNKNOWN: snapshot::Id = snapshot::Id { initiator: NodeId(u32::MAX), incarnation: 0, number: 0 };

impl Traced {
    pub(crate) fn new(plan: &AppPlan) -> Self {
        let pause = Duration::from_micros(plan.pause as u32);
        Self {
            application: AnyApplication::by_name(&plan.kind, plan.tokens, pause),
            log: RefCell::default(),
            busy: false,
            reordering: plan.reordering,
            held: Vec::new(),
            held_since: Instant::ZERO,
        }
    }

    pub(super) fn record(&self, event: AppEvent) {
        self.log.borrow_mut().push(event);
    }

    /// Logs what the services of the node have done since the last observation.
    pub(super) fn observe_services(&self, waves: u32, rounds: u32, shared_time: Option<Instant>) {
        let mut log = self.log.borrow_mut();
        if let (Some(before), Some(now)) = (log.shared_time, shared_time)
            && now.as_micros() < before.as_micros()
        {
            let by = (before.as_micros() - now.as_micros()).try_into().unwrap_or(u32::MAX);
            log.push(AppEvent::ClockWentBack { by });
        }
        if waves != log.waves && waves > 0 {
            log.push(AppEvent::Wave { number: waves });
        }
        if rounds != log.rounds && rounds > 0 {
            log.push(AppEvent::ClockRound { number: rounds });
        }
        (log.waves, log.rounds, log.shared_time) = (waves, rounds, shared_time.or(log.shared_time));
    }

    /// Assigns the oldest recorded state without a snapshot to this one.
    pub(super) fn recorded_for(&self, id: snapshot::Id) {
        self.log.borrow_mut().snapshots.push_back(id);
    }

    pub(super) fn next_action(&self) -> Option<AppAction> {
        let mut log = self.log.borrow_mut();
        let action = log.actions.pop_front()?;
        Some(match action {
            AppAction::Event(AppEvent::Recorded { snapshot: UNKNOWN, amount }) => {
                let snapshot = log.snapshots.pop_front().unwrap_or(UNKNOWN);
                AppAction::Event(AppEvent::Recorded { snapshot, amount })
            }
            AppAction::Event(_) | AppAction::Sent { .. } | AppAction::Received { .. } => action,
        })
    }

    pub(super) fn amount_in_state(&self, bytes: &[u8]) -> u32 {
        self.application.as_ref().and_then(|application| application.amount_in_state(bytes)).unwrap_or(0)
    }

    fn deliver(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        sent_at: LamportTime,
        message: AnyApplicationMessage,
        out: &mut Out,
    ) {
        let Some(application) = &mut self.application else { return };
        let amount = amount_in_message(&application.channel_message(cx, from, &message));
        self.log.borrow_mut().actions.push_back(AppAction::Received { from, message, amount });
        application.handle(cx, Input::Message { from, sent_at, message }, out);
    }

    fn deliver_held(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.log.borrow_mut().recorded = false;
        for (from, sent_at, message) in std::mem::take(&mut self.held) {
            self.deliver(cx, from, sent_at, message, out);
        }
    }

    fn update_busy(&mut self) {
        let busy = self.is_busy();
        if busy != self.busy {
            self.busy = busy;
            self.record(if busy { AppEvent::Busy } else { AppEvent::Idle });
        }
    }
}

/// Returns the amount in a message that was recorded in a channel.
pub(super) fn amount_in_message(bytes: &[u8]) -> u32 {
    AnyApplication::<APP_GROUP_MAX>::amount_in_message(bytes).unwrap_or(0)
}

impl Application for Traced {
    type Message = AnyApplicationMessage;
    type Command = diffusing::Command;
    type Notice = Infallible;

    fn handle(&mut self, cx: &Context<'_>, input: Input<AnyApplicationMessage, diffusing::Command>, out: &mut Out) {
        let held_long = cx.now.since(self.held_since) >= HELD_FOR && matches!(input, Input::Timeout);
        if self.log.borrow().recorded || held_long {
            self.deliver_held(cx, out);
        }
        match input {
            Input::Message { from, sent_at, message } if self.reordering.includes(u64::from(cx.random)) => {
                if self.held.is_empty() {
                    self.held_since = cx.now;
                }
                self.held.push((from, sent_at, message));
            }
            Input::Message { from, sent_at, message } => self.deliver(cx, from, sent_at, message, out),
            Input::Command(_) | Input::Fact(_) | Input::Timeout => {
                match input {
                    Input::Fact(Fact::PeerDown(set)) => {
                        cx.roster.ids_of(set).for_each(|peer| self.record(AppEvent::PeerDown { peer: peer.0 }));
                    }
                    Input::Fact(Fact::PeerUp(set)) => {
                        cx.roster.ids_of(set).for_each(|peer| self.record(AppEvent::PeerUp { peer: peer.0 }));
                    }
                    _ => {} // no other input changes which messages arrive
                }
                if let Some(application) = &mut self.application {
                    application.handle(cx, input, out);
                }
            }
        }
        self.update_busy();
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, AnyApplicationMessage)> {
        let sent = self.application.as_mut()?.poll_send(cx);
        if let Some((to, message)) = sent {
            let actions = cx.roster.ids_of(to).map(|to| AppAction::Sent { to, message });
            self.log.borrow_mut().actions.extend(actions);
        }
        self.update_busy();
        sent
    }

    fn deadline(&self) -> Option<Instant> {
        self.application.as_ref()?.deadline()
    }
}

impl Recordable for Traced {
    fn local_state(&self, cx: &Context<'_>) -> Option<LocalState> {
        let state = self.application.as_ref()?.local_state(cx)?;
        self.record(AppEvent::Recorded { snapshot: UNKNOWN, amount: self.amount_in_state(&state) });
        self.log.borrow_mut().recorded = true;
        Some(state)
    }

    fn channel_message(&self, cx: &Context<'_>, from: NodeId, message: &AnyApplicationMessage) -> ChannelMessage {
        let application = self.application.as_ref();
        application.map_or_else(ChannelMessage::new, |application| application.channel_message(cx, from, message))
    }
}

impl Terminating for Traced {
    fn is_busy(&self) -> bool {
        self.application.as_ref().is_some_and(Terminating::is_busy)
    }

    fn job(&self) -> u32 {
        self.application.as_ref().map_or(0, Terminating::job)
    }

    fn on_terminated(&mut self, job: u32) {
        if let Some(application) = &mut self.application {
            application.on_terminated(job);
        }
    }
}
