//! Leader elections.
//!
//! | file | algorithm | works on |
//! | --- | --- | --- |
//! | [`wireless`] | diffusing computation of Vasudevan, Kurose and Towsley | radio neighbours, many hops |
//! | [`wireless_flat`] | all capacities are sent to the initiator; a baseline | radio neighbours, many hops |
//! | [`clusters`] | super-peers, each serving the nodes within a few hops | radio neighbours, any number of hops |
//! | [`bully`] | members ask all better members first: Garcia-Molina | a group, over several hops too |
//! | [`invitation`] | groups form, and are merged by invitation: Garcia-Molina | a group that splits, in range of each other |
//! | [`ring`] | a list travels round the ring: Tanenbaum | a group as a ring |
//! | [`chang_roberts`] | the highest candidate travels round the ring: Chang and Roberts | a group as a ring |
//! | [`lelann`] | all candidates travel round the ring: Le Lann | a group as a ring |
//!
//! [`appointment`] is how a leader is appointed by hand. [`leadership`] is common to all once a round is over: heartbeats, loss of the leader, merging of networks.

use crate::algorithm::Algorithm;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::base::time::Instant;
use crate::wire;
use core::num::NonZeroU8;

pub mod appointment;
pub mod bully;
mod candidacy;
pub mod chang_roberts;
pub mod clusters;
pub mod invitation;
pub mod leadership;
pub mod lelann;
pub mod ring;
mod ring_order;
mod rounds;
mod top_two;
mod winner;
pub mod wireless;
pub mod wireless_flat;

pub use bully::Bully;
pub use chang_roberts::ChangRoberts;
pub use clusters::Clusters;
pub use invitation::Invitation;
pub use lelann::Lelann;
pub use ring::Ring;
pub use ring_order::{Direction, Successor};
pub use winner::Winner;
pub use wireless::Wireless;
pub use wireless_flat::WirelessFlat;

/// Commands of the application to the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Starts an election now.
    Call,
    /// Hands leadership over, if this node leads and knows of another candidate.
    Yield,
}

/// Notices of the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the fields are the leader and its term")]
pub enum Notice {
    /// This node leads from now on.
    Gained { term: Term },
    /// Another node leads; if this one did, it does no more.
    Following { leader: NodeId, term: Term },
    /// No leader is known.
    Leaderless,
    /// Pending work is to be finished or discarded: these members, this node among them, are to form a group. It begins
    /// with the next leader, or term.
    Reorganising { members: NodeSet },
}

/// An algorithm that elects a leader.
pub trait Election: Algorithm<Message: wire::Payload, Command = Command, Notice = Notice> {
    /// Continues from stored records: no term up to `number` is new.
    fn resume(&mut self, number: u32);

    /// Returns the highest term number this node has acted on, which its records must cover.
    fn term_number(&self) -> u32;

    /// Returns the leader, as far as this node knows.
    fn leader(&self) -> Option<(NodeId, Term)>;

    /// Returns whether others gave this node up as their leader while it led, since the last call.
    fn take_deposed(&mut self) -> bool {
        false
    }

    /// Sends the next heartbeat in the next step, if this node leads: the last one did not bring it what it needs.
    fn hurry(&mut self, now: Instant) {
        let _ = now;
    }

    /// Records that these nodes, by slot, are known to have the leader's last heartbeat: nobody needs to send it to them again.
    fn on_informed(&mut self, set: NodeSet) {
        let _ = set;
    }

    /// Returns which candidate wins.
    fn winner(&self) -> Winner;

    /// Returns the neighbour the leader's heartbeats come from.
    fn parent(&self) -> NodeSet;

    /// Returns the number of the leader's last heartbeat that was sent or received; 0 is the announcement.
    fn heartbeat(&self) -> Option<u32>;

    /// Returns the members of the group that this node and its leader are in, where the election forms groups.
    fn members(&self) -> NodeSet {
        NodeSet::EMPTY
    }

    /// Returns how many hops a node is from its leader at most, where the election makes clusters: then a network has
    /// several leaders, none of them within so many hops of another, and a node that goes from one to the other may go back
    /// to a lower term. `None` where one leader leads all that can reach each other.
    fn horizon(&self) -> Option<u8> {
        None
    }

    /// Returns how many clients a super-peer takes, where the election makes clusters of limited size.
    fn clients_max(&self) -> Option<NonZeroU8> {
        None
    }

    /// Returns how many clients this node has as a super-peer, by its last count and up to 255; `None` where it is none, or
    /// they are not counted.
    fn clients(&self) -> Option<u8> {
        None
    }

    /// Returns whether the super-peers elect a chief.
    fn has_chief(&self) -> bool {
        false
    }

    /// Returns the chief among the super-peers, as far as this node knows.
    fn chief(&self) -> Option<(NodeId, Term)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Direction, Successor, Winner, bully};
    use crate::base::quorum::Mode;

    fn check<T>(names: &[&str], by_name: fn(&str) -> Option<T>, name: fn(T) -> &'static str) {
        assert!(names.iter().all(|&word| by_name(word).map(name) == Some(word)), "{names:?}");
        assert!(by_name("no such name").is_none());
    }

    #[test]
    fn every_option_is_chosen_by_its_name() {
        check(Mode::NAMES, Mode::by_name, Mode::name);
        check(Direction::NAMES, Direction::by_name, Direction::name);
        check(bully::Recovery::NAMES, bully::Recovery::by_name, bully::Recovery::name);
        check(bully::Transport::NAMES, bully::Transport::by_name, bully::Transport::name);
        check(Winner::NAMES, Winner::by_name, Winner::name);
        check(Successor::NAMES, Successor::by_name, Successor::name);
    }
}
