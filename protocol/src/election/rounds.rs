//! The shape all elections share. An election implements [`Rounds`]: how its rounds find a winner. Everything else,
//! when to start a round and what to do between rounds, follows from its [`Candidacy`], for all of them alike.

use super::candidacy::Candidacy;
use super::leadership::{LeaderMessage, Loss};
use super::{Command, Election, Notice, Winner};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use crate::wire::Payload;

type Out<R> = Outbox<<R as Rounds>::Message, Notice>;

/// How the rounds of one election find a winner.
pub trait Rounds {
    /// Messages between the nodes.
    type Message: Payload + From<LeaderMessage>;

    /// Returns the roster the election works on.
    fn scope(&self) -> Scope {
        Scope::Group
    }

    /// Returns this node's part in all rounds.
    fn candidacy(&self) -> &Candidacy;

    /// Returns this node's part in all rounds.
    fn candidacy_mut(&mut self) -> &mut Candidacy;

    /// Returns when this node is to start a round; `None` while it takes part in one.
    fn idle(&mut self) -> Option<&mut Option<Instant>>;

    /// Leaves the current round.
    fn leave_round(&mut self);

    /// Returns the deadline of the current phase.
    fn phase_deadline(&self) -> Option<Instant>;

    /// Starts a round, without any condition.
    fn start(&mut self, cx: &Context<'_>, out: &mut Out<Self>);

    /// Handles a message.
    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Self::Message, out: &mut Out<Self>);

    /// Handles the deadline of the current phase: starts a round, unless the election has more phases.
    fn on_deadline(&mut self, cx: &Context<'_>, out: &mut Out<Self>) {
        self.start(cx, out);
    }

    /// Handles the loss of peers: messages they were sent may be lost.
    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out<Self>);

    /// Handles the reboot of peers, of which they may remember nothing.
    fn on_peers_reset(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out<Self>) {
        self.on_peers_lost(cx, set, out);
    }

    /// Runs after the input of every step.
    fn after_input(&mut self, _: &Context<'_>, _: &mut Out<Self>) {}

    /// Returns which candidate wins.
    fn winner(&self) -> Winner {
        Winner::Highest
    }

    /// Returns whether the current round is over, because a leader is known.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns the delay before this node starts a round; `None` where there is no reason to.
    fn start_delay(&self, cx: &Context<'_>) -> Option<Duration> {
        Rounds::winner(self).start_delay(self.candidacy(), cx)
    }

    /// Returns the members of this node's group, where the election forms groups.
    fn members(&self) -> NodeSet {
        NodeSet::EMPTY
    }

    /// Returns the context as this election uses it.
    fn context<'a>(&self, cx: &Context<'a>) -> Context<'a> {
        Rounds::winner(self).context(cx)
    }
}

/// Implements the accessors of [`Rounds`] for an election with the fields `candidacy` and `phase`, and a `Phase::Idle`.
macro_rules! accessors {
    () => {
        fn candidacy(&self) -> &Candidacy {
            &self.candidacy
        }

        fn candidacy_mut(&mut self) -> &mut Candidacy {
            &mut self.candidacy
        }

        fn idle(&mut self) -> Option<&mut Option<Instant>> {
            if let Phase::Idle { start } = &mut self.phase { Some(start) } else { None }
        }

        fn leave_round(&mut self) {
            self.phase = Phase::Idle { start: None };
        }
    };
}

pub(super) use accessors;

fn on_command<R: Rounds>(rounds: &mut R, cx: &Context<'_>, command: Command, out: &mut Out<R>) {
    match command {
        Command::Call if rounds.idle().is_none() => {} // one election of its own at a time, however often it is called
        Command::Call if cx.quarantined => {}          // it starts one later, where there is no leader by then
        Command::Call => rounds.start(cx, out),
        Command::Yield => {
            let winner = Rounds::winner(rounds);
            rounds.candidacy_mut().abstain(cx, winner);
        }
    }
}

fn on_fact<R: Rounds>(rounds: &mut R, cx: &Context<'_>, fact: Fact, out: &mut Out<R>) {
    match (Rounds::scope(rounds), fact) {
        (_, Fact::PeerUp(set)) => rounds.candidacy_mut().leadership.inform(cx, set),
        (Scope::Group, Fact::PeerDown(set)) => {
            if rounds.candidacy_mut().leadership.on_suspected(cx, set, out) {
                cancel_start(rounds);
            }
            rounds.on_peers_lost(cx, set, out);
        }
        (Scope::Group, Fact::PeerReset(set)) => rounds.on_peers_reset(cx, set, out),
        (Scope::Neighbours | Scope::Nobody, Fact::PeerDown(set)) => {
            rounds.candidacy_mut().leadership.remove_peers(set);
            rounds.on_peers_lost(cx, set, out);
        }
        // The link of a neighbour that rebooted went down before; the others are conclusions of this stage and later
        // ones.
        (Scope::Neighbours | Scope::Nobody, Fact::PeerReset(_))
        | (_, Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) => {}
    }
}

fn on_timeout<R: Rounds>(rounds: &mut R, cx: &Context<'_>, out: &mut Out<R>) {
    match rounds.candidacy_mut().on_timeout(cx, out) {
        Some(Loss::DoubtedAlone) => {
            if let Some(start) = rounds.idle() {
                *start = Some(cx.now).filter(|_| !cx.quarantined);
            }
        }
        Some(Loss::Silent) if cancel_start(rounds) => return,
        Some(Loss::Silent) | None => {}
    }
    if rounds.phase_deadline().is_some_and(|at| at <= cx.now) {
        rounds.on_deadline(cx, out);
    }
}

/// Cancels the planned start of a round, as the leader was lost since: the delay is computed again. Returns whether
/// this node is in no round.
fn cancel_start<R: Rounds>(rounds: &mut R) -> bool {
    rounds.idle().map(|start| *start = None).is_some()
}

/// Decides after every step whether the round is over, and when to start the next.
fn reschedule<R: Rounds>(rounds: &mut R, cx: &Context<'_>, out: &mut Out<R>) {
    rounds.candidacy_mut().step_down_if_unfit(cx, out);
    if rounds.is_over() && rounds.idle().is_none() {
        rounds.leave_round();
    }
    // A node that lost its records might start a round under a term of an earlier boot, of which announcements may still be on
    // their way. It takes part in the rounds of others.
    let delay = rounds.start_delay(cx).filter(|_| !cx.quarantined);
    if let Some(start) = rounds.idle() {
        *start = delay.map(|delay| start.unwrap_or_else(|| cx.now.after(delay)));
    }
}

impl<R: Rounds> Algorithm for R {
    type Message = R::Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Rounds::scope(self)
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<R::Message, Command>, out: &mut Out<R>) {
        let cx = &self.context(cx);
        match input {
            Input::Message { from, message, .. } => self.on_message(cx, from, message, out),
            Input::Command(command) => on_command(self, cx, command, out),
            Input::Fact(fact) => on_fact(self, cx, fact, out),
            Input::Timeout => on_timeout(self, cx, out),
        }
        self.after_input(cx, out);
        reschedule(self, cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.phase_deadline(), self.candidacy().deadline())
    }
}

impl<R: Rounds> Election for R {
    fn resume(&mut self, number: u32) {
        self.candidacy_mut().leadership.resume(number);
    }

    fn term_number(&self) -> u32 {
        self.candidacy().leadership.term_number()
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.candidacy().leadership.leader().map(|leader| (leader.candidate.id, leader.term))
    }

    fn hurry(&mut self, now: Instant) {
        self.candidacy_mut().leadership.hurry(now);
    }

    fn on_informed(&mut self, set: NodeSet) {
        self.candidacy_mut().leadership.on_informed(set);
    }

    fn take_deposed(&mut self) -> bool {
        self.candidacy_mut().leadership.take_deposed() && Rounds::winner(self) == Winner::Highest
    }

    fn winner(&self) -> Winner {
        Rounds::winner(self)
    }

    fn parent(&self) -> NodeSet {
        self.candidacy().leadership.parent()
    }

    fn members(&self) -> NodeSet {
        Rounds::members(self)
    }

    fn heartbeat(&self) -> Option<u32> {
        self.candidacy().leadership.leader().map(|leader| leader.heartbeat)
    }
}
