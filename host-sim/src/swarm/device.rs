//! Devices of a swarm: emulated boards, and processes of this desktop.

use super::child::ChildProcess;
use super::emulator::{Emulator, StartingEmulator};
use super::hub::{Hub, free_port};
use super::image::Image;
use super::inbox::{InboxMessage, InboxSender, read_lines};
use crate::base::ethernet;
use crate::boards::option_bits;
use crate::scenario::Scenario;
use crate::sim::fault_plan::PauseClock;
use firmware::storage::config_page::{ConfigPage, Secret, options};
use protocol::base::quorum::Mode;
use protocol::wire::{Cipher, Key};
use protocol::{NodeId, Timing};
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::Sender;
use tempfile::TempDir;

/// How often a board logs its counters, in milliseconds.
const STATUS_PERIOD_MS: u32 = 1_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Board,
    Desktop,
}

/// The settings that the nodes of one network share.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Its name, from which the key is derived.
    pub(super) name: String,
    /// The hop limit of reliable messages.
    pub(super) hops: u8,
    /// The number of members; 0 if no algorithm needs a group.
    pub(super) members: u8,
    pub(super) timing: Timing,
    /// Further option bits of the boards' config pages.
    pub(super) board_options: u32,
    /// The port of the broker on this machine, if the boards have one.
    pub(super) broker: Option<u16>,
}

impl Group {
    pub(super) fn of(scenario: &Scenario, board_options: u32, broker: Option<u16>) -> Self {
        let members = if scenario.is_group() { scenario.world.nodes } else { 0 };
        let quorum = if scenario.world.mode == Mode::Quorum { options::QUORUM } else { 0 };
        Self {
            name: scenario.name.clone(),
            hops: scenario.hops,
            members: u8::try_from(members).unwrap_or(u8::MAX),
            timing: scenario.timing,
            board_options: board_options | quorum,
            broker,
        }
    }

    /// Returns the key that frames are sealed with.
    pub(super) fn key(&self) -> Key {
        let key = Key::new(Secret::of_group(&self.name).0);
        let members: Vec<NodeId> = (0..u32::from(self.members)).map(NodeId).collect();
        if members.is_empty() { key } else { key.for_group(&members) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) node: u32,
    pub(super) kind: Kind,
    pub(super) capacity: u16,
    pub(super) may_lead: bool,
    pub(super) seed: u64,
    /// Whether missing records count as lost.
    pub(super) blank: bool,
}

/// The settings that all devices of a swarm share.
pub(super) struct DeviceContext {
    pub(super) image: Option<Image>,
    pub(super) desktop: PathBuf,
    pub(super) group: Group,
    pub(super) hub: Hub,
    pub(super) inbox: Sender<InboxMessage>,
    pub(super) folder: TempDir,
}

pub(super) enum StartingDevice {
    Board(StartingEmulator),
    Desktop(Desktop),
}

pub(super) enum Device {
    Board(Emulator),
    Desktop(Desktop),
}

/// A desktop node; its process runs while its power is on.
pub(super) struct Desktop {
    command: Command,
    address: SocketAddr,
    running: Option<ChildProcess>,
    sender: InboxSender,
    inbox: Sender<InboxMessage>,
}

impl StartingDevice {
    /// Starts a device, switched off.
    pub(super) fn start(context: &DeviceContext, identity: &Identity, process: u32) -> io::Result<Self> {
        let sender = InboxSender { node: identity.node, process };
        Ok(match identity.kind {
            Kind::Board => Self::Board(StartingEmulator::start(context, &page(&context.group, identity), sender)?),
            Kind::Desktop => Self::Desktop(Desktop::new(context, identity, sender)?),
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

fn page(group: &Group, identity: &Identity) -> ConfigPage {
    let bits = option_bits(&[
        (options::FACTORY, !identity.blank),
        (options::NEVER_LEADS, !identity.may_lead),
        (options::LAN, group.timing == Timing::LAN),
    ]);
    ConfigPage {
        id: identity.node,
        capacity: u32::from(identity.capacity),
        options: bits | group.board_options,
        port: ethernet::PORT,
        period_ms: STATUS_PERIOD_MS,
        seed: identity.seed,
        key: Secret::of_group(&group.name),
        hops: group.hops,
        channel: 0,
        pan: 0,
        members: group.members,
        key_number: 0,
        capacity_max: 0,
        previous_key: Secret::NONE,
    }
}

impl Desktop {
    fn new(context: &DeviceContext, identity: &Identity, sender: InboxSender) -> io::Result<Self> {
        let address = free_port()?;
        let records = context.folder.path().join(format!("{}.records", identity.node));
        if identity.blank {
            let _ = std::fs::remove_file(&records); // there may be none
        }
        let mut command = Command::new(&context.desktop);
        command.arg("node");
        let id = identity.node.to_string();
        let (capacity, hops) = (identity.capacity.to_string(), context.group.hops.to_string());
        let (bind, peer) = (address.to_string(), context.hub.address()?.to_string());
        let timing = if context.group.timing == Timing::LAN { "lan" } else { "radio" };
        command.args(["--id", &id, "--capacity", &capacity, "--bind", &bind, "--peer", &peer]);
        command.args(["--hops", &hops, "--timing", timing]);
        let key = u128::from_be_bytes(Key::from_name(&context.group.name).bytes());
        command.env("CONCLAVE_KEY", format!("{key:032x}"));
        command.arg("--records").arg(&records);
        if !identity.blank {
            command.arg("--new");
        }
        if !identity.may_lead {
            command.arg("--never-leads");
        }
        Ok(Self { command, address, running: None, sender, inbox: context.inbox.clone() })
    }

    fn start(&mut self) -> io::Result<()> {
        let (process, lines, _) = ChildProcess::start(&mut self.command)?;
        read_lines(lines, self.sender, self.inbox.clone());
        self.running = Some(process);
        Ok(())
    }
}

impl Device {
    pub(super) fn address(&self) -> SocketAddr {
        match self {
            Self::Board(emulator) => emulator.address,
            Self::Desktop(desktop) => desktop.address,
        }
    }

    /// Returns the datagram that delivers a frame to it.
    pub(super) fn datagram(&self, frame: &[u8]) -> Vec<u8> {
        match self {
            Self::Board(_) => ethernet::encapsulate(frame),
            Self::Desktop(_) => frame.to_vec(),
        }
    }

    /// Returns the frame in a datagram from it.
    pub(super) fn frame<'a>(&self, datagram: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Board(_) => ethernet::decapsulate(datagram),
            Self::Desktop(_) => Some(datagram),
        }
    }

    /// Switches it on for the first time.
    pub(super) fn switch_on(&mut self) -> io::Result<()> {
        match self {
            Self::Board(emulator) => emulator.resume(),
            Self::Desktop(desktop) => desktop.start(),
        }
    }

    /// Switches it off. Its records stay.
    pub(super) fn switch_off(&mut self) -> io::Result<()> {
        match self {
            Self::Board(emulator) => emulator.stop(),
            Self::Desktop(desktop) => {
                desktop.running = None;
                Ok(())
            }
        }
    }

    /// Switches it on again, with its records.
    pub(super) fn switch_on_again(&mut self) -> io::Result<()> {
        match self {
            Self::Board(emulator) => emulator.reset().and_then(|()| emulator.resume()),
            Self::Desktop(desktop) => desktop.start(),
        }
    }

    pub(super) fn has_ended(&mut self) -> bool {
        match self {
            Self::Board(emulator) => emulator.has_ended(),
            Self::Desktop(desktop) => desktop.running.as_mut().is_some_and(ChildProcess::has_ended),
        }
    }

    /// Holds or resumes its processor.
    pub(super) fn set_held(&mut self, held: bool, clock: PauseClock) -> io::Result<()> {
        match (self, clock, held) {
            (Self::Board(emulator), PauseClock::Stops, true) => emulator.stop(),
            (Self::Board(emulator), PauseClock::Stops, false) => emulator.resume(),
            (Self::Board(emulator), PauseClock::Runs, held) => emulator.set_held(held),
            (Self::Desktop(desktop), _, held) => {
                desktop.running.as_ref().map_or(Ok(()), |process| process.set_stopped(held))
            }
        }
    }
}
