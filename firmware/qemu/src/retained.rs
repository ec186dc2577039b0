//! The page of RAM that no start-up code touches, so that it keeps its words over a reset (not over a loss of power).
//!
//! | words | hold |
//! | ---: | --- |
//! | 0 to 15 | the tally of faults, see [`crate::fault`] |
//! | 16.. | the record, see [`firmware::store`] |
//!
//! Its place is fixed by the memory map, not by the linker, so that a new image finds what the old one left.

use firmware::store::{Memory, STORE_WORDS};

/// Words of the page.
const PAGE_WORDS: usize = 1024;
/// Words for the tally of faults.
pub(crate) const TALLY_WORDS: usize = 16;

const _: () = assert!(TALLY_WORDS + STORE_WORDS <= PAGE_WORDS, "all that is retained fits the page");

#[expect(unsafe_code, reason = "the memory map sets this page aside under this name")]
unsafe extern "C" {
    static mut _retained_page: [u32; PAGE_WORDS];
}

/// A part of the retained page. The type is only made here, so parts do not overlap.
pub(crate) struct Retained {
    start: usize,
    words: usize,
}

impl Retained {
    /// Where faults are counted.
    pub(crate) const TALLY: Self = Self { start: 0, words: TALLY_WORDS };
    /// Where the record is kept.
    pub(crate) const RECORDS: Self = Self { start: TALLY_WORDS, words: STORE_WORDS };

    /// The word at `index`, if it is inside the part and the page.
    fn word(&self, index: usize) -> Option<*mut u32> {
        let place = self.start.checked_add(index).filter(|place| index < self.words && *place < PAGE_WORDS)?;
        let page = (&raw mut _retained_page).cast::<u32>();
        Some(page.wrapping_add(place))
    }
}

impl Memory for Retained {
    fn read(&self, index: usize) -> u32 {
        #[expect(
            unsafe_code,
            reason = "inside the page; volatile, as what a reset left there is unknown to the compiler"
        )]
        self.word(index).map_or(0, |word| unsafe { word.read_volatile() })
    }

    fn write(&mut self, index: usize, value: u32) {
        if let Some(word) = self.word(index) {
            #[expect(unsafe_code, reason = "inside the page; volatile, so that writes keep their order")]
            unsafe {
                word.write_volatile(value);
            }
        }
    }
}
