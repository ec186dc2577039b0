//! Algorithms side by side: what each costs where nothing goes wrong, beside its formula, and where something does.
//!
//! All of them run on one [`ground()`]: the real nodes in the simulator, on a local network where every frame takes the
//! same time. A [`Clerk`] reads every frame and counts messages as textbooks do, once for each addressee; what the link
//! and the detector send besides is counted apart. One kind of comparison is one kind of [`Row`]; the table and the
//! JSON are the same for all.

pub mod elections;
mod figure;
mod ground;
mod mail;
pub mod mutexes;
mod table;

pub use figure::Figure;
pub use ground::{HOP, WARM_UP, ground};
pub use mail::{Clerk, Mail};
pub use table::{Align, Column, text};

use crate::peer::MEMBERS_MAX;
use serde::Serialize;
use std::ops::RangeInclusive;

/// How many nodes each algorithm is compared with, unless asked otherwise.
pub const SIZES: [u32; 4] = [4, 8, 16, 64];

/// How many nodes can be compared: one alone has nobody to agree with.
pub const NODES: RangeInclusive<u32> = 2..=MEMBERS_MAX as u32;

/// One line of a comparison.
pub trait Row: Serialize {
    /// The columns of the table.
    const COLUMNS: &'static [Column];

    /// What the table shows of it, a cell for each column.
    fn cells(&self) -> Vec<String>;

    /// Whether it stands together with `before` in the table.
    fn is_beside(&self, before: &Self) -> bool;

    /// Whether what must hold did.
    fn holds(&self) -> bool;
}

/// A whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison<R> {
    /// Its lines.
    pub rows: Vec<R>,
}

impl<R: Row> Comparison<R> {
    /// Whether what must hold did, in every line.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.rows.iter().all(Row::holds)
    }
}
