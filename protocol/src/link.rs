//! The link: what leaves a node, when, and how often.
//!
//! Everything a stage says waits here for its moment. What travels [`Delivery::Near`] is said once. A letter
//! ([`Delivery::Reliable`]) is said again until everybody it is for has sent a [`Receipt`], and arrives in order and
//! exactly once per boot of its writer. It may take several hops: nodes in between pass letters and receipts on.
//!
//! Order needs no window: a letter to a node is not sent before that node has acknowledged the letter before it, so
//! the receiver keeps one number per writer. A control message is worth a round trip.
//!
//! # Limits
//! [`QUEUE_MAX`] messages wait at a time, [`RELAYS_MAX`] of other nodes. A near message that finds no room, or whose
//! room a letter needs, is dropped: it was no promise. A letter that finds none stops the node: it was one.

use crate::algorithm::Scope;
use crate::clock::Stamp;
use crate::config::{Moment, Timing};
use crate::dice::within;
use crate::group::{NodeId, NodeSet, Roster, RosterView};
use crate::time::{Instant, Span, sooner};
use crate::wire::{Delivery, FRAME_MAX, Kind, Letter, Message, NEIGHBOURS_MAX, Packet, Path, Reason, To, encode};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// How many own messages wait at a time.
pub const QUEUE_MAX: usize = 10;
/// How many frames of other nodes wait to be passed on.
pub const RELAYS_MAX: usize = 3;
/// How many receipts wait.
const RECEIPTS_MAX: usize = 4;
/// How many passing frames are remembered, so as not to pass them on twice.
const PASSED_MAX: usize = 16;
/// The longest message that can be a letter: a frame less the longest envelope.
pub const LETTER_MAX: usize = FRAME_MAX - 64;
/// How often a letter to a neighbour is tried: one that cannot be reached is no neighbour any more.
const NEAR_ROUNDS: u8 = 6;
/// How often the pause between two attempts doubles.
const DOUBLINGS_MAX: u8 = 5;

/// A letter has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receipt {
    /// Who wrote the letter.
    pub origin: NodeId,
    /// In which boot.
    pub incarnation: u32,
    /// Which letter.
    pub number: u32,
    /// Which attempt.
    pub attempt: u8,
    /// Who has it.
    pub by: NodeId,
    /// How many hops the receipt may still take.
    pub hops: u8,
}

/// A message that waits to be sent or acknowledged.
#[derive(Clone, Copy, Debug)]
struct Posted<P> {
    message: P,
    scope: Scope,
    /// Whom it still has to reach.
    to: NodeSet,
    /// When it is sent; for a letter, when it is sent again.
    due: Instant,
    letter: Option<Post>,
}

/// What makes a message a letter.
#[derive(Clone, Copy, Debug)]
struct Post {
    number: u32,
    stamp: Stamp,
    /// Whom it has not been sent to in this round.
    unsent: NodeSet,
    /// How often everybody was tried.
    rounds: u8,
    /// How many frames it took so far.
    attempts: u8,
}

/// A frame of another node, on its way.
#[derive(Clone, Debug)]
struct Relay {
    due: Instant,
    kind: Kind,
    path: Path,
    body: Vec<u8, LETTER_MAX>,
}

/// The last letter taken in from a writer.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    incarnation: u32,
    previous: u32,
    number: u32,
}

/// What the link knows about the node it serves.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// This node.
    pub me: NodeId,
    /// This boot.
    pub incarnation: u32,
    /// How many hops a frame may take.
    pub hops: u8,
    /// The neighbours.
    pub near: RosterView<'a>,
    /// The group.
    pub group: RosterView<'a>,
    /// How many others are about to speak when this node is.
    pub crowd: u32,
    /// When this is.
    pub moment: Moment<'a>,
}

impl Place<'_> {
    fn roster(&self, scope: Scope) -> RosterView<'_> {
        match scope {
            Scope::Neighbours => self.near,
            Scope::Group => self.group,
        }
    }

    fn is_for_me(&self, to: To) -> bool {
        match to {
            To::Node(id) => id == self.me,
            To::Members(set) => set.meets(self.group.set_of(self.me)),
        }
    }

    fn is_for_others(&self, to: To) -> bool {
        match to {
            To::Node(id) => id != self.me,
            To::Members(set) => !set.without(self.group.set_of(self.me)).is_empty(),
        }
    }
}

/// The queue was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The link of one node.
#[derive(Clone, Debug)]
pub struct Link<P, const N: usize> {
    queue: Vec<Posted<P>, QUEUE_MAX>,
    relays: Vec<Relay, RELAYS_MAX>,
    receipts: Vec<Receipt, RECEIPTS_MAX>,
    passed: [u32; PASSED_MAX],
    passed_next: usize,
    writers: Roster<N>,
    origins: [Origin; N],
    number: u32,
}

impl<P: Message, const N: usize> Link<P, N> {
    /// A link on which nothing was ever sent.
    #[must_use]
    pub fn new() -> Self {
        Self {
            queue: Vec::new(),
            relays: Vec::new(),
            receipts: Vec::new(),
            passed: [0; PASSED_MAX],
            passed_next: 0,
            writers: Roster::new(),
            origins: [Origin::default(); N],
            number: 0,
        }
    }

    /// Takes a message to be sent.
    ///
    /// # Errors
    /// [`Full`] where there is no room for it.
    pub fn submit(&mut self, place: &Place<'_>, message: P, post: Submit) -> Result<(), Full> {
        let Submit { scope, to, delivery, stamp } = post;
        let Moment { now, random, timing } = place.moment;
        let (due, letter) = match delivery {
            Delivery::Near => (now, None),
            Delivery::Spread => {
                self.replace(|old| old.message.word() == message.word() && old.to.without(to).is_empty());
                (now.after(within(timing.crowd(place.crowd), random)), None)
            }
            Delivery::Reliable | Delivery::Latest => {
                if delivery == Delivery::Latest {
                    self.replace(|old| old.message.word() == message.word());
                }
                self.number = self.number.saturating_add(1);
                let post = Post { number: self.number, stamp, unsent: to, rounds: 0, attempts: 0 };
                (now.after(post.pause(timing, random)), Some(post))
            }
        };
        if letter.is_some() && self.queue.is_full() {
            let no_promise = self.queue.iter().position(|old| old.letter.is_none()).ok_or(Full)?;
            self.queue.remove(no_promise);
        }
        self.queue.push(Posted { message, scope, to, due, letter }).map_err(|_| Full)
    }

    /// Takes out what a newer message makes pointless.
    fn replace(&mut self, pointless: impl Fn(&Posted<P>) -> bool) {
        self.queue.retain(|old| !pointless(old));
    }

    /// The next receipt to be sent.
    pub fn poll_receipt(&mut self) -> Option<Receipt> {
        self.receipts.pop()
    }

    /// The next message that is due, and where it goes.
    pub fn poll_own(&mut self, place: &Place<'_>, peers: NodeSet) -> Option<(Path, P)> {
        for posted in &mut self.queue {
            posted.begin_round(place.moment);
        }
        self.sweep();
        let (at, to) = (0..self.queue.len()).find_map(|at| {
            let to = self.ready(at, place.moment.now);
            (!to.is_empty()).then_some((at, to))
        })?;
        let posted = self.queue.get_mut(at)?;
        let path = posted.send(place, to, peers);
        let message = posted.message.clone();
        self.sweep();
        Some((path, message))
    }

    /// The next frame of another node that is due to be passed on.
    pub fn poll_relay(&mut self, now: Instant) -> Option<(Kind, Path, Vec<u8, LETTER_MAX>)> {
        let at = self.relays.iter().position(|relay| relay.due <= now)?;
        let Relay { kind, path, body, .. } = self.relays.swap_remove(at);
        Some((kind, path, body))
    }

    /// Whom the message at `at` may be sent to now: nobody who has not acknowledged an earlier letter.
    fn ready(&self, at: usize, now: Instant) -> NodeSet {
        let Some(posted) = self.queue.get(at) else { return NodeSet::EMPTY };
        match posted.letter {
            None if posted.due <= now => posted.to,
            None => NodeSet::EMPTY,
            Some(post) => {
                let before = self.queue.iter().take(at);
                let before = before.filter(|other| other.letter.is_some() && other.scope == posted.scope);
                before.fold(post.unsent, |ready, other| ready.without(other.to))
            }
        }
    }

    /// Takes out what has reached everybody.
    fn sweep(&mut self) {
        self.queue.retain(|posted| !posted.to.is_empty());
    }

    /// A letter has come in: whether it is for this node and new.
    ///
    /// # Errors
    /// Where it is not, or was taken in before.
    pub fn accept(&mut self, place: &Place<'_>, packet: &Packet<'_>, letter: Letter) -> Result<(), Reason> {
        let writer = packet.writer();
        if writer.id == place.me {
            return Err(Reason::NotForMe);
        }
        if place.is_for_others(letter.to) && letter.hops > 1 {
            let mark = mark(writer.id, letter.number, letter.attempt, place.me);
            let hops = letter.hops.saturating_sub(1);
            let path = Path::Letter(Letter { writer: Some(writer), hops, ..letter });
            self.pass_on(place, mark, packet.kind, path, packet.body);
        }
        if !place.is_for_me(letter.to) {
            return Err(Reason::NotForMe);
        }
        let slot = self.writers.insert(writer.id).ok_or(Reason::Crowded)?;
        let origin = self.origins.get_mut(slot).ok_or(Reason::Crowded)?;
        if writer.incarnation != origin.incarnation {
            if writer.incarnation == origin.previous {
                return Err(Reason::Outdated);
            }
            *origin = Origin { incarnation: writer.incarnation, previous: origin.incarnation, number: 0 };
        }
        let Letter { number, attempt, .. } = letter;
        // A receipt that finds no room is sent with the next attempt.
        let _ = self.receipts.push(Receipt {
            origin: writer.id,
            incarnation: writer.incarnation,
            number,
            attempt,
            by: place.me,
            hops: place.hops,
        });
        if number <= origin.number {
            return Err(Reason::Duplicate);
        }
        origin.number = number;
        Ok(())
    }

    /// A receipt has come in.
    pub fn receive(&mut self, place: &Place<'_>, receipt: Receipt) {
        if receipt.origin != place.me {
            if receipt.hops > 1 {
                let Receipt { origin, number, attempt, by, hops, .. } = receipt;
                let onward = Receipt { hops: hops.saturating_sub(1), ..receipt };
                let mut buffer = [0; LETTER_MAX];
                let written = encode(&onward, &mut buffer).and_then(|len| buffer.get(..len));
                let Some(body) = written else { return };
                let mark = !mark(origin, number, attempt, by);
                self.pass_on(place, mark, Kind::Receipt, Path::Everyone, body);
            }
            return;
        }
        if receipt.incarnation != place.incarnation {
            return;
        }
        for posted in &mut self.queue {
            if posted.letter.is_some_and(|post| post.number == receipt.number) {
                let by = place.roster(posted.scope).set_of(receipt.by);
                posted.reached(by);
            }
        }
        self.sweep();
    }

    /// Nothing can be sent to these neighbours any more.
    pub fn forget(&mut self, set: NodeSet) {
        for posted in &mut self.queue {
            if posted.scope == Scope::Neighbours {
                posted.reached(set);
            }
        }
        self.sweep();
    }

    fn pass_on(&mut self, place: &Place<'_>, mark: u32, kind: Kind, path: Path, body: &[u8]) {
        if self.passed.contains(&mark) {
            return;
        }
        let Moment { now, random, timing } = place.moment;
        let Ok(body) = Vec::from_slice(body) else { return };
        let relay = Relay { due: now.after(within(timing.crowd(place.crowd), random)), kind, path, body };
        if self.relays.push(relay).is_err() {
            return; // not remembered either: the next attempt may pass
        }
        if let Some(place) = self.passed.get_mut(self.passed_next) {
            *place = mark;
        }
        self.passed_next = self.passed_next.wrapping_add(1).checked_rem(PASSED_MAX).unwrap_or(0);
    }

    /// When there is something to poll again.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let own = self.queue.iter().map(|posted| posted.due).min();
        sooner(own, self.relays.iter().map(|relay| relay.due).min())
    }
}

impl<P: Message, const N: usize> Default for Link<P, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// How a message is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Submit {
    /// Whose set `to` is.
    pub scope: Scope,
    /// For whom it is.
    pub to: NodeSet,
    /// How it travels.
    pub delivery: Delivery,
    /// The stamp of the step that said it.
    pub stamp: Stamp,
}

impl Post {
    /// How long to wait for receipts before the next round.
    fn pause(&self, timing: &Timing, random: u32) -> Span {
        let pause = timing.retry.doubled(self.rounds.min(DOUBLINGS_MAX));
        pause.plus(within(pause.share(1, 2), random))
    }
}

impl<P> Posted<P> {
    /// These need it no more.
    fn reached(&mut self, set: NodeSet) {
        self.to = self.to.without(set);
        if let Some(post) = &mut self.letter {
            post.unsent = post.unsent.without(set);
        }
    }

    /// Everybody who sent no receipt in time is tried again; a neighbour not for ever.
    fn begin_round(&mut self, Moment { now, random, timing }: Moment<'_>) {
        let Some(post) = &mut self.letter else { return };
        if self.due > now {
            return;
        }
        post.rounds = post.rounds.saturating_add(1);
        post.unsent = self.to;
        self.due = now.after(post.pause(timing, random));
        if self.scope == Scope::Neighbours && post.rounds >= NEAR_ROUNDS {
            self.to = NodeSet::EMPTY;
        }
    }

    /// The path of the next frame of this message, to any or all of `ready`.
    fn send(&mut self, place: &Place<'_>, ready: NodeSet, peers: NodeSet) -> Path {
        let roster = place.roster(self.scope);
        let Some(post) = &mut self.letter else {
            let everyone = match self.scope {
                Scope::Neighbours => peers,
                Scope::Group => roster.all().without(roster.set_of(place.me)),
            };
            if everyone.without(self.to).is_empty() {
                self.to = NodeSet::EMPTY;
                return Path::Everyone;
            }
            let named =
                self.to.slots().take(NEIGHBOURS_MAX).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
            self.to = self.to.without(named);
            return Path::Neighbours(roster.ids_of(named).collect());
        };
        let first = ready.slots().next().map_or(NodeSet::EMPTY, NodeSet::slot);
        let name = roster.ids_of(first).next().unwrap_or(place.me);
        let (to, hops, sent) = match self.scope {
            Scope::Neighbours => (To::Node(name), 1, first),
            Scope::Group => (To::Members(ready), place.hops, ready),
        };
        let Post { number, stamp, attempts, .. } = *post;
        post.unsent = post.unsent.without(sent);
        post.attempts = attempts.wrapping_add(1);
        Path::Letter(Letter { writer: None, number, attempt: attempts, hops, stamp, to })
    }
}

/// A short mark of a passing frame. Two frames with one mark cost one of them an attempt, nothing else.
fn mark(origin: NodeId, number: u32, attempt: u8, by: NodeId) -> u32 {
    [origin.0, number, u32::from(attempt), by.0]
        .into_iter()
        .fold(0x811C_9DC5, |mark, part| (mark ^ part).wrapping_mul(0x0100_0193).rotate_left(7))
}
