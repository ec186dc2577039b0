//! The node that a scenario needs, decided when it is read: one world for all scenarios.

use super::ScenarioNode;
use super::changing_node::{ChangingLockNode, ChangingMember};
use super::protocol_node::{AppNode, CommitNode, LockNode, Member, OrderedNode, ProtocolNode, ServiceNode};
use crate::scenario::Scenario;
use crate::sim::node::{Boot, NodeEvent, SimNode};
use crate::trace::{AppRequest, MessageEvent};
use crate::workload::apps::AppPlan;
use protocol::base::capacity::Capacity;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::Command;
use protocol::members::{Change, List};
use protocol::mutex::{self, Fence, LockId};
use protocol::{Instant, NodeId};

/// Makes one enum of nodes and one of plans; `of!` does the same with whichever node it is.
macro_rules! any_node {
    ($($(#[$doc:meta])* $variant:ident: $node:ty,)*) => {
        /// A node of any type that a scenario can need.
        pub enum AnyNode {
            $($(#[$doc])* $variant(Box<$node>),)*
        }

        /// The settings that all nodes of a run share; they say of which type its nodes are.
        #[expect(clippy::large_enum_variant, reason = "a run has one")]
        pub enum AnyPlan {
            $($(#[$doc])* $variant(<$node as SimNode>::Plan),)*
        }

        macro_rules! of {
            ($any:expr, $inner:pat => $do:expr) => {
                match $any {
                    $(Self::$variant($inner) => $do,)*
                }
            };
        }

        impl AnyNode {
            fn booted(plan: &AnyPlan, boot: Boot, log: Option<&[u8]>) -> Self {
                match plan {
                    $(AnyPlan::$variant(plan) => Self::$variant(Box::new(<$node>::boot_with_log(plan, boot, log))),)*
                }
            }
        }

        impl AnyPlan {
            fn lie(&self, frame: &[u8], random: u64) -> Option<Box<[u8]>> {
                match self {
                    $(Self::$variant(plan) => <$node>::lie(plan, frame, random),)*
                }
            }

            fn message_name(&self, frame: &[u8]) -> &'static str {
                match self {
                    $(Self::$variant(plan) => <$node>::message_name(plan, frame),)*
                }
            }
        }
    };
}

any_node! {
    /// It elects, in whatever range it has.
    Radio: ProtocolNode,
    /// It elects in a group.
    Member: Member,
    /// It takes locks.
    Lock: LockNode,
    /// It runs an application.
    App: AppNode,
    /// It takes part in one order.
    Ordered: OrderedNode,
    /// It takes part in transactions.
    Commit: CommitNode,
    /// It makes requests, and answers those of others.
    Service: ServiceNode,
    /// It elects in a group that changes.
    Changing: ChangingMember,
    /// It takes locks in a group that changes.
    ChangingLock: ChangingLockNode,
}

impl ScenarioNode for AnyNode {
    fn plan(scenario: &Scenario) -> AnyPlan {
        if scenario.members.is_some() && scenario.world.locks.is_some() {
            AnyPlan::ChangingLock(ChangingLockNode::plan(scenario))
        } else if scenario.members.is_some() {
            AnyPlan::Changing(ChangingMember::plan(scenario))
        } else if scenario.world.locks.is_some() {
            AnyPlan::Lock(LockNode::plan(scenario))
        } else if scenario.world.app.as_ref().is_some_and(AppPlan::is_ordered) {
            AnyPlan::Ordered(OrderedNode::plan(scenario))
        } else if scenario.world.app.as_ref().is_some_and(AppPlan::is_commit) {
            AnyPlan::Commit(CommitNode::plan(scenario))
        } else if scenario.world.app.is_some() {
            AnyPlan::App(AppNode::plan(scenario))
        } else if scenario.world.requests.is_some() {
            AnyPlan::Service(ServiceNode::plan(scenario))
        } else if scenario.is_group() {
            AnyPlan::Member(Member::plan(scenario))
        } else {
            AnyPlan::Radio(<ProtocolNode>::plan(scenario))
        }
    }
}

impl SimNode for AnyNode {
    type Plan = AnyPlan;

    fn boot(plan: &AnyPlan, boot: Boot) -> Self {
        Self::booted(plan, boot, None)
    }

    fn boot_with_log(plan: &AnyPlan, boot: Boot, log: Option<&[u8]>) -> Self {
        Self::booted(plan, boot, log)
    }

    fn receive(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        of!(self, node => node.receive(now, bytes, quality));
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        of!(self, node => node.measure(now, capacity));
    }

    fn command(&mut self, now: Instant, command: Command) {
        of!(self, node => node.command(now, command));
    }

    fn lock_command(&mut self, now: Instant, command: mutex::Command) {
        of!(self, node => node.lock_command(now, command));
    }

    fn app_request(&mut self, now: Instant, request: AppRequest) {
        of!(self, node => node.app_request(now, request));
    }

    fn change_list(&mut self, now: Instant, change: Change) {
        of!(self, node => node.change_list(now, change));
    }

    fn handle_timeout(&mut self, now: Instant) {
        of!(self, node => node.handle_timeout(now));
    }

    fn poll_persist(&mut self) -> Option<Records> {
        of!(self, node => node.poll_persist())
    }

    fn poll_log(&mut self) -> Option<Box<[u8]>> {
        of!(self, node => node.poll_log())
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        of!(self, node => node.poll_transmit(now, buffer))
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        of!(self, node => node.poll_event())
    }

    fn poll_message(&mut self) -> Option<MessageEvent> {
        of!(self, node => node.poll_message())
    }

    fn deadline(&self) -> Option<Instant> {
        of!(self, node => node.deadline())
    }

    fn is_acting(&self, now: Instant) -> bool {
        of!(self, node => node.is_acting(now))
    }

    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        of!(self, node => node.holds(lock, now))
    }

    fn shared_time(&self, now: Instant) -> Option<Instant> {
        of!(self, node => node.shared_time(now))
    }

    fn advertise(&self, capacity: u16) -> u16 {
        of!(self, node => node.advertise(capacity))
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        of!(self, node => node.leader())
    }

    fn chief(&self) -> Option<(NodeId, Term)> {
        of!(self, node => node.chief())
    }

    fn takes_part(&self) -> bool {
        of!(self, node => node.takes_part())
    }

    fn list(&self) -> Option<&List> {
        of!(self, node => node.list())
    }

    fn lie(plan: &AnyPlan, frame: &[u8], random: u64) -> Option<Box<[u8]>> {
        plan.lie(frame, random)
    }

    fn message_name(plan: &AnyPlan, frame: &[u8]) -> &'static str {
        plan.message_name(frame)
    }
}
