//! Counting what was said as textbooks count it.

use protocol::describe::describe;
use protocol::wire::{Key, Packet, Path, Stage, To, open};
use std::collections::{BTreeMap, BTreeSet};

/// What a stage says while nothing is decided: signs of life, which no formula counts.
const BEATS: [&str; 2] = ["beat", "raise"];

/// What was sent, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// Messages of the stage that is counted: a letter is one for each addressee, however often it was sent; anything
    /// else is one for each frame.
    pub messages: u64,
    /// The same, by their words.
    pub said: BTreeMap<&'static str, u64>,
    /// Frames these messages took, with those that were sent again. A letter to several is one frame.
    pub frames: u64,
    /// How many bytes these frames have.
    pub bytes: u64,
    /// Those of the frames that told nobody anything for the first time.
    pub resends: u64,
    /// Frames that acknowledge letters.
    pub receipts: u64,
    /// Frames by which nodes and leaders say that they are there.
    pub beats: u64,
    /// Frames by which nodes get to know each other.
    pub hellos: u64,
}

impl Mail {
    /// Adds what was sent at another time.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        for (&word, count) in &other.said {
            *self.said.entry(word).or_default() += count;
        }
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.resends += other.resends;
        self.receipts += other.receipts;
        self.beats += other.beats;
        self.hellos += other.hellos;
    }
}

/// Reads frames and counts what they say.
#[derive(Clone, Debug)]
pub struct Clerk {
    key: Key,
    stage: Stage,
    /// Who was written to: the writer and its boot, the letter's number, the addressee.
    letters: BTreeSet<(u32, u32, u32, u64)>,
    mail: Mail,
}

impl Clerk {
    /// One that counts the messages of `stage`, sealed with `key`.
    #[must_use]
    pub fn new(key: Key, stage: Stage) -> Self {
        Self { key, stage, letters: BTreeSet::new(), mail: Mail::default() }
    }

    /// Counts from here on. Letters of before stay known: sent again, they are sent again.
    pub fn begin(&mut self) {
        self.mail = Mail::default();
    }

    /// What was counted.
    #[must_use]
    pub fn mail(&self) -> &Mail {
        &self.mail
    }

    /// Reads a frame as it goes out.
    pub fn read(&mut self, frame: &[u8]) {
        let Ok(packet) = open(&self.key, frame) else { return };
        match packet.kind.stage() {
            stage if stage == self.stage => self.count(&packet, frame),
            Stage::Link => self.mail.receipts += 1,
            Stage::Detector => self.mail.beats += 1,
            Stage::Neighbours => self.mail.hellos += 1,
            Stage::Election | Stage::Mandate | Stage::Mutex | Stage::Upper => {} // of no interest here
        }
    }

    fn count(&mut self, packet: &Packet<'_>, frame: &[u8]) {
        let word = describe(&self.key, frame).unwrap_or("unknown");
        if BEATS.contains(&word) {
            self.mail.beats += 1;
            return;
        }
        let new = self.addressees(packet);
        self.mail.messages += new;
        *self.mail.said.entry(word).or_default() += new;
        self.mail.frames += 1;
        self.mail.bytes += frame.len() as u64;
        self.mail.resends += u64::from(new == 0);
    }

    /// For how many a frame is news.
    fn addressees(&mut self, packet: &Packet<'_>) -> u64 {
        let Path::Letter(letter) = &packet.path else { return 1 };
        let writer = packet.writer();
        let mut news = |to: u64| u64::from(self.letters.insert((writer.id.0, writer.incarnation, letter.number, to)));
        match letter.to {
            To::Node(node) => news(u64::from(node.0)),
            To::Members(set) => set.slots().map(|slot| news(slot as u64)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::clock::{Stamp, Term};
    use protocol::election::{AnyMessage, bully};
    use protocol::wire::{FRAME_MAX, Kind, Letter, Message, seal};
    use protocol::{NodeId, NodeSet};

    const KEY: Key = Key::new([7; 16]);

    fn read(clerk: &mut Clerk, kind: Kind, path: Path, body: &[u8]) {
        let packet = Packet { kind, sender: NodeId(1), incarnation: 1, sequence: 1, path, body };
        let mut frame = [0; FRAME_MAX];
        let len = seal(&KEY, &packet, &mut frame).unwrap();
        clerk.read(&frame[..len]);
    }

    fn letter(number: u32, to: NodeSet) -> Path {
        Path::Letter(Letter { writer: None, number, attempt: 0, hops: 1, stamp: Stamp(1), to: To::Members(to) })
    }

    #[test]
    fn a_letter_counts_once_for_each_addressee_and_whatever_keeps_things_going_apart() {
        let mut clerk = Clerk::new(KEY, Stage::Election);
        let mut body = [0; FRAME_MAX];
        let ok = AnyMessage::Bully(bully::Message::Ok { term: Term { number: 1, by: NodeId(1) } });
        let len = ok.encode(&mut body).unwrap();
        let [a, b] = [0, 1].map(NodeSet::slot);
        read(&mut clerk, Kind::Bully, letter(1, a.with(b)), &body[..len]);
        read(&mut clerk, Kind::Bully, letter(1, b), &body[..len]);
        read(&mut clerk, Kind::Bully, letter(2, b), &body[..len]);
        read(&mut clerk, Kind::Receipt, Path::Everyone, &[]);
        read(&mut clerk, Kind::Alive, Path::Everyone, &[]);
        read(&mut clerk, Kind::Hello, Path::Everyone, &[]);
        let mail = clerk.mail().clone();
        assert_eq!((mail.messages, mail.frames, mail.resends, mail.said["ok"]), (3, 3, 1, 3));
        assert_eq!((mail.receipts, mail.beats, mail.hellos), (1, 1, 1));
        let mut sum = mail.clone();
        sum.add(&mail);
        assert_eq!((sum.messages, sum.said["ok"], sum.receipts), (6, 6, 2));
        clerk.begin();
        read(&mut clerk, Kind::Bully, letter(2, b), &body[..len]);
        assert_eq!((clerk.mail().messages, clerk.mail().resends), (0, 1));
    }
}
