//! The words that choose an algorithm: `NAME`, or `NAME:KEY=VALUE,...` with options.

use super::nearest::unknown;
use protocol::base::options::{OptionKeys, split};

/// Checks words against the algorithms of `known` and their options. An error is a sentence with the nearest name, or with
/// the options there are.
pub(crate) fn check_words(noun: &str, words: &str, known: &[(&str, OptionKeys)]) -> Result<(), String> {
    let (name, options) = split(words);
    let Some((_, keys)) = known.iter().find(|(known, _)| *known == name) else {
        return Err(unknown(noun, name, known.iter().map(|(name, _)| *name)));
    };
    let is_known = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let (_, choices) = keys.iter().find(|(known, _)| *known == key)?;
        let is_number = choices.contains(&"...") && value.parse::<u8>().is_ok_and(|number| number > 0);
        (is_number || choices.contains(&value) && value != "...").then_some(())
    };
    match options.split(',').filter(|pair| !pair.is_empty()).find(|pair| is_known(pair).is_none()) {
        None => Ok(()),
        Some(pair) if keys.is_empty() => Err(format!("the {noun} \"{name}\" has no options, and was given \"{pair}\"")),
        Some(pair) => {
            let listed: Vec<_> = keys.iter().map(|(key, choices)| format!("{key}={}", choices.join("|"))).collect();
            Err(format!("\"{pair}\" is no option of the {noun} \"{name}\": it has {}", listed.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::registry::{AnyElection, AnyMutex};

    #[test]
    fn words_with_options_are_accepted_exactly_where_the_algorithm_accepts_them() {
        let bully = ["bully", "bully:recovery=announce,alert=yes", "bully:recovery=sleep", "boly"];
        let ring = ["ring:successors=2", "ring:successors=0", "ring:winner=lowest", "ring:..."];
        for words in bully.into_iter().chain(ring).chain(["lelann:winner=lowest", "wireless:"]) {
            let checked = check_words("election", words, AnyElection::OPTIONS);
            assert_eq!(checked.is_ok(), AnyElection::by_name(words).is_some(), "{words}: {checked:?}");
        }
        assert!(check_words("mutex", "maekawa:sets=plane", AnyMutex::OPTIONS).is_ok());
    }

    #[test]
    fn a_wrong_option_gives_a_sentence_with_those_there_are() {
        let text = check_words("election", "ring:winner=best", AnyElection::OPTIONS).unwrap_err();
        assert!(text.starts_with("\"winner=best\" is no option of the election \"ring\": it has direction="), "{text}");
        let text = check_words("mutex", "voting:fast=yes", AnyMutex::OPTIONS).unwrap_err();
        assert_eq!(text, "the mutex \"voting\" has no options, and was given \"fast=yes\"");
    }
}
