use super::{Memory, Newest, RECORD_BYTES_MAX, RetainedStore, STORE_WORDS, Slot, TooLong};
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

/// Memory that outlives a reset, and loses power after a number of writes.
#[derive(Clone)]
pub(crate) struct TestMemory {
    words: Rc<RefCell<Vec<u32>>>,
    writes_left: usize,
}

impl TestMemory {
    pub(crate) fn filled(word: u32) -> Self {
        Self { words: Rc::new(RefCell::new(std::vec![word; STORE_WORDS])), writes_left: usize::MAX }
    }

    fn dying_after(&self, writes: usize) -> Self {
        Self { words: self.words.clone(), writes_left: writes }
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
        if self.writes_left > 0 {
            self.writes_left -= 1;
            self.words.borrow_mut()[index] = value;
        }
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
    for writes in 0..12 {
        let memory = TestMemory::filled(0);
        let mut store = RetainedStore::open(memory.clone());
        store.save(&first).unwrap();
        store.save(&second).unwrap();
        RetainedStore::open(memory.dying_after(writes)).save(&third).unwrap();
        let expected = if writes < 5 { &second } else { &third }; // a header of 3, 1 word, the length
        assert_eq!(memory.record().as_ref(), Some(expected), "{writes} writes");
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
