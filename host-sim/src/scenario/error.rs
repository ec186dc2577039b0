//! What is wrong with a scenario, in one sentence.

use std::fmt;
use std::ops::Range;

/// One sentence: which file, which line, what is wrong, and the nearest thing that would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    file: String,
    line: Option<usize>,
    text: String,
}

impl ScenarioError {
    /// `text` about the part of the file at `span`.
    pub(super) fn at(file: &str, source: &str, span: Range<usize>, text: String) -> Self {
        Self { file: file.to_owned(), line: Some(line_of(source, span.start)), text }
    }

    /// The file cannot be read.
    pub(super) fn unreadable(file: &str, error: &std::io::Error) -> Self {
        let text = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => format!("the file cannot be read: {error}"),
        };
        Self { file: file.to_owned(), line: None, text }
    }

    /// What the TOML reader complained about.
    pub(super) fn from_toml(file: &str, source: &str, error: &toml::de::Error) -> Self {
        let text = reword(error.message());
        Self::at(file, source, error.span().unwrap_or(0..0), text)
    }

    /// The line it is about, from 1; none where the file cannot be read.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
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

/// The reader's message as a sentence of ours, with the nearest key or word where it names the possible ones.
fn reword(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field") {
        let wrong = quoted.next().unwrap_or_default();
        return unknown("key", wrong, quoted);
    }
    if message.starts_with("missing field") {
        return format!("the key \"{}\" is missing", quoted.next().unwrap_or_default());
    }
    // The reader may add lines with an excerpt; the first one says it all.
    message.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// "There is no such thing", with the nearest that there is.
pub(super) fn unknown<'a>(what: &str, wrong: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let nearness = |word: &str| strsim::damerau_levenshtein(wrong, word);
    let nearest = known.clone().min_by_key(|word| nearness(word));
    match nearest {
        Some(word) if nearness(word) <= 1 + word.len() / 2 => {
            format!("there is no {what} \"{wrong}\" here; the nearest is \"{word}\"")
        }
        Some(_) | None => {
            let all: Vec<&str> = known.collect();
            format!("there is no {what} \"{wrong}\" here, only {}", all.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest_one() {
        let message = "unknown field `tpology`, expected one of `nodes`, `topology`, `timing`";
        assert_eq!(reword(message), "there is no key \"tpology\" here; the nearest is \"topology\"");
    }

    #[test]
    fn a_key_like_no_other_is_answered_with_all_of_them() {
        let message = "unknown field `zzzzzzzzzz`, expected `from` or `to`";
        assert_eq!(reword(message), "there is no key \"zzzzzzzzzz\" here, only from, to");
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!([line_of("a\nb\nc", 0), line_of("a\nb\nc", 2), line_of("a\nb\nc", 99)], [1, 2, 3]);
    }
}
