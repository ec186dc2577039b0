//! What carries frames: a radio channel or a local network.

mod lan;
mod radio;
mod tally;

pub use lan::Lan;
pub use radio::{Radio, Refused};
pub use tally::{Count, Tally};

use crate::fault::Faults;
use crate::frames::Frames;
use crate::queue::{Micros, Queue};
use crate::random::Random;
use crate::topology::Links;

/// What every part of the network works on: the time, the events to come, the frames under way, who hears whom, what
/// is wrong, and the chances.
pub struct Ether {
    /// The time.
    pub now: Micros,
    /// The events to come.
    pub queue: Queue,
    /// The frames under way.
    pub frames: Frames,
    /// Who hears whom.
    pub links: Links,
    /// What is wrong.
    pub faults: Faults,
    /// The chances of the medium.
    pub random: Random,
    /// What was sent and lost.
    pub tally: Tally,
}

/// The medium of a run.
pub enum Carrier {
    /// A radio channel.
    Radio(Radio),
    /// A local network.
    Lan(Lan),
}
