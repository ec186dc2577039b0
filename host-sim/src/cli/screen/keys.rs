//! The keys of the terminal: it hands over each key at once and shows none.

#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::collections::VecDeque;

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Key {
    /// A letter in lower case, the space bar or another character of ASCII.
    Character(u8),
    /// The arrow to the right.
    Right,
    Escape,
}

impl Key {
    /// Takes the next key out of what was typed.
    fn take(typed: &mut VecDeque<u8>) -> Option<Self> {
        loop {
            let first = typed.pop_front()?;
            if first != b'\x1b' {
                return Some(Self::Character(first.to_ascii_lowercase()));
            }
            if typed.front() != Some(&b'[') {
                return Some(Self::Escape);
            }
            // A sequence: parameters, then one letter.
            let end = typed.iter().skip(1).position(u8::is_ascii_alphabetic);
            let letter = typed.drain(..end.map_or(typed.len(), |end| end + 2)).next_back();
            if letter == Some(b'C') {
                return Some(Self::Right);
            }
        }
    }
}

/// Standard input, if it is a terminal. Dropping it restores it.
#[cfg(unix)]
pub(super) struct Keys {
    before: Option<Termios>,
    typed: VecDeque<u8>,
}

#[cfg(unix)]
impl Keys {
    pub(super) fn open() -> Self {
        let before = tcgetattr(rustix::stdio::stdin()).ok();
        let keys = Self { before, typed: VecDeque::new() };
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

    /// Returns the next key that was pressed, if one was.
    pub(super) fn poll(&mut self) -> Option<Key> {
        let mut bytes = [0; 16];
        self.before.as_ref()?;
        // One read has all bytes of a key.
        let count = rustix::io::read(rustix::stdio::stdin(), &mut bytes).unwrap_or(0);
        self.typed.extend(bytes.iter().take(count));
        Key::take(&mut self.typed)
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

    pub(super) fn poll(&mut self) -> Option<Key> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_one_by_one_and_other_sequences_are_none() {
        let mut typed: VecDeque<u8> = b" nQ\x1b[Ck\x1b[A\x1b[1;5C.\x1b".iter().copied().collect();
        let keys: Vec<Key> = std::iter::from_fn(|| Key::take(&mut typed)).collect();
        let character = |key: u8| Key::Character(key);
        let (space, n, q, k, dot) =
            (character(b' '), character(b'n'), character(b'q'), character(b'k'), character(b'.'));
        assert_eq!(keys, [space, n, q, Key::Right, k, Key::Right, dot, Key::Escape]);
    }
}
