//! What may be fed with any bytes: each target is a function that panics where something is wrong.
//!
//! `cargo run -p conclave-fuzz -- all` feeds them in a loop, with nothing to install; `fuzz/libfuzzer` hands them to
//! cargo-fuzz.

#![allow(clippy::missing_panics_doc, reason = "a panic is how a target says that something is wrong")]
#![allow(clippy::cast_possible_truncation, reason = "the numbers of algorithms, members and kinds are below 256")]

mod driver;
mod group;
pub mod mutate;

use driver::Driver;
use firmware::storage::config_page::{ConfigPage, PAGE_BYTES, Secret};
use firmware::storage::crc::checksum;
use host_sim::Scenario;
use host_sim::check::OF_LOCKS;
use protocol::base::records::Records;
use protocol::wire::{self, FRAME_MAX};
use std::path::Path;

/// A target: its name, what it is fed with, and inputs to start from.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Takes any bytes; panics where something is wrong.
    pub feed: fn(&[u8]),
    /// Inputs that mean something, to be changed.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How many times more inputs it takes in the time of one input of the slowest.
    pub share: u64,
}

/// All targets.
pub const TARGETS: [Target; 6] = [
    Target { name: "frame", feed: frame, seeds: group::frames, share: 40 },
    Target { name: "sealed", feed: sealed, seeds: group::packets, share: 4 },
    Target { name: "sequence", feed: sequence, seeds: group::scripts, share: 1 },
    Target { name: "scenario", feed: scenario, seeds: scenarios, share: 1 },
    Target { name: "config-page", feed: config_page, seeds: pages, share: 40 },
    Target { name: "records", feed: records, seeds: stored, share: 4 },
];

/// Opens a frame. What can be opened is sealed again to the same bytes.
pub fn frame(bytes: &[u8]) {
    let (mut opened, mut sealed) = ([0; FRAME_MAX], [0; FRAME_MAX]);
    let key = group::key();
    if let Ok(packet) = wire::open(&key, bytes, &mut opened) {
        let len = wire::seal(&key, &packet, &mut sealed).expect("what was read can be written");
        assert_eq!(&sealed[..len], bytes, "a frame is sealed as it was");
    }
    let _ = protocol::registry::message_name(&key, bytes);
}

/// Hands one sealed frame of any kind to a member of a running group.
pub fn sealed(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let mut driver = group::warmed(choice);
    driver.sealed_frame(rest);
    driver.wait(2_000);
}

/// Plays frames, commands, times and reboots in any order.
pub fn sequence(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let mut driver = if choice & group::WARM == 0 { Driver::new(choice) } else { group::warmed(choice - group::WARM) };
    driver.play(rest);
}

/// Reads a scenario. An error is one line.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = Scenario::parse("fuzz.toml", text, OF_LOCKS) {
        let error = error.to_string();
        assert!(error.starts_with("fuzz.toml:") && !error.trim_end().contains('\n'), "{error}");
    }
}

/// Reads a config page, with the checksum it has and with the right one. What was read is written and read again.
pub fn config_page(bytes: &[u8]) {
    let mut page = [0; PAGE_BYTES];
    page.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let _ = ConfigPage::decode(&page);
    let sum = checksum(&page[..PAGE_BYTES - 4]);
    page[PAGE_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
    if let Ok(read) = ConfigPage::decode(&page) {
        assert_eq!(ConfigPage::decode(&read.encode()), Ok(read), "a page reads back");
        let _ = read.keyring();
    }
}

/// Boots a node with any records. They read back, and no number of them ever falls.
pub fn records(bytes: &[u8]) {
    let mut stored = [0; Records::BYTES];
    stored.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let records = Records::from_bytes(stored);
    assert_eq!(Records::from_bytes(records.to_bytes()), records, "records read back");
    let choice = bytes.get(Records::BYTES).copied().unwrap_or(0);
    if let Some(mut driver) = Driver::with_records(choice, records) {
        driver.wait(5_000);
    }
}

/// Every shipped scenario.
fn scenarios() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host-sim/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the scenarios are there").flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    files.iter().map(|file| std::fs::read(file.path()).expect("a scenario can be read")).collect()
}

fn pages() -> Vec<Vec<u8>> {
    let plain = ConfigPage::unprovisioned(&[1, 2, 3, 4], 5);
    let keyed = ConfigPage { key: Secret::of_group("fuzz"), members: 5, ..plain };
    [plain, keyed].map(|page| page.encode().to_vec()).to_vec()
}

fn stored() -> Vec<Vec<u8>> {
    let most = Records::from_bytes([u8::MAX; Records::BYTES]);
    [Records::FACTORY, most].map(|records| records.to_bytes().to_vec()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_takes_its_seeds_and_nothing_at_all() {
        for target in TARGETS {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{}", target.name);
            for seed in &seeds {
                (target.feed)(seed);
            }
            (target.feed)(&[]);
        }
    }

    #[test]
    fn the_seeds_are_read_to_their_ends() {
        let page: [u8; PAGE_BYTES] = pages()[1].clone().try_into().unwrap();
        assert!(ConfigPage::decode(&page).is_ok());
        let sum = checksum(&page[..PAGE_BYTES - 4]);
        assert_eq!(page[PAGE_BYTES - 4..], sum.to_le_bytes(), "the checksum is where the target puts it");
        let mut buffer = [0; FRAME_MAX];
        assert!(group::frames().iter().all(|frame| wire::open(&group::key(), frame, &mut buffer).is_ok()));
        assert!(group::packets().len() > 10);
    }
}
