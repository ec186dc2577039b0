//! The network driver for the LAN9118 Ethernet controller, driven by its interrupt.
//!
//! The interrupt handler only silences what has fired and wakes the network's task; the task does the work and listens
//! again when nothing is left. A flood of frames thus costs one interrupt per pass, not one per frame.

mod chip;
mod registers;

pub(crate) use chip::StartError;

use crate::vectors::Interrupt;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::Context;
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;

/// Frames looked at before other tasks get their turn. The network would go on as long as there are any.
const BURST_FRAMES: u32 = 16;

/// Who drives the controller: one task does all of it.
static TASK: AtomicWaker = AtomicWaker::new();
/// Whether the link may have changed since it was last looked at.
static LINK_NEWS: AtomicBool = AtomicBool::new(true);

static RECEIVED: AtomicU32 = AtomicU32::new(0);
static RECEIVED_BAD: AtomicU32 = AtomicU32::new(0);
static SENT_BAD: AtomicU32 = AtomicU32::new(0);
static STUCK: AtomicU32 = AtomicU32::new(0);

/// What the driver has done and dropped. Counts wrap.
#[derive(Clone, Copy)]
pub(crate) struct Counters {
    /// Frames handed to the network.
    pub(crate) received: u32,
    /// Frames that came damaged, too short or too long.
    pub(crate) received_bad: u32,
    /// Frames that did not get out.
    pub(crate) sent_bad: u32,
    /// Times the controller did not answer.
    pub(crate) stuck: u32,
}

/// What the driver has done and dropped since it started.
pub(crate) fn counters() -> Counters {
    Counters {
        received: RECEIVED.load(Ordering::Relaxed),
        received_bad: RECEIVED_BAD.load(Ordering::Relaxed),
        sent_bad: SENT_BAD.load(Ordering::Relaxed),
        stuck: STUCK.load(Ordering::Relaxed),
    }
}

/// The controller wants attention.
pub(crate) fn on_interrupt() {
    let fired = chip::take_interrupts();
    if fired & registers::INT_PHY != 0 {
        LINK_NEWS.store(true, Ordering::Release);
    }
    TASK.wake();
}

/// The Ethernet controller.
pub(crate) struct Lan9118 {
    address: [u8; 6],
    link: LinkState,
    /// Frames looked at in this burst.
    burst: u32,
    received: chip::Buffer,
    sending: chip::Buffer,
}

impl Lan9118 {
    /// Starts the controller under a hardware address. Called once.
    ///
    /// # Errors
    /// When the controller is not there or does not answer.
    pub(crate) fn start(address: [u8; 6]) -> Result<Self, StartError> {
        chip::start(address)?;
        // Only now: before the pin is configured it stands at what looks like an interrupt.
        Interrupt::Ethernet.enable();
        Ok(Self { address, link: LinkState::Down, burst: 0, received: chip::BUFFER, sending: chip::BUFFER })
    }
}

/// Whether a frame waits; if not, the task is woken when one comes.
fn frame_or_listen() -> bool {
    chip::has_frame() || {
        chip::listen(registers::INT_RX_STATUS);
        chip::has_frame()
    }
}

/// Whether there is room to send; if not, the task is woken when there is.
fn room_or_listen() -> bool {
    chip::has_room() || {
        chip::listen(registers::INT_TX_ROOM);
        chip::has_room()
    }
}

impl Driver for Lan9118 {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Received<'_>, Sending<'_>)> {
        TASK.register(cx.waker());
        if !room_or_listen() {
            return None;
        }
        while self.burst < BURST_FRAMES {
            if !frame_or_listen() {
                self.burst = 0;
                return None;
            }
            self.burst = self.burst.saturating_add(1);
            if let Some(length) = chip::take_frame(&mut self.received) {
                RECEIVED.fetch_add(1, Ordering::Relaxed);
                return Some((Received { buffer: &mut self.received, length }, Sending { buffer: &mut self.sending }));
            }
            RECEIVED_BAD.fetch_add(1, Ordering::Relaxed);
        }
        // More may wait: come back, after the others.
        self.burst = 0;
        cx.waker().wake_by_ref();
        None
    }

    fn transmit(&mut self, cx: &mut Context<'_>) -> Option<Sending<'_>> {
        TASK.register(cx.waker());
        room_or_listen().then_some(Sending { buffer: &mut self.sending })
    }

    fn link_state(&mut self, cx: &mut Context<'_>) -> LinkState {
        TASK.register(cx.waker());
        if LINK_NEWS.swap(false, Ordering::AcqRel) {
            self.link = match chip::is_link_up() {
                Ok(true) => LinkState::Up,
                Ok(false) => LinkState::Down,
                Err(chip::Stuck) => {
                    STUCK.fetch_add(1, Ordering::Relaxed);
                    LinkState::Down
                }
            };
        }
        self.link
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = chip::FRAME_BYTES_MAX;
        capabilities.max_burst_size = Some(1);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.address)
    }
}

/// A frame that has come.
pub(crate) struct Received<'a> {
    buffer: &'a mut chip::Buffer,
    length: usize,
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        read(self.buffer.get_mut(..self.length).unwrap_or_default())
    }
}

/// Room for a frame to send.
pub(crate) struct Sending<'a> {
    buffer: &'a mut chip::Buffer,
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        // The network keeps to the size it was told, so a longer frame is never asked for.
        let length = length.min(chip::FRAME_BYTES_MAX);
        let result = write(self.buffer.get_mut(..length).unwrap_or_default());
        SENT_BAD.fetch_add(chip::send_frame(self.buffer, length), Ordering::Relaxed);
        result
    }
}
