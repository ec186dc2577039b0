//! The loop around a node, the same on every board: wait for a frame, a command or a deadline, let the node take a
//! step, then store its records, send its frames and report its notices.
//!
//! No frame is sent before the records it depends on are stored. Every failure ends the loop with a reason; the board
//! then resets, a crash and recovery as the algorithms tolerate.

mod housekeeping;
#[cfg(test)]
mod tests;

use crate::demo::second_tick::SecondTick;
use crate::net::{FRAME_BYTES_MAX, FrameBuffer, ReceivedFrame, Transport};
use crate::report::{RecordsAtBoot, Report, SUPERSEDED, Status};
use crate::storage::config_page::{ConfigPage, Secret, options};
use crate::storage::record_store::{LoadError, RecordStore};
use crate::vitals::CapacityInputs;
use core::future::{Future, pending, ready};
use embassy_futures::select::{Either3, select3};
use embassy_time::{Duration, Instant, Timer};
use housekeeping::Housekeeping;
use protocol::base::capacity::Capacity;
use protocol::base::config::ConfigError;
use protocol::base::ids::SLOTS_MAX;
use protocol::base::membership::{Group, Membership, NoGroup};
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::base::rng::Rng;
use protocol::base::time::earliest;
use protocol::election::{self, Election};
use protocol::mutex::{self, Mutex};
use protocol::node::{Boot, Halt, Input, Notice, Stages};
use protocol::service::{NoService, Service};
use protocol::wire::{FRAME_MAX, Keyring};
use protocol::{Config, Node, NodeId, Timing};

/// The longest interval between two calls of [`Board::feed_watchdog`].
pub const FEED_PERIOD: Duration = Duration::from_secs(2);

const _: () = assert!(FRAME_MAX <= FRAME_BYTES_MAX, "every transport carries the protocol's frames");

/// A board, besides its transport and its record store; its node has the service `S`.
pub trait Board<S: Service = NoService> {
    /// Feeds the watchdog. Called every [`FEED_PERIOD`] or more often.
    fn feed_watchdog(&mut self);

    /// Called once, when the loop has run for ten seconds.
    fn on_healthy(&mut self);

    /// Frames received and lost by the network driver so far.
    fn driver_counters(&self) -> DriverCounters;

    /// Handles a report of the node.
    fn on_report(&mut self, report: &Report<'_>);

    /// Measures the capacity; `None` where the board is unfit to lead. Called every
    /// [`MEASURE_PERIOD`](crate::vitals::MEASURE_PERIOD). The default is the configured capacity.
    fn measure(&mut self, inputs: &CapacityInputs) -> impl Future<Output = Option<Capacity>> {
        ready(Some(inputs.configured))
    }

    /// Handles a notice of the lock. Not called on a board without one.
    fn on_lock_notice(&mut self, _notice: &mutex::Notice) {}

    /// Handles a notice of the service. Not called on a board without one.
    fn on_service_notice(&mut self, _notice: &S::Notice, _service: &S) {}

    /// Called when a second of the shared clock begins. Not called on a board without a clock service.
    fn on_second(&mut self, _time: protocol::Instant) {}

    /// Waits for the next command to the node. Dropping the future loses no command.
    fn next_command(&mut self) -> impl Future<Output = HostCommand<S::Command>> {
        pending()
    }
}

/// A command to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCommand<C> {
    /// To its election.
    Election(election::Command),
    /// To its lock.
    Mutex(mutex::Command),
    /// To its service.
    Service(C),
}

/// Counters of a network driver since the board started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverCounters {
    /// Frames handed to the network stack.
    pub received: u32,
    /// Frames lost in either direction.
    pub lost: u32,
}

/// How a node starts. Its parts are made in place: a future that is given a value keeps room for two.
#[derive(Clone, Copy, Debug)]
pub struct Start<E, M, S = NoService, G = NoGroup> {
    /// Identity and settings of the board.
    pub page: ConfigPage,
    /// Reads the group from the config page, see [`FromPage`].
    pub group: fn(&ConfigPage) -> Result<G, ConfigError>,
    /// Makes the election.
    pub election: fn() -> Option<E>,
    /// Makes the lock.
    pub mutex: fn() -> Option<M>,
    /// Makes the service.
    pub service: fn() -> S,
    /// A number that differs from boot to boot.
    pub entropy: u64,
}

/// A membership that is read from the config page.
pub trait FromPage: Membership + Sized {
    /// Reads the group.
    ///
    /// # Errors
    /// [`ConfigError::LargeGroup`] where the page lists more members than a group may have.
    fn from_page(page: &ConfigPage) -> Result<Self, ConfigError>;
}

impl FromPage for NoGroup {
    fn from_page(_: &ConfigPage) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl FromPage for Option<Group> {
    fn from_page(page: &ConfigPage) -> Result<Self, ConfigError> {
        if page.members == 0 {
            return Ok(None);
        }
        let mut members = [NodeId(0); SLOTS_MAX];
        for (member, id) in members.iter_mut().zip(0..) {
            *member = NodeId(id);
        }
        Group::of(members.get(..usize::from(page.members)).ok_or(ConfigError::LargeGroup)?).map(Some)
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The configuration is invalid.
    BadConfig(ConfigError),
    /// The board has no key.
    NoKey,
    /// Records cannot be read. They may be intact, so none may be stored over them.
    LoadFailed,
    /// Records cannot be stored, so no frame may be sent.
    StoreFailed,
    /// The node has halted.
    Halted(Halt),
}

impl Stop {
    /// The reason in words, for the log.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::BadConfig(_) => "invalid configuration",
            Self::NoKey => "no key: provision the board",
            Self::LoadFailed => "records cannot be read",
            Self::StoreFailed => "records cannot be stored",
            Self::Halted(Halt::Outbox) => "a stage exceeded its outputs per step",
            Self::Halted(Halt::Queue) => "the link has no room for a reliable message",
            Self::Halted(Halt::Notices) => "the queue of notices is full",
            Self::Halted(Halt::Frame) => "a message is longer than a frame",
            Self::Halted(Halt::Sequence) => "sequence numbers are exhausted",
            Self::Halted(Halt::Numbers) => "its numbers are exhausted",
            Self::Halted(Halt::Superseded) => SUPERSEDED,
        }
    }
}

/// Runs a node with room for `N` peers until it stops.
pub async fn run<E: Election, M: Mutex, const N: usize, S: Service, G: Membership>(
    start: &Start<E, M, S, G>,
    transport: &mut impl Transport,
    store: &mut impl RecordStore,
    board: &mut impl Board<S>,
) -> Stop {
    // A future keeps every value that lives across an await: the node is made in a function without one.
    let stored = store.load().await;
    let mut node = match boot::<E, M, N, S, G>(start, stored, board) {
        Ok(node) => node,
        Err(stop) => return report_stop(stop, board),
    };
    let mut housekeeping = Housekeeping::new(&start.page);
    let mut tick = SecondTick::default();
    let mut buffer: FrameBuffer = [0; FRAME_BYTES_MAX];
    loop {
        if housekeeping.measurement_due() {
            let inputs = CapacityInputs { link_quality: node.link_quality(), ..housekeeping.inputs };
            let capacity = board.measure(&inputs).await.map(|measured| start.page.limited(measured));
            if housekeeping.capacity_changed(capacity) {
                node.handle(now(), Input::Capacity(capacity));
            }
        }
        if let Err(stop) = flush(&mut node, transport, store, board).await {
            return report_stop(stop, board);
        }
        let tick_at = tick.poll(now(), |now| node.service().time(now), |time| board.on_second(time));
        let deadline = earliest(node.deadline(), tick_at)
            .map_or(housekeeping.deadline(), |at| housekeeping.deadline().min(Instant::from_micros(at.as_micros())));
        match select3(transport.receive(&mut buffer), board.next_command(), Timer::at(deadline)).await {
            Either3::First(ReceivedFrame { bytes, quality }) => node.handle(now(), Input::Frame { bytes, quality }),
            Either3::Second(HostCommand::Election(command)) => node.handle(now(), Input::Election(command)),
            Either3::Second(HostCommand::Mutex(command)) => node.handle(now(), Input::Mutex(command)),
            Either3::Second(HostCommand::Service(command)) => node.handle(now(), Input::Service(command)),
            Either3::Third(()) => {} // deadlines are checked below
        }
        // Checked after frames too: a flood of them must not delay timeouts.
        if node.deadline().is_some_and(|deadline| deadline <= now()) {
            node.handle(now(), Input::Timeout);
        }
        if housekeeping.run_due(board) {
            board.on_report(&Report::Status(status(&node, &start.page, transport, board)));
        }
    }
}

/// Makes the node from its configuration and the stored records.
fn boot<E: Election, M: Mutex, const N: usize, S: Service, G: Membership>(
    start: &Start<E, M, S, G>,
    stored: Result<Option<Records>, LoadError>,
    board: &mut impl Board<S>,
) -> Result<Node<E, M, N, S, G, Keyring>, Stop> {
    let Start { page, group, election, mutex, service, entropy } = start;
    if page.key == Secret::NONE {
        return Err(Stop::NoKey);
    }
    let config = Config {
        me: NodeId(page.id),
        key: page.keyring(),
        hops: page.hops.max(1),
        may_lead: !page.has(options::NEVER_LEADS),
        mode: if page.has(options::QUORUM) { Mode::Quorum } else { Mode::Available },
        timing: if page.has(options::LAN) { Timing::LAN } else { Timing::RADIO },
    };
    let (at_boot, records) = match stored {
        Ok(Some(records)) => (RecordsAtBoot::Kept, Some(records)),
        Ok(None) if page.has(options::FACTORY) => (RecordsAtBoot::New, Some(Records::FACTORY)),
        Ok(None) | Err(LoadError::Lost) => (RecordsAtBoot::Lost, None),
        Err(LoadError::Unreadable) => return Err(Stop::LoadFailed),
    };
    let capacity = configured_capacity(page).get();
    board.on_report(&Report::Starting { node: config.me, capacity, records: at_boot });
    let seed = mix(&[page.seed, *entropy, records.map_or(0, |records| u64::from(records.incarnation))]);
    let (election, mutex) = (election(), mutex());
    let (Some(election), Some(mutex)) = (election, mutex) else {
        return Err(Stop::BadConfig(ConfigError::UnknownOption));
    };
    let stages = Stages { election, mutex, service: service() };
    let group = group(page).map_err(Stop::BadConfig)?;
    Node::new(config, &group, Boot { records, capacity: None, seed }, now(), stages).map_err(Stop::BadConfig)
}

fn configured_capacity(page: &ConfigPage) -> Capacity {
    page.limited(u16::try_from(page.capacity).map_or(Capacity::MAX, Capacity::new))
}

/// Mixes several numbers into one seed, of which each changes every bit.
fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |mixed, number| {
        let mut rng = Rng::new(mixed ^ number);
        u64::from(rng.next_u32()) << 32 | u64::from(rng.next_u32())
    })
}

/// Stores, sends and reports until the node has no output left.
async fn flush<E: Election, M: Mutex, const N: usize, S: Service, G: Membership>(
    node: &mut Node<E, M, N, S, G, Keyring>,
    transport: &mut impl Transport,
    store: &mut impl RecordStore,
    board: &mut impl Board<S>,
) -> Result<(), Stop> {
    let mut buffer = [0; FRAME_MAX];
    loop {
        if let Some(records) = node.poll_persist() {
            store.save(records).await.map_err(|_| Stop::StoreFailed)?;
            board.on_report(&Report::Stored(records));
        } else if let Some(frame) = node.poll_transmit(now(), &mut buffer) {
            transport.broadcast(frame).await;
        } else {
            match node.poll_notice() {
                Some(Notice::Role(notice)) => {
                    if let Some(report) = Report::from_notice(notice) {
                        board.on_report(&report);
                    }
                }
                Some(Notice::Mutex(notice)) if M::PRESENT => board.on_lock_notice(&notice),
                // There is no lock; the leader that follows a reorganisation is reported.
                Some(Notice::Mutex(_) | Notice::Reorganising { .. }) => {}
                Some(Notice::Service(notice)) => board.on_service_notice(&notice, node.service()),
                Some(Notice::SameId) => board.on_report(&Report::SameId),
                Some(Notice::Halted(halt)) => return Err(Stop::Halted(halt)),
                None => return Ok(()),
            }
        }
    }
}

fn report_stop<S: Service>(stop: Stop, board: &mut impl Board<S>) -> Stop {
    board.on_report(&Report::Stopped(stop.reason()));
    stop
}

fn status<E: Election, M: Mutex, const N: usize, S: Service, G: Membership>(
    node: &Node<E, M, N, S, G, Keyring>,
    page: &ConfigPage,
    transport: &impl Transport,
    board: &impl Board<S>,
) -> Status {
    let (counted, driver) = (transport.counters(), board.driver_counters());
    let sum = |counters: &[u32]| counters.iter().copied().fold(0, u32::saturating_add);
    let rejected = sum(&[counted.receive_empty, counted.receive_too_long, counted.receive_foreign]);
    Status {
        neighbours: u32::try_from(node.neighbours().count()).unwrap_or(u32::MAX),
        sent: counted.sent,
        received: counted.received,
        send_failed: sum(&[counted.send_too_long, counted.send_no_link, counted.send_busy, counted.send_refused]),
        rejected,
        undelivered: driver.received.saturating_sub(counted.received.saturating_add(rejected)),
        driver_lost: sum(&[driver.lost, counted.receive_corrupt, counted.receive_no_room]),
        dropped: *node.counters(),
        writes: node.writes().into(),
        insecure: page.has(options::INSECURE),
    }
}

/// The protocol's time: microseconds since the board started.
#[must_use]
pub fn now() -> protocol::Instant {
    protocol::Instant::from_micros(Instant::now().as_micros())
}

/// Waits until `at`; for ever where there is no deadline.
pub async fn wait_until(at: Option<protocol::Instant>) {
    match at {
        Some(at) => Timer::at(Instant::from_micros(at.as_micros())).await,
        None => pending().await,
    }
}
