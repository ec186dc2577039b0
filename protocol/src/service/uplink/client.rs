//! The client's side: messages wait here until the gateway has them stored, the first one first.

use super::{CLIENT_QUEUE_MAX, DownlinkName, NO_DOWNLINK, Payload, Submission};
use crate::base::time::{Duration, Instant};
use crate::service::requests::{Command, Notice, Refusal, RequestId};
use heapless::Deque;

/// When to submit again after a refusal that names no time.
const PAUSE: Duration = Duration::from_millis(500);

/// Where the first message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be submitted.
    Ready,
    /// Submitted; the request has no name yet.
    Submitting,
    /// Submitted as this request.
    Submitted(RequestId),
    /// Refused: to be submitted again at this time.
    Refused(Instant),
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum ClientNotice {
    /// The broker has the message, and consumers accept it.
    Stored { number: u32 },
    /// The message made room for a later one.
    Dropped { number: u32 },
    /// The broker had this for the node.
    Downlink { payload: Payload },
}

/// The messages of one node on their way to the broker.
///
/// The host hands every notice of the service `requests` to [`Client::on_notice`] and gives the commands of
/// [`Client::poll_command`] to it.
#[derive(Clone, Debug)]
pub struct Client {
    queue: Deque<(u32, Payload), CLIENT_QUEUE_MAX>,
    next: u32,
    state: State,
    received: DownlinkName,
    dropped: u32,
    notices: Deque<ClientNotice, 4>,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Client {
    /// Creates the client of a node that has just booted.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: Deque::new(),
            next: 1,
            state: State::Ready,
            received: NO_DOWNLINK,
            dropped: 0,
            notices: Deque::new(),
        }
    }

    /// Keeps a message to be stored; returns its number. Where there is no room, the oldest that is not on its way is dropped.
    pub fn submit(&mut self, payload: Payload) -> u32 {
        if self.queue.is_full() {
            self.drop_oldest();
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let _ = self.queue.push_back((number, payload)); // there is room now
        number
    }

    fn drop_oldest(&mut self) {
        let on_its_way = match self.state {
            State::Submitting | State::Submitted(_) => self.queue.pop_front(),
            State::Ready | State::Refused(_) => None,
        };
        if let Some((number, _)) = self.queue.pop_front() {
            self.dropped = self.dropped.saturating_add(1);
            self.notify(ClientNotice::Dropped { number });
        }
        if let Some(first) = on_its_way {
            let _ = self.queue.push_front(first); // two were removed
        }
    }

    /// Takes in a notice of the service `requests`; notices about requests of others change nothing.
    pub fn on_notice(&mut self, now: Instant, notice: &Notice) {
        if self.state == State::Submitting {
            if let Notice::Requested { id } = notice {
                self.state = State::Submitted(*id);
            } else if let Notice::Full = notice {
                self.state = State::Refused(now.after(PAUSE));
            }
        }
        let mine = |id: &RequestId| self.state == State::Submitted(*id);
        if let Notice::Answered { id, bytes } = notice
            && mine(id)
        {
            self.on_stored(bytes);
        } else if let Notice::Refused { id, reason } = notice
            && mine(id)
        {
            let named = if let Refusal::Busy { after_ms } = reason { Some(*after_ms) } else { None };
            let pause = named.map_or(PAUSE, |after_ms| Duration::from_millis(u32::from(after_ms)));
            self.state = State::Refused(now.after(pause));
        } else if let Notice::TimedOut { id } = notice
            && mine(id)
        {
            self.state = State::Ready;
        }
    }

    fn on_stored(&mut self, answer: &[u8]) {
        self.state = State::Ready;
        if let Some((number, _)) = self.queue.pop_front() {
            self.notify(ClientNotice::Stored { number });
        }
        if let Some((&name, payload)) = answer.split_first_chunk()
            && name != NO_DOWNLINK
            && name != self.received
            && let Ok(payload) = Payload::from_slice(payload)
        {
            self.received = name;
            self.notify(ClientNotice::Downlink { payload });
        }
    }

    /// Returns the next command to the service `requests`.
    pub fn poll_command(&mut self, now: Instant) -> Option<Command> {
        match self.state {
            State::Ready => {}
            State::Refused(until) if until <= now => {}
            State::Refused(_) | State::Submitting | State::Submitted(_) => return None,
        }
        let (number, payload) = self.queue.front()?;
        let submission = Submission { number: *number, received: self.received, payload: payload.clone() };
        self.state = State::Submitting;
        Some(Command::Request { bytes: submission.to_bytes(), repeatable: true })
    }

    /// Returns when [`Client::poll_command`] has something that it does not have now.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Refused(until) if !self.queue.is_empty() => Some(until),
            State::Refused(_) | State::Ready | State::Submitting | State::Submitted(_) => None,
        }
    }

    /// Returns what became of a message; the host polls after every other call.
    pub fn poll_notice(&mut self) -> Option<ClientNotice> {
        self.notices.pop_front()
    }

    /// Returns how many messages were dropped in this boot.
    #[must_use]
    pub const fn dropped(&self) -> u32 {
        self.dropped
    }

    /// Returns how many messages are not stored yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn notify(&mut self, notice: ClientNotice) {
        if self.notices.is_full() {
            self.notices.pop_front(); // of a host that does not poll
        }
        let _ = self.notices.push_back(notice); // there is room now
    }
}
