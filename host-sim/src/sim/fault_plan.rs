//! The fault plan: injected faults, and requests of users, with their moments.

use crate::base::Micros;
use crate::sim::link_fault::LinkFault;
use crate::trace::AppRequest;

/// One step of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultStep {
    /// The earliest moment.
    pub at: Micros,
    /// How much later it may be: each run draws its own moment.
    pub spread: Micros,
    /// The number of the draw: the end of a fault is drawn with its beginning.
    pub draw: u32,
    /// What is done.
    pub action: FaultAction,
    /// The step's number, by which [`FaultTarget::HitBy`] names it.
    pub number: u32,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultAction {
    /// Nodes stop; state that they have not stored is lost.
    Crash(FaultTarget),
    /// Nodes that are down boot.
    Restart {
        /// The nodes.
        target: FaultTarget,
        /// Whether their stored records are lost too.
        blank: bool,
    },
    /// Nodes neither receive nor send until they resume.
    Pause {
        /// The nodes.
        target: FaultTarget,
        /// What their clocks do.
        clock: PauseClock,
    },
    /// Paused nodes resume.
    Resume(FaultTarget),
    /// Frames do not cross from one side to another.
    Partition(PartitionCut),
    /// The partition ends.
    Heal,
    /// A link fault begins, or ends.
    Link(LinkFault),
    /// Nodes measure another capacity; `None` makes them unfit to lead.
    Capacity {
        /// The nodes.
        target: FaultTarget,
        /// The capacity.
        capacity: Option<u16>,
    },
    /// The application asks a leader to hand over.
    Yield(FaultTarget),
    /// The application calls an election.
    Call(FaultTarget),
    /// The user asks something of the application.
    Request {
        /// The nodes.
        target: FaultTarget,
        /// The request.
        request: AppRequest,
    },
}

/// The nodes that a fault hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// The nodes with these ids.
    Nodes(Vec<u32>),
    /// The node that most nodes follow.
    Leader,
    /// A node that holds a lock; of several the one in the lowest slot.
    Holder,
    /// A random node that is up (or down, if the fault needs one that is).
    Random,
    /// The nodes that the previous fault hit.
    Last,
    /// All nodes.
    All,
    /// The nodes that the step of this number hit.
    HitBy(u32),
}

/// What the clock of a paused node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseClock {
    /// It goes on: the node sleeps.
    Runs,
    /// It stands still: the node is halted by a debugger.
    Stops,
}

/// How a partition divides the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionCut {
    /// Into these sets of ids, and one more of all other nodes.
    Listed(Vec<Vec<u32>>),
    /// Into a left and a right half.
    LeftRight,
    /// Into an upper and a lower half.
    TopBottom,
    /// Into two sides, drawn for each node.
    Random,
}
