//! Every order of events of three nodes with an application on top, on the unchanged algorithms.
//!
//! The network keeps the link's promise, with any delay between any two nodes: letters arrive in order and exactly once. Or
//! it does not keep the order, to see that the search finds what goes wrong then.
//!
//! Of snapshots: two gifts of a bank are made at any moments, from anybody to anybody, and one or two snapshots are begun
//! at any moments. Every snapshot is taken, and what it shows comes to the sum there is.
//!
//! Of the end of a job: one of a few units begins at the first node and spreads at any moments in any way, and somebody
//! watches from any moment on. Nobody is told of the end while somebody works or work is on its way; and everybody is told.

#[path = "explore/actors.rs"]
mod actors;
#[path = "explore/fingerprint.rs"]
mod fingerprint;
#[path = "explore/numbered.rs"]
mod numbered;
#[path = "explore/suites.rs"]
mod suites;

use actors::{NODES, Watched};
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::application::{Diffusing, Tokens, diffusing};
use protocol::suite::{Command, Suite};
use protocol::termination::{self, Activity, Detection, DijkstraScholten, Notice, Wave};
use protocol::wire::Silence;
use protocol::{Instant, NodeSet, Span};
use std::fmt::Debug;
use suites::{Bounds, Broken, Explorer, Figures};

/// Nobody watches.
#[derive(Clone, Debug, Default)]
struct Unwatched;

impl Algorithm for Unwatched {
    type Message = Silence;
    type Command = termination::Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, _: &Context<'_>, _: Input<Silence, termination::Command>, _: &mut Outbox<Silence, Notice>) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Detection for Unwatched {
    fn sent(&mut self, _: NodeSet) {}

    fn heard(&mut self, _: Option<usize>) {}

    fn observe(&mut self, _: &Context<'_>, _: Activity, _: &mut Outbox<Silence, Notice>) {}

    fn speak(&mut self, _: &Context<'_>, _: &mut Outbox<Silence, Notice>) -> bool {
        false
    }
}

impl Watched for Unwatched {}
impl Watched for DijkstraScholten<NODES> {}
impl Watched for Wave<NODES> {
    fn waves(&self) -> u32 {
        self.waves()
    }
}

/// A detection that does not know what the application sends and hears, only when it is busy.
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

    fn sent(&mut self, _: NodeSet) {}

    fn heard(&mut self, _: Option<usize>) {}

    fn observe(&mut self, cx: &Context<'_>, activity: Activity, out: &mut Outbox<D::Message, Notice>) {
        self.0.observe(cx, activity, out);
    }

    fn speak(&mut self, cx: &Context<'_>, out: &mut Outbox<D::Message, Notice>) -> bool {
        self.0.speak(cx, out)
    }
}

impl<D: Watched> Watched for Uncounted<D> {
    fn waves(&self) -> u32 {
        self.0.waves()
    }
}

fn show(name: &str, bounds: Bounds, found: &Result<Figures, Broken>) {
    match found {
        Ok(figures) => println!("{name} {bounds:?}: {figures:?}"),
        Err(Broken { why, steps }) => println!("{name} {bounds:?}: {why}\n  {}", steps.join("\n  ")),
    }
}

/// What every node has at the start: a gift is of one then.
const TOKENS: u32 = 2;

/// Two gifts at any moments, and one snapshot.
const BANK: Bounds =
    Bounds { askers: &[0], sends: 2, eager: false, in_order: true, draws: &[0, 2], sum: Some(3 * TOKENS) };

fn bank(bounds: Bounds) -> Result<Figures, Broken> {
    type Bank = Suite<Tokens<NODES>, Unwatched, NODES>;
    let make = |_| Bank::new(Tokens::new(TOKENS, Span::ZERO), Unwatched);
    let found = Explorer::new(bounds, Command::Snapshot).explore(make, None);
    show("bank", bounds, &found);
    found
}

#[test]
fn s1_every_snapshot_of_a_bank_is_taken_and_no_token_is_missing_whatever_comes_first() {
    for bounds in [Bounds { eager: true, ..BANK }, Bounds { sends: 1, ..BANK }] {
        let Figures { last, complete, .. } = bank(bounds).expect("nothing goes wrong");
        assert!(last > 0 && complete == last, "{complete} of {last}");
    }
}

#[test]
fn s3_two_snapshots_at_once_do_not_disturb_each_other_whatever_comes_first() {
    let bounds = Bounds { askers: &[0, 1], eager: true, sends: 1, ..BANK };
    let Figures { last, complete, .. } = bank(bounds).expect("nothing goes wrong");
    assert!(last > 0 && complete == last, "{complete} of {last}");
}

#[test]
fn s1_a_marker_that_overtakes_a_message_is_found_out() {
    let broken = bank(Bounds { in_order: false, eager: true, sends: 1, ..BANK }).unwrap_err();
    assert_eq!(broken.why, "the sum is not conserved");
}

/// A job, watched by the first or the second node.
const JOB: Bounds =
    Bounds { askers: &[0], sends: u8::MAX, eager: true, in_order: true, draws: &[0, 1, 2, 4, 6], sum: None };

fn job<D>(name: &str, bounds: Bounds, units: u32) -> Result<Figures, Broken>
where
    D: Detection<Message: Debug> + Watched + Clone + Debug + Default,
{
    let make = |_| Suite::<_, D, NODES>::new(Diffusing::new(Span::ZERO), D::default());
    let start = Command::Application(diffusing::Command::Start { units });
    let found = Explorer::new(bounds, Command::Watch).explore(make, Some(start));
    show(name, bounds, &found);
    found
}

#[test]
fn t1_a_wave_never_tells_of_the_end_before_it_whatever_comes_first() {
    for (askers, units, eager) in [(&[0][..], 5, true), (&[1], 5, true), (&[1], 3, false), (&[0, 2], 2, true)] {
        let bounds = Bounds { askers, eager, ..JOB };
        let Figures { last, complete, .. } = job::<Wave<NODES>>("wave", bounds, units).expect("nothing goes wrong");
        assert!(last > 0 && complete == last, "{complete} of {last}");
    }
}

#[test]
fn t1_a_tree_never_tells_of_the_end_before_it_and_always_does_whatever_comes_first() {
    for (eager, units) in [(true, 7), (false, 6)] {
        let bounds = Bounds { askers: &[], eager, ..JOB };
        let Figures { last, complete, .. } =
            job::<DijkstraScholten<NODES>>("tree", bounds, units).expect("nothing goes wrong");
        assert!(last > 0 && complete == last, "{complete} of {last}");
    }
}

#[test]
fn x15_a_wave_that_counts_no_messages_is_found_out() {
    let broken = job::<Uncounted<Wave<NODES>>>("uncounted wave", JOB, 3).unwrap_err();
    assert!(broken.why.starts_with("the end is told while"), "{broken:?}");
}

#[test]
fn t1_a_tree_that_counts_no_messages_is_found_out() {
    let broken = job::<Uncounted<DijkstraScholten<NODES>>>("uncounted tree", JOB, 3).unwrap_err();
    assert!(broken.why.starts_with("the end is told while"), "{broken:?}");
}
