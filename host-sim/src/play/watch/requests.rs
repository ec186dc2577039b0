//! The requests of a run: how many ended how, and how long they took.

use crate::base::Micros;
use crate::trace::RequestStep;
use std::collections::BTreeMap;

/// The node that made a request, its boot, and the request's number in that boot.
type Id = (u32, u8, u16);

#[derive(Default)]
pub(in crate::play) struct Requests {
    /// When requests were made that have not ended.
    open: BTreeMap<Id, Micros>,
    made: u64,
    answered: u64,
    refused: u64,
    timed_out: u64,
}

impl Requests {
    /// Counts a step of a request; returns how long it took, if this is its answer.
    pub(super) fn observe(&mut self, at: Micros, step: RequestStep, id: Id) -> Option<Micros> {
        match step {
            RequestStep::Made => {
                self.made += 1;
                self.open.insert(id, at);
                return None;
            }
            RequestStep::Handled
            | RequestStep::Sent
            | RequestStep::Received
            | RequestStep::Delivered
            | RequestStep::Undelivered => return None,
            RequestStep::Answered => self.answered += 1,
            RequestStep::Refused => self.refused += 1,
            RequestStep::TimedOut => self.timed_out += 1,
        }
        let made = self.open.remove(&id)?;
        (step == RequestStep::Answered).then(|| at - made)
    }

    /// Forgets the open requests of a node that stops: nobody waits for them.
    pub(super) fn forget(&mut self, node: u32) {
        self.open.retain(|(origin, ..), _| *origin != node);
    }

    /// Returns how many were made, answered, refused, timed out, and are open.
    pub(in crate::play) fn counts(&self) -> [u64; 5] {
        [self.made, self.answered, self.refused, self.timed_out, self.open.len() as u64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_counted_once_and_only_answers_have_a_time() {
        let mut requests = Requests::default();
        for number in 0..4 {
            assert_eq!(requests.observe(100, RequestStep::Made, (1, 0, number)), None);
        }
        assert_eq!(requests.observe(150, RequestStep::Handled, (1, 0, 0)), None);
        assert_eq!(requests.observe(170, RequestStep::Answered, (1, 0, 0)), Some(70));
        assert_eq!(requests.observe(180, RequestStep::Refused, (1, 0, 1)), None);
        assert_eq!(requests.observe(190, RequestStep::TimedOut, (1, 0, 2)), None);
        assert_eq!(requests.counts(), [4, 1, 1, 1, 1]);
        requests.forget(1);
        assert_eq!(requests.counts(), [4, 1, 1, 1, 0]);
    }
}
