//! A board's whole program in a seat of the simulator: the loop, the radio transport, and a mock where its driver is.

use super::clock;
use super::mock::{ADDRESS, MockRadio};
use embassy_futures::select::select;
use firmware::drive::{Asked, Board, Driver, Start, drive};
use firmware::gauge::About;
use firmware::keeper::{Keeper, Unkept};
use firmware::page::{Page, Secret, options};
use firmware::report::Report;
use firmware::transport::radio::{Port, Queues, run};
use firmware::transport::{Counters, Transport};
use host_sim::Scenario;
use host_sim::machine::{Birth, Machine, News};
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::{Command, Wireless};
use protocol::records::Records;
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

/// As many as on the boards.
const NEIGHBOURS_MAX: usize = 32;

/// What passes between a board's program and its seat.
#[derive(Default)]
struct Desk {
    records: Option<Records>,
    stored: Option<Records>,
    news: VecDeque<News>,
    leader: Option<(NodeId, Term)>,
    capacity: Option<Capacity>,
    commands: VecDeque<Command>,
}

type Shared = Rc<RefCell<Desk>>;

struct Flash(Shared);

impl Keeper for Flash {
    async fn load(&mut self) -> Option<Records> {
        self.0.borrow().records
    }

    async fn save(&mut self, records: Records) -> Result<(), Unkept> {
        self.0.borrow_mut().stored = Some(records);
        Ok(())
    }
}

struct Panel {
    me: NodeId,
    desk: Shared,
}

impl Board for Panel {
    fn feed(&mut self) {}

    fn well(&mut self) {}

    fn driver(&self) -> Driver {
        Driver::default()
    }

    fn tell(&mut self, report: &Report<'_>) {
        let mut desk = self.desk.borrow_mut();
        let (leader, news) = match *report {
            Report::Leading { term } => (Some((self.me, term)), News::Leads(term)),
            Report::Following { leader, term } => (Some((leader, term)), News::Follows(leader, term)),
            Report::Leaderless | Report::Degraded => (None, News::Leaderless),
            Report::Stopped(_) => (None, News::Halted("stopped")),
            // Nothing the others care for.
            Report::Starting { .. } | Report::Losing | Report::Stored(_) | Report::Status(_) => return,
        };
        desk.leader = leader;
        desk.news.push_back(news);
    }

    async fn measure(&mut self, _: &About) -> Option<Capacity> {
        self.desk.borrow().capacity
    }

    async fn asked(&mut self) -> Asked<Infallible> {
        let next = |_: &mut Context<'_>| self.desk.borrow_mut().commands.pop_front().map_or(Poll::Pending, Poll::Ready);
        Asked::Election(poll_fn(next).await)
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One board.
pub(crate) struct RadioBoard {
    me: NodeId,
    desk: Shared,
    radio: MockRadio,
    queues: Rc<Queues>,
    program: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Flag>,
    deadline: u64,
}

impl RadioBoard {
    /// What its transport counted, and how many frames came while it was not listening.
    pub(crate) fn counted(&self) -> (Counters, u32) {
        (Port(&self.queues).counters(), self.radio.0.borrow().unheard)
    }

    /// Lets the program run until it waits.
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

/// What the boards of a run share.
pub(crate) struct Plan {
    key: Secret,
    hops: u8,
}

impl Machine for RadioBoard {
    type Plan = Plan;

    const BACKS_OFF: bool = true;

    fn plan(scenario: &Scenario) -> Plan {
        assert_eq!(scenario.timing, Timing::RADIO, "a config page knows no other timing of a radio");
        Plan { key: Secret::of_group(&scenario.name), hops: scenario.hops }
    }

    fn boot(plan: &Plan, birth: Birth) -> Self {
        let desk = Shared::new(RefCell::new(Desk { records: birth.records, ..Desk::default() }));
        let (radio, queues) = (MockRadio::default(), Rc::new(Queues::new()));
        let page = Page {
            options: if birth.may_lead { 0 } else { options::NEVER_LEADS },
            id: birth.me.0,
            seed: birth.seed,
            key: plan.key,
            hops: plan.hops,
            ..Page::unprovisioned(&[], 0)
        };
        let (air, lines) = (radio.clone(), queues.clone());
        let (mut keeper, mut board) = (Flash(desk.clone()), Panel { me: birth.me, desk: desk.clone() });
        let program = Box::pin(async move {
            let start = Start {
                page,
                election: Wireless::new(),
                mutex: protocol::mutex::NoMutex,
                upper: || protocol::upper::Nothing,
                entropy: 0,
            };
            let mut port = Port(&lines);
            let node = drive::<_, _, NEIGHBOURS_MAX, _>(start, &mut port, &mut keeper, &mut board);
            select(node, run(air, &lines, ADDRESS, birth.seed)).await;
        });
        let woken = Arc::new(Flag(AtomicBool::new(false)));
        // It runs when it has measured itself, which is at once.
        Self { me: birth.me, desk, radio, queues, program, woken, deadline: u64::MAX }
    }

    fn hear(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.radio.0.borrow_mut().hear(bytes, quality);
        self.run(now);
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.desk.borrow_mut().capacity = capacity;
        self.run(now);
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.desk.borrow_mut().commands.push_back(command);
        self.run(now);
    }

    fn wake(&mut self, now: Instant) {
        self.run(now);
    }

    fn begins_to_hear(&mut self, until: Instant) {
        self.radio.0.borrow_mut().arriving_until = until.as_micros();
    }

    fn carried(&mut self, now: Instant, went_out: bool) {
        self.radio.0.borrow_mut().carried = Some(went_out);
        self.run(now);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.desk.borrow_mut().stored.take()
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut [u8]) -> Option<usize> {
        let frame = self.radio.0.borrow_mut().outgoing.take()?;
        buffer[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn poll_news(&mut self) -> Option<News> {
        self.desk.borrow_mut().news.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        (self.deadline != u64::MAX).then(|| Instant::from_micros(self.deadline))
    }

    fn acts(&self, _: Instant) -> bool {
        self.desk.borrow().leader.is_some_and(|(leader, _)| leader == self.me)
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.desk.borrow().leader
    }

    fn describe(plan: &Plan, frame: &[u8]) -> &'static str {
        protocol::describe::describe(&Key::new(plan.key.0), frame).unwrap_or("unknown")
    }
}
