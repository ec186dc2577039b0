//! MQTT on a desktop: a stream over TCP, and a thread that drives what boards' executors drive there.

mod consumer;
mod ledger;
mod tcp;

pub(crate) use consumer::{Reply, consume};
pub(crate) use ledger::{Judged, Ledger};
pub(crate) use tcp::TcpDial;

use firmware::net::mqtt::SharedGateway;
use protocol::service::uplink::Gateway;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often what a future waits for is looked at: sockets and timers of a desktop wake nobody here.
const POLL_PERIOD: Duration = Duration::from_millis(2);

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Drives a future on this thread, while `may_go_on` says so.
pub(crate) fn drive<T>(future: impl Future<Output = T>, may_go_on: impl Fn() -> bool) -> Option<T> {
    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    let mut context = Context::from_waker(&waker);
    while may_go_on() {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
        thread::park_timeout(POLL_PERIOD);
    }
    None
}

/// A gateway that the node's thread and the connection's share.
#[derive(Clone)]
pub(crate) struct GatewayCell(Arc<Mutex<Gateway>>);

impl GatewayCell {
    pub(crate) fn new(gateway: Gateway) -> Self {
        Self(Arc::new(Mutex::new(gateway)))
    }
}

impl SharedGateway for GatewayCell {
    fn with<R>(&self, run: impl FnOnce(&mut Gateway) -> R) -> R {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn changed(&self) {
        poll_fn(|_| if self.with(|gateway| gateway.has_publication()) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}
