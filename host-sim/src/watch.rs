//! Does the network agree? Followed event by event, so that the moment it comes to agree is known exactly.
//!
//! The network agrees when in every part of it (nodes that hang together by sure links) everybody follows the same
//! node, which leads and can be reached; a part without a node fit to lead agrees when nobody follows anybody. The run
//! is cut into *phases*, each begun by something that may end the agreement; the time from there until the network
//! agrees for the rest of a phase is what `time_to_leader_us`, `failover_us` and the like measure.

use crate::machine::Machine;
use crate::queue::Micros;
use crate::topology::{Link, NOWHERE};
use crate::trace::{Observer, TraceEvent, What};
use crate::world::{Life, World};

/// One part of the network.
#[derive(Clone, Copy, Debug)]
struct Part {
    size: u32,
    /// Whom the counted ones follow, and how many they are.
    reference: Option<u32>,
    same: u32,
    /// Any node of it.
    member: u32,
    /// Whether somebody in it is fit to lead.
    can_lead: bool,
}

/// A time being taken: from its start until the network agrees and stays so until the next phase begins.
#[derive(Clone, Copy, Debug)]
struct Pending {
    measure: &'static str,
    start: Micros,
    /// Whether the network did not agree at some time since: otherwise there is nothing to measure.
    broken: bool,
}

/// How long a node was up, had a leader that was up, and had one that it could reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// How long it was up.
    pub up: Micros,
    /// How long it followed a node that was up.
    pub led: Micros,
    /// How long it followed a node that was up and in its part of the network.
    pub reached: Micros,
}

/// One node as the watch knows it.
#[expect(clippy::struct_excessive_bools, reason = "facts about a node that have nothing to do with each other")]
#[derive(Clone, Copy, Debug)]
struct Known {
    up: bool,
    boots: u32,
    /// Whether it can lead.
    fit: bool,
    /// Whether it was asked to let another lead.
    yielded: bool,
    /// Whether it started without its records.
    blank: bool,
    follows: Option<u32>,
    leads_since: Micros,
    /// Which part it is in, by sure links and by any links.
    part: u32,
    region: u32,
    service: Service,
    settled_at: Micros,
}

/// The watch.
pub struct Watch {
    now: Micros,
    nodes: Vec<Known>,
    parts: Vec<Part>,
    whole: usize,
    version: Option<u64>,
    agreed_since: Option<Micros>,
    phase_start: Option<Micros>,
    pending: Vec<Pending>,
    /// Where nodes walk, agreement comes and goes: then the first one counts.
    first_counts: bool,
    samples: Vec<(&'static str, Micros)>,
    agreed_once: bool,
    changes: u64,
    initiator: Option<u32>,
}

impl Watch {
    /// A watch over a world that has not begun.
    #[must_use]
    pub fn new<M: Machine>(world: &World<M>) -> Self {
        let unknown = Known {
            up: false,
            boots: 0,
            fit: false,
            yielded: false,
            blank: false,
            follows: None,
            leads_since: 0,
            part: NOWHERE,
            region: NOWHERE,
            service: Service::default(),
            settled_at: 0,
        };
        Self {
            now: 0,
            nodes: vec![unknown; world.nodes() as usize],
            parts: Vec::new(),
            whole: 0,
            version: None,
            agreed_since: None,
            phase_start: None,
            pending: Vec::new(),
            first_counts: world.scenario().mobility.is_some(),
            samples: Vec::new(),
            agreed_once: false,
            changes: 0,
            initiator: None,
        }
    }

    /// Looks again who hangs together with whom, if that may have changed. To be called after every step.
    pub fn refresh<M: Machine>(&mut self, world: &World<M>) {
        // Until everybody has started, nothing that is agreed can last.
        if world.boots_pending() > 0 || self.version == Some(world.version()) {
            return;
        }
        self.version = Some(world.version());
        let (sure, any) = (world.components(Link::SURE), world.components(1));
        self.parts.clear();
        self.parts.resize(sure.count(), Part { size: 0, reference: None, same: 0, member: 0, can_lead: false });
        // Everybody's account is settled by what was known, before anything new is.
        for name in 0..world.nodes() {
            self.settle(name);
        }
        for name in 0..world.nodes() {
            let view = world.node(name);
            let known = &mut self.nodes[name as usize];
            known.up = view.life == Life::Up;
            known.fit = view.may_lead && view.capacity.is_some();
            (known.part, known.region) = (sure.of(name), any.of(name));
            if let Some(part) = self.parts.get_mut(known.part as usize) {
                part.can_lead |= known.fit;
                if part.size == 0 {
                    (part.reference, part.member) = (known.follows, name);
                }
                part.size += 1;
                part.same += u32::from(known.follows == part.reference);
            }
        }
        self.whole = self.parts.iter().filter(|part| part.same == part.size).count();
        self.judge();
    }

    /// Ends the run.
    pub fn finish(&mut self, now: Micros) {
        self.now = now;
        self.close_phase();
        for name in 0..self.nodes.len() as u32 {
            self.settle(name);
        }
    }

    /// Whether the network agrees.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.agreed_since.is_some()
    }

    /// What was measured: names and times.
    #[must_use]
    pub fn samples(&self) -> &[(&'static str, Micros)] {
        &self.samples
    }

    /// How often a node came to lead after the network had first agreed.
    #[must_use]
    pub fn leader_changes(&self) -> u64 {
        self.changes
    }

    /// The node that started the first election, by name.
    #[must_use]
    pub fn initiator(&self) -> Option<u32> {
        self.initiator
    }

    /// Whether the node has led since before the phase began.
    #[must_use]
    pub fn is_incumbent(&self, name: u32) -> bool {
        let known = &self.nodes[name as usize];
        known.follows == Some(name) && self.phase_start.is_some_and(|start| known.leads_since < start)
    }

    /// Whether the node started this boot without its records.
    #[must_use]
    pub fn is_blank(&self, name: u32) -> bool {
        self.nodes[name as usize].blank
    }

    /// Whether the node was asked to let another lead, in this boot.
    #[must_use]
    pub fn has_yielded(&self, name: u32) -> bool {
        self.nodes[name as usize].yielded
    }

    /// How well each node was served, by name.
    pub fn services(&self) -> impl Iterator<Item = Service> {
        self.nodes.iter().map(|known| known.service)
    }

    /// Adds the time since the last look to a node's account.
    fn settle(&mut self, name: u32) {
        let known = self.nodes[name as usize];
        let leader =
            known.follows.and_then(|leader| self.nodes.get(leader as usize).copied()).filter(|leader| leader.up);
        let passed = self.now - known.settled_at;
        let service = &mut self.nodes[name as usize].service;
        if known.up {
            service.up += passed;
            service.led += leader.map_or(0, |_| passed);
            service.reached += leader.filter(|leader| leader.region == known.region).map_or(0, |_| passed);
        }
        self.nodes[name as usize].settled_at = self.now;
    }

    fn believe(&mut self, name: u32, leader: Option<u32>) {
        self.settle(name);
        let known = &mut self.nodes[name as usize];
        let before = std::mem::replace(&mut known.follows, leader);
        if leader == Some(name) && before != leader {
            known.leads_since = self.now;
            self.changes += u64::from(self.agreed_once);
        }
        let index = known.part as usize;
        if before == leader || index >= self.parts.len() {
            return;
        }
        let part = &mut self.parts[index];
        let was_whole = part.same == part.size;
        part.same -= u32::from(before == part.reference);
        part.same += u32::from(leader == part.reference);
        // Nobody is left of those that were counted: count those of the one who changed.
        if part.same == 0 {
            part.reference = leader;
            let follow = |known: &&Known| known.part == index as u32 && known.follows == leader;
            part.same = self.nodes.iter().filter(follow).count() as u32;
        }
        let part = &self.parts[index];
        self.whole = self.whole + usize::from(part.same == part.size) - usize::from(was_whole);
        self.judge();
    }

    /// Notes whether the network agrees now.
    fn judge(&mut self) {
        let agrees = self.whole == self.parts.len() && self.parts.iter().all(|part| self.is_right(part));
        match (agrees, self.agreed_since) {
            (true, None) => {
                self.agreed_since = Some(self.now);
                self.agreed_once = true;
                if self.first_counts {
                    self.close_phase();
                }
            }
            (false, Some(_)) => self.agreed_since = None,
            (true, Some(_)) | (false, None) => {}
        }
        if !agrees {
            for pending in &mut self.pending {
                pending.broken = true;
            }
        }
    }

    /// Whether a part of one mind is of the right mind.
    fn is_right(&self, part: &Part) -> bool {
        let Some(leader) = part.reference else { return !part.can_lead };
        let region = self.nodes[part.member as usize].region;
        let known = self.nodes.get(leader as usize);
        known.is_some_and(|known| known.up && known.fit && known.region == region && known.follows == Some(leader))
    }

    /// Something happens that may end the agreement.
    fn open_phase(&mut self, measure: Option<&'static str>) {
        if self.phase_start != Some(self.now) {
            self.close_phase();
            self.phase_start = Some(self.now);
        }
        // Several things of one kind at one moment are one thing.
        let known = |pending: &Pending| Some(pending.measure) == measure && pending.start == self.now;
        if let Some(measure) = measure
            && !self.pending.iter().any(known)
        {
            self.pending.push(Pending { measure, start: self.now, broken: !self.agrees() });
        }
    }

    /// What was waited for has come, if the network agrees; otherwise it is waited for on.
    fn close_phase(&mut self) {
        let Some(since) = self.agreed_since else { return };
        for pending in self.pending.drain(..).filter(|pending| pending.broken) {
            self.samples.push((pending.measure, since.saturating_sub(pending.start)));
        }
    }
}

impl Observer for Watch {
    fn see(&mut self, event: &TraceEvent) {
        self.now = event.at;
        match (event.what, event.node) {
            (What::Leads { .. }, Some(name)) => self.believe(name, Some(name)),
            (What::Follows { leader, .. }, Some(name)) => self.believe(name, Some(leader)),
            (What::Leaderless | What::Halted { .. }, Some(name)) => self.believe(name, None),
            (What::Boot { blank }, Some(name)) => {
                self.settle(name);
                let known = &mut self.nodes[name as usize];
                known.up = true;
                known.yielded = false;
                known.blank = blank;
                known.boots += 1;
                if known.boots > 1 {
                    self.open_phase(Some("rejoin_us"));
                } else if self.phase_start.is_none() {
                    self.open_phase(Some("time_to_leader_us"));
                }
            }
            (What::Crash | What::Pause, Some(name)) => {
                let led = self.nodes[name as usize].follows == Some(name);
                self.open_phase(led.then_some("failover_us"));
                if event.what == What::Crash {
                    self.believe(name, None);
                }
                self.settle(name);
            }
            (What::Resume, _) => self.open_phase(Some("rejoin_us")),
            (What::Partition, _) => self.open_phase(Some("split_us")),
            (What::Heal, _) => self.open_phase(Some("merge_us")),
            (What::Asked { command: "call" }, node) => {
                self.initiator = self.initiator.or(node);
                self.open_phase(Some("election_us"));
            }
            (What::Asked { .. }, node) => {
                if let Some(known) = node.and_then(|name| self.nodes.get_mut(name as usize)) {
                    known.yielded = true;
                }
                self.open_phase(Some("handover_us"));
            }
            (What::Weather { fault: "capacity" }, _) => self.open_phase(Some("change_us")),
            (What::Weather { .. }, _) => self.open_phase(None),
            (What::Sent { kind: "election", .. }, node) if self.initiator.is_none() => self.initiator = node,
            // These neither change a mind nor a link.
            (
                What::Leads { .. }
                | What::Follows { .. }
                | What::Rival { .. }
                | What::Leaderless
                | What::Halted { .. }
                | What::Boot { .. }
                | What::Crash
                | What::Pause
                | What::Capacity { .. }
                | What::Stored { .. }
                | What::Sent { .. }
                | What::Unsent { .. }
                | What::Heard { .. }
                | What::Missed { .. }
                | What::Moved
                | What::Lock { .. }
                | What::App { .. }
                | What::Clocks { .. },
                _,
            ) => {}
        }
    }
}

#[cfg(test)]
mod tests;
