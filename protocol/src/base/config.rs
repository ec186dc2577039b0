//! Configuration of a node: its identity and its timing, checked once.

use crate::base::ids::NodeId;
use crate::base::key::Key;
use crate::base::quorum::Mode;
use crate::base::rng::Rng;
use crate::base::time::{Duration, Instant};

/// Timeouts and intervals. All nodes of a group must share them: nodes with different timings disagree about who is up.
///
/// With every duration zero ([`Timing::ZERO`]) every timeout is due at once, and the algorithms are their own
/// asynchronous model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Shortest interval between hellos, while the neighbourhood changes.
    pub hello_min: Duration,
    /// Longest interval between hellos, while nothing changes.
    pub hello_max: Duration,
    /// Interval between heartbeats. Those of a leader that radio neighbours have elected become less frequent.
    pub heartbeat: Duration,
    /// Longest interval between the heartbeats of a leader. In mode quorum at most four times `heartbeat`, and less where a
    /// lease that may last for `quarantine` at most could not be asked for again: they renew it.
    pub heartbeat_max: Duration,
    /// Interval between the pulses that tell the leader's neighbours that it is up; none are sent without one.
    pub pulse: Option<Duration>,
    /// Heartbeats that may be missed before a leader counts as lost.
    pub heartbeats_missed_max: u8,
    /// Time after boot in which a node looks for neighbours and a leader before it starts an election.
    pub boot_wait: Duration,
    /// Range of the delays after which nodes without a leader start an election, best candidates first.
    pub stagger: Duration,
    /// Timeout after which a silent neighbour is probed again.
    pub probe: Duration,
    /// Probes of a silent neighbour before it counts as gone.
    pub probes: u8,
    /// Time to wait for neighbours to relay a flooded message before it is sent again.
    pub reflood_interval: Duration,
    /// How often a flooded message is sent again.
    pub reflood_count: u8,
    /// Delay before a better candidate takes over from an incumbent leader.
    pub takeover_delay: Duration,
    /// Delay before a better candidate takes over from a leader that is no incumbent yet: its election missed that
    /// candidate.
    pub takeover_delay_unsettled: Duration,
    /// Uptime below which a node does not take over from an incumbent leader.
    pub uptime_min: Duration,
    /// Contention window for each node in range that may send at the same time.
    pub jitter: Duration,
    /// Time to wait for an acknowledgement before the first retransmission.
    pub retry: Duration,
    /// Time for which a node that lost its records takes part in no decision.
    pub quarantine: Duration,
    /// Longest lease of a lock before it has to be renewed.
    pub lock_lease: Duration,
}

/// How many nodes in range make a crowd, in which not every node relays or answers each time.
pub(crate) const CROWD: u32 = 12;

/// From which heartbeat on those of a leader may be rare.
pub(crate) const CALM_AFTER: u32 = 8;

/// From which heartbeat on a leader asks for the longest lease: over many hops answers take longer than a short one leaves.
pub(crate) const LONG_LEASE_AFTER: u32 = 4;

/// From which heartbeat on their interval is twice, four times, eight times the first.
const INTERVAL_DOUBLES_AT: [u32; 3] = [CALM_AFTER, 32, 48];

/// By how much a leader's heartbeats are rarer then in mode quorum, at most.
const QUORUM_STRETCH: u32 = 4;

/// Bound on the clock drift between two nodes of a group, in percent: a grantor counts a lease longer by it, a holder
/// shorter.
const DRIFT_PERCENT: u32 = 3;

/// Returns the length of a lease by the grantor's clock: no holder's clock ends it later.
#[must_use]
pub fn lease_at_grantor(lease: Duration) -> Duration {
    lease.mul_ratio(DRIFT_PERCENT.saturating_add(100), 100)
}

/// Returns the length of a lease by the holder's clock, from when it sent the request: no grantor's clock ends it
/// sooner.
pub(crate) fn lease_at_holder(lease: Duration) -> Duration {
    lease.mul_ratio(100_u32.saturating_sub(DRIFT_PERCENT), 100)
}

impl Timing {
    /// An IEEE 802.15.4 radio: slow frames, hidden terminals, a heartbeat every second.
    pub const RADIO: Self = Self {
        hello_min: Duration::from_millis(125),
        hello_max: Duration::from_secs(32),
        heartbeat: Duration::from_secs(1),
        heartbeat_max: Duration::from_secs(8),
        pulse: Some(Duration::from_millis(200)),
        heartbeats_missed_max: 3,
        boot_wait: Duration::from_millis(500),
        stagger: Duration::from_millis(700),
        probe: Duration::from_millis(60),
        probes: 6,
        reflood_interval: Duration::from_millis(50),
        reflood_count: 3,
        takeover_delay: Duration::from_secs(10),
        takeover_delay_unsettled: Duration::from_millis(200),
        uptime_min: Duration::from_secs(30),
        jitter: Duration::from_millis(5),
        retry: Duration::from_millis(25),
        quarantine: Duration::from_secs(6),
        lock_lease: Duration::from_secs(5),
    };

    /// A wired or wireless LAN, one hop: frames take no time and do not collide.
    pub const LAN: Self = Self {
        jitter: Duration::from_micros(200),
        probe: Duration::from_millis(100),
        reflood_interval: Duration::from_millis(60),
        retry: Duration::from_millis(30),
        ..Self::RADIO
    };

    /// All durations zero, for exploring every order of events.
    pub const ZERO: Self = Self {
        hello_min: Duration::ZERO,
        hello_max: Duration::ZERO,
        heartbeat: Duration::ZERO,
        heartbeat_max: Duration::ZERO,
        pulse: None,
        heartbeats_missed_max: 1,
        boot_wait: Duration::ZERO,
        stagger: Duration::ZERO,
        probe: Duration::ZERO,
        probes: 1,
        reflood_interval: Duration::ZERO,
        reflood_count: 1,
        takeover_delay: Duration::ZERO,
        takeover_delay_unsettled: Duration::ZERO,
        uptime_min: Duration::ZERO,
        jitter: Duration::ZERO,
        retry: Duration::ZERO,
        quarantine: Duration::ZERO,
        lock_lease: Duration::ZERO,
    };

    /// Returns the time over which this node and `others` spread their transmissions.
    pub(crate) const fn contention_window(&self, others: u32) -> Duration {
        self.jitter.times(others.saturating_add(1))
    }

    /// Returns how long a follower trusts the leader after a heartbeat: a quarter of a heartbeat longer than the
    /// heartbeats that may be missed, as the next one may be delayed over many hops.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.heartbeat.times(u32::from(self.heartbeats_missed_max)).plus(self.heartbeat.mul_ratio(1, 4))
    }

    /// Returns the length of the lease that a leader's heartbeat of this number asks for: longer from when on it is not quite
    /// new, before its heartbeats become rare.
    pub(crate) fn lease_of(&self, heartbeat: u32) -> Duration {
        if heartbeat >= LONG_LEASE_AFTER { self.lease_max() } else { self.lease() }
    }

    /// Returns the length of the longest lease. A node that lost its records is in quarantine for as long.
    pub(crate) fn lease_max(&self) -> Duration {
        let rare = self.lease().plus(self.heartbeat_max.minus(self.heartbeat));
        rare.min(self.quarantine.mul_ratio(100, DRIFT_PERCENT.saturating_add(100))).max(self.lease())
    }

    /// Returns whether a leader's heartbeats are never so rare that they could not renew a lease. Then each of them counts, and
    /// nobody is in a hurry to replace a leader: the promises it was given stand for longer.
    pub(crate) fn renews(&self) -> bool {
        self.heartbeat_max <= self.heartbeat.times(QUORUM_STRETCH)
    }

    /// Returns the time between a leader's heartbeat of this number and the next, where they may become rare: twice, four
    /// times, eight times the first after about 8 s, a minute, two minutes, where the first is one second. In mode quorum
    /// the longest at once, as leases are long from then on.
    pub(crate) fn interval_of(&self, heartbeat: u32) -> Duration {
        if heartbeat >= CALM_AFTER && self.renews() {
            return self.heartbeat_max;
        }
        let doubled = |times: Duration, &at: &u32| if heartbeat < at { times } else { times.times(2) };
        INTERVAL_DOUBLES_AT.iter().fold(self.heartbeat, doubled).min(self.heartbeat_max)
    }

    /// This timing in mode quorum: a leader whose heartbeat brought no lease can send another before the last one ends.
    fn with_quorum(self) -> Self {
        let longest = Self { heartbeat_max: self.heartbeat.times(QUORUM_STRETCH), ..self };
        let spare = self.heartbeat.mul_ratio(3, 2);
        let heartbeat_max = self.heartbeat_max.min(longest.heartbeat_max);
        let heartbeat_max = heartbeat_max.min(lease_at_holder(longest.lease_max()).minus(spare)).max(self.heartbeat);
        // The lease outlasts any haste to replace a leader.
        let pulse = self.pulse.map(|pulse| pulse.times(2));
        Self { heartbeat_max, pulse, ..self }
    }

    /// Returns the timing if it is valid.
    ///
    /// # Errors
    /// Where a duration that must not be zero is, or two contradict each other.
    pub fn check(self) -> Result<Self, ConfigError> {
        let required = [self.hello_min, self.heartbeat, self.probe, self.reflood_interval, self.retry];
        if required.contains(&Duration::ZERO) || self.pulse == Some(Duration::ZERO) {
            return Err(ConfigError::ZeroDuration);
        }
        if self.hello_max < self.hello_min {
            return Err(ConfigError::HelloRange);
        }
        if self.heartbeats_missed_max == 0 || self.probes == 0 {
            return Err(ConfigError::NoTimeout);
        }
        if self.quarantine < lease_at_grantor(self.lease().max(self.lock_lease)) {
            return Err(ConfigError::ShortQuarantine);
        }
        Ok(Self { heartbeat_max: self.heartbeat_max.max(self.heartbeat), ..self })
    }
}

/// Time, randomness and timing of one step, for the layers below the algorithms.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The current time.
    pub now: Instant,
    /// A random number, different in every step.
    pub random: u32,
    /// Timeouts and intervals.
    pub timing: &'a Timing,
}

impl<'a> Moment<'a> {
    /// This moment, with a fresh random number.
    pub fn new(now: Instant, rng: &mut Rng, timing: &'a Timing) -> Self {
        Self { now, random: rng.next_u32(), timing }
    }
}

/// Configuration of one node.
///
/// ```
/// use protocol::base::{config::ConfigError, quorum::Mode};
/// use protocol::wire::Key;
/// use protocol::{Config, Duration, NodeId, Timing};
///
/// let key = Key::from_name("greenhouse"); // the same at all nodes of a group, as is the timing
/// let (mode, timing) = (Mode::Available, Timing::LAN);
/// let config = Config { me: NodeId(7), key, hops: 1, may_lead: true, mode, timing };
/// assert!(config.clone().check().is_ok());
///
/// let hurried = Timing { quarantine: Duration::from_secs(1), ..timing };
/// assert_eq!(Config { timing: hurried, ..config }.check().err(), Some(ConfigError::ShortQuarantine));
/// ```
#[derive(Clone, Debug)]
pub struct Config<K = Key> {
    /// Its id.
    pub me: NodeId,
    /// The key of its group, or what seals frames in its place.
    pub key: K,
    /// Hop limit of reliable messages; 1 where all nodes are in range of each other.
    pub hops: u8,
    /// Whether it may lead.
    pub may_lead: bool,
    /// What it needs to lead besides being elected.
    pub mode: Mode,
    /// Timeouts and intervals of its group.
    pub timing: Timing,
}

impl<K> Config<K> {
    /// Returns the configuration if it is valid.
    ///
    /// # Errors
    /// Where the node could not work with it.
    pub fn check(self) -> Result<Self, ConfigError> {
        if self.hops == 0 {
            return Err(ConfigError::NoHops);
        }
        let timing = self.timing.check()?;
        let timing = if self.mode == Mode::Quorum { timing.with_quorum() } else { timing };
        Ok(Self { timing, ..self })
    }
}

/// Why a configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ConfigError {
    /// A duration that must not be zero is.
    ZeroDuration,
    /// The longest hello interval is shorter than the shortest.
    HelloRange,
    /// A leader or a neighbour would count as lost before its first timeout.
    NoTimeout,
    /// A node that lost its records would take part again before its earlier promises have expired.
    ShortQuarantine,
    /// The hop limit is zero.
    NoHops,
    /// The group has more members than the node has slots.
    LargeGroup,
    /// A stage or the mode needs a group, and the node was given none.
    NoGroup,
    /// A member stands twice in the group's list.
    RepeatedMember,
    /// The node is not a member of its own group.
    NotAMember,
    /// The lock cannot work in this group: too many members, or voting sets without a common member.
    UnsupportedGroup,
    /// The lock asks many members for every entry, and needs all of them in range of each other.
    LockOverHops,
    /// The service works only in mode *quorum*.
    NeedsQuorum,
    /// The election makes clusters, each with a super-peer, and mode *quorum* allows one leader.
    ClustersWithQuorum,
    /// An option of the election or the lock is unknown.
    UnknownOption,
    /// The records leave no number for another boot.
    NoMoreBoots,
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ZeroDuration => "hello_min, heartbeat, pulse, probe, reflood_interval and retry must not be zero",
            Self::HelloRange => "hello_max must not be shorter than hello_min",
            Self::NoTimeout => "heartbeats_missed_max and probes must be at least 1",
            Self::ShortQuarantine => {
                "quarantine must outlast lock_lease and the leader's lease, heartbeat x (heartbeats_missed_max + 1/4), by 3 %"
            }
            Self::NoHops => "hops must be at least 1",
            Self::LargeGroup => "the group has more members than the node has slots",
            Self::NoGroup => "the election, lock, service or mode quorum needs a group, and the node was given none",
            Self::RepeatedMember => "no member may stand twice in the group's list",
            Self::NotAMember => "the node must be a member of its own group",
            Self::LockOverHops => "this lock needs all members in range of each other: with hops above 1, take central, token-ring or raymond",
            Self::NeedsQuorum => "the service needs mode quorum: with two leaders there would be two orders",
            Self::ClustersWithQuorum => {
                "clusters have a super-peer each, and mode quorum allows one leader: take another election, or mode available"
            }
            Self::UnknownOption => "an option of the election or the lock is unknown",
            Self::NoMoreBoots => "the records leave no number for another boot: give the group a new key and the node new records",
            Self::UnsupportedGroup => "the lock cannot work in this group: it has too many members, or two voting sets without a common member",
        })
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_for_real_networks_are_valid() {
        assert_eq!(Timing::RADIO.check(), Ok(Timing::RADIO));
        assert_eq!(Timing::LAN.check(), Ok(Timing::LAN));
    }

    #[test]
    fn in_mode_quorum_a_heartbeat_leaves_time_for_another_before_the_lease_ends() {
        for timing in [Timing::RADIO, Timing::LAN].map(Timing::with_quorum) {
            assert!(timing.renews() && timing.heartbeat_max > timing.heartbeat);
            assert!(timing.heartbeat_max.plus(timing.heartbeat) < lease_at_holder(timing.lease_max()));
            assert!(lease_at_grantor(timing.lease_max()) <= timing.quarantine);
        }
    }

    #[test]
    fn an_invalid_timing_is_rejected_with_its_reason() {
        let radio = Timing::RADIO;
        let cases = [
            (Timing { heartbeat: Duration::ZERO, ..radio }, ConfigError::ZeroDuration),
            (Timing { hello_max: Duration::from_millis(1), ..radio }, ConfigError::HelloRange),
            (Timing { heartbeats_missed_max: 0, ..radio }, ConfigError::NoTimeout),
            (Timing { quarantine: Duration::from_secs(1), ..radio }, ConfigError::ShortQuarantine),
        ];
        for (timing, error) in cases {
            assert_eq!(timing.check(), Err(error));
        }
    }
}
