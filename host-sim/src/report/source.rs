//! What a report is about: scenarios, which are run, and files that `run --json` and `compare --json` wrote.

use crate::check;
use crate::metrics::run::run_of;
use crate::metrics::seeds;
use crate::scenario::Scenario;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

pub(crate) enum Source {
    Run(SeededRun),
    Comparison { file: String, rows: Vec<Row> },
}

/// A scenario over many seeds.
pub(crate) struct SeededRun {
    pub(super) name: String,
    about: String,
    pub(super) seeds: u64,
    pub(super) measures: BTreeMap<String, Measure>,
    pub(super) frames: BTreeMap<String, f64>,
}

/// The values of one measure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) count: u64,
    pub(super) p50: f64,
    p99: f64,
    p999: f64,
    max: f64,
    /// All of them, in order, where the scenario was run here.
    values: Vec<u64>,
}

impl Measure {
    /// Returns values, each with the share of all that are at most as large. A file only has percentiles.
    pub(super) fn shares(&self) -> impl Iterator<Item = (f64, f64)> {
        let counted = self.values.len() as f64;
        let values = (1..).zip(&self.values).map(move |(rank, &value)| (value as f64, f64::from(rank) / counted));
        let percentiles = [(self.p50, 0.5), (self.p99, 0.99), (self.p999, 0.999), (self.max, 1.0)];
        let percentiles = percentiles.into_iter().filter(|_| self.values.is_empty() && self.count > 0);
        values.chain(percentiles)
    }
}

/// A row of a comparison.
pub(crate) struct Row {
    pub(super) algorithm: String,
    pub(super) nodes: f64,
    pub(super) case: String,
    pub(super) messages: f64,
    pub(super) formula: Option<f64>,
    /// Seconds to a leader, or of the longest wait for a lock.
    pub(super) time: Option<f64>,
}

impl Source {
    /// Returns its name, and a sentence about it.
    pub(super) fn title(&self) -> (&str, &str) {
        match self {
            Self::Run(run) => (&run.name, &run.about),
            Self::Comparison { file, .. } => {
                (file, "Algorithms side by side, and what the textbooks' formulas say: dashed, or in brackets.")
            }
        }
    }
}

/// Reads a source: a file of JSON, or a scenario, which is run over `seeds` or its own.
///
/// # Errors
/// A sentence where it is neither.
pub(crate) fn read(file: &Path, seeds: Option<&Range<u64>>) -> Result<Source, String> {
    if file.extension().is_some_and(|extension| ["json", "jsonl"].iter().any(|json| extension == *json)) {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        return of_json(&file.display().to_string(), &text).ok_or_else(|| {
            format!("{}: this is no output of `conclave run --json` or `conclave compare --json`.", file.display())
        });
    }
    let scenario = Scenario::find(file, check::OF_LOCKS)?;
    let seeds = seeds.cloned().unwrap_or(scenario.seeds.clone());
    let outcomes: Vec<_> = seeds.into_par_iter().map(|seed| run_of(&scenario, seed, &mut ())).collect();
    let report = serde_json::to_value(seeds::report(&scenario, &outcomes)).map_err(|error| error.to_string())?;
    let mut run = run_of_json(&report).ok_or("the report on a run has all its keys")?;
    for (name, measure) in &mut run.measures {
        let samples = outcomes.iter().flat_map(|outcome| &outcome.samples);
        measure.values = samples.filter(|(sampled, _)| sampled == name).map(|&(_, value)| value).collect();
        measure.values.sort_unstable();
    }
    Ok(Source::Run(run))
}

pub(super) fn of_json(file: &str, text: &str) -> Option<Source> {
    let value: Value = serde_json::from_str(text).ok()?;
    let Some(rows) = value["rows"].as_array() else { return run_of_json(&value).map(Source::Run) };
    let row = |row: &Value| {
        let time = row["time_us"].as_f64().or(row["max_wait"].as_f64());
        Some(Row {
            algorithm: row["algorithm"].as_str()?.to_owned(),
            nodes: row["nodes"].as_f64()?,
            case: row["case"].as_str()?.to_owned(),
            messages: row["messages"].as_f64()?,
            formula: row["formula"].as_f64(),
            time: time.map(|micros| micros / 1e6),
        })
    };
    Some(Source::Comparison { file: file.to_owned(), rows: rows.iter().map(row).collect::<Option<_>>()? })
}

fn run_of_json(report: &Value) -> Option<SeededRun> {
    let measure = |(name, measure): (&String, &Value)| {
        let number = |key: &str| measure[key].as_f64();
        let (p50, p99, p999, max) = (number("p50")?, number("p99")?, number("p999")?, number("max")?);
        let count = measure["count"].as_u64()?;
        Some((name.clone(), Measure { count, p50, p99, p999, max, values: Vec::new() }))
    };
    let frames = report["frames"].as_object()?.iter().map(|(kind, frames)| Some((kind.clone(), frames.as_f64()?)));
    Some(SeededRun {
        name: report["scenario"].as_str()?.to_owned(),
        about: report["about"].as_str()?.to_owned(),
        seeds: report["seeds"].as_u64()?,
        measures: report["measures"].as_object()?.iter().map(measure).collect::<Option<_>>()?,
        frames: frames.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_of_all_values_or_of_the_percentiles_in_a_file() {
        let percentiles = Measure { count: 9, p50: 3.0, p99: 8.0, p999: 9.0, max: 9.0, values: Vec::new() };
        assert_eq!(percentiles.shares().collect::<Vec<_>>(), [(3.0, 0.5), (8.0, 0.99), (9.0, 0.999), (9.0, 1.0)]);
        let values = Measure { values: vec![1, 4], ..percentiles.clone() };
        assert_eq!(values.shares().collect::<Vec<_>>(), [(1.0, 0.5), (4.0, 1.0)]);
        let none = Measure { count: 0, ..percentiles };
        assert_eq!(none.shares().count(), 0);
    }

    #[test]
    fn other_json_is_refused() {
        for text in ["", "{}", "[]", "{\"rows\": [{}]}", "{\"rows\": 3}"] {
            assert!(of_json("x.json", text).is_none(), "{text}");
        }
    }
}
