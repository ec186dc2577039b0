//! A process that ends with its owner, however the owner ends.

use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// A process of ours. It is killed when this is dropped: at the end, on an error, while a panic unwinds.
#[derive(Debug)]
pub(super) struct Owned(Child);

impl Owned {
    /// Starts a process whose output is read by us and whose input is empty.
    ///
    /// It is in a process group of its own, so that an interrupt at the terminal reaches us alone and we end it in
    /// order. Where the system can, it is also killed if we are killed before we can end it; that is tied to the thread
    /// that starts it, which must therefore live as long.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        die_with_us(command);
        command.spawn().map(Self)
    }

    /// What it prints.
    pub(super) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// What it complains about.
    pub(super) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.0.stderr.take()
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Holds it, or lets it go on: to the process it is as if no time had passed, to its clock it is not.
    pub(super) fn hold(&self, held: bool) -> io::Result<()> {
        let pid = Pid::from_child(&self.0);
        Ok(kill_process(pid, if held { Signal::STOP } else { Signal::CONT })?)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
fn die_with_us(command: &mut Command) {
    #[expect(unsafe_code, reason = "between fork and exec it makes one system call and touches no memory of ours")]
    unsafe {
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_us(_: &mut Command) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn sleeper() -> Owned {
        Owned::start(Command::new("sleep").arg("600")).unwrap()
    }

    fn is_running(pid: Pid) -> bool {
        rustix::process::test_kill_process(pid).is_ok()
    }

    #[test]
    fn a_process_ends_when_its_owner_is_dropped() {
        let owned = sleeper();
        let pid = Pid::from_child(&owned.0);
        assert!(is_running(pid));
        drop(owned);
        assert!(!is_running(pid));
    }

    #[test]
    fn a_process_ends_when_its_owner_panics() {
        let owned = sleeper();
        let pid = Pid::from_child(&owned.0);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _owned = owned;
            std::panic::resume_unwind(Box::new(())); // no message: the test is not failing
        }));
        assert!(!is_running(pid));
    }

    #[test]
    fn a_held_process_ends_too() {
        let owned = sleeper();
        owned.hold(true).unwrap();
        let pid = Pid::from_child(&owned.0);
        drop(owned);
        assert!(!is_running(pid));
    }

    #[test]
    fn a_process_that_ended_is_seen_to_have() {
        let mut owned = Owned::start(Command::new("echo").arg("done")).unwrap();
        let mut text = String::new();
        owned.take_stdout().unwrap().read_to_string(&mut text).unwrap();
        while !owned.has_ended() {
            std::thread::yield_now();
        }
        assert_eq!(text, "done\n");
    }
}
