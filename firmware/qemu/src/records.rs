//! The record this board keeps over a reset, in its retained page.

use crate::retained::Retained;
use firmware::store::Store;

/// Opens the record as the last boot left it.
pub(crate) fn open() -> Store<Retained> {
    Store::open(Retained::RECORDS)
}
