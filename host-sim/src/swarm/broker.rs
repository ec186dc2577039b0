//! A real MQTT broker, mosquitto, on a port of this machine that only it can reach.

use super::WallClock;
use super::child::ChildProcess;
use crate::boards::toolchain::prepare_broker;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{fs, io, thread};
use tempfile::TempDir;

/// How long the broker may take to start or to end, on a busy machine.
const TIMEOUT_US: u64 = 20_000_000;
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// A broker. It ends on drop, and so do its files.
pub struct Broker {
    program: PathBuf,
    folder: TempDir,
    address: SocketAddr,
    process: Option<ChildProcess>,
}

impl Broker {
    /// Starts a broker on a free port, after finding or installing it.
    ///
    /// # Errors
    /// One sentence with the reason, such as the command that installs it.
    pub fn start() -> Result<Self, String> {
        let program = prepare_broker()?;
        let failed = |error: io::Error| format!("mosquitto cannot be started: {error}");
        let folder = tempfile::Builder::new().prefix("conclave-broker-").tempdir().map_err(failed)?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr()).map_err(failed)?;
        // Where it starts as root it would become another user, who cannot write to the folder.
        let config = format!(
            "listener {} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {}/\nuser root\n",
            address.port(),
            folder.path().display()
        );
        fs::write(folder.path().join("mosquitto.conf"), config).map_err(failed)?;
        let mut broker = Self { program, folder, address, process: None };
        broker.resume().map_err(failed)?;
        Ok(broker)
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the broker in order: it stores sessions, retained and queued messages.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.terminate()?;
        wait(|| process.has_ended())
    }

    /// Starts it again, with what it stored.
    ///
    /// # Errors
    /// When it does not listen.
    pub fn resume(&mut self) -> io::Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.folder.path().join("mosquitto.conf"));
        let (process, _, stderr) = ChildProcess::start(&mut command)?;
        let process = self.process.insert(process);
        wait(|| process.has_ended() || TcpStream::connect(self.address).is_ok())?;
        if process.has_ended() { Err(io::Error::other(stderr.text())) } else { Ok(()) }
    }
}

fn wait(mut is_done: impl FnMut() -> bool) -> io::Result<()> {
    let clock = WallClock::start();
    while !is_done() {
        if clock.micros() > TIMEOUT_US {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(POLL_PERIOD);
    }
    Ok(())
}
