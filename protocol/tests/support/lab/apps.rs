//! Services in the lab: a node sends when its channels have room, as on the link.

use super::{Lab, Order};
use protocol::Duration;
use protocol::algorithm::Input;
use protocol::service::Service;

/// How many messages of one node to each other may be in flight before it has to wait.
const ROOM: usize = 4;

impl<S: Service> Lab<S> {
    /// Nodes with the ids 1, 2, ... and a service each, on channels of this order.
    pub fn services(count: u32, order: Order, seed: u64, make: impl Fn(usize) -> S) -> Self {
        let ids: Vec<u32> = (1..=count).collect();
        let mut lab = Self::new(&ids, order, seed, make);
        for machine in &mut lab.nodes {
            machine.algorithm.resume(1);
        }
        lab
    }

    /// Takes one step of one node, and lets it send.
    pub fn put(&mut self, index: usize, input: Input<S::Message, S::Command>) -> &mut Self {
        self.step(index, input);
        self.flush(index);
        self
    }

    pub fn ask(&mut self, index: usize, command: S::Command) -> &mut Self {
        self.put(index, Input::Command(command))
    }

    /// Node `to` receives a message of node `from`.
    pub fn inject(&mut self, from: usize, to: usize, message: S::Message) -> &mut Self {
        self.receive(from, to, protocol::base::lamport::LamportTime(0), message);
        self.flush(to)
    }

    /// Lets a node send what it has to send, while there is room.
    pub fn flush(&mut self, index: usize) -> &mut Self {
        let room = ROOM * (self.nodes.len() - 1);
        let in_flight = |lab: &Self| lab.in_flight.iter().filter(|envelope| envelope.from == index).count();
        while in_flight(self) < room && self.act(index, S::poll_send) {}
        self
    }

    pub fn flush_all(&mut self) -> &mut Self {
        (0..self.nodes.len()).for_each(|index| _ = self.flush(index));
        self
    }

    /// A node crashes, and every other learns of it.
    pub fn fail(&mut self, index: usize) {
        self.crash(index);
        self.flush_all();
    }

    /// Takes what one node has sent to another out of flight.
    pub fn take_sent(&mut self, from: usize, to: usize) -> Vec<S::Message> {
        let on_channel = |envelope: &mut super::Envelope<_>| (envelope.from, envelope.to) == (from, to);
        self.in_flight.extract_if(.., on_channel).filter_map(|envelope| envelope.message).collect()
    }

    /// Lets one thing happen: a deadline comes, or a message arrives a little later; returns whether anything did.
    pub fn advance(&mut self) -> bool {
        let due = self.next_deadline();
        if due.is_none_or(|(at, _)| at > self.now)
            && let Some(envelope) = self.pick()
        {
            self.now = self.now.after(Duration::from_micros(u32::try_from(self.draw(5_000)).unwrap()));
            let (from, to) = (envelope.from, envelope.to);
            self.deliver_envelope(envelope);
            self.flush(to);
            self.flush(from);
            return true;
        }
        let Some((at, index)) = due else { return false };
        self.now = self.now.max(at);
        self.put(index, Input::Timeout);
        true
    }

    pub fn advance_by(&mut self, steps: usize) -> &mut Self {
        (0..steps).for_each(|_| _ = self.advance());
        self
    }
}
