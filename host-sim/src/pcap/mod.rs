//! Captures: the frames of a run in a file that Wireshark opens, and the dissector that reads them there.
//!
//! The file is pcapng. A radio's frames are IEEE 802.15.4 data frames with the received energy, those of a local network
//! are UDP datagrams on Ethernet: what a sniffer would have seen of boards, each frame once.

mod dissector;
pub(crate) mod shape;

pub(crate) use dissector::{changing_group, dissector};

use crate::base::Micros;
use crate::base::ethernet::{Source, encapsulate_from};
use crate::sim::medium::MediumPlan;
use crate::trace::{EventKind, Observer, TraceEvent};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

/// The PAN of boards that were provisioned with no other.
const PAN: u16 = 0xc0_4e;
/// A data frame, within one PAN, both addresses short.
const CONTROL: u16 = 0x8841;
const BROADCAST: u16 = 0xffff;
/// Short addresses from here on are reserved.
const SHORT_RESERVED: u16 = 0xfffe;
/// The channel of boards that were provisioned with no other.
const CHANNEL: u16 = 26;

/// The energy at which reception begins to fail, and that at which it ends, in dBm: boards estimate the quality of a
/// link between them.
const ENERGY_SURE_DBM: f32 = -88.0;
const ENERGY_NONE_DBM: f32 = -100.0;

/// How long a frame is kept for its receptions before it is written: longer than any is on the air.
const RECEPTION_MAX: Micros = 20_000;

/// What frames are captured as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkType {
    /// IEEE 802.15.4 with a header for energy and channel.
    Radio,
    Ethernet,
}

impl LinkType {
    /// Returns how frames of this medium are captured.
    pub(crate) fn of(medium: &MediumPlan) -> Self {
        match medium {
            MediumPlan::Radio(_) => Self::Radio,
            MediumPlan::Lan(_) => Self::Ethernet,
        }
    }

    /// Its number in the list of link types at tcpdump.org.
    fn number(self) -> u16 {
        match self {
            Self::Radio => 283, // IEEE802_15_4_TAP
            Self::Ethernet => 1,
        }
    }

    fn name(self) -> &'static [u8] {
        match self {
            Self::Radio => b"radio",
            Self::Ethernet => b"lan",
        }
    }
}

/// A pcapng file that is being written.
pub(crate) struct Writer<W> {
    out: W,
    link_type: LinkType,
    /// The sequence number of the last radio frame, by the id of its sender.
    sequences: BTreeMap<u32, u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the head of a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn new(out: W, link_type: LinkType) -> io::Result<Self> {
        let mut writer = Self { out, link_type, sequences: BTreeMap::new() };
        let section = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        writer.block(0x0A0D_0D0A, &section)?;
        let name = option(2, link_type.name());
        let interface = [&link_type.number().to_le_bytes()[..], &[0; 6], &name, &option(0, &[])].concat();
        writer.block(1, &interface)?;
        Ok(writer)
    }

    /// Writes a frame of node `sender`; `energy` is what its best receiver measured.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn frame(&mut self, at: Micros, sender: u32, frame: &[u8], energy: Option<f32>) -> io::Result<()> {
        let packet = match self.link_type {
            LinkType::Radio => {
                let sequence = self.sequences.entry(sender).or_default();
                *sequence = sequence.wrapping_add(1);
                radio_packet(sender, *sequence, frame, energy)
            }
            LinkType::Ethernet => encapsulate_from(Source::of(sender), frame),
        };
        let len = (packet.len() as u32).to_le_bytes();
        let (high, low) = (((at >> 32) as u32).to_le_bytes(), (at as u32).to_le_bytes());
        let body = [&[0; 4][..], &high, &low, &len, &len, &padded(&packet)].concat();
        self.block(6, &body)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let len = (body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&[&kind.to_le_bytes()[..], &len, body, &len].concat())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns an option of a block, or a field of a radio's header: both have this form.
fn option(code: u16, value: &[u8]) -> Vec<u8> {
    [&code.to_le_bytes()[..], &(value.len() as u16).to_le_bytes(), &padded(value)].concat()
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn radio_packet(sender: u32, sequence: u8, frame: &[u8], energy: Option<f32>) -> Vec<u8> {
    const NO_CHECK_SEQUENCE: u8 = 0;
    let channel = [&CHANNEL.to_le_bytes()[..], &[0]].concat();
    let mut fields = [option(0, &[NO_CHECK_SEQUENCE]), option(3, &channel)].concat();
    fields.extend(energy.iter().flat_map(|energy| option(1, &energy.to_le_bytes())));
    let len = (fields.len() as u16 + 4).to_le_bytes();
    let short = if sender as u16 >= SHORT_RESERVED { 0 } else { sender as u16 };
    let header = [CONTROL.to_le_bytes(), PAN.to_le_bytes(), BROADCAST.to_le_bytes(), short.to_le_bytes()];
    let [control, rest @ ..] = header;
    [&[0, 0][..], &len, &fields, &control, &[sequence], rest.as_flattened(), frame].concat()
}

/// Returns the id of the node that transmitted a frame, as it stands in clear; `None` where the bytes are no frame.
pub(crate) fn sender(frame: &[u8]) -> Option<u32> {
    let number = frame.get(1..)?.iter().take(5);
    let (mut id, mut shift) = (0_u32, 0);
    for &byte in number {
        id |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(id);
        }
        shift += 7;
    }
    None
}

/// Writes the frames of a simulated run.
pub(crate) struct Recorder<W> {
    writer: Writer<W>,
    /// The frame whose event comes next.
    bytes: Vec<u8>,
    /// Frames whose receptions may still come, in the order of time.
    pending: VecDeque<Pending>,
    result: io::Result<()>,
}

struct Pending {
    at: Micros,
    sender: u32,
    bytes: Vec<u8>,
    /// The quality of its best reception.
    best: Option<u8>,
}

impl<W: Write> Recorder<W> {
    /// Writes the head of a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn new(out: W, link_type: LinkType) -> io::Result<Self> {
        let writer = Writer::new(out, link_type)?;
        Ok(Self { writer, bytes: Vec::new(), pending: VecDeque::new(), result: Ok(()) })
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If any of it could not be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_before(Micros::MAX);
        self.result.and_then(|()| self.writer.finish())
    }

    fn write_before(&mut self, moment: Micros) {
        while self.pending.front().is_some_and(|frame| frame.at < moment) {
            let Some(Pending { at, sender, bytes, best }) = self.pending.pop_front() else { return };
            let energy = |quality: u8| {
                ENERGY_NONE_DBM + (ENERGY_SURE_DBM - ENERGY_NONE_DBM) * f32::from(quality) / f32::from(u8::MAX)
            };
            if self.result.is_ok() {
                self.result = self.writer.frame(at, sender, &bytes, best.map(energy));
            }
        }
    }
}

impl<W: Write> Observer for Recorder<W> {
    fn on_frame(&mut self, frame: &[u8]) {
        self.bytes = frame.to_vec();
    }

    fn observe(&mut self, event: &TraceEvent) {
        match (event.kind, event.node) {
            (EventKind::Sent { .. }, Some(sender)) => {
                self.write_before(event.at.saturating_sub(RECEPTION_MAX));
                let bytes = std::mem::take(&mut self.bytes);
                self.pending.push_back(Pending { at: event.at, sender, bytes, best: None });
            }
            (EventKind::Received { from, quality, .. }, _) => {
                let last = self.pending.iter_mut().rev().find(|frame| frame.sender == from);
                if let Some(frame) = last {
                    frame.best = frame.best.max(Some(quality));
                }
            }
            _ => {} // of no frame
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firmware::net::radio::Reception;
    use firmware::net::radio::mac::{Address, Channel, HEADER_BYTES, MAC_BYTES_MAX};

    #[test]
    fn a_radio_frame_is_that_of_a_board() {
        let packet = radio_packet(0x0001_0007, 9, b"hi", Some(-88.0));
        let address = Address::of(0x0001_0007, Address::PAN_DEFAULT);
        let (header, mac) = packet.split_at(packet.len() - HEADER_BYTES - 2);
        assert_eq!(mac, address.seal(9, b"hi", &mut [0; MAC_BYTES_MAX]).unwrap());
        assert_eq!(usize::from(header[2]), header.len(), "the header's own length");
        assert_eq!(header[12..16], [3, 0, 3, 0]);
        assert_eq!(header[16], Channel::DEFAULT.number());
    }

    #[test]
    fn the_sender_of_a_frame_stands_in_clear() {
        for id in [0, 127, 128, 300, u32::MAX] {
            let packet = protocol::wire::Packet {
                kind: protocol::wire::Kind::HELLO,
                sender: protocol::NodeId(id),
                incarnation: 1,
                seq: 1,
                destination: protocol::wire::Destination::Broadcast,
                body: &[],
            };
            let mut buffer = [0; protocol::wire::FRAME_MAX];
            let len = protocol::wire::seal(&protocol::wire::Key::new([0; 16]), &packet, &mut buffer).unwrap();
            assert_eq!(sender(&buffer[..len]), Some(id));
        }
        assert_eq!((sender(&[]), sender(&[0x20]), sender(&[0xff; 9])), (None, None, None));
    }

    #[test]
    fn a_board_that_measured_the_energy_would_estimate_the_quality() {
        for (energy, quality) in [(ENERGY_SURE_DBM, 255), (ENERGY_NONE_DBM, 0)] {
            let reception = Reception { length: 0, energy_dbm: energy as i8, link_quality: 255 };
            assert_eq!(reception.quality(), quality);
        }
    }

    #[test]
    fn a_frame_is_written_once_with_the_energy_of_its_best_reception() {
        let mut out = Vec::new();
        let mut recorder = Recorder::new(&mut out, LinkType::Radio).unwrap();
        recorder.on_frame(b"frame");
        let mut observe = |at, node, kind| recorder.observe(&TraceEvent { at, node: Some(node), kind });
        observe(1_000, 7, EventKind::Sent { kind: "hello", bytes: 5 });
        for (node, quality) in [(1, 100), (2, 255), (3, 0)] {
            observe(2_000, node, EventKind::Received { from: 7, kind: "hello", quality });
        }
        recorder.finish().unwrap();
        let count = |needle: &[u8]| out.windows(needle.len()).filter(|part| *part == needle).count();
        assert_eq!((count(b"frame"), count(&ENERGY_SURE_DBM.to_le_bytes())), (1, 1));
        assert_eq!(out.len() % 4, 0);
    }
}
