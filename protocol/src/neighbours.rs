//! Who is in range, both ways.
//!
//! Every frame shows that its sender can be heard; a [`Hello`] lists whom its sender hears well. Well is when most
//! frames get through, until most do not: two thresholds, so that a link at the edge does not flap. A neighbour counts
//! while each hears the other well. Frames from anybody else change nothing in later stages.
//!
//! Hellos come fast while the neighbourhood changes and twice as slowly each time nothing did (as Trickle does, but
//! without suppression: the point of a hello is that *this* node was heard). Silence is measured against what a
//! neighbour usually says, so a quiet network stays quiet.
//!
//! One table holds everybody a node deals with: the members of its group in the first slots, for good; whoever else is
//! heard in the others, while it is.

use crate::config::{Moment, Timing};
use crate::dice::within;
use crate::group::{NodeId, NodeSet, Roster, RosterView};
use crate::records::Boots;
use crate::time::{Instant, Span, Tick, sooner};
use crate::wire::{FRAME_MAX, Packet, Reason, Writer};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// How many names one hello carries at most. A node with more neighbours, or with names too long for one frame, lists
/// them in turn.
pub const HEARD_MAX: usize = 32;

/// How many bytes the names of one hello may take: a frame less the longest header, the tag and the hello's own.
const NAMES_BYTES_MAX: usize = FRAME_MAX - 31;

/// Quality from which a node is heard well, of 255.
const QUALITY_UP: u8 = 170;
/// Quality below which it is no more.
const QUALITY_DOWN: u8 = 90;
/// What a node heard for the first time is thought to be worth at most: enough to begin with.
const QUALITY_FIRST: u8 = 180;
/// How many others may be in range before hellos slow down.
const CROWD_FREE: u32 = 4;
/// How many hellos that list only some names may leave this node out before it counts as not heard.
const UNLISTED_MAX: u8 = 6;
/// How many heartbeats of silence a neighbour is granted at least: it may have had nothing to say.
const SILENT_BEATS: u32 = 8;
/// How many of its usual pauses a neighbour may be silent.
const SILENT_PAUSES: u32 = 6;
/// How many sequence numbers back a repeated frame is still told from a late one.
const WINDOW: u32 = 32;

/// Who the sender hears well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Whether these are all.
    pub complete: bool,
    /// How many of them, the first ones, have not told the sender yet that they hear it.
    pub unsure: u8,
    /// Their names.
    pub heard: Vec<NodeId, HEARD_MAX>,
}

/// What is known of one node in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Neighbour {
    boots: Boots,
    /// The highest sequence number heard, and which of the [`WINDOW`] below it were.
    sequence: u32,
    window: u32,
    /// Share of its frames that get through, of 255.
    quality: u8,
    /// Whether it is heard well.
    good: bool,
    /// Hellos in a row that did not list this node.
    unlisted: u8,
    hears_me: bool,
    heard_at: Tick,
    /// Its usual pause between frames.
    pause: Span,
    /// The last of its letters that was taken in.
    letter: u32,
}

impl Neighbour {
    const NOBODY: Self = Self {
        boots: Boots::first(0),
        sequence: 0,
        window: 0,
        quality: 0,
        good: false,
        unlisted: 0,
        hears_me: false,
        heard_at: Tick::ZERO,
        pause: Span::ZERO,
        letter: 0,
    };

    /// How long it may be silent.
    fn patience(&self, timing: &Timing) -> Span {
        timing.heartbeat.times(SILENT_BEATS).max(self.pause.times(SILENT_PAUSES))
    }

    /// Takes note of a frame.
    fn hear(&mut self, sequence: u32, quality: u8, now: Instant) -> Result<(), Reason> {
        let gap = match sequence.checked_sub(self.sequence) {
            Some(0) => return Err(Reason::Duplicate),
            Some(ahead) => {
                self.window =
                    self.window.checked_shl(ahead).unwrap_or(0) | 1_u32.checked_shl(ahead.wrapping_sub(1)).unwrap_or(0);
                self.sequence = sequence;
                ahead.saturating_sub(1)
            }
            None => {
                let bit = 1_u32.checked_shl(self.sequence.abs_diff(sequence).wrapping_sub(1)).unwrap_or(0);
                if bit == 0 || self.window & bit != 0 {
                    return Err(Reason::Duplicate);
                }
                self.window |= bit;
                0
            }
        };
        for _ in 0..gap.min(WINDOW) {
            self.quality = average(self.quality, 0);
        }
        self.quality = average(self.quality, quality);
        let pause = self.heard_at.ago(now);
        self.pause = self.pause.share(3, 4).plus(pause.share(1, 4));
        self.heard_at = Tick::of(now);
        Ok(())
    }
}

/// How many bytes a name takes in a hello.
fn name_bytes(NodeId(id): NodeId) -> usize {
    let bits = u32::BITS.saturating_sub(id.leading_zeros()).max(1);
    usize::try_from(bits.div_ceil(7)).unwrap_or(5)
}

/// A running average over about eight values.
fn average(value: u8, next: u8) -> u8 {
    let sum = u16::from(value).saturating_mul(7).saturating_add(u16::from(next)).saturating_add(4);
    u8::try_from(sum >> 3).unwrap_or(u8::MAX)
}

/// Links that came or went in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Gone.
    pub down: NodeSet,
    /// Come.
    pub up: NodeSet,
    /// Members that have started anew.
    pub reset: NodeSet,
}

/// The neighbours of one node.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours<const N: usize> {
    roster: Roster<N>,
    known: [Neighbour; N],
    members: NodeSet,
    /// Those in range.
    heard: NodeSet,
    two_way: NodeSet,
    changes: Changes,
    /// The pause between hellos, when the next is due, and whose turn it is to be listed.
    interval: Span,
    hello_at: Instant,
    turn: usize,
    /// No neighbour has to be given up before this.
    check_at: Option<Instant>,
}

impl<const N: usize> Neighbours<N> {
    /// A node that has heard nobody and says hello at once.
    #[must_use]
    pub fn new(moment: Moment<'_>) -> Self {
        Self {
            roster: Roster::new(),
            known: [Neighbour::NOBODY; N],
            members: NodeSet::EMPTY,
            heard: NodeSet::EMPTY,
            two_way: NodeSet::EMPTY,
            changes: Changes::default(),
            interval: moment.timing.hello_min,
            hello_at: moment.now.after(within(moment.timing.hello_min, moment.random)),
            turn: 0,
            check_at: None,
        }
    }

    /// Takes a member of the group in, for good; `None` where there is no room.
    pub fn join(&mut self, member: NodeId) -> Option<()> {
        self.members = self.members.with(NodeSet::slot(self.roster.insert(member)?));
        Some(())
    }

    /// Everybody there is to deal with.
    #[must_use]
    pub fn roster(&self) -> RosterView<'_> {
        self.roster.view()
    }

    /// The group, in the same slots.
    #[must_use]
    pub fn group(&self) -> RosterView<'_> {
        self.roster.view().only(self.members)
    }

    /// Those in range.
    #[must_use]
    pub const fn heard(&self) -> NodeSet {
        self.heard
    }

    /// Those that hear this node too.
    #[must_use]
    pub const fn two_way(&self) -> NodeSet {
        self.two_way
    }

    /// The mean quality of the links that count, of 255.
    #[must_use]
    pub fn quality(&self) -> u8 {
        let sum = self
            .two_way
            .slots()
            .filter_map(|slot| self.known.get(slot))
            .map(|known| u32::from(known.quality))
            .sum::<u32>();
        sum.checked_div(self.two_way.len()).and_then(|mean| u8::try_from(mean).ok()).unwrap_or(0)
    }

    /// The links that came and went since the last call.
    pub fn take_changes(&mut self) -> Changes {
        core::mem::take(&mut self.changes)
    }

    /// Takes note of a frame's sender.
    ///
    /// # Errors
    /// Where the frame must be dropped: heard before, of an earlier boot, or of a node there is no room for.
    pub fn hear(&mut self, moment: Moment<'_>, packet: &Packet<'_>, quality: u8) -> Result<(), Reason> {
        let slot = match self.roster.view().slot_of(packet.sender).filter(|&slot| self.heard.meets(NodeSet::slot(slot)))
        {
            Some(slot) => slot,
            None => self.meet(moment, packet, quality)?,
        };
        if self.boot(slot, packet.incarnation)? {
            self.begin(slot, moment, packet, quality);
        }
        let Some(known) = self.known.get_mut(slot) else { return Err(Reason::Crowded) };
        known.hear(packet.sequence, quality, moment.now)?;
        let good = known.quality >= if known.good { QUALITY_DOWN } else { QUALITY_UP };
        if good && !known.good {
            self.hurry(moment); // let it know that it is heard
        }
        if let Some(known) = self.known.get_mut(slot) {
            known.good = good;
        }
        self.review(moment, slot);
        Ok(())
    }

    /// Hears that a node is in this boot: whether it is a new one, with which everything begins anew.
    fn boot(&mut self, slot: usize, incarnation: u32) -> Result<bool, Reason> {
        let Some(known) = self.known.get_mut(slot) else { return Err(Reason::Crowded) };
        let first = known.boots == Boots::default();
        let new = known.boots.admit(incarnation).ok_or(Reason::Outdated)?;
        if new {
            *known = Neighbour { boots: known.boots, ..Neighbour::NOBODY };
            let set = NodeSet::slot(slot);
            self.drop_link(set);
            if !first {
                self.changes.reset = self.changes.reset.with(set.and(self.members));
            }
        }
        Ok(new)
    }

    /// Takes in the letter of this number, if there is `room`: whether it is a new one.
    ///
    /// # Errors
    /// Where it is of an earlier boot, of a stranger, or there is no room.
    pub fn take_letter(&mut self, writer: Writer, number: u32, room: bool) -> Result<bool, Reason> {
        let slot = self.roster.view().slot_of(writer.id).ok_or(Reason::Crowded)?;
        if self.boot(slot, writer.incarnation)? {
            self.heard = self.heard.without(NodeSet::slot(slot)); // to be met again, if it is in range
        }
        let Some(known) = self.known.get_mut(slot) else { return Err(Reason::Crowded) };
        let new = number > known.letter;
        if new && !room {
            return Err(Reason::Crowded);
        }
        known.letter = known.letter.max(number);
        Ok(new)
    }

    /// Takes note of whom a neighbour hears.
    pub fn hello(&mut self, moment: Moment<'_>, me: NodeId, from: NodeId, hello: &Hello) {
        let Some(slot) = self.roster.view().slot_of(from) else { return };
        let Some(known) = self.known.get_mut(slot) else { return };
        if let Some(place) = hello.heard.iter().position(|&name| name == me) {
            known.unlisted = 0;
            known.hears_me = true;
            if place < usize::from(hello.unsure) && known.good {
                self.hurry(moment);
            }
        } else {
            known.unlisted = known.unlisted.saturating_add(1);
            known.hears_me &= !hello.complete && known.unlisted < UNLISTED_MAX;
            if !known.hears_me && known.unlisted <= UNLISTED_MAX && known.good {
                self.hurry(moment); // it may just not have heard of this node yet
            }
        }
        self.review(moment, slot);
    }

    /// Gives up whoever has been silent for too long.
    pub fn timeout(&mut self, moment: Moment<'_>) {
        if self.check_at.is_none_or(|at| at > moment.now) {
            return;
        }
        let mut gone = NodeSet::EMPTY;
        let mut next = None;
        for slot in self.heard.slots() {
            let Some(known) = self.known.get(slot) else { continue };
            let left = known.patience(moment.timing).minus(known.heard_at.ago(moment.now));
            if left == Span::ZERO {
                gone = gone.with(NodeSet::slot(slot));
            } else {
                next = sooner(next, Some(moment.now.after(left)));
            }
        }
        self.check_at = next;
        if !gone.is_empty() {
            self.drop_link(gone);
            self.heard = self.heard.without(gone);
            self.roster.remove(gone.without(self.members));
        }
    }

    /// The hello that is due, if one is.
    pub fn poll_hello(&mut self, moment: Moment<'_>) -> Option<Hello> {
        if self.hello_at > moment.now {
            return None;
        }
        self.interval = self.interval.times(2).min(moment.timing.hello_max);
        let half = self.interval.share(1, 2);
        self.hello_at = moment.now.after(half.plus(within(self.interval, moment.random)));
        let mut hello = Hello { complete: self.turn == 0, unsure: 0, heard: Vec::new() };
        let mut room = NAMES_BYTES_MAX;
        let names = self.roster.view();
        for slot in self.turn..N {
            let Some(known) = self.known.get(slot).filter(|known| known.good) else { continue };
            let Some(name) = names.id_of(slot) else { continue };
            room = room.saturating_sub(name_bytes(name));
            if room == 0 || hello.heard.push(name).is_err() {
                hello.complete = false;
                self.turn = slot;
                return Some(hello);
            }
            if !known.hears_me {
                let last = hello.heard.len().saturating_sub(1);
                if let Ok([first, name]) = hello.heard.get_disjoint_mut([usize::from(hello.unsure), last]) {
                    core::mem::swap(first, name);
                }
                hello.unsure = hello.unsure.saturating_add(1);
            }
        }
        self.turn = 0;
        Some(hello)
    }

    /// When to call [`Neighbours::timeout`] and [`Neighbours::poll_hello`].
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        sooner(Some(self.hello_at), self.check_at)
    }

    /// A node is heard for the first time, or for the first time in this boot of it.
    fn begin(&mut self, slot: usize, moment: Moment<'_>, packet: &Packet<'_>, quality: u8) {
        self.heard = self.heard.with(NodeSet::slot(slot));
        let Some(known) = self.known.get_mut(slot) else { return };
        *known = Neighbour {
            boots: known.boots,
            letter: known.letter,
            sequence: packet.sequence.saturating_sub(1),
            quality: QUALITY_FIRST.min(quality),
            heard_at: Tick::of(moment.now),
            pause: moment.timing.hello_min,
            ..Neighbour::NOBODY
        };
        self.check_at = sooner(self.check_at, Some(moment.now.after(known.patience(moment.timing))));
    }

    /// Makes room for a node that was not in range.
    fn meet(&mut self, moment: Moment<'_>, packet: &Packet<'_>, quality: u8) -> Result<usize, Reason> {
        let stranger = self.roster.view().slot_of(packet.sender).is_none();
        if stranger && self.roster.view().all() == NodeSet::first(N) {
            // A node that does not hear this one is of no use: its place goes to whoever may.
            let useless =
                self.heard.without(self.two_way).without(self.members).slots().next().ok_or(Reason::Crowded)?;
            self.heard = self.heard.without(NodeSet::slot(useless));
            self.roster.remove(NodeSet::slot(useless));
        }
        let slot = self.roster.insert(packet.sender).ok_or(Reason::Crowded)?;
        if let Some(known) = self.known.get_mut(slot).filter(|_| stranger) {
            *known = Neighbour::NOBODY;
        }
        self.begin(slot, moment, packet, quality);
        Ok(slot)
    }

    /// Decides whether a link counts.
    fn review(&mut self, moment: Moment<'_>, slot: usize) {
        let Some(known) = self.known.get(slot) else { return };
        let set = NodeSet::slot(slot);
        match (self.two_way.meets(set), known.hears_me && known.good) {
            (false, true) => {
                self.two_way = self.two_way.with(set);
                self.changes.up = self.changes.up.with(set);
            }
            (true, false) => {
                self.drop_link(set);
                self.hurry(moment); // the other side should not count on it either
            }
            (false, false) | (true, true) => {} // as before
        }
    }

    fn drop_link(&mut self, set: NodeSet) {
        self.changes.down = self.changes.down.with(set.and(self.two_way));
        self.changes.up = self.changes.up.without(set);
        self.two_way = self.two_way.without(set);
    }

    /// Something changed: the next hello comes soon, and the ones after it too.
    fn hurry(&mut self, moment: Moment<'_>) {
        let shortest = self.shortest(moment.timing);
        self.interval = self.interval.min(shortest.share(1, 2));
        let soon = moment.now.after(shortest.share(1, 2).plus(within(shortest, moment.random)));
        self.hello_at = self.hello_at.min(soon);
    }

    /// The shortest pause between hellos: where many speak, each has to speak less.
    fn shortest(&self, timing: &Timing) -> Span {
        timing.hello_min.share(self.heard.len().max(CROWD_FREE), CROWD_FREE).min(timing.hello_max)
    }
}

#[cfg(test)]
mod tests;
