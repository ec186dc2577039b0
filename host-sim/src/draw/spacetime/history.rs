//! The history of the applications of a run.

use crate::base::Micros;
use crate::check::quiescence::Quiescence;
use crate::trace::{AppEvent, AppRequest, EventKind, Observer, TraceEvent};
use protocol::service::snapshot;
use std::collections::BTreeMap;

/// The moment of an event. The order of the trace decides between two events at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The time, in microseconds since the run began.
    pub(crate) at: Micros,
    /// The index of the event in the history.
    pub(crate) order: usize,
}

/// A message between applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) amount: u32,
    /// When it was sent; `None` if it never was.
    pub(crate) sent: Option<Moment>,
    /// When it was received; `None` if it never was.
    pub(crate) received: Option<Moment>,
}

/// A message that a snapshot found in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transit {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) amount: u32,
}

/// The position of a message relative to a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Crossing {
    /// Sent and received on one side of the cut.
    None,
    /// Sent before the cut and received after it: in flight.
    Forward,
    /// In flight, and not in the snapshot: a marker overtook it.
    Missed,
    /// Sent after the cut and received before it: the cut is inconsistent.
    Backward,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) id: snapshot::Id,
    /// When it passes each node, and the amount the node had.
    pub(crate) records: BTreeMap<u32, (Moment, u32)>,
    /// The states reported to the initiator.
    pub(crate) states: BTreeMap<u32, u32>,
    /// The messages in flight reported to the initiator.
    pub(crate) transits: Vec<Transit>,
    /// The number of nodes of a complete snapshot, or the reason of an aborted one; `None` while it is open.
    pub(crate) end: Option<Result<u32, &'static str>>,
}

impl Cut {
    pub(crate) fn crossing(&self, message: &Message) -> Crossing {
        // A node that the cut never passes stays before it.
        let past = |node: u32, moment: Option<Moment>| {
            let record = self.records.get(&node).map(|(moment, _)| moment.order);
            moment.map(|moment| record.is_some_and(|record| record < moment.order))
        };
        match (past(message.from, message.sent), past(message.to, message.received)) {
            (Some(false), Some(true)) if self.misses(message) => Crossing::Missed,
            (Some(false), Some(true)) => Crossing::Forward,
            (Some(false), None) if self.records.contains_key(&message.to) => Crossing::Forward,
            (Some(true), Some(false)) => Crossing::Backward,
            _ => Crossing::None,
        }
    }

    /// Returns whether a message in flight is not part of the complete snapshot.
    fn misses(&self, message: &Message) -> bool {
        let Message { from, to, amount, .. } = *message;
        let found = |transit: &Transit| (transit.from, transit.to, transit.amount) == (from, to, amount);
        matches!(self.end, Some(Ok(_))) && !self.transits.iter().any(found)
    }

    /// Returns the sum over all states and all messages in flight.
    pub(crate) fn sum(&self) -> u64 {
        let states = self.states.values().copied();
        states.chain(self.transits.iter().map(|transit| transit.amount)).map(u64::from).sum()
    }
}

/// What a node does, as far as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Send(usize),
    Receive(usize),
    Busy,
    Idle,
    /// A cut passes it.
    Recorded(usize),
    /// It begins a wave.
    Wave(u32),
    /// It is asked to start a job of so many units.
    Start(u32),
    /// It knows that the job is over.
    Terminated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: Micros,
    pub(crate) node: u32,
    /// What the node does. Messages and cuts are given by their index in the history.
    pub(crate) action: Action,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) events: Vec<Event>,
    /// The messages, in the order of sending.
    pub(crate) messages: Vec<Message>,
    /// The snapshots, in the order of their start.
    pub(crate) cuts: Vec<Cut>,
    /// Why termination cannot be detected, if a node reported that.
    pub(crate) detection_aborted: Option<&'static str>,
    /// The index of each message in flight, by number.
    in_flight: BTreeMap<u32, usize>,
    quiescence: Quiescence,
    /// When the last job really ended: all nodes idle and no message in flight.
    pub(crate) ended: Option<Moment>,
}

impl History {
    /// Returns the node that first knew of the end, and when.
    pub(crate) fn announced(&self) -> Option<(u32, Moment)> {
        let mut events = self.events.iter().enumerate();
        let (order, event) = events.find(|(_, event)| event.action == Action::Terminated)?;
        Some((event.node, Moment { at: event.at, order }))
    }

    /// Returns the number of waves begun between two moments.
    pub(crate) fn waves(&self, after: Moment, before: Moment) -> usize {
        let between = self.events.get(after.order + 1..before.order).unwrap_or_default();
        between.iter().filter(|event| matches!(event.action, Action::Wave(_))).count()
    }

    fn push(&mut self, at: Micros, node: u32, action: Action) -> Moment {
        let moment = Moment { at, order: self.events.len() };
        self.events.push(Event { at, node, action });
        moment
    }

    /// Returns the index of the cut with this id, which may be new.
    fn cut_index(&mut self, id: snapshot::Id) -> usize {
        let known = self.cuts.iter().position(|cut| cut.id == id);
        known.unwrap_or_else(|| {
            let (records, states) = (BTreeMap::new(), BTreeMap::new());
            self.cuts.push(Cut { id, records, states, transits: Vec::new(), end: None });
            self.cuts.len() - 1
        })
    }

    fn cut(&mut self, id: snapshot::Id) -> &mut Cut {
        let index = self.cut_index(id);
        &mut self.cuts[index]
    }

    fn on_send(&mut self, at: Micros, from: u32, to: u32, number: u32, amount: u32) {
        let index = self.messages.len();
        let sent = Some(self.push(at, from, Action::Send(index)));
        self.messages.push(Message { from, to, amount, sent, received: None });
        self.in_flight.insert(number, index);
    }

    fn on_receive(&mut self, at: Micros, to: u32, from: u32, number: Option<u32>, amount: u32) {
        let known = number.and_then(|number| self.in_flight.remove(&number));
        let index = known.unwrap_or_else(|| {
            self.messages.push(Message { from, to, amount, sent: None, received: None });
            self.messages.len() - 1
        });
        let received = self.push(at, to, Action::Receive(index));
        self.messages[index].received = Some(received);
    }

    fn on_app_event(&mut self, at: Micros, node: u32, event: AppEvent) {
        match event {
            AppEvent::Sends { to, message, amount } => self.on_send(at, node, to, message, amount),
            AppEvent::Receives { from, message, amount } => self.on_receive(at, node, from, message, amount),
            AppEvent::Busy => _ = self.push(at, node, Action::Busy),
            AppEvent::Idle => _ = self.push(at, node, Action::Idle),
            AppEvent::Recorded { snapshot, amount } => {
                let cut = self.cut_index(snapshot);
                let moment = self.push(at, node, Action::Recorded(cut));
                self.cuts[cut].records.insert(node, (moment, amount));
            }
            AppEvent::State { snapshot, of, amount } => _ = self.cut(snapshot).states.insert(of, amount),
            AppEvent::Channel { snapshot, from, to, amount } => {
                self.cut(snapshot).transits.push(Transit { from, to, amount });
            }
            AppEvent::Completed { snapshot, nodes } => self.cut(snapshot).end = Some(Ok(nodes)),
            // Every participant is notified; the initiator's reason comes first.
            AppEvent::Aborted { snapshot, reason } => {
                self.cut(snapshot).end.get_or_insert(Err(reason.description()));
            }
            AppEvent::Wave { number } => _ = self.push(at, node, Action::Wave(number)),
            AppEvent::Request { request: AppRequest::Start { units } } => _ = self.push(at, node, Action::Start(units)),
            AppEvent::Terminated { .. } => _ = self.push(at, node, Action::Terminated),
            AppEvent::DetectionAborted { reason } => self.detection_aborted = Some(reason),
            _ => {} // not drawn
        }
    }
}

impl Observer for History {
    fn observe(&mut self, event: &TraceEvent) {
        let worked = self.quiescence.quiet_since().is_none();
        self.quiescence.observe(event);
        if let (EventKind::App { event: app_event }, Some(node)) = (event.kind, event.node) {
            self.on_app_event(event.at, node, app_event);
        }
        if self.quiescence.quiet_since().is_none() {
            self.ended = None;
        } else if worked {
            self.ended = self.events.len().checked_sub(1).map(|order| Moment { at: event.at, order });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::spacetime::script::{CUT, Script};

    fn crossings(history: &History) -> Vec<Crossing> {
        history.messages.iter().map(|message| history.cuts[0].crossing(message)).collect()
    }

    #[test]
    fn a_message_is_on_one_side_of_a_cut_or_crosses_it_either_way() {
        let history = Script::default()
            .sends(1, 0, 1, 0, 5)
            .receives(2, 1, 0, 0, 5)
            .sends(3, 0, 1, 1, 6)
            .sends(3, 0, 1, 2, 7)
            .recorded(4, 1, 0)
            .receives(5, 1, 0, 1, 6)
            .sends(6, 1, 0, 3, 8)
            .receives(7, 0, 1, 3, 8)
            .recorded(8, 0, 0)
            .sends(9, 0, 1, 4, 9)
            .history();
        let [none, forward, backward] = [Crossing::None, Crossing::Forward, Crossing::Backward];
        assert_eq!(crossings(&history), [none, forward, forward, backward, none]);
    }

    #[test]
    fn the_sum_is_over_states_and_messages_in_flight() {
        let transit = Transit { from: 1, to: 0, amount: 3 };
        let history = Script::default().state(1, 0, 10).state(1, 1, 7).channel(2, transit).taken(3, 2).history();
        let cut = &history.cuts[0];
        assert_eq!((cut.id, cut.sum(), cut.end, &cut.transits[..]), (CUT, 20, Some(Ok(2)), &[transit][..]));
    }

    #[test]
    fn at_one_time_the_order_of_the_trace_decides() {
        let sent_first =
            Script::default().sends(1, 0, 1, 0, 5).recorded(1, 0, 0).recorded(1, 1, 0).receives(1, 1, 0, 0, 5);
        assert_eq!(crossings(&sent_first.history()), [Crossing::Forward]);
        let sent_last =
            Script::default().recorded(1, 0, 0).sends(1, 0, 1, 0, 5).receives(1, 1, 0, 0, 5).recorded(1, 1, 0);
        assert_eq!(crossings(&sent_last.history()), [Crossing::Backward]);
    }

    #[test]
    fn a_job_has_ended_when_all_nodes_are_idle_and_no_message_is_in_flight() {
        let script = Script::default().starts(0, 0, 9).busy(0, 0).sends(1, 0, 1, 0, 4).idle(2, 0).wave(3, 0, 1);
        assert_eq!(script.clone().history().ended, None, "a message is in flight");
        let script = script.receives(4, 1, 0, 0, 4).busy(4, 1).wave(5, 0, 2);
        assert_eq!(script.clone().history().ended, None, "a node works");
        let history = script.idle(6, 1).wave(7, 0, 3).wave(8, 0, 4).terminated(9, 0).terminated(10, 1).history();
        let (end, (who, announced)) = (history.ended.unwrap(), history.announced().unwrap());
        assert_eq!((end.at, who, announced.at, history.waves(end, announced)), (6_000, 0, 9_000, 2));
    }

    #[test]
    fn a_message_that_was_never_sent_matches_no_message_that_was() {
        let history = Script::default().sends(1, 0, 1, 0, 5).stray(2, 1, 0, 5).history();
        let ends: Vec<_> =
            history.messages.iter().map(|message| (message.sent.is_some(), message.received.is_some())).collect();
        assert_eq!(ends, [(true, false), (false, true)]);
    }
}
