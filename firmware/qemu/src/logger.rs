//! The log: defmt frames over the serial port, decoded on the host with the image's symbols.
//!
//! A reader that stops must not stop the board: a frame that finds the port full for too long is truncated. The decoder
//! drops it and synchronises to the next one.

use crate::peripherals::UART0;
use core::cell::RefCell;
use critical_section::{Mutex, RestoreState};

const DATA: usize = 0x00; // byte to send
const STATE: usize = 0x04; // bit 0: the send buffer is full
const STATE_SEND_FULL: u32 = 1;
const CTRL: usize = 0x08; // bit 0: sending is on
const CTRL_SEND: u32 = 1;
const BAUDDIV: usize = 0x10; // clock cycles per bit. The emulated port is as fast as its reader, whatever the value
const BAUDDIV_MIN: u32 = 16;

/// How often one frame may find the port full before the rest of it is dropped.
const FULL_POLLS_MAX: u32 = 20_000;

static PORT: Mutex<RefCell<Port>> = Mutex::new(RefCell::new(Port::new()));

/// Turns the serial port on. Earlier lines are lost.
pub(crate) fn start() {
    UART0.write(BAUDDIV, BAUDDIV_MIN);
    UART0.write(CTRL, CTRL_SEND);
}

struct Port {
    encoder: defmt::Encoder,
    /// Interrupt state to restore at the end of the frame; `None` between frames.
    interrupts: Option<RestoreState>,
    polls_left: u32,
}

impl Port {
    const fn new() -> Self {
        Self { encoder: defmt::Encoder::new(), interrupts: None, polls_left: 0 }
    }

    fn begin(&mut self, interrupts: RestoreState) {
        if self.interrupts.is_some() {
            // The earlier frame was interrupted by a panic and is not resumed.
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

/// Code that holds the port does not log, so it is never borrowed twice; a fault while it is held is not logged.
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
