//! A board's whole program as a simulated node: the runner, the radio transport, and a mock of the driver.

use super::clock;
use super::mock::{ADDRESS, MockRadio};
use embassy_futures::select::select;
use firmware::net::radio::{Port, Queues, run};
use firmware::net::{Counters, Transport};
use firmware::report::Report;
use firmware::runner::{self, Board, DriverCounters, FromPage, HostCommand, Start};
use firmware::storage::config_page::{ConfigPage, Secret, options};
use firmware::storage::record_store::{LoadError, RecordStore, StoreError};
use firmware::vitals::CapacityInputs;
use host_sim::Scenario;
use host_sim::nodes::ScenarioNode;
use host_sim::sim::node::{Boot, NodeEvent, SimNode};
use protocol::base::capacity::Capacity;
use protocol::base::membership::NoGroup;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::{Command, Wireless};
use protocol::wire::Key;
use protocol::{Instant, NodeId, Timing};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// As on the boards.
const NEIGHBOURS_MAX: usize = 32;

/// The state shared by a board's program and its simulated node.
#[derive(Default)]
struct Exchange {
    records: Option<Records>,
    stored: Option<Records>,
    events: VecDeque<NodeEvent>,
    leader: Option<(NodeId, Term)>,
    capacity: Option<Capacity>,
    commands: VecDeque<Command>,
}

type Shared = Rc<RefCell<Exchange>>;

struct Flash(Shared);

impl RecordStore for Flash {
    async fn load(&mut self) -> Result<Option<Records>, LoadError> {
        self.0.borrow().records.map(Some).ok_or(LoadError::Lost)
    }

    async fn save(&mut self, records: Records) -> Result<(), StoreError> {
        self.0.borrow_mut().stored = Some(records);
        Ok(())
    }
}

struct SimulatedBoard {
    me: NodeId,
    exchange: Shared,
}

impl Board for SimulatedBoard {
    fn feed_watchdog(&mut self) {}

    fn on_healthy(&mut self) {}

    fn driver_counters(&self) -> DriverCounters {
        DriverCounters::default()
    }

    fn on_report(&mut self, report: &Report<'_>) {
        let mut exchange = self.exchange.borrow_mut();
        let (leader, event) = match *report {
            Report::Leading { term } => (Some((self.me, term)), NodeEvent::Leads(term)),
            Report::Following { leader, term } => (Some((leader, term)), NodeEvent::Follows(leader, term)),
            Report::Leaderless | Report::Degraded => (None, NodeEvent::Leaderless),
            Report::Stopped(_) => (None, NodeEvent::Halted("stopped")),
            // Not observed.
            Report::Starting { .. } | Report::Losing | Report::SameId | Report::Stored(_) | Report::Status(_) => return,
        };
        exchange.leader = leader;
        exchange.events.push_back(event);
    }

    async fn measure(&mut self, _: &CapacityInputs) -> Option<Capacity> {
        self.exchange.borrow().capacity
    }

    async fn next_command(&mut self) -> HostCommand<Infallible> {
        let next =
            |_: &mut Context<'_>| self.exchange.borrow_mut().commands.pop_front().map_or(Poll::Pending, Poll::Ready);
        HostCommand::Election(poll_fn(next).await)
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct RadioBoard {
    me: NodeId,
    exchange: Shared,
    radio: MockRadio,
    queues: Rc<Queues>,
    program: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Flag>,
    deadline: u64,
}

impl RadioBoard {
    pub(crate) fn counters(&self) -> Counters {
        Port(&self.queues).counters()
    }

    /// Runs the program until it waits.
    fn run(&mut self, now: Instant) {
        let waker = Waker::from(self.woken.clone());
        let mut context = Context::from_waker(&waker);
        loop {
            self.woken.0.store(false, Ordering::Relaxed);
            let program = &mut self.program;
            self.deadline = clock::at(now.as_micros(), || {
                assert!(program.as_mut().poll(&mut context).is_pending(), "the program ended");
            });
            if !self.woken.0.load(Ordering::Relaxed) && self.deadline > now.as_micros() {
                return;
            }
        }
    }
}

/// The settings that all boards of a run share.
pub(crate) struct Plan {
    key: Secret,
    hops: u8,
}

impl ScenarioNode for RadioBoard {
    fn plan(scenario: &Scenario) -> Plan {
        assert_eq!(scenario.timing, Timing::RADIO, "a config page has no other timing of a radio");
        Plan { key: Secret::of_group(&scenario.name), hops: scenario.hops }
    }
}

impl SimNode for RadioBoard {
    type Plan = Plan;

    const BACKS_OFF: bool = true;

    fn boot(plan: &Plan, boot: Boot) -> Self {
        let exchange = Shared::new(RefCell::new(Exchange { records: boot.records, ..Exchange::default() }));
        let (radio, queues) = (MockRadio::default(), Rc::new(Queues::empty()));
        let page = ConfigPage {
            options: if boot.may_lead { 0 } else { options::NEVER_LEADS },
            id: boot.me.0,
            seed: boot.seed,
            key: plan.key,
            hops: plan.hops,
            ..ConfigPage::unprovisioned(&[], 0)
        };
        let (driver, queue) = (radio.clone(), queues.clone());
        let (mut store, mut board) =
            (Flash(exchange.clone()), SimulatedBoard { me: boot.me, exchange: exchange.clone() });
        let program = Box::pin(async move {
            let start = Start {
                page,
                group: FromPage::from_page,
                election: || Some(Wireless::new()),
                mutex: || Some(protocol::mutex::NoMutex),
                service: || protocol::service::NoService,
                entropy: 0,
            };
            let mut port = Port(&queue);
            let node = runner::run::<_, _, NEIGHBOURS_MAX, _, NoGroup>(&start, &mut port, &mut store, &mut board);
            select(node, run(driver, &queue, ADDRESS, boot.seed)).await;
        });
        let woken = Arc::new(Flag(AtomicBool::new(false)));
        // It first runs when it has measured its capacity, which is at once.
        Self { me: boot.me, exchange, radio, queues, program, woken, deadline: u64::MAX }
    }

    fn receive(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.radio.0.borrow_mut().receive(bytes, quality);
        self.run(now);
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.exchange.borrow_mut().capacity = capacity;
        self.run(now);
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.exchange.borrow_mut().commands.push_back(command);
        self.run(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.run(now);
    }

    fn on_receive_start(&mut self, until: Instant) {
        self.radio.0.borrow_mut().arriving_until = until.as_micros();
    }

    fn on_transmit_done(&mut self, now: Instant, sent: bool) {
        self.radio.0.borrow_mut().sent = Some(sent);
        self.run(now);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.exchange.borrow_mut().stored.take()
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut [u8]) -> Option<usize> {
        let frame = self.radio.0.borrow_mut().outgoing.take()?;
        buffer[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        self.exchange.borrow_mut().events.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        (self.deadline != u64::MAX).then(|| Instant::from_micros(self.deadline))
    }

    fn is_acting(&self, _: Instant) -> bool {
        self.exchange.borrow().leader.is_some_and(|(leader, _)| leader == self.me)
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.exchange.borrow().leader
    }

    fn message_name(plan: &Plan, frame: &[u8]) -> &'static str {
        protocol::registry::message_name(&Key::new(plan.key.0), frame).unwrap_or("unknown")
    }
}
