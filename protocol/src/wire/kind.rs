//! What a frame's body is, and how it wants to travel.

/// Which stage a body belongs to: the second byte of every frame.
///
/// The numbers are the wire format: they are never given again to another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Kind {
    /// The neighbours' hello.
    Hello = 0,
    /// The link's acknowledgement.
    Receipt = 1,
    /// The detector's sign of life.
    Alive = 2,
    /// The diffusing wireless election.
    Wireless = 16,
    /// The flat wireless election.
    WirelessFlat = 17,
    /// The bully election.
    Bully = 18,
    /// The ring election.
    Ring = 19,
    /// The Chang-Roberts election.
    ChangRoberts = 20,
    /// The election of Le Lann.
    Lelann = 21,
    /// The leader's mandate.
    Mandate = 28,
    /// The central lock server.
    Central = 32,
    /// The token ring lock.
    TokenRing = 33,
    /// The Lamport lock.
    Lamport = 34,
    /// The Ricart-Agrawala lock.
    RicartAgrawala = 35,
    /// The Maekawa lock.
    Maekawa = 36,
    /// The majority voting lock.
    Voting = 37,
    /// The tree lock of Raymond.
    Raymond = 38,
    /// The bank of tokens.
    Tokens = 48,
    /// The diffusing job.
    Diffusing = 49,
    /// The snapshot of Chandy and Lamport.
    Snapshot = 52,
    /// The waves that look for the end of a job.
    Wave = 56,
    /// The termination detection of Dijkstra and Scholten.
    DijkstraScholten = 57,
    /// The shared clock.
    ClockSync = 60,
    /// The counter behind a fence.
    Counter = 64,
}

impl Kind {
    /// Every kind there is.
    pub const ALL: [Self; 24] = [
        Self::Hello,
        Self::Receipt,
        Self::Alive,
        Self::Wireless,
        Self::WirelessFlat,
        Self::Bully,
        Self::Ring,
        Self::ChangRoberts,
        Self::Lelann,
        Self::Mandate,
        Self::Central,
        Self::TokenRing,
        Self::Lamport,
        Self::RicartAgrawala,
        Self::Maekawa,
        Self::Voting,
        Self::Raymond,
        Self::Tokens,
        Self::Diffusing,
        Self::Snapshot,
        Self::Wave,
        Self::DijkstraScholten,
        Self::ClockSync,
        Self::Counter,
    ];

    /// The byte on the wire.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Hello => 0,
            Self::Receipt => 1,
            Self::Alive => 2,
            Self::Wireless => 16,
            Self::WirelessFlat => 17,
            Self::Bully => 18,
            Self::Ring => 19,
            Self::ChangRoberts => 20,
            Self::Lelann => 21,
            Self::Mandate => 28,
            Self::Central => 32,
            Self::TokenRing => 33,
            Self::Lamport => 34,
            Self::RicartAgrawala => 35,
            Self::Maekawa => 36,
            Self::Voting => 37,
            Self::Raymond => 38,
            Self::Tokens => 48,
            Self::Diffusing => 49,
            Self::Snapshot => 52,
            Self::Wave => 56,
            Self::DijkstraScholten => 57,
            Self::ClockSync => 60,
            Self::Counter => 64,
        }
    }

    /// The kind of a byte.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.byte() == byte)
    }

    /// The one stage that understands it.
    #[must_use]
    pub const fn stage(self) -> Stage {
        match self {
            Self::Hello => Stage::Neighbours,
            Self::Receipt => Stage::Link,
            Self::Alive => Stage::Detector,
            Self::Wireless | Self::WirelessFlat | Self::Bully | Self::Ring | Self::ChangRoberts | Self::Lelann => {
                Stage::Election
            }
            Self::Mandate => Stage::Mandate,
            Self::Central
            | Self::TokenRing
            | Self::Lamport
            | Self::RicartAgrawala
            | Self::Maekawa
            | Self::Voting
            | Self::Raymond => Stage::Mutex,
            Self::Tokens
            | Self::Diffusing
            | Self::Snapshot
            | Self::Wave
            | Self::DijkstraScholten
            | Self::ClockSync
            | Self::Counter => Stage::Upper,
        }
    }

    /// The word for it, the same as the file's and the command line's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Receipt => "receipt",
            Self::Alive => "alive",
            Self::Wireless => "wireless",
            Self::WirelessFlat => "wireless-flat",
            Self::Bully => "bully",
            Self::Ring => "ring",
            Self::ChangRoberts => "chang-roberts",
            Self::Lelann => "lelann",
            Self::Mandate => "mandate",
            Self::Central => "central",
            Self::TokenRing => "token-ring",
            Self::Lamport => "lamport",
            Self::RicartAgrawala => "ricart-agrawala",
            Self::Maekawa => "maekawa",
            Self::Voting => "voting",
            Self::Raymond => "raymond",
            Self::Tokens => "tokens",
            Self::Diffusing => "diffusing",
            Self::Snapshot => "snapshot",
            Self::Wave => "wave",
            Self::DijkstraScholten => "dijkstra-scholten",
            Self::ClockSync => "clock-sync",
            Self::Counter => "counter",
        }
    }
}

/// A part of a node that frames are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Who is in range.
    Neighbours,
    /// What has arrived.
    Link,
    /// Who is up.
    Detector,
    /// Who was elected.
    Election,
    /// Who may act as leader.
    Mandate,
    /// Who holds the lock.
    Mutex,
    /// What stands on top of it all.
    Upper,
}

/// How a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Once, to whoever is in range: no promise, no order.
    Near,
    /// As [`Delivery::Near`], but at a moment of its own, because many nodes are about to speak.
    Spread,
    /// By the link: in order, exactly once per incarnation, over several hops where the group has them.
    Reliable,
    /// As [`Delivery::Reliable`], but only until the next message of the same word about the same thing to the same node,
    /// which is all that matters then; and no promise: it is not sent where there is no room.
    Latest,
}

/// A message that can travel.
pub trait Message: Clone {
    /// Which kind its frames have.
    fn kind(&self) -> Kind;

    /// How it travels.
    fn delivery(&self) -> Delivery;

    /// What it is, in a word.
    fn word(&self) -> &'static str;

    /// Which of several things it is about, where there are several.
    fn about(&self) -> u32 {
        0
    }

    /// Writes the body; `None` where it does not fit.
    fn encode(&self, buffer: &mut [u8]) -> Option<usize>;

    /// Reads a body of `kind`; `None` where it is no such message.
    fn decode(kind: Kind, body: &[u8]) -> Option<Self>;
}

/// Nothing is ever said by a stage that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Silence {}

impl Message for Silence {
    fn kind(&self) -> Kind {
        match *self {}
    }
    fn delivery(&self) -> Delivery {
        match *self {}
    }
    fn word(&self) -> &'static str {
        match *self {}
    }
    fn encode(&self, _: &mut [u8]) -> Option<usize> {
        match *self {}
    }
    fn decode(_: Kind, _: &[u8]) -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_byte_of_its_own() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_byte(kind.byte()), Some(kind));
        }
        assert_eq!(Kind::from_byte(255), None);
    }
}
