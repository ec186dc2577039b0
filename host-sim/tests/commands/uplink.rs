//! `conclave node --mqtt` and `mqtt-guard` with a real broker: whatever fails, each message that a node was told is stored
//! is accepted once and in order.

use crate::broker::broker;
use crate::process::{Process, addresses, wait};
use crate::support::{command, conclave, refused};
use host_sim::swarm::Broker;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// What the tests ask of a node of an uplink.
trait Uplinked {
    fn serves(&self) -> bool;

    /// Returns the numbers of its messages that were stored.
    fn stored(&self) -> Vec<u64>;
}

impl Uplinked for Process {
    fn serves(&self) -> bool {
        self.events("gateway").last().is_some_and(|line| line["state"] == "serving")
    }

    fn stored(&self) -> Vec<u64> {
        self.events("uplink-stored").iter().map(|line| line["number"].as_u64().unwrap()).collect()
    }
}

/// Three nodes in a group, a guard and a broker.
struct Network {
    broker: Broker,
    guard: Process,
    nodes: Vec<Option<Process>>,
}

impl Network {
    fn start() -> Option<Self> {
        let broker = broker()?;
        let address = broker.address().to_string();
        let ports = addresses(3);
        let guard = Process::start(&mut command(&["mqtt-guard", "--json", "--mqtt", &address, "--publish"]));
        wait("the guard's broker", || !guard.events("broker").is_empty());
        let node = |id: usize| {
            let mut words = vec!["node".to_owned(), "--json".to_owned(), "--new".to_owned()];
            words.extend(["--id".to_owned(), id.to_string(), "--bind".to_owned(), ports[id].clone()]);
            words.extend(["--members", "0,1,2", "--mode", "quorum", "--mqtt", &address].map(str::to_owned));
            let peers = (0..3).filter(|&peer| peer != id);
            words.extend(peers.flat_map(|peer| ["--peer".to_owned(), ports[peer].clone()]));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            Some(Process::start(&mut command(&words)))
        };
        let nodes = (0..3).map(node).collect();
        Some(Self { broker, guard, nodes })
    }

    /// Waits for a gateway, other than this one.
    fn await_gateway(&self, other_than: Option<usize>) -> usize {
        let mut found = None;
        wait("a gateway", || {
            found = self.nodes.iter().enumerate().find_map(|(index, node)| {
                (Some(index) != other_than && node.as_ref().is_some_and(Process::serves)).then_some(index)
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// Has every node that is up submit this many messages, and waits until those of `nodes` are stored.
    fn submit(&mut self, count: usize, awaited: &[usize]) {
        let before: Vec<usize> = self.nodes.iter().flatten().map(|node| node.stored().len()).collect();
        for round in 0..count {
            for node in self.nodes.iter_mut().flatten() {
                node.type_line(&format!("submit reading {round}"));
            }
            thread::sleep(Duration::from_millis(100));
        }
        for &index in awaited {
            let stored = before.get(index).copied().unwrap_or(0);
            let node = self.nodes[index].as_ref().unwrap();
            wait(&format!("node {index}'s messages"), || node.stored().len() >= stored + count);
        }
    }

    /// Asserts that what nodes were told is stored was accepted, and everything once and in order; returns how many
    /// messages were refused, by reason.
    fn check(&self) -> BTreeMap<String, usize> {
        let told = |network: &Self| {
            let node = |(index, node): (usize, &Option<Process>)| {
                let stored = node.iter().flat_map(Process::stored).map(|number| (index as u64, number));
                stored.collect::<Vec<_>>()
            };
            network.nodes.iter().enumerate().flat_map(node).collect::<Vec<_>>()
        };
        let stored = told(self);
        let accepted = || {
            let lines = self.guard.events("accepted").into_iter();
            lines.map(|line| (line["node"].as_u64().unwrap(), line["number"].as_u64().unwrap())).collect::<Vec<_>>()
        };
        wait("the guard", || stored.iter().all(|message| accepted().contains(message)));
        for node in 0..3 {
            let numbers: Vec<u64> =
                accepted().iter().filter(|(of, _)| *of == node).map(|(_, number)| *number).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "node {node}: {numbers:?}");
        }
        let mut refused = BTreeMap::new();
        for line in self.guard.events("refused") {
            *refused.entry(line["reason"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        refused
    }
}

#[test]
fn a_gateway_that_is_killed_is_replaced_and_nothing_stored_is_lost() {
    let Some(mut network) = Network::start() else { return };
    let first = network.await_gateway(None);
    network.submit(5, &[0, 1, 2]);
    network.nodes[first] = None; // killed
    let rest: Vec<usize> = (0..3).filter(|&index| index != first).collect();
    network.submit(5, &[]);
    let second = network.await_gateway(None);
    assert_ne!(second, first);
    for &index in &rest {
        wait("ten messages", || network.nodes[index].as_ref().unwrap().stored().len() == 10);
    }
    network.check();
}

#[test]
fn a_gateway_that_is_paused_and_wakes_up_late_publishes_nothing_that_counts() {
    let Some(mut network) = Network::start() else { return };
    let first = network.await_gateway(None);
    network.submit(3, &[0, 1, 2]);
    let node = network.nodes[first].as_mut().unwrap();
    node.type_line("submit on its way");
    node.signal(rustix::process::Signal::STOP);
    let second = network.await_gateway(Some(first));
    network.submit(5, &[second]);
    let node = network.nodes[first].as_ref().unwrap();
    let states = node.events("gateway").len();
    node.signal(rustix::process::Signal::CONT);
    // It may lead again soon, under a higher fence.
    wait("the end of its leadership", || node.events("gateway").len() > states);
    assert_ne!(node.events("gateway")[states]["state"], "serving");
    wait("all of its messages", || node.stored().len() == 9);
    network.check();
    let fences: Vec<Value> = network.guard.events("accepted").iter().map(|line| line["fence"][0].clone()).collect();
    let fences: Vec<u64> = fences.iter().map(|term| term.as_u64().unwrap()).collect();
    assert!(fences.is_sorted() && fences.first() < fences.last(), "{fences:?}");
}

#[test]
fn a_broker_that_restarts_changes_no_gateway_and_loses_nothing_stored() {
    let Some(mut network) = Network::start() else { return };
    network.await_gateway(None);
    network.submit(3, &[0, 1, 2]);
    network.broker.stop().unwrap();
    network.submit(3, &[]);
    network.broker.resume().unwrap();
    for node in network.nodes.iter().flatten() {
        wait("six messages", || node.stored().len() == 6);
    }
    network.check();
}

#[test]
fn a_guard_refuses_an_older_fence_and_what_it_accepted_before() {
    let Some(mut network) = Network::start() else { return };
    network.await_gateway(None);
    network.submit(2, &[0, 1, 2]);
    let Value::Array(fence) = network.guard.events("accepted")[0]["fence"].clone() else { panic!("a fence") };
    let (term, by) = (fence[0].as_u64().unwrap(), fence[1].as_u64().unwrap());
    // A client of the broker that is no gateway, with texts that a late one would publish.
    let publish = |text: String| {
        let (host, port) = ("127.0.0.1", network.broker.address().port().to_string());
        let words = ["-h", host, "-p", &port, "-q", "1", "-t", "conclave/up/0", "-m", &text];
        Command::new("mosquitto_pub").args(words).status()
    };
    match publish(format!("{}.{by} 1 1.3 late", term - 1)) {
        Ok(status) => assert!(status.success()),
        Err(error) => return eprintln!("\n*** SKIPPED: mosquitto_pub cannot be started: {error} ***\n"),
    }
    assert!(publish(format!("{term}.{by} 100 1.2 again")).unwrap().success());
    assert!(publish("nonsense".to_owned()).unwrap().success());
    wait("two refusals", || network.guard.events("refused").len() == 2);
    let refused = network.check();
    let expected = [("duplicate", 1), ("older fence", 1)].map(|(reason, count)| (reason.to_owned(), count));
    assert_eq!(refused, BTreeMap::from(expected));
}

#[test]
fn a_broker_that_is_none_or_a_prefix_that_is_too_long_is_refused() {
    let node = ["node", "--id", "1", "--peer", "127.0.0.1:9", "--mqtt"];
    assert!(refused(&[&node[..], &["desk:port"]].concat()).contains("a port is a number"));
    let long = "t".repeat(40);
    assert!(refused(&[&node[..], &["127.0.0.1:9", "--topic", &long]].concat()).contains("--topic has 1 to 32 bytes"));
    let (code, _, error) = conclave(&["mqtt-guard", "--mqtt", ""]);
    assert!(code == Some(2) && error.contains("a name or an address"), "{error}");
}
