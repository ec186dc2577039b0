//! The boards' image, and the format strings of its log.

use crate::boards::toolchain::Toolchain;
use crate::boards::{self, EMULATED, Parts, in_file};
use defmt_decoder::Table;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An image with the format strings of its log.
#[derive(Clone)]
pub struct Image {
    path: PathBuf,
    pub(super) table: Arc<Table>,
}

impl Image {
    /// Builds the image with these parts; cargo reports progress on standard error.
    ///
    /// # Errors
    /// One sentence with the reason.
    pub fn build(parts: &Parts, toolchain: Toolchain) -> Result<Self, String> {
        Self::open(boards::build(&EMULATED, parts, toolchain)?)
    }

    /// Opens an image that was built elsewhere, such as one with an application of one's own.
    ///
    /// # Errors
    /// One sentence with the reason.
    pub fn open(path: PathBuf) -> Result<Self, String> {
        let elf = fs::read(&path).map_err(in_file(&path))?;
        let table =
            Table::parse(&elf).map_err(|_| "this is no ELF image with a log of defmt").map_err(in_file(&path))?;
        let table = table.ok_or("the image has no log of defmt").map_err(in_file(&path))?;
        Ok(Self { table: Arc::new(table), path })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
