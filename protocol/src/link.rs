//! The link: what leaves a node, when, and how often.
//!
//! Everything a stage says waits here for its moment. What travels [`Delivery::Near`] is said once. A letter
//! ([`Delivery::Reliable`]) is said again until everybody it is for has sent a [`Receipt`], and arrives in order and
//! exactly once per boot of its writer. It may take several hops: nodes in between pass letters and receipts on.
//!
//! Order needs no window: a letter to a node is not sent before that node has acknowledged the letter before it, so
//! the receiver keeps one number per writer (in [`crate::neighbours`]). A control message is worth a round trip.
//!
//! # Limits
//! [`QUEUE_MAX`] messages wait at a time, [`RELAYS_MAX`] of other nodes. A near message that finds no room, or whose
//! room a letter needs, is dropped: it was no promise. So that answers find room, a node takes no letter in while there is
//! room for fewer than [`ANSWERS_MAX`] of its own: the writer gets no receipt and comes again. Nodes that all wait for
//! each other's receipts like this would wait for ever; so one whose letters stay unanswered for some rounds takes
//! letters in all the same. If there is no room at all then, whoever has left a letter unanswered for longest is given up
//! for it; where that is nobody, whoever the new letter is for. Only a letter to a neighbour that finds no room stops the
//! node: of neighbours nobody else tells who was given up.
//!
//! A letter is given up after some rounds, or when its reader is suspected to be down ([`Link::forget`]): a letter to
//! somebody who is gone must not fill the queue. Whoever wrote it is told who was given up, not what was lost.

use crate::algorithm::Scope;
use crate::clock::Stamp;
use crate::config::Moment;
use crate::dice::within;
use crate::group::{NodeId, NodeSet, RosterView};
use crate::time::{Instant, sooner};
use crate::wire::{Delivery, FRAME_MAX, Kind, Letter, Message, Packet, Path, To, Writer, encode};
use heapless::Vec;
use posted::{MEMBER_ROUNDS, Post, Posted};
use relay::{Relay, Relays};
use serde::{Deserialize, Serialize};

mod posted;
mod relay;

pub use relay::RELAYS_MAX;

/// How many own messages wait at a time.
pub const QUEUE_MAX: usize = 10;
/// How many letters a node may write because it took one in.
pub const ANSWERS_MAX: usize = 4;
/// How many letters may wait where one more is taken in.
pub const WAITING_MAX: usize = QUEUE_MAX - ANSWERS_MAX;
const _: () = assert!(WAITING_MAX > 0, "a node that waits for nobody must take letters in");
/// How many receipts wait.
const RECEIPTS_MAX: usize = 4;
/// The longest message that can be a letter: a frame less the longest envelope.
pub const LETTER_MAX: usize = FRAME_MAX - 64;
/// After how many rounds without a receipt a node thinks that others may be waiting for it as it waits for them.
const STUCK_ROUNDS: u8 = 4;
const _: () = assert!(STUCK_ROUNDS < MEMBER_ROUNDS, "it must try that before it gives anybody up");

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

/// What the link knows about the node it serves.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// This node.
    pub me: NodeId,
    /// This boot.
    pub incarnation: u32,
    /// How many hops a frame may take.
    pub hops: u8,
    /// Everybody there is to deal with.
    pub roster: RosterView<'a>,
    /// The group among them.
    pub group: NodeSet,
    /// How many others are about to speak when this node is.
    pub crowd: u32,
    /// When this is.
    pub moment: Moment<'a>,
}

impl Place<'_> {
    /// This node in its group.
    fn myself(&self) -> NodeSet {
        self.roster.set_of(self.me).and(self.group)
    }

    /// Whether a letter is for this node.
    #[must_use]
    pub fn is_for_me(&self, to: To) -> bool {
        match to {
            To::Node(id) => id == self.me,
            To::Members(set) => set.meets(self.myself()),
        }
    }

    fn is_for_others(&self, to: To) -> bool {
        match to {
            To::Node(id) => id != self.me,
            To::Members(set) => !set.without(self.myself()).is_empty(),
        }
    }
}

/// The queue was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The link of one node.
#[derive(Clone, Debug)]
pub struct Link<P> {
    queue: Vec<Posted<P>, QUEUE_MAX>,
    relays: Relays,
    receipts: Vec<Receipt, RECEIPTS_MAX>,
    number: u32,
    /// Members given up since last asked.
    lost: NodeSet,
}

impl<P: Message> Link<P> {
    /// A link on which nothing was ever sent.
    #[must_use]
    pub fn new() -> Self {
        Self { queue: Vec::new(), relays: Relays::new(), receipts: Vec::new(), number: 0, lost: NodeSet::EMPTY }
    }

    /// Takes a message to be sent.
    ///
    /// # Errors
    /// [`Full`] where there is no room for it.
    pub fn submit(&mut self, place: &Place<'_>, message: P, post: Submit) -> Result<(), Full> {
        let Submit { scope, to, stamp } = post;
        let delivery = message.delivery();
        let Moment { now, random, timing } = place.moment;
        let name = |said: &P| (said.kind(), said.word(), said.about());
        let same = |old: &Posted<P>| name(&old.message) == name(&message);
        let (due, letter) = match delivery {
            Delivery::Near => (now, None),
            Delivery::Spread => {
                self.replace(|old| same(old) && old.to.without(to).is_empty());
                (now.after(within(timing.crowd(place.crowd), random)), None)
            }
            Delivery::Reliable | Delivery::Latest => {
                if delivery == Delivery::Latest {
                    self.queue.iter_mut().filter(|old| same(old)).for_each(|old| old.reached(to));
                    self.sweep();
                }
                self.number = self.number.saturating_add(1);
                (now, Some(Post { number: self.number, stamp, unsent: to, rounds: 0, attempts: 0 }))
            }
        };
        if delivery == Delivery::Reliable && self.queue.is_full() && !self.make_room() {
            if scope != Scope::Group {
                return Err(Full);
            }
            self.lost = self.lost.with(to);
            return Ok(());
        }
        self.queue.push(Posted { message, scope, to, due, letter }).map_err(|_| Full)
    }

    /// Takes out what was no promise, or what was tried in vain for longest. Whether there is room now.
    fn make_room(&mut self) -> bool {
        let no_promise = |old: &Posted<P>| old.message.delivery() != Delivery::Reliable;
        let hopeless = |old: &&Posted<P>| old.scope == Scope::Group && old.rounds() >= STUCK_ROUNDS;
        let most = self.queue.iter().filter(hopeless).map(Posted::rounds).max();
        let in_vain = |old: &Posted<P>| old.scope == Scope::Group && Some(old.rounds()) == most;
        let at = self.queue.iter().position(no_promise).or_else(|| self.queue.iter().position(in_vain));
        let (mut place, mut lost) = (0_usize, NodeSet::EMPTY);
        self.queue.retain(|old| {
            let stays = at != Some(place);
            place = place.saturating_add(1);
            if !stays && old.message.delivery() == Delivery::Reliable {
                lost = old.to;
            }
            stays
        });
        self.lost = self.lost.with(lost);
        at.is_some()
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
            self.lost = self.lost.with(posted.end_round(place.moment.now));
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
    pub fn poll_relay(&mut self, place: &Place<'_>) -> Option<(Kind, Path, Vec<u8, LETTER_MAX>)> {
        let Relay { kind, path, body, .. } = self.relays.poll(place)?;
        Some((kind, path, body))
    }

    /// Whom the message at `at` may be sent to now: nobody who has not acknowledged an earlier letter.
    fn ready(&self, at: usize, now: Instant) -> NodeSet {
        let Some(posted) = self.queue.get(at) else { return NodeSet::EMPTY };
        match posted.letter {
            None if posted.due <= now => posted.to,
            None => NodeSet::EMPTY,
            Some(post) => {
                let before = self.queue.iter().take(at).filter(|other| other.letter.is_some());
                before.map(|other| other.to).fold(post.unsent, NodeSet::without)
            }
        }
    }

    /// Takes out what has reached everybody.
    fn sweep(&mut self) {
        self.queue.retain(|posted| !posted.to.is_empty());
    }

    /// A letter has come in: passes it on to whoever else it is for.
    pub fn pass_letter_on(&mut self, place: &Place<'_>, packet: &Packet<'_>, letter: Letter) {
        let writer = packet.writer();
        if writer.id == place.me || !place.is_for_others(letter.to) {
            return;
        }
        let mark = mark(writer, letter.number, letter.attempt, place.me);
        self.relays.overhear(mark, letter.hops);
        let hops = letter.hops.saturating_sub(1);
        let path = Path::Letter(Letter { writer: Some(writer), hops, ..letter });
        if let (1.., Ok(body)) = (hops, Vec::from_slice(packet.body)) {
            self.relays.pass_on(place, Relay { mark, hops, kind: packet.kind, path, body });
        }
    }

    /// Whether there is room for the answers to one more letter.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.letters() <= WAITING_MAX || self.queue.iter().any(|posted| posted.rounds() >= STUCK_ROUNDS)
    }

    /// How many own letters wait to be acknowledged.
    #[must_use]
    pub fn letters(&self) -> usize {
        self.queue.iter().filter(|posted| posted.letter.is_some()).count()
    }

    /// Whether members were given up that nobody has asked about yet.
    #[must_use]
    pub const fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Sends a receipt for a letter that this node has taken in, now or before.
    pub fn acknowledge(&mut self, place: &Place<'_>, writer: Writer, letter: Letter) {
        let hops = match letter.to {
            To::Node(_) => 1, // from a neighbour
            To::Members(_) => place.hops,
        };
        let (Writer { id: origin, incarnation }, Letter { number, attempt, .. }) = (writer, letter);
        // A receipt that finds no room is sent with the next attempt.
        let _ = self.receipts.push(Receipt { origin, incarnation, number, attempt, by: place.me, hops });
    }

    /// The members given up since the last call.
    pub fn take_lost(&mut self) -> NodeSet {
        core::mem::take(&mut self.lost)
    }

    /// A receipt has come in.
    pub fn receive(&mut self, place: &Place<'_>, receipt: Receipt) {
        if receipt.origin != place.me {
            self.pass_receipt_on(place, receipt);
            return;
        }
        if receipt.incarnation != place.incarnation {
            return;
        }
        for posted in &mut self.queue {
            if posted.letter.is_some_and(|post| post.number == receipt.number) {
                posted.reached(place.roster.set_of(receipt.by));
            }
        }
        self.sweep();
    }

    /// Nothing can be sent to these nodes of `scope` any more.
    pub fn forget(&mut self, scope: Scope, set: NodeSet) {
        for posted in &mut self.queue {
            if posted.scope == scope {
                posted.reached(set);
            }
        }
        self.sweep();
    }

    fn pass_receipt_on(&mut self, place: &Place<'_>, receipt: Receipt) {
        let Receipt { origin, incarnation, number, attempt, by, hops } = receipt;
        let writer = Writer { id: origin, incarnation };
        self.relays.reached(writer, number, place.roster.set_of(by).and(place.group));
        let mark = !mark(writer, number, attempt, by);
        self.relays.overhear(mark, hops);
        let hops = hops.saturating_sub(1);
        let mut buffer = [0; LETTER_MAX];
        let written = encode(&Receipt { hops, ..receipt }, &mut buffer).and_then(|len| buffer.get(..len));
        let Some(Ok(body)) = written.map(Vec::from_slice) else { return };
        if hops > 0 && by != place.me {
            self.relays.pass_on(place, Relay { mark, hops, kind: Kind::Receipt, path: Path::Everyone, body });
        }
    }

    /// When there is something to poll again.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let own = self.queue.iter().filter(|posted| posted.is_waiting()).map(|posted| posted.due).min();
        sooner(own, self.relays.deadline())
    }
}

impl<P: Message> Default for Link<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
pub struct Submit {
    /// Whose set `to` is.
    pub scope: Scope,
    /// For whom it is.
    pub to: NodeSet,
    /// The stamp of the step that said it.
    pub stamp: Stamp,
}

/// A short mark of a passing frame. Two frames with one mark cost one of them an attempt, nothing else.
fn mark(writer: Writer, number: u32, attempt: u8, by: NodeId) -> u32 {
    [writer.id.0, writer.incarnation, number, u32::from(attempt), by.0]
        .into_iter()
        .fold(0x811C_9DC5, |mark, part| (mark ^ part).wrapping_mul(0x0100_0193).rotate_left(7))
}

#[cfg(test)]
mod tests;
