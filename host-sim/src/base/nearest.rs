//! Error texts for unknown names.

/// A sentence lists at most so many names.
const LISTED_MAX: usize = 30;

/// Returns "there is no such thing" with the nearest known name, or with all of them if none is near and they are few.
pub(crate) fn unknown<'a>(noun: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    match known.clone().min_by_key(|known| distance(known)) {
        Some(nearest) if distance(nearest) <= 1 + nearest.len() / 2 => {
            format!("there is no {noun} \"{name}\" here; the nearest is \"{nearest}\"")
        }
        Some(_) | None => {
            let all: Vec<&str> = known.collect();
            let only = if all.len() > LISTED_MAX { String::new() } else { format!(", only {}", all.join(", ")) };
            format!("there is no {noun} \"{name}\" here{only}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_or_with_all() {
        let of = |wrong| unknown("board", wrong, ["pico-w", "microbit-v2"].into_iter());
        assert_eq!(of("picow"), "there is no board \"picow\" here; the nearest is \"pico-w\"");
        assert_eq!(of("zzzzzzzzzzzz"), "there is no board \"zzzzzzzzzzzz\" here, only pico-w, microbit-v2");
    }

    #[test]
    fn a_long_list_of_names_is_not_printed() {
        let of = |count| unknown("scenario", "zzzzzzzzzzzz", std::iter::repeat_n("a", count));
        assert_eq!(of(LISTED_MAX + 1), "there is no scenario \"zzzzzzzzzzzz\" here");
        assert!(of(LISTED_MAX).ends_with("a, a"));
    }
}
