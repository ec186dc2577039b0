//! Records in flash, in the pages that a board's memory map reserves.
//!
//! `sequential-storage` appends each record behind the last and cycles through the pages: wear spreads, and an
//! interrupted write leaves the record before it. The protocol reserves its numbers in blocks, so a board writes at
//! boot and once in many elections.

use super::{LoadError, RecordStore, StoreError};
use core::ops::Range;
use embedded_storage_async::nor_flash::NorFlash;
use protocol::base::records::Records;
use sequential_storage::Error;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

const KEY: u8 = 1;
/// Room for a key and the records, in whole words of the widest flash.
const WORK_BYTES: usize = 64;
/// How often the records are read before they count as unreadable or lost.
const READS_MAX: u8 = 3;

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
    async fn load(&mut self) -> Result<Option<Records>, LoadError> {
        let mut work = [0; WORK_BYTES];
        let mut reads = 1;
        loop {
            match self.0.fetch_item::<[u8; Records::BYTES]>(&mut work, &KEY).await {
                Ok(Some(bytes)) => return Ok(Some(Records::from_bytes(bytes))),
                Ok(None) | Err(_) if reads < READS_MAX => reads = reads.saturating_add(1),
                Ok(None) => return Ok(None),
                Err(Error::Storage { .. }) => return Err(LoadError::Unreadable),
                Err(_) => break,
            }
        }
        // The pages hold no store, and no save would ever succeed.
        let _ = self.0.erase_all().await;
        Err(LoadError::Lost)
    }

    async fn save(&mut self, records: Records) -> Result<(), StoreError> {
        self.0.store_item(&mut [0; WORK_BYTES], &KEY, &records.to_bytes()).await.map_err(|_| StoreError)
    }
}

#[cfg(test)]
mod tests;
