//! The elections of a search: everything in it that depends on which election it is.

use super::context::{context, id};
use super::election_messages::Explored;
use super::election_model::{Bounds, Ledger, Seen, Sent, Step};
use super::interned::Interned;
use super::search::Stop;
use protocol::algorithm::{Context, Fact, Input, Outbox, Output, Scope};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::ids::Roster;
use protocol::base::lamport::LamportTime;
use protocol::election::Notice;
use protocol::wire::Payload as _;
use protocol::{Duration, Instant, NodeId, NodeSet, Timing};

/// The most nodes of a search.
const NODES_MAX: usize = 4;

/// What can happen to a node.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Its deadline has passed.
    Timeout,
    /// It reboots.
    Reboot,
    /// A suspicion begins or ends.
    Suspicion {
        /// Who is suspected.
        peer: usize,
        /// Whether it ends.
        ends: bool,
    },
    /// A message arrives.
    Receive(u32),
}

/// The elections of all nodes: what takes their steps.
pub trait Machine: Send + Sync {
    /// Numbers so many nodes that have just started.
    fn first(&mut self, nodes: usize, ledger: &mut Ledger) -> Vec<u32>;

    /// Takes the step of a node at an event.
    fn take(&mut self, local: u32, event: Event, ledger: &mut Ledger) -> Step;

    /// Returns a message with all its fields.
    fn detail(&self, message: u32) -> String;
}

/// A node at some moment, but for its election.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Host {
    node: usize,
    suspects: NodeSet,
    /// Whether the node lost its records, and so may not lead.
    quarantined: bool,
    /// The highest term it acted on before its last reboot, if it kept its records.
    floor: u32,
}

/// A node at some moment.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Local<E> {
    host: Host,
    election: E,
}

/// The setting of a search.
struct Setting {
    timing: Timing,
    rosters: [Roster<NODES_MAX>; NODES_MAX],
    bounds: Bounds,
}

impl Setting {
    /// Nodes with these links; in a group, every node reaches every other.
    fn new(links: &[(usize, usize)], bounds: Bounds, scope: Scope) -> Self {
        let mut rosters = [Roster::new(); NODES_MAX];
        match scope {
            Scope::Group => {
                for roster in rosters.iter_mut().take(bounds.members) {
                    (0..bounds.members).for_each(|member| _ = roster.insert(id(member)));
                }
            }
            Scope::Neighbours | Scope::Nobody => links.iter().for_each(|&(a, b)| {
                rosters[a].insert(id(b));
                rosters[b].insert(id(a));
            }),
        }
        let timing = Timing {
            reflood_count: 0,
            probes: bounds.probes,
            pulse: bounds.pulses.then_some(Duration::ZERO),
            ..Timing::ZERO
        };
        Self { timing, rosters, bounds }
    }

    /// The fact that a suspicion is, and the host with it; `None` where it changes nothing.
    fn suspicion(&self, mut host: Host, peer: usize, ends: bool) -> Option<(Host, Fact)> {
        let set = self.rosters[host.node].view().set_of(id(peer));
        if peer == host.node || host.suspects.meets(set) != ends {
            return None;
        }
        host.suspects = if ends { host.suspects.without(set) } else { host.suspects.with(set) };
        Some((host, if ends { Fact::PeerUp(set) } else { Fact::PeerDown(set) }))
    }

    fn context(&self, host: &Host, grouped: bool) -> Context<'_> {
        let (roster, me) = (self.rosters[host.node].view(), id(host.node));
        let candidate = |id: NodeId| Candidate { capacity: Capacity::new(id.0 as u16), id };
        let cx = context(roster, me);
        let up = cx.peers.without(host.suspects);
        let better = cx.peers.slots().filter(|&slot| grouped && roster.id_of(slot) > Some(me));
        Context {
            now: Instant::ZERO,
            uptime: Duration::ZERO,
            candidate: (!host.quarantined).then(|| candidate(me)),
            quarantined: host.quarantined,
            up,
            better: better.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot))),
            best_peer: if grouped { roster.ids_of(up).max().map(candidate) } else { None },
            lamport: LamportTime(0),
            timing: &self.timing,
            ..cx
        }
    }
}

/// The elections of one kind.
pub(super) struct Elections<E: Explored> {
    setting: Setting,
    locals: Interned<Local<E>>,
    /// Every message that was ever sent, from whom to whom.
    messages: Interned<(usize, usize, E::Message)>,
}

impl<E: Explored> Elections<E> {
    /// Nodes with these links; in a group, every node reaches every other.
    pub(super) fn new(links: &[(usize, usize)], bounds: Bounds) -> Self {
        let setting = Setting::new(links, bounds, E::default().scope());
        Self { setting, locals: Interned::new(), messages: Interned::new() }
    }

    fn number(&mut self, local: Local<E>, ledger: &mut Ledger) -> u32 {
        self.locals.number(&local, || {
            ledger.nodes.push(Seen { suspects: local.host.suspects, leader: local.election.leader() });
            local
        })
    }

    /// The node after a reboot: with its records, no term that it acted on is new; without them it may not lead.
    fn reboot(&mut self, before: Local<E>, ledger: &mut Ledger) -> Step {
        let amnesia = self.setting.bounds.amnesia;
        let quarantined = before.host.quarantined || amnesia;
        let floor = if amnesia { 0 } else { before.election.term_number() };
        let mut election = E::default();
        election.resume(floor);
        let host = Host { suspects: NodeSet::EMPTY, quarantined, floor, ..before.host };
        Step::To { local: self.number(Local { host, election }, ledger), sent: 0 }
    }

    /// Takes one step of one node.
    fn step(
        &mut self,
        before: &E,
        mut local: Local<E>,
        happens: Happens,
        ledger: &mut Ledger,
    ) -> Result<Step, Stop<()>> {
        let host = local.host;
        let cx = self.setting.context(&host, local.election.scope() == Scope::Group);
        let (received, input) = match happens {
            Happens::Timeout => (0, Input::Timeout),
            Happens::Fact(fact) => (0, Input::Fact(fact)),
            Happens::Receive(number) => {
                let (from, _, message) = *self.messages.get(number);
                (E::read(&message).0, Input::Message { from: id(from), sent_at: LamportTime(0), message })
            }
        };
        let mut out = Outbox::new();
        local.election.handle(&cx, input, &mut out);
        local.election.take_deposed(); // the node counts it, and the election forgets it
        if out.overflowed() {
            return Err(Stop::Wrong("a step asks for more than it may"));
        }
        if let Some(((leader, term), (former, earlier))) = local.election.leader().zip(before.leader()) {
            // Where there are clusters, each has terms of its own.
            let other = leader != former && local.election.horizon().is_some();
            if term < earlier && !other {
                return Err(Stop::Wrong("a node's term falls"));
            }
        }
        let bounds = &self.setting.bounds;
        let number = local.election.term_number();
        let started = number > before.term_number().max(received);
        if number > bounds.number_max || (started && !bounds.starters.contains(&host.node)) {
            return Err(Stop::Beyond);
        }
        let mut sent = 0;
        for output in out {
            match output {
                Output::Send { to, message } => sent |= self.send(host.node, to, message, ledger)?,
                Output::Notify(notice) => notified(&host, notice, ledger)?,
            }
        }
        let local = self.number(local, ledger);
        Ok(Step::To { local, sent })
    }

    /// The bits of a message to everybody in `to`.
    fn send(&mut self, from: usize, to: NodeSet, message: E::Message, ledger: &mut Ledger) -> Result<u128, Stop<()>> {
        let (_, claim) = E::read(&message);
        if claim.is_some_and(|(_, _, heartbeat)| heartbeat > self.setting.bounds.heartbeats_max) {
            return Err(Stop::Beyond);
        }
        let mut bits = 0;
        for slot in to.slots() {
            let to = self.setting.rosters[from].view().id_of(slot).ok_or(Stop::Beyond)?.0 as usize - 1;
            let sending = (from, to, message);
            if self.messages.len() == u128::BITS as usize && self.messages.find(&sending).is_none() {
                ledger.overflowed = true;
                return Err(Stop::Beyond);
            }
            bits |= 1
                << self.messages.number(&sending, || {
                    ledger.messages.push(Sent { from, to, name: message.name() });
                    sending
                });
        }
        if let Some((term, leader, _)) = claim {
            ledger.claim(term, leader, bits);
        }
        Ok(bits)
    }
}

/// Checks a notice, and takes note of winners.
fn notified(host: &Host, notice: Notice, ledger: &mut Ledger) -> Result<(), Stop<()>> {
    match notice {
        Notice::Gained { .. } if host.quarantined => Err(Stop::Wrong("a node leads in its quarantine")),
        Notice::Gained { term } if term.number <= host.floor => {
            Err(Stop::Wrong("a node leads again under a term of its earlier boot"))
        }
        Notice::Gained { .. } => {
            ledger.winners.insert(id(host.node));
            Ok(())
        }
        Notice::Following { .. } | Notice::Leaderless | Notice::Reorganising { .. } => Ok(()),
    }
}

/// What happens to an election at an event.
#[derive(Clone, Copy)]
enum Happens {
    Timeout,
    Fact(Fact),
    Receive(u32),
}

impl<E: Explored> Machine for Elections<E> {
    fn first(&mut self, nodes: usize, ledger: &mut Ledger) -> Vec<u32> {
        let host = |node| Host { node, suspects: NodeSet::EMPTY, quarantined: false, floor: 0 };
        (0..nodes).map(|node| self.number(Local { host: host(node), election: E::default() }, ledger)).collect()
    }

    fn take(&mut self, local: u32, event: Event, ledger: &mut Ledger) -> Step {
        let before = *self.locals.get(local);
        let (host, happens) = match event {
            Event::Reboot => return self.reboot(before, ledger),
            Event::Timeout => (before.host, Happens::Timeout),
            Event::Receive(message) => (before.host, Happens::Receive(message)),
            Event::Suspicion { peer, ends } => match self.setting.suspicion(before.host, peer, ends) {
                Some((host, fact)) => (host, Happens::Fact(fact)),
                None => return Step::Nothing,
            },
        };
        let changed = Local { host, election: before.election };
        self.step(&before.election, changed, happens, ledger).unwrap_or_else(Step::from)
    }

    fn detail(&self, message: u32) -> String {
        format!("{:?}", self.messages.get(message).2)
    }
}
