//! Leases and applications with known faults: the search must find them.

use host_sim::explore::app_model::{Bounds, NODES, Waves};
use host_sim::explore::apps::{BANK, JOB, explore_bank, explore_job};
use host_sim::explore::lease_model::{self, Belief, NAMED};
use host_sim::explore::search::Limits;
use protocol::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use protocol::service::termination::{Activity, Detection, DijkstraScholten, Notice, Wave};
use protocol::{Instant, NodeSet};

#[test]
fn a_node_that_acts_as_long_as_no_other_is_named_is_found_out() {
    let outcome = lease_model::judge(lease_model::Bounds { belief: Belief::Stale, ..NAMED }, Limits::NONE);
    assert_eq!(outcome.why(), Some("two nodes act at once"));
}

#[test]
fn s1_a_marker_that_overtakes_a_message_is_found_out() {
    let outcome = explore_bank(Bounds { in_order: false, eager: true, sends: 1, ..BANK }, Limits::NONE);
    assert_eq!(outcome.why(), Some("the sum is not conserved"));
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

fn uncounted<D>() -> &'static str
where
    D: Detection<Message: std::fmt::Debug + Send + Sync> + Waves + Clone + std::fmt::Debug + Default + Send + Sync,
{
    explore_job::<Uncounted<D>>(JOB, 3, Limits::NONE).why().expect("it is found")
}

#[test]
fn x15_a_wave_that_counts_no_messages_is_found_out() {
    assert!(uncounted::<Wave<NODES>>().starts_with("termination is announced while"));
}

#[test]
fn t1_a_tree_that_counts_no_messages_is_found_out() {
    assert!(uncounted::<DijkstraScholten<NODES>>().starts_with("termination is announced while"));
}
