//! Frames as IEEE 802.15.4 data frames, broadcast to everybody of one PAN on one channel.
//!
//! A [`Radio`] is what a driver offers: one look at the channel and a frame, or one reception. Everything else is here,
//! so that a mock radio on a desktop runs the very code a board runs: the header and its filter ([`mac`]), listening
//! before speaking with growing back-offs (unslotted CSMA/CA, IEEE 802.15.4-2006, 7.5.1.4), and the counting.
//!
//! [`run`] owns the radio; [`Port`] is the [`Transport`] at the other end of its [`Queues`]. Two ends, because a radio
//! that is asked to do something else loses the frame it is receiving: so it listens all the time, whatever timers the
//! node waits for, and is interrupted only to send.

pub mod mac;

use super::{Counters, FrameBuffer, Heard, Transport, count};
use core::cell::Cell;
use core::future::Future;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Instant, Timer, with_timeout};
use mac::{Address, MAC_BYTES_MAX, MacBuffer, PAYLOAD_BYTES_MAX};
use protocol::dice::Dice;
use protocol::wire::FRAME_MAX;

const _: () = assert!(FRAME_MAX <= PAYLOAD_BYTES_MAX, "a frame of the protocol fits one frame of the radio");

/// Frames that wait to be sent. A step of the protocol sends a handful.
pub const SEND_QUEUE_FRAMES: usize = 4;
/// Frames that wait to be taken. They arrive one at a time, and the node takes them within milliseconds.
pub const RECEIVE_QUEUE_FRAMES: usize = 4;
/// How long a frame waits for room in a full queue before it is dropped: longer than the back-offs of one frame.
pub const SEND_PATIENCE: Duration = Duration::from_millis(100);

/// The unit of back-off: 20 symbols.
const BACKOFF_UNIT: Duration = Duration::from_micros(320);
/// The pause after a frame before the next: 40 symbols.
const SPACING: Duration = Duration::from_micros(640);
/// The first back-off is up to 2^3 - 1 units.
const BACKOFF_EXPONENT_MIN: u32 = 3;
/// No back-off is longer than 2^5 - 1 units.
const BACKOFF_EXPONENT_MAX: u32 = 5;
/// How often the channel may be found busy before the frame is given up.
const BUSY_MAX: u32 = 4;
/// How long the longest frame is on the air, and a little.
const FRAME_TIME: Duration = Duration::from_millis(5);
/// How long a receiver that failed is left alone.
const FAILED_PAUSE: Duration = Duration::from_millis(10);

/// Energy at which reception begins to fail, in dBm: a margin above what receivers are sensitive to.
const ENERGY_SURE_DBM: i16 = -88;
/// Energy below which nothing is received any more.
const ENERGY_NONE_DBM: i16 = -100;

/// Tells whether a radio is receiving a frame at this moment. It does not borrow the radio, which is receiving.
pub trait Ear {
    /// Whether a frame has begun to arrive and not ended.
    fn is_receiving(&self) -> bool;
}

/// A radio as its driver offers it.
pub trait Radio {
    /// What tells whether it is receiving.
    type Ear: Ear;

    /// Its ear.
    fn ear(&self) -> Self::Ear;

    /// Looks at the channel once; sends if it is free. `frame` has no check sum: the radio adds it. Never dropped
    /// before it is done.
    ///
    /// # Errors
    /// When nothing was sent.
    fn send(&mut self, frame: &[u8]) -> impl Future<Output = Result<(), SendError>>;

    /// Waits for a frame. Dropping the future may lose a frame that is being received.
    ///
    /// # Errors
    /// When what was received is not whole.
    fn receive(&mut self, buffer: &mut MacBuffer) -> impl Future<Output = Result<Reception, ReceiveError>>;
}

/// Why a radio did not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Somebody else is sending.
    Busy,
    /// The radio failed.
    Failed,
}

/// Why a radio did not receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveError {
    /// The check sum does not fit.
    Broken,
    /// The radio failed.
    Failed,
}

/// A frame that a radio received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// How many bytes of the buffer it takes.
    pub length: usize,
    /// How strong it was.
    pub energy_dbm: i8,
    /// How clear it was, from 0 to 255; 255 where the radio only knows how strong.
    pub link_quality: u8,
}

impl Reception {
    /// Both in one number: the share of such frames that can be expected to arrive, of 255. What does not arrive at all
    /// is the neighbours' to count.
    #[must_use]
    pub fn quality(&self) -> u8 {
        let above = i16::from(self.energy_dbm).saturating_sub(ENERGY_NONE_DBM);
        let span = ENERGY_SURE_DBM.saturating_sub(ENERGY_NONE_DBM);
        let share = above.saturating_mul(i16::from(u8::MAX)).checked_div(span).unwrap_or(0);
        let expected = u8::try_from(share.clamp(0, i16::from(u8::MAX))).unwrap_or(u8::MAX);
        expected.min(self.link_quality)
    }
}

/// What waits between the radio and the node, and what was counted. Make one per radio, in a static.
pub struct Queues {
    outgoing: Channel<CriticalSectionRawMutex, Waiting, SEND_QUEUE_FRAMES>,
    incoming: Channel<CriticalSectionRawMutex, Waiting, RECEIVE_QUEUE_FRAMES>,
    counters: Mutex<CriticalSectionRawMutex, Cell<Counters>>,
}

/// A frame that waits, without its header.
struct Waiting {
    bytes: heapless::Vec<u8, PAYLOAD_BYTES_MAX>,
    quality: u8,
}

impl Queues {
    /// Empty queues.
    #[must_use]
    pub const fn new() -> Self {
        Self { outgoing: Channel::new(), incoming: Channel::new(), counters: Mutex::new(Cell::new(ZERO)) }
    }

    fn count(&self, counter: impl FnOnce(&mut Counters) -> &mut u32) {
        self.counters.lock(|cell| {
            let mut counters = cell.get();
            count(counter(&mut counters));
            cell.set(counters);
        });
    }
}

impl Default for Queues {
    fn default() -> Self {
        Self::new()
    }
}

/// Counters that have counted nothing, where only constants will do.
const ZERO: Counters = Counters {
    sent: 0,
    received: 0,
    send_too_long: 0,
    send_no_link: 0,
    send_busy: 0,
    send_refused: 0,
    receive_too_long: 0,
    receive_empty: 0,
    receive_foreign: 0,
    receive_broken: 0,
    receive_crowded: 0,
};

/// The node's end of a radio.
pub struct Port<'q>(pub &'q Queues);

impl Transport for Port<'_> {
    async fn broadcast(&mut self, frame: &[u8]) {
        let Ok(bytes) = heapless::Vec::from_slice(frame) else {
            self.0.count(|counters| &mut counters.send_too_long);
            return;
        };
        let waiting = Waiting { bytes, quality: 0 };
        if with_timeout(SEND_PATIENCE, self.0.outgoing.send(waiting)).await.is_err() {
            self.0.count(|counters| &mut counters.send_busy);
        }
    }

    async fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> Heard<'b> {
        let waiting = self.0.incoming.receive().await;
        self.0.count(|counters| &mut counters.received);
        for (place, &byte) in buffer.iter_mut().zip(&waiting.bytes) {
            *place = byte;
        }
        Heard { bytes: buffer.get(..waiting.bytes.len()).unwrap_or_default(), quality: waiting.quality }
    }

    fn counters(&self) -> Counters {
        self.0.counters.lock(Cell::get)
    }
}

/// Runs a radio for ever: it listens, and sends what waits when the channel is free.
pub async fn run(radio: impl Radio, queues: &Queues, address: Address, seed: u64) -> ! {
    let mut station =
        Station { radio, queues, address, dice: Dice::new(seed), sequence: 0, free_at: Instant::MIN, buffer: [0; _] };
    loop {
        station.listen(queues.outgoing.ready_to_receive()).await;
        if let Ok(waiting) = queues.outgoing.try_receive() {
            station.send(&waiting.bytes).await;
        }
    }
}

/// A radio at work.
struct Station<'q, R> {
    radio: R,
    queues: &'q Queues,
    address: Address,
    dice: Dice,
    sequence: u8,
    /// Not before this may the next frame follow the last.
    free_at: Instant,
    buffer: MacBuffer,
}

impl<R: Radio> Station<'_, R> {
    /// Takes what is heard until `end` comes, and what is then being received.
    async fn listen(&mut self, end: impl Future<Output = ()>) {
        let ear = self.radio.ear();
        let mut end = core::pin::pin!(end);
        let mut ended = false;
        while !ended {
            let heard = {
                let mut receive = core::pin::pin!(self.radio.receive(&mut self.buffer));
                match select(&mut end, &mut receive).await {
                    Either::Second(heard) => Some(heard),
                    Either::First(()) => {
                        ended = true;
                        if ear.is_receiving() { with_timeout(FRAME_TIME, receive).await.ok() } else { None }
                    }
                }
            };
            match heard {
                Some(Ok(reception)) => self.take(reception),
                Some(Err(error)) => {
                    self.queues.count(|counters| &mut counters.receive_broken);
                    if error == ReceiveError::Failed {
                        Timer::after(FAILED_PAUSE).await;
                    }
                }
                None => {}
            }
        }
    }

    /// Hands on a frame, if it is one of ours.
    fn take(&mut self, reception: Reception) {
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
        if self.queues.incoming.try_send(Waiting { bytes, quality: reception.quality() }).is_err() {
            self.queues.count(|counters| &mut counters.receive_crowded);
        }
    }

    /// Sends a frame when the channel is free; gives up when it never is.
    async fn send(&mut self, payload: &[u8]) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut frame = [0; MAC_BYTES_MAX];
        let Some(frame) = self.address.seal(self.sequence, payload, &mut frame) else {
            self.queues.count(|counters| &mut counters.send_too_long);
            return;
        };
        let mut exponent = BACKOFF_EXPONENT_MIN;
        for _ in 0..=BUSY_MAX {
            let units = self.dice.throw() & 1_u32.checked_shl(exponent).unwrap_or(0).saturating_sub(1);
            let wait = BACKOFF_UNIT.checked_mul(units).unwrap_or(BACKOFF_UNIT);
            let from = Instant::now().max(self.free_at);
            self.listen(Timer::at(from.checked_add(wait).unwrap_or(from))).await;
            match self.radio.send(frame).await {
                Ok(()) => {
                    self.free_at = Instant::now().checked_add(SPACING).unwrap_or(Instant::MIN);
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
