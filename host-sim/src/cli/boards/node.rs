//! `conclave node`: runs this desktop as one node of a real network, with boards or other desktops.

mod armed;
mod boot;
mod console;
mod json;
mod lists;
mod records_file;
mod uplink;

use super::key::{ChosenKey, KeyArgs};
use crate::base::algorithm_words::check_words;
use crate::boards::in_file;
use crate::mqtt::TcpDial;
use crate::pcap::{LinkType, Writer, sender};
use crate::swarm::WallClock;
use armed::Armed;
use boot::Origin;
use clap::{Args, ValueEnum};
pub(super) use console::as_text;
use console::{Beside, Nothing, Word};
use firmware::report::{Report, Status};
use firmware::storage::config_page::PORT_DEFAULT;
use lists::Lists;
use protocol::base::capacity::Capacity;
use protocol::base::membership::Group;
use protocol::base::quorum::Mode;
use protocol::base::time::earliest;
use protocol::election::Command;
use protocol::election::Election as _;
use protocol::election::appointment::Appointment;
use protocol::mutex::{Mutex, NoMutex};
use protocol::node::{Halt, Input, Notice};
use protocol::registry::{AnyElection, AnyMutex};
use protocol::service::clock_sync::ClockSync;
use protocol::service::requests::Requests;
use protocol::service::{Commit, NoService, Sequencer, Service};
use protocol::wire::{FRAME_MAX, Keyring};
use protocol::{Instant, Node, NodeId, Timing};
use records_file::{save, save_log};
use serde_json::Value;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fs, io};
use uplink::Uplink;

/// The most neighbours of the node: as many as any node can have.
const NEIGHBOURS_MAX: usize = 64;
/// The longest wait for a frame, so that an interrupt is noticed.
const TIMEOUT_MAX: Duration = Duration::from_millis(100);
/// The same, beside something that does things by itself.
const TIMEOUT_MAX_WATCHED: Duration = Duration::from_millis(5);
const TIMEOUT_MIN: Duration = Duration::from_micros(50);
const STATUS_PERIOD_US: u64 = 10_000_000;
/// A wired network does not measure link quality.
const QUALITY_UNKNOWN: u8 = u8::MAX;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct NodeArgs {
    /// The node's id, unique in its group.
    #[arg(long, value_parser = crate::cli::id)]
    id: u32,
    /// The election, with its options, as in a scenario: `bully:recovery=announce`.
    #[arg(long, value_name = "NAME", default_value = "wireless")]
    election: String,
    /// The ids of all members of its group, the same list at every one; without it, all in range elect. In mode quorum
    /// and with --records it is the list that the group began with: a leader changes it by `member add ID` and
    /// `member remove ID`.
    #[arg(long, value_name = "IDS", value_delimiter = ',', value_parser = crate::cli::id)]
    members: Vec<u32>,
    /// The node is on no list of members yet: it waits until a leader adds it. Needs --mode quorum and --records.
    #[arg(long, conflicts_with = "members")]
    join: bool,
    /// What its leader needs: nothing, or a lease of a majority of the members.
    #[arg(long, value_name = "MODE", default_value = "available", value_parser = mode)]
    mode: Mode,
    /// The lock, with its options; its names are typed, as `lock door`.
    #[arg(long, value_name = "NAME")]
    mutex: Option<String>,
    /// The service: the shared clock, the order of what members submit, or changes that all apply or none.
    #[arg(long, value_enum, conflicts_with = "mutex")]
    app: Option<AppArg>,
    /// The MQTT broker at which this node publishes what nodes submit, while it leads; without a port, it is 1883. Implies
    /// --app uplink. A node without a broker never leads.
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with = "mutex", value_parser = TcpDial::parse)]
    mqtt: Option<TcpDial>,
    /// What the topics of its group at the broker begin with.
    #[arg(long, value_name = "TOPIC", default_value = "conclave")]
    topic: String,
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
    /// The file for the node's records; the list of members is beside it. Without it, the node stays out of elections for
    /// a while after each boot.
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
  conclave node --id 1 --peer 10.255.255.255 --key-file barn.key --members 1,2,3 --election bully --mode quorum --mutex central
  conclave node --id 1 --peer 10.255.255.255 --key-file barn.key --members 1,2,3 --mode quorum --mqtt 10.0.0.9
  conclave node --id 0 --bind 127.0.0.1:4000 --peer 127.0.0.1:4001 --new --insecure
  conclave node --id 1 --bind 127.0.0.1:4001 --peer 127.0.0.1:4000 --new --insecure --capacity 9000
  conclave node --id 1 --peer 10.255.255.255 --key-file barn.key --members 1,2,3 --mode quorum --records 1.records --new
  conclave node --id 4 --peer 10.255.255.255 --key-file barn.key --join --mode quorum --records 4.records --new
What is typed: call, yield, appoint, release; member add 4, member remove 2, where the leader runs; lock NAME, within SECONDS NAME, try NAME, renew NAME, unlock NAME, cancel NAME;
submit TEXT; propose TEXT, yes, no";

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

/// A service by its word in a scenario.
#[derive(Clone, Copy, ValueEnum)]
enum AppArg {
    /// The shared clock.
    Clock,
    /// One order of all messages; needs mode quorum.
    Sequencer,
    /// Messages to an MQTT broker, by the leader.
    Uplink,
    /// Two-phase commit: the leader proposes, all vote. Its log is beside the records.
    Commit,
}

fn mode(name: &str) -> Result<Mode, String> {
    Mode::by_name(name).ok_or_else(|| format!("a mode is one of {}", Mode::NAMES.join(", ")))
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

impl NodeArgs {
    fn timing(&self) -> Timing {
        match self.timing {
            TimingArg::Lan => Timing::LAN,
            TimingArg::Radio => Timing::RADIO,
        }
    }
}

type DesktopNode<M, S> = Node<AnyElection, M, NEIGHBOURS_MAX, S, Option<Group>, Keyring>;

/// Runs until interrupted; returns 0 then, 1 if the node halted.
pub(super) fn run(args: &NodeArgs) -> super::Ended {
    run_node(args).map_err(|error| error.to_string())
}

fn run_node(args: &NodeArgs) -> io::Result<ExitCode> {
    check_words("election", &args.election, AnyElection::OPTIONS).map_err(io::Error::other)?;
    let app = if args.mqtt.is_some() { Some(AppArg::Uplink) } else { args.app };
    match (&args.mutex, app) {
        (Some(words), _) => {
            check_words("mutex", words, AnyMutex::OPTIONS).map_err(io::Error::other)?;
            let mutex = AnyMutex::by_name(words).ok_or_else(|| io::Error::other("there is no such mutex"))?;
            run_with(args, &mutex, &NoService, &mut Nothing)
        }
        (None, Some(AppArg::Clock)) => run_with(args, &NoMutex, &ClockSync::<NEIGHBOURS_MAX>::new(), &mut Nothing),
        (None, Some(AppArg::Sequencer)) => run_with(args, &NoMutex, &Sequencer::<NEIGHBOURS_MAX>::new(), &mut Nothing),
        (None, Some(AppArg::Commit)) => run_with(args, &NoMutex, &Commit::new(), &mut Nothing),
        (None, Some(AppArg::Uplink)) => {
            let election = AnyElection::by_name(&args.election);
            let scope = election.and_then(|election| election.horizon()).map(|_| NodeId(args.id));
            let uplink = Uplink::start(args.id, args.mqtt.as_ref(), &args.topic, scope);
            let requests: Requests = Requests::new();
            run_with(args, &NoMutex, &requests, &mut uplink.map_err(io::Error::other)?)
        }
        (None, None) => run_with(args, &NoMutex, &NoService, &mut Nothing),
    }
}

fn run_with<M: Mutex + Clone, S: Service + Clone, B: Beside<S>>(
    args: &NodeArgs,
    mutex: &M,
    service: &S,
    beside: &mut B,
) -> io::Result<ExitCode> {
    let key = args.key.choose().map_err(io::Error::other)?;
    let interrupted = super::interrupts()?;
    let failed = |error: io::Error| io::Error::other(format!("{}: {error}", args.bind));
    let socket = UdpSocket::bind(args.bind).map_err(failed)?;
    socket.set_broadcast(true)?;
    let create = |path: &PathBuf| Writer::new(fs::File::create(path)?, LinkType::Ethernet);
    let capture = args.pcap.as_ref().map(|path| create(path).map_err(|error| io::Error::other(in_file(path)(error))));
    let (capture, clock) = (capture.transpose()?, WallClock::start());
    let mut desktop = Desktop { args, key, socket, clock, capture, sent: 0, received: 0, send_failed: 0 };
    let timeout_max = if B::WATCHED { TIMEOUT_MAX_WATCHED } else { TIMEOUT_MAX };
    let mut lists = Lists::start(args, &desktop.key.keyring(), desktop.now())?;
    let stages = || (mutex.clone(), service.clone());
    let mut node = match lists {
        None => Some(desktop.boot(stages(), beside.is_fit_at_boot(), None, Origin::Stored)?),
        Some(_) => None, // its list says whether it is a member
    };
    let (typed, mut appointment) = (console::lines(), Appointment::default());
    let mut status_at = STATUS_PERIOD_US;
    let mut armed = Armed::default();
    // Longer than a frame, so that an oversized one is recognized.
    let mut buffer = [0; 2 * FRAME_MAX];
    while !interrupted.load(Ordering::Relaxed) {
        if let Some(lists) = &mut lists {
            let fit = beside.is_fit_at_boot();
            desktop.look_after_list(lists, &mut node, |desktop, list, origin| {
                desktop.boot(stages(), fit, Some(list), origin)
            })?;
        }
        let halted = node.as_mut().map_or(Ok(None), |node| desktop.flush(node, beside))?;
        match (halted, &lists) {
            (None, _) => {}
            (Some(Halt::Superseded), lists) => {
                let list = lists.as_ref().map(Lists::list);
                node = Some(desktop.boot(stages(), beside.is_fit_at_boot(), list, Origin::Stored)?); // as a board does
            }
            (Some(_), _) => return Ok(ExitCode::FAILURE),
        }
        if let Some(node) = &mut node
            && desktop.look_beside(node, appointment, beside)?
        {
            continue;
        }
        let deadline = earliest(node.as_ref().and_then(DesktopNode::deadline), beside.deadline());
        let deadline = earliest(deadline, lists.as_ref().and_then(Lists::deadline));
        if armed.is_due(desktop.clock.micros(), deadline) {
            let timeout = deadline.map_or(timeout_max, |at| desktop.clock.until(at.as_micros()));
            desktop.socket.set_read_timeout(Some(timeout.clamp(TIMEOUT_MIN, timeout_max)))?;
        }
        if let Ok(line) = typed.try_recv() {
            match (Word::read(&line, args.timing().lock_lease), &mut lists, &mut node) {
                (None, ..) => eprintln!("{line:?} is none of: {}", console::HELP),
                (Some(Word::Member(change)), Some(lists), node) => lists.change(desktop.now(), node.as_ref(), change),
                (Some(Word::Member(_)), None, _) => eprintln!("{}", lists::FIXED),
                (Some(word), _, Some(node)) => desktop.obey(node, &mut appointment, beside, word),
                (Some(_), _, None) => eprintln!("this node is no member: it waits until a leader adds it"),
            }
            continue;
        }
        // An error is a timeout, or an ICMP error for an earlier datagram.
        if let Ok((count, _)) = desktop.socket.recv_from(&mut buffer) {
            let bytes = &buffer[..count];
            desktop.received = desktop.received.saturating_add(1);
            if let Some(sender) = sender(bytes) {
                desktop.record(sender, bytes)?;
            }
            let taken = lists.as_mut().is_some_and(|lists| lists.takes(desktop.now(), bytes));
            if let Some(node) = node.as_mut().filter(|_| !taken) {
                node.handle(desktop.now(), Input::Frame { bytes, quality: QUALITY_UNKNOWN });
            }
        }
        if let Some(node) = &mut node
            && node.deadline().is_some_and(|deadline| deadline <= desktop.now())
        {
            node.handle(desktop.now(), Input::Timeout);
        }
        if desktop.clock.micros() >= status_at {
            status_at += STATUS_PERIOD_US;
            desktop.log(&Report::Status(desktop.status(node.as_ref())))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Desktop<'_> {
    fn now(&self) -> Instant {
        Instant::from_micros(self.clock.micros())
    }

    /// Lets what runs beside the node take a step; returns whether the node has something to send or to print.
    fn look_beside<M: Mutex, S: Service, B: Beside<S>>(
        &self,
        node: &mut DesktopNode<M, S>,
        appointment: Appointment,
        beside: &mut B,
    ) -> io::Result<bool> {
        let now = self.now();
        while let Some(line) = beside.poll_line(now) {
            self.say(line)?;
        }
        if let Some(fit) = beside.fitness(now) {
            let measured = fit.then_some(Capacity::new(self.args.capacity));
            node.handle(now, Input::Capacity(appointment.capacity(measured)));
        }
        let command = beside.poll_command(now, node.acting_term(now));
        let given = command.is_some();
        if let Some(command) = command {
            node.handle(now, Input::Service(command));
        }
        Ok(given)
    }

    /// Does what the user typed.
    fn obey<M: Mutex, S: Service, B: Beside<S>>(
        &self,
        node: &mut DesktopNode<M, S>,
        appointment: &mut Appointment,
        beside: &mut B,
        word: Word,
    ) {
        let now = self.now();
        match word {
            Word::Call => node.handle(now, Input::Election(Command::Call)),
            Word::Yield => node.handle(now, Input::Election(Command::Yield)),
            Word::Appoint | Word::Release => {
                appointment.set(word == Word::Appoint);
                let capacity = appointment.capacity(Some(Capacity::new(self.args.capacity)));
                node.handle(now, Input::Capacity(capacity));
                if word == Word::Appoint {
                    node.handle(now, Input::Election(Command::Call));
                }
            }
            Word::Lock(command) => node.handle(now, Input::Mutex(command)),
            Word::Service(word) => match beside.command(node.service(), &word) {
                Ok(Some(command)) => node.handle(now, Input::Service(command)),
                Ok(None) => {} // later
                Err(reason) => eprintln!("{reason}"),
            },
            Word::Member(_) => {} // its list takes it
        }
    }

    /// Writes a frame to the capture, if there is one.
    fn record(&mut self, sender: u32, frame: &[u8]) -> io::Result<()> {
        let at = self.clock.micros();
        self.capture.as_mut().map_or(Ok(()), |capture| capture.frame(at, sender, frame, None))
    }

    /// Stores, sends and logs until the node has no more output; returns why it halted, if it did.
    fn flush<M: Mutex, S: Service, B: Beside<S>>(
        &mut self,
        node: &mut DesktopNode<M, S>,
        beside: &mut B,
    ) -> io::Result<Option<Halt>> {
        let mut buffer = [0; FRAME_MAX];
        loop {
            if let Some(records) = node.poll_persist() {
                if let Some(file) = &self.args.records {
                    save(file, records)?;
                }
                self.log(&Report::Stored(records))?;
            } else if let Some(log) = node.poll_log(&mut buffer) {
                if let Some(file) = &self.args.records {
                    save_log(file, log)?;
                }
            } else if let Some(frame) = node.poll_transmit(self.now(), &mut buffer) {
                self.transmit(frame)?;
            } else {
                match node.poll_notice() {
                    Some(Notice::Role(notice)) => {
                        if let Some(report) = Report::from_notice(notice) {
                            self.log(&report)?;
                        }
                    }
                    Some(Notice::Reorganising { .. }) => {} // the leader that follows is logged
                    Some(Notice::Mutex(notice)) => self.say(console::lock_notice(notice))?,
                    Some(Notice::Service(notice)) => {
                        if let Some(line) = beside.on_notice(self.now(), notice) {
                            self.say(line)?;
                        }
                    }
                    Some(Notice::SameId) => self.log(&Report::SameId)?,
                    Some(Notice::Halted(halt)) => {
                        self.log(&Report::Stopped(&format!("{halt:?}")))?;
                        return Ok(Some(halt));
                    }
                    None => return Ok(None),
                }
            }
        }
    }

    /// Sends a frame to all peers.
    fn transmit(&mut self, frame: &[u8]) -> io::Result<()> {
        self.record(self.args.id, frame)?;
        let accepted = self.args.peer.iter().filter(|&&peer| self.socket.send_to(frame, peer).is_ok()).count();
        let counter = if accepted > 0 { &mut self.sent } else { &mut self.send_failed };
        *counter = counter.saturating_add(1);
        Ok(())
    }

    fn status<M: Mutex, S: Service>(&self, node: Option<&DesktopNode<M, S>>) -> Status {
        let neighbours = node.map_or(0, |node| node.neighbours().count());
        Status {
            neighbours: u32::try_from(neighbours).unwrap_or(u32::MAX),
            sent: self.sent,
            received: self.received,
            send_failed: self.send_failed,
            dropped: node.map_or_else(Default::default, |node| *node.counters()),
            writes: node.map_or(0, |node| node.writes().into()),
            insecure: self.key.public,
            ..Status::default()
        }
    }

    /// Prints a notice of the lock or the service.
    fn say(&self, mut notice: Value) -> io::Result<()> {
        let (mut out, at) = (io::stdout().lock(), self.clock.micros());
        if self.args.json {
            notice["at_us"] = at.into();
            writeln!(out, "{notice}")?;
        } else {
            writeln!(out, "{}.{:06} {}", at / 1_000_000, at % 1_000_000, console::as_text(&notice))?;
        }
        out.flush()
    }

    /// Prints a line; a closed pipe ends the node.
    fn log(&self, report: &Report<'_>) -> io::Result<()> {
        let (mut out, at) = (io::stdout().lock(), self.clock.micros());
        if self.args.json {
            writeln!(out, "{}", json::line(at, report))?;
        } else {
            writeln!(out, "{}.{:06} {report}", at / 1_000_000, at % 1_000_000)?;
        }
        out.flush()
    }
}
