//! A radio driver on the simulated medium.

use firmware::net::radio::mac::{Address, MAC_BYTES_MAX, MacBuffer};
use firmware::net::radio::{Radio, ReceiveError, Reception, RxStatus, SendError};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// The address of every frame. The simulator counts headers as overhead and carries only the payload.
pub(crate) const ADDRESS: Address = Address { pan: 0xbeef, short: 1 };
/// Strong enough: the simulator decides on the reception.
const ENERGY_DBM: i8 = -40;

/// The state shared by a board's driver and the medium.
#[derive(Default)]
pub(crate) struct Antenna {
    /// The frame to send, if the channel is free.
    pub(crate) outgoing: Option<Vec<u8>>,
    pub(crate) sent: Option<bool>,
    /// The received frame, and its link quality.
    pub(crate) incoming: Option<(Vec<u8>, u8)>,
    /// The end of the reception in progress, in microseconds of the board's clock.
    pub(crate) arriving_until: u64,
    /// Whether the receiver is on.
    listening: bool,
}

impl Antenna {
    /// Receives a frame. Like a real radio, it buffers one, and only while its receiver is on.
    pub(crate) fn receive(&mut self, bytes: &[u8], quality: u8) {
        if self.listening && self.incoming.is_none() {
            self.incoming = Some((bytes.to_vec(), quality));
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct MockRadio(pub(crate) Rc<RefCell<Antenna>>);

/// Switches the receiver off when the program stops waiting for a frame.
struct Listening<'a>(&'a RefCell<Antenna>);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().listening = false;
    }
}

impl RxStatus for MockRadio {
    fn is_receiving(&self) -> bool {
        embassy_time::Instant::now().as_micros() < self.0.borrow().arriving_until
    }
}

impl Radio for MockRadio {
    type RxStatus = Self;

    fn rx_status(&self) -> Self {
        self.clone()
    }

    async fn send(&mut self, frame: &[u8]) -> Result<(), SendError> {
        let payload = ADDRESS.open(frame).ok_or(SendError::Failed)?;
        self.0.borrow_mut().outgoing = Some(payload.to_vec());
        let sent = poll_fn(|_| self.0.borrow_mut().sent.take().map_or(Poll::Pending, Poll::Ready)).await;
        if sent { Ok(()) } else { Err(SendError::Busy) }
    }

    async fn receive(&mut self, buffer: &mut MacBuffer) -> Result<Reception, ReceiveError> {
        self.0.borrow_mut().listening = true;
        let _listening = Listening(&self.0);
        let received = poll_fn(|_| self.0.borrow_mut().incoming.take().map_or(Poll::Pending, Poll::Ready)).await;
        let (payload, link_quality) = received;
        let mut frame = [0; MAC_BYTES_MAX];
        let frame = ADDRESS.seal(0, &payload, &mut frame).ok_or(ReceiveError::Corrupt)?;
        buffer[..frame.len()].copy_from_slice(frame);
        Ok(Reception { length: frame.len(), energy_dbm: ENERGY_DBM, link_quality })
    }
}
