//! A drawn scenario: keys and values by table, which a file is written from and parts are taken away of.

use crate::base::Micros;
use crate::check;
use crate::scenario::{Scenario, ScenarioError};
use std::fmt::Write as _;

/// The keys of a table with their values, as TOML writes them.
pub(super) type Pairs = Vec<(&'static str, String)>;

/// A scenario that was drawn. What it says is its text: a run of the file is the run of the campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Draft {
    /// The keys before the first table.
    pub(super) head: Pairs,
    pub(super) tables: Vec<(&'static str, Pairs)>,
    pub(super) faults: Vec<Pairs>,
}

impl Draft {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let write = |pairs: &Pairs| {
            let lines: Vec<String> = pairs.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
            lines.concat()
        };
        text += &write(&self.head);
        for (name, pairs) in &self.tables {
            let _ = write!(text, "\n[{name}]\n{}", write(pairs));
        }
        for fault in &self.faults {
            let _ = write!(text, "\n[[faults]]\n{}", write(fault));
        }
        text
    }

    /// Reads it as the scenario of a file.
    pub(super) fn scenario(&self, file: &str) -> Result<Scenario, ScenarioError> {
        Scenario::parse(file, &self.text(), check::OF_LOCKS)
    }

    pub(super) fn set(&mut self, key: &'static str, value: impl Into<String>) {
        set(&mut self.head, key, value.into());
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        get(&self.head, key)
    }

    pub(super) fn table(&mut self, name: &'static str) -> &mut Pairs {
        let at = self.tables.iter().position(|(table, _)| *table == name).unwrap_or_else(|| {
            self.tables.push((name, Pairs::new()));
            self.tables.len() - 1
        });
        &mut self.tables[at].1
    }
}

pub(super) fn set(pairs: &mut Pairs, key: &'static str, value: String) {
    match pairs.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known = value,
        None => pairs.push((key, value)),
    }
}

pub(super) fn get<'a>(pairs: &'a Pairs, key: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
}

/// Writes a time.
pub(super) fn time(micros: Micros) -> String {
    if micros.is_multiple_of(1_000) { format!("\"{}ms\"", micros / 1_000) } else { format!("\"{micros}us\"") }
}

/// Reads a time that [`time`] wrote.
pub(super) fn micros(text: &str) -> Option<Micros> {
    let text = text.trim_matches('"');
    let whole = text.strip_suffix("ms").map(|number| (number, 1_000)).or(text.strip_suffix("us").map(|us| (us, 1)));
    let (number, unit) = whole?;
    Some(number.parse::<Micros>().ok()? * unit)
}

pub(super) fn word(text: &str) -> String {
    format!("\"{text}\"")
}

pub(super) fn percent(share: u64) -> String {
    format!("\"{share}%\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_written_as_a_file_that_is_read_again() {
        let mut draft = Draft::default();
        draft.set("name", word("pair"));
        draft.set("nodes", "3");
        draft.set("nodes", "2");
        draft.set("duration", time(5_000_000));
        set(draft.table("topology"), "shape", word("complete"));
        draft.faults.push(vec![("at", time(1_500)), ("do", word("crash")), ("node", word("leader"))]);
        let expected = "name = \"pair\"\nnodes = 2\nduration = \"5000ms\"\n\n[topology]\nshape = \"complete\"\n\n\
                        [[faults]]\nat = \"1500us\"\ndo = \"crash\"\nnode = \"leader\"\n";
        assert_eq!(draft.text(), expected);
        let scenario = draft.scenario("pair.toml").unwrap();
        assert_eq!((scenario.world.nodes, scenario.world.faults.len()), (2, 1));
        assert_eq!([time(1_500), time(2_000)].map(|text| micros(&text)), [Some(1_500), Some(2_000)]);
    }
}
