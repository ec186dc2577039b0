//! What is the same on every Cortex-M: what the memory map sets aside, how much memory is free, and starting over.

#[cfg(feature = "reset-on-panic")]
mod fault;

use crate::page::access::{ACCESS_BYTES, Access, AccessError, OFFSET};
use crate::page::blobs::{Blobs, BlobsError};
use crate::page::{PAGE_BYTES, Page, PageError};
use core::ops::Range;

#[expect(
    unsafe_code,
    reason = "the memory map sets these places aside under these names; nothing is read through them"
)]
unsafe extern "C" {
    /// The config page.
    static _config_page: u32;
    /// Where records are kept.
    static _records_start: u32;
    static _records_end: u32;
    /// Where the blobs of a Wi-Fi chip are.
    static _blobs_start: u32;
    static _blobs_end: u32;
    /// The RAM, and where what is in it ends.
    static _ram_start: u32;
    static _ram_end: u32;
    static __sheap: u32;
}

/// Reads the config page that a loader put beside the code.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn page() -> Result<Page, PageError> {
    Page::decode(&read::<PAGE_BYTES>(0))
}

/// Reads the access point behind the config page.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn access() -> Result<Access, AccessError> {
    Access::decode(&read::<ACCESS_BYTES>(OFFSET))
}

/// Bytes of the config page.
fn read<const BYTES: usize>(offset: usize) -> [u8; BYTES] {
    const { assert!(BYTES.is_multiple_of(4) && OFFSET.is_multiple_of(4), "the page is read in words") };
    let mut bytes = [0; BYTES];
    let first = (&raw const _config_page).wrapping_byte_add(offset);
    let (words, _) = bytes.as_chunks_mut();
    for (index, place) in words.iter_mut().enumerate() {
        #[expect(unsafe_code, reason = "inside the page; volatile, as the compiler does not see the loader write it")]
        let word = unsafe { first.wrapping_add(index).read_volatile() };
        *place = word.to_le_bytes();
    }
    bytes
}

/// Finds the blobs of the Wi-Fi chip. They begin at a multiple of 4 bytes.
///
/// # Errors
/// When there are none, or they are damaged.
pub fn blobs() -> Result<Blobs<'static>, BlobsError> {
    let first = &raw const _blobs_start;
    let length = (&raw const _blobs_end).addr().saturating_sub(first.addr());
    #[expect(
        unsafe_code,
        reason = "the memory map sets these pages of flash aside, and nothing writes them while it runs"
    )]
    let bytes = unsafe { core::slice::from_raw_parts(first.cast::<u8>(), length) };
    Blobs::decode(bytes)
}

/// Where records are kept, as addresses counted from where the flash begins.
#[must_use]
pub fn records(flash_base: u32) -> Range<u32> {
    let offset = |place: *const u32| address(place).saturating_sub(flash_base);
    offset(&raw const _records_start)..offset(&raw const _records_end)
}

/// How much of the memory is free: between what is placed in it and how far the stack reaches at present.
#[cfg(feature = "embassy")]
#[must_use]
pub fn memory_free() -> protocol::capacity::Percent {
    let free = cortex_m::register::msp::read().saturating_sub(address(&raw const __sheap));
    let all = address(&raw const _ram_end).saturating_sub(address(&raw const _ram_start));
    crate::gauge::share(free, all)
}

/// Who this board is: what its config page says, or, where nobody wrote one, a node of its own making. `number` is what
/// its chip was born with, `also` the options that its network asks for.
#[cfg(feature = "defmt")]
#[must_use]
pub fn identity(number: &[u8], also: u32) -> Page {
    match page() {
        Ok(page) => {
            defmt::info!("this is board {=u32}: options {=u32:x}, hops {=u8}", page.id, page.options, page.hops);
            page
        }
        Err(error) => {
            let page = Page::unprovisioned(number, also);
            defmt::warn!(
                "no config page ({}): this board calls itself {=u32} and uses the key that everybody knows; \
                 `conclave provision` gives it its own",
                error,
                page.id
            );
            page
        }
    }
}

/// Lets the light tell for a while that the node has stopped, and starts over.
#[cfg(feature = "embassy")]
pub async fn rest() -> ! {
    embassy_time::Timer::after(REST).await;
    start_over()
}

/// How long a board that has stopped shows it. Its watchdog is more patient.
#[cfg(feature = "embassy")]
const REST: embassy_time::Duration = embassy_time::Duration::from_secs(4);

/// Tells whoever measures images how much memory a node takes: that is a part of its task's, and not to be seen in an
/// image. It is a symbol, and takes no memory itself.
#[macro_export]
macro_rules! tell_node_bytes {
    ($node:ty) => {
        #[expect(unsafe_code, reason = "defines a symbol and no code")]
        mod measured {
            use super::*;

            core::arch::global_asm!(
                ".global __conclave_node_bytes",
                ".set __conclave_node_bytes, {bytes}",
                bytes = const size_of::<$node>(),
            );
        }
    };
}

/// Resets the board.
pub fn start_over() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}

fn address(place: *const u32) -> u32 {
    u32::try_from(place.addr()).unwrap_or(0)
}
