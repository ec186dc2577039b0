//! How states are told apart.

use std::hash::{BuildHasherDefault, Hasher};

/// A fast 64-bit hash: at ten million states the chance that it hides one is about three in a million.
#[derive(Default)]
pub(crate) struct Fingerprint(u64);

pub(crate) type Fingerprints = BuildHasherDefault<Fingerprint>;

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
        let [low, high] = [product, product >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap());
        self.0 = low ^ high;
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}
