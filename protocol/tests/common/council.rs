//! Members with a lock, by themselves: every letter is in hand, and is delivered, kept or lost as a test says.

#![allow(dead_code, unreachable_pub, reason = "every test file is a crate of its own and uses its own part")]

use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::clock::Stamp;
use protocol::group::Roster;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::Message as _;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::VecDeque;

#[path = "council/cases.rs"]
pub mod cases;

/// The lock all of this is about.
pub fn door() -> LockId {
    LockId::from_name("door")
}

struct Seat<M> {
    name: u32,
    lock: M,
    clock: u64,
    born: Instant,
    view: NodeSet,
    notices: Vec<Notice>,
}

struct Post<T> {
    from: u32,
    to: u32,
    stamp: Stamp,
    message: T,
}

/// The members, and the letters that are on their way.
pub struct Council<M: Mutex> {
    seats: Vec<Seat<M>>,
    mail: VecDeque<Post<M::Message>>,
    words: Vec<&'static str>,
    now: Instant,
}

/// Nobody has just started, unless a test says so.
const START: Instant = Instant::from_micros(60_000_000);

/// How long a member pauses at most before it asks about its next lock.
const MOMENT: Span = Timing::RADIO.retry;

impl<M: Mutex + Default> Council<M> {
    /// Members of these names, in this order.
    pub fn new(names: &[u32]) -> Self {
        let view = NodeSet::first(names.len());
        let seat =
            |&name: &u32| Seat { name, lock: M::default(), clock: 0, born: Instant::ZERO, view, notices: Vec::new() };
        let seats = names.iter().map(seat).collect();
        let mut council = Self { seats, mail: VecDeque::new(), words: Vec::new(), now: START };
        for &name in names {
            council.step(name, Input::Timeout);
        }
        council
    }

    fn place(&self, name: u32) -> usize {
        self.seats.iter().position(|seat| seat.name == name).unwrap()
    }

    pub fn set_of(&self, names: &[u32]) -> NodeSet {
        names.iter().fold(NodeSet::EMPTY, |set, &name| set.with(NodeSet::slot(self.place(name))))
    }

    /// Looks at a member with what it knows.
    pub fn look<T>(&mut self, name: u32, look: impl FnOnce(&mut M, &Context<'_>) -> T) -> T {
        let mut roster = Roster::<16>::new();
        for seat in &self.seats {
            roster.insert(NodeId(seat.name));
        }
        let (place, now) = (self.place(name), self.now);
        let peers = roster.view().all().without(NodeSet::slot(place));
        let seat = &mut self.seats[place];
        let cx = Context {
            now,
            uptime: now.since(seat.born),
            me: NodeId(name),
            standing: None,
            roster: roster.view(),
            peers,
            up: peers,
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view: seat.view,
            stamp: Stamp(seat.clock + 1),
            random: 0,
            timing: &Timing::RADIO,
        };
        look(&mut seat.lock, &cx)
    }

    /// Takes a step, and those that are due at once then.
    fn step(&mut self, name: u32, input: Input<M::Message, Command>) {
        self.step_once(name, input);
        let place = self.place(name);
        for _ in 0..8 {
            if self.seats[place].lock.deadline().is_none_or(|at| at > self.now) {
                return;
            }
            self.step_once(name, Input::Timeout);
        }
        panic!("{name} is never done");
    }

    fn step_once(&mut self, name: u32, input: Input<M::Message, Command>) {
        let asked = matches!(input, Input::Command(_));
        let mut out = Outbox::new();
        let stamp = self.look(name, |lock, cx| {
            lock.handle(cx, input, &mut out);
            cx.stamp
        });
        assert!(!out.overflowed());
        let place = self.place(name);
        if asked {
            self.seats[place].clock = stamp.0;
        }
        for output in out {
            match output {
                Output::Send { to, message } => {
                    assert!(!to.meets(NodeSet::slot(place)), "a letter to itself");
                    self.seats[place].clock = stamp.0;
                    for slot in to.slots() {
                        self.words.push(message.word());
                        let to = self.seats[slot].name;
                        self.mail.push_back(Post { from: name, to, stamp, message: message.clone() });
                    }
                }
                Output::Notify(notice) => self.seats[place].notices.push(notice),
            }
        }
    }

    pub fn set_clock(&mut self, name: u32, clock: u64) {
        let place = self.place(name);
        self.seats[place].clock = clock;
    }

    pub fn command(&mut self, name: u32, command: Command) {
        self.step(name, Input::Command(command));
    }

    pub fn acquire(&mut self, name: u32) {
        self.acquire_for(name, Span::from_secs(3));
    }

    pub fn acquire_for(&mut self, name: u32, lease: Span) {
        self.command(name, Command::Acquire { lock: door(), lease });
    }

    pub fn release(&mut self, name: u32) {
        self.command(name, Command::Release { lock: door() });
    }

    pub fn cancel(&mut self, name: u32) {
        self.command(name, Command::Cancel { lock: door() });
    }

    /// Hands a member a letter, stamped by the writer's clock.
    pub fn hand(&mut self, from: u32, to: u32, message: M::Message) {
        let stamp = Stamp(self.seats[self.place(from)].clock);
        self.hand_stamped(from, to, stamp, message);
    }

    pub fn hand_stamped(&mut self, from: u32, to: u32, stamp: Stamp, message: M::Message) {
        let place = self.place(to);
        let clock = &mut self.seats[place].clock;
        *clock = (*clock).max(stamp.0);
        self.step(to, Input::Message { from: NodeId(from), stamp, message });
    }

    /// Delivers letters, those written meanwhile and within a moment too, until there are none.
    pub fn deliver_all(&mut self) {
        self.deliver();
        while let Some(at) = self.seats.iter().filter_map(|seat| seat.lock.deadline()).min()
            && at <= self.now.after(MOMENT)
        {
            self.pass(at.since(self.now));
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        while let Some(Post { from, to, stamp, message }) = self.mail.pop_front() {
            self.hand_stamped(from, to, stamp, message);
        }
    }

    /// Delivers letters until the first of this word between these two is next, and keeps that.
    pub fn take(&mut self, word: &str, from: u32, to: u32) -> M::Message {
        loop {
            let post = self.mail.pop_front().expect("it will be written");
            if post.message.word() == word && (post.from, post.to) == (from, to) {
                return post.message;
            }
            self.hand_stamped(post.from, post.to, post.stamp, post.message);
        }
    }

    /// What a letter of this member that is on its way says.
    pub fn on_its_way<T>(&self, from: u32, read: impl Fn(&M::Message) -> Option<T>) -> T {
        self.mail.iter().filter(|post| post.from == from).find_map(|post| read(&post.message)).unwrap()
    }

    /// Loses every letter that is on its way.
    pub fn lose_all(&mut self) {
        self.mail.clear();
    }

    /// Lets time pass for everybody.
    pub fn pass(&mut self, span: Span) {
        self.now = self.now.after(span);
        for name in self.names() {
            self.step(name, Input::Timeout);
        }
    }

    fn names(&self) -> Vec<u32> {
        self.seats.iter().map(|seat| seat.name).collect()
    }

    pub fn set_view(&mut self, name: u32, view: &[u32]) {
        let (place, view) = (self.place(name), self.set_of(view));
        self.seats[place].view = view;
        self.step(name, Input::Fact(Fact::View));
    }

    pub fn fact(&mut self, name: u32, fact: impl Fn(NodeSet) -> Fact, about: &[u32]) {
        let set = self.set_of(about);
        self.step(name, Input::Fact(fact(set)));
    }

    /// A member starts anew, with the stamps it had reserved; letters to and from it are lost, and the others hear of it.
    pub fn reboot(&mut self, name: u32) {
        let place = self.place(name);
        self.mail.retain(|post| post.from != name && post.to != name);
        let seat = &mut self.seats[place];
        (seat.lock, seat.born) = (M::default(), self.now);
        seat.clock += 10;
        seat.lock.resume(Stamp(seat.clock));
        for other in self.names() {
            if other != name {
                self.fact(other, Fact::PeerReset, &[name]);
            }
        }
    }

    /// Who holds the lock.
    pub fn holders(&self) -> Vec<u32> {
        let holds = |seat: &&Seat<M>| seat.lock.holds(door(), self.now).is_some();
        self.seats.iter().filter(holds).map(|seat| seat.name).collect()
    }

    pub fn holds(&self, name: u32, lock: LockId) -> bool {
        self.seats[self.place(name)].lock.holds(lock, self.now).is_some()
    }

    /// How long all this has taken.
    pub fn spent(&self) -> Span {
        self.now.since(START)
    }

    pub fn fence(&self, name: u32) -> Fence {
        self.seats[self.place(name)].lock.holds(door(), self.now).expect("it holds the lock")
    }

    pub fn notices(&self, name: u32) -> &[Notice] {
        &self.seats[self.place(name)].notices
    }

    /// How many letters of this word were written.
    pub fn said(&self, word: &str) -> usize {
        self.words.iter().filter(|&&said| said == word).count()
    }
}
