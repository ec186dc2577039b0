//! A board that does nothing of its own accord.

#![expect(clippy::unused_self, clippy::trivially_copy_pass_by_ref, reason = "every conduct has the same shape")]

use crate::chosen::Upper;
use core::convert::Infallible;
use core::future::{Future, pending};
use firmware::drive::Asked;
use firmware::page::Page;
use protocol::mutex::Notice;

/// What the board does of its own accord.
pub(crate) struct Conduct;

impl Conduct {
    pub(crate) const fn new(_: &Page) -> Self {
        Self
    }

    pub(crate) fn tell_lock(&mut self, notice: &Notice) {
        firmware::report::LockReport::of(notice).log();
    }

    pub(crate) const fn tell_upper(&mut self, notice: &<Upper as protocol::Algorithm>::Notice, _: &Upper) {
        match *notice {}
    }

    pub(crate) fn asked(&mut self) -> impl Future<Output = Asked<Infallible>> {
        pending()
    }
}
