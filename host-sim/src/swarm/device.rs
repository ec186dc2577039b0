//! What a node of the swarm runs on: an emulated board, or a process of this desktop.

use super::child::Owned;
use super::emulator::{Emulator, Launching};
use super::hub::free_port;
use super::image::Image;
use super::mail::{Complaints, Mail, Writer, follow_lines};
use super::{Group, envelope};
use crate::scenario::PauseClock;
use firmware::page::{Page, Secret, options};
use protocol::Timing;
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::Sender;

/// How often a board reports what it counted, in milliseconds.
const STATUS_PERIOD_MS: u32 = 1_000;

/// What a node runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An emulated board.
    Board,
    /// A process of this desktop.
    Desktop,
}

/// What makes a node this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) node: u32,
    pub(super) capacity: u16,
    pub(super) may_lead: bool,
    pub(super) seed: u64,
    /// Whether its records, if it has none, are lost, and not just yet to be written.
    pub(super) blank: bool,
}

/// What every device of a swarm needs.
pub(super) struct Bench<'a> {
    pub(super) image: &'a Image,
    pub(super) desktop: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) hub: SocketAddr,
    pub(super) group: &'a Group,
    pub(super) post: Sender<Mail>,
}

/// A device that is coming up.
pub(super) enum Coming {
    Board(Launching),
    Desktop(Desktop),
}

/// A device.
pub(super) enum Device {
    Board(Emulator),
    Desktop(Desktop),
}

/// A desktop node: its process runs while its power is on.
pub(super) struct Desktop {
    command: Command,
    address: SocketAddr,
    running: Option<Owned>,
    writer: Writer,
    post: Sender<Mail>,
}

impl Coming {
    /// Brings up a device that is switched off.
    pub(super) fn start(kind: Kind, bench: &Bench<'_>, identity: &Identity, process: u32) -> io::Result<Self> {
        let writer = Writer { node: identity.node, process };
        Ok(match kind {
            Kind::Board => {
                let page = page(bench.group, identity);
                let post = bench.post.clone();
                Self::Board(Launching::start(bench.image, &page, bench.folder, bench.hub, writer, post)?)
            }
            Kind::Desktop => Self::Desktop(Desktop::new(bench, identity, writer)?),
        })
    }

    /// Waits until it can be switched on.
    pub(super) fn ready(self) -> io::Result<Device> {
        Ok(match self {
            Self::Board(launching) => Device::Board(launching.ready()?),
            Self::Desktop(desktop) => Device::Desktop(desktop),
        })
    }
}

/// The config page of a board.
fn page(group: &Group, identity: &Identity) -> Page {
    let mut bits = 0;
    for (option, on) in [
        (options::FACTORY, !identity.blank),
        (options::NEVER_LEADS, !identity.may_lead),
        (options::LAN, group.timing == Timing::LAN),
    ] {
        bits |= if on { option } else { 0 };
    }
    Page {
        id: identity.node,
        capacity: u32::from(identity.capacity),
        options: bits | group.board_options,
        port: envelope::PORT,
        period_ms: STATUS_PERIOD_MS,
        seed: identity.seed,
        key: Secret(group.key_bytes()),
        hops: group.hops,
        channel: 0,
        pan: 0,
        members: group.members,
    }
}

impl Desktop {
    fn new(bench: &Bench<'_>, identity: &Identity, writer: Writer) -> io::Result<Self> {
        let address = free_port()?;
        let records = bench.folder.join(format!("{}.records", identity.node));
        if identity.blank {
            let _ = std::fs::remove_file(&records); // where there is none, none is lost
        }
        let mut command = Command::new(bench.desktop);
        command.arg("node");
        let id = identity.node.to_string();
        let (capacity, hops) = (identity.capacity.to_string(), bench.group.hops.to_string());
        let (bind, peer) = (address.to_string(), bench.hub.to_string());
        let timing = if bench.group.timing == Timing::LAN { "lan" } else { "radio" };
        command.args(["--id", &id, "--capacity", &capacity, "--bind", &bind, "--peer", &peer]);
        command.args(["--hops", &hops, "--timing", timing, "--group", &bench.group.name]);
        command.arg("--records").arg(&records);
        if !identity.blank {
            command.arg("--new");
        }
        if !identity.may_lead {
            command.arg("--never-leads");
        }
        Ok(Self { command, address, running: None, writer, post: bench.post.clone() })
    }

    fn start(&mut self) -> io::Result<()> {
        let mut process = Owned::start(&mut self.command)?;
        if let Some(lines) = process.take_stdout() {
            follow_lines(lines, self.writer, self.post.clone());
        }
        let _ = process.take_stderr().map(Complaints::follow);
        self.running = Some(process);
        Ok(())
    }
}

impl Device {
    /// Where its datagrams come from and go to.
    pub(super) fn address(&self) -> SocketAddr {
        match self {
            Self::Board(emulator) => emulator.address(),
            Self::Desktop(desktop) => desktop.address,
        }
    }

    /// A datagram that makes it hear a frame.
    pub(super) fn datagram(&self, frame: &[u8]) -> Vec<u8> {
        match self {
            Self::Board(_) => envelope::wrap(frame),
            Self::Desktop(_) => frame.to_vec(),
        }
    }

    /// The frame in a datagram of its.
    pub(super) fn frame<'a>(&self, datagram: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Board(_) => envelope::unwrap(datagram),
            Self::Desktop(_) => Some(datagram),
        }
    }

    /// Switches it on for the first time.
    pub(super) fn switch_on(&mut self) -> io::Result<()> {
        match self {
            Self::Board(emulator) => emulator.go_on(),
            Self::Desktop(desktop) => desktop.start(),
        }
    }

    /// Cuts its power. What it stored stays.
    pub(super) fn switch_off(&mut self) -> io::Result<()> {
        match self {
            Self::Board(emulator) => emulator.stop(),
            Self::Desktop(desktop) => {
                desktop.running = None;
                Ok(())
            }
        }
    }

    /// Switches it on again, with what it stored.
    pub(super) fn switch_on_again(&mut self) -> io::Result<()> {
        match self {
            Self::Board(emulator) => emulator.reset().and_then(|()| emulator.go_on()),
            Self::Desktop(desktop) => desktop.start(),
        }
    }

    /// Whether its process has ended, though nobody ended it.
    pub(super) fn has_ended(&mut self) -> bool {
        match self {
            Self::Board(emulator) => emulator.has_ended(),
            Self::Desktop(desktop) => desktop.running.as_mut().is_some_and(Owned::has_ended),
        }
    }

    /// Holds its processor, or lets it go on.
    pub(super) fn hold(&mut self, held: bool, clock: PauseClock) -> io::Result<()> {
        match (self, clock, held) {
            (Self::Board(emulator), PauseClock::Stops, true) => emulator.stop(),
            (Self::Board(emulator), PauseClock::Stops, false) => emulator.go_on(),
            (Self::Board(emulator), PauseClock::Runs, held) => emulator.hold(held),
            (Self::Desktop(desktop), _, held) => desktop.running.as_ref().map_or(Ok(()), |process| process.hold(held)),
        }
    }
}
