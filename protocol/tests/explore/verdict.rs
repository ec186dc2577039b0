//! What a finished search says: whether anybody waits for ever, and how it came to what must not be.

use super::{Broken, Explorer, Move};
use crate::cast::{Event, Explored, NODES, Role};
use std::fmt::Write;

impl<L: Explored> Explorer<L> {
    /// Wherever `node` waits, it is served sometime: by nothing but what happens sometime whatever else does. Beyond the
    /// bounds it may be.
    pub(super) fn check_waiter(&self, node: usize) -> Result<(), Broken> {
        let waits = |at: usize| matches!(self.cast.get(self.states[at].nodes[node]).role, Role::Waiting { .. });
        let mut served: Vec<bool> =
            (0..self.states.len()).map(|at| self.cut[at] || !waits(at) || self.is_late(at)).collect();
        let mut open: Vec<usize> = (0..served.len()).filter(|&at| served[at]).collect();
        while let Some(at) = open.pop() {
            let to = u32::try_from(at).unwrap();
            let start = self.certain.partition_point(|&(_, other)| other < to);
            for &(from, _) in self.certain[start..].iter().take_while(|&&(_, other)| other == to) {
                if !std::mem::replace(&mut served[from as usize], true) {
                    open.push(from as usize);
                }
            }
        }
        match served.iter().position(|&served| !served) {
            Some(at) => Err(self.broken("somebody waits for ever", at, None)),
            None => Ok(()),
        }
    }

    /// Whether time would have to go on, and does not any more.
    fn is_late(&self, at: usize) -> bool {
        let state = &self.states[at];
        let hour = self.pasts.get(state.past).hour;
        let mut awaits = state.nodes.iter().map(|&number| self.cast.get(number).awaits_time(hour));
        self.bounds.hours > 0 && hour == self.bounds.hours && awaits.any(|awaits| awaits)
    }

    /// How it came to that.
    pub(super) fn broken(&self, why: &'static str, at: usize, last: Option<Move>) -> Broken {
        let mut moves: Vec<Move> = last.into_iter().collect();
        let mut at = at;
        while let (before, Some(step)) = self.before[at] {
            moves.push(step);
            at = before as usize;
        }
        let steps = moves.into_iter().rev().map(|step| self.describe(step)).collect();
        Broken { why, steps }
    }

    fn describe(&self, step: Move) -> String {
        let mut text = String::new();
        let letter = |number: u32| {
            let letter = &self.cast.letters[number as usize];
            format!("{} hears {} say {:?} at {}", letter.to, letter.from, letter.message, letter.stamp.0)
        };
        let written = match step {
            Move::At(_, Event::Hear(number)) => write!(text, "{}", letter(number)),
            Move::At(node, event) => write!(text, "{node}: {event:?}"),
            Move::Repeat(number) => write!(text, "{}, and will again", letter(number)),
            Move::Crash(node) => write!(text, "{node} starts anew"),
            Move::Hour => write!(text, "time goes on"),
            Move::Lose(way) => write!(text, "what {} said first to {} is lost", way / NODES, way % NODES),
        };
        written.expect("a string has room");
        text
    }
}
