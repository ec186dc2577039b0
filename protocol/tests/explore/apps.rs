//! Every order of events of three nodes with an application.
//!
//! The network keeps the link's promise, with any delay between any two nodes: messages arrive in order and exactly once.
//! Or channels do not keep the order, to see that the search finds what goes wrong then.
//!
//! Snapshots: a bank makes two transfers at any moments, from any node to any node, and one or two snapshots begin at any
//! moments. Every snapshot is taken, and its parts sum up to the tokens there are.
//!
//! Termination: a job of a few units begins at the first node and spreads at any moments in any way, and a node watches
//! from any moment on. No node announces termination while a node works or work is in flight; and every node learns of it.

use crate::app_model::{AppModel, Bounds, Explored, Waves};
use crate::explorer::{Figures, NODES, Violation, explore};
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::service::app_service::{Command, ObservedApp};
use protocol::service::demo::diffusing;
use protocol::service::demo::{Diffusing, Tokens};
use protocol::service::termination::{self, Activity, Detection, DijkstraScholten, Notice, Wave};
use protocol::wire::NoMessage;
use protocol::{Duration, Instant, NodeSet};
use std::fmt::Debug;

/// No termination detection.
#[derive(Clone, Debug, Default)]
struct NoDetection;

impl Algorithm for NoDetection {
    type Message = NoMessage;
    type Command = termination::Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(
        &mut self,
        _: &Context<'_>,
        _: Input<NoMessage, termination::Command>,
        _: &mut Outbox<NoMessage, Notice>,
    ) {
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Detection for NoDetection {
    fn on_sent(&mut self, _: NodeSet) {}

    fn on_received(&mut self, _: Option<usize>) {}

    fn on_activity(&mut self, _: &Context<'_>, _: Activity, _: &mut Outbox<NoMessage, Notice>) {}

    fn poll_send(&mut self, _: &Context<'_>, _: &mut Outbox<NoMessage, Notice>) -> bool {
        false
    }
}

impl Waves for NoDetection {}
impl Waves for DijkstraScholten<NODES> {}
impl Waves for Wave<NODES> {
    fn waves(&self) -> u32 {
        self.waves()
    }
}

/// A detection that does not see what the application sends and receives, only whether it is busy.
#[derive(Clone, Debug, Default)]
struct Uncounted<D>(D);

impl<D: Algorithm> Algorithm for Uncounted<D> {
    type Message = D::Message;
    type Command = D::Command;
    type Notice = D::Notice;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<D::Message, D::Command>,
        out: &mut Outbox<D::Message, D::Notice>,
    ) {
        self.0.handle(cx, input, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }
}

impl<D: Detection> Detection for Uncounted<D> {
    fn resume(&mut self, incarnation: u32) {
        self.0.resume(incarnation);
    }

    fn on_sent(&mut self, _: NodeSet) {}

    fn on_received(&mut self, _: Option<usize>) {}

    fn on_activity(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Outbox<D::Message, Notice>) {
        self.0.on_activity(cx, activity, out);
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<D::Message, Notice>) -> bool {
        self.0.poll_send(cx, out)
    }
}

impl<D: Waves> Waves for Uncounted<D> {
    fn waves(&self) -> u32 {
        self.0.waves()
    }
}

/// Explores an application: in how many states nothing is left to do, and how many of those are complete.
fn search<S: Explored>(
    name: &str,
    (bounds, command): (Bounds, S::Command),
    make: impl Fn(usize) -> S,
    begin: Option<S::Command>,
) -> Result<(usize, usize), Violation> {
    let mut model = AppModel::new(bounds, command);
    let first = model.first(make, begin);
    let found = explore(&mut model, first);
    let AppModel { last, complete, .. } = model;
    match &found {
        Ok(Figures { states, cut }) => {
            println!("{name} {bounds:?}: states: {states}, last: {last}, complete: {complete}, cut: {cut}");
        }
        Err(Violation { why, steps }) => println!("{name} {bounds:?}: {why}\n  {}", steps.join("\n  ")),
    }
    found.map(|_| (last, complete))
}

/// Every run ends, and ends well.
fn prove(found: Result<(usize, usize), Violation>) {
    let (last, complete) = found.expect("nothing goes wrong");
    assert!(last > 0 && complete == last, "{complete} of {last}");
}

/// The tokens of every node at the start: a transfer is of one then.
const TOKENS: u32 = 2;

/// Two transfers at any moments, and one snapshot.
const BANK: Bounds =
    Bounds { askers: &[0], sends: 2, eager: false, in_order: true, draws: &[0, 2], sum: Some(3 * TOKENS) };

fn bank(bounds: Bounds) -> Result<(usize, usize), Violation> {
    type Bank = ObservedApp<Tokens<NODES>, NoDetection, NODES>;
    let make = |_| Bank::all(Tokens::new(TOKENS, Duration::ZERO), NoDetection);
    search("bank", (bounds, Command::SNAPSHOT), make, None)
}

#[test]
fn s1_every_snapshot_of_a_bank_is_taken_and_conserves_the_sum_in_every_order_of_events() {
    for bounds in [Bounds { eager: true, ..BANK }, Bounds { sends: 1, ..BANK }] {
        prove(bank(bounds));
    }
}

#[test]
fn s3_two_concurrent_snapshots_are_both_taken_in_every_order_of_events() {
    let bounds = Bounds { askers: &[0, 1], eager: true, sends: 1, ..BANK };
    prove(bank(bounds));
}

#[test]
fn s1_a_marker_that_overtakes_a_message_is_found_out() {
    let violation = bank(Bounds { in_order: false, eager: true, sends: 1, ..BANK }).unwrap_err();
    assert_eq!(violation.why, "the sum is not conserved");
}

/// A job, watched by the first or the second node.
const JOB: Bounds =
    Bounds { askers: &[0], sends: u8::MAX, eager: true, in_order: true, draws: &[0, 1, 2, 4, 6], sum: None };

fn job<D>(name: &str, bounds: Bounds, units: u32) -> Result<(usize, usize), Violation>
where
    D: Detection<Message: Debug> + Waves + Clone + Debug + Default,
{
    let make = |_| ObservedApp::<_, D, NODES>::all(Diffusing::new(Duration::ZERO), D::default());
    let start = Command::Application(diffusing::Command::Start { units });
    search(name, (bounds, Command::DETECT_TERMINATION), make, Some(start))
}

#[test]
fn t1_a_wave_announces_termination_and_never_early_in_every_order_of_events() {
    for (askers, units, eager) in [(&[0][..], 5, true), (&[1], 5, true), (&[1], 3, false), (&[0, 2], 2, true)] {
        let bounds = Bounds { askers, eager, ..JOB };
        prove(job::<Wave<NODES>>("wave", bounds, units));
    }
}

#[test]
fn t1_a_tree_announces_termination_and_never_early_in_every_order_of_events() {
    for (eager, units) in [(true, 7), (false, 6)] {
        let bounds = Bounds { askers: &[], eager, ..JOB };
        prove(job::<DijkstraScholten<NODES>>("tree", bounds, units));
    }
}

#[test]
fn x15_a_wave_that_counts_no_messages_is_found_out() {
    let violation = job::<Uncounted<Wave<NODES>>>("uncounted wave", JOB, 3).unwrap_err();
    assert!(violation.why.starts_with("termination is announced while"), "{violation:?}");
}

#[test]
fn t1_a_tree_that_counts_no_messages_is_found_out() {
    let violation = job::<Uncounted<DijkstraScholten<NODES>>>("uncounted tree", JOB, 3).unwrap_err();
    assert!(violation.why.starts_with("termination is announced while"), "{violation:?}");
}
