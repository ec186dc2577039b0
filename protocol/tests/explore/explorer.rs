//! The search: visits every state a model can reach, breadth first.
//!
//! States are distinguished by 64-bit fingerprints: at ten million states the chance that two are taken for one is about
//! three in a million. Only the frontier is kept in memory; a counterexample is found again by following the parents.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

/// How many nodes a model has at most.
pub(crate) const NODES: usize = 3;

/// A search that is larger would take too long, or would not end.
const STATES_MAX: usize = 10_000_000;

/// A network of nodes whose every run is explored.
pub(crate) trait Model {
    /// Everything that tells one moment from another.
    type State: Copy + Eq + Hash;
    /// One way on from a state.
    type Move: Copy;

    /// Lists every move from `state`, and whether it is fair: taken eventually, whatever else happens.
    fn moves(&self, state: &Self::State, moves: &mut Vec<(Self::Move, bool)>);

    /// Returns the state after a move; `None` beyond the bounds. An error is a violation.
    fn follow(&mut self, state: &Self::State, step: Self::Move) -> Result<Option<Self::State>, &'static str>;

    /// Checks a state that is visited for the first time.
    fn check(&mut self, _: &Self::State) -> Result<(), &'static str> {
        Ok(())
    }

    /// Returns the nodes that wait for something, as bits: fair moves alone must lead to a state where each does not.
    fn waiting(&self, _: &Self::State) -> u8 {
        0
    }

    /// Takes notice of a state that no move within the bounds leaves.
    fn end(&mut self, _: &Self::State) {}

    fn describe(&self, step: Self::Move) -> String;
}

/// The size of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) states: usize,
    /// States from which a move led beyond the bounds.
    pub(crate) cut: usize,
}

/// A run that must not be.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) why: &'static str,
    pub(crate) steps: Vec<String>,
}

pub(crate) type Fingerprints = BuildHasherDefault<Fingerprint>;

/// A search through all states of a model.
pub(crate) struct Explorer<'a, M: Model> {
    model: &'a mut M,
    first: M::State,
    numbers: HashMap<u64, u32, Fingerprints>,
    frontier: VecDeque<M::State>,
    /// From which state each was reached first.
    parents: Vec<u32>,
    /// From which states a move led beyond the bounds.
    cut: Vec<bool>,
    /// Who waits in each state.
    waiting: Vec<u8>,
    /// The fair moves: from where to where.
    fair: Vec<(u32, u32)>,
}

/// Visits every state that can be reached from `first`.
pub(crate) fn explore<M: Model>(model: &mut M, first: M::State) -> Result<Figures, Violation> {
    let mut explorer = Explorer {
        model,
        first,
        numbers: HashMap::default(),
        frontier: VecDeque::new(),
        parents: Vec::new(),
        cut: Vec::new(),
        waiting: Vec::new(),
        fair: Vec::new(),
    };
    explorer.visit(first, 0)?;
    let (mut at, mut moves) = (0, Vec::new());
    while let Some(state) = explorer.frontier.pop_front() {
        explorer.expand(at, &state, &mut moves)?;
        at += 1;
    }
    explorer.check_progress()?;
    let cut = explorer.cut.iter().filter(|&&cut| cut).count();
    Ok(Figures { states: explorer.parents.len(), cut })
}

impl<M: Model> Explorer<'_, M> {
    /// The number of a state, which is checked if it is new.
    fn visit(&mut self, state: M::State, parent: u32) -> Result<u32, Violation> {
        let next = u32::try_from(self.parents.len()).unwrap();
        let number = *self.numbers.entry(Fingerprints::default().hash_one(state)).or_insert(next);
        if number == next {
            assert!(self.parents.len() < STATES_MAX, "bounds that end");
            self.parents.push(parent);
            self.cut.push(false);
            self.waiting.push(self.model.waiting(&state));
            self.frontier.push_back(state);
            self.model.check(&state).map_err(|why| self.violation(why, number, None))?;
        }
        Ok(number)
    }

    /// Makes every move there is from a state.
    fn expand(&mut self, at: u32, state: &M::State, moves: &mut Vec<(M::Move, bool)>) -> Result<(), Violation> {
        moves.clear();
        self.model.moves(state, moves);
        let mut left = false;
        for &(step, fair) in moves.iter() {
            match self.model.follow(state, step) {
                Ok(None) => self.cut[at as usize] = true,
                Ok(Some(next)) if next == *state => {}
                Ok(Some(next)) => {
                    left = true;
                    let number = self.visit(next, at)?;
                    if fair {
                        self.fair.push((at, number));
                    }
                }
                Err(why) => return Err(self.violation(why, at, Some(step))),
            }
        }
        if !left && !self.cut[at as usize] {
            self.model.end(state);
        }
        Ok(())
    }

    /// Checks that fair moves alone serve every node wherever it waits. Beyond the bounds it may be served.
    fn check_progress(&mut self) -> Result<(), Violation> {
        self.fair.sort_unstable_by_key(|&(_, to)| to);
        for node in 0..NODES {
            let waits = |at: usize| self.waiting[at] >> node & 1 == 1 && !self.cut[at];
            let mut served: Vec<bool> = (0..self.parents.len()).map(|at| !waits(at)).collect();
            let mut open: Vec<u32> = (0..).zip(&served).filter(|&(_, &served)| served).map(|(at, _)| at).collect();
            while let Some(at) = open.pop() {
                let start = self.fair.partition_point(|&(_, to)| to < at);
                for &(from, _) in self.fair[start..].iter().take_while(|&&(_, to)| to == at) {
                    if !std::mem::replace(&mut served[from as usize], true) {
                        open.push(from);
                    }
                }
            }
            if let Some((at, _)) = (0..).zip(&served).find(|&(_, &served)| !served) {
                return Err(self.violation("a node waits for ever", at, None));
            }
        }
        Ok(())
    }

    /// Finds again how a state was reached, and the move that broke it.
    fn violation(&mut self, why: &'static str, at: u32, last: Option<M::Move>) -> Violation {
        let mut path = vec![at];
        while let Some(&at) = path.last().filter(|&&at| at != 0) {
            path.push(self.parents[at as usize]);
        }
        let (mut state, mut steps) = (self.first, Vec::new());
        for &number in path.iter().rev().skip(1) {
            let mut moves = Vec::new();
            self.model.moves(&state, &mut moves);
            let (step, next) = moves
                .into_iter()
                .find_map(|(step, _)| {
                    let next = self.model.follow(&state, step).ok().flatten()?;
                    (self.numbers.get(&Fingerprints::default().hash_one(next)) == Some(&number)).then_some((step, next))
                })
                .expect("it was reached before");
            steps.push(self.model.describe(step));
            state = next;
        }
        steps.extend(last.map(|step| self.model.describe(step)));
        Violation { why, steps }
    }
}

/// Interned values: equal keys have equal numbers.
pub(crate) struct Interned<T> {
    values: Vec<T>,
    numbers: HashMap<u64, u32, Fingerprints>,
}

impl<T> Interned<T> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), numbers: HashMap::default() }
    }

    /// Returns the number of the value with this key, which is made if it is new.
    pub(crate) fn number(&mut self, key: &impl Hash, value: impl FnOnce() -> T) -> u32 {
        let next = u32::try_from(self.values.len()).unwrap();
        let number = *self.numbers.entry(Fingerprints::default().hash_one(key)).or_insert(next);
        if number == next {
            self.values.push(value());
        }
        number
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

/// The messages in flight from each node to each, as numbers of interned queues.
pub(crate) type Channels = [u32; NODES * NODES];

/// The queues of messages there were in any state.
pub(crate) struct Queues(Interned<Vec<u32>>);

impl Queues {
    pub(crate) fn new() -> Self {
        Self(Interned::new())
    }

    /// Returns channels in which nothing is in flight.
    pub(crate) fn empty(&mut self) -> Channels {
        [self.0.number(&Vec::<u32>::new(), Vec::new); NODES * NODES]
    }

    pub(crate) fn get(&self, queue: u32) -> &[u32] {
        self.0.get(queue)
    }

    pub(crate) fn edit(&mut self, queue: &mut u32, edit: impl FnOnce(&mut Vec<u32>)) {
        let mut messages = self.0.get(*queue).clone();
        edit(&mut messages);
        *queue = self.0.number(&messages.clone(), || messages);
    }

    pub(crate) fn remove(&mut self, queue: &mut u32, message: u32) {
        self.edit(queue, |messages| {
            let at = messages.iter().position(|&other| other == message).expect("it is in flight");
            messages.remove(at);
        });
    }
}

/// A fast 64-bit hash.
#[derive(Default)]
pub(crate) struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        let product =
            u128::from(self.0 ^ value ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xA076_1D64_78BD_642F_E703_7ED1_A0B4_28DB);
        let [low, high] = [product, product >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap());
        self.0 = low ^ high;
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}
