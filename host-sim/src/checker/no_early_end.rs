//! Always: a job is said to be over only when nobody works and nothing is on its way, so that nothing said before is heard
//! after; and whoever finds it needs no third wave after that, once nobody is believed to be down. Waves are counted while no
//! node has crashed and the network was not cut: after that members may not agree for a while on who counts.

use crate::activity::Activity;
use crate::trace::{Act, Observer, TraceEvent, What};

pub(super) const NAME: &str = "no-early-end";

/// The waves a detection may need, once the job is over.
const WAVES_MAX: u64 = 2;

#[derive(Default)]
pub(super) struct NoEarlyEnd {
    activity: Activity,
    /// How many messages were said in all.
    said: u32,
    /// How many of them before the last end was found.
    before_end: u32,
    /// Whether members may not agree on who counts.
    shaken: bool,
}

impl NoEarlyEnd {
    pub(super) fn see(&mut self, event: &TraceEvent) -> Option<String> {
        self.activity.see(event);
        let (What::App { act }, Some(node)) = (event.what, event.node) else {
            self.shaken |= matches!(event.what, What::Crash | What::Partition);
            return None; // every other event is about no application
        };
        match act {
            Act::Says { message, .. } => self.said = message + 1,
            Act::Hears { from, message: Some(message), .. } if message < self.before_end => {
                return Some(format!("node {node} hears from node {from} what was said before the end"));
            }
            Act::Over { by, job, .. } if by == node => {
                self.before_end = self.said;
                return self.judge(node, job);
            }
            _ => {} // every other act says nothing about an end
        }
        None
    }

    /// What is wrong with an end that a node has found.
    fn judge(&self, node: u32, job: u32) -> Option<String> {
        if let Some(words) = self.activity.words() {
            return Some(format!("node {node} says that job {job} is over while {words}"));
        }
        let waves = self.activity.waves(node);
        (waves > WAVES_MAX && !self.shaken)
            .then(|| format!("node {node} needed {waves} waves to see that job {job} was over"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::NOTHING;
    use super::*;

    fn found(acts: &[(u32, Act)]) -> Vec<String> {
        let mut checker = NoEarlyEnd::default();
        let event = |&(node, act): &(u32, Act)| TraceEvent { at: 0, node: Some(node), what: What::App { act } };
        acts.iter().filter_map(|act| checker.see(&event(act))).collect()
    }

    const OVER: Act = Act::Over { by: 0, job: 1, waves: 1 };

    #[test]
    fn an_end_that_is_announced_while_somebody_works_or_a_message_travels_is_reported() {
        let says = (1, Act::Says { to: 2, message: 0, amount: 1 });
        let hears = (2, Act::Hears { from: 1, message: Some(0), amount: 1 });
        let acts = [(1, Act::Busy), (0, OVER), says, (1, Act::Idle), (0, OVER), hears, (0, OVER), (1, OVER)];
        let expected = [
            "node 0 says that job 1 is over while node 1 works",
            "node 0 says that job 1 is over while a message from node 1 to node 2 is on its way",
            "node 2 hears from node 1 what was said before the end",
        ];
        assert_eq!(found(&acts), expected);
    }

    #[test]
    fn an_end_that_is_found_too_late_is_reported() {
        let wave = (0, Act::Wave { number: 1 });
        let before = [(1, Act::Busy), wave, wave, wave, (1, Act::Idle)];
        assert_eq!(found(&[&before[..], &[wave, wave, (0, OVER)]].concat()), NOTHING);
        let expected = ["node 0 needed 3 waves to see that job 1 was over"];
        assert_eq!(found(&[&before[..], &[wave, wave, wave, (0, OVER)]].concat()), expected);
    }
}
