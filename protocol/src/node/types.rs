//! What goes into a node and what comes out of it.

use crate::capacity::Capacity;
use crate::election;
use crate::mandate;
use crate::mutex;
use crate::records::Records;

/// How a node comes up.
#[derive(Clone, Copy, Debug)]
pub struct Boot {
    /// What it kept from earlier boots; `None` where that is lost.
    pub records: Option<Records>,
    /// The seed of its jitter: different at every node, and at every boot where records may be lost.
    pub seed: u64,
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A frame was heard.
    Frame {
        /// Its bytes.
        bytes: &'a [u8],
        /// How well, from 0 to 255; 255 where the medium does not tell.
        quality: u8,
    },
    /// The node measured itself: how well it would lead, `None` where it cannot.
    Capacity(Option<Capacity>),
    /// The application asks something of the election.
    Election(election::Command),
    /// The application asks something of the lock.
    Mutex(mutex::Command),
    /// The deadline has come.
    Timeout,
}

/// What a node tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// Who leads.
    Role(mandate::Notice),
    /// Of the lock.
    Mutex(mutex::Notice),
    /// The node has stopped for good: restart it.
    Halted(Halt),
}

/// Why a node stopped: a bound that was thought to hold did not. Stopping is what the others are built to survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Halt {
    /// A stage said more in one step than any may.
    Outbox,
    /// The link has no room for a letter.
    Letters,
    /// The host does not take the notices.
    Notices,
    /// A message is longer than a frame.
    Frame,
    /// This boot has sent all the frames it can number.
    Sequence,
}
