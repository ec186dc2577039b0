//! A board that contends for a lock, and counts under it.

use embassy_time::{Instant, Timer};
use firmware::contend::{Contender, LOCK, Want};
use firmware::drive::Asked;
use firmware::page::Page;
use firmware::report::LockReport;
use protocol::counter::{self, Command, Counter};
use protocol::mutex::Notice;

/// What the board does of its own accord.
pub(crate) struct Conduct(Contender);

impl Conduct {
    pub(crate) fn new(page: &Page) -> Self {
        // Boards that start at the same moment, and the same board at another, rest for different times.
        Self(Contender::new(page.seed ^ Instant::now().as_ticks(), now()))
    }

    pub(crate) fn tell_lock(&mut self, notice: &Notice) {
        LockReport::of(notice).log();
        self.0.hear(now(), notice);
    }

    pub(crate) fn tell_upper(&mut self, notice: &counter::Notice, _: &Counter) {
        let (report, fence) = match *notice {
            counter::Notice::Counted { fence, total } => (LockReport::Counted { lock: LOCK, fence, total }, fence),
            counter::Notice::Outdated { fence } => (LockReport::Outdated { lock: LOCK, fence }, fence),
        };
        report.log();
        self.0.counted(now(), fence);
    }

    pub(crate) async fn asked(&mut self) -> Asked<Command> {
        loop {
            match self.0.want(now()) {
                Some(Want::Lock(command)) => return Asked::Mutex(command),
                Some(Want::Count(fence)) => return Asked::Upper(Command::Add { fence }),
                None => match self.0.due() {
                    Some(at) => Timer::at(Instant::from_micros(at.as_micros())).await,
                    None => core::future::pending().await,
                },
            }
        }
    }
}

fn now() -> protocol::Instant {
    protocol::Instant::from_micros(Instant::now().as_micros())
}
