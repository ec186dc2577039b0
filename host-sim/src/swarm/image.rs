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
        let path = boards::build(&EMULATED, parts, toolchain)?;
        let elf = fs::read(&path).map_err(in_file(&path))?;
        let table = Table::parse(&elf).map_err(in_file(&path))?;
        let table = table.ok_or("the image has no log").map_err(in_file(&path))?;
        Ok(Self { table: Arc::new(table), path })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
