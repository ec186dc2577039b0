//! A swarm for those who know its token: its events, and faults for it.
//!
//! `GET /events` streams server-sent events. `POST /act?fault=...` adds a fault, the keys of a table `[[faults]]`; it has no
//! body. Both need the header `Authorization: Bearer TOKEN`, which no page of another site can send: a browser would ask
//! this server first, and is refused.

use super::feed::{Feed, Message};
use serde_json::json;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often a stream looks whether the server was interrupted and whether its reader is there.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) struct Live {
    feed: Arc<Feed>,
    token: String,
}

/// What is answered to a request for the swarm.
pub(super) enum Reply {
    Events(Events),
    Text { status: &'static str, text: String },
}

impl Live {
    /// Draws a token.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn new(feed: Arc<Feed>) -> io::Result<Self> {
        let mut random = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        Ok(Self { feed, token: format!("{:032x}", u128::from_ne_bytes(random)) })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Answers a request for the swarm; `None` where it is for something else.
    pub(super) fn reply(&self, method: &str, path: &str, authorization: &[&str]) -> Option<Reply> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let expected = match path {
            "/events" => "GET",
            "/act" => "POST",
            _ => return None,
        };
        if method != expected {
            return Some(refused("405 Method Not Allowed", "this is asked for in another way"));
        }
        if !authorization.iter().any(|header| self.is_token(header)) {
            return Some(refused("401 Unauthorized", "the token is missing or wrong"));
        }
        if path == "/events" {
            let Some((before, after)) = self.feed.read() else {
                return Some(refused("503 Service Unavailable", "too many pages follow this swarm"));
            };
            return Some(Reply::Events(Events { before, after }));
        }
        let fault = query.strip_prefix("fault=").and_then(decoded);
        let Some(fault) = fault else { return Some(refused("400 Bad Request", "the fault is missing")) };
        Some(match self.feed.act(&fault) {
            Ok(at) => Reply::Text { status: "200 OK", text: json!({ "at": at }).to_string() },
            Err(sentence) => refused("409 Conflict", &sentence),
        })
    }

    /// Compares in a time that says nothing of the token.
    fn is_token(&self, header: &str) -> bool {
        let given = header.strip_prefix("Bearer ").unwrap_or_default();
        let differs = given.bytes().zip(self.token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
        given.len() == self.token.len() && differs == 0
    }
}

fn refused(status: &'static str, sentence: &str) -> Reply {
    Reply::Text { status, text: json!({ "error": sentence }).to_string() }
}

/// Decodes `%20`; `None` where that is damaged.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let [high, low] = [char::from(rest.next()?).to_digit(16)?, char::from(rest.next()?).to_digit(16)?];
            bytes.push(u8::try_from(16 * high + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The messages to one page.
pub(super) struct Events {
    before: Vec<Message>,
    after: Receiver<Message>,
}

impl Events {
    /// Writes messages until the reader goes away, is too slow, or the server ends.
    pub(super) fn write(self, stream: &mut TcpStream, interrupted: &AtomicBool) -> io::Result<()> {
        let mut text = String::new();
        let add = |text: &mut String, message: &str| text.extend(["data: ", message, "\n\n"]);
        self.before.iter().for_each(|message| add(&mut text, message));
        while !interrupted.load(Ordering::Relaxed) {
            stream.write_all(text.as_bytes())?;
            text.clear();
            match self.after.recv_timeout(LOOK) {
                Ok(message) => add(&mut text, &message),
                Err(RecvTimeoutError::Timeout) => text.push_str(":\n\n"), // fails where nobody reads
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.after.try_iter().for_each(|message| add(&mut text, &message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Act;
    use std::sync::mpsc::channel;

    fn status(live: &Live, method: &str, path: &str, headers: &[&str]) -> Option<&'static str> {
        live.reply(method, path, headers).map(|reply| match reply {
            Reply::Events(_) => "200 OK",
            Reply::Text { status, .. } => status,
        })
    }

    #[test]
    fn no_event_and_no_act_without_the_token() {
        let (acts, swarm) = channel::<Act>();
        let live = Live::new(Arc::new(Feed::new(&json!({}), acts))).unwrap();
        let token = format!("Bearer {}", live.token());
        let other = format!("Bearer {}", live.token().replace(|digit| digit != '0', "0"));
        let heal = "/act?fault=do%20%3D%20%22heal%22";
        for headers in [&[][..], &["Bearer "], &[&other], &[live.token()], &[&token[..token.len() - 1]]] {
            assert_eq!(status(&live, "GET", "/events", headers), Some("401 Unauthorized"), "{headers:?}");
            assert_eq!(status(&live, "POST", heal, headers), Some("401 Unauthorized"), "{headers:?}");
        }
        assert!(swarm.try_recv().is_err(), "nothing reached the swarm");
        for (method, path, expected) in [
            ("GET", heal, "405 Method Not Allowed"),
            ("POST", "/events", "405 Method Not Allowed"),
            ("OPTIONS", heal, "405 Method Not Allowed"),
            ("POST", "/act?fault=%2", "400 Bad Request"),
            ("POST", "/act", "400 Bad Request"),
            ("GET", "/events", "200 OK"),
        ] {
            assert_eq!(status(&live, method, path, &[&token]), Some(expected), "{method} {path}");
        }
        assert_eq!(status(&live, "GET", "/", &[&token]), None);
        std::thread::scope(|scope| {
            let reply = scope.spawn(|| status(&live, "POST", heal, &[&token]));
            let act = swarm.recv().unwrap();
            assert_eq!(act.fault, "do = \"heal\"");
            act.answer.send(Err("no".to_owned())).unwrap();
            assert_eq!(reply.join().unwrap(), Some("409 Conflict"));
        });
    }
}
