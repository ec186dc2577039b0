//! The terminal during the playback: the alternate screen without a cursor, restored in every case.

use crate::draw::map::Canvas;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;
#[cfg(unix)]
use {
    signal_hook::consts::SIGTSTP,
    std::sync::Arc,
    std::sync::atomic::{AtomicBool, Ordering},
};

/// Switches to the alternate screen and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[2J\x1b[?25h\x1b[?1049l";

/// How often signals are polled.
const SLICE: Duration = Duration::from_millis(20);

/// The terminal. Dropping it restores it.
pub(super) struct Screen {
    signals: Signals,
    size: (usize, usize),
}

impl Screen {
    /// Takes over the terminal.
    pub(super) fn open() -> io::Result<Self> {
        let signals = Signals::catch()?;
        write(ENTER)?;
        Ok(Self { signals, size: Self::size() })
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

    /// Waits, unless interrupted; while the process is stopped, the terminal is restored.
    pub(super) fn wait(&mut self, mut time: Duration) -> io::Result<()> {
        loop {
            if self.signals.interrupted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.signals.stopped() {
                write(LEAVE)?;
                Signals::stop()?;
                write(ENTER)?;
            }
            if time.is_zero() {
                return Ok(());
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

/// Signals from outside.
#[cfg(unix)]
struct Signals {
    interrupted: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
}

#[cfg(unix)]
impl Signals {
    fn catch() -> io::Result<Self> {
        let stopped = Arc::default();
        signal_hook::flag::register(SIGTSTP, Arc::clone(&stopped))?;
        Ok(Self { interrupted: crate::cli::interrupts()?, stopped })
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn stopped(&self) -> bool {
        self.stopped.swap(false, Ordering::Relaxed)
    }

    /// Stops this process until it is continued.
    fn stop() -> io::Result<()> {
        signal_hook::low_level::emulate_default_handler(SIGTSTP)
    }
}

/// Other systems end the process, and the terminal restores itself.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn catch() -> io::Result<Self> {
        Ok(Self)
    }
    fn interrupted(&self) -> bool {
        false
    }
    fn stopped(&self) -> bool {
        false
    }
    fn stop() -> io::Result<()> {
        Ok(())
    }
}
