//! Counting messages as textbooks count them.

use protocol::registry::message_name;
use protocol::wire::{Destination, FRAME_MAX, Key, Packet, Recipients, Stage, open};
use std::collections::{BTreeMap, BTreeSet};

/// The messages of a leader between elections, which no formula counts.
const HEARTBEATS: [&str; 6] = ["leader-heartbeat", "raise", "pulse", "doubt", "veto", "bid"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageCount {
    /// Messages of the counted stage: a reliable message counts once per recipient, however often it is retransmitted;
    /// an unreliable one counts once per frame.
    pub(crate) messages: u64,
    /// The same, by message name.
    pub(crate) by_name: BTreeMap<&'static str, u64>,
    /// Frames of these messages, retransmissions included. One frame can have several recipients.
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// Those of the frames that were new to no recipient.
    pub(crate) retransmits: u64,
    pub(crate) acks: u64,
    pub(crate) heartbeats: u64,
    pub(crate) hellos: u64,
}

impl MessageCount {
    pub(crate) fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        for (&name, count) in &other.by_name {
            *self.by_name.entry(name).or_default() += count;
        }
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.retransmits += other.retransmits;
        self.acks += other.acks;
        self.heartbeats += other.heartbeats;
        self.hellos += other.hellos;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct MessageCounter {
    key: Key,
    stage: Stage,
    /// The reliable messages so far: origin, its incarnation, sequence number, recipient.
    reliable: BTreeSet<(u32, u32, u32, u64)>,
    /// The counts since [`Self::begin`].
    pub(crate) count: MessageCount,
}

impl MessageCounter {
    /// Creates a counter of the messages of `stage`, sealed with `key`.
    pub(crate) fn new(key: Key, stage: Stage) -> Self {
        Self { key, stage, reliable: BTreeSet::new(), count: MessageCount::default() }
    }

    /// Begins to count. Reliable messages from before stay known: their frames count as retransmissions.
    pub(crate) fn begin(&mut self) {
        self.count = MessageCount::default();
    }

    pub(crate) fn read(&mut self, frame: &[u8]) {
        let mut buffer = [0; FRAME_MAX];
        let Ok(packet) = open(&self.key, frame, &mut buffer) else { return };
        match packet.kind.stage() {
            Some(stage) if stage == self.stage => self.count_message(&packet, frame),
            Some(Stage::Link) => self.count.acks += 1,
            Some(Stage::Detector) => self.count.heartbeats += 1,
            Some(Stage::Peers) => self.count.hellos += 1,
            Some(Stage::Election | Stage::Lease | Stage::Mutex | Stage::Service) | None => {} // not counted
        }
    }

    fn count_message(&mut self, packet: &Packet<'_>, frame: &[u8]) {
        let name = message_name(&self.key, frame).unwrap_or("unknown");
        if HEARTBEATS.contains(&name) {
            self.count.heartbeats += 1;
            return;
        }
        let new = self.new_recipients(packet);
        self.count.messages += new;
        *self.count.by_name.entry(name).or_default() += new;
        self.count.frames += 1;
        self.count.bytes += frame.len() as u64;
        self.count.retransmits += u64::from(new == 0);
    }

    /// Returns for how many recipients a frame is new.
    fn new_recipients(&mut self, packet: &Packet<'_>) -> u64 {
        let Destination::Reliable(header) = &packet.destination else { return 1 };
        let origin = packet.origin();
        let mut is_new =
            |to: u64| u64::from(self.reliable.insert((origin.id.0, origin.incarnation, header.attempt.seq, to)));
        match &header.recipients {
            Recipients::Node(node) => is_new(u64::from(node.id.0)),
            Recipients::Members { set, .. } => set.slots().map(|slot| is_new(slot as u64)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::base::lamport::LamportTime;
    use protocol::base::term::Term;
    use protocol::election::{Bully, bully};
    use protocol::registry::AnyElectionMessage;
    use protocol::wire::{Attempt, Boots, Kind, Payload, Relays, ReliableHeader, seal};
    use protocol::{NodeId, NodeSet};

    const KEY: Key = Key::new([7; 16]);

    fn read(counter: &mut MessageCounter, kind: Kind, destination: Destination, body: &[u8]) {
        let packet = Packet { kind, sender: NodeId(1), incarnation: 1, seq: 1, destination, body };
        let mut frame = [0; FRAME_MAX];
        let len = seal(&KEY, &packet, &mut frame).unwrap();
        counter.read(&frame[..len]);
    }

    fn reliable(seq: u32, to: NodeSet) -> Destination {
        let attempt = Attempt { seq, number: 0, hop_limit: 1, sent_at: LamportTime(1) };
        let recipients = Recipients::Members { set: to, boots: Boots::new(), relays: Relays::Nobody };
        Destination::Reliable(ReliableHeader { origin: None, attempt, recipients, ack: None })
    }

    #[test]
    fn a_reliable_message_counts_once_per_recipient_and_overhead_counts_apart() {
        let mut counter = MessageCounter::new(KEY, Stage::Election);
        let mut body = [0; FRAME_MAX];
        let ok = AnyElectionMessage::Bully(bully::Message::Ok { term: Term { number: 1, by: NodeId(1) } });
        let len = ok.encode(&mut body).unwrap();
        let [a, b] = [0, 1].map(NodeSet::slot);
        read(&mut counter, Bully::KIND, reliable(1, a.with(b)), &body[..len]);
        read(&mut counter, Bully::KIND, reliable(1, b), &body[..len]);
        read(&mut counter, Bully::KIND, reliable(2, b), &body[..len]);
        read(&mut counter, Kind::ACK, Destination::Broadcast, &[]);
        read(&mut counter, Kind::HEARTBEAT, Destination::Broadcast, &[]);
        read(&mut counter, Kind::HELLO, Destination::Broadcast, &[]);
        let counts = counter.count.clone();
        assert_eq!((counts.messages, counts.frames, counts.retransmits, counts.by_name["ok"]), (3, 3, 1, 3));
        assert_eq!((counts.acks, counts.heartbeats, counts.hellos), (1, 1, 1));
        let mut sum = counts.clone();
        sum.add(&counts);
        assert_eq!((sum.messages, sum.by_name["ok"], sum.acks), (6, 6, 2));
        counter.begin();
        read(&mut counter, Bully::KIND, reliable(2, b), &body[..len]);
        assert_eq!((counter.count.messages, counter.count.retransmits), (0, 1));
    }
}
