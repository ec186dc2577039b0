//! Frames as UDP datagrams: one frame is one datagram, broadcast to `255.255.255.255` on a port all nodes share.

use super::{Counters, FRAME_BYTES_MAX, FrameBuffer, Heard, Transport, count};
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{IpAddress, IpEndpoint, Ipv4Address, Stack};
use embassy_time::{Duration, with_timeout};

/// Frames that wait in each direction. A step of the protocol sends a handful; a burst of neighbours answers it.
pub const QUEUE_FRAMES: usize = 16;

/// How long a frame waits for room in a full queue before it is dropped. The network needs microseconds to make room;
/// a medium that needs longer is not moving at all.
pub const SEND_PATIENCE: Duration = Duration::from_millis(20);

const QUEUE_BYTES: usize = QUEUE_FRAMES * FRAME_BYTES_MAX;

/// An Ethernet tells nothing about how well a frame was heard.
const QUALITY_UNKNOWN: u8 = u8::MAX;

/// Memory for the frames that wait. Make one per [`Udp`], in a static.
#[derive(Debug)]
pub struct Buffers {
    receive_metadata: [PacketMetadata; QUEUE_FRAMES],
    receive: [u8; QUEUE_BYTES],
    send_metadata: [PacketMetadata; QUEUE_FRAMES],
    send: [u8; QUEUE_BYTES],
}

impl Buffers {
    /// Empty queues.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            receive_metadata: [PacketMetadata::EMPTY; QUEUE_FRAMES],
            receive: [0; QUEUE_BYTES],
            send_metadata: [PacketMetadata::EMPTY; QUEUE_FRAMES],
            send: [0; QUEUE_BYTES],
        }
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new()
    }
}

/// The port cannot be listened on: it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BadPort;

/// Broadcasts and receives frames over UDP.
pub struct Udp<'a> {
    stack: Stack<'a>,
    socket: UdpSocket<'a>,
    everyone: IpEndpoint,
    counters: Counters,
}

impl<'a> Udp<'a> {
    /// Listens on `port`. The stack needs one free socket, and someone who runs it.
    ///
    /// # Errors
    /// When the port is 0.
    pub fn open(stack: Stack<'a>, buffers: &'a mut Buffers, port: u16) -> Result<Self, BadPort> {
        if port == 0 {
            return Err(BadPort);
        }
        let mut socket = UdpSocket::new(
            stack,
            &mut buffers.receive_metadata,
            &mut buffers.receive,
            &mut buffers.send_metadata,
            &mut buffers.send,
        );
        socket.bind(port).map_err(|_| BadPort)?;
        let everyone = IpEndpoint::new(IpAddress::Ipv4(Ipv4Address::BROADCAST), port);
        Ok(Self { stack, socket, everyone, counters: Counters::default() })
    }

    /// Whether the network is connected.
    #[must_use]
    pub fn is_link_up(&self) -> bool {
        self.stack.is_link_up()
    }
}

impl Transport for Udp<'_> {
    async fn broadcast(&mut self, frame: &[u8]) {
        // A disconnected network would keep the frame and deliver it, stale, when the link is back.
        let counter = if frame.len() > FRAME_BYTES_MAX {
            &mut self.counters.send_too_long
        } else if !self.stack.is_link_up() {
            &mut self.counters.send_no_link
        } else {
            match with_timeout(SEND_PATIENCE, self.socket.send_to(frame, self.everyone)).await {
                Ok(Ok(())) => &mut self.counters.sent,
                Ok(Err(_)) => &mut self.counters.send_refused,
                Err(_) => &mut self.counters.send_busy,
            }
        };
        count(counter);
    }

    async fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> Heard<'b> {
        // Bad datagrams cannot keep this busy: only the network's own task refills the queue, so at most
        // `QUEUE_FRAMES` are skipped before this waits.
        let length = loop {
            let counter = match self.socket.recv_from(buffer).await {
                Ok((0, _)) => &mut self.counters.receive_empty,
                Ok((length, _)) => {
                    count(&mut self.counters.received);
                    break length;
                }
                Err(_) => &mut self.counters.receive_too_long,
            };
            count(counter);
        };
        Heard { bytes: buffer.get(..length).unwrap_or_default(), quality: QUALITY_UNKNOWN }
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
