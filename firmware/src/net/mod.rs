//! Transports: frames between boards.
//!
//! A transport is a broadcast medium that may lose, duplicate and reorder frames. It never fails; dropped frames are
//! counted by reason.

#[cfg(feature = "udp")]
pub mod address;
#[cfg(feature = "mqtt")]
pub mod mqtt;
#[cfg(feature = "embassy")]
pub mod radio;
#[cfg(feature = "udp")]
pub mod udp;
#[cfg(feature = "embassy")]
pub mod wifi;

use core::future::Future;

/// The longest frame of any transport. A radio may carry less.
pub const FRAME_BYTES_MAX: usize = 128;

/// Buffer for one frame.
pub type FrameBuffer = [u8; FRAME_BYTES_MAX];

/// A received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFrame<'b> {
    /// Its bytes.
    pub bytes: &'b [u8],
    /// Reception quality, 0 to 255; 255 where the medium does not measure it.
    pub quality: u8,
}

/// Broadcasts frames to every node in range, and receives theirs.
pub trait Transport {
    /// Broadcasts `frame`. A frame that cannot be sent soon is dropped and counted.
    fn broadcast(&mut self, frame: &[u8]) -> impl Future<Output = ()>;

    /// Waits for the next frame and returns it, copied into `buffer`. Dropping the future loses no frame that was
    /// already received.
    fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> impl Future<Output = ReceivedFrame<'b>>;

    /// Frames sent, received and dropped so far.
    fn counters(&self) -> Counters;
}

/// Frames a transport sent, received and dropped, by reason. Counters saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Frames handed to the medium.
    pub sent: u32,
    /// Frames handed to the node.
    pub received: u32,
    /// Not sent: longer than the maximum.
    pub send_too_long: u32,
    /// Not sent: the medium is disconnected.
    pub send_no_link: u32,
    /// Not sent: the medium was busy for too long.
    pub send_busy: u32,
    /// Not sent: the driver or the network stack refused it.
    pub send_refused: u32,
    /// Not received: longer than the maximum.
    pub receive_too_long: u32,
    /// Not received: no payload.
    pub receive_empty: u32,
    /// Not received: of another network, unicast, or no data frame.
    pub receive_foreign: u32,
    /// Not received: checksum error, or the receiver failed.
    pub receive_corrupt: u32,
    /// Not received: the queue was full.
    pub receive_no_room: u32,
}

#[cfg(feature = "embassy")]
fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
