//! The list of members, changed while the group runs.
//!
//! A group's list has an *epoch*. An acting leader changes it by one member at a time; the change is decided once a majority
//! of the old list and a majority of the next one have stored it, and only then does anybody use the next list. [`Members`]
//! is a state machine beside the node, not a stage of it: slots and sets of a node belong to one list, so a node that
//! learns of a later list ends its stages and boots them with that one, under its next incarnation, as after a very quick
//! reboot. What survives a reboot survives this; the one thing that a reboot forgets and this does not is the promise of a
//! leader's lease ([`Node::succession`](crate::Node::succession)).
//!
//! # How a change is decided
//! One instance of Paxos for each epoch, its proposer the acting leader. In a *round*, numbered by the leader's term, members
//! promise to take part in no earlier round and say what they have stored in one (`ask-change`); once a majority of the list
//! has, the leader lets them store its change, or the one that an earlier round may have decided (`store-change`). So a
//! change that may have been decided is finished by the next leader, and one that only few have stored is too; one
//! that nobody has stored is dropped. What nodes know of a round are sets, which join in any order: whoever sees both
//! majorities knows that the change is decided, and passes the next list on. Votes are in the log before they are
//! sent ([`Members::poll_log`]).
//!
//! # Why no two leaders act across a change
//! A list and the next one differ by one member, so any majority of one meets any majority of the other. A member has one
//! promise of a lease at a time, and takes it along into the next list. So while a leader may act by the grants of one
//! list, nobody but itself gets a majority of the next; and it stops acting by the old list before it boots into the next.
//! Once a leader has acted in a list, a majority of that list has left the one before for good, and no majority of the
//! one before is left to grant anything. A change is begun only by a leader that acts in the present list. So of all lists
//! there ever were, only the last one decided and the one before it can have a leader, and these two meet.
//!
//! # Laggards and newcomers
//! The list is mixed into the key of the node's frames, so nodes with different lists are noise to each other. Frames of
//! `Members` are sealed under a key without a list, and marked in their first byte, so that no other frame
//! is opened in vain. Everybody repeats its list now and then, unless others have just done so; who hears an
//! earlier one repeats its own soon. A list is only ever replaced by one of a higher epoch, so a recording changes nothing.
//! A node that is on no list has none, of epoch 0, and learns the group's in the same way; so does one that was removed.
//!
//! # Lost logs
//! A member that lost its log may have forgotten a vote, and a later list than it hears of. It is no member any more and
//! votes on nothing, until it is removed and added again: the change that adds it names the boot in which it answered. That
//! round was begun by a leader that acted after this node lost its log, so this node was in no list as late as the next one.
//!
//! # Paper
//! L. Lamport: The Part-Time Parliament, ACM TOCS 1998, for the rounds. D. Ongaro: Consensus: Bridging Theory and Practice,
//! 2014, section 4, for changes by one server at a time. P. Levis et al.: The Trickle Algorithm, RFC 6206, 2011.
//!
//! # Assumes
//! Mode *quorum*. The same first list at all members of it, and logs that survive reboots. The host boots its node with
//! [`Members::list`] whenever that has another epoch.
//!
//! # Messages
//! [`Message::List`] and [`Message::Round`], each to all in range, each relayed by whoever learns something from it.
//!
//! # Cost
//! Where all are in range, about three frames a member for a change, and two writes of the log; each member writes its
//! records once more as it boots. Otherwise a frame every eight heartbeats from a few of the nodes in range. A node that is
//! built without `Members` links nothing of it.
//!
//! # Departures
//! Members count what others say of third members: whoever has the key is trusted. A node to be added has to
//! answer before its change is stored, so that a group of one is not stuck with a member that does not exist. A change that
//! was stored anywhere can no longer be taken back, and no other begins before it is decided.
//!
//! # Limits
//! [`LISTED_MAX`] members whose ids fit a frame. The leader does not remove itself: it yields first ([`Notice::Yield`]).

use crate::base::cipher::Cipher;
use crate::base::config::Timing;
use crate::base::ids::NodeId;
use crate::base::incarnation::INCARNATION_DRAWN;
use crate::base::key::Key;
use crate::base::rng::Rng;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use crate::wire::{self, Destination, FRAME_MAX, Kinded as _, Packet, VERSION};
use core::hash::{Hash, Hasher};
use gossip::Gossip;
use heapless::Deque;
use log::{Log, Memory};
use round::Voter;

mod gossip;
mod list;
mod log;
mod message;
mod proposer;
mod round;
#[cfg(test)]
mod tests;

pub use list::{Change, LISTED_MAX, List};
pub use message::Message;
pub use proposer::{Notice, Refusal};
pub use round::{Ballot, Phase, Round};

use proposer::Attempt;

/// What the first byte of a frame about the list differs by from that of any other.
const MARK: u8 = 0x80;

/// Whose key seals frames about lists: that of a group of this one node, which nobody is.
const NOBODY: NodeId = NodeId(u32::MAX);

/// How often a list is repeated where nothing is new, in heartbeats.
const LIST_HEARTBEATS: u32 = 8;
/// How often an open round is.
const ROUND_HEARTBEATS: u32 = 2;

/// Notices that the host has not polled yet; the oldest is dropped where there are more.
const NOTICES_MAX: usize = 4;

/// What the host has stored of earlier boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored<'a> {
    /// The node has never run.
    Nothing,
    /// The last log that was polled.
    Log(&'a [u8]),
    /// There was a log, and it is lost.
    Lost,
}

/// What one node knows of the list of members, and what it does to change it.
///
/// What its host does after every step of the node and of this, and at the deadline of either:
///
/// ```
/// use protocol::members::{Change, List, Members, Notice, Stored};
/// use protocol::wire::{FRAME_MAX, Key};
/// use protocol::{Instant, NodeId, Timing};
///
/// let (key, now) = (Key::from_name("greenhouse"), Instant::ZERO);
/// let first = List::first(&[NodeId(1), NodeId(2), NodeId(7)]).unwrap(); // NONE at a node that is to be added
/// let mut members = Members::new(NodeId(1), &key, Timing::LAN, first, Stored::Nothing, now, 42);
/// let mut booted_with = 0;
///
/// let acting = None; // node.acting_term(now)
/// members.on_leader(now, acting);
/// let mut log = [0; Members::<Key>::LOG_MAX];
/// while let Some(_bytes) = members.poll_log(&mut log) {} // to flash, before anything else
/// if members.list().epoch() != booted_with {
///     booted_with = members.list().epoch();
///     let group = members.list().group().filter(|_| members.is_member());
///     assert!(group.is_some(), "node.succession(), Node::new with this group, node.succeed(); or no node");
/// }
/// while let Some(notice) = members.poll_notice() { println!("{notice:?}") }
/// let mut buffer = [0; FRAME_MAX];
/// while let Some(frame) = members.poll_transmit(now, &mut buffer) {
///     assert!(Members::<Key>::is_frame(frame), "a frame received goes to on_frame, all others to the node");
/// }
/// members.change(now, acting, Change::Add(NodeId(9))); // refused: this node does not lead
/// ```
#[derive(Clone, Debug)]
pub struct Members<K: Cipher = Key> {
    me: NodeId,
    key: K,
    timing: Timing,
    rng: Rng,
    log: Log,
    /// Whether the log has to be written before anything is sent.
    unsaved: bool,
    /// The number of the last frame.
    seq: u32,
    round: Option<Round>,
    /// The round that this node has begun as the leader.
    attempt: Option<Attempt>,
    attempts: u32,
    /// The last term in which this leader asked its host to yield.
    yielded: Option<Term>,
    list_gossip: Gossip,
    round_gossip: Gossip,
    notices: Deque<Notice, NOTICES_MAX>,
}

/// What a node decides depends on; not when it says something, nor the numbers of its frames.
impl<K: Cipher> Hash for Members<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { me, log, unsaved, round, attempt, attempts, yielded, .. } = self;
        (me, log, unsaved, round, attempt, attempts, yielded).hash(state);
    }
}

impl<K: Cipher> Members<K> {
    /// Length of the longest log, in bytes.
    pub const LOG_MAX: usize = log::LOG_MAX;

    /// Creates the state of the node `me`, whose group has the key `key` and began with the list `first`; [`List::NONE`]
    /// at a node that is to be added. The host stores its log before anything is sent. A log that cannot be read is lost.
    #[must_use]
    pub fn new(me: NodeId, key: &K, timing: Timing, first: List, stored: Stored<'_>, now: Instant, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let drawn = rng.next_u32() | INCARNATION_DRAWN;
        let kept = match stored {
            Stored::Nothing => Some(Log::first(first, 0, Memory::Intact)),
            Stored::Log(bytes) => wire::decode::<Log>(bytes),
            Stored::Lost => None,
        };
        let mut log = kept.unwrap_or_else(|| Log::first(List::NONE, drawn, Memory::Lost(drawn)));
        log.boot = log.boot.saturating_add(1); // no number of a frame is used twice
        let mut members = Self {
            me,
            key: key.for_group(&[NOBODY]),
            timing,
            rng,
            log,
            unsaved: true,
            seq: 0,
            round: None,
            attempt: None,
            attempts: 0,
            yielded: None,
            list_gossip: Gossip::SILENT,
            round_gossip: Gossip::SILENT,
            notices: Deque::new(),
        };
        members.say_list(now);
        members.reopen(now);
        members
    }

    /// Returns the list that the node is to be booted with, if it is on it.
    #[must_use]
    pub const fn list(&self) -> &List {
        &self.log.list
    }

    /// Returns whether the node is a member: a host boots no node that is none.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.list().contains(self.me) && !self.forgot()
    }

    /// Returns whether the node lost its log, and is no member before it is removed and added again.
    #[must_use]
    pub fn forgot(&self) -> bool {
        self.log.memory != Memory::Intact
    }

    /// Returns the change that is open, as far as this node knows: stored somewhere, and not known to be decided.
    #[must_use]
    pub fn open(&self) -> Option<Change> {
        let storing =
            self.round.as_ref().filter(|round| matches!(round.phase, Phase::Storing { .. })).map(Round::change);
        storing.or(self.log.votes.accepted.map(|(_, change, _)| change))
    }

    /// Returns whether these bytes may be a frame about the list; all others are the node's.
    #[must_use]
    pub fn is_frame(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|first| (first ^ MARK ^ VERSION) < 16)
    }

    /// Returns the name of the message in a frame about the list of a group with this key, for hosts that count frames.
    #[must_use]
    pub fn message_name(key: &K, bytes: &[u8]) -> Option<&'static str> {
        Self::open_frame(&key.for_group(&[NOBODY]), NOBODY, bytes).map(|message| wire::Message::name(&message))
    }

    /// Takes in a frame about the list; returns whether it is one of this group.
    pub fn on_frame(&mut self, now: Instant, bytes: &[u8]) -> bool {
        let Some(message) = Self::open_frame(&self.key, self.me, bytes) else { return false };
        self.on_message(now, message);
        true
    }

    /// Takes in the message of such a frame, for models without frames.
    pub fn on_message(&mut self, now: Instant, message: Message) {
        match message {
            Message::List(list) => self.on_list(now, list),
            Message::Round(round) => self.on_round(now, &round),
        }
    }

    fn open_frame(key: &K, me: NodeId, bytes: &[u8]) -> Option<Message> {
        let mut frame = [0; FRAME_MAX];
        let frame = frame.get_mut(..bytes.len())?;
        frame.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = byte);
        *frame.first_mut()? ^= MARK;
        let mut buffer = [0; FRAME_MAX];
        let packet = wire::open(key, frame, &mut buffer).ok()?;
        (packet.kind == Message::KIND && packet.sender != me).then_some(())?;
        wire::decode(packet.body)
    }

    /// Takes in the term in which the node acts as leader, if it does. To be called after every step of the node and of this,
    /// and at the deadline.
    pub fn on_leader(&mut self, now: Instant, acting: Option<Term>) {
        self.lead(now, acting);
    }

    /// The log to write before anything is sent and before the node boots with another list, encoded into `buffer`.
    #[must_use = "a log that is not written is lost at the next boot"]
    pub fn poll_log<'b>(&mut self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        if !self.unsaved {
            return None;
        }
        let len = wire::encode(&self.log, buffer)?;
        self.unsaved = false;
        buffer.get(..len)
    }

    /// The next frame to broadcast. None leaves before the log was polled.
    #[must_use = "a frame is returned once"]
    pub fn poll_transmit<'b>(&mut self, now: Instant, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let message = self.poll_message(now)?;
        self.seq = self.seq.checked_add(1)?;
        let mut body = [0; FRAME_MAX];
        let len = wire::encode(&message, &mut body)?;
        let (sender, incarnation, seq) = (self.me, self.log.boot, self.seq);
        let (kind, destination) = (Message::KIND, Destination::Broadcast);
        let packet = Packet { kind, sender, incarnation, seq, destination, body: body.get(..len)? };
        let len = wire::seal(&self.key, &packet, buffer)?;
        *buffer.first_mut()? ^= MARK;
        buffer.get(..len)
    }

    /// The message of the next frame, for models without frames.
    #[must_use = "a message is returned once"]
    pub fn poll_message(&mut self, now: Instant) -> Option<Message> {
        if self.unsaved {
            return None;
        }
        let heartbeat = self.timing.heartbeat;
        if let Some(round) = self.round {
            let (lasts, random) = (matches!(round.phase, Phase::Storing { .. }), self.rng.next_u32());
            if self.round_gossip.poll(now, heartbeat.times(ROUND_HEARTBEATS), lasts, random) {
                return Some(Message::Round(round));
            }
        }
        let random = self.rng.next_u32();
        let due = self.list_gossip.poll(now, heartbeat.times(LIST_HEARTBEATS), true, random);
        due.then(|| Message::List(self.log.list.clone()))
    }

    /// The next notice for the application.
    #[must_use = "a notice is returned once"]
    pub fn poll_notice(&mut self) -> Option<Notice> {
        if self.unsaved {
            return None;
        }
        self.notices.pop_front()
    }

    /// When to poll for the next frame, or to call [`Members::on_leader`] again.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let round = self.round_gossip.at.filter(|_| self.round.is_some());
        let attempt = self.attempt.as_ref().and_then(Attempt::deadline);
        earliest(earliest(self.list_gossip.at, round), attempt)
    }

    fn on_list(&mut self, now: Instant, list: List) {
        match list.epoch().cmp(&self.list().epoch()) {
            core::cmp::Ordering::Greater => self.adopt(now, list),
            core::cmp::Ordering::Equal => self.list_gossip.on_heard(),
            core::cmp::Ordering::Less => self.answer_laggard(now),
        }
    }

    fn on_round(&mut self, now: Instant, other: &Round) {
        if other.epoch != self.list().epoch() {
            return self.answer_laggard(now); // one of the two is
        }
        let known = *self.round.get_or_insert(*other);
        let joined = self.round.as_mut().map_or(known, |round| {
            round.join(other);
            *round
        });
        if joined == *other && joined == known {
            self.round_gossip.on_heard();
        }
        self.vote(now, &joined);
        if self.round != Some(known) || joined != *other {
            self.say_round(now); // something is new here, or to its sender
        }
        self.conclude(now);
    }

    /// Takes part in a round, if this node may.
    fn vote(&mut self, now: Instant, joined: &Round) {
        let (mut round, mut votes) = (*joined, self.log.votes);
        let (boot, forgot) = match self.log.memory {
            Memory::Intact => (self.log.boot, false),
            Memory::Lost(boot) => (boot, true),
        };
        if votes.vote(&self.log.list, Voter { id: self.me, boot, forgot }, &mut round) {
            self.write(|log| log.votes = votes);
        }
        if self.round != Some(round) {
            self.round = Some(round);
            self.say_round(now);
        }
    }

    /// Uses the next list, once it is decided.
    fn conclude(&mut self, now: Instant) {
        let decided = self.round.and_then(|round| round.decided(&self.log.list));
        if let Some(next) = decided.and_then(|change| self.log.list.after(change)) {
            self.adopt(now, next);
        }
    }

    /// Replaces the list by a later one, which was decided.
    fn adopt(&mut self, now: Instant, list: List) {
        self.end_attempt(&list);
        let added_again = match (self.log.memory, self.log.votes.accepted) {
            (Memory::Lost(since), Some((_, Change::Add(id), boot))) => id == self.me && boot == since,
            (Memory::Intact | Memory::Lost(_), _) => false,
        };
        let memory = if added_again { Memory::Intact } else { self.log.memory };
        self.write(|log| *log = Log::first(list, log.boot, memory));
        self.round = None;
        self.round_gossip = Gossip::SILENT;
        self.say_list(now);
        self.notify(Notice::Changed { epoch: self.log.list.epoch() });
    }

    /// Speaks again of a change that this node has stored: after a reboot.
    fn reopen(&mut self, now: Instant) {
        let Some((ballot, change, boot)) = self.log.votes.accepted else { return };
        let phase = Phase::Storing { change, boot, stored: self.log.list.slot(self.me, change) };
        self.round = Some(Round { epoch: self.list().epoch(), ballot, phase });
        self.say_round(now);
    }

    fn shortest(&self) -> Duration {
        self.timing.heartbeat.mul_ratio(1, 16)
    }

    /// Says the list to somebody who does not know it; recordings of earlier lists cause few such frames.
    fn answer_laggard(&mut self, now: Instant) {
        let random = self.rng.next_u32();
        self.list_gossip.hurry(now, self.timing.heartbeat.mul_ratio(1, 4), random);
    }

    fn say_list(&mut self, now: Instant) {
        let random = self.rng.next_u32();
        self.list_gossip.hurry(now, self.shortest(), random);
    }

    fn say_round(&mut self, now: Instant) {
        let random = self.rng.next_u32();
        self.round_gossip.hurry(now, self.shortest(), random);
    }

    /// Changes the log, which leaves before anything that is sent from now on.
    fn write(&mut self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log);
        self.unsaved = true;
    }

    fn notify(&mut self, notice: Notice) {
        if self.notices.is_full() {
            let _oldest = self.notices.pop_front();
        }
        let _ = self.notices.push_back(notice);
    }
}
