//! Who this board is: its config page, in the last page of code memory.

use firmware::page::{PAGE_BYTES, Page, PageError};

const PAGE_WORDS: usize = PAGE_BYTES / 4;

#[expect(unsafe_code, reason = "the memory map sets this page aside under this name")]
unsafe extern "C" {
    static _config_page: [u32; PAGE_WORDS];
}

/// Reads the config page that a loader put beside the code.
///
/// # Errors
/// When there is none, or it is damaged.
pub(crate) fn page() -> Result<Page, PageError> {
    let mut bytes = [0; PAGE_BYTES];
    let first = (&raw const _config_page).cast::<u32>();
    let (words, _) = bytes.as_chunks_mut();
    for (index, place) in words.iter_mut().enumerate() {
        #[expect(unsafe_code, reason = "inside the page; volatile, as the compiler does not see the loader write it")]
        let word = unsafe { first.wrapping_add(index).read_volatile() };
        *place = word.to_le_bytes();
    }
    Page::decode(&bytes)
}
