//! Algorithms side by side: the cost of each beside its formula, without faults and with some.
//!
//! All run on one network (`lan_scenario`): the real nodes in the simulator, on a LAN where every frame takes the
//! same time. A `MessageCounter` reads every frame and counts messages as textbooks do, once per recipient; the
//! frames of the link and the detector are counted apart. Elections and locks each have their own [`Row`]; the table
//! and the JSON are the same for both.

/// Declares the cases of a comparison, each with its name and its part of the table: cases without faults come first.
macro_rules! cases {
    ($($case:ident = $name:literal in $part:literal),+ $(,)?) => {
        /// What the nodes do, and which fault occurs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
        pub(crate) enum Case { $(#[serde(rename = $name)] $case),+ }

        impl Case {
            pub(crate) const ALL: [Self; [$($name),+].len()] = [$(Self::$case),+];
        }

        impl super::Case for Case {
            fn name(self) -> &'static str {
                match self { $(Self::$case => $name),+ }
            }

            fn part(self) -> u8 {
                match self { $(Self::$case => $part),+ }
            }
        }
    };
}

pub(crate) mod elections;
mod figure;
mod message_count;
pub(crate) mod mutexes;
mod table;

pub(crate) use figure::Figure;
pub(crate) use message_count::{MessageCount, MessageCounter};
use table::{Column, TableRow};

use crate::base::Micros;
use crate::scenario::{MEMBERS_MAX, Scenario};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// How long a frame takes to every node: one message time.
const HOP: Micros = 1_000;

/// How long nodes are up before a trial: each has received frames of each other several times.
const WARM_UP: Micros = 3_000_000;

/// Returns a complete network on which every frame takes [`HOP`], all capacities are equal, and no node begins an
/// election before it is asked to.
fn lan_scenario(election: &str, nodes: u32) -> Scenario {
    let text = format!(
        r#"
            name = "compare"
            nodes = {nodes}
            duration = "2m"
            election = "{election}"
            topology = {{ shape = "complete" }}
            medium = {{ kind = "lan", delay = "{HOP}us" }}
            capacity = {{ rule = "equal" }}
            timing = {{ boot_wait = "1h" }}
        "#
    );
    Scenario::parse("the scenario of a comparison", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// The numbers of nodes that elections are compared with by default.
pub(crate) const SIZES: [u32; 4] = [4, 8, 16, 64];

/// The numbers of nodes that elections can be compared with.
pub(crate) const NODES: RangeInclusive<u32> = 2..=MEMBERS_MAX as u32;

pub(crate) trait Case: Copy + Serialize + Send {
    fn name(self) -> &'static str;

    /// Returns its part of the table: cases without faults come first.
    fn part(self) -> u8;
}

pub(crate) trait Figures: Serialize + Send {
    const COLUMNS: &'static [Column];

    fn cells(&self) -> Vec<String>;

    /// Returns whether the required properties held.
    fn holds(&self) -> bool;
}

/// One algorithm in one case. Figures of a lock are per entry and exit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row<C, F> {
    pub(crate) algorithm: &'static str,
    /// The number of nodes; for bully, with the coordinator that crashed.
    pub(crate) nodes: u32,
    pub(crate) case: C,
    /// Messages, counted once per recipient; a broadcast of a wireless election counts once.
    pub(crate) messages: Figure,
    /// The messages by the formula.
    pub(crate) formula: Option<Figure>,
    /// The messages, by name.
    pub(crate) by_name: BTreeMap<&'static str, Figure>,
    pub(crate) retransmits: Figure,
    pub(crate) acks: Figure,
    #[serde(flatten)]
    pub(crate) figures: F,
}

impl<C: Case, F: Figures> Row<C, F> {
    fn columns() -> Vec<Column> {
        let first = [("algorithm", true), ("nodes", false), ("case", true), ("messages", false), ("formula", false)];
        let first = first.map(|(head, words)| if words { Column::words(head) } else { Column::numbers(head) });
        [&first, F::COLUMNS, &[Column::numbers("retransmits"), Column::numbers("acks")]].concat()
    }

    fn table_row(&self) -> TableRow {
        let formula = or_dash(self.formula);
        let nodes = self.nodes.to_string();
        let first = [self.algorithm.to_owned(), nodes, self.case.name().to_owned(), self.messages.to_string(), formula];
        let cells =
            [&first[..], &self.figures.cells(), &[self.retransmits.to_string(), self.acks.to_string()]].concat();
        TableRow { cells, group: (self.case.part(), self.nodes), holds: self.figures.holds() }
    }
}

fn or_dash(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Comparison<C, F> {
    pub(crate) rows: Vec<Row<C, F>>,
}

impl<C: Case, F: Figures> Comparison<C, F> {
    /// Compares `algorithms` with groups of these sizes, which must be in `possible`, on all cores.
    fn of(
        sizes: &[u32],
        possible: &RangeInclusive<u32>,
        algorithms: &[&'static str],
        rows: impl Fn(&'static str, u32) -> Vec<Row<C, F>> + Sync,
    ) -> Self {
        assert!(sizes.iter().all(|nodes| possible.contains(nodes)), "no groups of these sizes: {sizes:?}");
        let pairs: Vec<_> = sizes.iter().flat_map(|&nodes| algorithms.iter().map(move |&name| (name, nodes))).collect();
        let mut rows: Vec<_> = pairs.into_par_iter().flat_map_iter(|(name, nodes)| rows(name, nodes)).collect();
        rows.sort_by_key(|row| row.case.part()); // stable: the order within a part stays
        Self { rows }
    }

    /// Returns whether the required properties held in every row.
    pub(crate) fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.figures.holds())
    }

    /// Returns the table as comma-separated values, without units: times are in milliseconds.
    pub(crate) fn csv(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(Row::table_row).collect();
        table::csv(&Row::<C, F>::columns(), &rows)
    }

    pub(crate) fn text(&self, colours: bool) -> String {
        let rows: Vec<_> = self.rows.iter().map(Row::table_row).collect();
        table::text(&Row::<C, F>::columns(), &rows, colours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_run_is_a_step_of_the_progress_bar() {
        let count = |compare: &dyn Fn(&(dyn Fn() + Sync))| {
            let steps = AtomicUsize::new(0);
            compare(&|| _ = steps.fetch_add(1, Ordering::Relaxed));
            steps.into_inner()
        };
        assert_eq!(count(&|tick| drop(elections::compare(&[2], tick))), elections::runs(&[2]));
        assert_eq!(count(&|tick| drop(mutexes::compare(&[2], mutexes::Cable::Switched, tick))), mutexes::runs(&[2]));
    }
}
