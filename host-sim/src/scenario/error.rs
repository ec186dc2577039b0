//! Errors in scenarios, in one sentence.

use super::read::ReadError;
use crate::base::nearest::unknown;
use std::fmt;
use std::ops::Range;

/// An error: the file, the line, what is wrong, and the nearest valid name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    file: String,
    line: Option<usize>,
    text: String,
}

impl ScenarioError {
    pub(super) fn at(file: &str, source: &str, span: Range<usize>, text: String) -> Self {
        Self { file: file.to_owned(), line: Some(line_of(source, span.start)), text }
    }

    pub(super) fn unreadable(file: &str, error: &std::io::Error) -> Self {
        let text = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => format!("the file cannot be read: {error}"),
        };
        Self { file: file.to_owned(), line: None, text }
    }

    pub(super) fn of_reading(file: &str, source: &str, error: ReadError) -> Self {
        Self::at(file, source, error.span.unwrap_or(0..0), reword(&error.text))
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}.", self.text)
    }
}

impl std::error::Error for ScenarioError {}

fn line_of(source: &str, offset: usize) -> usize {
    1 + source.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}

/// Keys and values that were renamed, in the tables that have the new name.
const RENAMED: [(&str, &str); 16] = [
    ("calm", "settle_time"),
    ("grey", "range_max"),
    ("never", "ineligible"),
    ("beats_missed", "heartbeats_missed_max"),
    ("settle", "boot_wait"),
    ("repeat", "reflood_interval"),
    ("repeats", "reflood_count"),
    ("hold", "takeover_delay"),
    ("grace", "takeover_delay_unsettled"),
    ("share", "probability"),
    ("watch", "detect-termination"),
    ("overtaking", "reordering"),
    ("change", "capacity_change"),
    ("ends", "terminations"),
    ("end_known", "detection_delay"),
    ("clocks_apart", "clock_skew"),
];

/// Returns the error text for an unknown name: its new name if it was renamed, else the nearest one.
pub(super) fn unknown_name<'a>(noun: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let new = RENAMED.iter().find(|(old, _)| *old == name).map(|&(_, new)| new);
    match new.filter(|&new| known.clone().any(|known| known == new)) {
        Some(new) => format!("the {noun} \"{name}\" is now called \"{new}\""),
        None => unknown(noun, name, known),
    }
}

/// Rewords a message of the TOML reader; an unknown key is answered with its new name, or the nearest key.
fn reword(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field") {
        let wrong = quoted.next().unwrap_or_default();
        return unknown_name("key", wrong, quoted);
    }
    if message.starts_with("missing field") {
        return format!("the key \"{}\" is missing", quoted.next().unwrap_or_default());
    }
    // The reader may add lines with an excerpt.
    message.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
