//! What a member does with messages, and what it sends.

use super::leader::{Choice, Have, Phase};
use super::log::{Entry, Number};
use super::message::Message;
use super::{Notice, Out, Role, Sequencer, Serving, Stream};
use crate::algorithm::Context;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;

impl<const N: usize> Sequencer<N> {
    pub(super) fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Collect { term } => {
                self.asked_by = Some((from, term));
                self.answer_due = self.leader == self.asked_by;
            }
            Message::Have { term, of, era, base, commit, last } => {
                let [base, commit, last] = [base, commit, last].map(|count| Number { era, count });
                let sane = base <= commit && commit <= last && of <= term;
                if sane && self.leads(term) {
                    self.on_answer(cx, sender, Some(Have { of, base, commit, last }), out);
                }
            }
            Message::Blank { term } if self.leads(term) => self.on_answer(cx, sender, None, out),
            Message::Fetch { term, after } if self.follows(from, term) && after.era == self.log.era => {
                self.serving = Some(Serving { to: sender, term, next: after.count.saturating_add(1) });
            }
            Message::Fetched { term, number, entry } if self.leads(term) => {
                self.on_fetched(cx, sender, number, &entry);
            }
            Message::Welcome { term, after, target } if self.follows(from, term) => {
                self.skip(after, out);
                self.role = Role::Member(Some(Stream { matched: after.count, target }));
                self.advance(after.count);
            }
            Message::Order { term, number, behind, entry } if self.follows(from, term) => {
                self.on_order(number, &entry, number.count.saturating_sub(u32::from(behind)));
            }
            Message::Committed { term, count } if self.follows(from, term) => self.on_committed(count),
            Message::Stored { term, last } if self.leads(term) => {
                if let Role::Leader(leader) = &mut self.role {
                    leader.on_stored(sender, last.min(self.log.last()));
                }
                self.commit(cx);
            }
            Message::Submit { term, after, incarnation, number, payload } if self.leads(term) => {
                let origin = sender.slots().next().and_then(|slot| u8::try_from(slot).ok());
                if let Some(origin) = origin.filter(|_| after >= self.log.number(self.log.base())) {
                    self.number(cx, &Entry { origin, incarnation, number, payload });
                }
            }
            // Of a leader that this member does not follow, or to one that it is not.
            Message::Blank { .. }
            | Message::Fetch { .. }
            | Message::Fetched { .. }
            | Message::Welcome { .. }
            | Message::Order { .. }
            | Message::Committed { .. }
            | Message::Stored { .. }
            | Message::Submit { .. } => {}
        }
    }

    fn leads(&self, term: Term) -> bool {
        matches!(&self.role, Role::Leader(leader) if leader.term == term)
    }

    fn follows(&self, from: NodeId, term: Term) -> bool {
        self.leader == Some((from, term)) && term >= self.promised && matches!(self.role, Role::Member(_))
    }

    fn on_answer(&mut self, cx: &Context<'_>, member: NodeSet, have: Option<Have>, out: &mut Out) {
        if let Role::Leader(leader) = &mut self.role {
            leader.on_answer(member, have);
        }
        self.choose(cx, out);
    }

    /// Takes over the order, where enough members have said what they have.
    pub(super) fn choose(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Role::Leader(leader) = &mut self.role else { return };
        if !matches!(leader.phase, Phase::Collecting) {
            return;
        }
        let term = leader.term;
        match leader.choose(cx.roster.all()) {
            Choice::Wait => {}
            Choice::NewHistory => {
                self.skip(Number { era: term.number, count: 0 }, out);
                self.open(cx);
            }
            Choice::Take(member, _) if member == cx.roster.set_of(cx.me) => self.open(cx),
            Choice::Take(member, _) if !member.meets(cx.up) => self.collect(cx, term, out), // it answered, and is gone
            Choice::Take(member, have) => {
                self.skip(have.base, out);
                let matched = self.log.commit;
                let Role::Leader(leader) = &mut self.role else { return };
                leader.phase = Phase::Fetching { from: member, matched, until: have.last.count, asked: false };
                if matched >= have.last.count {
                    self.log.truncate(have.last.count);
                    self.open(cx);
                }
            }
        }
    }

    /// Begins to number messages.
    fn open(&mut self, cx: &Context<'_>) {
        let Role::Leader(leader) = &mut self.role else { return };
        leader.open();
        (self.log_term, self.blank) = (leader.term, false);
        self.commit(cx);
        self.number_own(cx);
    }

    /// Stores what the leader, this member, has fetched.
    fn on_fetched(&mut self, cx: &Context<'_>, sender: NodeSet, number: Number, entry: &Entry) {
        let Role::Leader(leader) = &mut self.role else { return };
        let Phase::Fetching { from, matched, until, .. } = &mut leader.phase else { return };
        let next = self.log.number(matched.saturating_add(1));
        if *from != sender || number != next || !self.log.put(number.count, entry) {
            return;
        }
        *matched = number.count;
        if *matched >= *until {
            let last = *until;
            self.log.truncate(last);
            self.open(cx);
        }
    }

    /// Continues after this number, and says so where messages are missed by that.
    fn skip(&mut self, after: Number, out: &mut Out) {
        if !self.log.skip(after) {
            return;
        }
        out.notify(Notice::Missed { through: after });
        self.submitted = None;
        while let Some(pending) = self.pending.front().filter(|pending| pending.tried) {
            let number = pending.number;
            self.pending.pop_front();
            out.notify(Notice::Unknown { number });
        }
    }

    fn on_order(&mut self, number: Number, entry: &Entry, committed: u32) {
        let Role::Member(Some(stream)) = &mut self.role else { return };
        if number != self.log.number(stream.matched.saturating_add(1)) {
            return;
        }
        if self.log.put(number.count, entry) {
            self.advance(number.count);
            self.on_committed(committed);
        } else {
            // No room before more is delivered: the leader has to continue from here.
            self.role = Role::Member(None);
            self.answer_due = true;
        }
    }

    /// Notes that this member has what the leader has up to `count`.
    fn advance(&mut self, count: u32) {
        let Role::Member(Some(stream)) = &mut self.role else { return };
        stream.matched = count;
        if count < stream.target {
            return;
        }
        self.stored_due = true;
        if self.log_term != self.promised || self.blank {
            (self.log_term, self.blank) = (self.promised, false);
            self.log.truncate(count);
        }
    }

    fn on_committed(&mut self, count: u32) {
        if let Role::Member(Some(stream)) = &self.role {
            self.log.commit = count.min(stream.matched).max(self.log.commit);
        }
    }

    /// Numbers a message, if it has no number yet and there is room; this member leads.
    fn number(&mut self, cx: &Context<'_>, entry: &Entry) {
        let Role::Leader(leader) = &self.role else { return };
        if !matches!(leader.phase, Phase::Open) || self.log.contains(entry) {
            return;
        }
        let stable = leader.stable(cx, &self.log);
        if self.log.append(entry, stable) {
            self.commit(cx);
        }
    }

    /// Numbers this member's own messages, if it leads.
    pub(super) fn number_own(&mut self, cx: &Context<'_>) {
        let origin = cx.roster.slot_of(cx.me).and_then(|slot| u8::try_from(slot).ok());
        for index in 0..self.pending.len() {
            let Some((origin, pending)) = origin.zip(self.pending.iter_mut().nth(index)) else { return };
            if !matches!(&self.role, Role::Leader(leader) if matches!(leader.phase, Phase::Open)) {
                return;
            }
            pending.tried = true;
            let (number, payload) = (pending.number, pending.payload.clone());
            let entry = Entry { origin, incarnation: self.incarnation, number, payload };
            self.number(cx, &entry);
            if !self.log.contains(&entry) {
                return; // no room: the later ones must not overtake it
            }
        }
    }

    /// Commits what a majority has; this member leads.
    fn commit(&mut self, cx: &Context<'_>) {
        if let Role::Leader(leader) = &mut self.role
            && matches!(leader.phase, Phase::Open)
            && leader.commit(cx, &mut self.log)
        {
            self.deliver_at = Some(self.deliver_at.unwrap_or(cx.now));
        }
    }

    /// Returns the next message of a member, and to whom.
    pub(super) fn poll_member(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Message)> {
        if let Some(message) = self.poll_fetched() {
            return Some(message);
        }
        let (leader, term) = self.leader.filter(|&(leader, _)| leader != cx.me)?;
        let to = cx.roster.set_of(leader).and(cx.up);
        if to.is_empty() || term < self.promised {
            return None;
        }
        if core::mem::take(&mut self.answer_due) {
            self.promised = term;
            self.role = Role::Member(None);
            return Some((to, self.answer(term)));
        }
        let Role::Member(Some(stream)) = self.role else { return None };
        if core::mem::take(&mut self.stored_due) {
            return Some((to, Message::Stored { term, last: stream.matched }));
        }
        if stream.matched < stream.target {
            return None;
        }
        let message = self.poll_submit(cx, term, stream.matched)?;
        Some((to, message))
    }

    fn answer(&self, term: Term) -> Message {
        let Some(Have { of, base, commit, last }) = self.have() else { return Message::Blank { term } };
        Message::Have { term, of, era: base.era, base: base.count, commit: commit.count, last: last.count }
    }

    /// The next message that the new leader fetches.
    fn poll_fetched(&mut self) -> Option<(NodeSet, Message)> {
        let Serving { to, term, next } = self.serving.take().filter(|serving| serving.term == self.promised)?;
        let entry = self.log.get(next)?.clone();
        self.serving = Some(Serving { to, term, next: next.saturating_add(1) });
        Some((to, Message::Fetched { term, number: self.log.number(next), entry }))
    }

    /// Submits the first message that is not in the order yet.
    fn poll_submit(&mut self, cx: &Context<'_>, term: Term, matched: u32) -> Option<Message> {
        let origin = cx.roster.slot_of(cx.me).and_then(|slot| u8::try_from(slot).ok())?;
        let (log, incarnation) = (&self.log, self.incarnation);
        let entry = |pending: &super::Pending| {
            let (number, payload) = (pending.number, pending.payload.clone());
            Entry { origin, incarnation, number, payload }
        };
        let pending = self.pending.iter_mut().find(|pending| !log.contains(&entry(pending)))?;
        if self.submitted.is_some_and(|(number, _)| number == pending.number) {
            return None;
        }
        pending.tried = true;
        let Entry { number, payload, .. } = entry(pending);
        self.submitted = Some((number, cx.now.after(cx.timing.heartbeat)));
        Some(Message::Submit { term, after: self.log.number(matched), incarnation, number, payload })
    }
}
