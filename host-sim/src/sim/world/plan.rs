//! The plan of a world: everything about a run but its seed and the software of its nodes.

use crate::base::Micros;
use crate::sim::capacity::CapacityPlan;
use crate::sim::fault_plan::FaultStep;
use crate::sim::medium::MediumPlan;
use crate::sim::mobility::MobilityPlan;
use crate::sim::topology::Shape;
use crate::workload::apps::AppPlan;
use crate::workload::locks::LockPlan;
use crate::workload::requests::RequestPlan;
use protocol::base::quorum::Mode;

/// The plan of a world.
#[derive(Clone, Debug)]
pub struct WorldPlan {
    /// How many nodes there are.
    pub nodes: u32,
    /// How long a run takes.
    pub duration: Micros,
    /// What a leader needs besides having been elected.
    pub mode: Mode,
    pub(crate) shape: Shape,
    pub(crate) mobility: Option<MobilityPlan>,
    pub(crate) medium: MediumPlan,
    pub(crate) capacity: CapacityPlan,
    /// The largest clock drift, in parts per million, either way.
    pub(crate) drift_ppm: u32,
    /// All nodes boot within this time from the start.
    pub(crate) boot_spread: Micros,
    /// The fault plan, in the order of time.
    pub(crate) faults: Vec<FaultStep>,
    /// The lock workload, if there is one.
    pub locks: Option<LockPlan>,
    /// The application, if there is one.
    pub app: Option<AppPlan>,
    /// The requests of nodes to their super-peers, if they make some.
    pub(crate) requests: Option<RequestPlan>,
}
