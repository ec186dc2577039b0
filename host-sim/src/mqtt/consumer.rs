//! A consumer's connection to the broker: subscribes to claims and messages, keeps its session while it reconnects, and
//! publishes what it accepts.

use super::tcp::TcpDial;
use minimq::{
    Buffers, ConfigBuilder, ConnectEvent, Connection, Io, Publication, QoS, Session, SubscriptionOptions, TopicFilter,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;
use std::thread;
use std::time::Duration;

const RECEIVE_BYTES: usize = 4_096;
const SEND_BYTES: usize = 16_384;
const KEEP_ALIVE_SECONDS: u16 = 6;
/// For how long the broker keeps messages while the consumer is not connected.
const SESSION_SECONDS: u32 = 86_400;
const PAUSE: Duration = Duration::from_millis(250);

/// What a consumer is to publish: a word below the prefix, and the payload.
pub(crate) type Reply = (String, Vec<u8>);

/// Consumes for ever, or until `receive` says that it is enough. It gets what was published below the prefix, in the
/// broker's order, and returns what to publish.
pub(crate) async fn consume(
    dial: &TcpDial,
    prefix: &str,
    client: &str,
    on_connected: impl Fn(bool),
    receive: impl FnMut(&str, &[u8]) -> Option<Reply>,
) -> Result<(), String> {
    let (mut rx, mut tx) = (vec![0; RECEIVE_BYTES], vec![0; SEND_BYTES]);
    let config = ConfigBuilder::new(Buffers::new(&mut rx, &mut tx)).client_id(client);
    let config = config.map_err(|_| "the client's name is too long".to_owned())?;
    let mut session =
        Session::new(config.keepalive_interval(KEEP_ALIVE_SECONDS).session_expiry_interval(SESSION_SECONDS));
    let receive = RefCell::new(receive);
    loop {
        if let Ok(stream) = dial.open()
            && let Ok(mut connection) = session.connect(stream).await
        {
            on_connected(true);
            serve(prefix, &mut connection, &receive).await;
            on_connected(false);
        }
        thread::sleep(PAUSE);
        yield_once().await;
    }
}

/// Lets the driver of the future decide whether to go on.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|_| if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Serves one connection until it is lost.
async fn serve<IO: Io>(
    prefix: &str,
    connection: &mut Connection<'_, '_, IO>,
    receive: &RefCell<impl FnMut(&str, &[u8]) -> Option<Reply>>,
) -> Option<()> {
    if connection.connect_event() == ConnectEvent::Connected {
        let options = SubscriptionOptions::default().maximum_qos(QoS::AtLeastOnce);
        let topics = ["gateway/#", "up/+"].map(|topic| format!("{prefix}/{topic}"));
        let filters = topics.each_ref().map(|topic| TopicFilter::new(topic).options(options));
        connection.subscribe(&filters, &[]).await.ok()?;
    }
    let mut replies: VecDeque<Reply> = VecDeque::new();
    loop {
        if connection.can_publish(QoS::AtLeastOnce)
            && let Some((word, payload)) = replies.pop_front()
        {
            let topic = format!("{prefix}/{word}");
            connection.publish(Publication::bytes(&topic, &payload).qos(QoS::AtLeastOnce)).await.ok()?;
            continue;
        }
        // Acknowledgements make room for more.
        let Some(inbound) = connection.poll().await.ok()? else { continue };
        let topic = inbound.topic().strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
        replies.extend(topic.and_then(|topic| receive.borrow_mut()(topic, inbound.payload())));
    }
}
