//! Always: the terms a node acts under only grow, over restarts too, as long as it keeps its records.

use crate::trace::{TraceEvent, What};
use protocol::clock::Term;

pub(super) const NAME: &str = "terms-grow";

/// The highest term each node acted under, by name.
#[derive(Default)]
pub(super) struct TermsGrow {
    highest: Vec<Term>,
}

impl TermsGrow {
    pub(super) fn see(&mut self, event: &TraceEvent) -> Option<String> {
        let name = event.node? as usize;
        let term = match event.what {
            What::Leads { term } | What::Follows { term, .. } => term,
            What::Boot { blank: true } => {
                if let Some(highest) = self.highest.get_mut(name) {
                    *highest = Term::ZERO; // it does not know any more
                }
                return None;
            }
            _ => return None, // every other event is about no term
        };
        if self.highest.len() <= name {
            self.highest.resize(name + 1, Term::ZERO);
        }
        let before = std::mem::replace(&mut self.highest[name], term);
        (term < before).then(|| {
            let (new, old) = (term.number, before.number);
            format!("node {name} went from term {old} of node {} back to {new} of node {}", before.by.0, term.by.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;

    fn follows(number: u32) -> TraceEvent {
        let term = Term { number, by: NodeId(7) };
        TraceEvent { at: 0, node: Some(3), what: What::Follows { leader: 7, term } }
    }

    fn boots(blank: bool) -> TraceEvent {
        TraceEvent { at: 0, node: Some(3), what: What::Boot { blank } }
    }

    #[test]
    fn a_term_that_falls_is_reported_also_after_a_restart() {
        let mut checker = TermsGrow::default();
        let found: Vec<String> = [follows(2), follows(2), follows(5), boots(false), follows(4)]
            .iter()
            .filter_map(|e| checker.see(e))
            .collect();
        assert_eq!(found, ["node 3 went from term 5 of node 7 back to 4 of node 7"]);
    }

    #[test]
    fn a_node_that_lost_its_records_may_begin_again() {
        let mut checker = TermsGrow::default();
        assert!([follows(5), boots(true), follows(1)].iter().all(|event| checker.see(event).is_none()));
    }
}
