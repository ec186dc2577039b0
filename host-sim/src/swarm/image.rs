//! The boards' image, and the format strings of its log.

use crate::boards::toolchain::Toolchain;
use crate::boards::{self, EMULATED, Parts};
use defmt_decoder::Table;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An image with the format strings of its log.
#[derive(Clone)]
pub struct Image {
    path: PathBuf,
    table: Arc<Table>,
}

impl Image {
    /// Builds the image with these parts; cargo reports progress on standard error.
    ///
    /// # Errors
    /// One sentence with the reason.
    pub fn build(parts: &Parts, toolchain: Toolchain) -> Result<Self, String> {
        Self::read(&boards::build(&EMULATED, parts, toolchain)?)
    }

    /// Reads an image.
    ///
    /// # Errors
    /// One sentence with the reason.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |text: &dyn std::fmt::Display| format!("{}: {text}", path.display());
        let elf = fs::read(path).map_err(|error| failed(&error))?;
        let table = Table::parse(&elf).map_err(|error| failed(&error))?;
        let table = table.ok_or_else(|| failed(&"the image has no log"))?;
        Ok(Self { path: path.to_owned(), table: Arc::new(table) })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn table(&self) -> Arc<Table> {
        self.table.clone()
    }
}
