//! How fast the page is, and how much memory it takes: figures for its document, which no test depends on.

use crate::browser::{Browser, program};
use crate::page::{Server, drop_file};
use serde_json::{Value, json};
use std::time::Duration;

/// How long pictures are counted.
const COUNT_MS: u32 = 20_000;
/// How often memory is read.
const READ_EVERY: Duration = Duration::from_secs(30);

/// Scattered radio nodes whose leader crashes every minute.
fn scenario(nodes: u32) -> String {
    format!(
        r#"name = "figures"
        nodes = {nodes}
        duration = "24h"
        boot_spread = "1s"
        topology = {{ shape = "geometric", degree = 10 }}
        medium = {{ loss = "5%" }}
        faults = [{{ at = "50s", do = "crash", node = "leader", for = "20s", every = "60s", times = 1000 }}]
        "#
    )
}

fn play(browser: &mut Browser, nodes: u32, speed: f64) {
    drop_file(browser, "figures.toml", &scenario(nodes));
    browser.wait_for(&format!("conclave.run.about.nodes === {nodes} && conclave.settled()"));
    browser.value(&format!("conclave.run.speed = {speed}; conclave.play(true)"));
}

/// The seconds of a processor that the page's thread has taken so far.
fn processor_seconds(browser: &mut Browser) -> f64 {
    let metrics = browser.call("Performance.getMetrics", &json!({}));
    let all = metrics["metrics"].as_array().unwrap();
    all.iter().find(|metric| metric["name"] == "TaskDuration").unwrap()["value"].as_f64().unwrap()
}

/// Counts pictures; returns how many there were, in how many milliseconds, the 95th percentile of the time between two, and
/// how fast the run was.
fn pictures(browser: &mut Browser) -> Value {
    browser.value(&format!(
        "new Promise((done) => {{
           const start = performance.now(), from = conclave.run.state.now, times = [];
           let last = start;
           requestAnimationFrame(function count() {{
             const now = performance.now(), passed = now - start;
             times.push(now - last);
             last = now;
             if (passed < {COUNT_MS}) return requestAnimationFrame(count);
             times.sort((a, b) => a - b);
             done([times.length, passed, times[Math.floor(times.length * 0.95)], (conclave.run.state.now - from) / 1000 / passed]);
           }});
         }})"
    ))
}

/// Prints the figures. `CONCLAVE_MINUTES` says for how long memory is watched, an hour if it is not set.
#[test]
#[ignore = "measures this machine, for an hour"]
fn figures_of_the_page() {
    let Some(program) = program() else { panic!("chromium is missing") };
    let Some(server) = Server::start(&[]) else { panic!("the page cannot be compiled") };
    let mut browser = Browser::start(program);
    browser.call("Performance.enable", &json!({ "timeDomain": "threadTicks" }));
    browser.open(&server.address);
    let paint = browser.value("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let module = browser
        .value("performance.getEntriesByType('resource').find(({ name }) => name.endsWith('.wasm')).decodedBodySize");
    let network = browser.value("performance.getEntriesByName('first picture of the network')[0].startTime");
    println!("module: {module} bytes; first paint after {paint} ms, first picture of the network after {network} ms");
    for (nodes, speed) in [(300, 1.0), (300, 10.0), (2_000, 1.0)] {
        play(&mut browser, nodes, speed);
        for phase in ["while they boot", "after that"] {
            let before = processor_seconds(&mut browser);
            let figures = pictures(&mut browser);
            let [count, passed, p95, run] = [0, 1, 2, 3].map(|at| figures[at].as_f64().unwrap());
            let (rate, cost) = (1_000.0 * count / passed, 1_000.0 * (processor_seconds(&mut browser) - before) / count);
            println!(
                "{nodes} nodes at {speed}x, {phase}: {rate:.0} pictures a second, p95 {p95:.0} ms apart, {run:.2}x; \
                 {cost:.0} ms of a processor for each picture and its part of the run"
            );
        }
    }
    let minutes: u64 = std::env::var("CONCLAVE_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    // A page of its own: the memory of thousands of nodes is not given back, and would hide what grows.
    browser.open(&server.address);
    play(&mut browser, 100, 10.0);
    for reading in 1..=60 * minutes / READ_EVERY.as_secs() {
        std::thread::sleep(READ_EVERY);
        browser.call("HeapProfiler.collectGarbage", &json!({}));
        let heap = browser.call("Runtime.getHeapUsage", &json!({}))["usedSize"].as_f64().unwrap() / 1e6;
        let [simulator, now] = ["conclave.simulatorBytes() / 1e6", "conclave.run.state.now / 1e6"]
            .map(|expression| browser.value(expression).as_f64().unwrap());
        let passed = reading * READ_EVERY.as_secs();
        println!("after {passed} s, at {now:.0} s of the run: page {heap:.1} MB, simulator {simulator:.1} MB");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}
