use super::{BadRange, FlashStore};
use crate::storage::record_store::{LoadError, RecordStore, StoreError};
use embassy_futures::block_on;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use protocol::base::lamport::LamportTime;
use protocol::base::records::Records;
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

const PAGE: usize = 1024;
const PAGES: usize = 4;
/// The store does not begin where the flash begins.
const BASE: usize = PAGE;
const RANGE: core::ops::Range<u32> = 1024..5 * 1024;

/// Flash of any word length that outlives a reset, clears bits only, and loses power after a number of writes. Of its
/// reads the first few may fail, or return noise.
#[derive(Clone)]
struct Chip<const WORD: usize> {
    bytes: Rc<RefCell<Vec<u8>>>,
    erased: Rc<RefCell<usize>>,
    steps_left: Rc<RefCell<usize>>,
    bad_reads: Rc<RefCell<(usize, BadRead)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BadRead {
    Fails,
    Noise,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dead;

impl NorFlashError for Dead {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl<const WORD: usize> Chip<WORD> {
    fn filled(byte: u8) -> Self {
        let bytes = Rc::new(RefCell::new(std::vec![byte; BASE + PAGES * PAGE]));
        let bad_reads = Rc::new(RefCell::new((0, BadRead::Fails)));
        Self { bytes, erased: Rc::default(), steps_left: Rc::new(RefCell::new(usize::MAX)), bad_reads }
    }

    fn open(&self) -> FlashStore<Self> {
        FlashStore::open(self.clone(), RANGE).unwrap()
    }

    fn step(&self) -> Result<(), Dead> {
        let mut left = self.steps_left.borrow_mut();
        *left = left.checked_sub(1).ok_or(Dead)?;
        Ok(())
    }
}

impl<const WORD: usize> ErrorType for Chip<WORD> {
    type Error = Dead;
}

impl<const WORD: usize> ReadNorFlash for Chip<WORD> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Dead> {
        let offset = offset as usize;
        bytes.copy_from_slice(&self.bytes.borrow()[offset..offset + bytes.len()]);
        let (left, kind) = &mut *self.bad_reads.borrow_mut();
        if *left > 0 {
            *left -= 1;
            match kind {
                BadRead::Fails => return Err(Dead),
                BadRead::Noise => bytes.iter_mut().for_each(|byte| *byte ^= 0x5a),
            }
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        BASE + PAGES * PAGE
    }
}

impl<const WORD: usize> NorFlash for Chip<WORD> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Dead> {
        assert!(from as usize >= BASE, "erased outside of the store");
        self.step()?;
        *self.erased.borrow_mut() += 1;
        self.bytes.borrow_mut()[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Dead> {
        assert!(offset as usize >= BASE && (offset as usize).is_multiple_of(WORD), "{offset}");
        for (at, word) in (offset as usize..).step_by(WORD).zip(bytes.chunks(WORD)) {
            self.step()?;
            for (cell, byte) in self.bytes.borrow_mut()[at..].iter_mut().zip(word) {
                *cell &= byte;
            }
        }
        Ok(())
    }
}

fn records(number: u32) -> Records {
    Records {
        incarnation: number,
        term: number * 16,
        lamport: LamportTime(u64::from(number) << 20),
        ..Records::FACTORY
    }
}

fn stored<const WORD: usize>(chip: &Chip<WORD>) -> Result<Option<Records>, LoadError> {
    block_on(chip.open().load())
}

fn check_newest_is_found<const WORD: usize>() {
    let chip = Chip::<WORD>::filled(0xff);
    assert_eq!(stored(&chip), Ok(None));
    for number in 1..500 {
        block_on(chip.open().save(records(number))).unwrap();
        assert_eq!(stored(&chip), Ok(Some(records(number))));
    }
    let erased = *chip.erased.borrow();
    assert!((2..500 / 10).contains(&erased), "{erased} erasures: wear is spread over many records");
}

#[test]
fn the_newest_records_are_found_after_a_reset_on_flash_of_every_word_length() {
    check_newest_is_found::<1>(); // RP2040
    check_newest_is_found::<4>(); // nRF52
    check_newest_is_found::<16>(); // STM32H5
}

#[test]
fn power_lost_at_any_write_leaves_the_old_records_or_the_new() {
    for steps in 0..400 {
        let chip = Chip::<4>::filled(0xff);
        block_on(chip.open().save(records(1))).unwrap();
        *chip.steps_left.borrow_mut() = steps;
        let mut last = 1;
        while block_on(chip.open().save(records(last + 1))).is_ok() {
            last += 1;
        }
        *chip.steps_left.borrow_mut() = usize::MAX;
        let found = stored(&chip).unwrap().map(|records| records.incarnation);
        assert!(found == Some(last) || found == Some(last + 1), "{found:?} after {steps} steps, not {last}");
        block_on(chip.open().save(records(1_000))).unwrap();
        assert_eq!(stored(&chip), Ok(Some(records(1_000))), "and goes on");
    }
}

#[test]
fn flash_full_of_foreign_data_holds_no_records_and_becomes_usable() {
    for byte in [0x00, 0x55, 0xa5] {
        let chip = Chip::<4>::filled(byte);
        assert_eq!(stored(&chip), Err(LoadError::Lost), "{byte:#x}");
        block_on(chip.open().save(records(3))).unwrap();
        assert_eq!(stored(&chip), Ok(Some(records(3))), "{byte:#x}");
    }
}

#[test]
fn memory_is_new_once_whatever_becomes_of_its_records() {
    type Loss = (&'static str, fn(&mut [u8]));
    let chip = Chip::<16>::filled(0xff);
    assert_eq!(stored(&chip), Ok(None));
    block_on(chip.open().save(records(1))).unwrap();
    let before = chip.bytes.borrow().clone();
    let losses: [Loss; 3] = [
        ("erased", |pages| pages.fill(0xff)),
        ("overwritten", |pages| pages.fill(0x55)),
        ("one bit of the only record", |pages| pages[10] ^= 1),
    ];
    for (loss, happens) in losses {
        chip.bytes.borrow_mut().clone_from(&before);
        happens(&mut chip.bytes.borrow_mut()[BASE..BASE + (PAGES - 1) * PAGE]);
        assert_eq!(stored(&chip), Err(LoadError::Lost), "{loss}");
        assert_eq!(stored(&chip), Err(LoadError::Lost), "{loss}, and the power failed before new ones were stored");
    }
}

#[test]
fn power_lost_while_the_first_records_are_stored_leaves_memory_new_or_in_use() {
    for steps in 0..40 {
        let chip = Chip::<4>::filled(0xff);
        *chip.steps_left.borrow_mut() = steps;
        let saved = block_on(chip.open().save(records(1)));
        let expected = match (steps, saved) {
            (0, Err(_)) => Ok(None),
            (_, Err(_)) => Err(LoadError::Lost),
            (_, Ok(())) => Ok(Some(records(1))),
        };
        *chip.steps_left.borrow_mut() = usize::MAX;
        assert_eq!(stored(&chip), expected, "after {steps} steps");
    }
}

#[test]
fn flash_that_cannot_be_read_keeps_its_records() {
    let chip = Chip::<4>::filled(0xff);
    block_on(chip.open().save(records(7))).unwrap();
    let before = chip.bytes.borrow().clone();
    let passing = (1..12).map(|bad| (bad, BadRead::Noise, Ok(Some(records(7)))));
    let failing = [(2, BadRead::Fails, Ok(Some(records(7)))), (100, BadRead::Fails, Err(LoadError::Unreadable))];
    for (bad, kind, expected) in passing.chain(failing) {
        *chip.bad_reads.borrow_mut() = (bad, kind);
        assert_eq!(stored(&chip), expected, "{bad} {kind:?}");
    }
    *chip.bad_reads.borrow_mut() = (0, BadRead::Fails);
    assert_eq!((stored(&chip), &*chip.bytes.borrow()), (Ok(Some(records(7))), &before));
}

#[test]
fn a_failed_write_is_an_error() {
    let chip = Chip::<4>::filled(0xff);
    *chip.steps_left.borrow_mut() = 0;
    assert_eq!(block_on(chip.open().save(records(1))), Err(StoreError));
}

#[test]
fn a_range_that_is_no_store_is_refused() {
    for range in [1024..2048, 1024..3072, 1000..4096, 1024..4000, 0..512, core::ops::Range { start: 4096, end: 1024 }] {
        assert_eq!(FlashStore::open(Chip::<4>::filled(0xff), range).err(), Some(BadRange));
    }
}
