//! An election's flood as one sees it from outside: who was called by whom, how many hops out, and who has reported.

use host_sim::map::Mark;
use host_sim::trace::{TraceEvent, What};

/// A node in the flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Whom it heard first; `None` called the election itself.
    from: Option<u32>,
    hop: u32,
    reported: bool,
}

/// A step of the flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A node was called, this many hops from where the call began.
    Called(u32),
    /// A node reported.
    Reported,
}

/// The flood.
pub(super) struct Flood {
    parts: Vec<Option<Part>>,
    /// Whom a node that is in no flood heard call.
    heard: Vec<Option<u32>>,
    /// Everybody who was called, and who reported, since the flood began.
    called: Vec<bool>,
    reported: Vec<bool>,
}

impl Flood {
    pub(super) fn new(nodes: u32) -> Self {
        let nodes = nodes as usize;
        Self {
            parts: vec![None; nodes],
            heard: vec![None; nodes],
            called: vec![false; nodes],
            reported: vec![false; nodes],
        }
    }

    /// Takes in an event; `led` says whether its node follows a leader that is there.
    pub(super) fn see(&mut self, event: &TraceEvent, led: bool) -> Option<Step> {
        let node = event.node?;
        let index = node as usize;
        match event.what {
            What::Heard { from, kind: "election", .. } if self.parts[index].is_none() => {
                self.heard[index].get_or_insert(from);
                None
            }
            What::Sent { kind: "election", .. } if !led => self.call(node),
            What::Sent { kind: "ack", .. } if !led => self.report(node),
            What::Leads { .. } | What::Follows { .. } | What::Crash | What::Boot { .. } => {
                (self.parts[index], self.heard[index]) = (None, None);
                None
            }
            _ => None, // nothing else is said or done in a flood
        }
    }

    /// Begins to count anew, if no flood is under way.
    pub(super) fn recount(&mut self) {
        if self.parts.iter().all(Option::is_none) {
            self.called.fill(false);
            self.reported.fill(false);
        }
    }

    fn call(&mut self, node: u32) -> Option<Step> {
        let index = node as usize;
        if self.parts[index].is_some() {
            return None; // it says it again
        }
        self.recount();
        let from = self.heard[index];
        let above = from.and_then(|from| self.parts[from as usize]);
        let hop = above.map_or(0, |above| above.hop + 1);
        self.parts[index] = Some(Part { from: above.and(from), hop, reported: false });
        self.called[index] = true;
        Some(Step::Called(hop))
    }

    fn report(&mut self, node: u32) -> Option<Step> {
        // The report to the parent may leave before the call to the others does.
        let _ = self.call(node);
        let part = self.parts[node as usize].as_mut()?;
        self.reported[node as usize] = true;
        (!std::mem::replace(&mut part.reported, true)).then_some(Step::Reported)
    }

    /// How a node in the flood is marked.
    pub(super) fn mark(&self, node: u32) -> Option<Mark> {
        let part = self.parts[node as usize]?;
        Some(if part.reported { Mark::Reported } else { Mark::Called })
    }

    /// The links along which the call came.
    pub(super) fn links(&self) -> Vec<(u32, u32)> {
        (0..).zip(&self.parts).filter_map(|(node, part)| Some(((*part)?.from?, node))).collect()
    }

    /// How many were called and how many reported.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |flags: &[bool]| flags.iter().filter(|&&flag| flag).count();
        (count(&self.called), count(&self.reported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(flood: &mut Flood, node: u32, what: What) -> Option<Step> {
        flood.see(&TraceEvent { at: 0, node: Some(node), what }, false)
    }

    const CALL: What = What::Sent { kind: "election", bytes: 14 };
    const REPORT: What = What::Sent { kind: "ack", bytes: 20 };

    fn heard(from: u32) -> What {
        What::Heard { from, kind: "election", quality: 255 }
    }

    #[test]
    fn the_hops_are_counted_from_where_the_call_began() {
        let mut flood = Flood::new(3);
        assert_eq!(see(&mut flood, 0, CALL), Some(Step::Called(0)));
        see(&mut flood, 1, heard(0));
        assert_eq!(see(&mut flood, 1, CALL), Some(Step::Called(1)));
        see(&mut flood, 2, heard(1));
        see(&mut flood, 2, heard(0));
        assert_eq!(see(&mut flood, 2, CALL), Some(Step::Called(2)), "the first one heard counts");
        assert_eq!(see(&mut flood, 2, CALL), None, "said again");
        assert_eq!(flood.links(), [(0, 1), (1, 2)]);
        assert_eq!(see(&mut flood, 2, REPORT), Some(Step::Reported));
        assert_eq!((flood.mark(1), flood.mark(2)), (Some(Mark::Called), Some(Mark::Reported)));
        assert_eq!(flood.counts(), (3, 1));
    }

    #[test]
    fn the_flood_is_over_for_whoever_follows_and_the_next_one_is_counted_anew() {
        let mut flood = Flood::new(2);
        let term = protocol::clock::Term { number: 1, by: protocol::NodeId(0) };
        see(&mut flood, 0, CALL);
        see(&mut flood, 1, heard(0));
        see(&mut flood, 1, REPORT);
        see(&mut flood, 0, What::Leads { term });
        see(&mut flood, 1, What::Follows { leader: 0, term });
        assert_eq!((flood.mark(0), flood.mark(1), flood.counts()), (None, None, (2, 1)));
        assert_eq!(see(&mut flood, 1, CALL), Some(Step::Called(0)));
        assert_eq!(flood.counts(), (1, 0));
    }
}
