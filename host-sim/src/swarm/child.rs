//! Child processes that end with their owner, however it ends.

use super::inbox::StderrTail;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A child process. It is killed on drop: at the end, on an error, or while a panic unwinds.
#[derive(Debug)]
pub(super) struct ChildProcess(Child);

impl ChildProcess {
    /// Starts a process without input; returns it with its standard output and standard error.
    ///
    /// It has its own process group, so that an interrupt at the terminal reaches only this process, which then ends
    /// it in order. On Linux it is also killed when this process is killed; that is tied to the thread that starts it,
    /// which must therefore live as long.
    pub(super) fn start(command: &mut Command) -> io::Result<(Self, ChildStdout, StderrTail)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        kill_with_parent(command);
        let mut child = command.spawn()?;
        let (stdout, stderr) = child.stdout.take().zip(child.stderr.take()).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((Self(child), stdout, StderrTail::follow(stderr)))
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Asks the process to end.
    pub(super) fn terminate(&self) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.0), Signal::TERM)?)
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

    /// Asserts that a process ends, in whatever way its owner ends.
    fn ends(owner_ends: impl FnOnce(ChildProcess)) {
        let (child, ..) = ChildProcess::start(Command::new("sleep").arg("600")).unwrap();
        let pid = Pid::from_child(&child.0);
        let is_running = || rustix::process::test_kill_process(pid).is_ok();
        assert!(is_running());
        owner_ends(child);
        assert!(!is_running());
    }

    #[test]
    fn a_process_ends_when_its_owner_is_dropped() {
        ends(drop);
    }

    #[test]
    fn a_process_ends_when_its_owner_panics() {
        ends(|child| {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _child = child;
                std::panic::resume_unwind(Box::new(())); // without a message: the test does not fail
            }));
        });
    }

    #[test]
    fn a_stopped_process_ends_too() {
        ends(|child| child.set_stopped(true).unwrap());
    }

    #[test]
    fn a_process_that_ended_is_noticed() {
        let (mut child, mut stdout, _) = ChildProcess::start(Command::new("echo").arg("done")).unwrap();
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        while !child.has_ended() {
            std::thread::yield_now();
        }
        assert_eq!(text, "done\n");
    }
}
