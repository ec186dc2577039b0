//! Frames of other nodes, on their way.
//!
//! A node passes a frame on once, then listens: whoever is next does the same, or sends a receipt. While neither is
//! heard it says the frame again, a few times. So a loss is made good on the hop where it happens, and the writer's
//! own attempts, which cost the whole way, stay rare.

use super::{LETTER_MAX, Place};
use crate::config::Moment;
use crate::dice::within;
use crate::group::NodeSet;
use crate::time::Instant;
use crate::wire::{Kind, Path, To, Writer};
use heapless::Vec;

/// How many frames of other nodes wait to be passed on, or listen for it.
pub const RELAYS_MAX: usize = 3;
/// How many passing frames are remembered, so as not to pass them on twice.
const PASSED_MAX: usize = 16;

/// A frame of another node.
#[derive(Clone, Debug)]
pub(super) struct Relay {
    pub(super) mark: u32,
    /// How many hops it may still take.
    pub(super) hops: u8,
    pub(super) kind: Kind,
    pub(super) path: Path,
    pub(super) body: Vec<u8, LETTER_MAX>,
}

/// When it is said next, and how often it was.
#[derive(Clone, Debug)]
struct Waiting {
    relay: Relay,
    due: Instant,
    said: u8,
}

/// The frames a node passes on.
#[derive(Clone, Debug)]
pub(super) struct Relays {
    waiting: Vec<Waiting, RELAYS_MAX>,
    passed: [u32; PASSED_MAX],
    next: usize,
}

impl Relays {
    pub(super) const fn new() -> Self {
        Self { waiting: Vec::new(), passed: [0; PASSED_MAX], next: 0 }
    }

    /// Takes a frame to be passed on, once. Where there is no room, the next attempt may find some.
    pub(super) fn pass_on(&mut self, place: &Place<'_>, relay: Relay) {
        let mark = relay.mark;
        if self.passed.contains(&mark) {
            return;
        }
        if self.waiting.is_full()
            && let Some(said) = self.waiting.iter().position(|waiting| waiting.said > 0)
        {
            self.take(said);
        }
        let Moment { now, random, timing } = place.moment;
        let due = now.after(within(timing.crowd(place.crowd), random));
        if self.waiting.push(Waiting { relay, due, said: 0 }).is_ok() {
            if let Some(oldest) = self.passed.get_mut(self.next) {
                *oldest = mark;
            }
            self.next = self.next.wrapping_add(1).checked_rem(PASSED_MAX).unwrap_or(0);
        }
    }

    /// Takes out what waits at a place; the last one moves there.
    fn take(&mut self, at: usize) -> Option<Waiting> {
        let last = self.waiting.pop()?;
        match self.waiting.get_mut(at) {
            Some(place) => Some(core::mem::replace(place, last)),
            None => Some(last), // it was the last itself
        }
    }

    /// Somebody else said a frame, with so many hops left: where they are no more than here, it was passed on.
    pub(super) fn overhear(&mut self, mark: u32, hops: u8) {
        self.waiting.retain(|Waiting { relay, said, .. }| *said == 0 || relay.mark != mark || relay.hops < hops);
    }

    /// A letter has reached a member.
    pub(super) fn reached(&mut self, writer: Writer, number: u32, by: NodeSet) {
        self.waiting.retain_mut(|waiting| {
            let Path::Letter(letter) = &mut waiting.relay.path else { return true };
            if letter.number != number || letter.writer != Some(writer) {
                return true;
            }
            let To::Members(set) = &mut letter.to else { return true };
            *set = set.without(by);
            !set.is_empty()
        });
    }

    /// The next frame that is due.
    pub(super) fn poll(&mut self, place: &Place<'_>) -> Option<Relay> {
        let Moment { now, random, timing } = place.moment;
        let at = self.waiting.iter().position(|waiting| waiting.due <= now)?;
        let waiting = self.waiting.get_mut(at)?;
        waiting.said = waiting.said.saturating_add(1);
        if waiting.said > timing.repeats {
            return self.take(at).map(|waiting| waiting.relay);
        }
        waiting.due = now.after(timing.repeat.plus(within(timing.crowd(place.crowd), random)));
        Some(waiting.relay.clone())
    }

    /// When there is something to poll again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().map(|waiting| waiting.due).min()
    }
}
