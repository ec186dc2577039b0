//! The scenarios that ship with the program, by name.

use super::{Scenario, ScenarioError};
use crate::base::nearest::unknown;
use std::path::Path;

/// The name and the text of every shipped scenario, by name.
pub(crate) const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Returns the text of the shipped scenario called `name`.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|&(_, text)| text)
}

impl Scenario {
    /// Reads a scenario from a file, or the shipped one of that name where there is no such file; `[expect]` may choose
    /// among `lock_checkers`.
    ///
    /// # Errors
    /// The first error in the file, or the nearest name of a shipped scenario.
    pub fn find(file: &Path, lock_checkers: &[&'static str]) -> Result<Self, String> {
        let name = file.display().to_string();
        Self::parse(&name, &find_text(file)?, lock_checkers).map_err(|error| error.to_string())
    }
}

/// Returns the text of a file, or of the shipped scenario of that name where there is no such file.
pub(crate) fn find_text(file: &Path) -> Result<String, String> {
    let name = file.display().to_string();
    match text(&name) {
        Some(text) if !file.exists() => Ok(text.to_owned()),
        None if !file.exists() && file.extension().is_none() => {
            Err(unknown("scenario", &name, SHIPPED.iter().map(|(name, _)| *name)) + "; `conclave scenarios` lists them")
        }
        Some(_) | None => {
            std::fs::read_to_string(file).map_err(|error| ScenarioError::unreadable(&name, &error).to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_scenario_is_found_by_its_name_and_says_what_it_shows() {
        assert!(SHIPPED.len() > 30);
        for (name, _) in SHIPPED {
            let scenario = Scenario::find(Path::new(name), crate::check::OF_LOCKS).unwrap();
            assert_eq!((scenario.name.as_str(), scenario.file.as_str()), (*name, *name));
            assert!(!scenario.about.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_percentile_that_a_shipped_scenario_claims_is_decided_by_its_own_seeds() {
        for (name, _) in SHIPPED {
            let scenario = Scenario::find(Path::new(name), crate::check::OF_LOCKS).unwrap();
            let runs = scenario.seeds.end - scenario.seeds.start;
            for limit in &scenario.expect.limits {
                let needed = 1_000 / (1_000 - u64::from(limit.per_mille.min(999)));
                assert!(limit.per_mille == 1_000 || runs >= needed, "{name}: {} in {runs} runs", limit.measure);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = Scenario::find(Path::new("grid64-leader-crush"), &[]).unwrap_err();
        assert!(error.contains("the nearest is \"grid64-leader-crash\""), "{error}");
        assert_eq!(Scenario::find(Path::new("no/such.toml"), &[]).unwrap_err(), "no/such.toml: there is no such file.");
    }
}
