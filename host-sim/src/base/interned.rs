//! Names read from a file, as the static text that the rest of the program has.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Returns the name as static text. Each name is kept once; there are as many as measures, messages and checkers.
pub(crate) fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}

/// Reads names with a value each.
pub(crate) fn pairs<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    reader: D,
) -> Result<Vec<(&'static str, T)>, D::Error> {
    let named = Vec::<(String, T)>::deserialize(reader)?;
    Ok(named.into_iter().map(|(name, value)| (intern(&name), value)).collect())
}
