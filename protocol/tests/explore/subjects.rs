//! What is explored: every election there is, and what its messages say about who leads.

use protocol::NodeId;
use protocol::clock::Term;
use protocol::election::reign::Word;
use protocol::election::{
    Bully, ChangRoberts, Command, Election, Lelann, Notice, Ring, Wireless, WirelessFlat, bully, chang_roberts, lelann,
    ring, wireless, wireless_flat,
};
use std::fmt::Debug;
use std::hash::Hash;

/// Who is said to lead under which term, and by which beat.
pub(crate) type Claim = (Term, NodeId, u32);

/// An election that can be explored.
pub(crate) trait Explored:
    Election<Message: Copy + Eq + Hash + Debug, Command = Command, Notice = Notice> + Copy + Eq + Hash + Default
{
    /// Who leads, if the message says so.
    fn claim(message: &Self::Message) -> Option<Claim>;

    /// The term number in the message.
    fn number_in(message: &Self::Message) -> u32;
}

fn claim_of(word: &Word) -> Option<Claim> {
    match *word {
        Word::Leader { term, leader, .. } => Some((term, leader.id, 0)),
        Word::Beat { term, leader, beat, .. } => Some((term, leader.id, beat)),
        Word::Raise { .. } => None,
    }
}

fn number_of(word: &Word) -> u32 {
    match *word {
        Word::Leader { term, .. } | Word::Beat { term, .. } | Word::Raise { term } => term.number,
    }
}

impl Explored for Wireless {
    fn claim(message: &wireless::Message) -> Option<Claim> {
        use wireless::Message as M;
        match *message {
            M::Leader { term, leader, .. } => Some((term, leader.id, 0)),
            M::Beat { term, leader, beat, .. } => Some((term, leader.id, beat)),
            M::Election { .. } | M::Probe { .. } | M::Ack { .. } | M::Raise { .. } => None,
        }
    }

    fn number_in(message: &wireless::Message) -> u32 {
        use wireless::Message as M;
        match *message {
            M::Election { index: term, .. }
            | M::Probe { index: term, .. }
            | M::Ack { index: term, .. }
            | M::Leader { term, .. }
            | M::Beat { term, .. }
            | M::Raise { term } => term.number,
        }
    }
}

impl Explored for WirelessFlat {
    fn claim(message: &wireless_flat::Message) -> Option<Claim> {
        use wireless_flat::Message as M;
        match message {
            M::Reign(word) => claim_of(word),
            M::Election { .. } | M::Answer { .. } => None,
        }
    }

    fn number_in(message: &wireless_flat::Message) -> u32 {
        use wireless_flat::Message as M;
        match message {
            M::Reign(word) => number_of(word),
            M::Election { index } | M::Answer { index, .. } => index.number,
        }
    }
}

impl Explored for Bully {
    fn claim(message: &bully::Message) -> Option<Claim> {
        use bully::Message as M;
        match message {
            M::Coordinator { term, leader, .. } => Some((*term, leader.id, 0)),
            M::Reign(word) => claim_of(word),
            M::Election { .. } | M::Ok { .. } | M::Alert { .. } | M::Ask | M::Shout { .. } => None,
        }
    }

    fn number_in(message: &bully::Message) -> u32 {
        use bully::Message as M;
        match message {
            M::Election { term, .. }
            | M::Ok { term }
            | M::Coordinator { term, .. }
            | M::Alert { term }
            | M::Shout { term, .. } => term.number,
            M::Ask => 0,
            M::Reign(word) => number_of(word),
        }
    }
}

impl Explored for Ring {
    fn claim(message: &ring::Message) -> Option<Claim> {
        use ring::Message as M;
        match message {
            M::Coordinator(outcome) => Some((outcome.term, outcome.leader.id, 0)),
            M::Reign(word) => claim_of(word),
            M::Election(_) | M::Seek { .. } | M::Here { .. } => None,
        }
    }

    fn number_in(message: &ring::Message) -> u32 {
        use ring::Message as M;
        match message {
            M::Election(list) => list.term.number,
            M::Coordinator(outcome) => outcome.term.number,
            M::Seek { term } | M::Here { term } => term.number,
            M::Reign(word) => number_of(word),
        }
    }
}

impl Explored for ChangRoberts {
    fn claim(message: &chang_roberts::Message) -> Option<Claim> {
        use chang_roberts::Message as M;
        match message {
            M::Elected { term, leader } => Some((*term, leader.id, 0)),
            M::Reign(word) => claim_of(word),
            M::Election { .. } => None,
        }
    }

    fn number_in(message: &chang_roberts::Message) -> u32 {
        use chang_roberts::Message as M;
        match message {
            M::Election { round, .. } => *round,
            M::Elected { term, .. } => term.number,
            M::Reign(word) => number_of(word),
        }
    }
}

impl Explored for Lelann {
    fn claim(message: &lelann::Message) -> Option<Claim> {
        match message {
            lelann::Message::Reign(word) => claim_of(word),
            lelann::Message::Number(_) => None,
        }
    }

    fn number_in(message: &lelann::Message) -> u32 {
        match message {
            lelann::Message::Reign(word) => number_of(word),
            lelann::Message::Number(number) => number.round,
        }
    }
}
