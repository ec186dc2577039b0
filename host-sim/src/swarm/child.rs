//! Child processes that end with their owner, however it ends.

use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// A child process. It is killed on drop: at the end, on an error, or while a panic unwinds.
#[derive(Debug)]
pub(super) struct ChildProcess(Child);

impl ChildProcess {
    /// Starts a process with piped output and no input.
    ///
    /// It has its own process group, so that an interrupt at the terminal reaches only this process, which then ends
    /// it in order. On Linux it is also killed when this process is killed; that is tied to the thread that starts it,
    /// which must therefore live as long.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        kill_with_parent(command);
        command.spawn().map(Self)
    }

    /// Takes its standard output.
    pub(super) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// Takes its standard error.
    pub(super) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.0.stderr.take()
    }

    /// Returns whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Stops or continues the process. Its clock runs on meanwhile.
    pub(super) fn set_stopped(&self, stopped: bool) -> io::Result<()> {
        let pid = Pid::from_child(&self.0);
        Ok(kill_process(pid, if stopped { Signal::STOP } else { Signal::CONT })?)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
fn kill_with_parent(command: &mut Command) {
    #[expect(
        unsafe_code,
        reason = "between fork and exec it makes one system call and touches no memory of the parent"
    )]
    unsafe {
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_with_parent(_: &mut Command) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn sleeper() -> ChildProcess {
        ChildProcess::start(Command::new("sleep").arg("600")).unwrap()
    }

    fn is_running(pid: Pid) -> bool {
        rustix::process::test_kill_process(pid).is_ok()
    }

    #[test]
    fn a_process_ends_when_its_owner_is_dropped() {
        let child = sleeper();
        let pid = Pid::from_child(&child.0);
        assert!(is_running(pid));
        drop(child);
        assert!(!is_running(pid));
    }

    #[test]
    fn a_process_ends_when_its_owner_panics() {
        let child = sleeper();
        let pid = Pid::from_child(&child.0);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _child = child;
            std::panic::resume_unwind(Box::new(())); // without a message: the test does not fail
        }));
        assert!(!is_running(pid));
    }

    #[test]
    fn a_stopped_process_ends_too() {
        let child = sleeper();
        child.set_stopped(true).unwrap();
        let pid = Pid::from_child(&child.0);
        drop(child);
        assert!(!is_running(pid));
    }

    #[test]
    fn a_process_that_ended_is_noticed() {
        let mut child = ChildProcess::start(Command::new("echo").arg("done")).unwrap();
        let mut text = String::new();
        child.take_stdout().unwrap().read_to_string(&mut text).unwrap();
        while !child.has_ended() {
            std::thread::yield_now();
        }
        assert_eq!(text, "done\n");
    }
}
