//! What the simulator asks of a node: the protocol's own shape, so that anything of that shape can be simulated.

use crate::app::Doing;
use crate::scenario::Scenario;
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::Command;
use protocol::mutex::{self, Fence, LockId};
use protocol::records::Records;
use protocol::{Instant, NodeId};
use serde::Serialize;

/// How a node comes up.
#[derive(Clone, Copy, Debug)]
pub struct Birth {
    /// Its name.
    pub me: NodeId,
    /// What it kept from earlier boots.
    pub records: Option<Records>,
    /// The seed of its own chances.
    pub seed: u64,
    /// Whether it may ever lead.
    pub may_lead: bool,
    /// What its clock shows.
    pub now: Instant,
}

/// What the user of an application asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// A snapshot of all nodes.
    Snapshot,
    /// To find out when all is done.
    Watch,
    /// To begin a job.
    Start {
        /// Of this many units.
        units: u32,
    },
}

/// What a node tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It leads.
    Leads(Term),
    /// It follows another.
    Follows(NodeId, Term),
    /// It knows no leader.
    Leaderless,
    /// It stopped for good, for this reason.
    Halted(&'static str),
    /// Of a lock.
    Lock(mutex::Notice),
    /// Of the application.
    App(Doing),
}

/// A node: time and frames go in; frames, records and news come out.
pub trait Machine: Sized {
    /// What all nodes of a run share.
    type Plan;

    /// Whether it backs off by itself when the channel is busy, as a board does, and not the medium for it.
    const BACKS_OFF: bool = false;

    /// What the nodes of a scenario share.
    fn plan(scenario: &Scenario) -> Self::Plan;

    /// A node that starts.
    fn boot(plan: &Self::Plan, birth: Birth) -> Self;

    /// It hears a frame.
    fn hear(&mut self, now: Instant, bytes: &[u8], quality: u8);

    /// It measured its capacity.
    fn measure(&mut self, now: Instant, capacity: Option<Capacity>);

    /// Its application asks something of the election.
    fn command(&mut self, now: Instant, command: Command);

    /// Its application asks something of a lock. Whoever has no locks does nothing.
    fn ask(&mut self, _now: Instant, _command: mutex::Command) {}

    /// The user asks something of its application. Whoever has none does nothing.
    fn request(&mut self, _now: Instant, _request: Request) {}

    /// Its deadline has come.
    fn wake(&mut self, now: Instant);

    /// A frame begins to arrive that ends `until` then. Told only to those who back off by themselves.
    fn begins_to_hear(&mut self, _until: Instant) {}

    /// The medium is done with its frame: whether it went out. Told only to those who back off by themselves.
    fn carried(&mut self, _now: Instant, _went_out: bool) {}

    /// What it wants stored before anything else leaves.
    fn poll_persist(&mut self) -> Option<Records>;

    /// Writes the next frame it wants sent; returns its length.
    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize>;

    /// What it tells its application.
    fn poll_news(&mut self) -> Option<News>;

    /// When to wake it.
    fn deadline(&self) -> Option<Instant>;

    /// Whether it may act as leader now.
    fn acts(&self, now: Instant) -> bool;

    /// The fence under which it holds a lock now.
    fn holds(&self, _lock: LockId, _now: Instant) -> Option<Fence> {
        None
    }

    /// What its shared clock shows, once that was set.
    fn reads(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Whom it believes to lead.
    fn leader(&self) -> Option<(NodeId, Term)>;

    /// A frame in a word.
    fn describe(plan: &Self::Plan, frame: &[u8]) -> &'static str;
}
