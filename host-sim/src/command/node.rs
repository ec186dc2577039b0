//! `conclave node`: this desktop as one node of a real network, with boards or other desktops.

use clap::{Args, ValueEnum};
use firmware::crc::checksum;
use firmware::report::{Past, Report, Status};
use host_sim::swarm::{Stopwatch, key_bytes};
use protocol::capacity::Capacity;
use protocol::election::Wireless;
use protocol::mandate::Mode;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Notice};
use protocol::records::Records;
use protocol::wire::{FRAME_MAX, Key};
use protocol::{Config, Instant, Node, NodeId, Timing};
use serde_json::{Value, json};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fs, io};

/// How many neighbours the node has room for: as many as any node can have.
const NEIGHBOURS_MAX: usize = 64;
/// The longest wait for a frame, so that an interrupt is noticed.
const PATIENCE_MAX: Duration = Duration::from_millis(100);
const PATIENCE_MIN: Duration = Duration::from_micros(50);
const STATUS_PERIOD_US: u64 = 10_000_000;
/// A wired network tells nothing about how well a frame was heard.
const QUALITY_UNKNOWN: u8 = u8::MAX;

/// What `conclave node` is given.
#[derive(Args)]
pub(crate) struct NodeArgs {
    /// The node's number, unique in its group.
    #[arg(long)]
    id: u32,
    /// How well it would lead, from 0 to 10000.
    #[arg(long, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    capacity: u16,
    /// The address to listen at.
    #[arg(long, value_name = "ADDR")]
    bind: SocketAddr,
    /// Where to send every frame: other nodes, or a broadcast address. May be given many times.
    #[arg(long, value_name = "ADDR", required = true)]
    peer: Vec<SocketAddr>,
    /// The group's name, from which its key is made.
    #[arg(long, default_value = "conclave")]
    group: String,
    /// How fast things go in the group: all of its nodes must agree.
    #[arg(long, value_enum, default_value_t = Pace::Lan)]
    timing: Pace,
    /// Over how many hops the link carries.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    hops: u8,
    /// Where to keep what a restart must not forget. Without it, the node decides nothing for a while after each start.
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// The node has never run: where there are no records, none are lost.
    #[arg(long, requires = "records")]
    new: bool,
    /// The node never leads.
    #[arg(long)]
    never_leads: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Pace {
    /// Everybody hears everybody, and at once.
    Lan,
    /// A slow radio.
    Radio,
}

/// What the node runs on.
struct Desktop<'a> {
    args: &'a NodeArgs,
    socket: UdpSocket,
    watch: Stopwatch,
    sent: u32,
    received: u32,
    unsendable: u32,
}

type Peer = Node<Wireless, NoMutex, NEIGHBOURS_MAX>;

/// Runs until interrupted; 0 then, 1 if the node stopped itself, 2 where it cannot start.
pub(crate) fn run(args: &NodeArgs) -> ExitCode {
    match live(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Halted) => ExitCode::FAILURE,
        Err(End::Broken(text)) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
    }
}

/// Why a node ends that nobody ended.
enum End {
    Halted,
    Broken(String),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

fn live(args: &NodeArgs) -> Result<(), End> {
    let interrupted = super::interrupts()?;
    let complain = |error: io::Error| End::Broken(format!("{}: {error}", args.bind));
    let socket = UdpSocket::bind(args.bind).map_err(complain)?;
    socket.set_broadcast(true)?;
    let mut desktop = Desktop { args, socket, watch: Stopwatch::start(), sent: 0, received: 0, unsendable: 0 };
    let mut node = desktop.boot()?;
    node.handle(desktop.now(), Input::Capacity(Some(Capacity::new(args.capacity))));
    let mut status_at = STATUS_PERIOD_US;
    // More than a frame, so that a longer one is seen to be longer.
    let mut buffer = [0; 2 * FRAME_MAX];
    while !interrupted.load(Ordering::Relaxed) {
        desktop.flush(&mut node)?;
        let patience = node.deadline().map_or(PATIENCE_MAX, |at| desktop.watch.until(at.as_micros()));
        desktop.socket.set_read_timeout(Some(patience.clamp(PATIENCE_MIN, PATIENCE_MAX)))?;
        // An error is a timeout, or the news that an earlier datagram found nobody.
        if let Ok((count, _)) = desktop.socket.recv_from(&mut buffer) {
            desktop.received = desktop.received.saturating_add(1);
            node.handle(desktop.now(), Input::Frame { bytes: &buffer[..count], quality: QUALITY_UNKNOWN });
        }
        if node.deadline().is_some_and(|deadline| deadline <= desktop.now()) {
            node.handle(desktop.now(), Input::Timeout);
        }
        if desktop.watch.micros() >= status_at {
            status_at += STATUS_PERIOD_US;
            desktop.tell(&Report::Status(desktop.status(&node)))?;
        }
    }
    Ok(())
}

impl Desktop<'_> {
    fn now(&self) -> Instant {
        Instant::from_micros(self.watch.micros())
    }

    fn boot(&self) -> Result<Peer, End> {
        let args = self.args;
        let kept = args.records.as_deref().map(load).transpose()?.flatten();
        let (past, records) = match kept {
            Some(records) => (Past::Kept, Some(records)),
            None if args.new => (Past::New, Some(Records::FACTORY)),
            None => (Past::Lost, None),
        };
        let config = Config {
            me: NodeId(args.id),
            key: Key::new(key_bytes(&args.group)),
            hops: args.hops,
            may_lead: !args.never_leads,
            mode: Mode::Available,
            timing: match args.timing {
                Pace::Lan => Timing::LAN,
                Pace::Radio => Timing::RADIO,
            },
        };
        self.tell(&Report::Starting { node: config.me, capacity: args.capacity, records: past })?;
        // The standard library's way to a number that is another one in every process.
        let seed = RandomState::new().hash_one(args.id);
        let node = Node::new(config, Boot { records, seed }, self.now(), Wireless::new(), NoMutex);
        node.map_err(|error| End::Broken(error.to_string()))
    }

    /// Stores, sends and tells until the node wants nothing more.
    fn flush(&mut self, node: &mut Peer) -> Result<(), End> {
        let mut buffer = [0; FRAME_MAX];
        loop {
            if let Some(records) = node.poll_persist() {
                if let Some(file) = &self.args.records {
                    save(file, records)?;
                }
                self.tell(&Report::Stored(records))?;
            } else if let Some(frame) = node.poll_transmit(self.now(), &mut buffer) {
                let arrived = self.args.peer.iter().filter(|&&peer| self.socket.send_to(frame, peer).is_ok()).count();
                let counter = if arrived > 0 { &mut self.sent } else { &mut self.unsendable };
                *counter = counter.saturating_add(1);
            } else {
                match node.poll_notice() {
                    Some(Notice::Role(notice)) => {
                        if let Some(report) = Report::of(notice) {
                            self.tell(&report)?;
                        }
                    }
                    Some(Notice::Mutex(_)) => {} // a node without locks asks for none
                    Some(Notice::Halted(halt)) => {
                        self.tell(&Report::Stopped(&format!("{halt:?}")))?;
                        return Err(End::Halted);
                    }
                    None => return Ok(()),
                }
            }
        }
    }

    fn status(&self, node: &Peer) -> Status {
        Status {
            neighbours: u32::try_from(node.neighbours().count()).unwrap_or(u32::MAX),
            sent: self.sent,
            received: self.received,
            unsendable: self.unsendable,
            dropped: *node.counters(),
            ..Status::default()
        }
    }

    /// Prints a line; a reader that has gone away ends the node.
    fn tell(&self, report: &Report<'_>) -> io::Result<()> {
        let (mut out, at) = (io::stdout().lock(), self.watch.micros());
        if self.args.json {
            writeln!(out, "{}", in_json(at, report))?;
        } else {
            writeln!(out, "{}.{:06} {report}", at / 1_000_000, at % 1_000_000)?;
        }
        out.flush()
    }
}

fn in_json(at: u64, report: &Report<'_>) -> Value {
    let mut object = match *report {
        Report::Starting { node, capacity, records } => {
            json!({ "event": "starting", "node": node.0, "capacity": capacity, "records": records.word() })
        }
        Report::Stored(Records { incarnation, term, stamp }) => {
            json!({ "event": "stored", "incarnation": incarnation, "term": term, "stamp": stamp.0 })
        }
        Report::Leading { term } => json!({ "event": "leading", "term": term.number, "by": term.by.0 }),
        Report::Following { leader, term } => {
            json!({ "event": "following", "leader": leader.0, "term": term.number, "by": term.by.0 })
        }
        Report::Losing => json!({ "event": "losing" }),
        Report::Leaderless => json!({ "event": "leaderless" }),
        Report::Degraded => json!({ "event": "degraded" }),
        Report::Status(Status { neighbours, sent, received, unsendable, .. }) => {
            json!({
                "event": "status", "neighbours": neighbours, "sent": sent, "received": received,
                "unsendable": unsendable
            })
        }
        Report::Stopped(reason) => json!({ "event": "stopped", "reason": reason }),
    };
    object["at_us"] = at.into();
    object
}

/// Reads records; `None` where there are none, or what is there is damaged: then they are lost.
fn load(file: &Path) -> io::Result<Option<Records>> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io::Error::other(format!("{}: {error}", file.display()))),
    };
    let whole = bytes.split_last_chunk().filter(|(record, sum)| checksum(record).to_le_bytes() == **sum);
    Ok(whole.and_then(|(record, _)| record.try_into().ok()).map(Records::from_bytes))
}

/// Writes records so that they are there, old or new, whatever happens meanwhile.
fn save(file: &Path, records: Records) -> io::Result<()> {
    let complain = |error: io::Error| io::Error::other(format!("{}: {error}", file.display()));
    let record = records.to_bytes();
    let beside = file.with_extension("new");
    let write = || {
        let mut out = fs::File::create(&beside)?;
        out.write_all(&record)?;
        out.write_all(&checksum(&record).to_le_bytes())?;
        out.sync_all()?;
        fs::rename(&beside, file)
    };
    write().map_err(complain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::clock::{Stamp, Term};

    #[test]
    fn records_are_read_as_they_were_saved_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("node.records");
        assert_eq!(load(&file).unwrap(), None);
        for incarnation in 1..3 {
            let records = Records { incarnation, term: 17, stamp: Stamp(5) };
            save(&file, records).unwrap();
            assert_eq!(load(&file).unwrap(), Some(records));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut bytes = fs::read(&file).unwrap();
        bytes[3] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(load(&file).unwrap(), None);
    }

    #[test]
    fn a_line_of_json_has_its_time_and_its_numbers() {
        let report = Report::Following { leader: NodeId(4), term: Term { number: 3, by: NodeId(7) } };
        let expected = r#"{"at_us":5,"by":7,"event":"following","leader":4,"term":3}"#;
        assert_eq!(in_json(5, &report).to_string(), expected);
    }
}
