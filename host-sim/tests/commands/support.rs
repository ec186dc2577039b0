//! Running `conclave`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The key in the environment of every command.
pub(crate) const KEY: &str = "000102030405060708090a0b0c0d0e0f";

/// Returns a command that depends neither on the locale of this machine nor on its tools for boards.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    command.args(arguments).env("LC_ALL", "C.UTF-8").env("PATH", "/nowhere").env("USER", "nobody-here");
    command.env_remove("CONCLAVE_WIFI_KEY").env("CONCLAVE_KEY", KEY);
    command
}

/// The exit code of a command, its standard output and its standard error.
pub(crate) fn conclave(arguments: &[&str]) -> (Option<i32>, String, String) {
    finished(&mut command(arguments))
}

pub(crate) fn finished(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Returns the standard output of a command that succeeds.
pub(crate) fn succeeds(arguments: &[&str]) -> String {
    let (code, out, error) = conclave(arguments);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{arguments:?}");
    out
}

/// Returns the JSON object that a command prints, and nothing else.
pub(crate) fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&succeeds(arguments)).unwrap()
}

/// Returns the standard error of a command that is refused with exit code 2.
pub(crate) fn refused(arguments: &[&str]) -> String {
    let (code, out, error) = conclave(arguments);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
    error
}

/// Asserts that a reader who closes the pipe causes no failure.
pub(crate) fn survives_a_closed_pipe(arguments: &[&str]) {
    let mut child = command(arguments).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Returns the path of a file that does not exist yet.
pub(crate) fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

/// Runs a command on a terminal of its own, presses these keys after its first picture, and returns what the terminal
/// received.
#[cfg(unix)]
pub(crate) fn on_a_terminal(arguments: &[&str], keys: &str) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::fs::{File, OpenOptions};
    use std::io::{Read as _, Write as _};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).and_then(|()| unlockpt(&ours)).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = command(arguments);
    command.env("TERM", "xterm").stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    drop(command); // it holds their end, too
    let mut ours = File::from(ours);
    let (mut text, mut bytes, mut pressed) = (Vec::new(), [0; 4_096], false);
    while let Ok(count @ 1..) = ours.read(&mut bytes) {
        text.extend_from_slice(&bytes[..count]);
        if !std::mem::replace(&mut pressed, true) {
            ours.write_all(keys.as_bytes()).unwrap(); // it has drawn
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8(text).unwrap()
}
