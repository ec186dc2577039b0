//! One emulated board: a process of the emulator, with a power switch and a reset button.

use super::child::ChildProcess;
use super::device::DeviceContext;
use super::hub::free_port;
use super::image::Image;
use super::inbox::{InboxSender, StderrTail, read_board_log};
use super::qmp::Qmp;
use super::wall_clock::WallClock;
use firmware::storage::config_page::ConfigPage;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io, thread};

use crate::boards::toolchain::EMULATOR as PROGRAM;
const MACHINE: &str = "mps2-an385";
const PAGE_ADDRESS: &str = "0x003ff000";
/// How long the emulator may take to start. It takes a tenth of a second, on a busy machine more.
const TIMEOUT_US: u64 = 20_000_000;
const POLL_PERIOD: Duration = Duration::from_millis(5);

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
    pub(super) address: SocketAddr,
}

impl StartingEmulator {
    /// Starts the emulator, with its board switched off.
    pub(super) fn start(context: &DeviceContext, page: &ConfigPage, sender: InboxSender) -> io::Result<Self> {
        let (image, folder, hub) = (&context.image, context.folder.path(), context.hub.address()?);
        let name = format!("{}-{}", sender.node, sender.process);
        let (page_file, control) = (folder.join(format!("{name}.page")), folder.join(format!("{name}.qmp")));
        fs::write(&page_file, page.encode())?;
        let address = free_port()?;
        let (process, log, stderr) = ChildProcess::start(&mut command(image, &page_file, &control, hub, address))?;
        read_board_log(log, image.table.clone(), sender, context.inbox.clone());
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
        .arg(option("loader,file=", page, &format!(",addr={PAGE_ADDRESS},force-raw=on")))
        .arg("-nic")
        .arg(format!("socket,model=lan9118,udp={hub},localaddr={local}"))
        .args(["-chardev", "stdio,id=log,signal=off", "-serial", "chardev:log"])
        .arg("-qmp")
        .arg(option("unix:", control, ",server=on,wait=off"));
    command
}

/// Returns an option with a path: the emulator wants a comma in a path doubled.
fn option(start: &str, path: &Path, end: &str) -> String {
    format!("{start}{}{end}", path.to_string_lossy().replace(',', ",,"))
}

impl Emulator {
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
        assert_eq!(option("unix:", Path::new("/tmp/a,b/c"), ",server=on"), "unix:/tmp/a,,b/c,server=on");
    }
}
