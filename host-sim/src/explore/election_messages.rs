//! What the search reads in the messages of elections.

use protocol::NodeId;
use protocol::base::capacity::Candidate;
use protocol::base::term::Term;
use protocol::election::leadership::LeaderMessage;
use protocol::election::{
    Bully, ChangRoberts, Clusters, Command, Election, Invitation, Lelann, Notice, Ring, Wireless, WirelessFlat, bully,
    chang_roberts, clusters, invitation, lelann, ring, wireless, wireless_flat,
};
use std::fmt::Debug;
use std::hash::Hash;

/// Who leads according to a message, under which term, and by which heartbeat.
pub type Claim = (Term, NodeId, u32);

/// An election that can be explored.
pub trait Explored:
    Election<Message: Copy + Eq + Hash + Debug + Send + Sync, Command = Command, Notice = Notice>
    + Copy
    + Eq
    + Hash
    + Default
    + Send
    + Sync
    + 'static
{
    /// Returns the term number in a message, and who leads according to it.
    fn read(message: &Self::Message) -> (u32, Option<Claim>);
}

fn read_leader(message: &LeaderMessage) -> (u32, Option<Claim>) {
    match *message {
        LeaderMessage::Elected { term, leader, .. } => claim(term, leader, 0),
        LeaderMessage::Heartbeat { term, leader, count, .. } => claim(term, leader, count),
        LeaderMessage::RaiseTerm { term }
        | LeaderMessage::Pulse { term, heir: None }
        | LeaderMessage::Doubt { term }
        | LeaderMessage::Veto { term }
        | LeaderMessage::Bid { term, .. } => (term.number, None),
        LeaderMessage::Pulse { heir: Some(heir), .. } => (heir.number, None),
    }
}

fn claim(term: Term, leader: Candidate, heartbeat: u32) -> (u32, Option<Claim>) {
    (term.number, Some((term, leader.id, heartbeat)))
}

impl Explored for Wireless {
    fn read(message: &wireless::Message) -> (u32, Option<Claim>) {
        use wireless::Message as M;
        match message {
            M::Leadership(message) => read_leader(message),
            M::Election { index, .. } | M::Probe { index, .. } | M::Report { index, .. } => (index.number, None),
        }
    }
}

impl Explored for WirelessFlat {
    fn read(message: &wireless_flat::Message) -> (u32, Option<Claim>) {
        use wireless_flat::Message as M;
        match message {
            M::Leadership(message) => read_leader(message),
            M::Election { index } | M::Answer { index, .. } => (index.number, None),
        }
    }
}

impl Explored for Bully {
    fn read(message: &bully::Message) -> (u32, Option<Claim>) {
        use bully::Message as M;
        match message {
            M::Coordinator { term, leader, .. } => claim(*term, *leader, 0),
            M::Leadership(message) => read_leader(message),
            M::Election { term, .. } | M::Ok { term } | M::Alert { term } | M::Broadcast { term, .. } => {
                (term.number, None)
            }
            M::Ask => (0, None),
        }
    }
}

impl Explored for Ring {
    fn read(message: &ring::Message) -> (u32, Option<Claim>) {
        use ring::Message as M;
        match message {
            M::Coordinator(outcome) => claim(outcome.term, outcome.leader, 0),
            M::Leadership(message) => read_leader(message),
            M::Election(list) => (list.term.number, None),
            M::Seek { term } | M::Here { term } => (term.number, None),
        }
    }
}

impl Explored for ChangRoberts {
    fn read(message: &chang_roberts::Message) -> (u32, Option<Claim>) {
        use chang_roberts::Message as M;
        match message {
            M::Elected { term, leader } => claim(*term, *leader, 0),
            M::Leadership(message) => read_leader(message),
            M::Election { round, .. } => (*round, None),
        }
    }
}

impl Explored for Lelann {
    fn read(message: &lelann::Message) -> (u32, Option<Claim>) {
        match message {
            lelann::Message::Leadership(message) => read_leader(message),
            lelann::Message::Number(number) => (number.round, None),
        }
    }
}

impl Explored for Clusters {
    fn read(message: &clusters::Message) -> (u32, Option<Claim>) {
        match *message {
            clusters::Message::Beacon(clusters::Beacon { term, count, .. }) => {
                (term.number, Some((term, term.by, count)))
            }
            // A chief is of another election, whose terms are its own.
            clusters::Message::Resigned { term }
            | clusters::Message::ChiefResigned { term }
            | clusters::Message::Chief(clusters::Beacon { term, .. }) => (term.number, None),
            clusters::Message::Report { .. } => (0, None),
        }
    }
}

impl Explored for Invitation {
    fn read(message: &invitation::Message) -> (u32, Option<Claim>) {
        use invitation::Message as M;
        match message {
            M::Ready { group, term, .. } => (group.number.max(term.number), Some((*term, term.by, 0))),
            M::Leadership(message) => read_leader(message),
            M::Accept { group, term, .. } => (group.number.max(term.number), None),
            M::Ask { term, .. } | M::Answer { term, .. } | M::Acknowledge { term } => (term.number, None),
            M::Invitation { group, .. } => (group.number, None),
        }
    }
}
