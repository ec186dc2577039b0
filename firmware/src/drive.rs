//! The loop around a node, the same on every board: wait for a frame or for time to pass, let the node take a step,
//! then keep, send and tell what it wants kept, sent and told.
//!
//! Nothing is sent before what it depends on is stored. Whatever goes wrong ends the loop with a reason; the board then
//! starts over, which is what the others are built to survive.

use crate::beat::Beat;
use crate::gauge::{About, MEASURE_PERIOD};
use crate::keeper::Keeper;
use crate::page::{Page, options};
use crate::report::{Past, Report, Status};
use crate::transport::{FRAME_BYTES_MAX, FrameBuffer, Heard, Transport};
use core::future::{Future, pending, ready};
use embassy_futures::select::{Either3, select3};
use embassy_time::{Duration, Instant, Timer};
use protocol::capacity::Capacity;
use protocol::config::ConfigError;
use protocol::dice::Dice;
use protocol::election::{self, Election};
use protocol::group::SLOTS_MAX;
use protocol::mandate::Mode;
use protocol::mutex::{self, Mutex};
use protocol::node::{Boot, Halt, Input, Notice};
use protocol::records::Records;
use protocol::time::sooner;
use protocol::upper::{Nothing, Upper};
use protocol::wire::{FRAME_MAX, Key};
use protocol::{Config, Node, NodeId, Timing};

/// How often the loop says that it is alive, at least.
pub const FEED_PERIOD: Duration = Duration::from_secs(2);
/// How long the loop must have run for the board to count as well.
const WELL_AFTER: Duration = Duration::from_secs(10);
/// How often a board reports what it counted, unless its page says otherwise.
const STATUS_PERIOD: Duration = Duration::from_secs(10);

const _: () = assert!(FRAME_MAX <= FRAME_BYTES_MAX, "every transport carries the protocol's frames");

/// What a board lends to the loop, besides its network and its memory. `U` is what stands on top of its node.
pub trait Board<U: Upper = Nothing> {
    /// The loop is alive. Called every [`FEED_PERIOD`] or more often.
    fn feed(&mut self);

    /// The loop has run for a while: the board counts as well. Called once.
    fn well(&mut self);

    /// What the driver of the network has done so far.
    fn driver(&self) -> Driver;

    /// The node says something about itself.
    fn tell(&mut self, report: &Report<'_>);

    /// What the board is worth at present; `None` where it is unfit to lead. Asked every
    /// [`MEASURE_PERIOD`](crate::gauge::MEASURE_PERIOD). A board that cannot measure is worth what its page says.
    fn measure(&mut self, about: &About) -> impl Future<Output = Option<Capacity>> {
        ready(Some(about.configured))
    }

    /// The lock says something. Not called on a board that only elects.
    fn tell_lock(&mut self, _notice: &mutex::Notice) {}

    /// What stands on top of the node says something. Not called on a board where nothing does.
    fn tell_upper(&mut self, _notice: &U::Notice, _upper: &U) {}

    /// A second of the shared clock begins: it shows `time`. Not called on a board that has none.
    fn beat(&mut self, _time: protocol::Instant) {}

    /// Waits until somebody asks something of the node. Dropping the future loses nothing that was asked.
    fn asked(&mut self) -> impl Future<Output = Asked<U::Command>> {
        pending()
    }
}

/// What is asked of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<C> {
    /// Of its election.
    Election(election::Command),
    /// Of its lock.
    Mutex(mutex::Command),
    /// Of what stands on top of it.
    Upper(C),
}

/// What a network's driver counted since the board started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Frames it received and handed to the network.
    pub received: u32,
    /// Frames it lost, coming or going.
    pub lost: u32,
}

/// How a node comes up.
#[derive(Clone, Copy, Debug)]
pub struct Start<E, M, U = Nothing> {
    /// What the board knows of itself.
    pub page: Page,
    /// The election it takes part in.
    pub election: E,
    /// Its locks.
    pub mutex: M,
    /// Makes what stands on top of it: where it will stay, because a future that is handed it keeps room for another.
    pub upper: fn() -> U,
    /// Anything that differs from boot to boot: the page is the same at each.
    pub entropy: u64,
}

/// Why a board has to start over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The configuration cannot work.
    Refused(ConfigError),
    /// Records cannot be stored, so nothing may be sent.
    Unstored,
    /// The node has stopped for good.
    Halted(Halt),
}

impl Stop {
    /// What to tell about it.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Refused(_) => "the configuration cannot work",
            Self::Unstored => "records cannot be stored",
            Self::Halted(Halt::Outbox) => "a stage said more in one step than any may",
            Self::Halted(Halt::Letters) => "the link has no room for a letter",
            Self::Halted(Halt::Notices) => "nobody takes the notices",
            Self::Halted(Halt::Frame) => "a message is longer than a frame",
            Self::Halted(Halt::Sequence) => "no sequence number is left",
        }
    }
}

/// Runs a node with room for `N` neighbours until it cannot go on.
pub async fn drive<E: Election, M: Mutex, const N: usize, U: Upper>(
    start: Start<E, M, U>,
    transport: &mut impl Transport,
    keeper: &mut impl Keeper,
    board: &mut impl Board<U>,
) -> Stop {
    let page = start.page;
    // A future keeps whatever lives while it waits: the node is made where nothing is waited for.
    let kept = keeper.load().await;
    let mut node = match boot::<E, M, N, U>(start, kept, board) {
        Ok(node) => node,
        Err(error) => return tell_stop(Stop::Refused(error), board),
    };
    let mut duties = Duties::new(&page);
    let mut beat = Beat::new();
    let mut buffer: FrameBuffer = [0; FRAME_BYTES_MAX];
    loop {
        if duties.measure() {
            let about = About { link_quality: node.link_quality(), ..duties.about };
            let worth = board.measure(&about).await;
            if duties.learns(worth) {
                node.handle(now(), Input::Capacity(worth));
            }
        }
        if let Err(stop) = flush(&mut node, transport, keeper, board).await {
            return tell_stop(stop, board);
        }
        let beat_at = beat.look(now(), |now| node.upper().time(now), |time| board.beat(time));
        let deadline = sooner(node.deadline(), beat_at)
            .map_or(duties.next(), |at| duties.next().min(Instant::from_micros(at.as_micros())));
        match select3(transport.receive(&mut buffer), board.asked(), Timer::at(deadline)).await {
            Either3::First(Heard { bytes, quality }) => node.handle(now(), Input::Frame { bytes, quality }),
            Either3::Second(Asked::Election(command)) => node.handle(now(), Input::Election(command)),
            Either3::Second(Asked::Mutex(command)) => node.handle(now(), Input::Mutex(command)),
            Either3::Second(Asked::Upper(command)) => node.ask(now(), command),
            Either3::Third(()) => {} // what is due is found out below
        }
        // Looked at after frames too: a flood of them must not hide that time passes.
        if node.deadline().is_some_and(|deadline| deadline <= now()) {
            node.handle(now(), Input::Timeout);
        }
        if duties.perform(board) {
            board.tell(&Report::Status(status(&node, transport, board)));
        }
    }
}

/// The node as it comes up with what it finds in its store.
fn boot<E: Election, M: Mutex, const N: usize, U: Upper>(
    start: Start<E, M, U>,
    kept: Option<Records>,
    board: &mut impl Board<U>,
) -> Result<Node<E, M, N, U>, ConfigError> {
    let Start { page, election, mutex, upper, entropy } = start;
    let config = Config {
        me: NodeId(page.id),
        key: Key::new(page.key.0),
        hops: page.hops.max(1),
        may_lead: !page.has(options::NEVER_LEADS),
        mode: if page.has(options::QUORUM) { Mode::Quorum } else { Mode::Available },
        timing: if page.has(options::LAN) { Timing::LAN } else { Timing::RADIO },
    };
    let (past, records) = match kept {
        Some(records) => (Past::Kept, Some(records)),
        None if page.has(options::FACTORY) => (Past::New, Some(Records::FACTORY)),
        None => (Past::Lost, None),
    };
    board.tell(&Report::Starting { node: config.me, capacity: capacity(&page).get(), records: past });
    let seed = mix(&[page.seed, entropy, records.map_or(0, |kept| u64::from(kept.incarnation))]);
    let node = Node::with_upper(config, Boot { records, seed }, now(), election, mutex, upper())?;
    if !(E::GROUP || M::GROUP || U::GROUP) || page.members == 0 {
        return Ok(node);
    }
    let mut members = [NodeId(0); SLOTS_MAX];
    for (member, id) in members.iter_mut().zip(0..) {
        *member = NodeId(id);
    }
    node.in_group(members.get(..usize::from(page.members)).ok_or(ConfigError::LargeGroup)?)
}

fn capacity(page: &Page) -> Capacity {
    u16::try_from(page.capacity).map_or(Capacity::MAX, Capacity::new)
}

/// One seed out of several numbers, each of which changes all of it.
fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |mixed, number| {
        let mut dice = Dice::new(mixed ^ number);
        u64::from(dice.throw()) << 32 | u64::from(dice.throw())
    })
}

/// Stores, sends and tells until the node wants nothing more.
async fn flush<E: Election, M: Mutex, const N: usize, U: Upper>(
    node: &mut Node<E, M, N, U>,
    transport: &mut impl Transport,
    keeper: &mut impl Keeper,
    board: &mut impl Board<U>,
) -> Result<(), Stop> {
    let mut buffer = [0; FRAME_MAX];
    loop {
        if let Some(records) = node.poll_persist() {
            keeper.save(records).await.map_err(|_| Stop::Unstored)?;
            board.tell(&Report::Stored(records));
        } else if let Some(frame) = node.poll_transmit(now(), &mut buffer) {
            transport.broadcast(frame).await;
        } else if let Some(notice) = node.poll_told() {
            board.tell_upper(&notice, node.upper());
        } else {
            match node.poll_notice() {
                Some(Notice::Role(notice)) => {
                    if let Some(report) = Report::of(notice) {
                        board.tell(&report);
                    }
                }
                Some(Notice::Mutex(notice)) if M::GROUP => board.tell_lock(&notice),
                Some(Notice::Mutex(_)) => {} // there is no lock to hear of
                Some(Notice::Halted(halt)) => return Err(Stop::Halted(halt)),
                None => return Ok(()),
            }
        }
    }
}

fn tell_stop<U: Upper>(stop: Stop, board: &mut impl Board<U>) -> Stop {
    board.tell(&Report::Stopped(stop.reason()));
    stop
}

fn status<E: Election, M: Mutex, const N: usize, U: Upper>(
    node: &Node<E, M, N, U>,
    transport: &impl Transport,
    board: &impl Board<U>,
) -> Status {
    let (counted, driver) = (transport.counters(), board.driver());
    let unsendable = [counted.send_too_long, counted.send_no_link, counted.send_busy, counted.send_refused];
    let refused = [counted.receive_empty, counted.receive_too_long, counted.receive_foreign];
    let refused = refused.into_iter().fold(0, u32::saturating_add);
    let lost = [driver.lost, counted.receive_broken, counted.receive_crowded];
    Status {
        neighbours: u32::try_from(node.neighbours().count()).unwrap_or(u32::MAX),
        sent: counted.sent,
        received: counted.received,
        unsendable: unsendable.into_iter().fold(0, u32::saturating_add),
        refused,
        unclaimed: driver.received.saturating_sub(counted.received.saturating_add(refused)),
        driver: lost.into_iter().fold(0, u32::saturating_add),
        dropped: *node.counters(),
    }
}

/// The protocol's time: microseconds since the board started.
fn now() -> protocol::Instant {
    protocol::Instant::from_micros(Instant::now().as_micros())
}

/// What the loop has to do besides running the node.
struct Duties {
    feed_at: Instant,
    well_at: Option<Instant>,
    status_at: Instant,
    status_period: Duration,
    measure_at: Instant,
    about: About,
    /// What the node knows it is worth: nothing, before it is told.
    worth: Option<Capacity>,
}

impl Duties {
    fn new(page: &Page) -> Self {
        let status_period =
            if page.period_ms == 0 { STATUS_PERIOD } else { Duration::from_millis(page.period_ms.into()) };
        let now = Instant::now();
        Self {
            feed_at: now,
            well_at: now.checked_add(WELL_AFTER),
            status_at: later(now, status_period),
            status_period,
            measure_at: now,
            about: About { configured: capacity(page), link_quality: 0, born: now },
            worth: None,
        }
    }

    /// When the next of them is due.
    fn next(&self) -> Instant {
        let soon = self.feed_at.min(self.status_at).min(self.measure_at);
        self.well_at.map_or(soon, |at| at.min(soon))
    }

    /// Whether the board has to measure itself.
    fn measure(&mut self) -> bool {
        let now = Instant::now();
        let due = self.measure_at <= now;
        if due {
            self.measure_at = later(now, MEASURE_PERIOD);
        }
        due
    }

    /// Whether what the board is worth is news to the node.
    fn learns(&mut self, worth: Option<Capacity>) -> bool {
        core::mem::replace(&mut self.worth, worth) != worth
    }

    /// Does what is due; whether a status is.
    fn perform<U: Upper>(&mut self, board: &mut impl Board<U>) -> bool {
        let now = Instant::now();
        if self.feed_at <= now {
            board.feed();
            self.feed_at = later(now, FEED_PERIOD);
        }
        if self.well_at.is_some_and(|at| at <= now) {
            self.well_at = None;
            board.well();
        }
        let due = self.status_at <= now;
        if due {
            self.status_at = later(now, self.status_period);
        }
        due
    }
}

fn later(now: Instant, span: Duration) -> Instant {
    now.checked_add(span).unwrap_or(Instant::MAX)
}
