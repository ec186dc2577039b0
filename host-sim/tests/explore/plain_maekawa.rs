//! Maekawa's lock by its plain rules, without FAIL, INQUIRE and RELINQUISH: a voter votes for whoever asks first, and queues
//! the others. The search finds that it is safe, that it deadlocks, and that it serves out of order.

use host_sim::explore::search::{Described, Limits, Model, Stop, explore};
use std::convert::Infallible;

/// The voting sets of the textbook's deadlock: of processes 0, 1 and 2, among six.
const SETS: [[usize; 3]; 3] = [[0, 1, 2], [1, 3, 5], [2, 4, 5]];
const VOTERS: usize = 6;

/// A voter: the request it voted for, then those that wait, by requester.
type Queue = [Option<u8>; 3];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Waiting,
    Inside,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    phases: [Phase; 3],
    queues: [Queue; VOTERS],
}

/// A request arrives at a voter; a requester with all votes enters; it leaves.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { requester: usize, voter: usize },
    Enter(usize),
    Leave(usize),
}

struct Plain {
    /// Whether requests are to be served in the order of their times, which is that of the requesters.
    ordered: bool,
}

fn has_arrived(queue: Queue, requester: usize) -> bool {
    queue.iter().flatten().any(|&other| usize::from(other) == requester)
}

impl Model for Plain {
    type State = State;
    type Move = Step;
    type Missing = Infallible;

    fn moves(&self, state: &State, moves: &mut Vec<(Step, bool)>) {
        for (requester, set) in SETS.iter().enumerate() {
            match state.phases[requester] {
                Phase::Waiting => {
                    let left = set.iter().filter(|&&voter| !has_arrived(state.queues[voter], requester));
                    moves.extend(left.map(|&voter| (Step::Arrive { requester, voter }, true)));
                    let votes = set.iter().all(|&voter| state.queues[voter][0].map(usize::from) == Some(requester));
                    moves.extend(votes.then_some((Step::Enter(requester), true)));
                }
                Phase::Inside => moves.push((Step::Leave(requester), true)),
                Phase::Done => {}
            }
        }
    }

    fn follow(&self, state: &State, step: Step) -> Result<State, Stop<Infallible>> {
        let mut next = *state;
        match step {
            Step::Arrive { requester, voter } => {
                let place = next.queues[voter].iter_mut().find(|place| place.is_none()).expect("three may ask");
                *place = Some(u8::try_from(requester).expect("a small number"));
            }
            Step::Enter(requester) => {
                if state.phases.contains(&Phase::Inside) {
                    return Err(Stop::Wrong("two are inside"));
                }
                if self.ordered && state.phases[..requester].contains(&Phase::Waiting) {
                    return Err(Stop::Wrong("out of order"));
                }
                next.phases[requester] = Phase::Inside;
            }
            Step::Leave(requester) => {
                next.phases[requester] = Phase::Done;
                for &voter in &SETS[requester] {
                    let [_, second, third] = next.queues[voter];
                    next.queues[voter] = [second, third, None];
                }
            }
        }
        Ok(next)
    }

    fn waiting(&self, state: &State) -> u8 {
        (0..3).filter(|&requester| state.phases[requester] == Phase::Waiting).map(|requester| 1 << requester).sum()
    }

    fn compute(&mut self, missing: Infallible) {
        match missing {}
    }

    fn describe(&self, _: &State, step: Step) -> Described {
        Described { detail: format!("{step:?}"), ..Described::default() }
    }
}

fn found(ordered: bool) -> (&'static str, usize) {
    let first = State { phases: [Phase::Waiting; 3], queues: [[None; 3]; VOTERS] };
    let violation = explore(&mut Plain { ordered }, first, Limits::NONE).expect_err("the plain rules are not enough");
    (violation.why, violation.steps.len())
}

#[test]
fn mk6_the_plain_rules_of_maekawa_are_safe_and_deadlock() {
    let (why, _) = found(false);
    assert_eq!(
        why, "a node waits for ever",
        "and no two are inside in any order of events, which would be found first"
    );
}

#[test]
fn mk6_the_plain_rules_of_maekawa_serve_out_of_order() {
    let (why, steps) = found(true);
    assert_eq!(why, "out of order");
    assert!(steps <= 4, "three requests that arrive first are enough: {steps} steps");
}
