//! What a node is told once, checked once.

use crate::group::NodeId;
use crate::mandate::Mode;
use crate::time::{Instant, Span};
use crate::wire::Key;

/// How long things take. One group, one timing: nodes that disagree about it disagree about who is alive.
///
/// With every span zero ([`Timing::ZERO`]) nothing ever has to be waited for, and the algorithms are their own
/// asynchronous model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The shortest time between two hellos, when the neighbourhood changes.
    pub hello_min: Span,
    /// The longest time between two hellos, when nothing changes.
    pub hello_max: Span,
    /// Between two beats of a leader.
    pub heartbeat: Span,
    /// How many beats may be missed before a leader counts as lost.
    pub beats_missed: u8,
    /// After boot, how long a node looks for neighbours and a leader before it calls an election.
    pub settle: Span,
    /// How far apart nodes that miss a leader call an election, best candidates first.
    pub stagger: Span,
    /// How long an unanswered neighbour is waited for before it is asked again.
    pub probe: Span,
    /// How often a neighbour is asked before it counts as gone.
    pub probes: u8,
    /// How long to listen for a flood to be passed on before it is said again.
    pub repeat: Span,
    /// How often a flood is said again.
    pub repeats: u8,
    /// How long a better node waits before it takes over from a leader that has settled.
    pub hold: Span,
    /// How long a better node waits before it takes over from a leader that has not: that election missed somebody.
    pub grace: Span,
    /// A node that has not been up this long does not take over from a settled leader.
    pub uptime_min: Span,
    /// The spread of what everybody says at once, for each node there is in range.
    pub jitter: Span,
    /// How long the link waits for an acknowledgement before it tries again, the first time.
    pub retry: Span,
    /// How long a node that lost its records keeps out of every decision.
    pub quarantine: Span,
    /// The longest a lock is granted for before it has to be renewed.
    pub lock_lease: Span,
}

/// By how many percent no two clocks of a group may differ in pace: what one grants for a time it counts longer, what
/// one is granted it counts shorter.
const DRIFT_PERCENT: u32 = 3;

/// A span as whoever granted it counts it: no clock of the group ends it later.
#[must_use]
pub fn granted(span: Span) -> Span {
    span.share(DRIFT_PERCENT.saturating_add(100), 100)
}

/// A span as whoever was granted it counts it, from when it asked: no clock of the group ends it sooner.
#[must_use]
pub fn usable(span: Span) -> Span {
    span.share(100_u32.saturating_sub(DRIFT_PERCENT), 100)
}

impl Timing {
    /// An IEEE 802.15.4 radio: slow frames, hidden terminals, a heartbeat every second.
    pub const RADIO: Self = Self {
        hello_min: Span::from_millis(125),
        hello_max: Span::from_secs(32),
        heartbeat: Span::from_secs(1),
        beats_missed: 3,
        settle: Span::from_millis(500),
        stagger: Span::from_millis(700),
        probe: Span::from_millis(60),
        probes: 6,
        repeat: Span::from_millis(50),
        repeats: 3,
        hold: Span::from_secs(10),
        grace: Span::from_millis(200),
        uptime_min: Span::from_secs(30),
        jitter: Span::from_millis(5),
        retry: Span::from_millis(25),
        quarantine: Span::from_secs(6),
        lock_lease: Span::from_secs(5),
    };

    /// A wired or wireless LAN where everybody hears everybody: frames take no time and do not collide.
    pub const LAN: Self = Self {
        jitter: Span::from_micros(200),
        probe: Span::from_millis(100),
        repeat: Span::from_millis(60),
        retry: Span::from_millis(30),
        ..Self::RADIO
    };

    /// Nothing is waited for: for exploring every order of events.
    pub const ZERO: Self = Self {
        hello_min: Span::ZERO,
        hello_max: Span::ZERO,
        heartbeat: Span::ZERO,
        beats_missed: 1,
        settle: Span::ZERO,
        stagger: Span::ZERO,
        probe: Span::ZERO,
        probes: 1,
        repeat: Span::ZERO,
        repeats: 1,
        hold: Span::ZERO,
        grace: Span::ZERO,
        uptime_min: Span::ZERO,
        jitter: Span::ZERO,
        retry: Span::ZERO,
        quarantine: Span::ZERO,
        lock_lease: Span::ZERO,
    };

    /// Over how long this node and `others` that all want to speak spread themselves.
    #[must_use]
    pub const fn crowd(&self, others: u32) -> Span {
        self.jitter.times(others.saturating_add(1))
    }

    /// How long a leader is believed in after a beat: a quarter of a heartbeat longer than the beats that may be missed,
    /// as the next one may take its time over many hops.
    #[must_use]
    pub fn lease(&self) -> Span {
        self.heartbeat.times(u32::from(self.beats_missed)).plus(self.heartbeat.share(1, 4))
    }

    /// The timing as it is, or what is wrong with it.
    ///
    /// # Errors
    /// Where a span that must not be zero is, or two contradict each other.
    pub fn check(self) -> Result<Self, ConfigError> {
        let needed = [self.hello_min, self.heartbeat, self.probe, self.repeat, self.retry];
        if needed.contains(&Span::ZERO) {
            return Err(ConfigError::ZeroSpan);
        }
        if self.hello_max < self.hello_min {
            return Err(ConfigError::HelloRange);
        }
        if self.beats_missed == 0 || self.probes == 0 {
            return Err(ConfigError::NoPatience);
        }
        if self.quarantine < granted(self.lease().max(self.lock_lease)) {
            return Err(ConfigError::ShortQuarantine);
        }
        Ok(self)
    }
}

/// When a step is taken: all that a stage below the algorithms needs to know of the world.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The time.
    pub now: Instant,
    /// A number nobody can foresee.
    pub random: u32,
    /// How long things take.
    pub timing: &'a Timing,
}

/// What makes this node this node.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Its name.
    pub me: NodeId,
    /// What its group shares.
    pub key: Key,
    /// Over how many hops the link carries what it is given; 1 where everybody hears everybody.
    pub hops: u8,
    /// Whether it may ever lead.
    pub may_lead: bool,
    /// What it needs besides being elected.
    pub mode: Mode,
    /// How long things take in its group.
    pub timing: Timing,
}

impl Config {
    /// The configuration as it is, or what is wrong with it.
    ///
    /// # Errors
    /// Where the node could not work with it.
    pub fn check(self) -> Result<Self, ConfigError> {
        if self.hops == 0 {
            return Err(ConfigError::NoHops);
        }
        Ok(Self { timing: self.timing.check()?, ..self })
    }
}

/// Why a configuration is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ConfigError {
    /// A span that something waits for is zero.
    ZeroSpan,
    /// The longest hello interval is shorter than the shortest.
    HelloRange,
    /// A leader or a neighbour would be given up on before it was ever missed.
    NoPatience,
    /// A node that forgot what it promised would be back before its promise has run out.
    ShortQuarantine,
    /// Frames that may take no hop reach nobody.
    NoHops,
    /// The group has more members than the node has room for.
    LargeGroup,
    /// The node is not in its own group.
    NotAMember,
    /// Two voting sets of the group have no member in common.
    VotingSets,
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ZeroSpan => "hello_min, heartbeat, probe, repeat and retry must not be zero",
            Self::HelloRange => "hello_max must not be shorter than hello_min",
            Self::NoPatience => "beats_missed and probes must be at least 1",
            Self::ShortQuarantine => {
                "quarantine must outlast the leader's lease (heartbeat x (beats_missed + 1/4)) and lock_lease by 3 %"
            }
            Self::NoHops => "hops must be at least 1",
            Self::LargeGroup => "the group has more members than the node has room for",
            Self::NotAMember => "the node must be a member of its own group",
            Self::VotingSets => "every two voting sets of the group must have a member in common",
        })
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_for_real_networks_are_sound() {
        assert_eq!(Timing::RADIO.check(), Ok(Timing::RADIO));
        assert_eq!(Timing::LAN.check(), Ok(Timing::LAN));
    }

    #[test]
    fn a_timing_that_cannot_work_is_refused_with_its_reason() {
        let radio = Timing::RADIO;
        let cases = [
            (Timing { heartbeat: Span::ZERO, ..radio }, ConfigError::ZeroSpan),
            (Timing { hello_max: Span::from_millis(1), ..radio }, ConfigError::HelloRange),
            (Timing { beats_missed: 0, ..radio }, ConfigError::NoPatience),
            (Timing { quarantine: Span::from_secs(1), ..radio }, ConfigError::ShortQuarantine),
        ];
        for (timing, error) in cases {
            assert_eq!(timing.check(), Err(error));
        }
    }
}
