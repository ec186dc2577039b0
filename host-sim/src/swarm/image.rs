//! The board's image: built from the sources beside this program, and read for the strings of its log.

use super::setup::Toolchain;
use crate::boards::{self, EMULATED, Parts};
use defmt_decoder::Table;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An image and the strings of its log.
#[derive(Clone)]
pub struct Image {
    path: PathBuf,
    table: Arc<Table>,
}

impl Image {
    /// Builds the image with these parts; cargo tells its progress on standard error.
    ///
    /// # Errors
    /// One sentence that says why there is none.
    pub fn build(parts: &Parts, toolchain: Toolchain) -> Result<Self, String> {
        Self::read(&boards::build(&EMULATED, parts, toolchain)?)
    }

    /// Reads an image that was built before.
    ///
    /// # Errors
    /// One sentence that says what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let complain = |text: &dyn std::fmt::Display| format!("{}: {text}", path.display());
        let elf = fs::read(path).map_err(|error| complain(&error))?;
        let table = Table::parse(&elf).map_err(|error| complain(&error))?;
        let table = table.ok_or_else(|| complain(&"the image has no log"))?;
        Ok(Self { path: path.to_owned(), table: Arc::new(table) })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn table(&self) -> Arc<Table> {
        self.table.clone()
    }
}
