//! Values with numbers: a state of many nodes is compared by those.

use crate::fingerprint::Fingerprints;
use std::collections::HashMap;
use std::hash::Hash;

/// Values with numbers.
pub(crate) struct Numbered<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32, Fingerprints>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), numbers: HashMap::default() }
    }

    pub(crate) fn number(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = u32::try_from(self.values.len()).unwrap();
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }
}
