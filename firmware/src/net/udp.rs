//! Frames as UDP datagrams, one each, broadcast to `255.255.255.255` on a port all nodes share.

use super::{Counters, FRAME_BYTES_MAX, FrameBuffer, ReceivedFrame, Transport, count};
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{IpAddress, IpEndpoint, Ipv4Address, Stack};
use embassy_time::{Duration, with_timeout};

/// Queued frames in each direction. A step of the protocol sends a handful; a burst of neighbours answers it.
const QUEUE_FRAMES: usize = 16;

/// How long a frame waits for room in a full queue before it is dropped. A working network makes room within
/// microseconds.
const SEND_TIMEOUT: Duration = Duration::from_millis(20);

const QUEUE_BYTES: usize = QUEUE_FRAMES * FRAME_BYTES_MAX;

/// Ethernet measures no reception quality.
const QUALITY_UNKNOWN: u8 = u8::MAX;

/// Memory of the queues. Make one per [`Udp`], in a static.
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
    pub const fn empty() -> Self {
        Self {
            receive_metadata: [PacketMetadata::EMPTY; QUEUE_FRAMES],
            receive: [0; QUEUE_BYTES],
            send_metadata: [PacketMetadata::EMPTY; QUEUE_FRAMES],
            send: [0; QUEUE_BYTES],
        }
    }
}

/// Port 0 cannot be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PortZero;

/// Broadcasts and receives frames over UDP.
pub struct Udp<'a> {
    stack: Stack<'a>,
    socket: UdpSocket<'a>,
    broadcast: IpEndpoint,
    counters: Counters,
}

impl<'a> Udp<'a> {
    /// Binds `port`. The stack needs one free socket, and a task that runs it.
    ///
    /// # Errors
    /// When the port is 0.
    pub fn open(stack: Stack<'a>, buffers: &'a mut Buffers, port: u16) -> Result<Self, PortZero> {
        if port == 0 {
            return Err(PortZero);
        }
        let mut socket = UdpSocket::new(
            stack,
            &mut buffers.receive_metadata,
            &mut buffers.receive,
            &mut buffers.send_metadata,
            &mut buffers.send,
        );
        socket.bind(port).map_err(|_| PortZero)?;
        let everyone = IpEndpoint::new(IpAddress::Ipv4(Ipv4Address::BROADCAST), port);
        Ok(Self { stack, socket, broadcast: everyone, counters: Counters::default() })
    }
}

impl Transport for Udp<'_> {
    async fn broadcast(&mut self, frame: &[u8]) {
        // A disconnected stack would queue the frame and send it, stale, when the link is back.
        let counter = if frame.len() > FRAME_BYTES_MAX {
            &mut self.counters.send_too_long
        } else if !self.stack.is_link_up() {
            &mut self.counters.send_no_link
        } else {
            match with_timeout(SEND_TIMEOUT, self.socket.send_to(frame, self.broadcast)).await {
                Ok(Ok(())) => &mut self.counters.sent,
                Ok(Err(_)) => &mut self.counters.send_refused,
                Err(_) => &mut self.counters.send_busy,
            }
        };
        count(counter);
    }

    async fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> ReceivedFrame<'b> {
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
        ReceivedFrame { bytes: buffer.get(..length).unwrap_or_default(), quality: QUALITY_UNKNOWN }
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
