//! A board that works: when it is its turn it begins a job, which spreads over all boards, and asks when it is over.

use crate::chosen::Upper;
use embassy_time::{Instant, Timer};
use firmware::drive::Asked;
use firmware::page::Page;
use firmware::report::{JobReport, LockReport};
use firmware::turns::{JOBS, Turns, UNITS};
use protocol::application::diffusing;
use protocol::suite::{Command, Notice};
use protocol::{mutex, termination};

/// What the board does of its own accord.
pub(crate) struct Conduct {
    turns: Turns,
    /// Whether it has begun a job and is to ask when it is over.
    begun: bool,
}

impl Conduct {
    pub(crate) fn new(page: &Page) -> Self {
        Self { turns: Turns::new(JOBS, page.id, page.members), begun: false }
    }

    #[expect(clippy::unused_self, reason = "every conduct has the same shape")]
    pub(crate) fn tell_lock(&mut self, notice: &mutex::Notice) {
        LockReport::of(notice).log();
    }

    #[expect(clippy::unused_self, reason = "every conduct has the same shape")]
    pub(crate) fn tell_upper(&mut self, notice: &Notice, upper: &Upper) {
        match *notice {
            Notice::Termination(termination::Notice::Terminated { by, job, waves }) => {
                JobReport::Terminated { job, by, waves, done: upper.application().done() }.log();
            }
            Notice::Termination(termination::Notice::Aborted { why: termination::Why::Lost }) => {
                JobReport::Unknowable.log();
            }
            // Nobody takes a snapshot of it; its clock is not what is shown here.
            Notice::Snapshot(_) | Notice::Clock(_) => {}
        }
    }

    pub(crate) async fn asked(&mut self) -> Asked<Command<diffusing::Command>> {
        loop {
            if core::mem::take(&mut self.begun) {
                return Asked::Upper(Command::Watch);
            }
            if self.turns.take(protocol::Instant::from_micros(Instant::now().as_micros())) {
                self.begun = true;
                JobReport::Begun { units: UNITS }.log();
                return Asked::Upper(Command::Application(diffusing::Command::Start { units: UNITS }));
            }
            match self.turns.due() {
                Some(at) => Timer::at(Instant::from_micros(at.as_micros())).await,
                None => core::future::pending().await,
            }
        }
    }
}
