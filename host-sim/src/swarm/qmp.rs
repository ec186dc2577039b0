//! The emulator's control socket: one line of JSON asks, one answers.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long the emulator may take to answer. It answers in milliseconds, on a busy machine in more.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a running emulator.
pub(super) struct Qmp(BufReader<UnixStream>);

impl Qmp {
    /// Connects to the socket at `path`, which must be there.
    pub(super) fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut qmp = Self(BufReader::new(stream));
        qmp.line()?; // the greeting
        qmp.execute("qmp_capabilities")?;
        Ok(qmp)
    }

    /// Has the emulator do something, and waits until it has.
    pub(super) fn execute(&mut self, command: &str) -> io::Result<()> {
        writeln!(self.0.get_mut(), "{{\"execute\":\"{command}\"}}")?;
        loop {
            let answer = self.line()?;
            if answer.get("return").is_some() {
                return Ok(());
            }
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(format!("the emulator refused \"{command}\": {error}")));
            }
            // An event: it tells what we asked for, and is told in between.
        }
    }

    fn line(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&line).map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// An emulator that answers each question with these lines.
    fn emulator(answers: &'static [&'static str]) -> (tempfile::TempDir, std::thread::JoinHandle<Vec<String>>) {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("qmp")).unwrap();
        let serve = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            stream.get_mut().write_all(b"{\"QMP\": {}}\n").unwrap();
            let mut asked = Vec::new();
            for answer in answers {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                asked.push(line.trim().to_owned());
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
            asked
        });
        (folder, serve)
    }

    #[test]
    fn events_between_question_and_answer_are_skipped() {
        let (folder, serve) = emulator(&["{\"return\": {}}\n", "{\"event\": \"STOP\"}\n{\"return\": {}}\n"]);
        let mut qmp = Qmp::connect(&folder.path().join("qmp")).unwrap();
        qmp.execute("stop").unwrap();
        assert_eq!(serve.join().unwrap(), ["{\"execute\":\"qmp_capabilities\"}", "{\"execute\":\"stop\"}"]);
    }

    #[test]
    fn a_refusal_is_an_error_that_says_what_was_asked() {
        let (folder, _serve) = emulator(&["{\"return\": {}}\n", "{\"error\": {\"class\": \"CommandNotFound\"}}\n"]);
        let mut qmp = Qmp::connect(&folder.path().join("qmp")).unwrap();
        assert!(qmp.execute("dance").unwrap_err().to_string().contains("\"dance\""));
    }
}
