//! A node of a few lines, for tests of everything around it: each says every tenth of a second the highest name it has
//! heard of, and follows that.

use crate::machine::{Birth, Machine, News};
use crate::scenario::Scenario;
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::Command;
use protocol::records::Records;
use protocol::{Instant, NodeId, Span};

const TICK: Span = Span::from_millis(100);

pub(crate) struct Gossip {
    pub(crate) birth: Birth,
    pub(crate) highest: u32,
    pub(crate) frames: Vec<Vec<u8>>,
    news: Option<News>,
    records: Option<Records>,
    next: Instant,
    due: bool,
    pub(crate) wakes: Vec<Instant>,
    pub(crate) commands: u32,
    pub(crate) capacity: Option<Capacity>,
}

impl Gossip {
    fn learn(&mut self, name: u32) {
        if name > self.highest {
            self.highest = name;
            self.news = Some(News::Follows(NodeId(name), Term { number: name, by: NodeId(name) }));
        }
    }
}

impl Machine for Gossip {
    type Plan = ();

    fn plan(_: &Scenario) {}

    fn boot((): &(), birth: Birth) -> Self {
        let incarnation = birth.records.map_or(1_000, |records| records.incarnation + 1);
        let records = Records { incarnation, ..Records::FACTORY };
        Self {
            birth,
            highest: birth.me.0,
            frames: Vec::new(),
            news: Some(News::Leads(Term { number: birth.me.0, by: birth.me })),
            records: Some(records),
            next: birth.now.after(TICK),
            due: false,
            wakes: Vec::new(),
            commands: 0,
            capacity: None,
        }
    }

    fn hear(&mut self, _: Instant, bytes: &[u8], _: u8) {
        self.frames.push(bytes.to_vec());
        if let Ok(name) = <[u8; 4]>::try_from(bytes) {
            self.learn(u32::from_le_bytes(name));
        }
    }

    fn measure(&mut self, _: Instant, capacity: Option<Capacity>) {
        self.capacity = capacity;
    }

    fn command(&mut self, _: Instant, _: Command) {
        self.commands += 1;
    }

    fn wake(&mut self, now: Instant) {
        assert!(now >= self.next, "nobody is woken before the time");
        self.wakes.push(now);
        self.next = now.after(TICK);
        self.due = true;
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.records.take()
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut [u8]) -> Option<usize> {
        buffer[..4].copy_from_slice(&self.highest.to_le_bytes());
        std::mem::take(&mut self.due).then_some(4)
    }

    fn poll_news(&mut self) -> Option<News> {
        self.news.take()
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn acts(&self, _: Instant) -> bool {
        false
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        Some((NodeId(self.highest), Term { number: self.highest, by: NodeId(self.highest) }))
    }

    fn describe((): &(), _: &[u8]) -> &'static str {
        "gossip"
    }
}
