//! The kind of a frame: which messages its body holds, and so which stage it belongs to.

/// The kind of a frame's body: a byte of every frame, sealed with the body.
///
/// Ranges belong to stages, so a frame finds its stage without a list of algorithms; `registry.rs` gives each shipped
/// algorithm its number. A number is never given again to another kind. The numbers from 128 to 191 are those of
/// applications outside this crate ([`Kind::application`]): no shipped kind will ever have one of them.
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

    /// How many kinds are left to applications outside this crate.
    pub const APPLICATIONS: u8 = 64;
    const FIRST_APPLICATION: u8 = 128;

    /// The kind `NUMBER` of an application of one's own. All nodes of a group must agree on it.
    ///
    /// ```
    /// use protocol::wire::Kind;
    /// const MINE: Kind = Kind::application::<0>();
    /// ```
    ///
    /// A number beyond the range does not compile:
    ///
    /// ```compile_fail
    /// use protocol::wire::Kind;
    /// const MINE: Kind = Kind::application::<64>();
    /// ```
    #[must_use]
    pub const fn application<const NUMBER: u8>() -> Self {
        const { assert!(NUMBER < Self::APPLICATIONS, "the kinds of applications are numbered from 0 to 63") };
        Self(Self::FIRST_APPLICATION.saturating_add(NUMBER))
    }

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
            48..=191 => Some(Stage::Service), // from 128 on, of applications outside this crate
            3..=15 | 192..=255 => None,
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

    #[test]
    fn kinds_of_applications_reach_the_service() {
        let (first, last) = (Kind::application::<0>(), Kind::application::<{ Kind::APPLICATIONS - 1 }>());
        assert_eq!((first.byte(), last.byte()), (128, 191));
        assert_eq!((first.stage(), last.stage()), (Some(Stage::Service), Some(Stage::Service)));
        assert_eq!(Kind::new(192).stage(), None);
    }
}
