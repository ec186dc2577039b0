//! The results of boards: emulated ones, and the images of all.

use crate::Scenario;
use crate::boards::{App, Parts, toolchain};
use crate::cli::boards::sizes;
use crate::metrics::distribution::Distribution;
use crate::swarm::{self, Count, Image, Options, Report};
use protocol::registry::AnyMutex;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Runs of each size of a swarm.
const SEEDS: u64 = 5;
/// Swarms of four boards at one time.
const AT_ONCE: usize = 4;

/// The RAM of each stage.
pub(super) fn memory() -> String {
    let stages = sizes::stages_table();
    format!(
        "
## Memory

Bytes of RAM of each stage of a node on a 64-bit host, as `conclave sizes --stages` prints them:

{stages}"
    )
}

/// Swarms of emulated boards.
pub(super) fn emulated() -> Result<String, String> {
    let mut text = String::from(
        "
## Emulated boards

QEMU, Cortex-M3, embassy-net over Ethernet: a grid of boards whose leader is killed at 7 s; seconds of the boards' own clocks.

| boards | best elected | power-on to a leader: p50, max | failover: p50, max |
| --- | --- | --- | --- |
",
    );
    let image = image(&Parts::default())?;
    for boards in [5, 8, 16] {
        let (mut best, mut start, mut failover) = (0, Vec::new(), Vec::new());
        for seed in 0..SEEDS {
            let report = run(&grid(boards)?, seed, &image, App::None)?;
            best += u64::from(report.leader_is_best);
            start.push(of(&report, "board_time_to_leader_us")?.max);
            failover.push(of(&report, "board_failover_us")?.max);
        }
        let [start, failover] = [start, failover].map(|values| {
            let Distribution { p50, max, .. } = Distribution::of(values);
            format!("{}, {} s", super::seconds(p50), super::seconds(max))
        });
        let _ = writeln!(text, "| {boards} | {best} of {SEEDS} | {start} | {failover} |");
    }
    text += "
Four boards contend for a lock, one loses power and comes back, and the counter behind the fence equals the number of grants
(`conclave swarm --mutex NAME --nodes 4`):

| lock | grants | counted | holders that lost power before they had counted |
| --- | ---: | ---: | ---: |
";
    for (mutex, count) in counted()? {
        let Count { grants, cut_short, total, .. } = count;
        let _ = writeln!(text, "| `{mutex}` | {grants} | {total} | {cut_short} |");
    }
    text += &applications()?;
    Ok(text)
}

/// Four boards with each lock.
fn counted() -> Result<Vec<(&'static str, Count)>, String> {
    let mut counts = Vec::new();
    for names in AnyMutex::NAMES.chunks(AT_ONCE) {
        let images: Vec<(&'static str, Image)> = names
            .iter()
            .map(|&mutex| {
                let parts = Parts { app: App::Counter, ..Parts::choose(Some("bully"), Some(mutex))? };
                Ok((mutex, image(&parts)?))
            })
            .collect::<Result<_, String>>()?;
        let ended: Vec<Result<Report, String>> = std::thread::scope(|scope| {
            let run = |image| run(&swarm::lock_scenario(4), 0, image, App::Counter);
            let swarms: Vec<_> = images.iter().map(|(_, image)| scope.spawn(move || run(image))).collect();
            let joined = swarms.into_iter().map(|swarm| swarm.join().map_err(|_| "a swarm panicked".to_owned()));
            joined.map(|ended| ended.and_then(|ended| ended)).collect()
        });
        for (&mutex, report) in names.iter().zip(ended) {
            counts.push((mutex, report?.count.ok_or("there is no count")?));
        }
    }
    Ok(counts)
}

/// Four boards with each application.
fn applications() -> Result<String, String> {
    let report = |app| {
        let parts = Parts { app, ..Parts::choose(Some("bully"), None)? };
        run(&swarm::app_scenario(app, 4), 0, &image(&parts)?, app)
    };
    let bank = report(App::Tokens)?.bank.ok_or("there is no bank")?;
    let jobs = report(App::Diffusing)?.jobs.ok_or("there are no jobs")?;
    let clock = report(App::Clock)?.clock.ok_or("there is no clock")?;
    let apart = clock.seconds.values().map(|flash| flash.apart).max().unwrap_or(0);
    Ok(format!(
        "
Four boards are a bank of {} tokens (`conclave swarm --nodes 4 --app tokens`): before the leader lost power, and with it its
tokens, {} snapshots found all of them, and none another number. They announce the end of {} jobs when all {} units are done
(`--app diffusing`), and flash together at {} seconds, {:.0} ms apart at most while frames take 1 to 10 ms (`--app clock`).
",
        bank.tokens,
        bank.correct(),
        jobs.ended.len(),
        jobs.units(),
        clock.seconds.len(),
        apart as f64 / 1e3
    ))
}

/// The images of all boards.
pub(super) fn images() -> Result<String, String> {
    let mut text = String::from(
        "
## Images

Bytes, with logs, without the stack and the blobs of a Wi-Fi chip. `cargo sizes` prints those that only elect, with what they may
use; `cargo sizes --election bully --app NAME` those with an application, which may use the whole chip; `cargo sizes mps2-an385` every
crate and every layer of `protocol` in one.

",
    );
    text += &sizes::table_of(&Parts::default())?;
    for app in [App::Clock, App::Tokens, App::Diffusing] {
        let _ = write!(text, "\nWith `--election bully --app {}`:\n\n", app.name());
        text += &sizes::table_of(&Parts { app, ..Parts::choose(Some("bully"), None)? })?;
    }
    Ok(text)
}

fn grid(boards: u32) -> Result<Scenario, String> {
    let text = format!(
        "name = \"results\"\nnodes = {boards}\nduration = \"15s\"\nsettle_time = \"5s\"\nhops = 4\n\
         topology = {{ shape = \"grid\" }}\nfaults = [{{ at = \"7s\", do = \"crash\", node = \"leader\" }}]\n"
    );
    Scenario::parse("results", &text, &[]).map_err(|error| error.to_string())
}

fn image(parts: &Parts) -> Result<Image, String> {
    Image::build(parts, toolchain::prepare()?)
}

/// Runs a swarm. A violation is an error.
fn run(scenario: &Scenario, seed: u64, image: &Image, app: App) -> Result<Report, String> {
    eprintln!("{}: {} boards, {}, seed {seed}", scenario.name, scenario.world.nodes, image.path().display());
    let options = Options {
        image: Some(image.clone()),
        desktop: PathBuf::new(),
        desktops: 0,
        board_options: 0,
        app,
        replay: String::new(),
    };
    let report = swarm::run(scenario, seed, &options, &mut (), &mut |_, _| {}, &AtomicBool::new(false));
    let report = report.map_err(|error| error.to_string())?;
    match report.violations.first() {
        Some(found) => Err(format!("{}, seed {seed}: {}: {}", scenario.name, found.checker, found.text)),
        None => Ok(report),
    }
}

fn of(report: &Report, measure: &str) -> Result<Distribution, String> {
    report.measures.get(measure).copied().ok_or_else(|| format!("a swarm has no {measure}"))
}
