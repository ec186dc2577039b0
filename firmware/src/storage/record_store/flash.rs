//! Records in flash, in the pages that a board's memory map reserves.
//!
//! Each record is appended behind the last, and the pages are used in turn: wear spreads. The protocol reserves its numbers
//! in blocks, so a board writes at boot and once in many elections. A slot of [`SLOT`] bytes holds
//!
//! | bytes | what |
//! | ---: | --- |
//! | 4 | the number of the record, one more than that of the record before |
//! | 16 | the record |
//! | 8 | zeros |
//! | 4 | CRC-32 of all before |
//!
//! # Power
//! It may fail at any instant. A word that was being written has then any value, and a page that was being erased holds
//! anything. So a slot is written once and read back, a page is erased just before its first slot is written, however it
//! looks, and the newest record is never in it. The newest record is the one with the highest number whose checksum holds.
//!
//! The last page is marked before the first record is stored, and never erased: where the mark is and the records are
//! not, they are lost. So a board is new once, whatever happens to its records.

use super::{LoadError, RecordStore, StoreError};
use crate::copy_bytes;
use crate::storage::crc::checksum;
use core::ops::Range;
use embedded_storage_async::nor_flash::NorFlash;
use protocol::base::records::Records;

/// The length of a slot: whole words of every flash.
const SLOT: usize = 32;
const SLOT_STEP: u32 = 32;
/// The checksum and what it is of.
const SUM_BYTES: usize = 4;
const SUMMED: usize = SLOT - SUM_BYTES;
const NUMBER_BYTES: usize = 4;
/// The mark, a word of the widest flash.
const MARK: [u8; 16] = [0; 16];
/// Flash that was not written.
const ERASED: u8 = 0xff;
/// How often the pages are read: a read may return noise.
const READS: u8 = 3;

/// Stores records in a range of flash.
pub struct FlashStore<F: NorFlash> {
    flash: F,
    /// The length of a page.
    page: u32,
    /// The pages of the records: all but the last.
    pages: Range<u32>,
    /// Whether the pages were read in this boot.
    read: bool,
    /// Whether the last page is known to have the mark.
    marked: bool,
    newest: Option<Newest>,
}

/// The newest record.
#[derive(Clone, Copy)]
struct Newest {
    number: u32,
    at: u32,
    records: Records,
}

/// The range is not of whole pages, or of fewer than three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BadRange;

impl<F: NorFlash> FlashStore<F> {
    /// The compiler checks that slots and mark are whole words, and pages whole slots.
    const FITS: () = {
        assert!(F::ERASE_SIZE.is_multiple_of(SLOT) && SLOT.is_multiple_of(F::WRITE_SIZE), "slots are whole words");
        assert!(MARK.len().is_multiple_of(F::WRITE_SIZE), "the mark is whole words");
    };

    /// Opens `range`, counted from the beginning of `flash`.
    ///
    /// # Errors
    /// When the range is not of whole pages, or of fewer than three.
    pub fn open(flash: F, range: Range<u32>) -> Result<Self, BadRange> {
        let () = Self::FITS;
        let page = u32::try_from(F::ERASE_SIZE).map_err(|_| BadRange)?;
        let whole = |at: u32| at.checked_rem(page) == Some(0);
        let end = range.end.checked_sub(page).ok_or(BadRange)?;
        let least = range.start.saturating_add(page.saturating_mul(2));
        if end < least || !whole(range.start) || !whole(end) {
            return Err(BadRange);
        }
        Ok(Self { flash, page, pages: range.start..end, read: false, marked: false, newest: None })
    }

    /// Finds the mark and the newest record.
    async fn read(&mut self) -> Result<(), F::Error> {
        let mut slot = [0; SLOT];
        for _ in 0..READS {
            self.flash.read(self.pages.end, &mut slot).await?;
            self.marked |= slot.first() != Some(&ERASED);
            // Backwards, the newest of a page comes first, and few checksums are computed.
            let mut at = self.pages.end;
            while at > self.pages.start {
                at = at.saturating_sub(SLOT_STEP);
                self.flash.read(at, &mut slot).await?;
                let number = first_number(&slot);
                if self.newest.is_none_or(|newest| number > newest.number)
                    && let Some(records) = unpack(&slot)
                {
                    self.newest = Some(Newest { number, at, records });
                }
            }
        }
        self.read = true;
        Ok(())
    }

    /// Stores records in the next slot that takes them; returns whether one did.
    async fn append(&mut self, records: Records) -> Result<bool, F::Error> {
        if !self.read {
            self.read().await?;
        }
        if !self.marked {
            self.flash.write(self.pages.end, &MARK).await?;
            self.marked = true;
        }
        let (number, mut at) = match self.newest {
            Some(newest) => (newest.number.saturating_add(1), newest.at.saturating_add(SLOT_STEP)),
            None => (1, self.pages.start),
        };
        let (written, mut slot) = (pack(number, records), [0; SLOT]);
        // After as many slots the page of the newest record would be the next to be erased.
        let bytes = self.pages.end.saturating_sub(self.pages.start).saturating_sub(self.page);
        for _ in (0..bytes).step_by(SLOT) {
            if at >= self.pages.end {
                at = self.pages.start;
            }
            if at.checked_rem(self.page) == Some(0) {
                self.flash.erase(at, at.saturating_add(self.page)).await?;
            }
            self.flash.read(at, &mut slot).await?;
            if slot == [ERASED; SLOT] {
                self.flash.write(at, &written).await?;
                self.flash.read(at, &mut slot).await?;
                if slot == written {
                    self.newest = Some(Newest { number, at, records });
                    return Ok(true);
                }
            }
            at = at.saturating_add(SLOT_STEP); // the power failed while this slot was written, or it is worn out
        }
        Ok(false)
    }
}

/// The number that a slot begins with.
fn first_number(slot: &[u8; SLOT]) -> u32 {
    slot.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn pack(number: u32, records: Records) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    copy_bytes(&mut slot, number.to_le_bytes().iter().chain(&records.to_bytes()));
    let sum = checksum(slot.get(..SUMMED).unwrap_or_default());
    copy_bytes(slot.get_mut(SUMMED..).unwrap_or_default(), &sum.to_le_bytes());
    slot
}

/// The records in a slot; `None` where its checksum does not hold.
fn unpack(slot: &[u8; SLOT]) -> Option<Records> {
    let (summed, sum) = slot.split_at_checked(SUMMED)?;
    let records = summed.get(NUMBER_BYTES..)?.first_chunk()?;
    (checksum(summed).to_le_bytes() == sum).then(|| Records::from_bytes(*records))
}

impl<F: NorFlash> RecordStore for FlashStore<F> {
    async fn load(&mut self) -> Result<Option<Records>, LoadError> {
        let mut reads = 1_u8;
        while self.read().await.is_err() {
            if reads >= READS {
                return Err(LoadError::Unreadable);
            }
            reads = reads.saturating_add(1);
        }
        match self.newest {
            Some(newest) => Ok(Some(newest.records)),
            None if self.marked => Err(LoadError::Lost),
            None => Ok(None),
        }
    }

    async fn save(&mut self, records: Records) -> Result<(), StoreError> {
        match self.append(records).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(StoreError),
        }
    }
}

#[cfg(test)]
mod power_cuts;
#[cfg(test)]
mod tests;
