//! What goes into a node and what comes out of it.

use crate::base::capacity::Capacity;
use crate::base::ids::NodeSet;
use crate::base::records::Records;
use crate::election;
use crate::lease;
use crate::mutex;
use core::convert::Infallible;

/// How a node boots.
///
/// ```
/// use protocol::base::{capacity::Capacity, records::Records};
/// use protocol::node::Boot;
///
/// let capacity = Some(Capacity::new(500));
/// let boot = Boot { records: Some(Records::FACTORY), capacity, seed: 42 };
/// ```
///
/// A node that nobody told its capacity would never lead, so a boot without one has to say so:
///
/// ```compile_fail
/// # use protocol::{base::records::Records, node::Boot};
/// let boot = Boot { records: Some(Records::FACTORY), seed: 42 };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Boot {
    /// The records of earlier boots; `None` where they are lost.
    pub records: Option<Records>,
    /// Its capacity to lead, as far as the host knows it yet; `None` where the node stands in no election before the first
    /// [`Input::Capacity`].
    pub capacity: Option<Capacity>,
    /// The seed of its jitter: different at every node, and at every boot where records may be lost.
    pub seed: u64,
}

/// The algorithms of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stages<E, M, S> {
    /// The election.
    pub election: E,
    /// The lock.
    pub mutex: M,
    /// The service.
    pub service: S,
}

/// An event at a node; `C` is the service's command.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a, C = Infallible> {
    /// A frame was received.
    Frame {
        /// Its bytes.
        bytes: &'a [u8],
        /// The quality of the reception, from 0 to 255; 255 where the medium does not measure it.
        quality: u8,
    },
    /// The node measured its capacity to lead; `None` where it is unfit.
    Capacity(Option<Capacity>),
    /// A command for the election.
    Election(election::Command),
    /// A command for the lock.
    Mutex(mutex::Command),
    /// A command for the service.
    Service(C),
    /// The deadline has passed.
    Timeout,
}

/// A notice for the application; `S` is the service's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice<S = Infallible> {
    /// Of the leadership.
    Role(lease::Notice),
    /// The group is reorganised: pending work is to be finished or discarded. These members, this node among them, form it
    /// from the next [`Notice::Role`] on. Only elections that form groups have this notice.
    Reorganising {
        /// The members, by their slots in the group.
        members: NodeSet,
    },
    /// Of the lock.
    Mutex(mutex::Notice),
    /// Of the service.
    Service(S),
    /// A frame under this node's own id and its group's key, which this boot has not sent: another node has the same id,
    /// or somebody plays what this one sent before its last boot. The first one of a boot; [`Counters::same_id`] counts on.
    ///
    /// [`Counters::same_id`]: crate::node::Counters::same_id
    SameId,
    /// The node has stopped for good: restart it.
    Halted(Halt),
}

impl Notice {
    /// The same notice of a node with a service.
    pub(super) fn of_service<S>(self) -> Notice<S> {
        match self {
            Self::Role(notice) => Notice::Role(notice),
            Self::Reorganising { members } => Notice::Reorganising { members },
            Self::Mutex(notice) => Notice::Mutex(notice),
            Self::Service(never) => match never {},
            Self::SameId => Notice::SameId,
            Self::Halted(halt) => Notice::Halted(halt),
        }
    }
}

/// Why a node stopped: a bound that was thought to hold did not. Crash-stop is what the algorithms are built to survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Halt {
    /// A stage produced more outputs in one step than any may, or an application sent a reliable message out of turn: not
    /// from [`Application::poll_send`](crate::service::application::Application::poll_send).
    Outbox,
    /// The link has no room for a reliable message.
    Queue,
    /// The host does not poll the notices.
    Notices,
    /// A message is longer than a frame.
    Frame,
    /// This boot has used up its sequence numbers.
    Sequence,
    /// There is no further term, Lamport time or incarnation: the group needs a new key, under which they begin anew.
    Numbers,
    /// Somebody with the key sent in this node's name and a later boot, and peers no longer listen to this one. Restarted
    /// with its records, the node is in a boot above that.
    Superseded,
}
