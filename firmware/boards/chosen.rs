//! The node of a board, as chosen when its image was built: `choose.rs` beside this file lists the variables.

use app::{Service, service};
use firmware::runner::{FromPage, Start};
use firmware::storage::config_page::ConfigPage;
#[allow(unused_imports, reason = "an image has a group or none")]
use protocol::base::membership::{Group, NoGroup};
use protocol::base::options::Configurable;

include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

pub(crate) const PEERS_MAX: usize = 32;

firmware::emit_node_bytes!(protocol::Node<Election, Mutex, PEERS_MAX, Service, Membership, protocol::wire::Keyring>);

pub(crate) fn start(page: ConfigPage, entropy: u64) -> Start<Election, Mutex, Service, Membership> {
    let (election, mutex) = (|| with_options(ELECTION_OPTIONS), || with_options(MUTEX_OPTIONS));
    Start { page, group: Membership::from_page, election, mutex, service, entropy }
}

/// The algorithm with its options. Without any, the image does not link what reads them.
fn with_options<A: Configurable>(options: &str) -> Option<A> {
    if options.is_empty() { Some(A::default()) } else { A::from_options(options) }
}

/// No service.
#[cfg(app = "none")]
pub(crate) mod app {
    pub(crate) use protocol::service::NoService as Service;

    pub(super) fn service() -> Service {
        Service
    }
}

/// The shared clock.
#[cfg(app = "clock")]
pub(crate) mod app {
    pub(crate) type Service = protocol::service::clock_sync::ClockSync<{ super::PEERS_MAX }>;

    pub(super) fn service() -> Service {
        Service::new()
    }
}

/// Requests to the leader: messages to a broker.
#[cfg(app = "uplink")]
pub(crate) mod app {
    pub(crate) use protocol::service::requests::Requests as Service;

    pub(super) fn service() -> Service {
        Service::new()
    }
}

/// A counter behind a lock.
#[cfg(app = "counter")]
pub(crate) mod app {
    pub(crate) use protocol::service::demo::counter::Counter as Service;

    pub(super) fn service() -> Service {
        Service::default()
    }
}

/// A bank of tokens, or a diffusing job, with its snapshots and the detection of its termination.
#[cfg(any(app = "diffusing", app = "tokens"))]
pub(crate) mod app {
    use super::PEERS_MAX;
    use firmware::demo::schedule;
    use protocol::service::app_service::ObservedApp;
    use protocol::service::demo;
    use protocol::service::termination::Wave;

    #[cfg(app = "diffusing")]
    type Application = demo::Diffusing;
    #[cfg(app = "tokens")]
    type Application = demo::Tokens<PEERS_MAX>;

    pub(crate) type Service = ObservedApp<Application, Wave<PEERS_MAX>, PEERS_MAX>;

    pub(super) fn service() -> Service {
        #[cfg(app = "diffusing")]
        let application = Application::new(schedule::UNIT_DURATION);
        #[cfg(app = "tokens")]
        let application = Application::new(schedule::INITIAL_TOKENS, schedule::TRANSFER_INTERVAL);
        Service::all(application, Wave::new())
    }
}
