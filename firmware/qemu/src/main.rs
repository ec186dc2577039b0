//! The image of the emulated board that `conclave swarm` builds: the algorithms and the application that were chosen.

#![no_std]
#![no_main]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod application;
#[path = "../../boards/chosen.rs"]
mod chosen;
mod workload;

use embassy_executor::Spawner;
use firmware::cortex_m;
use firmware_qemu::Parts;

#[cortex_m_rt::entry]
fn main() -> ! {
    firmware_qemu::boot(start)
}

fn start(spawner: Spawner, parts: Parts) {
    #[cfg(app = "uplink")]
    workload::uplink::start(spawner, &parts);
    cortex_m::spawn(spawner, node_task(parts));
}

#[embassy_executor::task]
async fn node_task(parts: Parts) -> ! {
    application::run(parts).await
}
