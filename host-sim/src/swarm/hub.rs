//! The loopback socket that all devices send their datagrams to and receive them from.

use super::inbox::InboxMessage;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the receiver checks whether to end.
const POLL_PERIOD: Duration = Duration::from_millis(100);
/// Longer than any Ethernet frame.
const DATAGRAM_BYTES_MAX: usize = 2_048;

pub(super) struct Hub {
    socket: UdpSocket,
    end: Arc<AtomicBool>,
    receiver: Option<JoinHandle<()>>,
}

impl Hub {
    /// Opens a socket on a free port of this machine.
    pub(super) fn open(inbox: Sender<InboxMessage>) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(POLL_PERIOD))?;
        let end = Arc::new(AtomicBool::new(false));
        let (receiving, ended) = (socket.try_clone()?, end.clone());
        let receiver = thread::spawn(move || {
            let mut buffer = [0; DATAGRAM_BYTES_MAX];
            while !ended.load(Ordering::Relaxed) {
                // A timeout, or an ICMP error for an earlier datagram: the receiver goes on.
                let Ok((count, from)) = receiving.recv_from(&mut buffer) else { continue };
                if inbox.send(InboxMessage::Frame { from, bytes: buffer[..count].to_vec() }).is_err() {
                    return;
                }
            }
        });
        Ok(Self { socket, end, receiver: Some(receiver) })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends a datagram. It may be lost.
    pub(super) fn send(&self, to: SocketAddr, bytes: &[u8]) {
        // An empty datagram would end an emulator's network.
        if !bytes.is_empty() {
            let _ = self.socket.send_to(bytes, to);
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
    }
}

pub(super) fn free_port() -> io::Result<SocketAddr> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn datagrams_are_received_with_their_sender_and_sent_unless_empty() {
        let (sender, inbox) = channel();
        let hub = Hub::open(sender).unwrap();
        let board = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        board.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        board.send_to(b"hello", hub.address().unwrap()).unwrap();
        let InboxMessage::Frame { from, bytes } = inbox.recv().unwrap() else { panic!("a datagram") };
        assert_eq!((from, &bytes[..]), (board.local_addr().unwrap(), &b"hello"[..]));
        hub.send(from, b"");
        hub.send(from, b"answer");
        let mut buffer = [0; 16];
        let count = board.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..count], b"answer");
    }
}
