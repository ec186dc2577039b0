//! A board of a bank: its tokens move by themselves, and when it is its turn it takes a snapshot of all boards.

use crate::chosen::Upper;
use core::convert::Infallible;
use embassy_time::{Instant, Timer};
use firmware::drive::Asked;
use firmware::page::Page;
use firmware::report::{LockReport, SnapshotReport};
use firmware::turns::{BANK, Turns};
use protocol::mutex;
use protocol::suite::{Command, Notice};

/// What the board does of its own accord.
pub(crate) struct Conduct(Turns);

impl Conduct {
    pub(crate) fn new(page: &Page) -> Self {
        Self(Turns::new(BANK, page.id, page.members))
    }

    #[expect(clippy::unused_self, reason = "every conduct has the same shape")]
    pub(crate) fn tell_lock(&mut self, notice: &mutex::Notice) {
        LockReport::of(notice).log();
    }

    #[expect(clippy::unused_self, reason = "every conduct has the same shape")]
    pub(crate) fn tell_upper(&mut self, notice: &Notice, _: &Upper) {
        match notice {
            Notice::Snapshot(notice) => {
                if let Some(report) = SnapshotReport::of(notice) {
                    report.log();
                } else {
                    defmt::error!("a piece of a snapshot is not of a bank: {}", notice);
                }
            }
            // A bank never closes, and nobody asks whether it has; its clock is not what is shown here.
            Notice::Termination(_) | Notice::Clock(_) => {}
        }
    }

    pub(crate) async fn asked(&mut self) -> Asked<Command<Infallible>> {
        loop {
            if self.0.take(protocol::Instant::from_micros(Instant::now().as_micros())) {
                return Asked::Upper(Command::Snapshot);
            }
            match self.0.due() {
                Some(at) => Timer::at(Instant::from_micros(at.as_micros())).await,
                None => core::future::pending().await,
            }
        }
    }
}
