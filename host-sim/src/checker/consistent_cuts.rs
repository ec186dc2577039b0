//! Always: a snapshot that is taken is a state all nodes together could have been in. No message was heard before the cut and
//! said after it; every message said before the cut and heard after it is recorded, and no other; every state is that which
//! its node had at the cut.

use crate::trace::{Act, TraceEvent, What};
use protocol::snapshot;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "consistent-cuts";

/// A message: who said it to whom, as the how many-th of all events, and what became of it.
struct Message {
    from: u32,
    to: u32,
    said: u64,
    /// As the how many-th of all events it was heard, and what it brought.
    heard: Option<(u64, u32)>,
    amount: u32,
    /// Whether it may never be heard: what it brought is then made good by a later one.
    given_up: bool,
}

/// A snapshot under way.
#[derive(Default)]
struct Cut {
    /// At which event the cut passes each node, and what it had there.
    nodes: BTreeMap<u32, (u64, u32)>,
    /// What the initiator was told of states and of messages on their way.
    states: BTreeMap<u32, u32>,
    channels: BTreeMap<(u32, u32), Vec<u32>>,
}

#[derive(Default)]
pub(super) struct ConsistentCuts {
    events: u64,
    messages: BTreeMap<u32, Message>,
    cuts: BTreeMap<snapshot::Id, Cut>,
}

impl ConsistentCuts {
    pub(super) fn see(&mut self, event: &TraceEvent) -> Option<String> {
        let (act, node) = match (event.what, event.node) {
            (What::App { act }, Some(node)) => (act, node),
            (What::Crash, Some(node)) => {
                self.give_up(|message| message.from == node || message.to == node);
                return None;
            }
            _ => return None, // every other event is about no application
        };
        self.events += 1;
        let now = self.events;
        match act {
            Act::Says { to, message, amount } => {
                self.messages
                    .insert(message, Message { from: node, to, said: now, heard: None, amount, given_up: false });
            }
            Act::Hears { from, message, amount } => {
                let Some(message) = message.and_then(|message| self.messages.get_mut(&message)) else {
                    return Some(format!("node {node} heard from node {from} what it never said"));
                };
                message.heard = Some((now, amount));
            }
            Act::GivesUp { to } => {
                self.give_up(|message| (message.from, message.to) == (node, to));
            }
            Act::Recorded { snapshot, amount } => {
                self.cuts.entry(snapshot).or_default().nodes.insert(node, (now, amount));
            }
            Act::State { snapshot, of, amount } => {
                *self.cuts.entry(snapshot).or_default().states.entry(of).or_default() += amount;
            }
            Act::Channel { snapshot, from, to, amount } => {
                self.cuts.entry(snapshot).or_default().channels.entry((from, to)).or_default().push(amount);
            }
            Act::Taken { snapshot, nodes } => {
                let cut = self.cuts.remove(&snapshot).unwrap_or_default();
                let wrong = self.judge(&cut, nodes)?;
                return Some(format!("snapshot {} of node {}: {wrong}", snapshot.number, snapshot.initiator.0));
            }
            Act::Aborted { snapshot, .. } => _ = self.cuts.remove(&snapshot),
            // These are part of no cut.
            Act::Asked { .. }
            | Act::Reaches { .. }
            | Act::Busy
            | Act::Idle
            | Act::Wave { .. }
            | Act::Over { .. }
            | Act::Unknowable { .. }
            | Act::Round { .. }
            | Act::Set
            | Act::Corrected { .. }
            | Act::Back { .. } => {}
        }
        None
    }

    /// Such messages, if they were not heard yet, may never be.
    fn give_up(&mut self, such: impl Fn(&Message) -> bool) {
        self.messages.values_mut().filter(|message| such(message)).for_each(|message| message.given_up = true);
    }

    /// What is wrong with a cut through so many nodes.
    fn judge(&self, cut: &Cut, nodes: u32) -> Option<String> {
        let had: BTreeMap<u32, u32> = cut.nodes.iter().map(|(&node, &(_, amount))| (node, amount)).collect();
        if had != cut.states || had.len() != nodes as usize {
            return Some(format!("the states {:?} were recorded, the initiator has {:?}", had, cut.states));
        }
        let mut under_way: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        let counts = |message: &&Message| !(message.given_up && message.heard.is_none());
        for Message { from, to, said, heard, amount, .. } in self.messages.values().filter(counts) {
            let (Some((there, _)), Some((here, _))) = (cut.nodes.get(from), cut.nodes.get(to)) else { continue };
            let heard_before = heard.is_some_and(|(heard, _)| heard < *here);
            if said > there && heard_before {
                return Some(format!("node {to} had heard from node {from} what was said after the cut"));
            }
            if said < there && !heard_before {
                under_way.entry((*from, *to)).or_default().push(heard.map_or(*amount, |(_, amount)| amount));
            }
        }
        (under_way != cut.channels)
            .then(|| format!("on their way were {under_way:?}, recorded were {:?}", cut.channels))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ID, NOTHING, acted};
    use super::*;

    fn says(message: u32) -> TraceEvent {
        acted(0, Act::Says { to: 1, message, amount: 3 })
    }

    fn hears(message: u32) -> TraceEvent {
        acted(1, Act::Hears { from: 0, message: Some(message), amount: 3 })
    }

    fn recorded(node: u32) -> TraceEvent {
        acted(node, Act::Recorded { snapshot: ID, amount: 5 })
    }

    /// The initiator learns both states, this many messages, and that this is all.
    fn found(before: &[TraceEvent], channel: usize) -> Vec<String> {
        let mut checker = ConsistentCuts::default();
        let state = |of| acted(0, Act::State { snapshot: ID, of, amount: 5 });
        let message = acted(0, Act::Channel { snapshot: ID, from: 0, to: 1, amount: 3 });
        let told = [state(0), state(1)].into_iter().chain(std::iter::repeat_n(message, channel));
        let taken = acted(0, Act::Taken { snapshot: ID, nodes: 2 });
        before.iter().copied().chain(told).chain([taken]).filter_map(|event| checker.see(&event)).collect()
    }

    #[test]
    fn s1_a_message_said_before_the_cut_and_heard_after_it_must_be_recorded() {
        let crossing = [says(0), recorded(0), recorded(1), hears(0)];
        assert_eq!(found(&crossing, 1), NOTHING);
        let expected = ["snapshot 1 of node 0: on their way were {(0, 1): [3]}, recorded were {}"];
        assert_eq!(found(&crossing, 0), expected);
    }

    #[test]
    fn a_message_that_was_given_up_need_not_be_recorded() {
        let crash = TraceEvent { what: What::Crash, ..says(0) };
        for reason in [acted(0, Act::GivesUp { to: 1 }), crash] {
            let lost = [says(0), reason, recorded(0), recorded(1)];
            assert_eq!(found(&lost, 0), NOTHING);
            assert_eq!(found(&lost, 1).len(), 1);
        }
    }

    #[test]
    fn a_message_on_one_side_of_the_cut_must_not_be_recorded() {
        for beside in [[says(0), hears(0), recorded(0), recorded(1)], [recorded(0), recorded(1), says(0), hears(0)]] {
            assert_eq!(found(&beside, 0), NOTHING);
            assert_eq!(found(&beside, 1).len(), 1);
        }
    }

    #[test]
    fn a_message_from_after_the_cut_into_before_it_is_reported() {
        let expected = ["snapshot 1 of node 0: node 1 had heard from node 0 what was said after the cut"];
        assert_eq!(found(&[recorded(0), says(0), hears(0), recorded(1)], 0), expected);
    }

    #[test]
    fn a_node_that_was_never_recorded_and_a_message_nobody_said_are_reported() {
        assert_eq!(found(&[recorded(0)], 0).len(), 1);
        let nobody = acted(1, Act::Hears { from: 0, message: None, amount: 3 });
        assert_eq!(found(&[nobody, recorded(0), recorded(1)], 0), ["node 1 heard from node 0 what it never said"]);
    }
}
