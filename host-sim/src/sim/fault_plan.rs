//! The fault plan: injected faults, and requests of users, with their moments.

use crate::base::Micros;
use crate::sim::link_fault::LinkFault;
use crate::sim::topology::Point;
use crate::trace::AppRequest;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FaultStep {
    /// The earliest moment.
    pub(crate) at: Micros,
    /// How much later it may be: each run draws its own moment.
    pub(crate) spread: Micros,
    /// The shortest and longest time that the fault lasts, at whose end the step is; zero for its beginning. Each run
    /// draws its own time, every doubling from the shortest to the longest as often as the next.
    pub(crate) lasts: (Micros, Micros),
    /// The number of the draw: the end of a fault is drawn with its beginning.
    pub(crate) draw: u32,
    pub(crate) action: FaultAction,
    /// The step's number, by which [`FaultTarget::HitBy`] names it.
    pub(crate) number: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FaultAction {
    /// Nodes stop; state that they have not stored is lost.
    Crash(FaultTarget),
    /// Nodes that are down boot.
    Restart { target: FaultTarget, records: StoredRecords },
    /// Nodes neither receive nor send until they resume.
    Pause { target: FaultTarget, clock: PauseClock },
    /// Paused nodes resume.
    Resume(FaultTarget),
    /// Frames do not cross from one side to another.
    Partition(PartitionCut),
    /// The partition ends.
    Heal,
    /// A link fault begins, or ends.
    Link(LinkFault),
    /// Nodes are carried to a position.
    Move { target: FaultTarget, to: Point },
    /// Nodes measure another capacity; `None` makes them unfit to lead.
    Capacity { target: FaultTarget, capacity: Option<u16> },
    /// The application asks a leader to hand over.
    Yield(FaultTarget),
    /// The application calls an election.
    Call(FaultTarget),
    /// The user appoints nodes to lead.
    Appoint(FaultTarget),
    /// The user releases nodes that were appointed.
    Release(FaultTarget),
    /// The user lets the leader change the list of members.
    ChangeList { target: FaultTarget, add: bool },
    /// The user asks something of the application.
    Request { target: FaultTarget, request: AppRequest },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FaultTarget {
    /// By id.
    Nodes(Vec<u32>),
    /// The node that most nodes follow.
    Leader,
    /// A node that holds a lock; of several the one in the lowest slot.
    Holder,
    /// A random node that is up (or down, if the fault needs one that is).
    Random,
    /// The nodes that the previous fault hit.
    Last,
    All,
    /// The nodes that the step of this number hit.
    HitBy(u32),
}

/// What became of the records of a node that boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredRecords {
    /// They are as they were.
    Kept,
    /// They are lost.
    Lost,
    /// The power fails again while they are written at boot, once or several times.
    Torn,
}

/// What the clock of a paused node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseClock {
    /// It goes on: the node sleeps.
    Runs,
    /// It stands still: the node is halted by a debugger.
    Stops,
}

/// How a partition divides the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartitionCut {
    /// Into these sets of ids, and one more of all other nodes.
    Listed(Vec<Vec<u32>>),
    LeftRight,
    TopBottom,
    /// Into two sides, drawn for each node.
    Random,
}
