//! Records in flash, in the pages that a board's memory map reserves.
//!
//! `sequential-storage` appends each record behind the last and cycles through the pages: wear spreads, and an
//! interrupted write leaves the record before it. The protocol reserves its numbers in blocks, so a board writes at
//! boot and once in many elections.

use super::{RecordStore, StoreError};
use core::ops::Range;
use embedded_storage_async::nor_flash::NorFlash;
use protocol::base::records::Records;
use sequential_storage::Error;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

const KEY: u8 = 1;
/// Room for a key and the records, in whole words of the widest flash.
const WORK_BYTES: usize = 64;

/// Stores records in a range of flash.
pub struct FlashStore<F: NorFlash>(MapStorage<u8, F, Cache<Uncached, Uncached, Uncached, u8>>);

/// The range is not of whole pages, or of fewer than two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BadRange;

impl<F: NorFlash> FlashStore<F> {
    /// Opens `range`, counted from the beginning of `flash`.
    ///
    /// # Errors
    /// When the range is not of whole pages, or of fewer than two.
    pub fn open(flash: F, range: Range<u32>) -> Result<Self, BadRange> {
        if range.end < range.start {
            return Err(BadRange);
        }
        let config = MapConfig::try_new(range).map_err(|_| BadRange)?;
        Ok(Self(MapStorage::new(flash, config, Cache::new_uncached())))
    }
}

impl<F: NorFlash> RecordStore for FlashStore<F> {
    async fn load(&mut self) -> Option<Records> {
        let mut work = [0; WORK_BYTES];
        let found = self.0.fetch_item::<[u8; Records::BYTES]>(&mut work, &KEY).await;
        if found.as_ref().is_err_and(|error| !matches!(error, Error::Storage { .. })) {
            // The pages hold no store, and no save would ever succeed. The caller learns that the records are lost.
            let _ = self.0.erase_all().await;
        }
        found.ok().flatten().map(Records::from_bytes)
    }

    async fn save(&mut self, records: Records) -> Result<(), StoreError> {
        self.0.store_item(&mut [0; WORK_BYTES], &KEY, &records.to_bytes()).await.map_err(|_| StoreError)
    }
}

#[cfg(test)]
mod tests;
