//! The terminal while something is played on it: the alternate screen without a cursor, restored in every case.

mod keys;

use crate::draw::map::Canvas;
pub(super) use keys::Key;
use keys::Keys;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Switches to the alternate screen and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[2J\x1b[?25h\x1b[?1049l";

/// How often signals are polled.
const SLICE: Duration = Duration::from_millis(20);

/// The terminal. Dropping it restores it. Only Unix stops a process; on other systems a signal ends it.
pub(super) struct Screen {
    interrupted: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
    keys: Keys,
    size: (usize, usize),
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        let (interrupted, stopped) = (crate::cli::interrupts()?, Arc::default());
        #[cfg(unix)]
        signal_hook::flag::register(signal_hook::consts::SIGTSTP, Arc::clone(&stopped))?;
        write(ENTER)?;
        Ok(Self { interrupted, stopped, keys: Keys::open(), size: Self::size() })
    }

    /// Returns its present columns and rows.
    pub(super) fn size() -> (usize, usize) {
        match console::Term::stdout().size() {
            (0, _) | (_, 0) => (80, 24), // a terminal of unknown size
            (height, width) => (usize::from(width), usize::from(height)),
        }
    }

    /// Shows a frame instead of the last one.
    pub(super) fn show(&mut self, frame: &Canvas, colours: bool) -> io::Result<()> {
        let size = (frame.width, frame.height());
        // After a resize the contents are undefined.
        let mut text =
            if std::mem::replace(&mut self.size, size) == size { String::new() } else { "\x1b[2J".to_owned() };
        for (row, line) in (1..).zip(frame.rows(colours)) {
            let _ = write!(text, "\x1b[{row};1H{line}\x1b[K"); // writing to a string cannot fail
        }
        write(&text)
    }

    /// Waits, unless interrupted; while the process is stopped, the terminal is restored. A key ends the wait: it is
    /// returned with the time that is left.
    pub(super) fn wait(&mut self, mut time: Duration) -> io::Result<Option<(Key, Duration)>> {
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.stopped.swap(false, Ordering::Relaxed) {
                write(LEAVE)?;
                self.keys.restore();
                #[cfg(unix)]
                signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
                self.keys.listen();
                write(ENTER)?;
            }
            if let Some(key) = self.keys.poll() {
                return Ok(Some((key, time)));
            }
            if time.is_zero() {
                return Ok(None);
            }
            let slice = time.min(SLICE);
            std::thread::sleep(slice);
            time -= slice;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write(LEAVE); // the terminal may be gone
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
