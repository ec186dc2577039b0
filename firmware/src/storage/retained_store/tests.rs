use super::{Memory, Newest, RECORD_BYTES_MAX, RetainedStore, STORE_WORDS, Slot, TooLong};
use protocol::base::rng::Rng;
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

/// Memory that outlives a reset, and loses power after a number of writes: of the word after these, some bits are written.
#[derive(Clone)]
pub(crate) struct TestMemory {
    words: Rc<RefCell<Vec<u32>>>,
    writes_left: usize,
    torn_bits: u32,
}

impl TestMemory {
    pub(crate) fn filled(word: u32) -> Self {
        Self { words: Rc::new(RefCell::new(std::vec![word; STORE_WORDS])), writes_left: usize::MAX, torn_bits: 0 }
    }

    fn dying_after(&self, writes: usize, torn_bits: u32) -> Self {
        Self { words: self.words.clone(), writes_left: writes, torn_bits }
    }

    fn record(&self) -> Option<Vec<u8>> {
        RetainedStore::open(self.clone()).load(&mut [0; RECORD_BYTES_MAX]).map(<[u8]>::to_vec)
    }
}

impl Memory for TestMemory {
    fn read(&self, index: usize) -> u32 {
        self.words.borrow().get(index).copied().unwrap_or(0)
    }

    fn write(&mut self, index: usize, value: u32) {
        let bits = if self.writes_left > 0 { u32::MAX } else { core::mem::take(&mut self.torn_bits) };
        self.writes_left = self.writes_left.saturating_sub(1);
        let word = &mut self.words.borrow_mut()[index];
        *word = *word & !bits | value & bits;
    }
}

#[test]
fn memory_that_was_never_written_holds_no_record() {
    for word in [0, u32::MAX, 0xdead_beef, 1] {
        assert_eq!(TestMemory::filled(word).record(), None, "{word:#x}");
    }
}

#[test]
fn the_newest_record_is_found_after_a_reset() {
    let memory = TestMemory::filled(0);
    for count in 0..10_u8 {
        let record: Vec<u8> = (0..count).collect();
        RetainedStore::open(memory.clone()).save(&record).unwrap();
        assert_eq!(memory.record(), Some(record));
    }
}

#[test]
fn the_longest_record_fits_and_a_longer_one_changes_nothing() {
    let memory = TestMemory::filled(0);
    let mut store = RetainedStore::open(memory.clone());
    assert_eq!(store.save(&[7; RECORD_BYTES_MAX]), Ok(()));
    assert_eq!(store.save(&[8; RECORD_BYTES_MAX + 1]), Err(TooLong));
    assert_eq!(memory.record(), Some(std::vec![7; RECORD_BYTES_MAX]));
}

#[test]
fn a_write_interrupted_anywhere_leaves_the_old_record_or_the_new() {
    let (first, second, third) = (b"the first".to_vec(), b"the second one".to_vec(), b"3".to_vec());
    let bits = [0, 1, 0xff, 0xffff_0000, 0x5555_5555, 0x8000_0001, 0x7fff_fffe];
    for (writes, torn_bits) in (0..12).flat_map(|writes| bits.map(|bits| (writes, bits))) {
        let memory = TestMemory::filled(0);
        let mut store = RetainedStore::open(memory.clone());
        store.save(&first).unwrap();
        store.save(&second).unwrap();
        RetainedStore::open(memory.dying_after(writes, torn_bits)).save(&third).unwrap();
        let expected = if writes < 5 { &second } else { &third }; // a header of 3, 1 word, the length
        assert_eq!(memory.record().as_ref(), Some(expected), "{writes} writes, torn {torn_bits:#x}");
    }
}

#[test]
fn a_damaged_slot_falls_back_to_the_other() {
    let memory = TestMemory::filled(0);
    let mut store = RetainedStore::open(memory.clone());
    store.save(b"old").unwrap();
    store.save(b"new").unwrap();
    let damaged = Slot::Second.base() + 3;
    memory.words.borrow_mut()[damaged] ^= 1;
    assert_eq!(memory.record(), Some(b"old".to_vec()));
}

#[test]
fn the_sequence_may_wrap() {
    let memory = TestMemory::filled(0);
    let mut store = RetainedStore::open(memory.clone());
    store.newest = Some(Newest { slot: Slot::Second, sequence: u32::MAX - 1 });
    store.save(b"before").unwrap();
    store.save(b"after").unwrap();
    assert_eq!(memory.record(), Some(b"after".to_vec()));
}

#[test]
fn torn_words_lose_no_record() {
    let (memory, mut rng) = (TestMemory::filled(0), Rng::new(1));
    let (mut safe, mut newest) = (0_u32, 0);
    RetainedStore::open(memory.clone()).save(&safe.to_le_bytes()).unwrap();
    for cut in 0..100_000 {
        let found = u32::from_le_bytes(memory.record().expect("one was stored").try_into().unwrap());
        assert!(found == safe || found == newest, "cut {cut}: {found}, neither {safe} nor {newest}");
        (safe, newest) = (found, found + 1);
        let writes = usize::try_from(rng.next_u32() % 6).unwrap();
        let dying = memory.dying_after(writes, rng.next_u32());
        RetainedStore::open(dying).save(&newest.to_le_bytes()).unwrap();
    }
    assert!(safe > 10_000, "{safe}");
}
