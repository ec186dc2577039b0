//! The application on a desktop, over UDP: `cargo run` runs three nodes in this process, `cargo run -- ID ADDRESS...` is one
//! node of a network of several machines. The addresses are those of all nodes in the order of their ids, its own among them.

use my_app::counter::{Add, Counter, MEMBERS_MAX, Value};
use protocol::base::{capacity::Capacity, membership::Group, quorum::Mode, records::Records};
use protocol::election::Bully;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Notice, Stages};
use protocol::service::{AppService, app_service};
use protocol::wire::{FRAME_MAX, Key};
use protocol::{Algorithm, Config, Instant, Node, NodeId, Timing};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant as Clock};

type Command = <AppService<Counter> as Algorithm>::Command;
type CounterNode = Node<Bully, NoMutex, MEMBERS_MAX, AppService<Counter>, Group>;

/// One node, its socket and the addresses of all nodes.
struct Host {
    id: u32,
    node: CounterNode,
    socket: UdpSocket,
    peers: Vec<SocketAddr>,
    started: Clock,
}

impl Host {
    fn start(id: u32, socket: UdpSocket, peers: Vec<SocketAddr>) -> Self {
        let config = Config {
            me: NodeId(id),
            key: Key::from_name("my app"),
            hops: 1,
            may_lead: true,
            mode: Mode::Available,
            timing: Timing::LAN,
        };
        let members: Vec<NodeId> = (0..).zip(&peers).map(|(id, _)| NodeId(id)).collect();
        let group = Group::of(&members).expect("a node has peers");
        // A program that restarts keeps its records in a file: see `Node::poll_persist`.
        let capacity = Some(Capacity::new(100));
        let boot = Boot { records: Some(Records::FACTORY), capacity, seed: std::process::id().into() };
        let service = AppService::new(Counter::default());
        let stages = Stages { election: Bully::default(), mutex: NoMutex, service };
        let node = Node::new(config, &group, boot, Instant::ZERO, stages).expect("a valid configuration");
        Self { id, node, socket, peers, started: Clock::now() }
    }

    fn now(&self) -> Instant {
        Instant::from_micros(self.started.elapsed().as_micros().try_into().unwrap_or(u64::MAX))
    }

    /// One input, then everything that follows from it; returns the last value it was notified of.
    fn handle(&mut self, input: Input<'_, Command>) -> Option<u64> {
        let (now, mut value) = (self.now(), None);
        self.node.handle(now, input);
        let mut buffer = [0; FRAME_MAX];
        while let Some(_records) = self.node.poll_persist() {}
        while let Some(frame) = self.node.poll_transmit(now, &mut buffer) {
            for peer in &self.peers {
                let _ = self.socket.send_to(frame, peer); // a lost frame is retransmitted
            }
        }
        while let Some(notice) = self.node.poll_notice() {
            match notice {
                Notice::Service(app_service::Notice::Application(Value(new))) => value = Some(new),
                Notice::Halted(reason) => panic!("the node has halted: {reason:?}"),
                _ => {} // a counter needs no leader
            }
        }
        value
    }

    /// Waits for a frame or the next deadline; returns the value if it changed.
    fn step(&mut self) -> Option<u64> {
        let wait = self.node.deadline().map_or(0, |at| at.as_micros().saturating_sub(self.now().as_micros()));
        let wait = Duration::from_micros(wait.clamp(100, 100_000));
        self.socket.set_read_timeout(Some(wait)).expect("a timeout that is not zero");
        let mut buffer = [0; 2 * FRAME_MAX];
        match self.socket.recv_from(&mut buffer) {
            Ok((len, _)) => self.handle(Input::Frame { bytes: &buffer[..len], quality: u8::MAX }),
            Err(_) => self.handle(Input::Timeout),
        }
    }

    /// Counts to `own`, then runs until the counter has reached `until`.
    fn run(mut self, own: u32, until: u64) {
        let mut value = (0..own).filter_map(|_| self.handle(Input::Service(Add(1).into()))).last().unwrap_or(0);
        while value < until {
            if let Some(new) = self.step() {
                value = new;
                println!("node {}: {value}", self.id);
            }
        }
        (0..50).for_each(|_| _ = self.step()); // the others may still miss an acknowledgement
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(id) = arguments.next() else { return three_nodes() };
    let peers = arguments.map(|address| address.parse().expect("an address such as 10.0.0.7:7400"));
    let (id, peers): (u32, Vec<SocketAddr>) = (id.parse().expect("the id of this node"), peers.collect());
    let socket = UdpSocket::bind(peers[id as usize]).expect("an address of this machine");
    Host::start(id, socket, peers).run(5, u64::MAX);
}

fn three_nodes() {
    let sockets = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a free port"));
    let peers: Vec<SocketAddr> = sockets.iter().map(|socket| socket.local_addr().expect("bound")).collect();
    let hosts = (0..).zip(sockets).map(|(id, socket)| Host::start(id, socket, peers.clone()));
    std::thread::scope(|scope| hosts.for_each(|host| _ = scope.spawn(|| host.run(5, 15))));
}
