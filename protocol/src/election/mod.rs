//! Elections: who leads.
//!
//! | file | algorithm | works on |
//! | --- | --- | --- |
//! | [`wireless`] | diffusing computation of Vasudevan, Kurose and Towsley | radio neighbours, many hops |
//! | [`wireless_flat`] | every capacity sent to the starter, a baseline | radio neighbours, many hops |
//! | [`bully`] | the best asks nobody's leave: Garcia-Molina | a group, over several hops too |
//! | [`ring`] | a list goes round and comes back: Tanenbaum | a group as a ring |
//! | [`chang_roberts`] | the highest number comes round: Chang and Roberts | a group as a ring |
//! | [`lelann`] | all numbers come round: Le Lann | a group as a ring |
//!
//! [`reign`] is what all do once somebody won: beats, loss, merging.

use crate::algorithm::Algorithm;
use crate::clock::Term;
use crate::group::{NodeId, NodeSet};
use crate::wire;

mod any;
pub mod bully;
mod candidacy;
pub mod chang_roberts;
mod circle;
mod grouped;
pub mod lelann;
mod podium;
pub mod reign;
pub mod ring;
pub mod wireless;
pub mod wireless_flat;

pub use any::{AnyElection, AnyMessage};
pub use bully::Bully;
pub use chang_roberts::ChangRoberts;
pub use circle::Direction;
pub use grouped::Grouped;
pub use lelann::Lelann;
pub use ring::Ring;
pub use wireless::Wireless;
pub use wireless_flat::WirelessFlat;

/// What the application asks of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Elect now.
    Call,
    /// If this node leads, let another lead.
    Yield,
}

/// What the application is told by an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// This node leads from now on.
    Gained {
        /// Under which term.
        term: Term,
    },
    /// Another node leads; if this one did, it does no more.
    Following {
        /// Who.
        leader: NodeId,
        /// Under which term.
        term: Term,
    },
    /// Nobody leads, as far as this node knows.
    Leaderless,
}

/// An algorithm that elects.
pub trait Election: Algorithm<Message: wire::Message, Command = Command, Notice = Notice> {
    /// Goes on from stored records: no term up to `number` is new.
    fn resume(&mut self, number: u32);

    /// The highest term number this node has acted on: what its records must cover.
    fn number(&self) -> u32;

    /// Who leads, as far as this node knows.
    fn leader(&self) -> Option<(NodeId, Term)>;

    /// The neighbour the leader's news come from.
    fn parent(&self) -> NodeSet;
}

/// What every election keeps in its [`candidacy`] is told alike.
macro_rules! elections {
    ($($name:ident)+) => {$(
        impl Election for $name {
            fn resume(&mut self, number: u32) {
                self.own.reign.resume(number);
            }

            fn number(&self) -> u32 {
                self.own.reign.number()
            }

            fn leader(&self) -> Option<(NodeId, Term)> {
                self.own.reign.office().map(|office| (office.leader.id, office.term))
            }

            fn parent(&self) -> NodeSet {
                self.own.reign.parent()
            }
        }
    )+};
}

elections! { Bully ChangRoberts Lelann Ring Wireless WirelessFlat }
