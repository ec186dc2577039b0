//! The file as it is written: one struct per table.

use super::read::Spanned;
use super::values::{Between, CapacityValue, Nodes, Positive, Seeds, Share, Time, Whole};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawScenario {
    pub(super) name: String,
    #[serde(default)]
    pub(super) about: String,
    pub(super) nodes: Spanned<Whole<1, 1_000_000>>,
    pub(super) duration: Time,
    pub(super) seeds: Option<Seeds>,
    pub(super) settle_time: Option<Time>,
    pub(super) election: Option<Spanned<String>>,
    pub(super) mode: Option<Spanned<String>>,
    pub(super) members: Option<Spanned<Whole<1, 32>>>,
    pub(super) hops: Option<Whole<1, 255>>,
    pub(super) drift_ppm: Option<Whole<0, 25_000>>,
    pub(super) boot_spread: Option<Time>,
    pub(super) topology: Spanned<RawTopology>,
    pub(super) mobility: Option<Spanned<RawMobility>>,
    pub(super) medium: Option<Spanned<RawMedium>>,
    #[serde(default)]
    pub(super) capacity: RawCapacity,
    pub(super) timing: Option<Spanned<RawTiming>>,
    pub(super) locks: Option<Spanned<RawLocks>>,
    pub(super) app: Option<Spanned<RawApp>>,
    pub(super) service: Option<Spanned<RawService>>,
    pub(super) expect: Option<RawExpect>,
    #[serde(default)]
    pub(super) faults: Vec<Spanned<RawFault>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTopology {
    pub(super) shape: Spanned<String>,
    pub(super) spacing: Option<Spanned<Positive>>,
    pub(super) columns: Option<Spanned<Whole<1, 1_000_000>>>,
    pub(super) degree: Option<Spanned<Positive>>,
    pub(super) connected: Option<Spanned<bool>>,
    pub(super) positions: Option<Spanned<Vec<[f64; 2]>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMobility {
    pub(super) speed: Spanned<Between<Positive>>,
    pub(super) pause: Option<Time>,
    pub(super) tick: Option<Spanned<Time>>,
    pub(super) area: Option<Spanned<[f64; 4]>>,
    pub(super) until: Option<Time>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMedium {
    pub(super) kind: Option<Spanned<String>>,
    pub(super) range: Option<Spanned<Positive>>,
    pub(super) range_max: Option<Spanned<Positive>>,
    pub(super) bit_rate: Option<Spanned<Whole<1_000, 1_000_000_000>>>,
    pub(super) csma: Option<Spanned<bool>>,
    pub(super) collisions: Option<Spanned<bool>>,
    pub(super) capture: Option<Spanned<String>>,
    pub(super) one_way: Option<Spanned<Share>>,
    pub(super) queue: Option<Spanned<Whole<1, 1_000>>>,
    pub(super) loss: Option<Share>,
    pub(super) delay: Option<Spanned<Between<Time>>>,
    pub(super) shared: Option<Spanned<bool>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCapacity {
    pub(super) rule: Option<Spanned<String>>,
    pub(super) value: Option<Spanned<Whole<0, 10_000>>>,
    pub(super) values: Option<Spanned<Vec<Whole<0, 10_000>>>>,
    pub(super) noise: Option<Share>,
    pub(super) period: Option<Spanned<Time>>,
    pub(super) ineligible: Option<Spanned<Nodes>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTiming {
    pub(super) preset: Option<Spanned<String>>,
    pub(super) hello_min: Option<Spanned<Time>>,
    pub(super) hello_max: Option<Spanned<Time>>,
    pub(super) heartbeat: Option<Spanned<Time>>,
    pub(super) heartbeat_max: Option<Spanned<Time>>,
    pub(super) pulse: Option<Spanned<Time>>,
    pub(super) heartbeats_missed_max: Option<Whole<1, 255>>,
    pub(super) boot_wait: Option<Spanned<Time>>,
    pub(super) stagger: Option<Spanned<Time>>,
    pub(super) probe: Option<Spanned<Time>>,
    pub(super) probes: Option<Whole<1, 255>>,
    pub(super) reflood_interval: Option<Spanned<Time>>,
    pub(super) reflood_count: Option<Whole<0, 255>>,
    pub(super) takeover_delay: Option<Spanned<Time>>,
    pub(super) takeover_delay_unsettled: Option<Spanned<Time>>,
    pub(super) uptime_min: Option<Spanned<Time>>,
    pub(super) jitter: Option<Spanned<Time>>,
    pub(super) retry: Option<Spanned<Time>>,
    pub(super) quarantine: Option<Spanned<Time>>,
    pub(super) lock_lease: Option<Spanned<Time>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFault {
    pub(super) at: Spanned<Between<Time>>,
    #[serde(rename = "do")]
    pub(super) action: Spanned<String>,
    #[serde(rename = "for")]
    pub(super) duration: Option<Spanned<Between<Time>>>,
    pub(super) every: Option<Spanned<Time>>,
    pub(super) times: Option<Spanned<Whole<1, 100_000>>>,
    pub(super) node: Option<Spanned<Nodes>>,
    pub(super) records: Option<Spanned<String>>,
    pub(super) clock: Option<Spanned<String>>,
    pub(super) sets: Option<Spanned<Vec<Nodes>>>,
    pub(super) cut: Option<Spanned<String>>,
    pub(super) probability: Option<Spanned<Share>>,
    pub(super) replay: Option<Spanned<Share>>,
    pub(super) forge: Option<Spanned<Share>>,
    pub(super) junk: Option<Spanned<Whole<1, 1_000>>>,
    pub(super) insider: Option<Spanned<Share>>,
    pub(super) delay: Option<Spanned<Between<Time>>>,
    pub(super) good: Option<Spanned<Time>>,
    pub(super) bad: Option<Spanned<Time>>,
    pub(super) from: Option<Spanned<Nodes>>,
    pub(super) to: Option<Spanned<Nodes>>,
    pub(super) position: Option<Spanned<[f64; 2]>>,
    pub(super) capacity: Option<Spanned<CapacityValue>>,
    pub(super) units: Option<Spanned<Whole<1, 1_000_000>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawApp {
    pub(super) kind: Spanned<String>,
    pub(super) tokens: Option<Spanned<Whole<1, 1_000_000>>>,
    pub(super) pause: Option<Spanned<Time>>,
    pub(super) detection: Option<Spanned<String>>,
    pub(super) reordering: Option<Spanned<Share>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawService {
    pub(super) every: Spanned<Time>,
    pub(super) size: Option<Whole<0, 1_024>>,
    pub(super) answer: Option<Spanned<Time>>,
    pub(super) repeatable: Option<bool>,
    pub(super) message_every: Option<Spanned<Time>>,
    pub(super) message_to: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLocks {
    pub(super) mutex: Option<Spanned<String>>,
    pub(super) names: Option<Spanned<Vec<String>>>,
    pub(super) contenders: Option<Spanned<Nodes>>,
    pub(super) think: Option<Spanned<Between<Time>>>,
    pub(super) hold: Option<Spanned<Between<Time>>>,
    pub(super) lease: Option<Spanned<Between<Time>>>,
    pub(super) write: Option<Spanned<Between<Time>>>,
    pub(super) timeout: Option<Time>,
    #[serde(rename = "try")]
    pub(super) try_only: Option<Share>,
    pub(super) cancel: Option<Share>,
    pub(super) renew: Option<Share>,
    pub(super) fencing: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExpect {
    pub(super) time_to_leader: Option<Spanned<RawLimit>>,
    pub(super) failover: Option<Spanned<RawLimit>>,
    pub(super) merge: Option<Spanned<RawLimit>>,
    pub(super) split: Option<Spanned<RawLimit>>,
    pub(super) rejoin: Option<Spanned<RawLimit>>,
    pub(super) handover: Option<Spanned<RawLimit>>,
    pub(super) capacity_change: Option<Spanned<RawLimit>>,
    pub(super) election: Option<Spanned<RawLimit>>,
    pub(super) availability: Option<Share>,
    pub(super) leader_changes: Option<Whole<0, 1_000_000>>,
    pub(super) calm_frames: Option<Whole<0, 1_000_000>>,
    pub(super) lock_wait: Option<Spanned<RawLimit>>,
    pub(super) lock_recovery: Option<Spanned<RawLimit>>,
    pub(super) grants: Option<Whole<0, 1_000_000>>,
    pub(super) locks: Option<Vec<Spanned<String>>>,
    pub(super) snapshots: Option<Whole<0, 1_000_000>>,
    pub(super) terminations: Option<Whole<0, 1_000_000>>,
    pub(super) detection_delay: Option<Spanned<RawLimit>>,
    pub(super) clock_skew: Option<Spanned<RawLimit>>,
    pub(super) round_trip: Option<Spanned<RawLimit>>,
    pub(super) answered: Option<Share>,
    pub(super) delivered: Option<Share>,
    pub(super) received: Option<Whole<0, 1_000_000>>,
    pub(super) ordered: Option<Whole<0, 1_000_000>>,
    pub(super) committed: Option<Whole<0, 1_000_000>>,
    pub(super) lists: Option<Whole<0, 1_000_000>>,
    pub(super) list_change: Option<Spanned<RawLimit>>,
    pub(super) list_decision: Option<Spanned<RawLimit>>,
    pub(super) ordering: Option<Spanned<RawLimit>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { p99 = \"5s\" }")]
pub(super) struct RawLimit {
    pub(super) p50: Option<Time>,
    pub(super) p99: Option<Time>,
    pub(super) p999: Option<Time>,
    pub(super) max: Option<Time>,
}

/// Returns the keys of every table, as the TOML reader lists them in the error for an unknown one.
#[cfg(test)]
pub(super) fn keys() -> Vec<(&'static str, Vec<String>)> {
    fn of<T: serde::de::DeserializeOwned>() -> Vec<String> {
        let error = super::read::read::<T>("no-such-key = 1").map(|_| ()).expect_err("no table has this key");
        let listed = error.text.split_once("expected").expect("the reader lists the keys").1;
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }
    vec![
        ("", of::<RawScenario>()),
        ("topology", of::<RawTopology>()),
        ("mobility", of::<RawMobility>()),
        ("medium", of::<RawMedium>()),
        ("capacity", of::<RawCapacity>()),
        ("timing", of::<RawTiming>()),
        ("faults", of::<RawFault>()),
        ("locks", of::<RawLocks>()),
        ("app", of::<RawApp>()),
        ("service", of::<RawService>()),
        ("expect", of::<RawExpect>()),
        ("a limit", of::<RawLimit>()),
    ]
}
