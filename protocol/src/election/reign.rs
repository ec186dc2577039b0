//! The time between two elections: the leader beats, the beats spread, and a leader that is lost or bettered is let go.
//!
//! A leadership is an [`Office`]: a term, a leader and a count of beats. Its news spread by flooding: every node passes
//! each beat on once, hears its neighbours do the same, and says it again while a neighbour stays silent. A node takes
//! an office in only where (term, beat) is above everything it ever took in, so a dead leader's last beats die out
//! however long they wander, and no node's term ever falls.
//!
//! # Merging
//! Where two networks meet, nodes hear of two leaders. The better one wins if its term is higher. If it is lower, it
//! is asked to [`Word::Raise`]: the request runs up the path its beats came down, and the leader goes on under a term
//! above the one it was told. A worse leader is taken in only by authority: of an election this node took part in, or
//! of the leader itself, handing over.
//!
//! # Incumbents
//! Until a leader has beaten [`SETTLED`] times it stands as it was elected. From then on it stands as it is, and counts
//! an eighth better, in elections and against challengers, so that noise in what a board measures changes no leader.

use super::Notice;
use crate::algorithm::{Context, Outbox};
use crate::capacity::Standing;
use crate::clock::Term;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span, sooner};

mod office;
mod spread;

pub use office::{Office, SETTLED, Word};
use spread::Spread;

/// What this node believes about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Belief {
    /// Nobody leads; the one who did last was lost, or there was none.
    Vacant { lost: Option<NodeId> },
    /// Another node leads: until when without news, and the neighbour its news came from.
    Following { office: Office, until: Instant, via: NodeSet },
    /// This node leads, and beats next at this time.
    Leading { office: Office, next: Instant },
}

/// The part of an election that outlives the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reign {
    belief: Belief,
    /// The highest (term, beat) ever taken in.
    floor: (Term, u32),
    /// The highest term number ever heard of, in elections too.
    number: u32,
    spread: Spread,
    /// A term the leader must rise above; no more than its own when there is no such demand.
    demand: Term,
    /// Whether elections tell everybody themselves who won, so that only beats need to be spread.
    told: bool,
}

impl Reign {
    /// Nobody leads, and nobody ever did.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            belief: Belief::Vacant { lost: None },
            floor: (Term::ZERO, 0),
            number: 0,
            spread: Spread::Done,
            demand: Term::ZERO,
            told: false,
        }
    }

    /// The same after elections that tell everybody themselves who won.
    #[must_use]
    pub const fn after_telling() -> Self {
        Self { told: true, ..Self::new() }
    }

    /// Takes in no office of a term up to `number`.
    pub fn resume(&mut self, number: u32) {
        self.floor = (Term { number, by: NodeId(u32::MAX) }, u32::MAX);
        self.note(number);
    }

    /// The highest term ever taken in: no other up to it will be.
    #[must_use]
    pub const fn floor(&self) -> Term {
        self.floor.0
    }

    /// The highest term number heard of.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Hears of a term number.
    pub fn note(&mut self, number: u32) {
        self.number = self.number.max(number);
    }

    /// `term`, if an office under it would be news to this node; otherwise a new one.
    pub fn still_new(&mut self, term: Term, me: NodeId) -> Term {
        if (term, 0) > self.floor { term } else { self.new_term(me) }
    }

    /// A term nobody has used before.
    pub fn new_term(&mut self, me: NodeId) -> Term {
        self.number = self.number.saturating_add(1);
        Term { number: self.number, by: me }
    }

    /// The current office.
    #[must_use]
    pub fn office(&self) -> Option<&Office> {
        match &self.belief {
            Belief::Vacant { .. } => None,
            Belief::Following { office, .. } | Belief::Leading { office, .. } => Some(office),
        }
    }

    /// The leader that was lost, while there is no other.
    #[must_use]
    pub const fn lost(&self) -> Option<NodeId> {
        match self.belief {
            Belief::Vacant { lost } => lost,
            Belief::Following { .. } | Belief::Leading { .. } => None,
        }
    }

    /// The neighbour the leader's news come from.
    #[must_use]
    pub const fn parent(&self) -> NodeSet {
        match self.belief {
            Belief::Following { via, .. } => via,
            Belief::Vacant { .. } | Belief::Leading { .. } => NodeSet::EMPTY,
        }
    }

    /// Whether this node leads.
    #[must_use]
    pub const fn leads(&self) -> bool {
        matches!(self.belief, Belief::Leading { .. })
    }

    /// Whether this node leads and has settled.
    #[must_use]
    pub fn is_incumbent(&self) -> bool {
        matches!(&self.belief, Belief::Leading { office, .. } if office.beat >= SETTLED)
    }

    /// Whether the leader has settled.
    #[must_use]
    pub fn has_settled(&self) -> bool {
        self.office().is_some_and(|office| office.beat >= SETTLED)
    }

    /// Whether `standing` would make the better leader, incumbency counted.
    #[must_use]
    pub fn is_bettered_by(&self, standing: Standing) -> bool {
        self.office().is_some_and(|office| office.leader.id != standing.id && office.bar() < standing)
    }

    /// Starts an office: an election ended here, or this node hands over.
    pub fn announce<M: From<Word>>(&mut self, cx: &Context<'_>, office: Office, out: &mut Outbox<M, Notice>) {
        self.enter(cx, office, cx.timing.lease(), NodeSet::EMPTY, out);
    }

    /// Hands the office to the runner-up; whether there was one.
    pub fn hand_over<M: From<Word>>(&mut self, cx: &Context<'_>, out: &mut Outbox<M, Notice>) -> bool {
        let Belief::Leading { office, .. } = self.belief else { return false };
        let Some(second) = cx.rival.or(office.second).filter(|second| second.id != cx.me) else { return false };
        let term = self.new_term(cx.me);
        self.announce(cx, Office { term, leader: second, second: None, beat: 0 }, out);
        if self.told {
            self.say(cx, NodeSet::EMPTY, cx.timing.repeats, out); // it was no election that could have told
        }
        true
    }

    /// Lets the office go without a successor.
    pub fn resign<M>(&mut self, out: &mut Outbox<M, Notice>) {
        let lost = self.office().map(|office| office.leader.id);
        self.belief = Belief::Vacant { lost };
        self.spread = Spread::Done;
        out.notify(Notice::Leaderless);
    }

    /// Members are suspected to be down: lets the leader go if it is one of them and its beats stay away too. Whether it
    /// was let go.
    pub fn lose<M>(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Outbox<M, Notice>) -> bool {
        let Belief::Following { office, until, .. } = &self.belief else { return false };
        let silent = cx.timing.lease().minus(until.since(cx.now)) > cx.timing.heartbeat.share(3, 2);
        let lost = silent && cx.roster.set_of(office.leader.id).meets(set);
        if lost {
            self.resign(out);
        }
        lost
    }

    /// A neighbour said something about the leader; `joined` is the last election this node took part in. Whether this
    /// node entered a new office by it.
    pub fn hear<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        word: Word,
        joined: Term,
        out: &mut Outbox<M, Notice>,
    ) -> bool {
        let (office, age) = match word {
            Word::Leader { term, leader, second, age } => (Office { term, leader, second, beat: 0 }, age),
            Word::Beat { term, leader, beat, age } => (Office { term, leader, second: None, beat }, age),
            Word::Raise { term } => {
                self.demand_above(cx, term, out);
                return false;
            }
        };
        // What is as old as a lease is no news: its leader may be long gone.
        let left = cx.timing.lease().share(u32::from(u8::MAX.saturating_sub(age)), u32::from(u8::MAX));
        if age == u8::MAX {
            return false;
        }
        self.compare(cx, from, office, joined, left, out)
    }

    /// Weighs an office heard of against the current one.
    fn compare<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        heard: Office,
        joined: Term,
        left: Span,
        out: &mut Outbox<M, Notice>,
    ) -> bool {
        self.note(heard.term.number);
        let news = (heard.term, heard.beat) > self.floor;
        let named = heard.leader.id == cx.me;
        if named && news && (heard.beat > 0 || cx.standing.is_none()) {
            // Beats of an earlier boot that others still believe in, or an honour this node cannot take.
            self.demand_above(cx, heard.term, out);
            return false;
        }
        let Some(current) = self.office().copied() else {
            if news {
                return self.enter(cx, heard, left, from, out);
            }
            if heard.term < self.floor.0 && !named {
                out.send(from, Word::Raise { term: self.floor.0 }.into());
            }
            return false;
        };
        if heard.leader.id == current.leader.id {
            if news {
                return self.enter(cx, heard, left, from, out);
            }
            if (heard.term, heard.beat) == (current.term, current.beat) {
                self.heard_from(from);
            } else {
                self.tell(cx, from);
            }
            return false;
        }
        let better = heard.leader > current.leader;
        let authority = heard.term == joined || heard.term.by == current.leader.id;
        if news && (better || authority) {
            return self.enter(cx, heard, left, from, out);
        }
        match (news, better) {
            (true, _) => self.demand_above(cx, heard.term, out),
            (false, true) => out.send(from, Word::Raise { term: self.floor.0 }.into()),
            (false, false) => self.tell(cx, from),
        }
        false
    }

    /// The leader must rise above `term`: does so if it is this node, otherwise asks it to.
    fn demand_above<M: From<Word>>(&mut self, cx: &Context<'_>, term: Term, out: &mut Outbox<M, Notice>) {
        let fresh = term > self.demand;
        self.demand = self.demand.max(term);
        self.note(term.number);
        match &mut self.belief {
            Belief::Vacant { .. } => self.demand = Term::ZERO, // noted; the next election exceeds it
            Belief::Following { office, via, .. } => {
                if fresh && term > office.term {
                    out.send(*via, Word::Raise { term }.into());
                }
            }
            Belief::Leading { office, next } => {
                if term > office.term {
                    self.number = self.number.saturating_add(1);
                    office.term = Term { number: self.number, by: cx.me };
                    self.floor = (office.term, office.beat);
                    *next = cx.now; // beats at once, for whoever waits for the new term
                    out.notify(Notice::Gained { term: office.term });
                }
            }
        }
    }

    /// Takes an office in and passes the news on. Whether it is another term or another leader than before.
    fn enter<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        office: Office,
        left: Span,
        from: NodeSet,
        out: &mut Outbox<M, Notice>,
    ) -> bool {
        let changed = self.office().is_none_or(|current| current.term != office.term);
        self.floor = (office.term, office.beat);
        self.belief = if office.leader.id == cx.me {
            Belief::Leading { office, next: cx.now.after(cx.timing.heartbeat) }
        } else {
            let until = cx.now.after(left);
            Belief::Following { office, until, via: from }
        };
        if changed {
            out.notify(if office.leader.id == cx.me {
                Notice::Gained { term: office.term }
            } else {
                Notice::Following { leader: office.leader.id, term: office.term }
            });
        }
        if office.beat == 0 && self.told {
            self.spread = Spread::Done;
        } else {
            self.say(cx, from, cx.timing.repeats, out);
        }
        if self.demand > office.term {
            let term = self.demand;
            out.send(from, Word::Raise { term }.into()); // once per beat, until the leader has heard
        } else {
            self.demand = Term::ZERO;
        }
        changed
    }

    /// Links to `set` are gone.
    pub fn forget(&mut self, set: NodeSet) {
        if let Spread::Listening { told, .. } = &mut self.spread {
            *told = told.without(set);
        }
        if let Belief::Following { via, .. } = &mut self.belief {
            *via = via.without(set);
        }
    }

    /// Time has passed: beats, says again, or gives the leader up. Whether it was given up.
    pub fn timeout<M: From<Word>>(&mut self, cx: &Context<'_>, out: &mut Outbox<M, Notice>) -> bool {
        match self.belief {
            Belief::Following { until, .. } if until <= cx.now => {
                self.resign(out);
                return true;
            }
            Belief::Leading { mut office, next } if next <= cx.now => {
                office.beat = office.beat.saturating_add(1);
                if office.beat >= SETTLED {
                    office.leader = cx.standing.unwrap_or(office.leader);
                }
                self.belief = Belief::Leading { office, next: cx.now.after(cx.timing.heartbeat) };
                self.floor = (office.term, office.beat);
                self.say(cx, NodeSet::EMPTY, cx.timing.repeats, out);
            }
            Belief::Vacant { .. } | Belief::Following { .. } | Belief::Leading { .. } => {}
        }
        match self.spread {
            Spread::Listening { told, left, at } if at <= cx.now => {
                if cx.near.without(told).is_empty() {
                    self.spread = Spread::Done;
                } else {
                    self.say(cx, told, left.saturating_sub(1), out);
                }
            }
            Spread::Done | Spread::Listening { .. } => {}
        }
        false
    }

    /// When [`Reign::timeout`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let belief = match &self.belief {
            Belief::Vacant { .. } => None,
            Belief::Following { until, .. } => Some(*until),
            Belief::Leading { next, .. } => Some(*next),
        };
        let spread = match self.spread {
            Spread::Done => None,
            Spread::Listening { at, .. } => Some(at),
        };
        sooner(belief, spread)
    }
}

impl Default for Reign {
    fn default() -> Self {
        Self::new()
    }
}
