//! A TCP connection as a stream that never blocks its thread.

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use firmware::net::mqtt::Dial;
use std::future::poll_fn;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::task::Poll;
use std::time::Duration;

/// How long to wait for the broker's machine.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Connects to a broker. Its name is looked up every time.
#[derive(Clone, Debug)]
pub(crate) struct TcpDial {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// A connection to a broker.
pub(crate) struct Tcp(TcpStream);

impl TcpDial {
    /// Reads `HOST` or `HOST:PORT`.
    ///
    /// # Errors
    /// A sentence, where it is neither.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self { host: address.ip().to_string(), port: address.port() });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => (host, port.parse().map_err(|_| "a port is a number")?),
            Some(_) | None => (text, firmware::net::mqtt::PORT),
        };
        if host.is_empty() {
            Err("a broker has a name or an address".to_owned())
        } else {
            Ok(Self { host: host.to_owned(), port })
        }
    }

    pub(crate) fn open(&self) -> io::Result<Tcp> {
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    return Ok(Tcp(stream));
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

impl Dial for TcpDial {
    type Stream<'a> = Tcp;

    async fn dial(&mut self) -> Option<Tcp> {
        self.open().ok()
    }
}

impl ErrorType for Tcp {
    type Error = ErrorKind;
}

/// Returns pending where the socket is not ready.
fn ready(result: io::Result<usize>) -> Poll<Result<usize, ErrorKind>> {
    match result {
        Ok(count) => Poll::Ready(Ok(count)),
        Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => Poll::Pending,
        Err(_) => Poll::Ready(Err(ErrorKind::Other)),
    }
}

impl Read for Tcp {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        poll_fn(|_| ready(self.0.read(buffer))).await
    }
}

impl Write for Tcp {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        poll_fn(|_| ready(self.0.write(bytes))).await
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(()) // written at once
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_a_name_or_an_address_with_a_port_or_without() {
        for (text, host, port) in [
            ("desk.local", "desk.local", 1883),
            ("desk.local:2000", "desk.local", 2000),
            ("10.0.0.1:1", "10.0.0.1", 1),
            ("[::1]:7", "::1", 7),
            ("::1", "::1", 1883),
        ] {
            let dial = TcpDial::parse(text).unwrap();
            assert_eq!((dial.host.as_str(), dial.port), (host, port), "{text}");
        }
        for wrong in ["", ":1883", "desk:port"] {
            assert!(TcpDial::parse(wrong).is_err(), "{wrong}");
        }
    }
}
