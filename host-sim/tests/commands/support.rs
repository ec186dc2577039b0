//! Running `conclave`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    // Independent of the locale of the machine that runs the tests.
    command.args(arguments).env("LC_ALL", "C.UTF-8");
    command
}

pub(crate) fn conclave(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Returns the standard output of a command that succeeds.
pub(crate) fn succeeds(arguments: &[&str]) -> String {
    let output = conclave(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the JSON object that a command prints, and nothing else.
pub(crate) fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&succeeds(arguments)).unwrap()
}

/// Returns the standard error of a command that is refused with exit code 2.
pub(crate) fn refused(arguments: &[&str]) -> String {
    let output = conclave(arguments);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
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
