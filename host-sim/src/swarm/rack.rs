//! All devices of a swarm, what they said, and the mail that brings it.

use super::device::{Bench, Coming, Device, Identity, Kind};
use super::hub::Hub;
use super::image::Image;
use super::mail::{Mail, Writer};
use super::slot::{Entry, Slot};
use super::{Group, Stopwatch, SwarmError};
use crate::queue::Micros;
use crate::scenario::PauseClock;
use protocol::NodeId;
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use tempfile::TempDir;

/// How often bringing up an emulator is tried: another program may take its port in the meantime.
const TRIES: usize = 3;

/// All devices. They end when it is dropped, and so do their files.
pub struct Rack(RefCell<Inner>);

struct Inner {
    nodes: Vec<Node>,
    mail: Receiver<Mail>,
    bench: OwnedBench,
    watch: Stopwatch,
    trouble: Option<SwarmError>,
}

struct OwnedBench {
    image: Image,
    desktop: PathBuf,
    group: Group,
    hub: Hub,
    post: std::sync::mpsc::Sender<Mail>,
    processes: u32,
    folder: TempDir,
}

struct Node {
    kind: Kind,
    identity: Identity,
    device: Device,
    process: u32,
    /// Whether it was ever switched on.
    used: bool,
    held: Option<PauseClock>,
    slot: Slot,
}

impl Node {
    fn release(&mut self) -> io::Result<()> {
        self.held.take().map_or(Ok(()), |clock| self.device.hold(false, clock))
    }
}

impl OwnedBench {
    fn start(&mut self, kind: Kind, identity: &Identity) -> io::Result<(Coming, u32)> {
        self.processes += 1;
        let bench = Bench {
            image: &self.image,
            desktop: &self.desktop,
            folder: self.folder.path(),
            hub: self.hub.address()?,
            group: &self.group,
            post: self.post.clone(),
        };
        Ok((Coming::start(kind, &bench, identity, self.processes)?, self.processes))
    }

    /// Brings up a device, again where it does not come up.
    fn bring_up(
        &mut self,
        kind: Kind,
        identity: &Identity,
        first: io::Result<(Coming, u32)>,
    ) -> io::Result<(Device, u32)> {
        let mut coming = first;
        for _ in 1..TRIES {
            match coming.and_then(|(coming, process)| Ok((coming.ready()?, process))) {
                Ok(up) => return Ok(up),
                Err(_) => coming = self.start(kind, identity),
            }
        }
        coming.and_then(|(coming, process)| Ok((coming.ready()?, process)))
    }
}

impl Rack {
    /// A rack without devices.
    pub(super) fn new(image: Image, desktop: PathBuf, group: Group) -> io::Result<Self> {
        let (post, mail) = channel();
        let folder = tempfile::Builder::new().prefix("conclave-").tempdir()?;
        let hub = Hub::open(post.clone())?;
        let bench = OwnedBench { image, desktop, group, hub, post, processes: 0, folder };
        let inner = Inner { nodes: Vec::new(), mail, bench, watch: Stopwatch::start(), trouble: None };
        Ok(Self(RefCell::new(inner)))
    }

    /// Puts devices for these nodes in, switched off. Node by node they are numbered from 0.
    pub(super) fn install(&self, nodes: &[(Kind, Identity)]) -> Result<(), SwarmError> {
        let inner = &mut *self.0.borrow_mut();
        let coming: Vec<_> = nodes.iter().map(|(kind, identity)| inner.bench.start(*kind, identity)).collect();
        for (&(kind, identity), coming) in nodes.iter().zip(coming) {
            let (device, process) = inner.bench.bring_up(kind, &identity, coming).map_err(SwarmError::Device)?;
            let slot = Slot::default();
            inner.nodes.push(Node { kind, identity, device, process, used: false, held: None, slot });
        }
        inner.watch = Stopwatch::start();
        Ok(())
    }

    /// Time since the devices were put in.
    pub(super) fn watch(&self) -> Stopwatch {
        self.0.borrow().watch
    }

    /// What nodes of this swarm share.
    pub(super) fn group(&self) -> Group {
        self.0.borrow().bench.group.clone()
    }

    /// Waits for mail and hands it out; at most this long.
    pub(super) fn collect(&self, patience: Duration) {
        let inner = &mut *self.0.borrow_mut();
        match inner.mail.recv_timeout(patience) {
            Ok(mail) => inner.hand_out(mail),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(mail) = inner.mail.try_recv() {
            inner.hand_out(mail);
        }
    }

    /// What went wrong with a device, if something did.
    pub(super) fn trouble(&self) -> Option<SwarmError> {
        self.0.borrow_mut().trouble.take()
    }

    /// Switches a node on: as a new one, with what it stored, or without.
    pub(super) fn switch_on(&self, node: u32, blank: bool, seed: u64) {
        let inner = &mut *self.0.borrow_mut();
        let place = &mut inner.nodes[node as usize];
        let done = if blank {
            place.identity = Identity { seed, blank, ..place.identity };
            let coming = inner.bench.start(place.kind, &place.identity);
            inner.bench.bring_up(place.kind, &place.identity, coming).and_then(|(device, process)| {
                (place.device, place.process) = (device, process);
                place.device.switch_on()
            })
        } else if place.used {
            place.device.switch_on_again()
        } else {
            place.device.switch_on()
        };
        place.used = true;
        place.slot.power_on();
        inner.note(done);
    }

    /// Cuts a node's power.
    pub(super) fn switch_off(&self, node: u32) {
        // Where a panic unwinds through the rack, the devices end with it.
        let Ok(mut inner) = self.0.try_borrow_mut() else { return };
        let inner = &mut *inner;
        let place = &mut inner.nodes[node as usize];
        // A held processor would not answer.
        let done = place.release().and_then(|()| place.device.switch_off());
        place.slot.power_off();
        inner.note(done);
    }

    /// Holds a node's processor.
    pub(super) fn hold(&self, node: u32, clock: PauseClock) {
        let inner = &mut *self.0.borrow_mut();
        let place = &mut inner.nodes[node as usize];
        let done = place.device.hold(true, clock);
        place.held = Some(clock);
        inner.note(done);
    }

    /// Lets a held processor go on.
    pub(super) fn go_on(&self, node: u32) {
        let inner = &mut *self.0.borrow_mut();
        let done = inner.nodes[node as usize].release();
        inner.note(done);
    }

    /// Makes a node hear a frame.
    pub(super) fn hear(&self, node: u32, frame: &[u8]) {
        let inner = self.0.borrow();
        let place = &inner.nodes[node as usize];
        inner.bench.hub.send(place.device.address(), &place.device.datagram(frame));
    }

    /// Sends a node a datagram as it is: for a board, the bytes on its Ethernet.
    pub fn inject(&self, node: u32, datagram: &[u8]) {
        let inner = self.0.borrow();
        inner.bench.hub.send(inner.nodes[node as usize].device.address(), datagram);
    }

    pub(super) fn with<R>(&self, node: u32, act: impl FnOnce(&mut Slot) -> R) -> R {
        act(&mut self.0.borrow_mut().nodes[node as usize].slot)
    }

    /// What a node runs on.
    pub(super) fn kind(&self, node: u32) -> Kind {
        self.0.borrow().nodes[node as usize].kind
    }
}

impl Inner {
    fn hand_out(&mut self, mail: Mail) {
        match mail {
            Mail::Frame { from, bytes } => {
                // A process that was replaced may still be heard for a moment; nobody has its address any more.
                let Some(node) = self.nodes.iter_mut().find(|node| node.device.address() == from) else { return };
                if let Some(frame) = node.device.frame(&bytes) {
                    node.slot.hear_frame(frame);
                }
            }
            Mail::Line { writer: Writer { node, process }, own, text } => {
                let at: Micros = self.watch.micros();
                let Some(place) = self.nodes.get_mut(node as usize) else { return };
                if place.process == process {
                    place.slot.hear_line(NodeId(node), Entry { at, own, text });
                }
            }
            Mail::Ended { writer: Writer { node, process } } => {
                let Some(place) = self.nodes.get_mut(node as usize) else { return };
                if place.process == process && place.slot.is_on() && place.device.has_ended() {
                    self.trouble.get_or_insert(SwarmError::Ended(node));
                }
            }
        }
    }

    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.trouble.get_or_insert(SwarmError::Device(error));
        }
    }
}
