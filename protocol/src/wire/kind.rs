//! The kind of a frame: which messages its body holds, and so which stage it belongs to.

/// The kind of a frame's body: the second byte of every frame.
///
/// Ranges belong to stages, so a frame finds its stage without a list of algorithms; `registry.rs` gives each shipped
/// algorithm its number. A number is never given again to another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Kind(u8);

impl Kind {
    /// A peer's hello.
    pub const HELLO: Self = Self(0);
    /// The link's acknowledgement.
    pub const ACK: Self = Self(1);
    /// The failure detector's heartbeat.
    pub const HEARTBEAT: Self = Self(2);

    /// The kind of this number.
    #[must_use]
    pub const fn new(byte: u8) -> Self {
        Self(byte)
    }

    /// The byte on the wire.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The one stage that understands it; `None` where the number belongs to no stage.
    #[must_use]
    pub const fn stage(self) -> Option<Stage> {
        match self.0 {
            0 => Some(Stage::Peers),
            1 => Some(Stage::Link),
            2 => Some(Stage::Detector),
            16..=27 => Some(Stage::Election),
            28..=31 => Some(Stage::Lease),
            32..=47 => Some(Stage::Mutex),
            48..=127 => Some(Stage::Service),
            3..=15 | 128..=255 => None,
        }
    }
}

/// A part of a node that frames are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The table of peers.
    Peers,
    /// The link.
    Link,
    /// The failure detector.
    Detector,
    /// The election.
    Election,
    /// The leader lease.
    Lease,
    /// The lock.
    Mutex,
    /// The service.
    Service,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_range_of_kinds() {
        use Stage::{Detector, Election, Lease, Link, Mutex, Peers, Service};
        let stages = (0..=u8::MAX).filter_map(|byte| Kind::new(byte).stage());
        let mut seen = std::vec::Vec::new();
        for stage in stages {
            if seen.last() != Some(&stage) {
                seen.push(stage);
            }
        }
        assert_eq!(seen, [Peers, Link, Detector, Election, Lease, Mutex, Service]);
    }
}
