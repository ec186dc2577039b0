//! The loopback socket all boards are joined to: each sends its datagrams here, and gets its datagrams from here.

use super::mail::Mail;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the receiver looks whether it is still wanted.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// More than any Ethernet frame.
const DATAGRAM_BYTES_MAX: usize = 2_048;

/// The socket, and the thread that receives from it.
pub(super) struct Hub {
    socket: UdpSocket,
    over: Arc<AtomicBool>,
    receiver: Option<JoinHandle<()>>,
}

impl Hub {
    /// Opens a socket at any free port of this machine.
    pub(super) fn open(post: Sender<Mail>) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(LOOK_PERIOD))?;
        let over = Arc::new(AtomicBool::new(false));
        let (ears, is_over) = (socket.try_clone()?, over.clone());
        let receiver = thread::spawn(move || {
            let mut buffer = [0; DATAGRAM_BYTES_MAX];
            while !is_over.load(Ordering::Relaxed) {
                // A timeout, or the news that an earlier datagram found nobody: both mean going on.
                let Ok((count, from)) = ears.recv_from(&mut buffer) else { continue };
                if post.send(Mail::Frame { from, bytes: buffer[..count].to_vec() }).is_err() {
                    return;
                }
            }
        });
        Ok(Self { socket, over, receiver: Some(receiver) })
    }

    /// Where it is.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends a datagram. Whether it arrives is up to the air.
    pub(super) fn send(&self, to: SocketAddr, bytes: &[u8]) {
        // An emulator takes an empty datagram for the end of all of them.
        if !bytes.is_empty() {
            let _ = self.socket.send_to(bytes, to);
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
    }
}

/// A port of this machine that nobody uses at present.
pub(super) fn free_port() -> io::Result<SocketAddr> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn datagrams_come_in_with_their_sender_and_go_out_unless_empty() {
        let (post, mail) = channel();
        let hub = Hub::open(post).unwrap();
        let board = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        board.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        board.send_to(b"hello", hub.address().unwrap()).unwrap();
        let Mail::Frame { from, bytes } = mail.recv().unwrap() else { panic!("a datagram") };
        assert_eq!((from, &bytes[..]), (board.local_addr().unwrap(), &b"hello"[..]));
        hub.send(from, b"");
        hub.send(from, b"answer");
        let mut buffer = [0; 16];
        let count = board.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..count], b"answer");
    }
}
