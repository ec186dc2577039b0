//! The leader's side: it begins rounds, and finishes what an earlier leader may have decided.

use super::Members;
use super::list::{Change, List};
use super::log::Memory;
use super::round::{Ballot, Phase, Round};
use crate::base::cipher::Cipher;
use crate::base::ids::NodeSet;
use crate::base::term::Term;
use crate::base::time::Instant;

/// How long a leader asks before it gives up, in heartbeats.
const ASKING_HEARTBEATS: u32 = 4;

/// Why a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// This node is not the acting leader.
    NotLeader,
    /// Another change is open.
    Open,
    /// This node lost its log, and may not vote.
    LostLog,
    /// It is a member already, or none that could be removed.
    NoChange,
    /// The list has no room for it.
    Full,
    /// The leader does not remove itself: it yields first.
    Leader,
    /// No majority of the members answers, or the node to be added does not.
    NoAnswer,
}

impl Refusal {
    /// Returns the reason in words.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::NotLeader => "not the acting leader",
            Self::Open => "another change is open",
            Self::LostLog => "the log is lost",
            Self::NoChange => "it changes nothing",
            Self::Full => "no room on the list",
            Self::Leader => "the leader does not remove itself",
            Self::NoAnswer => "no answer",
        }
    }
}

/// Notices to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// There is a later list: the host boots its node with [`Members::list`], or stops it where it is not on that.
    Changed {
        /// The epoch of the list.
        epoch: u32,
    },
    /// The change was not begun, and nobody has stored it.
    Refused {
        /// The change.
        change: Change,
        /// The reason.
        reason: Refusal,
    },
    /// The change that this leader was told to make is decided.
    Decided {
        /// The change.
        change: Change,
    },
    /// This node leads no more, and does not know whether its change will be decided.
    Unknown {
        /// The change.
        change: Change,
    },
    /// An open change removes this leader: the host lets it yield ([`Command::Yield`](crate::election::Command::Yield)), and
    /// the next leader finishes the change.
    Yield,
}

/// A round of this leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    ballot: Ballot,
    /// The change it was told to make; `None` where it finishes another leader's.
    told: Option<Change>,
    /// Until when it asks.
    asks_until: Option<Instant>,
}

impl Attempt {
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.asks_until
    }
}

impl<K: Cipher> Members<K> {
    /// Changes the list, as the acting leader of the term `acting`. A notice says what becomes of it.
    pub fn change(&mut self, now: Instant, acting: Option<Term>, change: Change) {
        let reason = match acting {
            None => Refusal::NotLeader,
            Some(_) if self.log.memory != Memory::Intact => Refusal::LostLog,
            Some(_) if self.attempt.is_some() || self.open().is_some() => Refusal::Open,
            Some(_) if change == Change::Remove(self.me) => Refusal::Leader,
            Some(term) => {
                let known = match change {
                    Change::Add(id) => self.list().contains(id),
                    Change::Remove(id) => !self.list().contains(id),
                };
                if known {
                    Refusal::NoChange
                } else if self.list().after(change).is_none() {
                    Refusal::Full
                } else if self.begin(now, term, change, Some(change)) {
                    return;
                } else {
                    Refusal::NotLeader
                }
            }
        };
        self.notify(Notice::Refused { change, reason });
    }

    /// Begins a round, unless there is a later one already.
    fn begin(&mut self, now: Instant, term: Term, wanted: Change, told: Option<Change>) -> bool {
        let ballot = Ballot { term, attempt: self.attempts.saturating_add(1) };
        let later = self.round.is_some_and(|round| round.ballot >= ballot) || self.log.votes.promised >= ballot;
        if later {
            return false;
        }
        self.attempts = ballot.attempt;
        let asks_until = Some(now.after(self.timing.heartbeat.times(ASKING_HEARTBEATS)));
        self.attempt = Some(Attempt { ballot, told, asks_until });
        let phase = Phase::Asking { wanted, boot: 0, promised: NodeSet::EMPTY, best: None };
        let round = Round { epoch: self.list().epoch(), ballot, phase };
        self.vote(now, &round);
        true
    }

    /// Goes on with the open round as the acting leader, or begins one to finish what is open.
    pub(super) fn lead(&mut self, now: Instant, acting: Option<Term>) {
        if let Some(attempt) = self.attempt {
            let latest = self.round.is_some_and(|round| round.ballot == attempt.ballot);
            if !latest || acting != Some(attempt.ballot.term) {
                self.attempt = None;
                if let Some(change) = attempt.told {
                    self.notify(Notice::Unknown { change });
                }
            }
        }
        let Some(term) = acting else { return };
        if let Some(attempt) = self.attempt {
            return self.advance(now, attempt);
        }
        let Some(open) = self.open().filter(|_| self.log.memory == Memory::Intact) else { return };
        if open == Change::Remove(self.me) {
            if self.yielded != Some(term) {
                self.yielded = Some(term);
                self.notify(Notice::Yield);
            }
        } else if self.begin(now, term, open, None)
            && let Some(attempt) = self.attempt
        {
            self.advance(now, attempt);
        }
    }

    /// Goes on with a round that a majority of the list has answered, or gives it up.
    fn advance(&mut self, now: Instant, attempt: Attempt) {
        let Some(Round { epoch, ballot, phase: Phase::Asking { wanted, boot, promised, best } }) = self.round else {
            return self.conclude(now);
        };
        let list = self.list();
        let added = if boot > 0 { NodeSet::slot(list.members().len()) } else { NodeSet::EMPTY };
        let answered = boot > 0 || matches!(wanted, Change::Remove(_));
        // A change that nobody has stored begins where it can be decided: it could not be taken back.
        let answered = answered && list.is_majority_after(promised.with(added), wanted);
        let ready = best.map(|(_, change, boot)| (change, boot)).or(answered.then_some((wanted, boot)));
        if let Some((change, boot)) = ready.filter(|_| list.is_majority(promised)) {
            let superseded = attempt.told.filter(|&told| told != change);
            self.attempt =
                Some(Attempt { told: attempt.told.filter(|_| superseded.is_none()), asks_until: None, ..attempt });
            if let Some(told) = superseded {
                self.notify(Notice::Refused { change: told, reason: Refusal::Open });
            }
            self.vote(now, &Round { epoch, ballot, phase: Phase::Storing { change, boot, stored: NodeSet::EMPTY } });
            self.conclude(now);
        } else if attempt.asks_until.is_some_and(|until| until <= now) {
            self.attempt = None;
            if let Some(change) = attempt.told {
                self.notify(Notice::Refused { change, reason: Refusal::NoAnswer });
            }
        }
    }

    /// Ends the round of this leader: `next` is decided.
    pub(super) fn end_attempt(&mut self, next: &List) {
        let Some(change) = self.attempt.take().and_then(|attempt| attempt.told) else { return };
        let decided = self.list().after(change).as_ref() == Some(next);
        self.notify(if decided { Notice::Decided { change } } else { Notice::Unknown { change } });
    }
}
