//! A sensor with an elected uplink: it is read every second, so often that all readings are stored at the end of a swarm.

use super::{Command, Notice, Workload};
use crate::chosen::app::Service;
use embassy_executor::Spawner;
use embassy_time::Duration;
use firmware::cortex_m;
use firmware::demo::schedule::READINGS;
use firmware::net::mqtt::PacketBuffers;
use firmware::report::Report;
use firmware::runner::HostCommand;
use firmware::storage::config_page::ConfigPage;
use firmware::uplink::GatewayCell;
use firmware::uplink::sensor::Sensor;
use firmware::uplink::tcp::{TcpDial, connect};
use firmware_qemu::Parts;
use protocol::NodeId;

const INTERVAL: Duration = Duration::from_secs(1);

static GATEWAY: GatewayCell = GatewayCell::new(None);

/// Starts the connection to the broker.
pub(crate) fn start(spawner: Spawner, parts: &Parts) {
    cortex_m::spawn(spawner, broker_task(NodeId(parts.page.id), TcpDial::new(parts.stack)));
}

#[embassy_executor::task]
async fn broker_task(id: NodeId, mut dial: TcpDial) -> ! {
    connect(id, cortex_m::broker().as_ref(), &mut dial, &mut PacketBuffers::empty(), &GATEWAY).await
}

pub(crate) struct Readings(Sensor<'static>);

impl Workload for Readings {
    fn new(_: &ConfigPage) -> Self {
        Self(Sensor::new(&GATEWAY, INTERVAL, Some(READINGS)))
    }

    fn on_service_notice(&mut self, notice: &Notice, _: &Service) {
        self.0.on_notice(notice);
    }

    fn on_report(&mut self, report: &Report<'_>) {
        self.0.on_report(report);
    }

    async fn next_command(&mut self) -> Command {
        HostCommand::Service(self.0.next_command().await)
    }
}
