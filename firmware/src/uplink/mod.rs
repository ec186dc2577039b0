//! Client and gateway of a board: what its node's loop and the connection to the broker share.

pub mod sensor;
#[cfg(feature = "udp")]
pub mod tcp;

use crate::net::mqtt::SharedGateway;
use crate::report::{Report, UplinkReport};
use crate::runner::{now, wait_until};
use core::cell::RefCell;
use embassy_futures::select::select;
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use protocol::NodeId;
use protocol::service::requests::{Command, Notice};
use protocol::service::uplink::{Client, Gateway, GatewayState, Payload};

/// A gateway between two tasks. Make one per board, in a static.
pub struct GatewayCell {
    gateway: Mutex<CriticalSectionRawMutex, RefCell<Gateway>>,
    to_broker: Signal<CriticalSectionRawMutex, ()>,
    to_node: Signal<CriticalSectionRawMutex, ()>,
}

impl GatewayCell {
    /// Creates the gateway of a group, or of the super-peer `scope`.
    #[must_use]
    pub const fn new(scope: Option<NodeId>) -> Self {
        let gateway = Mutex::new(RefCell::new(Gateway::new(scope)));
        Self { gateway, to_broker: Signal::new(), to_node: Signal::new() }
    }

    fn run<R>(&self, run: impl FnOnce(&mut Gateway) -> R) -> R {
        self.gateway.lock(|gateway| run(&mut gateway.borrow_mut()))
    }
}

/// As the connection sees it.
impl SharedGateway for GatewayCell {
    fn with<R>(&self, run: impl FnOnce(&mut Gateway) -> R) -> R {
        let result = self.run(run);
        self.to_node.signal(());
        result
    }

    async fn changed(&self) {
        self.to_broker.wait().await;
    }
}

/// An uplink as the node's loop sees it. A board passes on its reports and notices, and returns its commands.
pub struct Uplink<'a> {
    client: Client,
    gateway: &'a GatewayCell,
    state: GatewayState,
}

impl<'a> Uplink<'a> {
    /// Joins a client to the gateway.
    #[must_use]
    pub const fn new(gateway: &'a GatewayCell) -> Self {
        Self { client: Client::new(), gateway, state: GatewayState::Idle }
    }

    /// Keeps a message until it is stored; returns its number.
    pub fn submit(&mut self, payload: Payload) -> u32 {
        self.client.submit(payload)
    }

    /// Returns whether the broker is connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.gateway.run(|gateway| gateway.is_connected())
    }

    /// Takes in whether the node leads.
    pub fn on_report(&mut self, report: &Report<'_>) {
        let acting = match report {
            Report::Leading { term } => Some(*term),
            Report::Starting { .. } | Report::Following { .. } | Report::Leaderless | Report::Stopped(_) => None,
            Report::Stored(_) | Report::Losing | Report::Degraded | Report::SameId | Report::Status(_) => return,
        };
        self.gateway.run(|gateway| gateway.on_acting(acting));
        self.gateway.to_broker.signal(());
    }

    /// Takes in a notice of the service; returns what became of a message, if this says it.
    pub fn on_notice(&mut self, notice: &Notice) {
        if let Notice::Request { id, bytes, .. } = notice {
            self.gateway.run(|gateway| gateway.on_request(*id, bytes));
            self.gateway.to_broker.signal(());
        }
        self.client.on_notice(now(), notice);
    }

    /// Returns something to log.
    pub fn poll_report(&mut self) -> Option<UplinkReport> {
        let state = self.gateway.run(|gateway| gateway.state());
        if core::mem::replace(&mut self.state, state) != state
            && let Some(report) = UplinkReport::from_state(state)
        {
            return Some(report);
        }
        self.client.poll_notice().as_ref().map(UplinkReport::from_notice)
    }

    /// Waits for the next command to the service. Dropping the future loses none.
    pub async fn next_command(&mut self) -> Command {
        loop {
            if let Some(command) = self.gateway.run(Gateway::poll_command) {
                return command;
            }
            if let Some(command) = self.client.poll_command(now()) {
                return command;
            }
            select(self.gateway.to_node.wait(), wait_until(self.client.deadline())).await;
        }
    }
}
