//! The results of simulated nodes.

use super::{Effort, measure, p50_p99_max, seconds};
use crate::compare::{elections, mutexes};
use crate::scenario::DETECTIONS;
use protocol::registry::AnyMutex;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The seeds of each storm. The long run of the tests takes 2,000.
const STORMS: u64 = 500;

/// How long nodes move, and capacities are noisy, on a quick page.
const QUICK_DURATION: u64 = 300_000_000;

pub(super) fn elections(effort: Effort) -> Result<String, String> {
    let mut text = String::from(
        "\
# Results

`conclave results > docs/RESULTS.md` measures all of this and prints this page. Simulated radio: CSMA, collisions and hidden
terminals, 10 % of all frames lost besides, a heartbeat every second. Times are simulated seconds.

## Elections on a radio network

| network | power-on to one leader: p50, p99, max | leader crash to the next leader known by all | merge of two halves |
| --- | --- | --- | --- |
",
    );
    let (mut violated, mut runs) = (0, 0);
    for (network, name) in
        [("8 x 8 grid, 64 nodes", "grid64"), ("100 scattered nodes", "geometric100"), ("line of 30 nodes", "line30")]
    {
        let _ = write!(text, "| {network} |");
        let cells = [("cold-start", "time_to_leader_us", 1_000), ("leader-crash", "failover_us", 200)];
        for (what, name_of_measure, seeds) in cells.into_iter().chain([("split-heal", "merge_us", 200)]) {
            let report = effort.run_seeds(&format!("{name}-{what}"), seeds, Ok)?;
            let found = report.violations.iter().filter(|found| found.checker != "expect").map(|found| found.seed);
            (violated, runs) = (violated + found.collect::<BTreeSet<_>>().len(), runs + report.seeds);
            let _ = write!(text, " {} ({} seeds) |", p50_p99_max(measure(&report, name_of_measure)?), report.seeds);
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "
In {} of {runs} runs one leader per connected part, the best candidate, was known to all and stayed; in {violated} a checker found
otherwise. The scenarios are `grid64-*`, `geometric100-*` and `line30-*`.
",
        runs - violated
    );
    text += "
| scattered nodes | time to a leader | depth in hops | violations | CPU time | memory of the process so far |
| --- | --- | --- | --- | --- | --- |
";
    let networks = [("1,000", "geometric1k"), ("10,000", "geometric10k"), ("100,000", "geometric100k")];
    for (nodes, name) in networks.into_iter().take(if effort.quick { 1 } else { networks.len() }) {
        let before = Usage::now();
        let report = Effort { quick: false }.run_seeds(&format!("{name}-cold-start"), 1, Ok)?;
        let [leader, depth] = ["time_to_leader_us", "depth_hops"].map(|name| measure(&report, name).ok());
        let leader = leader.map_or_else(|| "not in this run".to_owned(), |leader| format!("{} s", seconds(leader.max)));
        let depth = depth.map_or_else(|| "-".to_owned(), |depth| depth.max.to_string());
        let Usage { cpu_seconds, megabytes } = Usage::now();
        let (found, cpu_seconds) = (report.violations.len(), cpu_seconds - before.cpu_seconds);
        let _ = writeln!(text, "| {nodes} | {leader} | {depth} | {found} | {cpu_seconds:.1} s | {megabytes} MB |");
    }
    let shorter = |mut scenario: crate::Scenario| {
        if effort.quick {
            scenario.world.duration = scenario.world.duration.min(QUICK_DURATION);
        }
        Ok(scenario)
    };
    let mobility = effort.run_seeds("geometric100-mobility", 10, shorter)?;
    let noise = effort.run_seeds("capacity-noise", 10, shorter)?;
    let changes = measure(&noise, "leader_changes")?.max;
    let _ = write!(
        text,
        "
One run each, of 20 to 30 simulated seconds, on one core of a shared machine.

100 nodes at walking speed for an hour (`geometric100-mobility`): over {} seeds, nodes have a leader that is up {:.2} % of the time,
the worst of them {:.2} %. 5 % of noise in every capacity for an hour (`capacity-noise`): most changes of leader in a run: {changes}.
",
        mobility.seeds,
        mobility.availability.mean,
        mobility.availability.min
    );
    Ok(text)
}

pub(super) fn comparisons(_: Effort) -> Result<String, String> {
    eprintln!("compare");
    let mut of_elections = elections::compare(&[16], || {});
    let mut of_mutexes = mutexes::compare(&[9], mutexes::Cable::Switched, || {});
    if !of_elections.holds() || !of_mutexes.holds() {
        return Err("a comparison does not hold: see `conclave compare`".to_owned());
    }
    of_elections.rows.retain(|row| !matches!(row.case, elections::Case::Best | elections::Case::Average));
    of_mutexes.rows.retain(|row| row.case != mutexes::Case::BystanderCrash);
    of_mutexes.rows.sort_by_key(|row| row.case); // stable: the order of the locks stays
    Ok(format!(
        "
## Algorithms side by side

`conclave compare elections --nodes 16`, in part. Every node hears every other, and a frame takes 1 ms. A message to several
members counts once for each; retransmissions, acknowledgements and heartbeats are counted apart. With loss or a crash, the
formula is that of the same start undisturbed.

```text
{}```

Bully waits for a coordinator that has crashed, and the flat wireless election for replies that may still come: that is their
time.

`conclave compare mutexes --nodes 9`, in part. Delays are in message times of a millisecond, the lease is a second, and a member
crashes while it holds the lock, or the leader does.

```text
{}```

After the crash of a holder `central` and `voting` grant to the next waiter within the lease, 3 % for clock drift and two round
trips. Where every member must agree, or a token must be reissued, the crash has to be detected first, which takes three
heartbeats, and whatever the crashed member may still hold has to expire. `voting` needs no leader, and does not wait for one that
has crashed.
",
        of_elections.text(false),
        of_mutexes.text(false)
    ))
}

pub(super) fn locks(effort: Effort) -> Result<String, String> {
    let mut text = String::from(
        "
## Locks under faults

Five members contend for two locks while a fifth of all frames is lost, others are duplicated or reordered, holders and others
crash and reboot with and without their records, the network partitions, nodes sleep and clocks drift by 2 % (`lock-storm`). In
no run a lock had two holders, fences only grew, and no stale write was accepted. The last column counts the runs in which a
request was still waiting long after the last fault.

| lock | seeds | grants in a run: p50 | wait: p50, p99, max | stale writes refused in a run: p50 | runs with a request left waiting |
| --- | ---: | ---: | --- | ---: | ---: |
",
    );
    for mutex in AnyMutex::NAMES {
        let report = effort.run_seeds("lock-storm", STORMS, |scenario| scenario.with_mutex(mutex))?;
        let (waiting, others): (Vec<_>, Vec<_>) =
            report.violations.iter().partition(|found| found.checker == "nobody-waits-for-ever");
        if let Some(found) = others.iter().find(|found| found.checker != "expect") {
            return Err(format!("{}: {}\n  replay: {}", found.checker, found.text, found.command));
        }
        let waiting = waiting.iter().map(|found| found.seed).collect::<BTreeSet<_>>().len();
        let [grants, refused] = [measure(&report, "grants")?.p50, measure(&report, "writes_refused")?.p50];
        let wait = p50_p99_max(measure(&report, "lock_wait_us")?);
        let _ = writeln!(text, "| `{mutex}` | {} | {grants} | {wait} | {refused} | {waiting} |", report.seeds);
    }
    Ok(text)
}

pub(super) fn global_state(effort: Effort) -> Result<String, String> {
    let mut text = String::from(
        "
## Global snapshots, termination, clock

Five members of a bank pass tokens around while a tenth of all frames is lost, a tenth duplicated and a fifth reordered
(`snapshot-tokens`), and crash, are partitioned and sleep besides (`snapshot-storm`). In each snapshot that was completed no
message was received before the cut and sent after it, the recorded ones were exactly those in flight, and together with the states
they add up to every token there is. The others were aborted with a reason.

| scenario | seeds | snapshots completed | their time: p50, p99, max | aborted in a run: p50, max |
| --- | ---: | ---: | --- | --- |
",
    );
    for name in ["snapshot-tokens", "snapshot-storm"] {
        let report = effort.report(name, STORMS, Ok)?;
        let (time, aborted) = (measure(&report, "snapshot_us")?, measure(&report, "snapshots_aborted")?);
        let (count, time) = (time.count, p50_p99_max(time));
        let _ = writeln!(text, "| `{name}` | {} | {count} | {time} | {}, {} |", report.seeds, aborted.p50, aborted.max);
    }
    text += "
No node announced the termination of a job while any node worked or work was in flight. The delay
counts from when no member was suspected any more. Where a member was suspected meanwhile, `dijkstra-scholten` answers \"unknown\".

| scenario | detection | ends detected | after the end: p50, p99, max |
| --- | --- | --- | --- |
";
    for name in ["termination-diffusing", "termination-storm"] {
        for detection in DETECTIONS {
            let report = effort.report(name, STORMS, |scenario| scenario.with_detection(detection))?;
            let delay = report.measures.get("detection_delay_us").copied().unwrap_or_default();
            let (count, seeds) = (delay.count, report.seeds);
            let time = if count == 0 { "-".to_owned() } else { p50_p99_max(delay) };
            let _ = writeln!(text, "| `{name}` | `{detection}` | {count} in {seeds} runs | {time} |");
        }
    }
    let clock = effort.report("berkeley-clock", 20, Ok)?;
    let _ = write!(
        text,
        "
The shared clock (`berkeley-clock`): {} members whose clocks drift by up to 100 ppm, frames that take 1 to 10 ms: after ten
rounds never more than {:.1} ms apart, the crash and return of the leader included ({} seeds), and no clock ever ran backwards.
",
        clock.nodes,
        measure(&clock, "clock_skew_us")?.max as f64 / 1e3,
        clock.seeds
    );
    Ok(text)
}

/// What this process has used so far, where the system says it.
#[derive(Default)]
struct Usage {
    cpu_seconds: f64,
    megabytes: u64,
}

impl Usage {
    fn now() -> Self {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
        // User and system time are the 12th and 13th number after the program's name, in hundredths of a second.
        let stat = read("stat");
        let numbers = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        let ticks: u64 = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
        let peak = read("status").lines().find_map(|line| line.strip_prefix("VmHWM:").map(str::to_owned));
        let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0);
        Self { cpu_seconds: ticks as f64 / 100.0, megabytes: kilobytes / 1_024 }
    }
}
