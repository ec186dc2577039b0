//! The interface of a simulated node: the protocol's own shape, so that anything of that shape can be simulated.

use crate::trace::{AppRequest, MessageEvent};
use crate::workload::apps::AppAction;
use protocol::base::capacity::Capacity;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::Command;
use protocol::members::{Change, List};
use protocol::mutex::{self, Fence, LockId};
use protocol::{Instant, NodeId};

/// The state a node boots with.
#[derive(Clone, Copy, Debug)]
pub struct Boot {
    /// Its id.
    pub me: NodeId,
    /// The records it stored before; `None` if they are lost.
    pub records: Option<Records>,
    /// The seed of its random numbers.
    pub seed: u64,
    /// Whether it may ever lead.
    pub may_lead: bool,
    /// The time of its local clock.
    pub(crate) now: Instant,
}

/// Why a node stops that restarts above a boot which somebody used in its name.
pub(crate) const SUPERSEDED: &str = "superseded";

/// An event that a node reports to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// The node leads.
    Leads(Term),
    /// The node follows another.
    Follows(NodeId, Term),
    /// The node knows no leader.
    Leaderless,
    /// The node stopped for good, for this reason.
    Halted(&'static str),
    /// A notice about a lock.
    Lock(mutex::Notice),
    /// An action of the application.
    App(AppAction),
    /// The node goes on with another list of members, or stops where it is not on it.
    NewList(ListView),
    /// A change that this node made as the leader is decided.
    ListDecided,
    /// The node asks for the command to yield.
    Yields,
}

/// A list of members as it is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListView {
    pub(crate) epoch: u32,
    /// A bit for each member, by its id.
    pub(crate) members: u64,
}

/// A node: time and frames go in; frames, records and events come out.
pub trait SimNode: Sized {
    /// The settings that all nodes of a run share.
    type Plan;

    /// Whether the node, and not the medium, backs off when the channel is busy, as a board does.
    const BACKS_OFF: bool = false;

    /// Boots a node.
    fn boot(plan: &Self::Plan, boot: Boot) -> Self;

    /// Boots a node with the log that it stored before. A node that keeps none ignores it.
    fn boot_with_log(plan: &Self::Plan, boot: Boot, _log: Option<&[u8]>) -> Self {
        Self::boot(plan, boot)
    }

    /// Handles a received frame.
    fn receive(&mut self, now: Instant, bytes: &[u8], quality: u8);

    /// Handles a new measurement of the node's capacity.
    fn measure(&mut self, now: Instant, capacity: Option<Capacity>);

    /// Handles a command to the election.
    fn command(&mut self, now: Instant, command: Command);

    /// Handles a command about a lock. A node without locks ignores it.
    fn lock_command(&mut self, _now: Instant, _command: mutex::Command) {}

    /// Handles a request to the application. A node without one ignores it.
    fn app_request(&mut self, _now: Instant, _request: AppRequest) {}

    /// Changes the list of members, as its leader. A node whose list does not change ignores it.
    fn change_list(&mut self, _now: Instant, _change: Change) {}

    /// Handles an expired deadline.
    fn handle_timeout(&mut self, now: Instant);

    /// Handles the start of a reception that lasts `until`; called only on nodes that back off by themselves.
    fn on_receive_start(&mut self, _until: Instant) {}

    /// Handles the end of a transmission, or its failure; called only on nodes that back off by themselves.
    fn on_transmit_done(&mut self, _now: Instant, _sent: bool) {}

    /// Returns records to store before anything else leaves.
    fn poll_persist(&mut self) -> Option<Records>;

    /// Returns the log to store before anything else leaves; a node need not keep one.
    fn poll_log(&mut self) -> Option<Box<[u8]>> {
        None
    }

    /// Writes the next frame to send; returns its length.
    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize>;

    /// Returns the next event.
    fn poll_event(&mut self) -> Option<NodeEvent>;

    /// Returns the next reliable message that one of its stages sent or received; a node need not report them.
    fn poll_message(&mut self) -> Option<MessageEvent> {
        None
    }

    /// Returns the next deadline.
    fn deadline(&self) -> Option<Instant>;

    /// Returns whether the node may act as leader now.
    fn is_acting(&self, now: Instant) -> bool;

    /// Returns the fence under which the node holds a lock now.
    fn holds(&self, _lock: LockId, _now: Instant) -> Option<Fence> {
        None
    }

    /// Returns the time of the shared clock, once it was set.
    fn shared_time(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Returns the part of its capacity that the node advertises.
    fn advertise(&self, capacity: u16) -> u16 {
        capacity
    }

    /// Returns the leader that the node follows.
    fn leader(&self) -> Option<(NodeId, Term)>;

    /// Returns the chief among the super-peers, where they elect one.
    fn chief(&self) -> Option<(NodeId, Term)> {
        None
    }

    /// Returns whether the node is a member of its group; one that is not is as good as down.
    fn takes_part(&self) -> bool {
        true
    }

    /// Returns the list of members that the node knows, where lists change.
    fn list(&self) -> Option<&List> {
        None
    }

    /// Returns a frame as an insider sends it who heard this one, drawn by `random`; `None` where nobody has the key.
    fn lie(_plan: &Self::Plan, _frame: &[u8], _random: u64) -> Option<Box<[u8]>> {
        None
    }

    /// Returns the name of the message in a frame.
    fn message_name(plan: &Self::Plan, frame: &[u8]) -> &'static str;
}
