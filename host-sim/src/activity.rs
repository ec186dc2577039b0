//! Is anything going on? Who works and what is on its way, as only somebody knows who sees all nodes at once.

use crate::queue::Micros;
use crate::trace::{Act, Observer, TraceEvent, What};
use std::collections::{BTreeMap, BTreeSet};

/// What goes on.
#[derive(Clone, Debug)]
pub struct Activity {
    busy: BTreeSet<u32>,
    /// Messages on their way, by number: from whom, to whom.
    under_way: BTreeMap<u32, (u32, u32)>,
    /// Who believes whom to be down: as long as somebody does, nobody knows whether that one works.
    suspected: BTreeSet<(u32, u32)>,
    /// Since when nothing goes on.
    quiet_since: Option<Micros>,
    /// The waves that began since, by who began them.
    waves: BTreeMap<u32, u64>,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            busy: BTreeSet::new(),
            under_way: BTreeMap::new(),
            suspected: BTreeSet::new(),
            quiet_since: Some(0),
            waves: BTreeMap::new(),
        }
    }
}

impl Activity {
    /// Since when nobody works, nothing is on its way and nobody is believed to be down; `None` while that is not so.
    #[must_use]
    pub fn quiet_since(&self) -> Option<Micros> {
        self.quiet_since
    }

    /// How many waves a node has begun since; none while something goes on.
    #[must_use]
    pub fn waves(&self, node: u32) -> u64 {
        self.waves.get(&node).copied().unwrap_or(0)
    }

    /// What goes on, in words; `None` if nothing does.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let works = self.busy.first().map(|node| format!("node {node} works"));
        works.or_else(|| {
            let (from, to) = self.under_way.values().next()?;
            Some(format!("a message from node {from} to node {to} is on its way"))
        })
    }

    fn act(&mut self, node: u32, act: Act) {
        match act {
            Act::Busy => _ = self.busy.insert(node),
            Act::Idle => _ = self.busy.remove(&node),
            Act::Says { to, message, .. } => _ = self.under_way.insert(message, (node, to)),
            Act::Hears { message: Some(message), .. } => _ = self.under_way.remove(&message),
            Act::GivesUp { to } => {
                self.under_way.retain(|_, &mut way| way != (node, to));
                self.suspected.insert((node, to));
            }
            Act::Reaches { to } => _ = self.suspected.remove(&(node, to)),
            Act::Wave { .. } => *self.waves.entry(node).or_default() += 1,
            // These neither begin nor end any work.
            Act::Asked { .. }
            | Act::Hears { message: None, .. }
            | Act::Recorded { .. }
            | Act::State { .. }
            | Act::Channel { .. }
            | Act::Taken { .. }
            | Act::Aborted { .. }
            | Act::Over { .. }
            | Act::Unknowable { .. }
            | Act::Round { .. }
            | Act::Set
            | Act::Corrected { .. }
            | Act::Back { .. } => {}
        }
    }
}

impl Observer for Activity {
    fn see(&mut self, event: &TraceEvent) {
        match (event.what, event.node) {
            (What::App { act }, Some(node)) => self.act(node, act),
            // What a node was doing, and what was on its way to it, is lost with it.
            (What::Crash, Some(node)) => {
                self.busy.remove(&node);
                self.under_way.retain(|_, &mut (from, to)| from != node && to != node);
                self.suspected.retain(|&(who, _)| who != node);
            }
            _ => return, // every other event is about no application
        }
        if !(self.busy.is_empty() && self.under_way.is_empty() && self.suspected.is_empty()) {
            self.quiet_since = None;
            self.waves.clear();
        } else if self.quiet_since.is_none() {
            self.quiet_since = Some(event.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_quiet_when_nobody_works_and_nothing_is_on_its_way() {
        let mut activity = Activity::default();
        let mut seen = Vec::new();
        let events = [
            (1, 0, What::App { act: Act::Busy }),
            (2, 0, What::App { act: Act::Says { to: 1, message: 7, amount: 3 } }),
            (3, 0, What::App { act: Act::Idle }),
            (4, 1, What::App { act: Act::Hears { from: 0, message: Some(7), amount: 3 } }),
            (5, 0, What::App { act: Act::Wave { number: 1 } }),
            (6, 1, What::App { act: Act::Busy }),
            (7, 1, What::Crash),
            (8, 0, What::App { act: Act::Says { to: 1, message: 8, amount: 3 } }),
            (9, 0, What::App { act: Act::GivesUp { to: 1 } }),
            (10, 0, What::App { act: Act::Reaches { to: 1 } }),
        ];
        for (at, node, what) in events {
            activity.see(&TraceEvent { at, node: Some(node), what });
            seen.push((activity.words(), activity.quiet_since(), activity.waves(0)));
        }
        let busy = |words: &str| (Some(words.to_owned()), None, 0);
        let expected = [
            busy("node 0 works"),
            busy("node 0 works"),
            busy("a message from node 0 to node 1 is on its way"),
            (None, Some(4), 0),
            (None, Some(4), 1),
            busy("node 1 works"),
            (None, Some(7), 0),
            busy("a message from node 0 to node 1 is on its way"),
            (None, None, 0),
            (None, Some(10), 0),
        ];
        assert_eq!(seen, expected);
    }
}
