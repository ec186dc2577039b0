//! Connections to a broker over embassy-net.

use super::GatewayCell;
use crate::net::mqtt::{self, Dial, PacketBuffers, Settings};
use crate::storage::config_page::broker::Broker;
use core::future::pending;
use embassy_net::tcp::TcpSocket;
use embassy_net::{IpAddress, IpEndpoint, Ipv4Address, Stack};
use embassy_time::Duration;
use protocol::NodeId;

/// A message and its acknowledgement are short; the broker's bursts wait in its own buffers.
const BUFFER_BYTES: usize = 512;
/// How long the broker may be silent while it owes an acknowledgement of bytes.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Opens connections, one at a time.
pub struct TcpDial {
    stack: Stack<'static>,
    broker: Option<IpEndpoint>,
    receive: [u8; BUFFER_BYTES],
    send: [u8; BUFFER_BYTES],
}

impl TcpDial {
    /// Makes the buffers of a connection. The stack needs one free socket.
    #[must_use]
    pub const fn new(stack: Stack<'static>) -> Self {
        Self { stack, broker: None, receive: [0; BUFFER_BYTES], send: [0; BUFFER_BYTES] }
    }
}

impl Dial for TcpDial {
    type Stream<'a> = TcpSocket<'a>;

    async fn dial(&mut self) -> Option<TcpSocket<'_>> {
        let mut socket = TcpSocket::new(self.stack, &mut self.receive, &mut self.send);
        socket.set_timeout(Some(TIMEOUT));
        socket.connect(self.broker?).await.ok()?;
        Some(socket)
    }
}

/// Keeps the gateway of a board connected to its broker, which the board's network reaches; without one, does nothing.
pub async fn connect(
    id: NodeId,
    broker: Option<&Broker>,
    dial: &mut TcpDial,
    buffers: &mut PacketBuffers,
    gateway: &GatewayCell,
) -> ! {
    if let Some(broker) = broker
        && let Some(settings) = Settings::new(id, broker.prefix(), None)
    {
        let [a, b, c, d] = broker.address;
        let address = IpAddress::Ipv4(Ipv4Address::new(a, b, c, d));
        dial.broker = Some(IpEndpoint { addr: address, port: broker.port });
        mqtt::run(&settings, buffers, dial, gateway).await;
    }
    #[cfg(feature = "defmt")]
    defmt::warn!("no broker behind the config page: this board publishes nothing");
    pending().await
}
