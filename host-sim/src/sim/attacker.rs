//! An attacker without the key: it records what it hears, plays it again, and forges.

use crate::base::rng::{Probability, Rng};

/// How many frames it keeps; then a new one takes the place of any.
const TAPE_MAX: usize = 4096;

/// The attacker near every receiver. Time does not limit it: a frame of its own takes no air.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attacker {
    /// How often it plays a recording after a frame it hears, and how often a forgery.
    pub(super) replay: Probability,
    pub(super) forge: Probability,
    tape: Vec<Box<[u8]>>,
}

impl Attacker {
    /// Hears a frame; returns the frames it sends after it.
    pub(crate) fn on_frame(&mut self, bytes: &[u8], rng: &mut Rng) -> Vec<Box<[u8]>> {
        if self.tape.len() < TAPE_MAX {
            self.tape.push(bytes.into());
        } else {
            self.tape[rng.below(TAPE_MAX as u64) as usize] = bytes.into();
        }
        let mut frames = Vec::new();
        if rng.happens(self.replay) {
            frames.push(self.draw(rng));
        }
        if rng.happens(self.forge) {
            let mut forged = self.draw(rng);
            forge(&mut forged, rng);
            frames.push(forged);
        }
        frames
    }

    /// Returns any frame on the tape, which is not empty.
    fn draw(&self, rng: &mut Rng) -> Box<[u8]> {
        self.tape[rng.below(self.tape.len() as u64) as usize].clone()
    }
}

/// Changes what stands in clear, sender, boot or number, or what it cannot read, or cuts the frame off.
fn forge(bytes: &mut Box<[u8]>, rng: &mut Rng) {
    let len = bytes.len() as u64;
    match rng.below(3) {
        0 => {
            let at = rng.between(1, 5.min(len - 1)) as usize;
            bytes[at] = bytes[at].wrapping_add(rng.between(1, 127) as u8);
        }
        1 => {
            let from = rng.below(len) as usize;
            bytes[from..].iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        }
        _ => *bytes = bytes[..rng.below(len) as usize].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Stream;

    #[test]
    fn it_plays_what_it_heard_and_forges_what_it_did_not() {
        let mut rng = Rng::new(1, Stream::Network);
        let always = Probability::new(1.0);
        let mut attacker = Attacker { replay: always, forge: always, ..Attacker::default() };
        let heard: Vec<[u8; 16]> = (0..50).map(|number| [number; 16]).collect();
        for frame in &heard {
            let [replayed, forged] = &attacker.on_frame(frame, &mut rng)[..] else { panic!("two frames") };
            let is_heard = |bytes: &[u8]| heard.iter().any(|heard| heard == bytes);
            assert!(is_heard(replayed) && !is_heard(forged), "{replayed:?}, {forged:?}");
        }
    }
}
