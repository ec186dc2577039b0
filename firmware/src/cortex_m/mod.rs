//! Start-up and reset of every Cortex-M board, and the memory its map reserves.

#[cfg(all(feature = "embassy", feature = "defmt"))]
mod start;

#[cfg(all(feature = "udp", feature = "defmt"))]
pub use start::start_udp;
#[cfg(all(feature = "flash", feature = "defmt"))]
pub use start::{Parts, run};
#[cfg(all(feature = "embassy", feature = "defmt"))]
pub use start::{identify, reset_later, spawn};

use crate::storage::config_page::access_point::{ACCESS_POINT_BYTES, AccessPoint, AccessPointError, OFFSET};
use crate::storage::config_page::blobs::{Blobs, BlobsError};
use crate::storage::config_page::broker::{self, BROKER_BYTES, Broker};
use crate::storage::config_page::{ConfigPage, PAGE_BYTES, PageError};
use core::ops::Range;

#[expect(unsafe_code, reason = "symbols of the memory map; no value is read through them")]
unsafe extern "C" {
    static _config_page: u32;
    static _records_start: u32;
    static _records_end: u32;
    static _blobs_start: u32;
    static _blobs_end: u32;
    static _ram_start: u32;
    static _ram_end: u32;
    /// End of the static variables.
    static __sheap: u32;
}

/// Reads the config page.
///
/// # Errors
/// When none is stored, or it is damaged.
pub fn config_page() -> Result<ConfigPage, PageError> {
    ConfigPage::decode(&read::<PAGE_BYTES>(0))
}

/// Reads the access point behind the config page.
///
/// # Errors
/// When none is stored, or it is damaged.
pub fn access_point() -> Result<AccessPoint, AccessPointError> {
    AccessPoint::decode(&read::<ACCESS_POINT_BYTES>(OFFSET))
}

/// Reads the broker behind the config page, if there is one.
#[must_use]
pub fn broker() -> Option<Broker> {
    Broker::decode(&read::<BROKER_BYTES>(broker::OFFSET))
}

/// Bytes at `offset` of the config page.
fn read<const BYTES: usize>(offset: usize) -> [u8; BYTES] {
    const {
        assert!(
            BYTES.is_multiple_of(4) && OFFSET.is_multiple_of(4) && broker::OFFSET.is_multiple_of(4),
            "the page is read in words"
        );
    };
    let mut bytes = [0; BYTES];
    let first = (&raw const _config_page).wrapping_byte_add(offset);
    let (words, _) = bytes.as_chunks_mut();
    for (index, word) in words.iter_mut().enumerate() {
        #[expect(unsafe_code, reason = "inside the page; volatile, as the compiler does not see the loader write it")]
        let value = unsafe { first.wrapping_add(index).read_volatile() };
        *word = value.to_le_bytes();
    }
    bytes
}

/// Reads the blobs of the Wi-Fi chip. They begin at a multiple of 4 bytes.
///
/// # Errors
/// When none are stored, or they are damaged.
pub fn blobs() -> Result<Blobs<'static>, BlobsError> {
    let first = &raw const _blobs_start;
    let length = (&raw const _blobs_end).addr().saturating_sub(first.addr());
    #[expect(unsafe_code, reason = "flash pages reserved by the memory map, not written while the image runs")]
    let bytes = unsafe { core::slice::from_raw_parts(first.cast::<u8>(), length) };
    Blobs::decode(bytes)
}

/// The pages reserved for records, as offsets from the beginning of the flash.
#[must_use]
pub fn records_range(flash_base: u32) -> Range<u32> {
    let offset = |symbol: *const u32| address(symbol).saturating_sub(flash_base);
    offset(&raw const _records_start)..offset(&raw const _records_end)
}

/// Free memory: between the static variables and the stack pointer.
#[cfg(feature = "embassy")]
#[must_use]
pub fn memory_free() -> protocol::base::capacity::Percent {
    let free = cortex_m::register::msp::read().saturating_sub(address(&raw const __sheap));
    let all = address(&raw const _ram_end).saturating_sub(address(&raw const _ram_start));
    crate::vitals::percent(free, all)
}

/// Logs where a panic happened.
#[cfg(feature = "defmt")]
pub fn log_panic(info: &core::panic::PanicInfo<'_>) {
    if let Some(location) = info.location() {
        defmt::error!("panic at {=str}:{=u32}; resetting", location.file(), location.line());
    } else {
        defmt::error!("panic; resetting");
    }
}

/// The panic handler of a board without its own: log and reset, a crash and recovery as the algorithms tolerate.
#[cfg(feature = "reset-on-panic")]
#[panic_handler]
fn on_panic(info: &core::panic::PanicInfo<'_>) -> ! {
    log_panic(info);
    defmt::flush();
    reset()
}

/// Defines a symbol whose value is the size of a node: in an image, the node is an invisible part of its task.
#[macro_export]
macro_rules! emit_node_bytes {
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
pub fn reset() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}

fn address(symbol: *const u32) -> u32 {
    u32::try_from(symbol.addr()).unwrap_or(0)
}
