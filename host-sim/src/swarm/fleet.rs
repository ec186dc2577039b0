//! All devices of a swarm, their logs, and the inbox that their output arrives in.

use super::board_log::{BoardLog, Entry};
use super::device::{Device, DeviceContext, Group, Identity, Kind, StartingDevice};
use super::hub::Hub;
use super::image::Image;
use super::inbox::{InboxMessage, InboxSender};
use super::{SwarmError, WallClock};
use crate::base::Micros;
use crate::sim::fault_plan::PauseClock;
use protocol::NodeId;
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often starting a device is tried: another program may take its port in the meantime.
const TRIES: usize = 3;

/// All devices. They end on drop, and so do their files.
pub struct Fleet(RefCell<Inner>);

struct Inner {
    nodes: Vec<Node>,
    inbox: Receiver<InboxMessage>,
    factory: DeviceFactory,
    clock: WallClock,
    error: Option<SwarmError>,
}

struct DeviceFactory {
    context: DeviceContext,
    processes: u32,
}

struct Node {
    identity: Identity,
    device: Device,
    process: u32,
    /// Whether it was ever switched on.
    used: bool,
    held: Option<PauseClock>,
    log: BoardLog,
}

impl Node {
    fn release(&mut self) -> io::Result<()> {
        self.held.take().map_or(Ok(()), |clock| self.device.set_held(false, clock))
    }
}

impl DeviceFactory {
    fn start(&mut self, identity: &Identity) -> io::Result<(StartingDevice, u32)> {
        self.processes += 1;
        Ok((StartingDevice::start(&self.context, identity, self.processes)?, self.processes))
    }

    /// Waits until a device is ready; if it fails, starts it again some times.
    fn ready(&mut self, identity: &Identity, first: io::Result<(StartingDevice, u32)>) -> io::Result<(Device, u32)> {
        let ready = |(starting, process): (StartingDevice, u32)| Ok((starting.ready()?, process));
        (1..TRIES).fold(first.and_then(ready), |up, _| up.or_else(|_| self.start(identity).and_then(ready)))
    }
}

impl Fleet {
    pub(super) fn new(image: Option<Image>, desktop: PathBuf, group: Group) -> io::Result<Self> {
        let (sender, inbox) = channel();
        let folder = tempfile::Builder::new().prefix("conclave-").tempdir()?;
        let hub = Hub::open(sender.clone())?;
        let context = DeviceContext { image, desktop, group, hub, inbox: sender, folder };
        let factory = DeviceFactory { context, processes: 0 };
        let inner = Inner { nodes: Vec::new(), inbox, factory, clock: WallClock::start(), error: None };
        Ok(Self(RefCell::new(inner)))
    }

    /// Starts devices for these nodes, switched off. They are numbered from 0.
    pub(super) fn install(&self, nodes: &[Identity]) -> Result<(), SwarmError> {
        let inner = &mut *self.0.borrow_mut();
        let starting: Vec<_> = nodes.iter().map(|identity| inner.factory.start(identity)).collect();
        for (&identity, starting) in nodes.iter().zip(starting) {
            let (device, process) = inner.factory.ready(&identity, starting).map_err(SwarmError::Device)?;
            let log = BoardLog::default();
            inner.nodes.push(Node { identity, device, process, used: false, held: None, log });
        }
        inner.clock = WallClock::start();
        Ok(())
    }

    pub(super) fn clock(&self) -> WallClock {
        self.0.borrow().clock
    }

    pub(super) fn group(&self) -> Group {
        self.0.borrow().factory.context.group.clone()
    }

    /// Waits for output of the devices, at most this long, and dispatches it.
    pub(super) fn poll_inbox(&self, timeout: Duration) {
        let inner = &mut *self.0.borrow_mut();
        match inner.inbox.recv_timeout(timeout) {
            Ok(message) => inner.dispatch(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(message) = inner.inbox.try_recv() {
            inner.dispatch(message);
        }
    }

    /// Returns the first error of a device, if there was one.
    pub(super) fn take_error(&self) -> Option<SwarmError> {
        self.0.borrow_mut().error.take()
    }

    /// Switches a node on: for the first time, with its records, or without.
    pub(super) fn switch_on(&self, id: u32, blank: bool, seed: u64) {
        let inner = &mut *self.0.borrow_mut();
        let node = &mut inner.nodes[id as usize];
        let result = if blank {
            node.identity = Identity { seed, blank, ..node.identity };
            let starting = inner.factory.start(&node.identity);
            inner.factory.ready(&node.identity, starting).and_then(|(device, process)| {
                (node.device, node.process) = (device, process);
                node.device.switch_on()
            })
        } else if node.used {
            node.device.switch_on_again()
        } else {
            node.device.switch_on()
        };
        node.used = true;
        node.log.power_on();
        inner.record_error(result);
    }

    pub(super) fn switch_off(&self, id: u32) {
        // While a panic unwinds, the fleet may be borrowed; its devices end with it.
        let Ok(mut inner) = self.0.try_borrow_mut() else { return };
        let inner = &mut *inner;
        let node = &mut inner.nodes[id as usize];
        // A held processor does not answer.
        let result = node.release().and_then(|()| node.device.switch_off());
        node.log.power_off();
        inner.record_error(result);
    }

    /// Holds a node's processor, or resumes a held one.
    pub(super) fn set_held(&self, id: u32, hold: Option<PauseClock>) {
        let inner = &mut *self.0.borrow_mut();
        let node = &mut inner.nodes[id as usize];
        let result = match hold {
            Some(clock) => node.device.set_held(true, clock),
            None => node.release(),
        };
        node.held = hold;
        inner.record_error(result);
    }

    pub(super) fn deliver(&self, id: u32, frame: &[u8]) {
        let inner = self.0.borrow();
        let node = &inner.nodes[id as usize];
        inner.factory.context.hub.send(node.device.address(), &node.device.datagram(frame));
    }

    /// Sends a raw datagram to a node: for a board, an Ethernet frame.
    pub fn inject(&self, id: u32, datagram: &[u8]) {
        let inner = self.0.borrow();
        inner.factory.context.hub.send(inner.nodes[id as usize].device.address(), datagram);
    }

    /// Returns the lines of a node's log from this one on.
    #[must_use]
    pub fn lines(&self, id: u32, from: usize) -> Vec<Entry> {
        self.with_log(id, |log| log.entries.get(from..).unwrap_or_default().to_vec())
    }

    pub(super) fn with_log<R>(&self, id: u32, run: impl FnOnce(&mut BoardLog) -> R) -> R {
        run(&mut self.0.borrow_mut().nodes[id as usize].log)
    }

    pub(super) fn kind(&self, id: u32) -> Kind {
        self.0.borrow().nodes[id as usize].identity.kind
    }
}

impl Inner {
    fn dispatch(&mut self, message: InboxMessage) {
        match message {
            InboxMessage::Frame { from, bytes } => {
                // A process that was replaced may still send for a moment, from an address that is no longer known.
                let Some(node) = self.nodes.iter_mut().find(|node| node.device.address() == from) else { return };
                if let Some(frame) = node.device.frame(&bytes) {
                    node.log.on_frame(frame);
                }
            }
            InboxMessage::Line { sender: InboxSender { node: id, process }, board_time, text } => {
                let at: Micros = self.clock.micros();
                let Some(node) = self.nodes.get_mut(id as usize) else { return };
                if node.process == process {
                    node.log.on_line(NodeId(id), Entry { at, board_time, text });
                }
            }
            InboxMessage::Ended { sender: InboxSender { node: id, process } } => {
                let Some(node) = self.nodes.get_mut(id as usize) else { return };
                if node.process == process && node.log.on && node.device.has_ended() {
                    self.error.get_or_insert(SwarmError::Ended(id));
                }
            }
        }
    }

    fn record_error(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(SwarmError::Device(error));
        }
    }
}
