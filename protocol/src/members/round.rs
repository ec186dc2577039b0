//! A round: one attempt to change the list, as far as a node knows of it. What two nodes know joins in any order and any
//! number of times.

use super::list::{Change, List};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use serde::{Deserialize, Serialize};

/// The number of a round: the term of the leader that began it, and its attempts so far. No two rounds share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ballot {
    /// The term.
    pub term: Term,
    /// The attempt.
    pub attempt: u32,
}

impl Ballot {
    /// Before every round.
    pub const ZERO: Self = Self { term: Term::ZERO, attempt: 0 };
}

/// How far a round is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// The leader asks what earlier rounds may have decided.
    Asking {
        /// The change it would like.
        wanted: Change,
        /// The boot of the node to be added, once that has answered; 0 before, and where one is removed.
        boot: u32,
        /// Who has promised to take part in no earlier round any more.
        promised: NodeSet,
        /// What they have stored in the latest earlier round, with the boot.
        best: Option<(Ballot, Change, u32)>,
    },
    /// The change is to be stored.
    Storing {
        /// The change.
        change: Change,
        /// The boot in which the node to be added has answered.
        boot: u32,
        /// Who has stored it.
        stored: NodeSet,
    },
}

/// What a node knows of the latest round that changes the list of this epoch. Sets are slots in that list; the one behind
/// the last is that of the node to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Round {
    /// The epoch of the list that is to change.
    pub epoch: u32,
    /// The number of the round.
    pub ballot: Ballot,
    /// How far it is.
    pub phase: Phase,
}

impl Round {
    /// The change that the round is about, as far as it is known.
    pub(super) const fn change(&self) -> Change {
        match self.phase {
            Phase::Asking { wanted, .. } => wanted,
            Phase::Storing { change, .. } => change,
        }
    }

    /// Joins what another node knows of the same epoch.
    pub(super) fn join(&mut self, other: &Self) {
        if other.ballot != self.ballot {
            if other.ballot > self.ballot {
                *self = *other;
            }
            return;
        }
        match (&mut self.phase, other.phase) {
            (
                Phase::Asking { boot, promised, best, .. },
                Phase::Asking { boot: heard, promised: more, best: other, .. },
            ) => {
                *boot = (*boot).max(heard);
                *promised = promised.with(more);
                *best = (*best).max(other);
            }
            (Phase::Asking { .. }, Phase::Storing { .. }) => self.phase = other.phase,
            (Phase::Storing { stored, .. }, Phase::Storing { stored: more, .. }) => *stored = stored.with(more),
            (Phase::Storing { .. }, Phase::Asking { .. }) => {} // it is farther
        }
    }

    /// Returns the change once a majority of the old list and one of the next have stored it: it is decided.
    pub(super) fn decided(&self, list: &List) -> Option<Change> {
        match self.phase {
            Phase::Storing { change, stored, .. }
                if list.is_majority(stored) && list.is_majority_after(stored, change) =>
            {
                Some(change)
            }
            Phase::Storing { .. } | Phase::Asking { .. } => None,
        }
    }
}

/// What a member must not forget of the rounds of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Votes {
    /// It takes part in no round before this one.
    pub(super) promised: Ballot,
    /// What it has stored, with the boot, and in which round.
    pub(super) accepted: Option<(Ballot, Change, u32)>,
}

impl Votes {
    /// Those of an epoch that has just begun.
    pub(super) const NONE: Self = Self { promised: Ballot::ZERO, accepted: None };

    /// Takes part in a round as a member of `list`, or as the node to be added; returns whether this is to be stored before
    /// anybody is told.
    pub(super) fn vote(&mut self, list: &List, me: Voter, round: &mut Round) -> bool {
        let (before, slot) = (*self, list.slot(me.id, round.change()));
        let member = list.contains(me.id);
        if slot.is_empty() || round.ballot < self.promised || me.forgot && member {
            return false;
        }
        match &mut round.phase {
            Phase::Asking { promised, best, .. } if member => {
                self.promised = round.ballot;
                *best = (*best).max(self.accepted);
                *promised = promised.with(slot);
            }
            Phase::Asking { boot, .. } => *boot = (*boot).max(me.boot),
            Phase::Storing { boot, .. } if me.forgot && *boot != me.boot => {} // it was added in an earlier life
            Phase::Storing { change, boot, stored } => {
                *self = Self { promised: round.ballot, accepted: Some((round.ballot, *change, *boot)) };
                *stored = stored.with(slot);
            }
        }
        before != *self
    }
}

/// Who takes part in a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voter {
    pub(super) id: NodeId,
    /// Its boot, by which a node to be added is known: never 0.
    pub(super) boot: u32,
    /// Whether it lost its log in that boot, and may have forgotten votes.
    pub(super) forgot: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [NodeId; 3] = [NodeId(1), NodeId(2), NodeId(3)];
    const ADD: Change = Change::Add(NodeId(9));

    fn ballot(number: u32) -> Ballot {
        Ballot { term: Term { number, by: NodeId(1) }, attempt: 1 }
    }

    fn voter(id: u32) -> Voter {
        Voter { id: NodeId(id), boot: 5, forgot: false }
    }

    fn asking(number: u32) -> Round {
        let phase = Phase::Asking { wanted: ADD, boot: 0, promised: NodeSet::EMPTY, best: None };
        Round { epoch: 1, ballot: ballot(number), phase }
    }

    fn storing(number: u32, change: Change) -> Round {
        Round { phase: Phase::Storing { change, boot: 5, stored: NodeSet::EMPTY }, ..asking(number) }
    }

    #[test]
    fn a_later_round_learns_what_an_earlier_one_may_have_decided() {
        let list = List::first(&IDS).unwrap();
        let mut votes = [Votes::NONE; 3];
        let (mut first, remove) = (storing(4, Change::Remove(NodeId(3))), Change::Remove(NodeId(3)));
        assert!(votes[1].vote(&list, voter(2), &mut first));
        let mut second = asking(5);
        assert!(votes[0].vote(&list, voter(1), &mut second));
        let Phase::Asking { best: None, .. } = second.phase else { panic!("{second:?}") };
        assert!(votes[1].vote(&list, voter(2), &mut second));
        let Phase::Asking { best: Some((_, best, _)), promised, .. } = second.phase else { panic!("{second:?}") };
        assert_eq!((best, list.is_majority(promised)), (remove, true));
        let mut late = storing(4, remove);
        assert!(!votes[0].vote(&list, voter(1), &mut late), "it has promised");
        assert_eq!(late, storing(4, remove));
    }

    #[test]
    fn what_nodes_know_joins_in_any_order() {
        let list = List::first(&IDS).unwrap();
        let voted = |id, mut round: Round| {
            let mut votes = Votes::NONE;
            votes.vote(&list, voter(id), &mut round);
            round
        };
        let known =
            [voted(1, asking(4)), voted(2, asking(4)), voted(2, storing(4, ADD)), voted(9, storing(4, ADD)), asking(3)];
        let joined = |order: &[usize]| {
            let mut all = known[order[0]];
            for &at in order {
                all.join(&known[at]);
            }
            all
        };
        let all = joined(&[0, 1, 2, 3, 4]);
        assert_eq!(all.phase, Phase::Storing { change: ADD, boot: 5, stored: NodeSet::slot(1).with(NodeSet::slot(3)) });
        for order in [[4, 3, 2, 1, 0], [2, 0, 3, 1, 4], [3, 2, 4, 0, 1]] {
            assert_eq!(joined(&order), all, "{order:?}");
        }
        assert_eq!(all.decided(&list), None);
        let mut more = all;
        more.join(&voted(1, storing(4, ADD)));
        assert_eq!(more.decided(&list), Some(ADD), "two of three, three of four");
    }

    #[test]
    fn the_node_to_be_added_answers_and_stores_and_nobody_else_outside() {
        let list = List::first(&IDS).unwrap();
        for (id, answers) in [(9, true), (8, false)] {
            let (mut votes, mut round) = (Votes::NONE, asking(4));
            assert!(!votes.vote(&list, voter(id), &mut round), "there is nothing to store yet");
            assert_eq!(round != asking(4), answers);
            assert_eq!(votes.vote(&list, voter(id), &mut storing(4, ADD)), answers);
        }
    }

    #[test]
    fn who_has_forgotten_votes_on_nothing_but_on_being_added_in_its_present_boot() {
        let list = List::first(&IDS).unwrap();
        let forgot = |id, boot| Voter { id: NodeId(id), boot, forgot: true };
        for mut round in [asking(4), storing(4, ADD)] {
            let before = round;
            let mut votes = Votes::NONE;
            assert!(!votes.vote(&list, forgot(2, 5), &mut round));
            assert_eq!(round, before);
        }
        for (boot, stores) in [(5, true), (6, false)] {
            let mut votes = Votes::NONE;
            assert_eq!(votes.vote(&list, forgot(9, boot), &mut storing(4, ADD)), stores);
        }
    }
}
