//! `conclave node`: runs this desktop as one node of a real network, with boards or other desktops.

use super::key::{ChosenKey, KeyArgs};
use crate::boards::in_file;
use crate::pcap::{LinkType, Writer, sender};
use crate::swarm::WallClock;
use clap::{Args, ValueEnum};
use firmware::report::{RecordsAtBoot, Report, Status};
use firmware::storage::config_page::PORT_DEFAULT;
use firmware::storage::crc::checksum;
use protocol::base::capacity::Capacity;
use protocol::base::membership::NoGroup;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::election::Wireless;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Notice, Stages};
use protocol::service::NoService;
use protocol::wire::{FRAME_MAX, Keyring};
use protocol::{Config, Instant, Node, NodeId, Timing};
use serde_json::{Value, json};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fs, io};

/// The most neighbours of the node: as many as any node can have.
const NEIGHBOURS_MAX: usize = 64;
/// The longest wait for a frame, so that an interrupt is noticed.
const TIMEOUT_MAX: Duration = Duration::from_millis(100);
const TIMEOUT_MIN: Duration = Duration::from_micros(50);
const STATUS_PERIOD_US: u64 = 10_000_000;
/// A wired network does not measure link quality.
const QUALITY_UNKNOWN: u8 = u8::MAX;

#[derive(Args)]
pub(crate) struct NodeArgs {
    /// The node's id, unique in its group.
    #[arg(long)]
    id: u32,
    /// Its capacity to lead, from 0 to 10000.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    capacity: u16,
    /// The address to listen at.
    #[arg(long, value_name = "ADDR", default_value_t = SocketAddr::from(([0, 0, 0, 0], PORT_DEFAULT)))]
    bind: SocketAddr,
    /// Where to send every frame: another node by its name or address, or a broadcast address. May be repeated. Without
    /// a port, it is that of the boards.
    #[arg(long, value_name = "HOST[:PORT]", required = true, value_parser = address)]
    peer: Vec<SocketAddr>,
    #[command(flatten)]
    key: KeyArgs,
    /// The timing of the group, the same for all of its nodes.
    #[arg(long, value_enum, default_value_t = TimingArg::Lan)]
    timing: TimingArg,
    /// The hop limit of reliable messages.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    hops: u8,
    /// The file for the node's records. Without it, the node stays out of elections for a while after each boot.
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// The node has never run: missing records are not lost ones, and it takes part in elections at once. Damaged records
    /// always are.
    #[arg(long)]
    new: bool,
    /// The node never leads.
    #[arg(long)]
    never_leads: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    /// Write the frames sent and received to a file that Wireshark opens; see `conclave dissector`.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave node --id 1 --peer 10.255.255.255 --key-file barn.key  with boards on an Ethernet, which broadcast
  conclave node --id 1 --peer desk.local --key-file barn.key --new  with another desktop
  conclave node --id 0 --bind 127.0.0.1:4000 --peer 127.0.0.1:4001 --new --insecure
  conclave node --id 1 --bind 127.0.0.1:4001 --peer 127.0.0.1:4000 --new --insecure --capacity 9000";

/// Finds the address of a node by its name; IPv4, as boards have, comes first.
fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().or_else(|_| (text, PORT_DEFAULT).to_socket_addrs());
    let found: Vec<_> = found.map_err(|error| format!("no address is known: {error}"))?.collect();
    found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first())
        .copied()
        .ok_or_else(|| "no address is known".to_owned())
}

#[derive(Clone, Copy, ValueEnum)]
enum TimingArg {
    /// A fast wired network.
    Lan,
    /// A slow radio.
    Radio,
}

struct Desktop<'a> {
    args: &'a NodeArgs,
    key: ChosenKey,
    socket: UdpSocket,
    clock: WallClock,
    capture: Option<Writer<fs::File>>,
    sent: u32,
    received: u32,
    send_failed: u32,
}

type DesktopNode = Node<Wireless, NoMutex, NEIGHBOURS_MAX, NoService, NoGroup, Keyring>;

/// Runs until interrupted; returns 0 then, 1 if the node halted.
pub(super) fn run(args: &NodeArgs) -> super::Ended {
    run_node(args).map_err(|error| error.to_string())
}

fn run_node(args: &NodeArgs) -> io::Result<ExitCode> {
    let key = args.key.choose().map_err(io::Error::other)?;
    let interrupted = super::interrupts()?;
    let failed = |error: io::Error| io::Error::other(format!("{}: {error}", args.bind));
    let socket = UdpSocket::bind(args.bind).map_err(failed)?;
    socket.set_broadcast(true)?;
    let create = |path: &PathBuf| Writer::new(fs::File::create(path)?, LinkType::Ethernet);
    let capture = args.pcap.as_ref().map(|path| create(path).map_err(|error| io::Error::other(in_file(path)(error))));
    let (capture, clock) = (capture.transpose()?, WallClock::start());
    let mut desktop = Desktop { args, key, socket, clock, capture, sent: 0, received: 0, send_failed: 0 };
    let mut node = desktop.boot()?;
    node.handle(desktop.now(), Input::Capacity(Some(Capacity::new(args.capacity))));
    let mut status_at = STATUS_PERIOD_US;
    // Longer than a frame, so that an oversized one is recognized.
    let mut buffer = [0; 2 * FRAME_MAX];
    while !interrupted.load(Ordering::Relaxed) {
        if desktop.flush(&mut node)? {
            return Ok(ExitCode::FAILURE);
        }
        let timeout = node.deadline().map_or(TIMEOUT_MAX, |at| desktop.clock.until(at.as_micros()));
        desktop.socket.set_read_timeout(Some(timeout.clamp(TIMEOUT_MIN, TIMEOUT_MAX)))?;
        // An error is a timeout, or an ICMP error for an earlier datagram.
        if let Ok((count, _)) = desktop.socket.recv_from(&mut buffer) {
            desktop.received = desktop.received.saturating_add(1);
            if let Some(sender) = sender(&buffer[..count]) {
                desktop.record(sender, &buffer[..count])?;
            }
            node.handle(desktop.now(), Input::Frame { bytes: &buffer[..count], quality: QUALITY_UNKNOWN });
        }
        if node.deadline().is_some_and(|deadline| deadline <= desktop.now()) {
            node.handle(desktop.now(), Input::Timeout);
        }
        if desktop.clock.micros() >= status_at {
            status_at += STATUS_PERIOD_US;
            desktop.log(&Report::Status(desktop.status(&node)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Desktop<'_> {
    fn now(&self) -> Instant {
        Instant::from_micros(self.clock.micros())
    }

    fn boot(&self) -> io::Result<DesktopNode> {
        let args = self.args;
        let stored = args.records.as_deref().map_or(Ok(Stored::Nothing), load)?;
        let unknown = stored == Stored::Nothing && !args.new;
        let (at_boot, records) = stored.at_boot(args.new);
        let config = Config {
            me: NodeId(args.id),
            key: self.key.keyring(),
            hops: args.hops,
            may_lead: !args.never_leads,
            mode: Mode::Available,
            timing: match args.timing {
                TimingArg::Lan => Timing::LAN,
                TimingArg::Radio => Timing::RADIO,
            },
        };
        self.log(&Report::Starting { node: config.me, capacity: args.capacity, records: at_boot })?;
        if unknown {
            eprintln!("without records this node stays out of elections for a while; --new says that it has never run");
        }
        // The standard library's source of a number that differs in every process.
        let seed = RandomState::new().hash_one(args.id);
        let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
        let node = Node::new(config, &NoGroup, Boot { records, seed }, self.now(), stages);
        node.map_err(|error| io::Error::other(error.to_string()))
    }

    /// Writes a frame to the capture, if there is one.
    fn record(&mut self, sender: u32, frame: &[u8]) -> io::Result<()> {
        let at = self.clock.micros();
        self.capture.as_mut().map_or(Ok(()), |capture| capture.frame(at, sender, frame, None))
    }

    /// Stores, sends and logs until the node has no more output; returns whether it halted.
    fn flush(&mut self, node: &mut DesktopNode) -> io::Result<bool> {
        let mut buffer = [0; FRAME_MAX];
        loop {
            if let Some(records) = node.poll_persist() {
                if let Some(file) = &self.args.records {
                    save(file, records)?;
                }
                self.log(&Report::Stored(records))?;
            } else if let Some(frame) = node.poll_transmit(self.now(), &mut buffer) {
                self.record(self.args.id, frame)?;
                let accepted = self.args.peer.iter().filter(|&&peer| self.socket.send_to(frame, peer).is_ok()).count();
                let counter = if accepted > 0 { &mut self.sent } else { &mut self.send_failed };
                *counter = counter.saturating_add(1);
            } else {
                match node.poll_notice() {
                    Some(Notice::Role(notice)) => {
                        if let Some(report) = Report::from_notice(notice) {
                            self.log(&report)?;
                        }
                    }
                    Some(Notice::Mutex(_)) => {} // the node has no locks
                    Some(Notice::Halted(halt)) => {
                        self.log(&Report::Stopped(&format!("{halt:?}")))?;
                        return Ok(true);
                    }
                    None => return Ok(false),
                }
            }
        }
    }

    fn status(&self, node: &DesktopNode) -> Status {
        Status {
            neighbours: u32::try_from(node.neighbours().count()).unwrap_or(u32::MAX),
            sent: self.sent,
            received: self.received,
            send_failed: self.send_failed,
            dropped: *node.counters(),
            insecure: self.key.public,
            ..Status::default()
        }
    }

    /// Prints a line; a closed pipe ends the node.
    fn log(&self, report: &Report<'_>) -> io::Result<()> {
        let (mut out, at) = (io::stdout().lock(), self.clock.micros());
        if self.args.json {
            writeln!(out, "{}", to_json(at, report))?;
        } else {
            writeln!(out, "{}.{:06} {report}", at / 1_000_000, at % 1_000_000)?;
        }
        out.flush()
    }
}

fn to_json(at: u64, report: &Report<'_>) -> Value {
    let mut object = match *report {
        Report::Starting { node, capacity, records } => {
            json!({ "event": "starting", "node": node.0, "capacity": capacity, "records": records.name() })
        }
        Report::Stored(Records { incarnation, term, lamport }) => {
            json!({ "event": "stored", "incarnation": incarnation, "term": term, "lamport": lamport.0 })
        }
        Report::Leading { term } => json!({ "event": "leading", "term": term.number, "by": term.by.0 }),
        Report::Following { leader, term } => {
            json!({ "event": "following", "leader": leader.0, "term": term.number, "by": term.by.0 })
        }
        Report::Losing => json!({ "event": "losing" }),
        Report::Leaderless => json!({ "event": "leaderless" }),
        Report::Degraded => json!({ "event": "degraded" }),
        Report::Status(Status { neighbours, sent, received, send_failed, insecure, .. }) => {
            json!({
                "event": "status", "neighbours": neighbours, "sent": sent, "received": received,
                "send_failed": send_failed, "insecure": insecure
            })
        }
        Report::Stopped(reason) => json!({ "event": "stopped", "reason": reason }),
    };
    object["at_us"] = at.into();
    object
}

/// What a file of records holds.
#[derive(Debug, PartialEq)]
enum Stored {
    Intact(Records),
    /// There is no file.
    Nothing,
    /// There is a file: the node has run, whatever its command line says.
    Damaged,
}

impl Stored {
    /// Returns the records to boot with; `new` says that the node has never run.
    fn at_boot(self, new: bool) -> (RecordsAtBoot, Option<Records>) {
        match self {
            Self::Intact(records) => (RecordsAtBoot::Kept, Some(records)),
            Self::Nothing if new => (RecordsAtBoot::New, Some(Records::FACTORY)),
            Self::Nothing | Self::Damaged => (RecordsAtBoot::Lost, None),
        }
    }
}

/// Reads records. A file that cannot be read is an error, and stays as it is.
fn load(file: &Path) -> io::Result<Stored> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::Nothing),
        Err(error) => return Err(io::Error::other(in_file(file)(error))),
    };
    let intact = bytes.split_last_chunk().filter(|(record, sum)| checksum(record).to_le_bytes() == **sum);
    let record = intact.and_then(|(record, _)| record.try_into().ok());
    Ok(record.map_or(Stored::Damaged, |record| Stored::Intact(Records::from_bytes(record))))
}

/// Writes records atomically: after a crash the file holds the old or the new ones.
fn save(file: &Path, records: Records) -> io::Result<()> {
    let record = records.to_bytes();
    let new = file.with_extension("new");
    let write = || {
        let mut out = fs::File::create(&new)?;
        out.write_all(&record)?;
        out.write_all(&checksum(&record).to_le_bytes())?;
        out.sync_all()?;
        fs::rename(&new, file)?;
        sync_folder(file)
    };
    write().map_err(|error: io::Error| io::Error::other(in_file(file)(error)))
}

/// Makes the name of a new file survive a loss of power: it is stored in the folder.
#[cfg(unix)]
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Does nothing: elsewhere a folder cannot be synchronized.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::base::lamport::LamportTime;
    use protocol::base::term::Term;

    #[test]
    fn records_are_read_as_they_were_saved_and_damage_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("node.records");
        assert_eq!(load(&file).unwrap(), Stored::Nothing);
        for incarnation in 1..3 {
            let records = Records { incarnation, term: 17, lamport: LamportTime(5) };
            save(&file, records).unwrap();
            assert_eq!(load(&file).unwrap(), Stored::Intact(records));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut bytes = fs::read(&file).unwrap();
        bytes[3] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(load(&file).unwrap(), Stored::Damaged);
        fs::write(&file, []).unwrap();
        assert_eq!(load(&file).unwrap(), Stored::Damaged);
    }

    #[test]
    fn a_node_whose_records_are_damaged_is_not_new() {
        let at_boot = |stored: Stored, new| stored.at_boot(new).0;
        assert_eq!([true, false].map(|new| at_boot(Stored::Damaged, new)), [RecordsAtBoot::Lost; 2]);
        let missing = [true, false].map(|new| at_boot(Stored::Nothing, new));
        assert_eq!(missing, [RecordsAtBoot::New, RecordsAtBoot::Lost]);
        assert_eq!(at_boot(Stored::Intact(Records::FACTORY), true), RecordsAtBoot::Kept);
    }

    #[test]
    fn records_that_cannot_be_read_or_stored_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(load(folder.path()).unwrap_err().to_string().contains(&folder.path().display().to_string()));
        assert!(save(&folder.path().join("no/folder"), Records::FACTORY).is_err());
        assert!(sync_folder(Path::new("in-this-folder")).is_ok());
    }

    #[test]
    fn a_json_line_has_its_time_and_its_fields() {
        let report = Report::Following { leader: NodeId(4), term: Term { number: 3, by: NodeId(7) } };
        let expected = r#"{"at_us":5,"by":7,"event":"following","leader":4,"term":3}"#;
        assert_eq!(to_json(5, &report).to_string(), expected);
    }
}
