//! A gateway's connection to its MQTT broker, the same on boards and desktops: connects, subscribes, publishes what the
//! gateway has, and connects again, each time a little later, when the connection is lost.
//!
//! | topic, below the prefix | published | by |
//! | --- | --- | --- |
//! | `gateway`, with clusters `gateway/ID` | the fence of the gateway's claim, retained | the gateway |
//! | `up/ID` | a message of node ID, at least once | the gateway |
//! | `down/ID` | up to 24 bytes for node ID | anyone |
//! | `status/ID` | `online`, or `offline` as the last will, retained | every node with a broker |
//!
//! Claims, messages and acknowledgements are handled in the order in which the broker sent them, one at a time: the
//! guarantee of [`protocol::service::uplink`] rests on that order.

use crate::storage::config_page::broker::PREFIX_BYTES_MAX;
use core::fmt::Write as _;
use core::future::Future;
use embassy_futures::select::{Either, select};
use embassy_time::{Duration, Timer, with_timeout};
use embedded_io_async::{Read, Write};
use heapless::String;
use minimq::{
    Buffers, ConfigBuilder, Connection, InboundPublish, Op, Publication as Outbound, QoS, Session, SubscriptionOptions,
    TopicFilter, Will,
};
use protocol::NodeId;
use protocol::service::uplink::{Fence, Gateway, PAYLOAD_MAX, Publication, TEXT_MAX};

/// The port of brokers without encryption.
pub const PORT: u16 = 1883;
/// The longest prefix of topics.
pub const PREFIX_MAX: usize = PREFIX_BYTES_MAX;
/// A prefix, the longest word below it and an id.
const TOPIC_MAX: usize = PREFIX_MAX + 20;
/// One packet: fixed header, topic, packet id, properties and text, with room to spare.
pub const RECEIVE_BYTES: usize = 256;
/// A message in flight, an acknowledgement, and the room that `CONNECT` with its last will takes.
pub const SEND_BYTES: usize = 768;
const _: () = assert!(RECEIVE_BYTES > TOPIC_MAX + TEXT_MAX + 64, "a message fits");
const _: () = assert!(PAYLOAD_MAX < TEXT_MAX, "a downlink is shorter than a message");

/// How long to connect, or to wait for an acknowledgement, before the connection counts as lost.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The first pause before connecting again; it doubles with every failure.
const BACK_OFF_MIN: Duration = Duration::from_millis(250);
const BACK_OFF_MAX: Duration = Duration::from_secs(8);
/// Seconds without a packet after which the client pings; the broker publishes the last will after one and a half times as many.
const KEEP_ALIVE_SECONDS: u16 = 6;

type Topic = String<TOPIC_MAX>;

/// A gateway that the node's host and the connection share.
pub trait SharedGateway {
    /// Runs with the gateway.
    fn with<R>(&self, run: impl FnOnce(&mut Gateway) -> R) -> R;

    /// Waits until the gateway may have something to publish.
    fn changed(&self) -> impl Future<Output = ()>;
}

/// Opens connections to the broker.
pub trait Dial {
    /// A stream of bytes in both directions.
    type Stream<'a>: Read + Write
    where
        Self: 'a;

    /// Opens a connection; `None` where that fails.
    fn dial(&mut self) -> impl Future<Output = Option<Self::Stream<'_>>>;
}

/// Memory of a connection. Make one per gateway, in a static.
#[derive(Debug)]
pub struct PacketBuffers {
    receive: [u8; RECEIVE_BYTES],
    send: [u8; SEND_BYTES],
}

impl PacketBuffers {
    /// Empty buffers.
    #[must_use]
    pub const fn empty() -> Self {
        Self { receive: [0; RECEIVE_BYTES], send: [0; SEND_BYTES] }
    }
}

/// Who connects, and below which topics.
#[derive(Clone, Debug)]
pub struct Settings {
    id: NodeId,
    /// What all topics of its group begin with.
    prefix: String<PREFIX_MAX>,
    /// The node, where each super-peer has a fence of its own.
    scope: Option<NodeId>,
}

impl Settings {
    /// Returns the settings of a node; `None` where the prefix is empty or too long.
    #[must_use]
    pub fn new(id: NodeId, prefix: &str, scope: Option<NodeId>) -> Option<Self> {
        let prefix = String::try_from(prefix).ok().filter(|prefix| !prefix.is_empty())?;
        Some(Self { id, prefix, scope })
    }

    fn topic(&self, word: &str, id: Option<NodeId>) -> Topic {
        let mut topic = Topic::new();
        // It fits: TOPIC_MAX is for the longest.
        let _ = match id {
            Some(NodeId(id)) => write!(topic, "{}/{word}/{id}", self.prefix),
            None => write!(topic, "{}/{word}", self.prefix),
        };
        topic
    }

    /// Returns the node that a topic such as `PREFIX/word/7` is about.
    fn node(&self, topic: &str, word: &str) -> Option<NodeId> {
        let rest = topic.strip_prefix(self.prefix.as_str())?.strip_prefix('/')?.strip_prefix(word)?;
        rest.strip_prefix('/')?.parse().ok().map(NodeId)
    }
}

/// Keeps a gateway connected, for ever.
pub async fn run(
    settings: &Settings,
    buffers: &mut PacketBuffers,
    dial: &mut impl Dial,
    gateway: &impl SharedGateway,
) -> ! {
    let mut back_off = BACK_OFF_MIN;
    loop {
        if let Ok(Some(stream)) = with_timeout(TIMEOUT, dial.dial()).await {
            let served = serve(settings, buffers, stream, gateway).await;
            gateway.with(Gateway::on_disconnected);
            if served == Served::Connected {
                back_off = BACK_OFF_MIN;
            }
        }
        Timer::after(back_off).await;
        back_off = back_off.checked_add(back_off).unwrap_or(BACK_OFF_MAX).min(BACK_OFF_MAX);
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// The broker did not accept it.
    Refused,
    /// It was lost after the gateway had used it.
    Connected,
}

/// Serves the gateway over one connection until it is lost.
async fn serve<IO: Read + Write>(
    settings: &Settings,
    buffers: &mut PacketBuffers,
    stream: IO,
    gateway: &impl SharedGateway,
) -> Served {
    let status = settings.topic("status", Some(settings.id));
    let Some(mut session) = session(settings, &status, buffers) else { return Served::Refused };
    let Ok(Ok(mut connection)) = with_timeout(TIMEOUT, session.connect(stream)).await else { return Served::Refused };
    if with_timeout(TIMEOUT, subscribe(settings, &status, &mut connection, gateway)).await != Ok(Some(())) {
        return Served::Refused;
    }
    gateway.with(Gateway::on_connected);
    let mut in_flight: Option<Op> = None;
    loop {
        if in_flight.is_none()
            && let Some(publication) = gateway.with(Gateway::poll_publication)
        {
            let Ok(Some(op)) = with_timeout(TIMEOUT, publish(settings, &mut connection, &publication)).await else {
                break;
            };
            in_flight = Some(op);
        }
        // The broker is waited for no longer than this while something is in flight; else for as long as it takes.
        let step = async {
            match select(connection.poll(), gateway.changed()).await {
                Either::First(Ok(Some(inbound))) => {
                    receive(settings, &inbound, gateway);
                    Some(())
                }
                Either::First(Ok(None)) | Either::Second(()) => Some(()),
                Either::First(Err(_)) => None,
            }
        };
        let went_on = match in_flight {
            Some(_) => with_timeout(TIMEOUT, step).await.unwrap_or(None),
            None => step.await,
        };
        if went_on.is_none() {
            break;
        }
        if in_flight.as_ref().is_some_and(|op| connection.is_complete(op)) {
            in_flight = None;
            gateway.with(Gateway::on_published);
        }
    }
    Served::Connected
}

/// Makes a session that ends with its connection: the gateway itself knows what to publish again.
fn session<'b>(settings: &Settings, status: &str, buffers: &'b mut PacketBuffers) -> Option<Session<'b>> {
    let will = Will::new(status, b"offline", &[]).ok()?.retained().qos(QoS::AtLeastOnce);
    let mut client = Topic::new();
    write!(client, "{}-{}", settings.prefix, settings.id.0).ok()?;
    let config = ConfigBuilder::new(Buffers::new(&mut buffers.receive, &mut buffers.send));
    let config = config.client_id(&client).ok()?.keepalive_interval(KEEP_ALIVE_SECONDS).will(will).ok()?;
    Some(Session::new(config))
}

/// Subscribes to claims and downlinks, and says that the node is online.
async fn subscribe<IO: Read + Write>(
    settings: &Settings,
    status: &str,
    connection: &mut Connection<'_, '_, IO>,
    gateway: &impl SharedGateway,
) -> Option<()> {
    let (claims, downlinks) = (settings.topic("gateway", settings.scope), settings.topic("down/+", None));
    let options = SubscriptionOptions::default().maximum_qos(QoS::AtLeastOnce);
    let filters = [&claims, &downlinks].map(|topic| TopicFilter::new(topic).options(options));
    let subscribed = connection.subscribe(&filters, &[]).await.ok()?;
    let online = Outbound::text(status, "online").qos(QoS::AtLeastOnce).retain();
    let online = connection.publish(online).await.ok()??;
    while !connection.is_complete(&subscribed) || !connection.is_complete(&online) {
        if let Some(inbound) = connection.poll().await.ok()? {
            receive(settings, &inbound, gateway);
        }
    }
    Some(())
}

async fn publish<IO: Read + Write>(
    settings: &Settings,
    connection: &mut Connection<'_, '_, IO>,
    publication: &Publication,
) -> Option<Op> {
    let text = publication.to_text();
    let topic = match publication {
        Publication::Claim(fence) => settings.topic("gateway", fence.scope),
        Publication::Message(upload) => settings.topic("up", Some(upload.id.origin)),
    };
    let outbound = Outbound::bytes(&topic, &text).qos(QoS::AtLeastOnce);
    let outbound = if matches!(publication, Publication::Claim(_)) { outbound.retain() } else { outbound };
    connection.publish(outbound).await.ok()?
}

fn receive(settings: &Settings, inbound: &InboundPublish<'_>, gateway: &impl SharedGateway) {
    if inbound.topic() == settings.topic("gateway", settings.scope).as_str() {
        if let Some(claim) = Fence::from_text(inbound.payload()) {
            gateway.with(|gateway| gateway.on_claim(claim));
        }
    } else if let Some(to) = settings.node(inbound.topic(), "down") {
        gateway.with(|gateway| gateway.on_downlink(to, inbound.payload()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_name_nodes_and_only_whole_ones_are_read() {
        let settings = Settings::new(NodeId(7), "barn", None).unwrap();
        assert_eq!(settings.topic("gateway", None).as_str(), "barn/gateway");
        assert_eq!(settings.topic("up", Some(NodeId(u32::MAX))).as_str(), "barn/up/4294967295");
        assert_eq!(settings.node("barn/down/7", "down"), Some(NodeId(7)));
        for other in ["barn/down/", "barn/down/7/8", "barn/down7", "barns/down/7", "barn/up/7"] {
            assert_eq!(settings.node(other, "down"), None, "{other}");
        }
        let long = "p".repeat(PREFIX_MAX + 1);
        assert!(["", long.as_str()].iter().all(|prefix| Settings::new(NodeId(7), prefix, None).is_none()));
    }
}
