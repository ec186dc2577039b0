//! One emulated board: a process of the emulator, with its power switch and its reset button.

use super::child::Owned;
use super::hub::free_port;
use super::image::Image;
use super::mail::{Complaints, Mail, Writer, follow_board};
use super::qmp::Qmp;
use super::stopwatch::Stopwatch;
use firmware::page::Page;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::Duration;
use std::{fs, io, thread};

/// The program.
pub(super) const PROGRAM: &str = "qemu-system-arm";
/// The board it emulates.
const MACHINE: &str = "mps2-an385";
/// Where the board looks for its config page.
const PAGE_ADDRESS: &str = "0x003ff000";
/// How long the emulator may take to come up. It takes a tenth of a second, on a busy machine more.
const PATIENCE_MICROS: u64 = 20_000_000;
const LOOK_PERIOD: Duration = Duration::from_millis(5);

/// An emulator that is coming up.
pub(super) struct Launching {
    process: Owned,
    complaints: Complaints,
    control: PathBuf,
    address: SocketAddr,
}

/// An emulator, its board in whatever state.
pub(super) struct Emulator {
    process: Owned,
    qmp: Qmp,
    address: SocketAddr,
}

impl Launching {
    /// Starts the emulator of a board that is switched off.
    pub(super) fn start(
        image: &Image,
        page: &Page,
        folder: &Path,
        hub: SocketAddr,
        writer: Writer,
        post: Sender<Mail>,
    ) -> io::Result<Self> {
        let name = format!("{}-{}", writer.node, writer.process);
        let (page_file, control) = (folder.join(format!("{name}.page")), folder.join(format!("{name}.qmp")));
        fs::write(&page_file, page.encode())?;
        let address = free_port()?;
        let mut process = Owned::start(&mut command(image, &page_file, &control, hub, address))?;
        if let Some(log) = process.take_stdout() {
            follow_board(log, image.table(), writer, post);
        }
        let complaints = process.take_stderr().map_or_else(Complaints::default, Complaints::follow);
        Ok(Self { process, complaints, control, address })
    }

    /// Waits until the emulator can be talked to.
    pub(super) fn ready(mut self) -> io::Result<Emulator> {
        let watch = Stopwatch::start();
        loop {
            match Qmp::connect(&self.control) {
                Ok(qmp) => return Ok(Emulator { process: self.process, qmp, address: self.address }),
                Err(error) if watch.micros() > PATIENCE_MICROS => return Err(error),
                Err(_) => {} // not yet
            }
            if self.process.has_ended() {
                thread::sleep(LOOK_PERIOD); // for the last of its words
                return Err(io::Error::other(format!("{PROGRAM} ended: {}", self.complaints.text())));
            }
            thread::sleep(LOOK_PERIOD);
        }
    }
}

fn command(image: &Image, page: &Path, control: &Path, hub: SocketAddr, local: SocketAddr) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["-M", MACHINE, "-nodefaults", "-display", "none", "-monitor", "none"])
        .arg("-S") // switched off until told
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

/// An option with a path in it: in the emulator's language a comma of a path is written twice.
fn option(start_and_path: &[&std::ffi::OsStr; 2], end: &str) -> OsString {
    let path = start_and_path[1].to_string_lossy().replace(',', ",,");
    let mut option = OsString::from(start_and_path[0]);
    option.push(path);
    option.push(end);
    option
}

impl Emulator {
    /// Where its board's datagrams come from and go to.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets time pass for the board.
    pub(super) fn go_on(&mut self) -> io::Result<()> {
        self.qmp.execute("cont")
    }

    /// Stops time for the board, its clock included. Memory stays as it is.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.qmp.execute("stop")
    }

    /// Presses the reset button. Memory that the board retains stays as it is.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.qmp.execute("system_reset")
    }

    /// Whether the process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }

    /// Holds the processor while the clock runs on, or lets it go on.
    pub(super) fn hold(&self, held: bool) -> io::Result<()> {
        self.process.hold(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_path_does_not_end_it() {
        let option = option(&["unix:".as_ref(), "/tmp/a,b/c".as_ref()], ",server=on");
        assert_eq!(option, "unix:/tmp/a,,b/c,server=on");
    }
}
