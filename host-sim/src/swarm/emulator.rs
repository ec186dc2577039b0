//! One emulated board: a process of the emulator, with a power switch and a reset button.

use super::child::ChildProcess;
use super::hub::free_port;
use super::image::Image;
use super::inbox::{InboxMessage, InboxSender, StderrTail, read_board_log};
use super::qmp::Qmp;
use super::wall_clock::WallClock;
use firmware::storage::config_page::ConfigPage;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::Duration;
use std::{fs, io, thread};

use crate::boards::toolchain::EMULATOR as PROGRAM;
/// The board it emulates.
const MACHINE: &str = "mps2-an385";
/// The address of the config page.
const PAGE_ADDRESS: &str = "0x003ff000";
/// How long the emulator may take to start. It takes a tenth of a second, on a busy machine more.
const TIMEOUT_US: u64 = 20_000_000;
const POLL_PERIOD: Duration = Duration::from_millis(5);

/// An emulator that is starting.
pub(super) struct StartingEmulator {
    process: ChildProcess,
    stderr: StderrTail,
    control: PathBuf,
    address: SocketAddr,
}

/// A running emulator, with its board on or off.
pub(super) struct Emulator {
    process: ChildProcess,
    qmp: Qmp,
    address: SocketAddr,
}

impl StartingEmulator {
    /// Starts the emulator, with its board switched off.
    pub(super) fn start(
        image: &Image,
        page: &ConfigPage,
        folder: &Path,
        hub: SocketAddr,
        sender: InboxSender,
        inbox: Sender<InboxMessage>,
    ) -> io::Result<Self> {
        let name = format!("{}-{}", sender.node, sender.process);
        let (page_file, control) = (folder.join(format!("{name}.page")), folder.join(format!("{name}.qmp")));
        fs::write(&page_file, page.encode())?;
        let address = free_port()?;
        let mut process = ChildProcess::start(&mut command(image, &page_file, &control, hub, address))?;
        if let Some(log) = process.take_stdout() {
            read_board_log(log, image.table(), sender, inbox);
        }
        let stderr = process.take_stderr().map_or_else(StderrTail::default, StderrTail::follow);
        Ok(Self { process, stderr, control, address })
    }

    /// Waits until the emulator accepts commands.
    pub(super) fn ready(mut self) -> io::Result<Emulator> {
        let clock = WallClock::start();
        loop {
            match Qmp::connect(&self.control) {
                Ok(qmp) => return Ok(Emulator { process: self.process, qmp, address: self.address }),
                Err(error) if clock.micros() > TIMEOUT_US => return Err(error),
                Err(_) => {} // not ready yet
            }
            if self.process.has_ended() {
                thread::sleep(POLL_PERIOD); // for the rest of its standard error
                return Err(io::Error::other(format!("{PROGRAM} ended: {}", self.stderr.text())));
            }
            thread::sleep(POLL_PERIOD);
        }
    }
}

fn command(image: &Image, page: &Path, control: &Path, hub: SocketAddr, local: SocketAddr) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["-M", MACHINE, "-nodefaults", "-display", "none", "-monitor", "none"])
        .arg("-S") // switched off
        .arg("-kernel")
        .arg(image.path())
        .arg("-device")
        .arg(option(&["loader,file=".as_ref(), page.as_os_str()], &format!(",addr={PAGE_ADDRESS},force-raw=on")))
        .arg("-nic")
        .arg(format!("socket,model=lan9118,udp={hub},localaddr={local}"))
        .args(["-chardev", "stdio,id=log,signal=off", "-serial", "chardev:log"])
        .arg("-qmp")
        .arg(option(&["unix:".as_ref(), control.as_os_str()], ",server=on,wait=off"));
    command
}

/// Returns an option with a path: the emulator wants a comma in a path doubled.
fn option(start_and_path: &[&std::ffi::OsStr; 2], end: &str) -> OsString {
    let path = start_and_path[1].to_string_lossy().replace(',', ",,");
    let mut option = OsString::from(start_and_path[0]);
    option.push(path);
    option.push(end);
    option
}

impl Emulator {
    /// Returns the address of its board's datagrams.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resumes the board and its clock.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.qmp.execute("cont")
    }

    /// Stops the board and its clock. Its memory stays.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.qmp.execute("stop")
    }

    /// Presses the reset button. Retained memory stays.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.qmp.execute("system_reset")
    }

    /// Returns whether the process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }

    /// Holds or resumes the processor while its clock runs on.
    pub(super) fn set_held(&self, held: bool) -> io::Result<()> {
        self.process.set_stopped(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_path_is_doubled() {
        let option = option(&["unix:".as_ref(), "/tmp/a,b/c".as_ref()], ",server=on");
        assert_eq!(option, "unix:/tmp/a,,b/c,server=on");
    }
}
