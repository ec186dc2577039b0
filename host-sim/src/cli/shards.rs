//! Shards: a part of the runs on each of many machines, whose outcomes `conclave merge` reports on together.
//!
//! A file of outcomes is one line of JSON that says what ran and with which program, then one line for each run. Outcomes
//! are kept whole: percentiles are judged when all of them are there.

use crate::trace::digest_of_bytes;
use clap::Args;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct ShardArgs {
    /// Run one part of N only, numbered from 1, for `conclave merge`.
    #[arg(long, value_name = "I/N", value_parser = shard, requires = "outcomes")]
    shard: Option<Shard>,
    /// Write the outcomes to a file for `conclave merge`, and report on nothing.
    #[arg(long, value_name = "FILE")]
    pub(super) outcomes: Option<PathBuf>,
}

/// One of so many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    number: u64,
    of: u64,
}

fn shard(text: &str) -> Result<Shard, String> {
    let parsed = text
        .split_once('/')
        .and_then(|(number, of)| Some(Shard { number: number.parse().ok()?, of: of.parse().ok()? }));
    parsed.filter(|shard| (1..=shard.of).contains(&shard.number)).ok_or("expected I/N, from 1/N to N/N".to_owned())
}

impl ShardArgs {
    /// Returns the numbers of this part: every N-th, so that all parts take about as long.
    pub(super) fn part(&self, all: Range<u64>) -> Vec<u64> {
        let Shard { number, of } = self.shard.unwrap_or(Shard { number: 1, of: 1 });
        all.skip(number as usize - 1).step_by(of as usize).collect()
    }
}

/// What ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Work {
    /// A scenario, with the flags that override it.
    Run { file: String, text: String, election: Option<String>, mutex: Option<String>, detection: Option<String> },
    /// Scenarios that were drawn.
    Campaign { seed: u64, only: Vec<String>, long: bool },
}

/// The first line of a file: what all parts have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// The version of the program, and a digest of its bytes.
    program: String,
    pub(super) work: Work,
    /// The numbers of all runs, on whichever machine.
    pub(super) all: Range<u64>,
}

impl Header {
    pub(super) fn new(work: Work, all: Range<u64>) -> Result<Self, String> {
        Ok(Self { program: program()?, work, all })
    }

    /// Writes the outcomes of a part. The file has its name when it is complete.
    pub(super) fn write<T: Serialize>(
        &self,
        path: &Path,
        outcomes: impl Iterator<Item = (u64, T)>,
    ) -> Result<(), String> {
        let part = PathBuf::from(format!("{}.part", path.display()));
        let write = || {
            let mut file = BufWriter::new(File::create(&part)?);
            serde_json::to_writer(&mut file, self)?;
            for line in outcomes {
                file.write_all(b"\n")?;
                serde_json::to_writer(&mut file, &line)?;
            }
            file.write_all(b"\n")?;
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&part, path)
        };
        write().map_err(|error: std::io::Error| format!("{}: the outcomes cannot be written: {error}", path.display()))
    }
}

/// The version of this program, and a digest of its bytes.
fn program() -> Result<String, String> {
    let bytes = std::env::current_exe().and_then(fs::read);
    let bytes = bytes.map_err(|error| format!("the program cannot read its own file: {error}"))?;
    Ok(format!("{} {:016x}", env!("CARGO_PKG_VERSION"), digest_of_bytes(&bytes)))
}

/// A file of outcomes, read up to its first line.
pub(super) struct Part {
    path: PathBuf,
    pub(super) header: Header,
    lines: std::io::Lines<BufReader<File>>,
}

impl Part {
    fn open(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: no file of outcomes: {error}", path.display());
        let mut lines = BufReader::new(File::open(path).map_err(|error| failed(&error))?).lines();
        let first = lines.next().ok_or_else(|| failed(&"it is empty"))?.map_err(|error| failed(&error))?;
        let header = serde_json::from_str(&first).map_err(|error| failed(&error))?;
        Ok(Self { path: path.to_owned(), header, lines })
    }
}

/// Opens the parts of one run or campaign, of this program.
pub(super) fn open(paths: &[PathBuf]) -> Result<(Header, Vec<Part>), String> {
    let parts = paths.iter().map(|path| Part::open(path)).collect::<Result<Vec<_>, _>>()?;
    let first = parts.first().ok_or("there are no files of outcomes")?;
    let (header, program) = (first.header.clone(), program()?);
    for Part { path, header: other, .. } in &parts {
        let wrong = if other.program != program {
            "was written by another program than this one"
        } else if other.work != header.work {
            "is about another scenario, or about other algorithms"
        } else if other.all != header.all {
            "is a part of other seeds"
        } else {
            continue;
        };
        return Err(format!("{} {wrong}", path.display()));
    }
    Ok((header, parts))
}

/// Reads the outcomes of all parts, in the order of their numbers. Each number must be there once.
pub(super) fn outcomes<T: DeserializeOwned>(all: Range<u64>, parts: Vec<Part>) -> Result<Vec<T>, String> {
    let mut found: BTreeMap<u64, (usize, T)> = BTreeMap::new();
    let paths: Vec<PathBuf> = parts.iter().map(|part| part.path.clone()).collect();
    for (at, part) in parts.into_iter().enumerate() {
        for (line, text) in (2..).zip(part.lines) {
            let wrong = |error: &dyn std::fmt::Display| format!("{}:{line}: {error}", paths[at].display());
            let text = text.map_err(|error| wrong(&error))?;
            let (seed, outcome): (u64, T) = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
            if !all.contains(&seed) {
                return Err(wrong(&format!("seed {seed} is none of {all:?}")));
            }
            if let Some((before, _)) = found.insert(seed, (at, outcome)) {
                return Err(wrong(&format!("seed {seed} is in {} too", paths[before].display())));
            }
        }
    }
    let missing: Vec<String> = all.filter(|seed| !found.contains_key(seed)).map(|seed| seed.to_string()).collect();
    if !missing.is_empty() {
        let (shown, more) = (missing[..missing.len().min(5)].join(", "), missing.len().saturating_sub(5));
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(format!("these seeds are in no file: {shown}{more}"));
    }
    Ok(found.into_values().map(|(_, outcome)| outcome).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_together_all_seeds() {
        let part = |text: &str| ShardArgs { shard: Some(shard(text).unwrap()), outcomes: None }.part(10..20);
        assert_eq!([part("1/3"), part("2/3"), part("3/3")], [vec![10, 13, 16, 19], vec![11, 14, 17], vec![12, 15, 18]]);
        assert!(["0/3", "4/3", "3", "1/0"].iter().all(|text| shard(text).is_err()));
    }
}
