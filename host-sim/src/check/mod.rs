//! Properties that must hold: one file each, and one line each in `checkers!`.
//!
//! An *always* property is checked on every event. A *settled* property is checked on the state (`Settled`) of a
//! network that has had time to settle.

mod calm;
pub mod convergence;
mod memory;
pub mod quiescence;
mod settled;
#[cfg(test)]
mod test_support;

pub(crate) use calm::Calm;
pub(crate) use settled::{Clusters, Settled, SettledNode};

use crate::base::Micros;
use crate::base::interned::intern;
use crate::scenario::Expect;
use crate::trace::{MessageEvent, Observer, TraceEvent};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A property that holds at every moment.
trait Always: Default {
    const NAME: &'static str;

    /// Takes what the checker needs from the scenario: its claims, and how long its network may take to settle.
    fn configure(&mut self, _expect: &Expect, _settle_time: Micros) {}

    /// Takes in that the election makes clusters: several leaders, each with terms of its own.
    fn of_clusters(&mut self) {}

    /// Checks one event; returns the violation in words.
    fn observe(&mut self, event: &TraceEvent) -> Option<String>;

    /// Checks one reliable message; returns the violation in words.
    fn on_message(&mut self, _event: &MessageEvent) -> Option<String> {
        None
    }
}

/// Declares all checkers. Those of locks can be chosen by a scenario; the others always run. Findings of one moment are
/// recorded in this order.
macro_rules! checkers {
    (
        always: $($always:ident),*;
        settled: $($settled:ident),*;
        locks always: $($lock_always:ident),*;
        locks settled: $($lock_settled:ident),*;
    ) => {
        $(mod $always;)*
        $(mod $settled;)*
        $(mod $lock_always;)*
        $(mod $lock_settled;)*

        #[cfg(test)]
        const NAMES: &[&str] = &[
            $(<$always::Checker as Always>::NAME,)*
            $($settled::NAME,)*
            $(<$lock_always::Checker as Always>::NAME,)*
            $($lock_settled::NAME,)*
        ];

        /// The names of the checkers of locks.
        pub const OF_LOCKS: &[&str] =
            &[$(<$lock_always::Checker as Always>::NAME,)* $($lock_settled::NAME,)*];

        #[derive(Default)]
        pub(crate) struct Checkers {
            $($always: $always::Checker,)*
            $($lock_always: $lock_always::Checker,)*
            findings: Findings,
        }

        impl Checkers {
            pub(crate) fn new(expect: &Expect, settle_time: Micros) -> Self {
                let mut checkers = Self::default();
                $(checkers.$always.configure(expect, settle_time);)*
                $(checkers.$lock_always.configure(expect, settle_time);)*
                checkers.findings.of_locks.clone_from(&expect.lock_checkers);
                checkers
            }

            /// Returns the checkers of an election that makes clusters, if it does.
            pub(crate) fn of_clusters(mut self, horizon: Option<u8>) -> Self {
                if horizon.is_some() {
                    $(self.$always.of_clusters();)*
                }
                self
            }

            pub(crate) fn findings(&self) -> &[Finding] {
                &self.findings.found
            }

            pub(crate) fn check_settled(&mut self, settled: &Settled) {
                $(self.findings.record(settled.at, $settled::NAME, $settled::check(settled));)*
                $(self.findings.record(settled.at, $lock_settled::NAME, $lock_settled::check(settled));)*
            }
        }

        impl Observer for Checkers {
            fn observe(&mut self, event: &TraceEvent) {
                $(self.findings.record(event.at, $always::Checker::NAME, self.$always.observe(event));)*
                $(self.findings.record(event.at, $lock_always::Checker::NAME, self.$lock_always.observe(event));)*
            }

            fn on_message(&mut self, at: Micros, event: &MessageEvent) {
                $(self.findings.record(at, $always::Checker::NAME, self.$always.on_message(event));)*
            }
        }
    };
}

checkers! {
    always: terms_grow, one_leader_per_term, frame_limit, nobody_halts, one_acts, consistent_cuts, sum_conserved,
        no_early_end, clock_runs_on, exactly_once, leader_stays, one_order, atomic_commit, requests_end, messages_once, one_list;
    settled: one_leader, everyone_knows, best_leads, super_peer_in_reach, super_peers_apart, load_shared,
        one_chief;
    locks always: one_holder, fences_grow, no_stale_write;
    locks settled: nobody_waits_for_ever;
}

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub(crate) at: Micros,
    /// The checker's name.
    pub checker: &'static str,
    /// The violation in words.
    pub text: String,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.at, self.checker, &self.text).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let (at, checker, text) = <(Micros, String, String)>::deserialize(reader)?;
        Ok(Self { at, checker: intern(&checker), text })
    }
}

/// How many findings of one checker are kept in one run: the first ones explain the rest. Each checker has its own
/// share, so that none crowds out another.
const FINDINGS_MAX: usize = 20;

#[derive(Default)]
struct Findings {
    found: Vec<Finding>,
    /// The checkers of locks that the scenario chose; all of them if it chose none.
    of_locks: Option<Vec<&'static str>>,
}

impl Findings {
    fn record(&mut self, at: Micros, checker: &'static str, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            let chosen = |chosen: &Vec<_>| chosen.contains(&checker) || !OF_LOCKS.contains(&checker);
            let before = self.found.iter().filter(|finding| finding.checker == checker).count();
            if before < FINDINGS_MAX && self.of_locks.as_ref().is_none_or(chosen) {
                self.found.push(Finding { at, checker, text });
            }
        }
    }
}

/// Returns whether every component has one leader, known to all its nodes, or every node a super-peer of its cluster.
pub(crate) fn converged(settled: &Settled) -> bool {
    let one_leader = one_leader::check(settled).next().is_none() && everyone_knows::check(settled).next().is_none();
    one_leader
        && super_peer_in_reach::check(settled).next().is_none()
        && super_peers_apart::check(settled).next().is_none()
}

/// Returns whether the network converged and the best node of every component leads it.
pub(crate) fn best_leads(settled: &Settled) -> bool {
    converged(settled) && best_leads::check(settled).next().is_none()
}

#[cfg(test)]
mod tests {
    use super::test_support::granted;
    use super::*;
    use crate::trace::EventKind;

    #[test]
    fn a_scenario_chooses_which_checkers_of_locks_run() {
        let grants = [granted(1, 0, 5), granted(2, 0, 5)];
        let found = |locks: Option<Vec<&'static str>>| {
            let mut checkers = Checkers::new(&Expect { lock_checkers: locks, ..Expect::default() }, 0);
            for event in &grants {
                checkers.observe(event);
            }
            checkers.findings().len()
        };
        assert_eq!([found(None), found(Some(vec!["fences-grow"])), found(Some(vec!["one-holder"]))], [1, 1, 0]);
    }

    #[test]
    fn no_checker_crowds_out_another() {
        let mut checkers = Checkers::default();
        let one = granted(1, 0, 5);
        let halted = TraceEvent { kind: EventKind::Halted { reason: "queue" }, ..one };
        for event in std::iter::repeat_n(halted, 2 * FINDINGS_MAX).chain([one, granted(2, 0, 5)]) {
            checkers.observe(&event);
        }
        let of = |name| checkers.findings().iter().filter(|finding| finding.checker == name).count();
        assert_eq!((of("nobody-halts"), of("fences-grow")), (FINDINGS_MAX, 1));
    }

    #[test]
    fn no_two_checkers_share_a_name() {
        assert_eq!(NAMES.iter().collect::<std::collections::BTreeSet<_>>().len(), NAMES.len());
        assert!(OF_LOCKS.iter().all(|name| NAMES.contains(name)));
    }
}
