//! Records in flash, in the pages that a board's memory map reserves.
//!
//! `sequential-storage` appends each record behind the last and cycles through the pages: wear spreads, and an
//! interrupted write leaves the record before it. The protocol reserves its numbers in blocks, so a board writes at
//! boot and once in many elections.
//!
//! The last page is marked before the first record is stored, and never erased: where the mark is and the records are
//! not, they are lost. So a board is new once, whatever happens to its records.

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
/// The mark, a word of the widest flash.
const MARK: [u8; 16] = [0; 16];
/// A byte of flash that was not written.
const ERASED: u8 = 0xff;
/// How often the records are read before they count as unreadable or lost.
const READS_MAX: u8 = 3;

/// Stores records in a range of flash.
pub struct FlashStore<F: NorFlash> {
    /// The records, in all pages but the last.
    map: MapStorage<u8, F, Cache<Uncached, Uncached, Uncached, u8>>,
    /// Whether the last page is known to have the mark.
    marked: bool,
}

/// The range is not of whole pages, or of fewer than three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BadRange;

impl<F: NorFlash> FlashStore<F> {
    /// Opens `range`, counted from the beginning of `flash`.
    ///
    /// # Errors
    /// When the range is not of whole pages, or of fewer than three.
    pub fn open(flash: F, range: Range<u32>) -> Result<Self, BadRange> {
        let page = u32::try_from(F::ERASE_SIZE).map_err(|_| BadRange)?;
        let last = range.end.checked_sub(page).filter(|last| *last > range.start).ok_or(BadRange)?;
        let config = MapConfig::try_new(range.start..last).map_err(|_| BadRange)?;
        Ok(Self { map: MapStorage::new(flash, config, Cache::new_uncached()), marked: false })
    }

    /// Reads the mark and the newest records. Inlined, it would take 400 bytes of flash.
    #[inline(never)]
    async fn read(&mut self) -> Result<Option<[u8; Records::BYTES]>, Error<F::Error>> {
        let mut work = [0; WORK_BYTES];
        let last = self.map.flash_range().end;
        self.map.flash().read(last, &mut work).await.map_err(|value| Error::Storage { value })?;
        self.marked = work.first() != Some(&ERASED);
        self.map.fetch_item(&mut work, &KEY).await
    }
}

impl<F: NorFlash> RecordStore for FlashStore<F> {
    async fn load(&mut self) -> Result<Option<Records>, LoadError> {
        let mut reads = 1;
        let found = loop {
            let found = self.read().await;
            if matches!(found, Ok(Some(_))) || reads >= READS_MAX {
                break found;
            }
            reads = reads.saturating_add(1);
        };
        match found {
            Ok(Some(bytes)) => Ok(Some(Records::from_bytes(bytes))),
            Ok(None) if self.marked => Err(LoadError::Lost),
            Ok(None) => Ok(None),
            Err(Error::Storage { .. }) => Err(LoadError::Unreadable),
            Err(_) => {
                // The pages hold no store, and no save would ever succeed.
                let _ = self.map.erase_all().await;
                Err(LoadError::Lost)
            }
        }
    }

    async fn save(&mut self, records: Records) -> Result<(), StoreError> {
        if !self.marked {
            let last = self.map.flash_range().end;
            self.map.flash().write(last, &MARK).await.map_err(|_| StoreError)?;
            self.marked = true;
        }
        self.map.store_item(&mut [0; WORK_BYTES], &KEY, &records.to_bytes()).await.map_err(|_| StoreError)
    }
}

#[cfg(test)]
mod tests;
