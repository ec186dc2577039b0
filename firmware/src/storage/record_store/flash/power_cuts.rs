//! Power that fails at any instant, on flash that it leaves torn: words of which some bits are written, pages that are
//! half erased. Nodes boot from it, a million times: no nonce is used twice, and no record falls back.

use super::FlashStore;
use crate::storage::record_store::{LoadError, RecordStore};
use core::cell::RefCell;
use embassy_futures::block_on;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use protocol::base::capacity::Capacity;
use protocol::base::membership::NoGroup;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::base::rng::Rng;
use protocol::election::Wireless;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Node, Stages};
use protocol::service::NoService;
use protocol::wire::{Cipher, FRAME_MAX, Nonce, Tag};
use protocol::{Config, Instant, NodeId, Timing};
use std::sync::atomic::{AtomicU64, Ordering};

/// How often the power fails, on flash of each word length.
const CUTS: u32 = 340_000;
/// Small pages are erased often.
const PAGE: usize = 512;
const PAGES: usize = 4;
/// The power fails while so many bytes are written, at the latest, and some pages are erased.
const BYTES_MAX: usize = 192;
const ERASED_MAX: usize = 3;

/// What outlives a loss of power.
struct Cells {
    bytes: [u8; PAGES * PAGE],
    /// Words and pages until the power fails.
    left: u32,
    torn: [u32; 2],
    rng: Rng,
}

impl Cells {
    fn step(&mut self) -> bool {
        let powered = self.left > 0;
        self.left = self.left.saturating_sub(1);
        powered
    }

    fn random(&mut self) -> u8 {
        self.rng.next_u32().to_le_bytes()[0]
    }
}

/// Flash that clears bits only, and of which every bit that was about to change when the power failed has changed or not.
struct Chip<'c, const WORD: usize>(&'c RefCell<Cells>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dead;

impl NorFlashError for Dead {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl<const WORD: usize> ErrorType for Chip<'_, WORD> {
    type Error = Dead;
}

impl<const WORD: usize> ReadNorFlash for Chip<'_, WORD> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Dead> {
        let offset = offset as usize;
        bytes.copy_from_slice(&self.0.borrow().bytes[offset..offset + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        PAGES * PAGE
    }
}

impl<const WORD: usize> NorFlash for Chip<'_, WORD> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Dead> {
        let mut cells = self.0.borrow_mut();
        for page in (from as usize..to as usize).step_by(PAGE) {
            if cells.step() {
                cells.bytes[page..page + PAGE].fill(0xff);
                continue;
            }
            if cells.left == 0 {
                // Some of its bytes are erased, some are as before, some are neither.
                let kind = cells.random() % 3;
                for at in page..page + PAGE {
                    let bits = match (kind, cells.random()) {
                        (0, random) => random,
                        (1, random) => {
                            if random % 2 == 0 {
                                0xff
                            } else {
                                0
                            }
                        }
                        (_, random) => {
                            if usize::from(random) * PAGE / 256 < at - page {
                                0xff
                            } else {
                                0
                            }
                        }
                    };
                    cells.bytes[at] |= bits;
                }
                cells.torn[1] += 1;
            }
            return Err(Dead);
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Dead> {
        let mut cells = self.0.borrow_mut();
        for (at, word) in (offset as usize..).step_by(WORD).zip(bytes.chunks(WORD)) {
            let powered = cells.step();
            for (at, byte) in (at..).zip(word) {
                let kept = if powered { 0 } else { cells.random() };
                cells.bytes[at] &= byte | kept;
            }
            if !powered {
                cells.torn[0] += 1;
                return Err(Dead);
            }
        }
        Ok(())
    }
}

/// A cipher that refuses a nonce which is not above the last one.
#[derive(Clone, Debug)]
struct Witness(&'static AtomicU64);

impl Cipher for Witness {
    fn number(&self) -> u8 {
        0
    }

    fn knows(&self, _: u8) -> bool {
        true
    }

    fn for_group(&self, _: &[NodeId]) -> Self {
        self.clone()
    }

    fn seal(&self, nonce: &Nonce, _: &[u8], _: &mut [u8]) -> Tag {
        let number = |at: usize| u64::from(u32::from_le_bytes(nonce[at..at + 4].try_into().unwrap()));
        let (boot, seq) = (number(4), number(8));
        let this = boot << 32 | seq;
        assert!(self.0.swap(this, Ordering::Relaxed) < this, "a nonce is used twice, or its boot: {boot}, {seq}");
        Tag::default()
    }

    fn fingerprint(&self) -> u16 {
        1
    }

    fn open(&self, _: u8, _: &Nonce, _: &[u8], _: &mut [u8], _: &Tag) -> Option<()> {
        Some(())
    }
}

/// Boots a node and runs it until the power fails; `stored` is told of every record that is being stored, and stored.
fn run<const WORD: usize>(
    store: &mut FlashStore<Chip<'_, WORD>>,
    records: Records,
    key: Witness,
    seed: u32,
    mut stored: impl FnMut(Records, bool),
) {
    let config = Config { me: NodeId(1), key, hops: 1, may_lead: true, mode: Mode::Available, timing: Timing::LAN };
    let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
    let boot = Boot { records: Some(records), capacity: None, seed: seed.into() };
    let mut now = Instant::ZERO;
    let mut node = Node::<_, _, 4, _, NoGroup, _>::new(config, &NoGroup, boot, now, stages).unwrap();
    node.handle(now, Input::Capacity(Some(Capacity::MAX)));
    for _ in 0..seed % 16 {
        while let Some(records) = node.poll_persist() {
            stored(records, false);
            if block_on(store.save(records)).is_err() {
                return;
            }
            stored(records, true);
        }
        while node.poll_transmit(now, &mut [0; FRAME_MAX]).is_some() {}
        while node.poll_notice().is_some() {}
        now = node.deadline().unwrap_or(now).max(now);
        node.handle(now, Input::Timeout);
    }
}

fn never_falls_back<const WORD: usize>(last: &'static AtomicU64) {
    let cells = Cells { bytes: [0xff; PAGES * PAGE], left: u32::MAX, torn: [0; 2], rng: Rng::new(WORD as u64) };
    let cells = RefCell::new(cells);
    let range = 0..u32::try_from(PAGES * PAGE).unwrap();
    let (mut safe, mut newest) = (Records::FACTORY, Records::FACTORY);
    block_on(FlashStore::open(Chip::<WORD>(&cells), range.clone()).unwrap().save(safe)).unwrap();
    for cut in 0..CUTS {
        let left = cells.borrow_mut().rng.next_u32() % u32::try_from(BYTES_MAX / WORD + ERASED_MAX).unwrap();
        cells.borrow_mut().left = left;
        let mut store = FlashStore::open(Chip::<WORD>(&cells), range.clone()).unwrap();
        let records = match block_on(store.load()) {
            Ok(Some(records)) => records,
            Err(LoadError::Unreadable) => continue, // the power failed while the store was being mended
            other => panic!("cut {cut}: {other:?}, and {safe:?} were stored"),
        };
        assert!(records == safe || records == newest, "cut {cut}: {records:?}, neither {safe:?} nor {newest:?}");
        safe = records; // seen once, it must be seen again
        let seed = cells.borrow_mut().rng.next_u32();
        run(&mut store, records, Witness(last), seed, |records, done| {
            assert!(records.incarnation >= safe.incarnation, "{records:?} after {safe:?}");
            assert!(records.term >= safe.term && records.lamport >= safe.lamport, "{records:?} after {safe:?}");
            newest = records;
            if done {
                safe = records;
            }
        });
    }
    let torn = cells.borrow().torn;
    assert!(torn[0] > CUTS / 16 && torn[1] > 100, "words and pages were torn: {torn:?}");
    assert!(safe.incarnation > CUTS / 16 && last.load(Ordering::Relaxed) >> 32 > u64::from(CUTS / 16), "{safe:?}");
}

#[test]
fn torn_words_of_one_byte_and_half_erased_pages_lose_no_record() {
    static LAST: AtomicU64 = AtomicU64::new(0);
    never_falls_back::<1>(&LAST);
}

#[test]
fn torn_words_of_four_bytes_and_half_erased_pages_lose_no_record() {
    static LAST: AtomicU64 = AtomicU64::new(0);
    never_falls_back::<4>(&LAST);
}

#[test]
fn torn_words_of_sixteen_bytes_and_half_erased_pages_lose_no_record() {
    static LAST: AtomicU64 = AtomicU64::new(0);
    never_falls_back::<16>(&LAST);
}
