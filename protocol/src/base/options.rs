//! Options of an algorithm, chosen by words: `key=value`, comma-separated. The same words serve scenarios, the command line
//! and boards, as `NAME:OPTIONS`.

/// The keys of an algorithm's options, each with its choices.
pub type OptionKeys = &'static [(&'static str, &'static [&'static str])];

/// The choices of an option that is on or off.
pub(crate) const SWITCH: &[&str] = &["no", "yes"];

/// An algorithm with options.
pub trait Configurable: Default {
    /// Its options.
    const OPTIONS: OptionKeys = &[];

    /// The algorithm with these options; `None` where one is unknown.
    #[must_use]
    fn from_options(words: &str) -> Option<Self> {
        words.is_empty().then(Self::default)
    }
}

/// Sets every option in `words` by `set(key, value)`; `None` where it refuses one.
pub(crate) fn set_all(words: &str, mut set: impl FnMut(&str, &str) -> Option<()>) -> Option<()> {
    words.split(',').filter(|pair| !pair.is_empty()).try_for_each(|pair| {
        let (key, value) = pair.split_once('=')?;
        set(key, value)
    })
}

/// Reads a switch.
pub(crate) fn switch(value: &str) -> Option<bool> {
    Some(SWITCH.iter().position(|&choice| choice == value)? == 1)
}

/// Splits `NAME:OPTIONS`.
#[must_use]
pub fn split(words: &str) -> (&str, &str) {
    words.split_once(':').unwrap_or((words, ""))
}
