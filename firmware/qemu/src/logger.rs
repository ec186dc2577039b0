//! The log: defmt frames over the serial port, decoded on the host with the image's symbols.
//!
//! A reader that has stopped reading must not stop the board: a frame that finds no room for too long is cut short.
//! The decoder then drops it and finds the next one.

use crate::peripherals::UART0;
use core::cell::RefCell;
use critical_section::{Mutex, RestoreState};

/// One byte to send.
const DATA: usize = 0x00;
/// Bit 0: no room to send.
const STATE: usize = 0x04;
const STATE_SEND_FULL: u32 = 1;
/// Bit 0: sending is on.
const CTRL: usize = 0x08;
const CTRL_SEND: u32 = 1;
/// Clock cycles per bit. The emulated port is as fast as its reader, whatever this says.
const BAUDDIV: usize = 0x10;
const BAUDDIV_MIN: u32 = 16;

/// How often one frame may find the port full, in all, before the rest of it is dropped.
const FULL_POLLS_MAX: u32 = 20_000;

static PORT: Mutex<RefCell<Port>> = Mutex::new(RefCell::new(Port::new()));

/// Turns the serial port on. What is logged before this is lost.
pub(crate) fn start() {
    UART0.write(BAUDDIV, BAUDDIV_MIN);
    UART0.write(CTRL, CTRL_SEND);
}

struct Port {
    encoder: defmt::Encoder,
    /// What the interrupts go back to when the frame is done; nothing when no frame is under way.
    interrupts: Option<RestoreState>,
    polls_left: u32,
}

impl Port {
    const fn new() -> Self {
        Self { encoder: defmt::Encoder::new(), interrupts: None, polls_left: 0 }
    }

    fn begin(&mut self, interrupts: RestoreState) {
        if self.interrupts.is_some() {
            // Whoever began that frame panicked within it and does not come back.
            self.end();
        } else {
            self.interrupts = Some(interrupts);
        }
        self.polls_left = FULL_POLLS_MAX;
        self.encoder.start_frame(|bytes| send(bytes, &mut self.polls_left));
    }

    fn write(&mut self, bytes: &[u8]) {
        self.encoder.write(bytes, |bytes| send(bytes, &mut self.polls_left));
    }

    fn end(&mut self) {
        self.encoder.end_frame(|bytes| send(bytes, &mut self.polls_left));
    }
}

fn send(bytes: &[u8], polls_left: &mut u32) {
    for &byte in bytes {
        while UART0.read(STATE) & STATE_SEND_FULL != 0 {
            let Some(left) = polls_left.checked_sub(1) else {
                return;
            };
            *polls_left = left;
        }
        UART0.write(DATA, u32::from(byte));
    }
}

/// Nothing that is done with the port logs, so it is never borrowed twice; if it is all the same, by a fault in the
/// middle of it, that fault stays silent.
fn with<R>(act: impl FnOnce(&mut Port) -> R) -> Option<R> {
    critical_section::with(|section| PORT.borrow(section).try_borrow_mut().ok().map(|mut port| act(&mut port)))
}

#[defmt::global_logger]
struct Logger;

#[expect(unsafe_code, reason = "interrupts stay off from `acquire` to `release`, so one frame is written at a time")]
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        let interrupts = unsafe { critical_section::acquire() };
        with(|port| port.begin(interrupts));
    }

    unsafe fn flush() {}

    unsafe fn release() {
        let interrupts = with(|port| {
            port.end();
            port.interrupts.take()
        });
        if let Some(Some(interrupts)) = interrupts {
            unsafe { critical_section::release(interrupts) };
        }
    }

    unsafe fn write(bytes: &[u8]) {
        with(|port| port.write(bytes));
    }
}
