//! Records in flash, in the pages that a board's memory map sets aside.
//!
//! `sequential-storage` writes each record behind the last and goes round the pages, so that wear spreads and a write
//! that power cuts short leaves the record before it. The protocol reserves its numbers in blocks, so a board writes
//! at boot and once in many elections.

use super::{Keeper, Unkept};
use core::ops::Range;
use embedded_storage_async::nor_flash::NorFlash;
use protocol::records::Records;
use sequential_storage::Error;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

/// What the records are filed under.
const KEY: u8 = 1;
/// Room for a key and the records, in whole words of the widest flash.
const WORK_BYTES: usize = 64;

/// Keeps records in a range of flash.
pub struct Flash<F: NorFlash>(MapStorage<u8, F, Cache<Uncached, Uncached, Uncached, u8>>);

/// The range cannot keep records: it is not of whole pages, or of fewer than two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BadRange;

impl<F: NorFlash> Flash<F> {
    /// Keeps records in `range`, counted from the beginning of `flash`.
    ///
    /// # Errors
    /// When the range is not one to keep records in.
    pub fn open(flash: F, range: Range<u32>) -> Result<Self, BadRange> {
        if range.end < range.start {
            return Err(BadRange);
        }
        let config = MapConfig::try_new(range).map_err(|_| BadRange)?;
        Ok(Self(MapStorage::new(flash, config, Cache::new_uncached())))
    }
}

impl<F: NorFlash> Keeper for Flash<F> {
    async fn load(&mut self) -> Option<Records> {
        let mut work = [0; WORK_BYTES];
        let found = self.0.fetch_item::<[u8; Records::BYTES]>(&mut work, &KEY).await;
        if found.as_ref().is_err_and(|error| !matches!(error, Error::Storage { .. })) {
            // Whatever is there is no store: left so, nothing could ever be kept again. The node is told that its
            // records are lost.
            let _ = self.0.erase_all().await;
        }
        found.ok().flatten().map(Records::from_bytes)
    }

    async fn save(&mut self, records: Records) -> Result<(), Unkept> {
        self.0.store_item(&mut [0; WORK_BYTES], &KEY, &records.to_bytes()).await.map_err(|_| Unkept)
    }
}

#[cfg(test)]
mod tests;
