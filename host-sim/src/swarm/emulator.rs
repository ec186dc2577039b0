//! One emulated board: a process of the emulator, with a power switch and a reset button.

use super::child::ChildProcess;
use super::device::DeviceContext;
use super::hub::free_port;
use super::image::Image;
use super::inbox::{InboxSender, StderrTail, read_board_log};
use super::qmp::Qmp;
use super::wall_clock::WallClock;
use firmware::storage::config_page::ConfigPage;
use firmware::storage::config_page::broker::{self, Broker};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io, thread};

use crate::boards::toolchain::EMULATOR as PROGRAM;
const MACHINE: &str = "mps2-an385";
const PAGE_ADDRESS: &str = "0x003ff000";
/// The address of the broker for a board; no board has it.
const BROKER: [u8; 4] = [10, 255, 255, 251];
const BROKER_PORT: u16 = firmware::net::mqtt::PORT;
/// What the topics of a swarm begin with.
const TOPIC: &str = "conclave";
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
        let image = context.image.as_ref().ok_or_else(|| io::Error::other("there is no image for a board"))?;
        let (folder, hub) = (context.folder.path(), context.hub.address()?);
        let name = format!("{}-{}", sender.node, sender.process);
        let (page_file, control) = (folder.join(format!("{name}.page")), folder.join(format!("{name}.qmp")));
        fs::write(&page_file, memory(page, context.group.broker))?;
        let address = free_port()?;
        let (process, log, stderr) = ChildProcess::start(&mut command(
            image,
            &page_file,
            &control,
            network(hub, address, context.group.broker, &context.desktop),
        ))?;
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

/// Returns what is loaded at the address of the config page: the page, and the broker where its structure belongs.
fn memory(page: &ConfigPage, broker: Option<u16>) -> Vec<u8> {
    let mut bytes = page.encode().to_vec();
    if let Some(broker) = broker.and_then(|_| Broker::new(BROKER, BROKER_PORT, TOPIC)) {
        bytes.resize(broker::OFFSET, 0);
        bytes.extend(broker.encode());
    }
    bytes
}

/// Returns the options for the board's Ethernet: the hub of the swarm, and with a broker a user network that forwards to it, which
/// needs no privileges. It forwards nothing else: the boards' broadcasts would leave by it too. The board's controller is the third
/// at an Ethernet hub of the emulator's own.
fn network(hub: SocketAddr, local: SocketAddr, broker: Option<u16>, program: &Path) -> Vec<String> {
    let air = format!("socket,udp={hub},localaddr={local}");
    let Some(port) = broker else { return vec!["-nic".to_owned(), format!("{air},model=lan9118")] };
    let [a, b, c, d] = BROKER;
    let own = format!("host={a}.{b}.{c}.{},dns={a}.{b}.{c}.{},dhcpstart={a}.{b}.{c}.100", d - 1, d - 2);
    let forward = option("-cmd:'", program, &format!("' pipe 127.0.0.1:{port}"));
    let forward = format!("guestfwd=tcp:{a}.{b}.{c}.{d}:{BROKER_PORT}{forward}");
    [
        ("-netdev", format!("{air},id=air")),
        ("-netdev", format!("user,id=broker,ipv6=off,restrict=on,net=10.0.0.0/8,{own},{forward}")),
        ("-netdev", "hubport,id=port0,hubid=0,netdev=air".to_owned()),
        ("-netdev", "hubport,id=port1,hubid=0,netdev=broker".to_owned()),
        ("-net", "nic,model=lan9118".to_owned()),
    ]
    .into_iter()
    .flat_map(|(option, value)| [option.to_owned(), value])
    .collect()
}

fn command(image: &Image, page: &Path, control: &Path, network: Vec<String>) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["-M", MACHINE, "-nodefaults", "-display", "none", "-monitor", "none"])
        .arg("-S") // switched off
        .arg("-kernel")
        .arg(image.path())
        .arg("-device")
        .arg(option("loader,file=", page, &format!(",addr={PAGE_ADDRESS},force-raw=on")))
        .args(network)
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
    fn a_broker_stands_behind_the_page_where_the_board_reads_it_and_without_one_nothing_does() {
        let page = ConfigPage::unprovisioned(b"serial", 0);
        assert_eq!(memory(&page, None), page.encode());
        let bytes = memory(&page, Some(2883));
        let stored = Broker::decode(bytes[broker::OFFSET..].try_into().unwrap()).unwrap();
        assert_eq!((stored.address, stored.port, stored.prefix()), (BROKER, 1883, TOPIC));
        let options =
            |broker| network("127.0.0.1:9".parse().unwrap(), "127.0.0.1:8".parse().unwrap(), broker, Path::new("/a,b"));
        assert_eq!(options(None).len(), 2);
        let forward = "guestfwd=tcp:10.255.255.251:1883-cmd:'/a,,b' pipe 127.0.0.1:2883";
        assert!(options(Some(2883)).iter().any(|option| option.ends_with(forward)), "{:?}", options(Some(2883)));
    }

    #[test]
    fn a_comma_in_a_path_is_doubled() {
        assert_eq!(option("unix:", Path::new("/tmp/a,b/c"), ",server=on"), "unix:/tmp/a,,b/c,server=on");
    }
}
