//! Persistent storage of a node's records.

#[cfg(feature = "flash")]
pub mod flash;

use crate::storage::retained_store::{Memory, RECORD_BYTES_MAX, RetainedStore};
use core::future::Future;
use protocol::base::records::Records;

/// Records could not be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StoreError;

/// Why no records were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LoadError {
    /// Records were stored once, and are lost.
    Lost,
    /// The memory cannot be read. Its records may be intact: nothing may be stored over them.
    Unreadable,
}

/// Stores the records of one node.
pub trait RecordStore {
    /// Loads the newest records; `None` where none were ever stored, as far as the memory can tell.
    ///
    /// # Errors
    /// When there are records that cannot be loaded.
    fn load(&mut self) -> impl Future<Output = Result<Option<Records>, LoadError>>;

    /// Stores `records`: once this returns `Ok`, a loss of power does not lose them.
    ///
    /// # Errors
    /// When they are not stored.
    fn save(&mut self, records: Records) -> impl Future<Output = Result<(), StoreError>>;
}

impl<M: Memory> RecordStore for RetainedStore<M> {
    async fn load(&mut self) -> Result<Option<Records>, LoadError> {
        let mut buffer = [0; RECORD_BYTES_MAX];
        let stored = RetainedStore::load(self, &mut buffer);
        Ok(stored.and_then(|bytes| bytes.try_into().ok()).map(Records::from_bytes))
    }

    async fn save(&mut self, records: Records) -> Result<(), StoreError> {
        RetainedStore::save(self, &records.to_bytes()).map_err(|_| StoreError)
    }
}
