//! A board without a light: where it would flash, at every full second of the shared clock, it says so.

#![expect(clippy::unused_self, reason = "every conduct has the same shape")]

use crate::chosen::Upper;
use core::convert::Infallible;
use core::future::{Future, pending};
use firmware::drive::Asked;
use firmware::page::Page;
use firmware::report::{ClockReport, LockReport};
use protocol::clock_sync::Notice;
use protocol::mutex;

/// What the board does of its own accord.
pub(crate) struct Conduct;

impl Conduct {
    pub(crate) const fn new(_: &Page) -> Self {
        Self
    }

    pub(crate) fn tell_lock(&mut self, notice: &mutex::Notice) {
        LockReport::of(notice).log();
    }

    pub(crate) fn tell_upper(&mut self, notice: &Notice, _: &Upper) {
        ClockReport::of(*notice).log();
    }

    pub(crate) fn beat(&mut self, time: protocol::Instant) {
        ClockReport::Flash { time }.log();
    }

    pub(crate) fn asked(&mut self) -> impl Future<Output = Asked<Infallible>> {
        pending()
    }
}
