//! The flash in which a simulated node keeps its records: words that are written once, pages that are erased whole, and power
//! that fails in the midst of either.
//!
//! It is used as boards use theirs: each record is appended behind the last, in a slot of its own with a number and a
//! checksum; a page is erased just before its first slot is written; the newest record is the one with the highest number whose
//! checksum holds, and it is never in the page that is erased.

use crate::base::rng::{Rng, mix};
use protocol::base::records::Records;

const PAGES: usize = 3;
/// Slots of a page: few, so that pages are erased often.
const SLOTS: usize = 4;
const ERASED: u64 = u64::MAX;
/// A power failure damages one of this many steps of a write: erasing a page, and writing the words of a slot.
const STEPS: u64 = 1 + WORDS as u64;

/// Number, record, checksum.
const WORDS: usize = 4;
type Slot = [u64; WORDS];

/// One node's flash.
#[derive(Clone, Debug)]
pub(crate) struct Flash {
    pages: [[Slot; SLOTS]; PAGES],
}

impl Flash {
    /// Returns flash that holds these records.
    pub(crate) fn holding(records: Records) -> Self {
        let mut flash = Self { pages: [[[ERASED; WORDS]; SLOTS]; PAGES] };
        flash.store(records);
        flash
    }

    /// Returns the newest records; `None` where none can be read.
    pub(crate) fn load(&self) -> Option<Records> {
        self.newest().map(|(_, _, records)| records)
    }

    /// Stores records.
    pub(crate) fn store(&mut self, records: Records) {
        self.write(records, None);
    }

    /// Begins to store records; the power fails meanwhile, at a step that is drawn.
    pub(crate) fn tear(&mut self, records: Records, rng: &mut Rng) {
        self.write(records, Some(rng));
    }

    /// The number, the place and the content of the newest record.
    fn newest(&self) -> Option<(u64, usize, Records)> {
        let slots = self.pages.iter().flatten().enumerate();
        slots
            .filter_map(|(at, slot)| unpack(slot).map(|(number, records)| (number, at, records)))
            .max_by_key(|newest| newest.0)
    }

    fn write(&mut self, records: Records, mut failing: Option<&mut Rng>) {
        let (number, mut at) = self.newest().map_or((1, 0), |(number, at, _)| (number + 1, at + 1));
        let mut left = failing.as_deref_mut().map_or(u64::MAX, |rng| rng.below(STEPS));
        for _ in 0..(PAGES - 1) * SLOTS {
            let (page, index) = (at / SLOTS % PAGES, at % SLOTS);
            if index == 0 {
                if left == 0 {
                    let rng = failing.expect("the power fails");
                    // Some bits are erased by now.
                    self.pages[page].iter_mut().flatten().for_each(|word| *word |= rng.next_u64());
                    return;
                }
                left -= 1;
                self.pages[page] = [[ERASED; WORDS]; SLOTS];
            }
            let slot = &mut self.pages[page][index];
            // A slot in which the power failed is not used again before its page is erased.
            if *slot == [ERASED; WORDS] {
                for (word, new) in slot.iter_mut().zip(pack(number, records)) {
                    if left == 0 {
                        let rng = failing.expect("the power fails");
                        *word &= new | rng.next_u64(); // some bits are written by now
                        return;
                    }
                    left -= 1;
                    *word &= new;
                }
                return;
            }
            at += 1;
        }
    }
}

fn pack(number: u64, records: Records) -> Slot {
    let bytes = u128::from_le_bytes(records.to_bytes());
    let (low, high) = (bytes as u64, (bytes >> 64) as u64);
    [number, low, high, checksum(number, low, high)]
}

fn unpack(&[number, low, high, sum]: &Slot) -> Option<(u64, Records)> {
    let bytes = u128::from(high) << 64 | u128::from(low);
    (sum == checksum(number, low, high)).then(|| (number, Records::from_bytes(bytes.to_le_bytes())))
}

fn checksum(number: u64, low: u64, high: u64) -> u64 {
    mix(mix(mix(number) ^ low) ^ high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Stream;

    #[test]
    fn records_never_fall_back_however_often_the_power_fails() {
        let mut rng = Rng::new(1, Stream::Faults);
        let mut flash = Flash::holding(Records::FACTORY);
        let (mut stored, mut torn) = (0, 0);
        for number in 1..100_000 {
            let records = Records { incarnation: number, ..Records::FACTORY };
            if rng.below(3) == 0 {
                flash.store(records);
                stored = number;
            } else {
                flash.tear(records, &mut rng);
            }
            let loaded = flash.load().expect("something was stored").incarnation;
            assert!(loaded == stored || loaded == number, "{loaded} after {stored} was stored, and {number} was begun");
            torn += u32::from(loaded != number);
            stored = stored.max(loaded);
        }
        assert!((30_000..70_000).contains(&torn), "{torn} writes had no effect");
    }
}
