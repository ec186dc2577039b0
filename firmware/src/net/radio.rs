//! Frames as IEEE 802.15.4 data frames, broadcast within one PAN on one channel.
//!
//! A driver implements [`Radio`]: one clear channel assessment (CCA) and transmission, or one reception. Everything
//! else is here, so that a mock radio on a desktop runs the code a board runs: the header and its filter ([`mac`]),
//! unslotted CSMA/CA (IEEE 802.15.4-2006, 7.5.1.4), and the counters.
//!
//! [`run`] owns the radio; [`Port`] is the [`Transport`] at the other end of its [`Queues`]. A radio that is given
//! another task loses the frame it is receiving: so it receives all the time, whatever timers the node waits for, and
//! is interrupted only to send.

pub mod mac;

use super::{Counters, FrameBuffer, ReceivedFrame, Transport, count};
use crate::copy_bytes;
use core::cell::Cell;
use core::future::Future;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Instant, Timer, with_timeout};
use mac::{Address, MAC_BYTES_MAX, MacBuffer, PAYLOAD_BYTES_MAX};
use protocol::base::rng::Rng;
use protocol::wire::FRAME_MAX;

const _: () = assert!(FRAME_MAX <= PAYLOAD_BYTES_MAX, "a frame of the protocol fits one frame of the radio");

/// Capacity of the send queue. What waits in the node can be overtaken by what matters more.
const SEND_QUEUE_FRAMES: usize = 1;
/// Capacity of the receive queue. Frames arrive one at a time, and the node takes them within milliseconds.
const RECEIVE_QUEUE_FRAMES: usize = 4;
/// How long a frame waits for room in a full queue before it is dropped: longer than the back-offs of one frame.
const SEND_TIMEOUT: Duration = Duration::from_millis(100);

/// The unit of back-off: 20 symbols.
const BACKOFF_UNIT: Duration = Duration::from_micros(320);
/// Interframe spacing: 40 symbols.
const SPACING: Duration = Duration::from_micros(640);
/// The first back-off is up to 2^3 - 1 units.
const BACKOFF_EXPONENT_MIN: u32 = 3;
/// No back-off is longer than 2^5 - 1 units.
const BACKOFF_EXPONENT_MAX: u32 = 5;
/// How often the channel may be busy before the frame is dropped.
const BACKOFFS_MAX: u32 = 4;
/// Airtime of the longest frame, with a margin.
const FRAME_AIRTIME_MAX: Duration = Duration::from_millis(5);
/// The delay after the receiver failed.
const RECEIVE_RETRY_DELAY: Duration = Duration::from_millis(10);

/// Energy at which reception begins to fail, in dBm: the sensitivity of receivers with a margin.
const ENERGY_SURE_DBM: i16 = -88;
/// Energy below which no frame is received.
const ENERGY_NONE_DBM: i16 = -100;

/// Status of a receiver. It does not borrow the radio, which is receiving.
pub trait RxStatus {
    /// Returns whether a frame has begun to arrive and not ended.
    fn is_receiving(&self) -> bool;
}

/// A radio as its driver offers it.
pub trait Radio {
    /// Status of its receiver.
    type RxStatus: RxStatus;

    /// Returns the status of the receiver.
    fn rx_status(&self) -> Self::RxStatus;

    /// Performs one CCA and sends if the channel is clear. The radio appends the frame check sequence to `frame`. The
    /// future is never dropped before it ends.
    ///
    /// # Errors
    /// When the frame was not sent.
    fn send(&mut self, frame: &[u8]) -> impl Future<Output = Result<(), SendError>>;

    /// Waits for a frame. Dropping the future may lose a frame that is being received.
    ///
    /// # Errors
    /// When the frame is corrupt, or the receiver failed.
    fn receive(&mut self, buffer: &mut MacBuffer) -> impl Future<Output = Result<Reception, ReceiveError>>;
}

/// Why a radio did not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The channel is busy.
    Busy,
    /// The radio failed.
    Failed,
}

/// Why a radio did not receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveError {
    /// The frame check sequence does not match.
    Corrupt,
    /// The radio failed.
    Failed,
}

/// A received frame in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// Its length in the buffer.
    pub length: usize,
    /// Received energy.
    pub energy_dbm: i8,
    /// Link quality indication, 0 to 255; 255 where the radio only measures energy.
    pub link_quality: u8,
}

impl Reception {
    /// Estimates the delivery ratio of such frames, of 255. Lost frames are counted by the table of peers.
    #[must_use]
    pub fn quality(&self) -> u8 {
        let above = i16::from(self.energy_dbm).saturating_sub(ENERGY_NONE_DBM);
        let range = ENERGY_SURE_DBM.saturating_sub(ENERGY_NONE_DBM);
        let ratio = above.saturating_mul(i16::from(u8::MAX)).checked_div(range).unwrap_or(0);
        let expected = u8::try_from(ratio.clamp(0, i16::from(u8::MAX))).unwrap_or(u8::MAX);
        expected.min(self.link_quality)
    }
}

/// Queues between the radio and the node, and counters. Make one per radio, in a static.
pub struct Queues {
    outgoing: Channel<CriticalSectionRawMutex, QueuedFrame, SEND_QUEUE_FRAMES>,
    incoming: Channel<CriticalSectionRawMutex, QueuedFrame, RECEIVE_QUEUE_FRAMES>,
    counters: Mutex<CriticalSectionRawMutex, Cell<Option<Counters>>>,
}

/// A queued frame, without its header.
struct QueuedFrame {
    bytes: heapless::Vec<u8, PAYLOAD_BYTES_MAX>,
    quality: u8,
}

impl Queues {
    /// Queues before the first frame.
    #[must_use]
    pub const fn empty() -> Self {
        Self { outgoing: Channel::new(), incoming: Channel::new(), counters: Mutex::new(Cell::new(None)) }
    }

    /// Increments a counter. A function pointer keeps this one function in the image.
    fn count(&self, counter: fn(&mut Counters) -> &mut u32) {
        self.counters.lock(|cell| {
            let mut counters = cell.get().unwrap_or_default();
            count(counter(&mut counters));
            cell.set(Some(counters));
        });
    }
}

/// The node's end of a radio.
pub struct Port<'q>(pub &'q Queues);

impl Transport for Port<'_> {
    async fn broadcast(&mut self, frame: &[u8]) {
        let Ok(bytes) = heapless::Vec::from_slice(frame) else {
            self.0.count(|counters| &mut counters.send_too_long);
            return;
        };
        let queued = QueuedFrame { bytes, quality: 0 };
        if with_timeout(SEND_TIMEOUT, self.0.outgoing.send(queued)).await.is_err() {
            self.0.count(|counters| &mut counters.send_busy);
        }
    }

    async fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> ReceivedFrame<'b> {
        let QueuedFrame { bytes, quality } = self.0.incoming.receive().await;
        self.0.count(|counters| &mut counters.received);
        copy_bytes(buffer, &bytes);
        ReceivedFrame { bytes: buffer.get(..bytes.len()).unwrap_or_default(), quality }
    }

    fn counters(&self) -> Counters {
        self.0.counters.lock(Cell::get).unwrap_or_default()
    }
}

/// Runs a radio: receives, and sends queued frames when the channel is clear.
pub async fn run(radio: impl Radio, queues: &Queues, address: Address, seed: u64) -> ! {
    let rng = Rng::new(seed);
    let mut mac = CsmaMac { radio, queues, address, rng, sequence: 0, next_send_at: Instant::MIN, buffer: [0; _] };
    loop {
        mac.receive_until(queues.outgoing.ready_to_receive()).await;
        if let Ok(queued) = queues.outgoing.try_receive() {
            mac.send(&queued.bytes).await;
        }
    }
}

struct CsmaMac<'q, R> {
    radio: R,
    queues: &'q Queues,
    address: Address,
    rng: Rng,
    sequence: u8,
    /// End of the interframe spacing.
    next_send_at: Instant,
    buffer: MacBuffer,
}

impl<R: Radio> CsmaMac<'_, R> {
    /// Receives frames until `end` is ready, and the frame that is then arriving.
    async fn receive_until(&mut self, end: impl Future<Output = ()>) {
        let rx_status = self.radio.rx_status();
        let mut end = core::pin::pin!(end);
        let mut ended = false;
        while !ended {
            let received = {
                let mut receive = core::pin::pin!(self.radio.receive(&mut self.buffer));
                match select(&mut end, &mut receive).await {
                    Either::Second(received) => Some(received),
                    Either::First(()) => {
                        ended = true;
                        if rx_status.is_receiving() {
                            with_timeout(FRAME_AIRTIME_MAX, receive).await.ok()
                        } else {
                            None
                        }
                    }
                }
            };
            match received {
                Some(Ok(reception)) => self.deliver(reception),
                Some(Err(error)) => {
                    self.queues.count(|counters| &mut counters.receive_corrupt);
                    if error == ReceiveError::Failed {
                        Timer::after(RECEIVE_RETRY_DELAY).await;
                    }
                }
                None => {}
            }
        }
    }

    /// Queues the payload of a data frame of this PAN for the node.
    fn deliver(&mut self, reception: Reception) {
        let frame = self.buffer.get(..reception.length).unwrap_or_default();
        let Some(payload) = self.address.open(frame) else {
            self.queues.count(|counters| &mut counters.receive_foreign);
            return;
        };
        if payload.is_empty() {
            self.queues.count(|counters| &mut counters.receive_empty);
            return;
        }
        let Ok(bytes) = heapless::Vec::from_slice(payload) else {
            self.queues.count(|counters| &mut counters.receive_too_long);
            return;
        };
        if self.queues.incoming.try_send(QueuedFrame { bytes, quality: reception.quality() }).is_err() {
            self.queues.count(|counters| &mut counters.receive_no_room);
        }
    }

    /// Sends a frame with CSMA/CA; drops it when the channel stays busy.
    async fn send(&mut self, payload: &[u8]) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut frame = [0; MAC_BYTES_MAX];
        let Some(frame) = self.address.seal(self.sequence, payload, &mut frame) else {
            self.queues.count(|counters| &mut counters.send_too_long);
            return;
        };
        let mut exponent = BACKOFF_EXPONENT_MIN;
        for _ in 0..=BACKOFFS_MAX {
            let units = self.rng.next_u32() & 1_u32.checked_shl(exponent).unwrap_or(0).saturating_sub(1);
            let wait = BACKOFF_UNIT.checked_mul(units).unwrap_or(BACKOFF_UNIT);
            let from = Instant::now().max(self.next_send_at);
            self.receive_until(Timer::at(from.checked_add(wait).unwrap_or(from))).await;
            match self.radio.send(frame).await {
                Ok(()) => {
                    self.next_send_at = Instant::now().checked_add(SPACING).unwrap_or(Instant::MIN);
                    self.queues.count(|counters| &mut counters.sent);
                    return;
                }
                Err(SendError::Busy) => exponent = exponent.saturating_add(1).min(BACKOFF_EXPONENT_MAX),
                Err(SendError::Failed) => {
                    self.queues.count(|counters| &mut counters.send_refused);
                    return;
                }
            }
        }
        self.queues.count(|counters| &mut counters.send_busy);
    }
}

#[cfg(test)]
mod tests;
