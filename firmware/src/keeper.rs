//! Where a node's records outlive it.

#[cfg(feature = "flash")]
pub mod flash;

use crate::store::{Memory, RECORD_BYTES_MAX, Store};
use core::future::Future;
use protocol::records::Records;

/// Records cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Unkept;

/// Keeps the records of one node.
pub trait Keeper {
    /// What was kept last; `None` where nothing was, or it is lost.
    fn load(&mut self) -> impl Future<Output = Option<Records>>;

    /// Keeps `records`. When it is done, no loss of power takes them away.
    ///
    /// # Errors
    /// When they are not kept.
    fn save(&mut self, records: Records) -> impl Future<Output = Result<(), Unkept>>;
}

impl<M: Memory> Keeper for Store<M> {
    async fn load(&mut self) -> Option<Records> {
        let mut buffer = [0; RECORD_BYTES_MAX];
        Store::load(self, &mut buffer)?.try_into().ok().map(Records::from_bytes)
    }

    async fn save(&mut self, records: Records) -> Result<(), Unkept> {
        Store::save(self, &records.to_bytes()).map_err(|_| Unkept)
    }
}
