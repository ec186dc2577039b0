//! The loop on a desktop, with a test's transport, memory and clock.

use super::{Board, DriverCounters, FEED_PERIOD, FromPage, Start, Stop, run};
use crate::net::{Counters, FrameBuffer, ReceivedFrame, Transport};
use crate::report::{RecordsAtBoot, Report};
use crate::storage::config_page::{ConfigPage, Secret, options};
use crate::storage::record_store::{LoadError, RecordStore, StoreError};
use crate::storage::retained_store::RetainedStore;
use crate::storage::retained_store::tests::TestMemory;
use crate::tests::{reset_clock, run_for};
use core::future::{pending, poll_fn};
use core::pin::pin;
use core::task::Poll;
use embassy_time::Duration;
use protocol::NodeId;
use protocol::base::lamport::LamportTime;
use protocol::base::membership::Group;
use protocol::base::records::Records;
use protocol::election::Wireless;
use protocol::mutex::NoMutex;
use protocol::service::clock_sync::ClockSync;
use protocol::service::{NoService, Service};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec::Vec;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    Sent,
    FedWatchdog,
    Healthy,
    Reported(String),
    /// A second of the shared clock began, at this many microseconds.
    Second(u64),
}

type Calls = Rc<RefCell<Vec<Call>>>;

/// A transport that receives no frames, or a flood of them.
struct TestTransport {
    calls: Calls,
    flooded: bool,
}

impl Transport for TestTransport {
    async fn broadcast(&mut self, _frame: &[u8]) {
        self.calls.borrow_mut().push(Call::Sent);
    }

    async fn receive<'b>(&mut self, buffer: &'b mut FrameBuffer) -> ReceivedFrame<'b> {
        if !self.flooded {
            pending::<()>().await;
        }
        // One frame per poll, as the network's task has to run before the next one.
        let mut polled = false;
        poll_fn(|_| if core::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        ReceivedFrame { bytes: &buffer[..50], quality: u8::MAX }
    }

    fn counters(&self) -> Counters {
        Counters { sent: 7, received: 1, ..Counters::default() }
    }
}

struct TestBoard(Calls);

impl<S: Service> Board<S> for TestBoard {
    fn feed_watchdog(&mut self) {
        self.0.borrow_mut().push(Call::FedWatchdog);
    }

    fn on_healthy(&mut self) {
        self.0.borrow_mut().push(Call::Healthy);
    }

    fn driver_counters(&self) -> DriverCounters {
        DriverCounters { received: 5, lost: 3 }
    }

    fn on_report(&mut self, report: &Report<'_>) {
        self.0.borrow_mut().push(Call::Reported(report.to_string()));
    }

    fn on_second(&mut self, time: protocol::Instant) {
        self.0.borrow_mut().push(Call::Second(time.as_micros()));
    }
}

/// Memory that holds these records.
fn memory_with(records: Records) -> TestMemory {
    let memory = TestMemory::filled(0);
    RetainedStore::open(memory.clone()).save(&records.to_bytes()).unwrap();
    memory
}

const PAGE: ConfigPage = ConfigPage {
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
    key_number: 0,
    capacity_max: 0,
    previous_key: Secret::NONE,
};

/// Runs a node for some seconds; returns the calls of the loop.
fn calls_in(page: ConfigPage, memory: &TestMemory, flooded: bool, secs: u64) -> Vec<Call> {
    calls_with(page, || NoService, memory, flooded, secs)
}

/// The same with a service.
fn calls_with<S: Service>(
    page: ConfigPage,
    service: fn() -> S,
    memory: &TestMemory,
    flooded: bool,
    secs: u64,
) -> Vec<Call> {
    reset_clock();
    let calls = Calls::default();
    let mut transport = TestTransport { calls: calls.clone(), flooded };
    let (mut board, mut store) = (TestBoard(calls.clone()), RetainedStore::open(memory.clone()));
    let group = Option::<Group>::from_page;
    let start = Start { page, group, election: || Some(Wireless::new()), mutex: || Some(NoMutex), service, entropy: 0 };
    let mut running = pin!(run::<_, _, 8, _, _>(&start, &mut transport, &mut store, &mut board));
    run_for(running.as_mut(), secs * 200, Duration::from_millis(5));
    calls.take()
}

/// A store that loads no records for this reason.
struct Failing(LoadError);

impl RecordStore for Failing {
    async fn load(&mut self) -> Result<Option<Records>, LoadError> {
        Err(self.0)
    }

    async fn save(&mut self, _: Records) -> Result<(), StoreError> {
        assert_eq!(self.0, LoadError::Lost, "stored over records that could not be read");
        Ok(())
    }
}

/// Runs a new board with a store that fails; returns why it stopped, if it did, and the calls of the loop.
fn calls_failing(page: ConfigPage, error: LoadError) -> (Option<Stop>, Vec<Call>) {
    reset_clock();
    let calls = Calls::default();
    let mut transport = TestTransport { calls: calls.clone(), flooded: false };
    let (mut board, mut store) = (TestBoard(calls.clone()), Failing(error));
    let group = Option::<Group>::from_page;
    let (election, mutex, service) = (|| Some(Wireless::new()), || Some(NoMutex), || NoService);
    let start = Start { page, group, election, mutex, service, entropy: 0 };
    let stopped = Cell::new(None);
    {
        let running = run::<_, _, 8, _, _>(&start, &mut transport, &mut store, &mut board);
        let mut running = pin!(async {
            stopped.set(Some(running.await));
            pending::<Infallible>().await
        });
        run_for(running.as_mut(), 200, Duration::from_millis(5));
    }
    (stopped.take(), calls.take())
}

fn reports(calls: &[Call]) -> Vec<Report<'_>> {
    calls.iter().filter_map(|call| if let Call::Reported(line) = call { Report::parse(line) } else { None }).collect()
}

fn leads(calls: &[Call]) -> bool {
    reports(calls).iter().any(|report| matches!(report, Report::Leading { .. }))
}

fn stored(calls: &[Call]) -> Records {
    let records = |report: &Report<'_>| if let Report::Stored(records) = report { Some(*records) } else { None };
    reports(calls).iter().find_map(records).expect("records are stored")
}

fn starting(records: RecordsAtBoot) -> Report<'static> {
    Report::Starting { node: NodeId(5), capacity: 800, records }
}

#[test]
fn no_frame_is_sent_before_the_records_are_stored() {
    let calls = calls_in(PAGE, &TestMemory::filled(0), false, 3);
    let first = |wanted: &dyn Fn(&Call) -> bool| calls.iter().position(wanted).unwrap();
    let stored = first(&|call| matches!(call, Call::Reported(line) if line.starts_with("stored")));
    assert!(stored < first(&|call| *call == Call::Sent));
    assert!(leads(&calls), "alone, it leads");
}

#[test]
fn a_new_board_starts_with_new_records() {
    let calls = calls_in(PAGE, &TestMemory::filled(0), false, 1);
    assert_eq!(reports(&calls)[0], starting(RecordsAtBoot::New));
    assert_eq!(stored(&calls).incarnation, 1);
}

#[test]
fn a_board_continues_from_its_stored_records() {
    let memory = memory_with(Records { incarnation: 7, term: 30, lamport: LamportTime(9), ..Records::FACTORY });
    let calls = calls_in(PAGE, &memory, false, 3);
    assert_eq!(reports(&calls)[0], starting(RecordsAtBoot::Kept));
    assert_eq!(stored(&calls).incarnation, 8);
    assert!(reports(&calls).iter().any(|report| matches!(report, Report::Leading { term } if term.number > 30)));
    assert_eq!(stored(&calls_in(PAGE, &memory, false, 1)).incarnation, 9);
}

#[test]
fn a_board_that_lost_its_records_leads_only_after_the_quarantine() {
    let page = ConfigPage { options: 0, ..PAGE };
    let calls = calls_in(page, &TestMemory::filled(0), false, 5);
    assert_eq!(reports(&calls)[0], starting(RecordsAtBoot::Lost));
    assert!(stored(&calls).incarnation >= 1 << 31, "a number that no counted boot has");
    assert!(!leads(&calls), "within the quarantine");
    assert!(leads(&calls_in(page, &TestMemory::filled(0), false, 10)), "after the quarantine");
}

#[test]
fn a_board_without_a_key_stops_and_sends_nothing() {
    let (stopped, calls) = calls_failing(ConfigPage { key: Secret::NONE, ..PAGE }, LoadError::Lost);
    assert_eq!(stopped, Some(Stop::NoKey));
    assert!(!calls.contains(&Call::Sent));
}

#[test]
fn a_board_that_cannot_read_its_records_stops_and_leaves_them_alone() {
    let (stopped, calls) = calls_failing(PAGE, LoadError::Unreadable);
    assert_eq!(stopped, Some(Stop::LoadFailed));
    assert_eq!(reports(&calls), [Report::Stopped("records cannot be read")]);
}

#[test]
fn a_board_that_lost_its_records_is_not_new_again() {
    let (stopped, calls) = calls_failing(PAGE, LoadError::Lost);
    assert_eq!((stopped, reports(&calls)[0]), (None, starting(RecordsAtBoot::Lost)));
}

#[test]
fn a_board_claims_no_more_capacity_than_it_may() {
    let calls = calls_in(ConfigPage { capacity_max: 300, ..PAGE }, &TestMemory::filled(0), false, 1);
    let capacity = |report| if let Report::Starting { capacity, .. } = report { Some(capacity) } else { None };
    assert_eq!(reports(&calls).into_iter().find_map(capacity), Some(300));
}

#[test]
fn a_board_that_never_leads_does_not_lead_alone_either() {
    let page = ConfigPage { options: options::FACTORY | options::NEVER_LEADS, ..PAGE };
    assert!(!leads(&calls_in(page, &TestMemory::filled(0), false, 10)));
}

#[test]
fn a_flood_of_frames_does_not_delay_timeouts() {
    let calls = calls_in(PAGE, &TestMemory::filled(0), true, 12);
    assert!(leads(&calls));
    assert!(calls.contains(&Call::Healthy));
    let fed = calls.iter().filter(|&call| *call == Call::FedWatchdog).count();
    assert!(fed >= 12 / usize::try_from(FEED_PERIOD.as_secs()).unwrap(), "fed {fed} times");
    let dropped = |report: &Report<'_>| matches!(report, Report::Status(status) if status.dropped.version > 1_000);
    assert!(reports(&calls).iter().any(dropped), "every frame is counted");
}

#[test]
fn status_reports_come_at_the_interval_of_the_config_page() {
    let calls = calls_in(ConfigPage { period_ms: 500, ..PAGE }, &TestMemory::filled(0), false, 5);
    let status = |report| if let Report::Status(status) = report { Some(status) } else { None };
    let statuses: Vec<_> = reports(&calls).into_iter().filter_map(status).collect();
    assert!((8..=10).contains(&statuses.len()), "{}", statuses.len());
    assert_eq!((statuses[0].sent, statuses[0].undelivered, statuses[0].driver_lost), (7, 4, 3));
}

#[test]
fn a_board_is_called_when_a_second_of_the_shared_clock_begins() {
    let page = ConfigPage { id: 0, members: 1, ..PAGE };
    let seconds = |calls: Vec<Call>| -> Vec<u64> {
        calls.iter().filter_map(|call| if let Call::Second(micros) = call { Some(*micros) } else { None }).collect()
    };
    for flooded in [false, true] {
        let seconds = seconds(calls_with(page, ClockSync::<8>::new, &TestMemory::filled(0), flooded, 20));
        assert!(seconds.len() >= 5, "{seconds:?}");
        assert!(seconds.windows(2).all(|two| two[1] / 1_000_000 == two[0] / 1_000_000 + 1), "{seconds:?}");
        assert!(seconds.iter().all(|micros| micros % 1_000_000 < 10_000), "in steps of 5 ms: {seconds:?}");
    }
    assert_eq!(seconds(calls_in(page, &TestMemory::filled(0), false, 20)), [0_u64; 0], "without a shared clock");
}
