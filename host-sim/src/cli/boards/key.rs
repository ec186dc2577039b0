//! The key of a group, for `provision` and `node`: from a file or the environment, never from the command line, which other
//! users of a machine can see.

use crate::boards::in_file;
use clap::Args;
use protocol::wire::Key;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The environment variable with the key of a group.
const KEY: &str = "CONCLAVE_KEY";
/// Length of a key in hexadecimal digits.
const DIGITS: usize = 32;

#[derive(Args)]
pub(super) struct KeyArgs {
    /// The file with the key of its group; without it, the key is in the environment variable `CONCLAVE_KEY`.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Go without a secret: anybody who knows the name of the group can read, join and disturb it.
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// The name of a group without a secret.
    #[arg(long, value_name = "NAME", requires = "insecure", default_value = "conclave")]
    group: String,
}

/// A key, and whether others can know it.
pub(super) struct ChosenKey {
    pub(super) key: Key,
    pub(super) public: bool,
}

impl KeyArgs {
    /// The key of the group; a sentence where there is none.
    pub(super) fn choose(&self) -> Result<ChosenKey, String> {
        if self.insecure {
            return Ok(ChosenKey { key: Key::from_name(&self.group), public: true });
        }
        let text = match (&self.key_file, std::env::var(KEY)) {
            (Some(file), _) => fs::read_to_string(file).map_err(in_file(file))?,
            (None, Ok(text)) => text,
            (None, Err(_)) => {
                return Err(format!(
                    "no key: name its file by --key-file, or set {KEY}; `conclave provision --new-key FILE` draws one, and \
                     --insecure goes without"
                ));
            }
        };
        let place = self.key_file.as_ref().map_or_else(|| KEY.to_owned(), |file| file.display().to_string());
        let key = parse(text.trim()).ok_or_else(|| format!("{place}: a key has {DIGITS} hexadecimal digits"))?;
        Ok(ChosenKey { key, public: false })
    }
}

fn parse(text: &str) -> Option<Key> {
    let digits = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = digits.then(|| u128::from_str_radix(text, 16).ok())??;
    (number != 0).then(|| Key::new(number.to_be_bytes()))
}

/// Draws a key and writes it to a new file, which only its owner can read.
pub(super) fn draw(file: &Path) -> Result<Key, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system draws no random numbers: {error}"))?;
    let text = format!("{:0width$x}\n", u128::from_be_bytes(bytes), width = DIGITS);
    let write = || private(OpenOptions::new().write(true).create_new(true)).open(file)?.write_all(text.as_bytes());
    write().map_err(in_file(file))?;
    Ok(Key::new(bytes))
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
    fn only_32_hexadecimal_digits_are_a_key() {
        assert_eq!(
            parse("000102030405060708090a0B0c0d0e0f"),
            Some(Key::new(std::array::from_fn(|at| u8::try_from(at).unwrap())))
        );
        for bad in ["", "1", "+00102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0g", &"0".repeat(32)] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_drawn_key_is_new_private_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let (first, second) = (draw(&one).unwrap(), draw(&two).unwrap());
        assert_ne!(first, second);
        assert!(draw(&one).is_err(), "a key is not written over");
        let args = KeyArgs { key_file: Some(one.clone()), insecure: false, group: String::new() };
        assert_eq!(args.choose().map(|chosen| (chosen.key, chosen.public)), Ok((first, false)));
        write_private(&two, b"anything").unwrap();
        #[cfg(unix)]
        for file in [one, two] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
