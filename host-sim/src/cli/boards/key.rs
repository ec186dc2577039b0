//! The key of a group, for `provision` and `node`: from a file or the environment, never from the command line, which other
//! users of a machine can see.

use crate::boards::in_file;
use clap::Args;
use protocol::wire::{Key, Keyring};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The environment variable with the key of a group.
const KEY: &str = "CONCLAVE_KEY";
/// Length of a key in hexadecimal digits.
const DIGITS: usize = 32;
/// How many numbers keys have.
const NUMBERS: u8 = 16;
/// What is wrong with a text that is no key.
const FORM: &str = "a key has 32 hexadecimal digits, and may have a number below 16";

#[derive(Args)]
pub(super) struct KeyArgs {
    /// The file with the key of its group; without it, the key is in the environment variable `CONCLAVE_KEY`.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The file with the key of its group before, while nodes may still have only that: it opens frames of both.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    previous_key_file: Option<PathBuf>,
    /// Go without a secret: anybody who knows the name of the group can read, join and disturb it.
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// The name of a group without a secret.
    #[arg(long, value_name = "NAME", requires = "insecure", default_value = "conclave")]
    group: String,
}

/// A key and its number.
#[derive(Debug, PartialEq)]
pub(super) struct NumberedKey {
    pub(super) key: Key,
    pub(super) number: u8,
}

/// The key of a group, the one before, and whether others can know them.
#[derive(Debug, PartialEq)]
pub(super) struct ChosenKey {
    pub(super) key: NumberedKey,
    pub(super) previous: Option<Key>,
    pub(super) public: bool,
}

impl ChosenKey {
    /// What frames are sealed with.
    pub(super) fn keyring(&self) -> Keyring {
        let ring = Keyring::new(self.key.key.clone(), self.key.number);
        match &self.previous {
            Some(previous) => ring.after(previous.clone()),
            None => ring,
        }
    }
}

impl KeyArgs {
    /// The key of the group; a sentence where there is none.
    pub(super) fn choose(&self) -> Result<ChosenKey, String> {
        if self.insecure {
            let key = NumberedKey { key: Key::from_name(&self.group), number: 0 };
            return Ok(ChosenKey { key, previous: None, public: true });
        }
        let key = match (&self.key_file, std::env::var(KEY)) {
            (Some(file), _) => read(file)?,
            (None, Ok(text)) => parse(&text).ok_or_else(|| format!("{KEY}: {FORM}"))?,
            (None, Err(_)) => {
                return Err(format!(
                    "no key: name its file by --key-file, or set {KEY}; `conclave provision --new-key FILE` draws one, and \
                     --insecure goes without"
                ));
            }
        };
        self.after_previous(key)
    }

    /// Draws a key and writes it to a new file, which only its owner can read; a dry run makes one that is none.
    pub(super) fn draw(&self, file: &Path, dry_run: bool) -> Result<ChosenKey, String> {
        let mut bytes = [0; 16];
        let previous = self.previous_key_file.as_deref().map(read).transpose()?;
        let number = previous.map_or(0, |previous| (previous.number + 1) % NUMBERS);
        if !dry_run {
            getrandom::fill(&mut bytes).map_err(|error| format!("the system draws no random numbers: {error}"))?;
            let text = format!("{:0width$x} {number}\n", u128::from_be_bytes(bytes), width = DIGITS);
            let write =
                || private(OpenOptions::new().write(true).create_new(true)).open(file)?.write_all(text.as_bytes());
            write().map_err(in_file(file))?;
        }
        self.after_previous(NumberedKey { key: Key::new(bytes), number })
    }

    fn after_previous(&self, key: NumberedKey) -> Result<ChosenKey, String> {
        let Some(file) = &self.previous_key_file else { return Ok(ChosenKey { key, previous: None, public: false }) };
        let previous = read(file)?;
        if (previous.number + 1) % NUMBERS != key.number {
            return Err(format!(
                "{}: key {} does not come before key {}; --new-key with --previous-key-file draws the next one",
                file.display(),
                previous.number,
                key.number
            ));
        }
        Ok(ChosenKey { key, previous: Some(previous.key), public: false })
    }
}

fn read(file: &Path) -> Result<NumberedKey, String> {
    let text = fs::read_to_string(file).map_err(in_file(file))?;
    parse(&text).ok_or_else(|| format!("{}: {FORM}", file.display()))
}

/// Parses the digits of a key, and its number; without one it is 0.
fn parse(text: &str) -> Option<NumberedKey> {
    let mut words = text.split_whitespace();
    let (digits, number) = (words.next()?, words.next().map_or(Ok(0), str::parse).ok()?);
    let valid = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = valid.then(|| u128::from_str_radix(digits, 16).ok())??;
    let valid = bits != 0 && number < NUMBERS && words.next().is_none();
    valid.then(|| NumberedKey { key: Key::new(bits.to_be_bytes()), number })
}

/// Writes a file that only its owner can read.
pub(super) fn write_private(file: &Path, bytes: &[u8]) -> Result<(), String> {
    // One that was there keeps its permissions when it is written over.
    let write = || {
        fs::remove_file(file)
            .or_else(|error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        private(OpenOptions::new().write(true).create_new(true)).open(file)?.write_all(bytes)
    };
    write().map_err(in_file(file))
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_32_hexadecimal_digits_and_a_number_are_a_key() {
        let key = Key::new(std::array::from_fn(|at| u8::try_from(at).unwrap()));
        let digits = "000102030405060708090a0B0c0d0e0f";
        assert_eq!(parse(digits), Some(NumberedKey { key: key.clone(), number: 0 }));
        assert_eq!(parse(&format!("{digits} 15\n")), Some(NumberedKey { key, number: 15 }));
        let zeros = "0".repeat(32);
        let bad = ["", "1", "+00102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0g", &zeros];
        let numbered = [" 16", " x", " 1 2"].map(|number| format!("{digits}{number}"));
        for bad in bad.into_iter().chain(numbered.iter().map(String::as_str)) {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_drawn_key_is_new_private_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let args = |key_file: Option<&PathBuf>, previous: Option<&PathBuf>| {
            let (key_file, previous_key_file) = (key_file.cloned(), previous.cloned());
            KeyArgs { key_file, previous_key_file, insecure: false, group: String::new() }
        };
        let first = args(None, None).draw(&one, false).unwrap();
        assert!(args(None, None).draw(&one, false).is_err(), "a key is not written over");
        assert_eq!(args(Some(&one), None).choose(), Ok(first));
        let second = args(None, Some(&one)).draw(&two, false).unwrap();
        assert_eq!((second.key.number, second.previous.is_some()), (1, true));
        assert_eq!(args(Some(&two), Some(&one)).choose(), Ok(second));
        assert!(args(Some(&one), Some(&two)).choose().unwrap_err().contains("does not come before"));
        write_private(&two, b"anything").unwrap();
        #[cfg(unix)]
        for file in [one, two] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
