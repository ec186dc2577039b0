//! The keys during the playback: a terminal that hands over each key at once and shows none.

#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// The space bar: to stop, and to go on.
    Pause,
    /// To the next phase.
    Next,
    /// To the summary.
    Quit,
}

impl Key {
    /// Reads the first key that means something: `q`, the space bar, `n` or an arrow to the right.
    fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [] => None,
            [b'\x1b', b'[', b'C', ..] | [b'n' | b'N', ..] => Some(Self::Next),
            [b'\x1b'] | [b'q' | b'Q', ..] => Some(Self::Quit),
            [b' ', ..] => Some(Self::Pause),
            [_, rest @ ..] => Self::parse(rest),
        }
    }
}

/// Standard input, if it is a terminal. Dropping it restores it.
#[cfg(unix)]
pub(super) struct Keys {
    before: Option<Termios>,
}

#[cfg(unix)]
impl Keys {
    pub(super) fn open() -> Self {
        let before = tcgetattr(rustix::stdio::stdin()).ok();
        let keys = Self { before };
        keys.listen();
        keys
    }

    /// Switches to single keys, also after the process was stopped. Signals keep their keys.
    pub(super) fn listen(&self) {
        let Some(mut modes) = self.before.clone() else { return };
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        // A read returns what is there, and nothing if there is none.
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes); // then there are no keys
    }

    /// Restores the terminal.
    pub(super) fn restore(&self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before); // the terminal may be gone
        }
    }

    /// Returns the key that was pressed, if one was.
    pub(super) fn poll(&self) -> Option<Key> {
        let mut bytes = [0; 16];
        self.before.as_ref()?;
        let count = rustix::io::read(rustix::stdio::stdin(), &mut bytes).ok()?;
        Key::parse(bytes.get(..count)?)
    }
}

#[cfg(unix)]
impl Drop for Keys {
    fn drop(&mut self) {
        self.restore();
    }
}

/// No keys on other systems.
#[cfg(not(unix))]
pub(super) struct Keys;

#[cfg(not(unix))]
impl Keys {
    pub(super) fn open() -> Self {
        Self
    }

    pub(super) fn listen(&self) {}

    pub(super) fn restore(&self) {}

    pub(super) fn poll(&self) -> Option<Key> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn a_key_is_a_letter_the_space_bar_an_arrow_or_escape() {
        let keys = [(" ", Key::Pause), ("n", Key::Next), ("\x1b[C", Key::Next), ("q", Key::Quit), ("\x1b", Key::Quit)];
        for (bytes, key) in keys {
            assert_eq!(Key::parse(bytes.as_bytes()), Some(key), "{bytes:?}");
        }
        assert_eq!((Key::parse(b""), Key::parse(b"x")), (None, None));
        assert_eq!(Key::parse(b"xxq"), Some(Key::Quit), "other keys before it are ignored");
        assert_eq!(Key::parse(b"\x1b[A"), None, "another arrow is not escape");
    }
}
