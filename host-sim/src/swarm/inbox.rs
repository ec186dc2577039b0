//! The output of all devices: datagrams, log lines and ends, in one channel.

use crate::base::Micros;
use defmt_decoder::{DecodeError, StreamDecoder, Table};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How many bytes of standard error are kept.
const STDERR_BYTES_MAX: usize = 4_096;

#[derive(Debug)]
pub(super) enum InboxMessage {
    Frame {
        from: SocketAddr,
        bytes: Vec<u8>,
    },
    /// A line of a log, with the device's own time.
    Line {
        sender: InboxSender,
        board_time: Micros,
        text: String,
    },
    Ended {
        sender: InboxSender,
    },
}

/// A node, and which of its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InboxSender {
    pub(super) node: u32,
    pub(super) process: u32,
}

/// Forwards the log of a board, decoded with the strings of its image, until it ends.
pub(super) fn read_board_log(
    mut log: impl Read + Send + 'static,
    table: Arc<Table>,
    sender: InboxSender,
    inbox: Sender<InboxMessage>,
) {
    thread::spawn(move || {
        let mut decoder = table.new_stream_decoder();
        let mut bytes = [0; 4_096];
        while let Ok(count @ 1..) = log.read(&mut bytes) {
            decoder.received(&bytes[..count]);
            if !forward(&mut *decoder, sender, &inbox) {
                return; // the inbox is closed
            }
        }
        let _ = inbox.send(InboxMessage::Ended { sender });
    });
}

/// Forwards the lines decoded so far; returns whether the inbox is open.
fn forward(decoder: &mut dyn StreamDecoder, sender: InboxSender, inbox: &Sender<InboxMessage>) -> bool {
    loop {
        let frame = match decoder.decode() {
            Ok(frame) => frame,
            // The decoder drops a damaged line: a board that loses power leaves half of one.
            Err(DecodeError::Malformed) => continue,
            Err(DecodeError::UnexpectedEof) => return true,
        };
        let board_time = frame.display_timestamp().and_then(|shown| micros(&shown.to_string())).unwrap_or(0);
        let text = frame.display_message().to_string();
        if inbox.send(InboxMessage::Line { sender, board_time, text }).is_err() {
            return false;
        }
    }
}

/// Forwards the lines of a desktop node, each with its time at the beginning, until it ends.
pub(super) fn read_lines(log: impl Read + Send + 'static, sender: InboxSender, inbox: Sender<InboxMessage>) {
    thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            let (time, text) = line.split_once(' ').unwrap_or(("", &line));
            let board_time = micros(time).unwrap_or(0);
            if inbox.send(InboxMessage::Line { sender, board_time, text: text.to_owned() }).is_err() {
                return;
            }
        }
        let _ = inbox.send(InboxMessage::Ended { sender });
    });
}

/// Parses a time such as `12.345678` into microseconds.
fn micros(text: &str) -> Option<Micros> {
    let (seconds, rest) = text.split_once('.')?;
    if rest.len() != 6 {
        return None;
    }
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(rest.parse().ok()?)
}

/// The beginning of a process's standard error, for when it ends too soon.
#[derive(Clone, Debug, Default)]
pub(super) struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    /// Reads standard error to its end, so that the process never blocks.
    pub(super) fn follow(mut errors: impl Read + Send + 'static) -> Self {
        let tail = Self::default();
        let kept = tail.clone();
        thread::spawn(move || {
            let mut bytes = [0; 1_024];
            while let Ok(count @ 1..) = errors.read(&mut bytes) {
                let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
                let room = STDERR_BYTES_MAX.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..count.min(room)]);
            }
        });
        tail
    }

    /// Returns the kept text in one line.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).lines().collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn times_are_parsed_as_microseconds() {
        assert_eq!(micros("12.345678"), Some(12_345_678));
        assert_eq!(micros("0.000000"), Some(0));
        for text in ["", "12", "12.5", "a.000000", "1.00000x", "99999999999999999999.000000"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }

    #[test]
    fn lines_are_forwarded_with_their_times() {
        let (sender, inbox) = channel();
        let device = InboxSender { node: 3, process: 1 };
        read_lines(&b"1.000002 leaderless: no leader is known\nand so on\n"[..], device, sender);
        let lines: Vec<(Micros, String)> = inbox
            .iter()
            .filter_map(|message| match message {
                InboxMessage::Line { sender: InboxSender { node: 3, process: 1 }, board_time, text } => {
                    Some((board_time, text))
                }
                InboxMessage::Line { .. } | InboxMessage::Frame { .. } | InboxMessage::Ended { .. } => None,
            })
            .collect();
        let expected = [(1_000_002, "leaderless: no leader is known"), (0, "so on")];
        assert_eq!(lines, expected.map(|(board_time, text)| (board_time, text.to_owned())));
    }
}
