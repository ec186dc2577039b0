//! The network driver for the LAN9118 Ethernet controller.
//!
//! The interrupt handler only masks the events that fired and wakes the network's task; the task does the work and
//! unmasks them when none is left. A flood of frames costs one interrupt per pass, not one per frame.

mod chip;
mod registers;

pub(crate) use chip::StartError;

use crate::vectors::Interrupt;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::Context;
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;
use firmware::runner::DriverCounters;

/// Frames received before other tasks run.
const BURST_FRAMES: u32 = 16;

static TASK: AtomicWaker = AtomicWaker::new();
/// Whether the link may have changed since it was last read.
static LINK_CHANGED: AtomicBool = AtomicBool::new(true);

static RECEIVED: AtomicU32 = AtomicU32::new(0);
static RECEIVED_BAD: AtomicU32 = AtomicU32::new(0);
static SENT_BAD: AtomicU32 = AtomicU32::new(0);
static STUCK: AtomicU32 = AtomicU32::new(0);

/// Frames received and lost since the driver started: damaged, not sent, or timeouts of the controller.
pub(crate) fn counters() -> DriverCounters {
    let [received, received_bad, sent_bad, stuck] =
        [&RECEIVED, &RECEIVED_BAD, &SENT_BAD, &STUCK].map(|counter| counter.load(Ordering::Relaxed));
    DriverCounters { received, lost: received_bad.saturating_add(sent_bad).saturating_add(stuck) }
}

pub(crate) fn on_interrupt() {
    let fired = chip::take_interrupts();
    if fired & registers::INT_PHY != 0 {
        LINK_CHANGED.store(true, Ordering::Release);
    }
    TASK.wake();
}

pub(crate) struct Lan9118 {
    address: [u8; 6],
    link: LinkState,
    burst: u32,
    received: chip::Buffer,
    sending: chip::Buffer,
}

impl Lan9118 {
    /// Starts the controller with a MAC address. Called once.
    ///
    /// # Errors
    /// When the controller does not answer.
    pub(crate) fn start(address: [u8; 6]) -> Result<Self, StartError> {
        chip::start(address)?;
        // Only now: until the pin is configured, its level is that of an interrupt.
        Interrupt::Ethernet.enable();
        Ok(Self { address, link: LinkState::Down, burst: 0, received: chip::BUFFER, sending: chip::BUFFER })
    }
}

/// Returns whether a frame is received; if not, the next one wakes the task.
fn frame_or_unmask() -> bool {
    chip::has_frame() || {
        chip::unmask(registers::INT_RX_STATUS);
        chip::has_frame()
    }
}

/// Returns whether there is room to send; if not, room wakes the task.
fn room_or_unmask() -> bool {
    chip::has_room() || {
        chip::unmask(registers::INT_TX_ROOM);
        chip::has_room()
    }
}

impl Driver for Lan9118 {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Received<'_>, Sending<'_>)> {
        TASK.register(cx.waker());
        if !room_or_unmask() {
            return None;
        }
        while self.burst < BURST_FRAMES {
            if !frame_or_unmask() {
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
        // More frames may be received: continue after the other tasks.
        self.burst = 0;
        cx.waker().wake_by_ref();
        None
    }

    fn transmit(&mut self, cx: &mut Context<'_>) -> Option<Sending<'_>> {
        TASK.register(cx.waker());
        room_or_unmask().then_some(Sending { buffer: &mut self.sending })
    }

    fn link_state(&mut self, cx: &mut Context<'_>) -> LinkState {
        TASK.register(cx.waker());
        if LINK_CHANGED.swap(false, Ordering::AcqRel) {
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
        // The network stack keeps to the MTU.
        let length = length.min(chip::FRAME_BYTES_MAX);
        let result = write(self.buffer.get_mut(..length).unwrap_or_default());
        SENT_BAD.fetch_add(chip::send_frame(self.buffer, length), Ordering::Relaxed);
        result
    }
}
