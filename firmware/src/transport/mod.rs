//! Carrying frames between boards.
//!
//! A transport is a broadcast medium that may lose, repeat and reorder: it promises nothing, and so it never fails.
//! What it drops, it counts.

#[cfg(feature = "embassy")]
pub mod radio;
#[cfg(feature = "udp")]
pub mod udp;

use core::future::Future;

/// The longest frame any transport is asked to carry. A radio may carry less.
pub const FRAME_BYTES_MAX: usize = 128;

/// Room for one frame.
pub type FrameBuffer = [u8; FRAME_BYTES_MAX];

/// A frame that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard<'b> {
    /// Its bytes.
    pub bytes: &'b [u8],
    /// How well, from 0 to 255; 255 where the medium does not tell.
    pub quality: u8,
}

/// Broadcasts frames to every node in reach, and hears theirs.
pub trait Transport {
    /// Sends `frame` to everyone in reach. A frame that cannot go out soon is dropped and counted.
    fn broadcast(&mut self, frame: &[u8]) -> impl Future<Output = ()>;

    /// Waits for the next frame and returns it, copied into `buffer`. Dropping the future loses no frame that was
    /// already received.
    fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> impl Future<Output = Heard<'b>>;

    /// What happened so far.
    fn counters(&self) -> Counters;
}

/// What a transport did and what it dropped, each by its reason. Counters stop at their maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Frames handed to the medium.
    pub sent: u32,
    /// Frames handed to the application.
    pub received: u32,
    /// Not sent: longer than a frame may be.
    pub send_too_long: u32,
    /// Not sent: the medium is disconnected.
    pub send_no_link: u32,
    /// Not sent: the medium was busy for too long.
    pub send_busy: u32,
    /// Not sent: the network refused it.
    pub send_refused: u32,
    /// Not received: longer than a frame may be.
    pub receive_too_long: u32,
    /// Not received: it had no bytes.
    pub receive_empty: u32,
    /// Not received: of another network, for somebody else, or no data.
    pub receive_foreign: u32,
    /// Not received: broken on the way, or the receiver failed.
    pub receive_broken: u32,
    /// Not received: too many others waited.
    pub receive_crowded: u32,
}

#[cfg(feature = "embassy")]
fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
