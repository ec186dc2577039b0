//! The search: visits every state a model can reach, breadth first, on all cores.
//!
//! States are distinguished by 64-bit fingerprints: at ten million states the chance that two are taken for one is about
//! three in a million, at a hundred million about three in ten thousand. Only the frontier is kept in memory; a
//! counterexample is found again by following the parents.
//!
//! The steps of a model are computed once and looked up from then on. A part of the frontier is expanded in parallel by
//! looking up alone; what is missing is computed afterwards, in order. So states are numbered in the same order on any
//! number of cores, and the counterexample that is found is a shortest one.

use super::interned::Fingerprints;
use super::schedule::{Course, along};
use rayon::prelude::*;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, Hash};

/// A network of nodes whose every run is explored.
pub trait Model: Sync {
    /// Everything that tells one moment from another.
    type State: Copy + Eq + Hash + Send + Sync;
    /// One way on from a state.
    type Move: Copy + Send + Sync;
    /// A step that was not computed yet.
    type Missing: Send;

    /// Lists every move from `state`, and whether it is fair: taken eventually, whatever else happens.
    fn moves(&self, state: &Self::State, moves: &mut Vec<(Self::Move, bool)>);

    /// Returns the state after a move, by what was computed before.
    ///
    /// # Errors
    ///
    /// If there is no such state, or if a part of it has to be computed first.
    fn follow(&self, state: &Self::State, step: Self::Move) -> Result<Self::State, Stop<Self::Missing>>;

    /// Computes a step that was missing.
    fn compute(&mut self, missing: Self::Missing);

    /// Checks a state that is visited for the first time.
    ///
    /// # Errors
    ///
    /// If the state must not be; the error is what is wrong with it.
    fn check(&self, _state: &Self::State) -> Result<(), &'static str> {
        Ok(())
    }

    /// Returns the nodes that wait for something, as bits: fair moves alone must lead to a state where each does not.
    fn waiting(&self, _state: &Self::State) -> u8 {
        0
    }

    /// Takes notice of a state that is visited for the first time.
    fn note(&mut self, _state: &Self::State) {}

    /// Takes notice of a state that no move within the bounds leaves.
    fn end(&mut self, _state: &Self::State) {}

    /// Describes a move from a state, which was followed before.
    fn describe(&self, state: &Self::State, step: Self::Move) -> Described;
}

/// Why a move leads to no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<X> {
    /// It leads beyond the bounds.
    Beyond,
    /// It is a violation.
    Wrong(&'static str),
    /// It was not computed yet.
    Missing(X),
}

/// One move of a counterexample, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The node at which something happens; `None` for all of them.
    pub node: Option<usize>,
    /// The sender and the number of the message that arrives.
    pub received: Option<(usize, u32)>,
    /// The recipients and the numbers of the messages that are sent.
    pub sent: Vec<(usize, u32)>,
    /// What happens, in a few words.
    pub text: String,
    /// What happens, with the whole message.
    pub detail: String,
}

/// Where a search ends although there is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most states that are visited.
    pub states: usize,
    /// The most moves from the first state.
    pub depth: u32,
}

impl Limits {
    /// The most states of any search: each has a number of 32 bits, and all of them have to fit in memory.
    pub const STATES_MAX: usize = 100_000_000;

    /// Limits that a search of a test does not reach.
    pub const NONE: Self = Self { states: 10_000_000, depth: u32::MAX };
}

/// The size of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// How many states were visited.
    pub states: usize,
    /// How many moves lead from the first state to the last one found.
    pub depth: u32,
    /// States from which a move led beyond the bounds.
    pub cut: usize,
    /// Whether every state within the bounds was visited, before a limit was reached.
    pub complete: bool,
}

/// A run that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong with it.
    pub why: &'static str,
    /// How many states were visited before it was found.
    pub states: usize,
    /// Its moves: no shorter run breaks the same property first.
    pub steps: Vec<Described>,
}

/// How many states are expanded between two merges, and by one task.
const BATCH: usize = 16_384;
const TASK: usize = 128;

/// What a task found out about the moves of its states, in order.
enum Found<S, M> {
    /// A fair move leads to a state that is known.
    Known(u32),
    /// A move leads to a state that was unknown when the batch began.
    New {
        state: S,
        fingerprint: u64,
        fair: bool,
        wrong: Option<&'static str>,
        waiting: u8,
    },
    /// A move has to be computed.
    Missing {
        step: M,
        fair: bool,
    },
    Wrong {
        step: M,
        why: &'static str,
    },
    /// No more moves: whether one leaves the state, and whether one leads beyond the bounds.
    Done {
        left: bool,
        cut: bool,
    },
}

/// What the search remembers of all states, by number.
struct Visited {
    numbers: HashMap<u64, u32, Fingerprints>,
    /// From which state each was reached first.
    parents: Vec<u32>,
    /// From which states a move led beyond the bounds.
    cut: Vec<bool>,
    /// Who waits in each state.
    waiting: Vec<u8>,
    /// The fair moves: from where to where.
    fair: Vec<(u32, u32)>,
}

/// A search through all states of a model.
struct Explorer<'a, M: Model> {
    model: &'a mut M,
    first: M::State,
    frontier: VecDeque<M::State>,
    visited: Visited,
}

fn fingerprint(state: &impl Hash) -> u64 {
    Fingerprints::default().hash_one(state)
}

/// Visits every state that can be reached from `first`, or after the moves of a schedule.
///
/// # Errors
///
/// If a run breaks a property, or lets a node wait for ever.
pub fn explore<'a, M: Model>(
    model: &mut M,
    first: M::State,
    course: impl Into<Course<'a>>,
) -> Result<Figures, Box<Violation>> {
    match course.into() {
        Course::Every(limits) => explore_all(model, first, limits),
        Course::Along(moves, limits) => along(model, first, moves, limits),
    }
}

/// Visits every state that can be reached from `first`.
pub(super) fn explore_all<M: Model>(model: &mut M, first: M::State, limits: Limits) -> Result<Figures, Box<Violation>> {
    let visited = Visited {
        numbers: HashMap::default(),
        parents: Vec::new(),
        cut: Vec::new(),
        waiting: Vec::new(),
        fair: Vec::new(),
    };
    let mut explorer = Explorer { model, first, frontier: VecDeque::new(), visited };
    let (wrong, waiting) = (explorer.model.check(&first).err(), explorer.model.waiting(&first));
    explorer.visit(first, fingerprint(&first), 0, wrong, waiting)?;
    let (mut at, mut depth, mut level_end) = (0, 0, 1);
    while !explorer.frontier.is_empty() && depth < limits.depth && explorer.visited.parents.len() < limits.states {
        let size = (level_end - at).min(BATCH);
        explorer.expand(at, size)?;
        at += size;
        if at == level_end && !explorer.frontier.is_empty() {
            level_end = explorer.visited.parents.len();
            depth += 1;
        }
    }
    explorer.check_progress(at)?;
    let cut = explorer.visited.cut.iter().filter(|&&cut| cut).count();
    Ok(Figures { states: explorer.visited.parents.len(), depth, cut, complete: explorer.frontier.is_empty() })
}

impl<M: Model> Explorer<'_, M> {
    /// Returns the number of a state, which is added if it is new.
    fn visit(
        &mut self,
        state: M::State,
        fingerprint: u64,
        parent: u32,
        wrong: Option<&'static str>,
        waiting: u8,
    ) -> Result<u32, Box<Violation>> {
        let next = u32::try_from(self.visited.parents.len()).expect("a state has a number of 32 bits");
        let number = *self.visited.numbers.entry(fingerprint).or_insert(next);
        if number == next {
            self.visited.parents.push(parent);
            self.visited.cut.push(false);
            self.visited.waiting.push(waiting);
            self.frontier.push_back(state);
            self.model.note(&state);
            if let Some(why) = wrong {
                return Err(Box::new(self.violation(why, number, None)));
            }
        }
        Ok(number)
    }

    /// Makes every move there is from the next `size` states, of which the first has the number `at`.
    fn expand(&mut self, at: usize, size: usize) -> Result<(), Box<Violation>> {
        let states: Vec<M::State> = self.frontier.drain(..size).collect();
        let (model, numbers) = (&*self.model, &self.visited.numbers);
        let found: Vec<Vec<_>> = states.par_chunks(TASK).map(|states| look_up(model, numbers, states)).collect();
        let mut numbered = (0_u32..).skip(at).zip(&states);
        let mut current = numbered.next();
        let (mut left_late, mut cut_late) = (false, false);
        for found in found.into_iter().flatten() {
            let (at, state) = current.expect("every state ends once");
            match found {
                Found::Known(number) => self.visited.fair.push((at, number)),
                Found::New { state, fingerprint, fair, wrong, waiting } => {
                    let number = self.visit(state, fingerprint, at, wrong, waiting)?;
                    if fair {
                        self.visited.fair.push((at, number));
                    }
                }
                Found::Wrong { step, why } => return Err(Box::new(self.violation(why, at, Some(step)))),
                Found::Missing { step, fair } => match computed(self.model, state, step) {
                    Ok(next) if next == *state => {}
                    Ok(next) => {
                        left_late = true;
                        let (wrong, waiting) = (self.model.check(&next).err(), self.model.waiting(&next));
                        let number = self.visit(next, fingerprint(&next), at, wrong, waiting)?;
                        if fair {
                            self.visited.fair.push((at, number));
                        }
                    }
                    Err(Some(why)) => return Err(Box::new(self.violation(why, at, Some(step)))),
                    Err(None) => cut_late = true,
                },
                Found::Done { left, cut } => {
                    self.visited.cut[at as usize] = cut || cut_late;
                    if !left && !left_late && !cut && !cut_late {
                        self.model.end(state);
                    }
                    (left_late, cut_late) = (false, false);
                    current = numbered.next();
                }
            }
        }
        Ok(())
    }

    /// Checks that fair moves alone serve every node wherever it waits. Beyond the bounds and the limits it may be served.
    fn check_progress(&mut self, expanded: usize) -> Result<(), Box<Violation>> {
        self.visited.fair.par_sort_unstable_by_key(|&(_, to)| to);
        let anybody = self.visited.waiting.iter().fold(0, |all, &nodes| all | nodes);
        for node in (0..u8::BITS).filter(|node| anybody >> node & 1 == 1) {
            let Visited { waiting, cut, fair, .. } = &self.visited;
            let waits = |at: usize| waiting[at] >> node & 1 == 1 && !cut[at] && at < expanded;
            let mut served: Vec<bool> = (0..waiting.len()).map(|at| !waits(at)).collect();
            let mut open: Vec<u32> = (0..).zip(&served).filter(|&(_, &served)| served).map(|(at, _)| at).collect();
            while let Some(at) = open.pop() {
                let start = fair.partition_point(|&(_, to)| to < at);
                for &(from, _) in fair[start..].iter().take_while(|&&(_, to)| to == at) {
                    if !std::mem::replace(&mut served[from as usize], true) {
                        open.push(from);
                    }
                }
            }
            if let Some((at, _)) = (0..).zip(&served).find(|&(_, &served)| !served) {
                return Err(Box::new(self.violation("a node waits for ever", at, None)));
            }
        }
        Ok(())
    }

    /// Finds again how a state was reached, and the move that broke it.
    fn violation(&mut self, why: &'static str, at: u32, last: Option<M::Move>) -> Violation {
        let mut path = vec![at];
        while let Some(&at) = path.last().filter(|&&at| at != 0) {
            path.push(self.visited.parents[at as usize]);
        }
        let (mut state, mut steps) = (self.first, Vec::new());
        for &number in path.iter().rev().skip(1) {
            let mut moves = Vec::new();
            self.model.moves(&state, &mut moves);
            let (step, next) = moves
                .into_iter()
                .find_map(|(step, _)| {
                    let next = computed(self.model, &state, step).ok()?;
                    (self.visited.numbers.get(&fingerprint(&next)) == Some(&number)).then_some((step, next))
                })
                .expect("it was reached before");
            steps.push(self.model.describe(&state, step));
            state = next;
        }
        steps.extend(last.map(|step| self.model.describe(&state, step)));
        Violation { why, states: self.visited.parents.len(), steps }
    }
}

/// Follows the moves of some states, as far as they were computed before.
fn look_up<M: Model>(
    model: &M,
    numbers: &HashMap<u64, u32, Fingerprints>,
    states: &[M::State],
) -> Vec<Found<M::State, M::Move>> {
    let (mut found, mut moves) = (Vec::with_capacity(4 * states.len()), Vec::new());
    for state in states {
        moves.clear();
        model.moves(state, &mut moves);
        let (mut left, mut cut) = (false, false);
        for &(step, fair) in &moves {
            match model.follow(state, step) {
                Ok(next) if next == *state => {}
                Ok(next) => {
                    left = true;
                    let fingerprint = fingerprint(&next);
                    match numbers.get(&fingerprint) {
                        Some(&number) if fair => found.push(Found::Known(number)),
                        Some(_) => {}
                        None => {
                            let (wrong, waiting) = (model.check(&next).err(), model.waiting(&next));
                            found.push(Found::New { state: next, fingerprint, fair, wrong, waiting });
                        }
                    }
                }
                Err(Stop::Beyond) => cut = true,
                Err(Stop::Wrong(why)) => found.push(Found::Wrong { step, why }),
                Err(Stop::Missing(_)) => found.push(Found::Missing { step, fair }),
            }
        }
        found.push(Found::Done { left, cut });
    }
    found
}

/// Follows a move, and computes what is missing. Without a state, the error is what is wrong, or nothing beyond the bounds.
pub(super) fn computed<M: Model>(
    model: &mut M,
    state: &M::State,
    step: M::Move,
) -> Result<M::State, Option<&'static str>> {
    loop {
        match model.follow(state, step) {
            Ok(next) => return Ok(next),
            Err(Stop::Beyond) => return Err(None),
            Err(Stop::Wrong(why)) => return Err(Some(why)),
            Err(Stop::Missing(missing)) => model.compute(missing),
        }
    }
}
