//! The page of RAM that no start-up code initialises: it keeps its contents over a reset, not over a loss of power.
//!
//! | words | content |
//! | ---: | --- |
//! | 0 to 15 | counters of faults, see [`crate::fault`] |
//! | 16.. | the records, see [`firmware::storage::retained_store`] |
//!
//! Its address is fixed by the memory map, so that a new image finds the data of the old one.

use firmware::storage::retained_store::{Memory, STORE_WORDS};

const PAGE_WORDS: usize = 1024;
pub(crate) const FAULT_WORDS: usize = 16;

const _: () = assert!(FAULT_WORDS + STORE_WORDS <= PAGE_WORDS, "both parts fit the page");

#[expect(unsafe_code, reason = "a page that the memory map reserves under this name")]
unsafe extern "C" {
    static mut _retained_page: [u32; PAGE_WORDS];
}

/// A part of the retained page. Values are only made here, so parts do not overlap.
pub struct Retained {
    start: usize,
    words: usize,
}

impl Retained {
    pub(crate) const FAULTS: Self = Self { start: 0, words: FAULT_WORDS };
    pub(crate) const RECORDS: Self = Self { start: FAULT_WORDS, words: STORE_WORDS };

    /// The address of the word at `index`, if it is inside the part and the page.
    fn word(&self, index: usize) -> Option<*mut u32> {
        let offset = self.start.checked_add(index).filter(|offset| index < self.words && *offset < PAGE_WORDS)?;
        let page = (&raw mut _retained_page).cast::<u32>();
        Some(page.wrapping_add(offset))
    }
}

impl Memory for Retained {
    fn read(&self, index: usize) -> u32 {
        #[expect(
            unsafe_code,
            reason = "inside the page; volatile, as the compiler does not know its contents after a reset"
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
