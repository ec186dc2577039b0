//! A counterexample as a file: a schedule of moves, replayed on the same state machines.
//!
//! A model has neither radio nor link, so its run is no scenario of the simulator: there is no loss rate and no crash time
//! at which the link would deliver messages in this very order. A schedule keeps the order itself. It names a search, the
//! property that breaks, and every move in full words: node, event, and the message with all its fields. No number that a
//! search gave to a state or a message is part of it, so that it replays on any machine and with any number of cores, and
//! says which move is impossible where the algorithm has changed.

use super::search::{Described, Figures, Limits, Model, Violation, computed, explore_all};
use serde::Deserialize;

/// What a search does.
#[derive(Clone, Copy, Debug)]
pub enum Course<'a> {
    /// It visits every state within the limits.
    Every(Limits),
    /// It makes these moves, and then visits every state within the limits: whether a node waits for ever is a property of
    /// everything that can follow.
    Along(&'a [String], Limits),
}

impl From<Limits> for Course<'_> {
    fn from(limits: Limits) -> Self {
        Self::Every(limits)
    }
}

/// Why a schedule ends early: the next move cannot be made, since the algorithm or the search has changed.
pub const IMPOSSIBLE: &str = "the next move of the schedule is impossible";

/// The moves that break a property in a search.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The word for the algorithm.
    pub algorithm: String,
    /// The name of the search.
    pub search: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// The property that the moves break.
    pub property: String,
    /// The moves in full words.
    pub moves: Vec<String>,
}

impl Schedule {
    /// Returns the schedule of a violation; `None` for one without moves, which is about a whole search.
    #[must_use]
    pub fn new(search: &super::Search, violation: &Violation) -> Option<Self> {
        let moves: Vec<String> = violation.steps.iter().map(|step| step.detail.clone()).collect();
        (!moves.is_empty()).then(|| Self {
            algorithm: search.algorithm.to_owned(),
            search: search.name.to_owned(),
            nodes: search.nodes,
            property: violation.why.to_owned(),
            moves,
        })
    }

    /// Returns the name of its file.
    #[must_use]
    pub fn file(&self) -> String {
        let words: String = self.search.chars().filter(|letter| *letter != ',').collect();
        format!("check-{}-{}-{}.toml", self.algorithm, self.nodes, words.replace(' ', "-"))
    }

    /// Returns the text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        let string = |text: &str| serde_json::Value::from(text).to_string(); // a string of TOML too
        let moves: Vec<String> = self.moves.iter().map(|step| format!("    {},\n", string(step))).collect();
        let moves = moves.concat();
        format!(
            "# A schedule: conclave check --replay {}\n\
             algorithm = {}\nsearch = {}\nnodes = {}\nproperty = {}\nmoves = [\n{moves}]\n",
            self.file(),
            string(&self.algorithm),
            string(&self.search),
            self.nodes,
            string(&self.property),
        )
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("this is no schedule of `conclave check`: {error}"))
    }
}

/// Makes the moves, then visits every state within the limits.
pub(super) fn along<M: Model>(
    model: &mut M,
    first: M::State,
    moves: &[String],
    limits: Limits,
) -> Result<Figures, Box<Violation>> {
    let (mut state, mut steps): (_, Vec<Described>) = (first, Vec::new());
    for wanted in moves {
        let mut next = Err(Some(IMPOSSIBLE));
        let mut listed = Vec::new();
        model.moves(&state, &mut listed);
        for (step, _) in listed {
            let result = computed(model, &state, step); // only what was followed can be described
            let described = model.describe(&state, step);
            if described.detail == *wanted {
                next = result;
                steps.extend((next != Err(None)).then_some(described));
                break;
            }
        }
        // Beyond the bounds of a search that has changed, no move is possible either.
        state = next.map_err(|why| Box::new(broken(why.unwrap_or(IMPOSSIBLE), &steps)))?;
    }
    if let Err(why) = model.check(&state) {
        return Err(Box::new(broken(why, &steps)));
    }
    let figures = explore_all(model, state, limits).map_err(|mut found| {
        steps.append(&mut found.steps);
        Box::new(Violation { steps: std::mem::take(&mut steps), ..*found })
    })?;
    // A part of a search is never the whole of it.
    Ok(Figures { complete: false, ..figures })
}

fn broken(why: &'static str, steps: &[Described]) -> Violation {
    Violation { why, states: steps.len(), steps: steps.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_written_as_a_file_that_is_read_again() {
        let schedule = Schedule {
            algorithm: "central".to_owned(),
            search: "false suspicion, no time".to_owned(),
            nodes: 3,
            property: "two hold the lock".to_owned(),
            moves: vec!["0: Acquire".to_owned(), "1 receives \"x\\y\" from 0".to_owned()],
        };
        assert_eq!(schedule.file(), "check-central-3-false-suspicion-no-time.toml");
        assert_eq!(Schedule::parse(&schedule.text()), Ok(schedule));
        assert!(Schedule::parse("nodes = 3").unwrap_err().starts_with("this is no schedule"));
    }
}
