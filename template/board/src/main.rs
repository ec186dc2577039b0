//! The firmware of a board that runs the application: `cargo build --package my-board --target thumbv7m-none-eabi --profile
//! firmware` builds an image, and `conclave swarm --nodes 3 --image FILE` boots three emulated boards with it.

#![no_std]
#![no_main]

use core::future::pending;
use embassy_executor::Spawner;
use embassy_time::{Duration, Instant, Timer};
use firmware::report::Report;
use firmware::runner::{self, Board, DriverCounters, FromPage, HostCommand, Start};
use firmware_qemu::{Hardware, Parts};
use my_app::counter::{Add, Counter, MEMBERS_MAX, Value};
use protocol::Algorithm;
use protocol::election::Bully;
use protocol::mutex::NoMutex;
use protocol::service::{AppService, app_service};

type Service = AppService<Counter>;

/// How far this board counts, and how often.
const COUNT: u32 = 5;
const INTERVAL: Duration = Duration::from_secs(1);

/// The board as its node sees it.
struct CountingBoard {
    hardware: Hardware,
    counted: u32,
    next: Instant,
}

impl Board<Service> for CountingBoard {
    fn feed_watchdog(&mut self) {
        self.hardware.feed_watchdog();
    }

    fn on_healthy(&mut self) {
        self.hardware.on_healthy();
    }

    fn driver_counters(&self) -> DriverCounters {
        self.hardware.driver_counters()
    }

    /// Who leads, what was stored, counters: lines that `conclave swarm` reads.
    fn on_report(&mut self, report: &Report<'_>) {
        report.log();
    }

    fn on_service_notice(&mut self, notice: &<Service as Algorithm>::Notice, _: &Service) {
        if let app_service::Notice::Application(Value(value)) = *notice {
            defmt::info!("the counter is at {=u64}", value);
        }
    }

    /// A board with a button would wait for it here.
    async fn next_command(&mut self) -> HostCommand<<Service as Algorithm>::Command> {
        if self.counted == COUNT {
            pending::<()>().await;
        }
        Timer::at(self.next).await;
        // Nothing is awaited from here on: the runner may drop this future whenever a frame arrives.
        self.next += INTERVAL;
        self.counted += 1;
        HostCommand::Service(Add(1).into())
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    firmware_qemu::boot(start)
}

fn start(spawner: Spawner, parts: Parts) {
    firmware::cortex_m::spawn(spawner, node_task(parts));
}

#[embassy_executor::task]
async fn node_task(parts: Parts) -> ! {
    let Parts { page, mut transport, mut store, hardware, .. } = parts;
    let mut board = CountingBoard { hardware, counted: 0, next: Instant::now() + INTERVAL };
    let start = Start {
        page,
        group: Option::from_page,
        election: || Some(Bully::default()),
        mutex: || Some(NoMutex),
        service: || Service::new(Counter::default()),
        entropy: Instant::now().as_ticks(),
    };
    runner::run::<_, _, MEMBERS_MAX, _, _>(&start, &mut transport, &mut store, &mut board).await;
    firmware_qemu::reset_after_stop()
}
