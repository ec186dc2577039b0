//! Applications, and what watches them.

use super::World;
use crate::app::Doing;
use crate::machine::{Machine, Request};
use crate::queue::{Kind, Micros};
use crate::trace::{Act, Observer, What};
use protocol::Instant;

/// How often the shared clocks are compared.
pub(super) const COMPARED_EVERY: Micros = 50_000;

impl<M: Machine> World<M> {
    /// The user of a node asks something of its application.
    pub(super) fn request(&mut self, place: u32, request: Request, observer: &mut impl Observer) {
        let now = self.shown(place);
        if !self.is_up(place) {
            return;
        }
        self.tell(place, What::App { act: Act::Asked { request } }, observer);
        let Some(machine) = self.machine_up(place) else { return };
        machine.request(now, request);
        self.pump(place, observer);
    }

    /// The application of a node did something.
    pub(super) fn did(&mut self, place: u32, doing: Doing, observer: &mut impl Observer) {
        let name = self.names[place as usize];
        let act = match doing {
            Doing::Says { to, message } => {
                Act::Says { to: to.0, message: self.ledger.say(name, to.0, message), amount: message.brings() }
            }
            Doing::Hears { from, message, amount } => {
                Act::Hears { from: from.0, message: self.ledger.hear(from.0, name, message), amount }
            }
            Doing::Act(act) => {
                if let Act::GivesUp { to } = act {
                    self.ledger.give_up(name, to);
                }
                act
            }
        };
        self.tell(place, What::App { act }, observer);
    }

    /// Looks how far apart the shared clocks of all nodes are, and will again.
    pub(super) fn compare_clocks(&mut self, observer: &mut impl Observer) {
        let shown = |place: u32| {
            let machine = self.machines[place as usize].as_ref().filter(|_| self.is_up(place));
            machine.and_then(|machine| machine.reads(self.shown(place))).map(Instant::as_micros)
        };
        let shown: Vec<u64> = (0..self.nodes()).filter_map(shown).collect();
        let first_and_last = shown.iter().min().zip(shown.iter().max());
        let apart = first_and_last.map_or(0, |(first, last)| last - first);
        self.tell_of(None, What::Clocks { set: shown.len() as u32, apart }, observer);
        self.ether.queue.push(self.ether.now + COMPARED_EVERY, Kind::Compare, 0, 0);
    }
}
