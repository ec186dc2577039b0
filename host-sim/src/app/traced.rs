//! An application that writes down what it does.

use super::Doing;
use super::stage::ACTORS_MAX;
use crate::random::Chance;
use crate::scenario::AppPlan;
use crate::trace::Act;
use protocol::algorithm::{Context, Fact, Input};
use protocol::application::{AnyApplication, AnyMessage, Application, Item, Record, diffusing};
use protocol::clock::Stamp;
use protocol::group::NodeSet;
use protocol::{Instant, NodeId, Span, snapshot};
use std::cell::RefCell;
use std::collections::VecDeque;

/// What was done, and what is left to be told of it.
#[derive(Clone, Debug, Default)]
struct Log {
    doings: VecDeque<Doing>,
    /// Which snapshots the recorded states belong to, in the order of the records.
    snapshots: VecDeque<snapshot::Id>,
    /// Whether a state was recorded since messages were held back.
    recorded: bool,
    /// The waves and rounds so far, and what the clock showed, when somebody last looked.
    waves: u32,
    rounds: u32,
    shown: Option<Instant>,
}

/// An application, or none, with a log.
#[derive(Clone, Debug)]
pub struct Traced {
    application: Option<AnyApplication<ACTORS_MAX>>,
    log: RefCell<Log>,
    busy: bool,
    overtaking: Chance,
    /// Messages that a marker may overtake.
    held: Vec<(NodeId, Stamp, AnyMessage)>,
}

/// A record whose snapshot is not known yet.
const UNKNOWN: snapshot::Id = snapshot::Id { initiator: NodeId(u32::MAX), incarnation: 0, number: 0 };

impl Traced {
    /// The application of a scenario.
    #[must_use]
    pub fn new(plan: &AppPlan) -> Self {
        let pause = Span::from_micros(plan.pause as u32);
        Self {
            application: AnyApplication::by_name(&plan.kind, plan.tokens, pause),
            log: RefCell::default(),
            busy: false,
            overtaking: plan.overtaking,
            held: Vec::new(),
        }
    }

    /// Writes something down.
    pub(super) fn note(&self, act: Act) {
        self.log.borrow_mut().doings.push_back(Doing::Act(act));
    }

    /// Writes down what others on this node have done since.
    pub(super) fn look_at(&self, waves: u32, rounds: u32, shown: Option<Instant>) {
        let mut log = self.log.borrow_mut();
        if let (Some(before), Some(now)) = (log.shown, shown)
            && now.as_micros() < before.as_micros()
        {
            let by = (before.as_micros() - now.as_micros()).try_into().unwrap_or(u32::MAX);
            log.doings.push_back(Doing::Act(Act::Back { by }));
        }
        if waves != log.waves && waves > 0 {
            log.doings.push_back(Doing::Act(Act::Wave { number: waves }));
        }
        if rounds != log.rounds && rounds > 0 {
            log.doings.push_back(Doing::Act(Act::Round { number: rounds }));
        }
        (log.waves, log.rounds, log.shown) = (waves, rounds, shown.or(log.shown));
    }

    /// The oldest state recorded of which it was not said was for this snapshot.
    pub(super) fn recorded_for(&self, id: snapshot::Id) {
        self.log.borrow_mut().snapshots.push_back(id);
    }

    /// The oldest thing done that was not told.
    pub(super) fn next(&self) -> Option<Doing> {
        let mut log = self.log.borrow_mut();
        let doing = log.doings.pop_front()?;
        Some(match doing {
            Doing::Act(Act::Recorded { snapshot: UNKNOWN, amount }) => {
                let snapshot = log.snapshots.pop_front().unwrap_or(UNKNOWN);
                Doing::Act(Act::Recorded { snapshot, amount })
            }
            Doing::Act(_) | Doing::Says { .. } | Doing::Hears { .. } => doing,
        })
    }

    /// What a node had, whose recorded state this is.
    pub(super) fn in_state(&self, bytes: &[u8]) -> u32 {
        self.application.as_ref().and_then(|application| application.in_state(bytes)).unwrap_or(0)
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, stamp: Stamp, message: AnyMessage) {
        let Some(application) = &mut self.application else { return };
        let amount = in_item(&application.item(cx, from, &message));
        self.log.borrow_mut().doings.push_back(Doing::Hears { from, message, amount });
        application.handle(cx, Input::Message { from, stamp, message });
    }

    fn release(&mut self, cx: &Context<'_>) {
        self.log.borrow_mut().recorded = false;
        for (from, stamp, message) in std::mem::take(&mut self.held) {
            self.hear(cx, from, stamp, message);
        }
    }

    fn look(&mut self) {
        let busy = self.is_busy();
        if busy != self.busy {
            self.busy = busy;
            self.note(if busy { Act::Busy } else { Act::Idle });
        }
    }
}

/// What a message brings that was recorded on its way.
pub(super) fn in_item(bytes: &[u8]) -> u32 {
    AnyApplication::<ACTORS_MAX>::in_item(bytes).unwrap_or(0)
}

impl Application for Traced {
    type Message = AnyMessage;
    type Command = diffusing::Command;

    fn handle(&mut self, cx: &Context<'_>, input: Input<AnyMessage, diffusing::Command>) {
        if self.log.borrow().recorded || matches!(input, Input::Timeout) {
            self.release(cx);
        }
        match input {
            Input::Message { from, stamp, message } if self.overtaking.covers(u64::from(cx.random)) => {
                self.held.push((from, stamp, message));
            }
            Input::Message { from, stamp, message } => self.hear(cx, from, stamp, message),
            Input::Command(_) | Input::Fact(_) | Input::Timeout => {
                match input {
                    Input::Fact(Fact::PeerDown(set)) => {
                        cx.roster.ids_of(set).for_each(|to| self.note(Act::GivesUp { to: to.0 }));
                    }
                    Input::Fact(Fact::PeerUp(set)) => {
                        cx.roster.ids_of(set).for_each(|to| self.note(Act::Reaches { to: to.0 }));
                    }
                    _ => {} // nothing else changes what can be heard
                }
                if let Some(application) = &mut self.application {
                    application.handle(cx, input);
                }
            }
        }
        self.look();
    }

    fn speak(&mut self, cx: &Context<'_>) -> Option<(NodeSet, AnyMessage)> {
        let said = self.application.as_mut()?.speak(cx);
        if let Some((to, message)) = said {
            let doings = cx.roster.ids_of(to).map(|to| Doing::Says { to, message });
            self.log.borrow_mut().doings.extend(doings);
        }
        self.look();
        said
    }

    fn is_busy(&self) -> bool {
        self.application.as_ref().is_some_and(Application::is_busy)
    }

    fn record(&self, cx: &Context<'_>) -> Option<Record> {
        let record = self.application.as_ref()?.record(cx)?;
        self.note(Act::Recorded { snapshot: UNKNOWN, amount: self.in_state(&record) });
        self.log.borrow_mut().recorded = true;
        Some(record)
    }

    fn item(&self, cx: &Context<'_>, from: NodeId, message: &AnyMessage) -> Item {
        self.application.as_ref().map_or_else(Item::new, |application| application.item(cx, from, message))
    }

    fn job(&self) -> u32 {
        self.application.as_ref().map_or(0, Application::job)
    }

    fn finish(&mut self, job: u32) {
        if let Some(application) = &mut self.application {
            application.finish(job);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.application.as_ref()?.deadline()
    }
}
