//! An attacker: it records what it hears, plays it again, forges, and floods; as an insider, it has the key.

use crate::base::rng::{Probability, Rng};

/// How many frames it keeps; then a new one takes the place of any.
const TAPE_MAX: usize = 4096;

/// The longest frame of random bytes: longer than any that is read.
const JUNK_MAX: u64 = 160;

/// What an attacker does after each frame it hears.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Attack {
    /// How often it plays a recording.
    pub(crate) replay: Probability,
    /// How often it sends a forgery.
    pub(crate) forge: Probability,
    /// How many frames of random bytes it sends.
    pub(crate) junk: u32,
    /// How often it seals what it received again, with a number at its bounds. It needs the key.
    pub(crate) insider: Probability,
}

/// The attacker near every receiver. Time does not limit it: a frame of its own takes no air.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attacker {
    pub(super) attack: Attack,
    tape: Vec<Box<[u8]>>,
}

impl Attacker {
    /// Hears a frame; returns the frames it sends after it. With the key, `lie` seals what it received again.
    pub(crate) fn on_frame(
        &mut self,
        bytes: &[u8],
        rng: &mut Rng,
        lie: impl Fn(&[u8], u64) -> Option<Box<[u8]>>,
    ) -> Vec<Box<[u8]>> {
        if self.tape.len() < TAPE_MAX {
            self.tape.push(bytes.into());
        } else {
            self.tape[rng.below(TAPE_MAX as u64) as usize] = bytes.into();
        }
        let mut frames = Vec::new();
        let attack = self.attack;
        if rng.happens(attack.replay) {
            frames.push(self.draw(rng));
        }
        if rng.happens(attack.forge) {
            let mut forged = self.draw(rng);
            forge(&mut forged, rng);
            frames.push(forged);
        }
        for _ in 0..attack.junk {
            frames.push((0..rng.below(JUNK_MAX)).map(|_| rng.below(256) as u8).collect());
        }
        if rng.happens(attack.insider) {
            frames.extend(lie(bytes, rng.next_u64()));
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
        let attack = Attack { replay: always, forge: always, ..Attack::default() };
        let mut attacker = Attacker { attack, ..Attacker::default() };
        let heard: Vec<[u8; 16]> = (0..50).map(|number| [number; 16]).collect();
        for frame in &heard {
            let [replayed, forged] = &attacker.on_frame(frame, &mut rng, |_, _| None)[..] else { panic!("two frames") };
            let is_heard = |bytes: &[u8]| heard.iter().any(|heard| heard == bytes);
            assert!(is_heard(replayed) && !is_heard(forged), "{replayed:?}, {forged:?}");
        }
    }

    #[test]
    fn it_floods_and_an_insider_lies() {
        let mut rng = Rng::new(1, Stream::Network);
        let attack = Attack { junk: 100, insider: Probability::new(1.0), ..Attack::default() };
        let mut attacker = Attacker { attack, ..Attacker::default() };
        let frames = attacker.on_frame(&[7; 9], &mut rng, |bytes, _| Some(bytes.iter().rev().copied().collect()));
        assert_eq!((frames.len(), &*frames[100]), (101, &[7; 9][..]));
        assert!(frames[..100].iter().all(|junk| junk.len() < 160));
    }
}
