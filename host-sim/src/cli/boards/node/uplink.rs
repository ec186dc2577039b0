//! A desktop node of an elected uplink: it submits what is typed, and publishes at its broker while it is the acting
//! leader.

use super::console::{Beside, ServiceWord};
use crate::mqtt::{GatewayCell, TcpDial, drive};
use firmware::net::mqtt::{PREFIX_MAX, PacketBuffers, Settings, SharedGateway as _, run};
use protocol::base::term::Term;
use protocol::service::requests::{Command, Notice, Requests};
use protocol::service::uplink::{Client, ClientNotice, Fence, Gateway, GatewayState, PAYLOAD_MAX, Payload};
use protocol::{Duration, Instant, NodeId};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::thread;

/// How long a node without its broker goes on leading: a broker that restarts should change nothing.
const UNFIT_AFTER: Duration = Duration::from_secs(4);

/// Client and gateway beside a node.
pub(super) struct Uplink {
    client: Client,
    gateway: GatewayCell,
    /// Whether it has a broker of its own: it may lead.
    has_broker: bool,
    connected: bool,
    /// When the broker was connected last, or the node started.
    connected_at: Instant,
    fit: bool,
    state: GatewayState,
    commands: VecDeque<Command>,
    lines: VecDeque<Value>,
}

impl Uplink {
    /// Starts the connection to the broker, if there is one.
    ///
    /// # Errors
    /// A sentence, where the prefix is too long.
    pub(super) fn start(
        id: u32,
        broker: Option<&TcpDial>,
        prefix: &str,
        scope: Option<NodeId>,
    ) -> Result<Self, String> {
        let settings = Settings::new(NodeId(id), prefix, scope);
        let settings = settings.ok_or_else(|| format!("--topic has 1 to {PREFIX_MAX} bytes"))?;
        let gateway = GatewayCell::new(Gateway::new(scope));
        if let Some(mut dial) = broker.cloned() {
            let gateway = gateway.clone();
            // It ends with the process; the broker then publishes its last will.
            thread::spawn(move || {
                let mut buffers = PacketBuffers::empty();
                drive(run(&settings, &mut buffers, &mut dial, &gateway), || true)
            });
        }
        Ok(Self {
            client: Client::new(),
            gateway,
            has_broker: broker.is_some(),
            connected: false,
            connected_at: Instant::ZERO,
            fit: false,
            state: GatewayState::Idle,
            commands: VecDeque::new(),
            lines: VecDeque::new(),
        })
    }

    /// Notices what the connection has done since the last time.
    fn observe(&mut self, now: Instant) {
        let (state, connected) = self.gateway.with(|gateway| (gateway.state(), gateway.is_connected()));
        if connected != self.connected {
            self.connected = connected;
            self.lines.push_back(json!({ "event": "broker", "connected": connected }));
        }
        if connected {
            self.connected_at = now;
        }
        if state != self.state {
            self.state = state;
            self.lines.push_back(state_line(state));
        }
    }
}

fn state_line(state: GatewayState) -> Value {
    let line = |name: &str, Fence { term, .. }: Fence| json!({ "event": "gateway", "state": name, "term": term.number, "by": term.by.0 });
    match state {
        GatewayState::Idle => json!({ "event": "gateway", "state": "idle" }),
        GatewayState::Claiming(fence) => line("claiming", fence),
        GatewayState::Serving(fence) => line("serving", fence),
        GatewayState::Superseded(fence) => line("superseded", fence),
    }
}

fn client_line(notice: ClientNotice) -> Value {
    match notice {
        ClientNotice::Stored { number } => json!({ "event": "uplink-stored", "number": number }),
        ClientNotice::Dropped { number } => json!({ "event": "uplink-dropped", "number": number }),
        ClientNotice::Downlink { payload } => {
            json!({ "event": "downlink", "text": String::from_utf8_lossy(&payload) })
        }
    }
}

impl Beside<Requests> for Uplink {
    const WATCHED: bool = true;

    fn on_notice(&mut self, now: Instant, notice: Notice) -> Option<Value> {
        if let Notice::Request { id, bytes, .. } = &notice {
            self.gateway.with(|gateway| gateway.on_request(*id, bytes));
        }
        self.client.on_notice(now, &notice);
        None
    }

    fn command(&mut self, _: &Requests, word: &ServiceWord) -> Result<Option<Command>, String> {
        let ServiceWord::Submit(text) = word else {
            return Err("a node with --app uplink takes nothing but submit TEXT".to_owned());
        };
        let long = |_| format!("a message has at most {PAYLOAD_MAX} bytes");
        self.client.submit(Payload::from_slice(text.as_bytes()).map_err(long)?);
        Ok(None)
    }

    fn poll_command(&mut self, now: Instant, acting: Option<Term>) -> Option<Command> {
        self.gateway.with(|gateway| {
            gateway.on_acting(acting);
            self.commands.extend(std::iter::from_fn(|| gateway.poll_command()));
        });
        self.commands.extend(self.client.poll_command(now));
        self.commands.pop_front()
    }

    fn poll_line(&mut self, now: Instant) -> Option<Value> {
        self.observe(now);
        self.lines.extend(std::iter::from_fn(|| self.client.poll_notice()).map(client_line));
        self.lines.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.client.deadline()
    }

    fn fitness(&mut self, now: Instant) -> Option<bool> {
        let lost = !self.connected && now >= self.connected_at.after(UNFIT_AFTER);
        let fit = self.has_broker && if self.fit { !lost } else { self.connected };
        (std::mem::replace(&mut self.fit, fit) != fit).then_some(fit)
    }

    fn is_fit_at_boot(&self) -> bool {
        self.fit
    }
}
