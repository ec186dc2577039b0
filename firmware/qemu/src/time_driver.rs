//! Time in microseconds, from two CMSDK timers: a free-running down counter and an alarm.
//!
//! The counter has 32 bits and wraps every 171.8 s. The driver keeps the ticks up to the last reading and the counter's
//! value then; a reading adds the difference. That needs no overflow interrupt, only one reading per wrap: the alarm is
//! never set further ahead than a quarter of it.

use crate::peripherals::{Block, CLOCK_HZ, TIMER0, TIMER1};
use crate::vectors::Interrupt;
use core::cell::RefCell;
use core::task::Waker;
use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::{Driver, TICK_HZ};
use embassy_time_queue_utils::Queue;

const COUNTER: Block = TIMER0;
const ALARM: Block = TIMER1;

const CTRL: usize = 0x0; // enables a timer and its interrupt
const CTRL_ENABLE: u32 = 1;
const CTRL_INTERRUPT: u32 = 1 << 3;
const VALUE: usize = 0x4; // current value
const RELOAD: usize = 0x8; // value after 0; a timer with 0 stops
const INTSTATUS: usize = 0xc; // whether the timer has fired; writing clears it
const INTSTATUS_FIRED: u32 = 1;

#[expect(clippy::cast_possible_truncation, reason = "a million")]
const CYCLES_PER_TICK: u32 = CLOCK_HZ / TICK_HZ as u32;
const ALARM_CYCLES_MAX: u32 = 1 << 30;
const ALARM_TICKS_MAX: u64 = (ALARM_CYCLES_MAX / CYCLES_PER_TICK) as u64;

/// A larger difference between two readings means that the counter was read as stepping back.
const ELAPSED_CYCLES_MAX: u32 = u32::MAX - ALARM_CYCLES_MAX;

const _: () = assert!((CLOCK_HZ as u64).is_multiple_of(TICK_HZ), "a tick is a whole number of cycles");
const _: () = assert!(ALARM_CYCLES_MAX < ELAPSED_CYCLES_MAX, "the alarm ensures a reading per wrap");

struct Clock {
    ticks: u64,
    /// Value of the counter at `ticks`.
    value: u32,
    queue: Queue,
}

impl Clock {
    fn now(&mut self) -> u64 {
        let elapsed = self.value.wrapping_sub(COUNTER.read(VALUE));
        if elapsed <= ELAPSED_CYCLES_MAX {
            let ticks = elapsed / CYCLES_PER_TICK;
            self.ticks = self.ticks.saturating_add(u64::from(ticks));
            // The cycles of an incomplete tick are left for the next reading.
            self.value = self.value.wrapping_sub(ticks.wrapping_mul(CYCLES_PER_TICK));
        }
        self.ticks
    }

    /// Wakes expired timers, and sets the alarm for the next.
    fn serve(&mut self) {
        let now = self.now();
        let next = self.queue.next_expiration(now);
        let ticks = next.saturating_sub(now).clamp(1, ALARM_TICKS_MAX);
        let cycles = u32::try_from(ticks).unwrap_or(ALARM_CYCLES_MAX).saturating_mul(CYCLES_PER_TICK);
        ALARM.write(CTRL, 0);
        ALARM.write(INTSTATUS, INTSTATUS_FIRED);
        ALARM.write(VALUE, cycles);
        ALARM.write(CTRL, CTRL_ENABLE | CTRL_INTERRUPT);
    }
}

struct Timers(Mutex<RefCell<Clock>>);

impl Timers {
    const fn new() -> Self {
        Self(Mutex::new(RefCell::new(Clock { ticks: 0, value: u32::MAX, queue: Queue::new() })))
    }

    /// Code that holds the clock does not call this, so it is never borrowed twice.
    fn with<R>(&self, act: impl FnOnce(&mut Clock) -> R) -> R {
        critical_section::with(|section: CriticalSection<'_>| act(&mut self.0.borrow_ref_mut(section)))
    }
}

impl Driver for Timers {
    fn now(&self) -> u64 {
        self.with(Clock::now)
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        self.with(|clock| {
            if clock.queue.schedule_wake(at, waker) {
                clock.serve();
            }
        });
    }
}

embassy_time_driver::time_driver_impl!(static TIMERS: Timers = Timers::new());

/// Starts time at 0.
pub(crate) fn start() {
    COUNTER.write(CTRL, 0);
    COUNTER.write(RELOAD, u32::MAX);
    COUNTER.write(VALUE, u32::MAX);
    COUNTER.write(CTRL, CTRL_ENABLE);
    ALARM.write(CTRL, 0);
    ALARM.write(RELOAD, 0);
    TIMERS.with(Clock::serve);
    Interrupt::Alarm.enable();
}

pub(crate) fn on_alarm() {
    TIMERS.with(Clock::serve);
}
