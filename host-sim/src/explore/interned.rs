//! Interned values, so that a state is a few numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher};

/// Hashes that are fingerprints.
pub(super) type Fingerprints = BuildHasherDefault<Fingerprint>;

/// Interned values: equal keys have equal numbers.
pub(super) struct Interned<T> {
    values: Vec<T>,
    numbers: HashMap<u64, u32, Fingerprints>,
}

impl<T> Interned<T> {
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), numbers: HashMap::default() }
    }

    /// Returns the number of the value with this key, if there is one.
    pub(super) fn find(&self, key: &impl Hash) -> Option<u32> {
        self.numbers.get(&Fingerprints::default().hash_one(key)).copied()
    }

    /// Returns the number of the value with this key, which is made if it is new.
    pub(super) fn number(&mut self, key: &impl Hash, value: impl FnOnce() -> T) -> u32 {
        let next = u32::try_from(self.values.len()).expect("a value has a number of 32 bits");
        let number = *self.numbers.entry(Fingerprints::default().hash_one(key)).or_insert(next);
        if number == next {
            self.values.push(value());
        }
        number
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}

/// The messages in flight from each node to each, as numbers of interned queues.
pub(super) type Channels<const N: usize> = [[u32; N]; N];

/// The queues of messages there were in any state.
pub(super) struct Queues(Interned<Vec<u32>>);

impl Queues {
    pub(super) fn new() -> Self {
        let mut queues = Self(Interned::new());
        queues.add(Vec::new());
        queues
    }

    /// Returns channels in which nothing is in flight.
    pub(super) fn empty<const N: usize>() -> Channels<N> {
        [[0; N]; N]
    }

    pub(super) fn get(&self, queue: u32) -> &[u32] {
        self.0.get(queue)
    }

    /// Adds a queue that was missing.
    pub(super) fn add(&mut self, messages: Vec<u32>) {
        self.0.number(&messages.clone(), || messages);
    }

    /// Replaces a queue by its edited form. The error is that form, if it is unknown.
    pub(super) fn edit(&self, queue: &mut u32, edit: impl FnOnce(&mut Vec<u32>)) -> Result<(), Vec<u32>> {
        let mut messages = self.0.get(*queue).clone();
        edit(&mut messages);
        match self.0.find(&messages) {
            Some(number) => *queue = number,
            None => return Err(messages),
        }
        Ok(())
    }

    pub(super) fn remove(&self, queue: &mut u32, message: u32) -> Result<(), Vec<u32>> {
        self.edit(queue, |messages| {
            let at = messages.iter().position(|&other| other == message).expect("it is in flight");
            messages.remove(at);
        })
    }
}

/// A fast 64-bit hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        let product =
            u128::from(self.0 ^ value ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xA076_1D64_78BD_642F_E703_7ED1_A0B4_28DB);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
