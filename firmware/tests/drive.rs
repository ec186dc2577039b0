//! The loop around a node, run on a desktop against a network, a memory and a clock that a test holds in its hands.

use embassy_time::{Duration, MockDriver};
use firmware::drive::{Board, Driver, FEED_PERIOD, Start, drive};
use firmware::page::{Page, Secret, options};
use firmware::report::{Past, Report};
use firmware::store::{Memory, STORE_WORDS, Store};
use firmware::transport::{Counters, FrameBuffer, Heard, Transport};
use protocol::NodeId;
use protocol::clock::Stamp;
use protocol::clock_sync::ClockSync;
use protocol::election::Wireless;
use protocol::mutex::NoMutex;
use protocol::records::Records;
use protocol::upper::{Nothing, Upper};
use std::cell::RefCell;
use std::future::{Future, pending};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};

/// What the loop did, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Did {
    Sent,
    Fed,
    Well,
    Said(String),
    /// A second of the shared clock began, which showed that many microseconds.
    Beat(u64),
}

type Diary = Rc<RefCell<Vec<Did>>>;

/// A network that is silent, or never.
struct Air {
    diary: Diary,
    noisy: bool,
}

impl Transport for Air {
    async fn broadcast(&mut self, _frame: &[u8]) {
        self.diary.borrow_mut().push(Did::Sent);
    }

    async fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> Heard<'b> {
        if !self.noisy {
            pending::<()>().await;
        }
        // One frame per turn, as the network's task has to run to bring the next one.
        let mut turns = 0;
        std::future::poll_fn(|_| {
            turns += 1;
            if turns > 1 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        Heard { bytes: &buffer[..50], quality: u8::MAX }
    }

    fn counters(&self) -> Counters {
        Counters { sent: 7, received: 1, ..Counters::default() }
    }
}

struct Bench(Diary);

impl<U: Upper> Board<U> for Bench {
    fn feed(&mut self) {
        self.0.borrow_mut().push(Did::Fed);
    }

    fn well(&mut self) {
        self.0.borrow_mut().push(Did::Well);
    }

    fn driver(&self) -> Driver {
        Driver { received: 5, lost: 3 }
    }

    fn tell(&mut self, report: &Report<'_>) {
        self.0.borrow_mut().push(Did::Said(report.to_string()));
    }

    fn beat(&mut self, time: protocol::Instant) {
        self.0.borrow_mut().push(Did::Beat(time.as_micros()));
    }
}

#[derive(Clone)]
struct Words(Rc<RefCell<Vec<u32>>>);

impl Words {
    fn blank() -> Self {
        Self(Rc::new(RefCell::new(vec![0; STORE_WORDS])))
    }

    fn with(records: Records) -> Self {
        let words = Self::blank();
        Store::open(words.clone()).save(&records.to_bytes()).unwrap();
        words
    }
}

impl Memory for Words {
    fn read(&self, index: usize) -> u32 {
        self.0.borrow()[index]
    }

    fn write(&mut self, index: usize, value: u32) {
        self.0.borrow_mut()[index] = value;
    }
}

const PAGE: Page = Page {
    id: 5,
    capacity: 800,
    options: options::FACTORY,
    port: 1,
    period_ms: 0,
    seed: 1,
    key: Secret([1; 16]),
    hops: 0,
    channel: 0,
    pan: 0,
    members: 0,
};

/// There is one clock for all tests: they take turns.
static CLOCK: Mutex<()> = Mutex::new(());

/// Runs a node for some seconds and returns what the loop did.
fn run(page: Page, words: &Words, noisy: bool, secs: u64) -> Vec<Did> {
    run_with(page, || Nothing, words, noisy, secs)
}

/// The same with something on top of the node.
fn run_with<U: Upper>(page: Page, upper: fn() -> U, words: &Words, noisy: bool, secs: u64) -> Vec<Did> {
    let _turn = CLOCK.lock().unwrap_or_else(PoisonError::into_inner);
    MockDriver::get().reset();
    let diary = Diary::default();
    let (mut air, mut bench) = (Air { diary: diary.clone(), noisy }, Bench(diary.clone()));
    let mut store = Store::open(words.clone());
    let start = Start { page, election: Wireless::new(), mutex: NoMutex, upper, entropy: 0 };
    let mut driven = pin!(drive::<_, _, 8, _>(start, &mut air, &mut store, &mut bench));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..secs * 200 {
        assert!(driven.as_mut().poll(&mut context).is_pending(), "the loop ended");
        MockDriver::get().advance(Duration::from_millis(5));
    }
    diary.take()
}

fn said(diary: &[Did]) -> Vec<Report<'_>> {
    fn report(did: &Did) -> Option<Report<'_>> {
        match did {
            Did::Said(text) => Report::parse(text),
            Did::Sent | Did::Fed | Did::Well | Did::Beat(_) => None,
        }
    }
    diary.iter().filter_map(report).collect()
}

fn stored(diary: &[Did]) -> Records {
    let records = |report: &Report<'_>| match report {
        Report::Stored(records) => Some(*records),
        _ => None, // every other report is about something else
    };
    said(diary).iter().find_map(records).expect("records are stored")
}

#[test]
fn nothing_is_sent_before_the_records_are_stored() {
    let diary = run(PAGE, &Words::blank(), false, 3);
    let first = |wanted: &dyn Fn(&Did) -> bool| diary.iter().position(wanted).unwrap();
    let stored = first(&|did| matches!(did, Did::Said(text) if text.starts_with("stored")));
    assert!(stored < first(&|did| *did == Did::Sent));
    assert!(said(&diary).iter().any(|report| matches!(report, Report::Leading { .. })), "alone, it leads");
}

#[test]
fn a_new_board_begins_at_the_beginning() {
    let diary = run(PAGE, &Words::blank(), false, 1);
    assert_eq!(said(&diary)[0], Report::Starting { node: NodeId(5), capacity: 800, records: Past::New });
    assert_eq!(stored(&diary).incarnation, 1);
}

#[test]
fn a_board_that_kept_its_records_goes_on_from_them() {
    let kept = Records { incarnation: 7, term: 30, stamp: Stamp(9) };
    let words = Words::with(kept);
    let diary = run(PAGE, &words, false, 3);
    assert_eq!(said(&diary)[0], Report::Starting { node: NodeId(5), capacity: 800, records: Past::Kept });
    assert_eq!(stored(&diary).incarnation, 8);
    assert!(said(&diary).iter().any(|report| matches!(report, Report::Leading { term } if term.number > 30)));
    let again = run(PAGE, &words, false, 1);
    assert_eq!(stored(&again).incarnation, 9);
}

#[test]
fn a_board_that_lost_its_records_keeps_out_of_the_way() {
    let diary = run(Page { options: 0, ..PAGE }, &Words::blank(), false, 5);
    assert_eq!(said(&diary)[0], Report::Starting { node: NodeId(5), capacity: 800, records: Past::Lost });
    assert!(stored(&diary).incarnation >= 1 << 31, "a number that no counted boot has");
    assert!(!said(&diary).iter().any(|report| matches!(report, Report::Leading { .. })), "not within the quarantine");
    let diary = run(Page { options: 0, ..PAGE }, &Words::blank(), false, 10);
    assert!(said(&diary).iter().any(|report| matches!(report, Report::Leading { .. })), "but after it");
}

#[test]
fn a_board_that_never_leads_does_not_lead_alone_either() {
    let diary = run(Page { options: options::FACTORY | options::NEVER_LEADS, ..PAGE }, &Words::blank(), false, 10);
    assert!(!said(&diary).iter().any(|report| matches!(report, Report::Leading { .. })));
}

#[test]
fn a_flood_of_frames_does_not_hide_that_time_passes() {
    let diary = run(PAGE, &Words::blank(), true, 12);
    assert!(said(&diary).iter().any(|report| matches!(report, Report::Leading { .. })));
    assert!(diary.contains(&Did::Well));
    let fed = diary.iter().filter(|&did| *did == Did::Fed).count();
    assert!(fed >= 12 / usize::try_from(FEED_PERIOD.as_secs()).unwrap(), "fed {fed} times");
    let dropped = |report: &Report<'_>| matches!(report, Report::Status(status) if status.dropped.version > 1_000);
    assert!(said(&diary).iter().any(dropped), "every frame is counted");
}

#[test]
fn a_status_tells_what_was_counted_as_often_as_the_page_says() {
    let diary = run(Page { period_ms: 500, ..PAGE }, &Words::blank(), false, 5);
    let statuses: Vec<_> = said(&diary)
        .into_iter()
        .filter_map(|report| match report {
            Report::Status(status) => Some(status),
            _ => None, // every other report is about something else
        })
        .collect();
    assert!((8..=10).contains(&statuses.len()), "{}", statuses.len());
    assert_eq!((statuses[0].sent, statuses[0].unclaimed, statuses[0].driver), (7, 4, 3));
}

#[test]
fn a_board_hears_of_every_second_of_the_shared_clock_as_it_begins() {
    let page = Page { id: 0, members: 1, ..PAGE };
    for noisy in [false, true] {
        let diary = run_with(page, ClockSync::<8>::new, &Words::blank(), noisy, 20);
        let beats: Vec<u64> = diary
            .iter()
            .filter_map(|did| match did {
                Did::Beat(micros) => Some(*micros),
                Did::Sent | Did::Fed | Did::Well | Did::Said(_) => None,
            })
            .collect();
        assert!(beats.len() >= 5, "{beats:?}");
        assert!(beats.windows(2).all(|two| two[1] / 1_000_000 == two[0] / 1_000_000 + 1), "{beats:?}");
        assert!(beats.iter().all(|micros| micros % 1_000_000 < 10_000), "time passes in steps of 5 ms here: {beats:?}");
    }
    let diary = run(page, &Words::blank(), false, 20);
    assert!(!diary.iter().any(|did| matches!(did, Did::Beat(_))), "without a shared clock there is none");
}
