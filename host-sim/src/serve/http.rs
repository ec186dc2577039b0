//! A server of a few files to this machine: it answers GET and HEAD, and takes nothing.
//!
//! It listens on 127.0.0.1, unless another address is asked for. A request for another host is refused, so that a page of
//! another site cannot reach it by a name that resolves here; so is one from another origin, one with a body, and any path
//! that is no file of the site. What belongs to a swarm ([`Live`]) is for those who know its token.

use super::live::{Live, Reply};
use super::site::{File, Site};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The longest head of a request.
const HEAD_MAX: usize = 8 * 1024;
/// How many requests are answered at once; further ones are closed.
const CONNECTIONS_MAX: usize = 32;
/// How long a client may take for its request, and for its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the server looks whether it was interrupted.
const IDLE: Duration = Duration::from_millis(20);

pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Site,
    live: Option<Live>,
}

impl Server {
    /// Serves at a socket that is bound; with a swarm to follow, if there is one.
    pub(crate) fn new(listener: TcpListener, site: Site, live: Option<Live>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, site, live })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until interrupted.
    pub(crate) fn run(&self, interrupted: &AtomicBool) -> io::Result<()> {
        let open = AtomicUsize::new(0);
        thread::scope(|scope| {
            while !interrupted.load(Ordering::Relaxed) {
                match self.listener.accept() {
                    Ok((stream, _)) if open.load(Ordering::Relaxed) < CONNECTIONS_MAX => {
                        open.fetch_add(1, Ordering::Relaxed);
                        scope.spawn(|| {
                            // A client that goes away in the middle is its own affair.
                            let _ = self.serve(stream, interrupted);
                            open.fetch_sub(1, Ordering::Relaxed);
                        });
                    }
                    Ok(_) => {} // too many: closed
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(IDLE),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    }

    fn serve(&self, mut stream: TcpStream, interrupted: &AtomicBool) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut head = Vec::new();
        let mut buffer = [0; 1024];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let count = stream.read(&mut buffer)?;
            if count == 0 || head.len() + count > HEAD_MAX {
                return Ok(());
            }
            head.extend_from_slice(&buffer[..count]);
        }
        let answer = answer(&String::from_utf8_lossy(&head), self.address, &self.site, self.live.as_ref());
        stream.write_all(answer.head().as_bytes())?;
        match answer {
            Answer::File { file, head_only: false } => stream.write_all(&file.bytes)?,
            Answer::Live(Reply::Text { text, .. }) => stream.write_all(text.as_bytes())?,
            Answer::Live(Reply::Events(events)) => events.write(&mut stream, interrupted)?,
            Answer::File { head_only: true, .. } | Answer::Refused(_) => {} // the head is all
        }
        stream.flush()
    }
}

enum Answer<'a> {
    File { file: &'a File, head_only: bool },
    Live(Reply),
    Refused(&'static str),
}

impl Answer<'_> {
    fn head(&self) -> String {
        const ALWAYS: &str = "Connection: close\r\nCache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n\
                              Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n";
        match self {
            Self::File { file, .. } => {
                let (kind, len) = (file.kind, file.bytes.len());
                format!("HTTP/1.1 200 OK\r\n{ALWAYS}Content-Type: {kind}\r\nContent-Length: {len}\r\n\r\n")
            }
            Self::Live(Reply::Events(_)) => {
                format!("HTTP/1.1 200 OK\r\n{ALWAYS}Content-Type: text/event-stream\r\n\r\n")
            }
            Self::Live(Reply::Text { status, text }) => {
                let len = text.len();
                format!("HTTP/1.1 {status}\r\n{ALWAYS}Content-Type: application/json\r\nContent-Length: {len}\r\n\r\n")
            }
            Self::Refused(status) => format!("HTTP/1.1 {status}\r\n{ALWAYS}Content-Length: 0\r\n\r\n"),
        }
    }
}

/// Whether this is the server's own name. One that listens on all addresses has no name, and any address of a machine;
/// a name that another site has chosen is none.
fn is_own(host: &str, address: SocketAddr) -> bool {
    let port = address.port();
    let local = || address.ip().is_loopback() && host == format!("localhost:{port}");
    let any = || address.ip().is_unspecified() && host.parse::<SocketAddr>().is_ok_and(|host| host.port() == port);
    // A browser leaves out the port of the web.
    host == address.to_string() || local() || any() || (port == 80 && host.parse::<IpAddr>() == Ok(address.ip()))
}

/// Answers a request by its head.
fn answer<'a>(head: &str, address: SocketAddr, site: &'a Site, live: Option<&Live>) -> Answer<'a> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<(&str, &str)> =
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name.trim(), value.trim())).collect();
    let all = |name: &str| -> Vec<&str> {
        headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name)).map(|&(_, value)| value).collect()
    };
    let [host] = all("host")[..] else { return Answer::Refused("400 Bad Request") };
    if !is_own(host, address) {
        return Answer::Refused("403 Forbidden");
    }
    if all("origin").iter().any(|&origin| origin != format!("http://{host}")) {
        return Answer::Refused("403 Forbidden");
    }
    if all("content-length").iter().any(|&length| length != "0") || !all("transfer-encoding").is_empty() {
        return Answer::Refused("413 Content Too Large");
    }
    if let Some(reply) = live.and_then(|live| live.reply(method, path, &all("authorization"))) {
        return Answer::Live(reply);
    }
    if !["GET", "HEAD"].contains(&method) {
        return Answer::Refused("405 Method Not Allowed");
    }
    match site.file(path.split('?').next().unwrap_or_default()) {
        Some(file) => Answer::File { file, head_only: method == "HEAD" },
        None => Answer::Refused("404 Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::of(vec![File { name: "index.html", kind: "text/html", bytes: b"<p>".to_vec() }])
    }

    fn status_at(address: &str, head: &str) -> String {
        answer(head, address.parse().unwrap(), &site(), None).head()[9..12].to_owned()
    }

    fn status(head: &str) -> String {
        status_at("127.0.0.1:80", head)
    }

    #[test]
    fn a_server_of_another_address_has_that_name_and_no_other() {
        let get = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        for (address, host, expected) in [
            ("192.168.1.5:8047", "192.168.1.5:8047", "200"),
            ("192.168.1.5:8047", "localhost:8047", "403"),
            ("0.0.0.0:8047", "192.168.1.5:8047", "200"),
            ("0.0.0.0:8047", "evil.example:8047", "403"),
            ("0.0.0.0:8047", "192.168.1.5:80", "403"),
            ("[::1]:8047", "[::1]:8047", "200"),
            ("127.0.0.1:8047", "192.168.1.5:8047", "403"),
        ] {
            assert_eq!(status_at(address, &get(host)), expected, "{address}, {host}");
        }
    }

    #[test]
    fn a_file_is_served_to_this_host_and_origin() {
        for path in ["/", "/index.html", "/?x=1"] {
            assert_eq!(status(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n")), "200", "{path}");
        }
        assert_eq!(status("HEAD / HTTP/1.1\r\nhost: localhost:80\r\nOrigin: http://localhost:80\r\n\r\n"), "200");
    }

    #[test]
    fn other_hosts_origins_paths_methods_and_bodies_are_refused() {
        let cases = [
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nOrigin: https://evil.example\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nOrigin: null\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nHost: evil.example\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "405"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 5\r\n\r\n", "413"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nTransfer-Encoding: chunked\r\n\r\n", "413"),
            ("GET /../Cargo.toml HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "404"),
            ("GET //index.html HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "404"),
            ("GET /%2e%2e/index.html HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "404"),
            ("GET index.html HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "404"),
            ("nonsense\r\n\r\n", "400"),
        ];
        for (head, expected) in cases {
            assert_eq!(status(head), expected, "{head}");
        }
    }

    #[test]
    fn a_server_answers_and_ends_when_it_is_interrupted() {
        let server = Server::new(TcpListener::bind("127.0.0.1:0").unwrap(), site(), None).unwrap();
        let interrupted = AtomicBool::new(false);
        thread::scope(|scope| {
            let running = scope.spawn(|| server.run(&interrupted));
            let mut stream = TcpStream::connect(server.address()).unwrap();
            let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n<p>"), "{answer}");
            interrupted.store(true, Ordering::Relaxed);
            running.join().unwrap().unwrap();
        });
    }
}
