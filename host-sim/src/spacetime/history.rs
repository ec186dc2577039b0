//! What applications did, and what watched them.

use crate::activity::Activity;
use crate::machine::Request;
use crate::queue::Micros;
use crate::trace::{Act, Observer, TraceEvent, What};
use protocol::snapshot;
use std::collections::BTreeMap;

/// When something happened. Of two things at one time the order of the trace says which came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time, in microseconds since the run began.
    pub at: Micros,
    /// The how many-th event of a history it is.
    pub order: usize,
}

/// A message between applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who said it.
    pub from: u32,
    /// To whom.
    pub to: u32,
    /// What it brought.
    pub amount: u32,
    /// When it left; `None` if nobody said it.
    pub said: Option<Moment>,
    /// When it was heard; `None` if it never was.
    pub heard: Option<Moment>,
}

/// A message that a snapshot found on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// From whom.
    pub from: u32,
    /// To whom.
    pub to: u32,
    /// What it brought.
    pub amount: u32,
}

/// How a message and a cut lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Crossing {
    /// Both its ends are on one side of the cut.
    None,
    /// It was said before the cut and heard after it: on its way.
    Forward,
    /// It was said after the cut and heard before it, which no state of all nodes can explain.
    Backward,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its name.
    pub id: snapshot::Id,
    /// Where it passes each node, and what the node had there.
    pub records: BTreeMap<u32, (Moment, u32)>,
    /// The states that the initiator learned.
    pub states: BTreeMap<u32, u32>,
    /// The messages that the initiator learned of.
    pub transits: Vec<Transit>,
    /// How it ended: with how many nodes, or why not at all. `None` while it has not.
    pub end: Option<Result<u32, &'static str>>,
}

impl Cut {
    /// How a message and this cut lie to each other.
    #[must_use]
    pub fn crossing(&self, message: &Message) -> Crossing {
        // A node that the cut does not pass is before it for good.
        let past = |node: u32, moment: Option<Moment>| {
            let record = self.records.get(&node).map(|(moment, _)| moment.order);
            moment.map(|moment| record.is_some_and(|record| record < moment.order))
        };
        match (past(message.from, message.said), past(message.to, message.heard)) {
            (Some(false), Some(true)) => Crossing::Forward,
            (Some(false), None) if self.records.contains_key(&message.to) => Crossing::Forward,
            (Some(true), Some(false)) => Crossing::Backward,
            _ => Crossing::None,
        }
    }

    /// All that its nodes had, and all that was on its way.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let states = self.states.values().copied();
        states.chain(self.transits.iter().map(|transit| transit.amount)).map(u64::from).sum()
    }
}

/// What happens to a node, as far as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It says a message.
    Says(usize),
    /// It hears one.
    Hears(usize),
    /// It has work from now on.
    Busy,
    /// It has none any more.
    Idle,
    /// A cut passes it.
    Recorded(usize),
    /// It sends a wave.
    Wave(u32),
    /// It is asked to begin a job of so many units.
    Starts(u32),
    /// It knows that the job is over.
    Over,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Micros,
    /// To whom.
    pub node: u32,
    /// What. Messages and cuts are named by their places in the history.
    pub what: Happening,
}

/// What the applications of a run did.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Everything, in the order in which it happened.
    pub events: Vec<Event>,
    /// The messages, in the order in which they were said.
    pub messages: Vec<Message>,
    /// The snapshots, in the order in which they began.
    pub cuts: Vec<Cut>,
    /// Why nobody will find out whether a job is over, if somebody was told so.
    pub unknowable: Option<&'static str>,
    /// Where messages are that have not been heard, by their numbers.
    under_way: BTreeMap<u32, usize>,
    activity: Activity,
    /// When the job last ended.
    ended: Option<Moment>,
}

impl History {
    /// When the last job was really over: nobody had work any more, and none was on its way.
    #[must_use]
    pub fn ended(&self) -> Option<Moment> {
        self.ended
    }

    /// Who was the first to know that the job is over, and when.
    #[must_use]
    pub fn announced(&self) -> Option<(u32, Moment)> {
        let mut events = self.events.iter().enumerate();
        let (order, event) = events.find(|(_, event)| event.what == Happening::Over)?;
        Some((event.node, Moment { at: event.at, order }))
    }

    /// How many waves began after one moment and before another.
    #[must_use]
    pub fn waves(&self, after: Moment, before: Moment) -> usize {
        let between = self.events.get(after.order + 1..before.order).unwrap_or_default();
        between.iter().filter(|event| matches!(event.what, Happening::Wave(_))).count()
    }

    fn push(&mut self, at: Micros, node: u32, what: Happening) -> Moment {
        let moment = Moment { at, order: self.events.len() };
        self.events.push(Event { at, node, what });
        moment
    }

    /// The place of the cut with this name, which may be new.
    fn cut(&mut self, id: snapshot::Id) -> usize {
        let known = self.cuts.iter().position(|cut| cut.id == id);
        known.unwrap_or_else(|| {
            let (records, states) = (BTreeMap::new(), BTreeMap::new());
            self.cuts.push(Cut { id, records, states, transits: Vec::new(), end: None });
            self.cuts.len() - 1
        })
    }

    fn says(&mut self, at: Micros, from: u32, to: u32, number: u32, amount: u32) {
        let place = self.messages.len();
        let said = Some(self.push(at, from, Happening::Says(place)));
        self.messages.push(Message { from, to, amount, said, heard: None });
        self.under_way.insert(number, place);
    }

    fn hears(&mut self, at: Micros, to: u32, from: u32, number: Option<u32>, amount: u32) {
        let known = number.and_then(|number| self.under_way.remove(&number));
        let place = known.unwrap_or_else(|| {
            self.messages.push(Message { from, to, amount, said: None, heard: None });
            self.messages.len() - 1
        });
        let heard = self.push(at, to, Happening::Hears(place));
        self.messages[place].heard = Some(heard);
    }

    fn act(&mut self, at: Micros, node: u32, act: Act) {
        match act {
            Act::Says { to, message, amount } => self.says(at, node, to, message, amount),
            Act::Hears { from, message, amount } => self.hears(at, node, from, message, amount),
            Act::Busy => {
                self.push(at, node, Happening::Busy);
            }
            Act::Idle => {
                self.push(at, node, Happening::Idle);
            }
            Act::Recorded { snapshot, amount } => {
                let cut = self.cut(snapshot);
                let moment = self.push(at, node, Happening::Recorded(cut));
                self.cuts[cut].records.insert(node, (moment, amount));
            }
            Act::State { snapshot, of, amount } => {
                let cut = self.cut(snapshot);
                self.cuts[cut].states.insert(of, amount);
            }
            Act::Channel { snapshot, from, to, amount } => {
                let cut = self.cut(snapshot);
                self.cuts[cut].transits.push(Transit { from, to, amount });
            }
            Act::Taken { snapshot, nodes } => {
                let cut = self.cut(snapshot);
                self.cuts[cut].end = Some(Ok(nodes));
            }
            Act::Aborted { snapshot, why } => {
                let cut = self.cut(snapshot);
                // Everybody that took part is told; the initiator's own reason is the first or the only one.
                self.cuts[cut].end.get_or_insert(Err(why.words()));
            }
            Act::Wave { number } => {
                self.push(at, node, Happening::Wave(number));
            }
            Act::Asked { request: Request::Start { units } } => {
                self.push(at, node, Happening::Starts(units));
            }
            Act::Over { .. } => {
                self.push(at, node, Happening::Over);
            }
            Act::Unknowable { why } => self.unknowable = Some(why),
            // Clocks are not drawn; what is asked, and who is given up or reached, shows by what comes of it.
            Act::Asked { request: Request::Snapshot | Request::Watch }
            | Act::GivesUp { .. }
            | Act::Reaches { .. }
            | Act::Round { .. }
            | Act::Set
            | Act::Corrected { .. }
            | Act::Back { .. } => {}
        }
    }
}

impl Observer for History {
    fn see(&mut self, event: &TraceEvent) {
        let worked = self.activity.quiet_since().is_none();
        self.activity.see(event);
        if let (What::App { act }, Some(node)) = (event.what, event.node) {
            self.act(event.at, node, act);
        }
        if self.activity.quiet_since().is_none() {
            self.ended = None;
        } else if worked {
            self.ended = self.events.len().checked_sub(1).map(|order| Moment { at: event.at, order });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spacetime::script::{CUT, Script};

    fn crossings(history: &History) -> Vec<Crossing> {
        history.messages.iter().map(|message| history.cuts[0].crossing(message)).collect()
    }

    #[test]
    fn a_message_lies_on_one_side_of_a_cut_or_across_it_either_way() {
        let history = Script::default()
            .says(1, 0, 1, 0, 5)
            .hears(2, 1, 0, 0, 5)
            .says(3, 0, 1, 1, 6)
            .says(3, 0, 1, 2, 7)
            .recorded(4, 1, 0)
            .hears(5, 1, 0, 1, 6)
            .says(6, 1, 0, 3, 8)
            .hears(7, 0, 1, 3, 8)
            .recorded(8, 0, 0)
            .says(9, 0, 1, 4, 9)
            .history();
        let [none, forward, backward] = [Crossing::None, Crossing::Forward, Crossing::Backward];
        assert_eq!(crossings(&history), [none, forward, forward, backward, none]);
    }

    #[test]
    fn what_an_initiator_learns_is_summed_up() {
        let transit = Transit { from: 1, to: 0, amount: 3 };
        let history = Script::default().state(1, 0, 10).state(1, 1, 7).channel(2, transit).taken(3, 2).history();
        let cut = &history.cuts[0];
        assert_eq!((cut.id, cut.sum(), cut.end, &cut.transits[..]), (CUT, 20, Some(Ok(2)), &[transit][..]));
    }

    #[test]
    fn at_one_time_the_order_of_the_trace_counts() {
        let said_first = Script::default().says(1, 0, 1, 0, 5).recorded(1, 0, 0).recorded(1, 1, 0).hears(1, 1, 0, 0, 5);
        assert_eq!(crossings(&said_first.history()), [Crossing::Forward]);
        let said_last = Script::default().recorded(1, 0, 0).says(1, 0, 1, 0, 5).hears(1, 1, 0, 0, 5).recorded(1, 1, 0);
        assert_eq!(crossings(&said_last.history()), [Crossing::Backward]);
    }

    #[test]
    fn a_job_has_ended_when_nobody_works_and_nothing_is_on_its_way() {
        let script = Script::default().starts(0, 0, 9).busy(0, 0).says(1, 0, 1, 0, 4).idle(2, 0).wave(3, 0, 1);
        assert_eq!(script.clone().history().ended(), None, "something is on its way");
        let script = script.hears(4, 1, 0, 0, 4).busy(4, 1).wave(5, 0, 2);
        assert_eq!(script.clone().history().ended(), None, "somebody works");
        let history = script.idle(6, 1).wave(7, 0, 3).wave(8, 0, 4).over(9, 0).over(10, 1).history();
        let (end, (who, announced)) = (history.ended().unwrap(), history.announced().unwrap());
        assert_eq!((end.at, who, announced.at, history.waves(end, announced)), (6_000, 0, 9_000, 2));
    }

    #[test]
    fn a_message_that_nobody_said_is_none_that_somebody_did() {
        let history = Script::default().says(1, 0, 1, 0, 5).stray(2, 1, 0, 5).history();
        let ends: Vec<_> =
            history.messages.iter().map(|message| (message.said.is_some(), message.heard.is_some())).collect();
        assert_eq!(ends, [(true, false), (false, true)]);
    }
}
