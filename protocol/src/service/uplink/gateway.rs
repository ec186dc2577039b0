//! The gateway's side: claims the uplink while its node is the acting leader, publishes, and answers.

use super::upload::{Fence, Text, Upload, UploadId};
use super::{DOWNLINKS_MAX, DownlinkName, GATEWAY_QUEUE_MAX, Payload, Submission, joined};
use crate::base::ids::NodeId;
use crate::base::term::Term;
use crate::service::requests::{Bytes, Command, RequestId};
use heapless::{Deque, Vec};

/// When a client that is refused may try again, in milliseconds: about as long as it takes to claim the uplink.
const HINT_MS: u16 = 500;

/// What the gateway does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum GatewayState {
    /// Its node does not act as leader.
    Idle,
    /// It waits until the broker has its claim.
    Claiming(Fence),
    /// It publishes.
    Serving(Fence),
    /// It leads under this fence, but the broker has a higher claim.
    Superseded(Fence),
}

/// What to publish next, at least once; [`Gateway::on_published`] takes its acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publication {
    /// A claim, to be retained, at the topic of the scope.
    Claim(Fence),
    /// A message, at the topic of its origin.
    Message(Upload),
}

impl Publication {
    /// Returns the text to publish.
    #[must_use]
    pub fn to_text(&self) -> Text {
        match self {
            Self::Claim(fence) => fence.to_text(),
            Self::Message(upload) => upload.to_text(),
        }
    }
}

/// What a gateway did since its boot. Counters saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct GatewayCounters {
    /// Messages that the broker acknowledged and consumers accept.
    pub stored: u32,
    /// Messages refused as busy: no room, no broker, or no right to publish.
    pub refused: u32,
    /// Messages that left the queue without being stored, because the leadership ended. Their clients still have them.
    pub released: u32,
    /// Messages acknowledged by the broker after a higher claim: no consumer accepts them.
    pub too_late: u32,
    /// Downlinks dropped: too long, or too many.
    pub downlinks_dropped: u32,
}

/// A message that is not stored yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    /// The request to answer.
    request: RequestId,
    number: u32,
    payload: Payload,
}

/// Something for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Downlink {
    to: NodeId,
    name: DownlinkName,
    payload: Payload,
}

/// What was handed to the broker and is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InFlight {
    Nothing,
    Claim(Fence),
    /// The first message of the queue, published in this term; whether a higher claim was received meanwhile.
    Message {
        term: Term,
        too_late: bool,
    },
}

/// A gateway. Its node's host reports what happens, and carries out what [`Gateway::poll_command`] and
/// [`Gateway::poll_publication`] return.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Part of all its fences.
    scope: Option<NodeId>,
    state: GatewayState,
    /// Whether the broker is connected, with claims subscribed to.
    connected: bool,
    /// The highest claim of another gateway in this scope.
    highest: Term,
    in_flight: InFlight,
    queue: Deque<Waiting, GATEWAY_QUEUE_MAX>,
    /// The term in which messages were numbered last, and the last sequence number. None is used twice: what is published
    /// again after a disconnection may be another message.
    numbered: (Term, u32),
    commands: Deque<Command, { GATEWAY_QUEUE_MAX + 1 }>,
    downlinks: Vec<Downlink, DOWNLINKS_MAX>,
    downlink_number: u8,
    counters: GatewayCounters,
}

impl Gateway {
    /// Creates a gateway that has no right and no broker yet, for its group or for the super-peer `scope` alone.
    #[must_use]
    pub const fn new(scope: Option<NodeId>) -> Self {
        Self {
            scope,
            state: GatewayState::Idle,
            connected: false,
            highest: Term::ZERO,
            in_flight: InFlight::Nothing,
            queue: Deque::new(),
            numbered: (Term::ZERO, 0),
            commands: Deque::new(),
            downlinks: Vec::new(),
            downlink_number: 0,
            counters: GatewayCounters { stored: 0, refused: 0, released: 0, too_late: 0, downlinks_dropped: 0 },
        }
    }

    /// Takes in the term in which its node acts as leader now, if it does.
    pub fn on_acting(&mut self, acting: Option<Term>) {
        if self.fence().map(|fence| fence.term) == acting {
            return;
        }
        self.release();
        self.state = match acting.map(|term| Fence { term, scope: self.scope }) {
            None => GatewayState::Idle,
            Some(fence) if fence.term < self.highest => GatewayState::Superseded(fence),
            Some(fence) => GatewayState::Claiming(fence),
        };
    }

    /// Returns the fence of its node's leadership, whether the broker has a higher one or not.
    const fn fence(&self) -> Option<Fence> {
        match self.state {
            GatewayState::Idle => None,
            GatewayState::Claiming(fence) | GatewayState::Serving(fence) | GatewayState::Superseded(fence) => {
                Some(fence)
            }
        }
    }

    /// Takes in a claim that the broker handed out, in the order of its acknowledgements. An own one changes nothing.
    pub fn on_claim(&mut self, claim: Fence) {
        if claim.scope != self.scope {
            return;
        }
        self.highest = self.highest.max(claim.term);
        if let InFlight::Message { term, too_late } = &mut self.in_flight {
            *too_late |= claim.term > *term;
        }
        match self.state {
            GatewayState::Claiming(fence) | GatewayState::Serving(fence) if claim.term > fence.term => {
                self.release();
                self.state = GatewayState::Superseded(fence);
            }
            // An older one has replaced the claim that the broker retains.
            GatewayState::Serving(fence) if claim.term < fence.term => self.state = GatewayState::Claiming(fence),
            GatewayState::Idle | GatewayState::Claiming(_) | GatewayState::Serving(_) | GatewayState::Superseded(_) => {
            }
        }
    }

    /// Takes in that the broker is connected, and hands out claims.
    pub fn on_connected(&mut self) {
        self.connected = true;
        self.in_flight = InFlight::Nothing;
        // The broker may have forgotten the claim, and others may have claimed meanwhile.
        if let GatewayState::Serving(fence) = self.state {
            self.state = GatewayState::Claiming(fence);
        }
    }

    /// Takes in that the broker is not connected any more. What it has not acknowledged is published again.
    pub fn on_disconnected(&mut self) {
        self.connected = false;
        self.in_flight = InFlight::Nothing;
        if !matches!(self.state, GatewayState::Claiming(_) | GatewayState::Serving(_)) {
            self.release();
        }
    }

    /// Takes in a submission: a request at the leader.
    pub fn on_request(&mut self, request: RequestId, bytes: &[u8]) {
        let Some(submission) = Submission::from_bytes(bytes) else { return self.refuse(request) };
        let Submission { number, received, payload } = submission;
        self.downlinks.retain(|downlink| downlink.to != request.origin || downlink.name != received);
        if !matches!(self.state, GatewayState::Claiming(_) | GatewayState::Serving(_)) {
            return self.refuse(request);
        }
        let same = |waiting: &&mut Waiting| {
            let asked = waiting.request;
            (asked.origin, asked.boot, waiting.number) == (request.origin, request.boot, number)
        };
        if let Some(waiting) = self.queue.iter_mut().find(same) {
            waiting.request = request; // the one before it has timed out at its client
        } else if self.queue.push_back(Waiting { request, number, payload }).is_err() {
            self.refuse(request);
        }
    }

    /// Takes in something for a client; it is sent with the answer to the client's next submission.
    pub fn on_downlink(&mut self, to: NodeId, payload: &[u8]) {
        let Ok(payload) = Payload::from_slice(payload) else { return self.count_dropped_downlink() };
        let term = match self.state {
            GatewayState::Serving(fence) | GatewayState::Claiming(fence) => fence.term,
            GatewayState::Idle | GatewayState::Superseded(_) => return, // another gateway has it
        };
        if self.downlinks.is_full() {
            self.downlinks.remove(0);
            self.count_dropped_downlink();
        }
        self.downlink_number = self.downlink_number.checked_add(1).unwrap_or(1);
        let [low, ..] = term.number.to_le_bytes();
        let name = [low, self.downlink_number];
        let _ = self.downlinks.push(Downlink { to, name, payload }); // there is room now
    }

    /// Returns what to publish next, unless the broker has still to acknowledge something.
    pub fn poll_publication(&mut self) -> Option<Publication> {
        if !self.connected || self.in_flight != InFlight::Nothing {
            return None;
        }
        match self.state {
            GatewayState::Claiming(fence) => {
                self.in_flight = InFlight::Claim(fence);
                Some(Publication::Claim(fence))
            }
            GatewayState::Serving(fence) => {
                let Waiting { request, number, payload } = self.queue.front()?;
                let id = UploadId { origin: request.origin, boot: request.boot, number: *number };
                let last = if self.numbered.0 == fence.term { self.numbered.1 } else { 0 };
                let sequence = last.saturating_add(1);
                self.numbered = (fence.term, sequence);
                self.in_flight = InFlight::Message { term: fence.term, too_late: false };
                Some(Publication::Message(Upload { fence, sequence, id, payload: payload.clone() }))
            }
            GatewayState::Idle | GatewayState::Superseded(_) => None,
        }
    }

    /// Takes in the broker's acknowledgement of what was published last.
    pub fn on_published(&mut self) {
        match core::mem::replace(&mut self.in_flight, InFlight::Nothing) {
            InFlight::Nothing => {}
            InFlight::Claim(fence) => {
                if self.state == GatewayState::Claiming(fence) {
                    self.state = GatewayState::Serving(fence);
                }
            }
            InFlight::Message { too_late, .. } => {
                let Some(waiting) = self.queue.pop_front() else { return };
                if too_late {
                    count(&mut self.counters.too_late);
                    self.refuse(waiting.request);
                } else {
                    count(&mut self.counters.stored);
                    let bytes = self.downlink_for(waiting.request.origin);
                    self.command(Command::Answer { id: waiting.request, bytes });
                }
            }
        }
    }

    /// Returns the next command to the service `requests`.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Returns whether [`Gateway::poll_publication`] has something.
    #[must_use]
    pub fn has_publication(&self) -> bool {
        let has = match self.state {
            GatewayState::Claiming(_) => true,
            GatewayState::Serving(_) => !self.queue.is_empty(),
            GatewayState::Idle | GatewayState::Superseded(_) => false,
        };
        has && self.connected && self.in_flight == InFlight::Nothing
    }

    /// Returns whether the broker is connected.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.connected
    }

    /// Returns what it does.
    #[must_use]
    pub const fn state(&self) -> GatewayState {
        self.state
    }

    /// Returns what it did.
    #[must_use]
    pub const fn counters(&self) -> GatewayCounters {
        self.counters
    }

    /// Returns the oldest downlink for a client, as the answer to its submission. It stays until the client has it.
    fn downlink_for(&self, client: NodeId) -> Bytes {
        let first = self.downlinks.iter().find(|downlink| downlink.to == client);
        first.map_or_else(Bytes::new, |Downlink { name, payload, .. }| joined(&[name, payload]))
    }

    /// Refuses everything in the queue, but for a message that the broker may still acknowledge.
    fn release(&mut self) {
        let kept = match self.in_flight {
            InFlight::Message { .. } => self.queue.pop_front(),
            InFlight::Nothing | InFlight::Claim(_) => None,
        };
        while let Some(waiting) = self.queue.pop_front() {
            count(&mut self.counters.released);
            self.command(Command::Refuse { id: waiting.request, after_ms: HINT_MS });
        }
        if let Some(waiting) = kept {
            let _ = self.queue.push_front(waiting); // the queue is empty
        }
    }

    fn refuse(&mut self, id: RequestId) {
        count(&mut self.counters.refused);
        self.command(Command::Refuse { id, after_ms: HINT_MS });
    }

    fn command(&mut self, command: Command) {
        // A host that does not poll loses an answer; its client asks again.
        let _ = self.commands.push_back(command);
    }

    fn count_dropped_downlink(&mut self) {
        count(&mut self.counters.downlinks_dropped);
    }
}

fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
