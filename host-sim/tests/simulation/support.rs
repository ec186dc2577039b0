//! Scenarios, campaigns and the number of seeds.

use crate::long_run::is_full;
use host_sim::Scenario;
use host_sim::check::OF_LOCKS;
use host_sim::metrics::seeds::{Report, run_seeds, run_seeds_of};
use host_sim::nodes::ScenarioNode;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

pub(crate) fn load(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::load(&path, OF_LOCKS).unwrap()
}

/// Returns the number of seeds: `short` in a usual run, `full` in the long one.
pub(crate) fn seeds(short: u64, full: u64) -> u64 {
    if is_full() { full } else { short }
}

/// Runs a scenario over seeds; asserts that there is no violation.
pub(crate) fn passes(scenario: &Scenario, seeds: u64) -> Report {
    without_violation(scenario, run_seeds_of(scenario, 0..seeds, || {}))
}

/// Runs a storm, once for all tests that judge it.
pub(crate) fn storm(scenario: &Scenario, seeds: u64) -> Arc<Report> {
    static REPORTS: Mutex<BTreeMap<String, Arc<OnceLock<Arc<Report>>>>> = Mutex::new(BTreeMap::new());
    let key = format!("{}{} {seeds}", scenario.name, scenario.overrides);
    let report = Arc::clone(REPORTS.lock().unwrap().entry(key).or_default());
    Arc::clone(report.get_or_init(|| Arc::new(run_seeds_of(scenario, 0..seeds, || {}))))
}

/// Runs a storm; asserts that there is no violation.
pub(crate) fn survives(scenario: &Scenario, seeds: u64) -> Report {
    without_violation(scenario, Report::clone(&storm(scenario, seeds)))
}

/// Runs a scenario over seeds; asserts that there is no violation but of one checker, which another test asserts.
pub(crate) fn passes_but_for(checker: &str, scenario: &Scenario, seeds: u64) -> Report {
    let mut report = Report::clone(&storm(scenario, seeds));
    report.violations.retain(|violation| violation.checker != checker);
    without_violation(scenario, report)
}

/// The checker of messages that are received twice.
pub(crate) const REPEAT: &str = "exactly-once";

/// Runs a scenario over seeds; asserts that there is no violation, and that every run ends with the best node leading all.
pub(crate) fn converges(scenario: &Scenario, seeds: u64) -> Report {
    with_best_leader(passes(scenario, seeds))
}

/// The same with nodes of type `M`.
pub(crate) fn converges_with<M: ScenarioNode>(scenario: &Scenario, seeds: u64) -> Report {
    with_best_leader(without_violation(scenario, run_seeds::<M>(scenario, 0..seeds, || {})))
}

fn without_violation(scenario: &Scenario, report: Report) -> Report {
    let violations: Vec<_> = report.violations.iter().map(|violation| (violation.seed, &violation.text)).collect();
    assert_eq!(violations, [], "{}{}", scenario.name, scenario.overrides);
    // The report does not judge a percentile by few samples; here the seeds are fixed, so it can be held to its limit.
    for limit in &scenario.expect.limits {
        let measured = report.measures.get(limit.measure).copied().unwrap_or_default();
        let value = match limit.per_mille {
            0..=500 => measured.p50,
            501..=990 => measured.p99,
            991..=999 => measured.p999,
            _ => measured.max,
        };
        assert!(value <= limit.max, "{}: {} of {measured:?}", scenario.name, limit.measure);
    }
    report
}

pub(crate) fn with_best_leader(report: Report) -> Report {
    assert_eq!((report.converged, report.leader_is_best), (report.seeds, report.seeds), "{}", report.scenario);
    report
}

pub(crate) fn finds(report: &Report, checker: &str) -> bool {
    report.violations.iter().any(|violation| violation.checker == checker)
}
