//! What comes in from the boards, by whatever way: one box for all of it.

use crate::queue::Micros;
use defmt_decoder::{DecodeError, StreamDecoder, Table};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes of a process's complaints that are kept.
const COMPLAINT_BYTES_MAX: usize = 4_096;

/// Something that came in.
#[derive(Debug)]
pub(super) enum Mail {
    /// A datagram.
    Frame { from: SocketAddr, bytes: Vec<u8> },
    /// A line of a log, with the time its writer had.
    Line { writer: Writer, own: Micros, text: String },
    /// A process has ended.
    Ended { writer: Writer },
}

/// Whose log it is: a node, and which of its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) node: u32,
    pub(super) process: u32,
}

/// Passes on the log of a board, decoded with the strings of its image, until it ends.
pub(super) fn follow_board(mut log: impl Read + Send + 'static, table: Arc<Table>, writer: Writer, post: Sender<Mail>) {
    thread::spawn(move || {
        let mut decoder = table.new_stream_decoder();
        let mut bytes = [0; 4_096];
        while let Ok(count @ 1..) = log.read(&mut bytes) {
            decoder.received(&bytes[..count]);
            if !pass_on(&mut *decoder, writer, &post) {
                return; // nobody reads any more
            }
        }
        let _ = post.send(Mail::Ended { writer });
    });
}

/// Passes on what can be decoded so far; whether somebody still reads.
fn pass_on(decoder: &mut dyn StreamDecoder, writer: Writer, post: &Sender<Mail>) -> bool {
    loop {
        let frame = match decoder.decode() {
            Ok(frame) => frame,
            // The decoder drops a damaged line by itself: a board that loses power leaves half of one.
            Err(DecodeError::Malformed) => continue,
            Err(DecodeError::UnexpectedEof) => return true,
        };
        let own = frame.display_timestamp().and_then(|shown| micros(&shown.to_string())).unwrap_or(0);
        let text = frame.display_message().to_string();
        if post.send(Mail::Line { writer, own, text }).is_err() {
            return false;
        }
    }
}

/// Passes on the lines of a desktop node, each begun by its time, until it ends.
pub(super) fn follow_lines(log: impl Read + Send + 'static, writer: Writer, post: Sender<Mail>) {
    thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            let (time, text) = line.split_once(' ').unwrap_or(("", &line));
            let own = micros(time).unwrap_or(0);
            if post.send(Mail::Line { writer, own, text: text.to_owned() }).is_err() {
                return;
            }
        }
        let _ = post.send(Mail::Ended { writer });
    });
}

/// The time `12.345678`, in microseconds.
fn micros(text: &str) -> Option<Micros> {
    let (seconds, rest) = text.split_once('.')?;
    if rest.len() != 6 {
        return None;
    }
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(rest.parse().ok()?)
}

/// What a process complains about, kept for when it ends too soon.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Complaints {
    /// Keeps reading, so that the process is never held up.
    pub(super) fn follow(mut errors: impl Read + Send + 'static) -> Self {
        let complaints = Self::default();
        let kept = complaints.clone();
        thread::spawn(move || {
            let mut bytes = [0; 1_024];
            while let Ok(count @ 1..) = errors.read(&mut bytes) {
                let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
                let room = COMPLAINT_BYTES_MAX.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..count.min(room)]);
            }
        });
        complaints
    }

    /// What was kept, in one line.
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
    fn times_read_as_microseconds() {
        assert_eq!(micros("12.345678"), Some(12_345_678));
        assert_eq!(micros("0.000000"), Some(0));
        for text in ["", "12", "12.5", "a.000000", "1.00000x", "99999999999999999999.000000"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }

    #[test]
    fn lines_come_with_their_times_and_the_end_is_told() {
        let (post, mail) = channel();
        let writer = Writer { node: 3, process: 1 };
        follow_lines(&b"1.000002 leaderless: no leader is known\nand so on\n"[..], writer, post);
        let told: Vec<(Micros, String)> = mail
            .iter()
            .filter_map(|mail| match mail {
                Mail::Line { writer: Writer { node: 3, process: 1 }, own, text } => Some((own, text)),
                Mail::Line { .. } | Mail::Frame { .. } | Mail::Ended { .. } => None,
            })
            .collect();
        let expected = [(1_000_002, "leaderless: no leader is known"), (0, "so on")];
        assert_eq!(told, expected.map(|(own, text)| (own, text.to_owned())));
    }
}
