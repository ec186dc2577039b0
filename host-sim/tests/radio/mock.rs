//! A radio that is joined to the simulator's air.

use firmware::transport::radio::mac::{Address, MAC_BYTES_MAX, MacBuffer};
use firmware::transport::radio::{Ear, Radio, ReceiveError, Reception, SendError};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// The header of every frame on this air. The simulator counts headers as overhead and carries what is behind them.
pub(crate) const ADDRESS: Address = Address { pan: 0xbeef, short: 1 };
/// Loud enough: how well a frame is heard is the simulator's to say.
const ENERGY_DBM: i8 = -40;

/// What is between a board's radio and the air.
#[derive(Default)]
pub(crate) struct Antenna {
    /// What the radio wants to send, if the channel is free.
    pub(crate) outgoing: Option<Vec<u8>>,
    /// What became of it.
    pub(crate) carried: Option<bool>,
    /// What it hears.
    pub(crate) incoming: Option<(Vec<u8>, u8)>,
    /// Until when a frame is on its way in, in microseconds of the board's clock.
    pub(crate) arriving_until: u64,
    /// Whether it listens at all.
    pub(crate) listening: bool,
    /// Frames that came when it did not.
    pub(crate) unheard: u32,
}

impl Antenna {
    /// A frame comes. Like a real radio, it hears one at a time, and only while it listens.
    pub(crate) fn hear(&mut self, bytes: &[u8], quality: u8) {
        if self.listening && self.incoming.is_none() {
            self.incoming = Some((bytes.to_vec(), quality));
        } else {
            self.unheard += 1;
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct MockRadio(pub(crate) Rc<RefCell<Antenna>>);

/// Stops listening when nobody waits any more.
struct Listening<'a>(&'a RefCell<Antenna>);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().listening = false;
    }
}

impl Ear for MockRadio {
    fn is_receiving(&self) -> bool {
        embassy_time::Instant::now().as_micros() < self.0.borrow().arriving_until
    }
}

impl Radio for MockRadio {
    type Ear = Self;

    fn ear(&self) -> Self {
        self.clone()
    }

    async fn send(&mut self, frame: &[u8]) -> Result<(), SendError> {
        let payload = ADDRESS.open(frame).ok_or(SendError::Failed)?;
        self.0.borrow_mut().outgoing = Some(payload.to_vec());
        let carried = poll_fn(|_| self.0.borrow_mut().carried.take().map_or(Poll::Pending, Poll::Ready)).await;
        if carried { Ok(()) } else { Err(SendError::Busy) }
    }

    async fn receive(&mut self, buffer: &mut MacBuffer) -> Result<Reception, ReceiveError> {
        self.0.borrow_mut().listening = true;
        let _listening = Listening(&self.0);
        let heard = poll_fn(|_| self.0.borrow_mut().incoming.take().map_or(Poll::Pending, Poll::Ready)).await;
        let (payload, link_quality) = heard;
        let mut frame = [0; MAC_BYTES_MAX];
        let frame = ADDRESS.seal(0, &payload, &mut frame).ok_or(ReceiveError::Broken)?;
        buffer[..frame.len()].copy_from_slice(frame);
        Ok(Reception { length: frame.len(), energy_dbm: ENERGY_DBM, link_quality })
    }
}
