//! The emulator's control socket: a line of JSON for each command and each reply.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long the emulator may take to reply. It takes milliseconds, on a busy machine more.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Qmp(BufReader<UnixStream>);

impl Qmp {
    /// Connects to the socket at `path`, which must exist.
    pub(super) fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut qmp = Self(BufReader::new(stream));
        qmp.line()?; // the greeting
        qmp.execute("qmp_capabilities")?;
        Ok(qmp)
    }

    /// Executes a command, and waits for its completion.
    pub(super) fn execute(&mut self, command: &str) -> io::Result<()> {
        writeln!(self.0.get_mut(), "{{\"execute\":\"{command}\"}}")?;
        loop {
            let reply = self.line()?;
            if reply.get("return").is_some() {
                return Ok(());
            }
            if let Some(error) = reply.get("error") {
                return Err(io::Error::other(format!("the emulator refused \"{command}\": {error}")));
            }
            // An event: the reply follows.
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

    /// Starts an emulator that replies to each command with these lines.
    fn emulator(replies: &'static [&'static str]) -> (tempfile::TempDir, std::thread::JoinHandle<Vec<String>>) {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("qmp")).unwrap();
        let serve = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            stream.get_mut().write_all(b"{\"QMP\": {}}\n").unwrap();
            let mut commands = Vec::new();
            for reply in replies {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                commands.push(line.trim().to_owned());
                stream.get_mut().write_all(reply.as_bytes()).unwrap();
            }
            commands
        });
        (folder, serve)
    }

    #[test]
    fn events_before_a_reply_are_skipped() {
        let (folder, serve) = emulator(&["{\"return\": {}}\n", "{\"event\": \"STOP\"}\n{\"return\": {}}\n"]);
        let mut qmp = Qmp::connect(&folder.path().join("qmp")).unwrap();
        qmp.execute("stop").unwrap();
        assert_eq!(serve.join().unwrap(), ["{\"execute\":\"qmp_capabilities\"}", "{\"execute\":\"stop\"}"]);
    }

    #[test]
    fn an_error_reply_names_the_command() {
        let (folder, _serve) = emulator(&["{\"return\": {}}\n", "{\"error\": {\"class\": \"CommandNotFound\"}}\n"]);
        let mut qmp = Qmp::connect(&folder.path().join("qmp")).unwrap();
        assert!(qmp.execute("dance").unwrap_err().to_string().contains("\"dance\""));
    }
}
