//! Processes of `conclave` that run beside a test.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long to wait for something, in steps of a tenth of a second.
const PATIENCE: u32 = 600;

/// A process of `conclave` that prints JSON lines. It is killed on drop.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = lines.clone();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                heard.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, stdin, lines }
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        let _ = writeln!(self.stdin.as_mut().unwrap(), "{line}"); // it may have been killed
    }

    /// Returns the lines with this event.
    pub(crate) fn events(&self, event: &str) -> Vec<Value> {
        self.lines.lock().unwrap().iter().filter(|line| line["event"] == event).cloned().collect()
    }

    /// Returns the last line with one of these events.
    pub(crate) fn last(&self, events: &[&str]) -> Option<Value> {
        let is_one = |line: &&Value| line["event"].as_str().is_some_and(|event| events.contains(&event));
        self.lines.lock().unwrap().iter().rev().find(is_one).cloned()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so; says what, if it does not come.
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..PATIENCE {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}: not in time");
}

/// Addresses on the loopback interface that were free just now.
pub(crate) fn addresses(count: usize) -> Vec<String> {
    let sockets: Vec<UdpSocket> = (0..count).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
    sockets.iter().map(|socket| socket.local_addr().unwrap().to_string()).collect()
}
