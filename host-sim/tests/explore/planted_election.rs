//! An election with a planted bug, around the unchanged one.

use host_sim::explore::election_model::{Claim, Explored};
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Output, Scope};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::term::Term;
use protocol::election::{Bully, ChangRoberts, Command, Election, Notice, Winner, bully, chang_roberts};
use protocol::{Instant, NodeId, NodeSet};

/// No bug.
pub(crate) const NO_BUG: u8 = u8::MAX;
/// The term is not stored: a reboot counts terms from the start.
pub(crate) const TERM_NOT_STORED: u8 = 0;
/// A node without records stands for election in its quarantine.
pub(crate) const NO_QUARANTINE: u8 = 1;
/// A term is a number alone: two nodes that start at once have the same.
pub(crate) const NO_TIE_BREAK: u8 = 2;
/// A node takes itself for the leader of any term.
pub(crate) const LEADS_EVERY_TERM: u8 = 3;
/// Every message is sent nine times.
pub(crate) const SENDS_TOO_MUCH: u8 = 4;
/// A node that follows a leader goes back to the term before.
pub(crate) const TERM_FALLS: u8 = 5;
/// No deadline is met: no election starts.
pub(crate) const TIMEOUT_IGNORED: u8 = 6;
/// No node stands for election.
pub(crate) const NEVER_STANDS: u8 = 7;

/// An election with the bug of this number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Planted<E, const BUG: u8> {
    election: E,
    /// The node, once it has taken a step.
    me: Option<NodeId>,
    /// Whether it has followed a leader.
    followed: bool,
}

/// Messages whose terms can be changed.
pub(crate) trait Terms {
    /// The same message, with terms that name no node.
    fn nameless(self) -> Self;
}

fn number_alone(term: Term) -> Term {
    Term { by: NodeId(1), ..term }
}

impl Terms for bully::Message {
    fn nameless(self) -> Self {
        match self {
            Self::Coordinator { term, leader, runner_up } => {
                Self::Coordinator { term: number_alone(term), leader, runner_up }
            }
            message => message,
        }
    }
}

impl Terms for chang_roberts::Message {
    fn nameless(self) -> Self {
        match self {
            Self::Elected { term, leader } => Self::Elected { term: number_alone(term), leader },
            message => message,
        }
    }
}

impl<E: Election<Message: Terms + Clone>, const BUG: u8> Algorithm for Planted<E, BUG> {
    type Message = E::Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        self.election.scope()
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<E::Message, Command>, out: &mut Outbox<E::Message, Notice>) {
        self.me = (BUG == LEADS_EVERY_TERM).then_some(cx.me);
        if BUG == TIMEOUT_IGNORED && matches!(input, Input::Timeout) {
            return;
        }
        let own = Candidate { capacity: Capacity::new(1), id: cx.me };
        let candidate = match BUG {
            NO_QUARANTINE => cx.candidate.or(Some(own)),
            NEVER_STANDS => None,
            _ => cx.candidate,
        };
        let mut outputs = Outbox::new();
        self.election.handle(&Context { candidate, ..*cx }, input, &mut outputs);
        self.followed |= BUG == TERM_FALLS && self.election.leader().is_some();
        for output in outputs {
            match output {
                Output::Send { to, message } if BUG == NO_TIE_BREAK => out.send(to, message.nameless()),
                Output::Send { to, message } if BUG == SENDS_TOO_MUCH => {
                    (0..9).for_each(|_| out.send(to, message.clone()));
                }
                Output::Send { to, message } => out.send(to, message),
                Output::Notify(notice) => out.notify(notice),
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.election.deadline()
    }
}

impl<E: Election<Message: Terms + Clone>, const BUG: u8> Election for Planted<E, BUG> {
    fn resume(&mut self, number: u32) {
        self.election.resume(if BUG == TERM_NOT_STORED { 0 } else { number });
    }

    fn term_number(&self) -> u32 {
        self.election.term_number()
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        let (leader, term) = self.election.leader()?;
        let number = if self.followed && term.number > 1 { 0 } else { term.number };
        Some((self.me.unwrap_or(leader), Term { number, ..term }))
    }

    fn winner(&self) -> Winner {
        self.election.winner()
    }

    fn parent(&self) -> NodeSet {
        self.election.parent()
    }

    fn heartbeat(&self) -> Option<u32> {
        self.election.heartbeat()
    }
}

impl<const BUG: u8> Explored for Planted<Bully, BUG> {
    fn read(message: &bully::Message) -> (u32, Option<Claim>) {
        Bully::read(message)
    }
}

impl<const BUG: u8> Explored for Planted<ChangRoberts, BUG> {
    fn read(message: &chang_roberts::Message) -> (u32, Option<Claim>) {
        ChangRoberts::read(message)
    }
}
