//! The terminal while the tale is played: its other screen, without a cursor, and given back whatever happens.

use host_sim::map::Canvas;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;
#[cfg(unix)]
use {
    signal_hook::consts::SIGTSTP,
    std::sync::Arc,
    std::sync::atomic::{AtomicBool, Ordering},
};

/// Leaves what is on the terminal alone: drawing is done on its other screen.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[2J\x1b[?25h\x1b[?1049l";

/// How often to look whether to stop.
const SLICE: Duration = Duration::from_millis(20);

/// The terminal. Dropping it gives it back as it was.
pub(super) struct Screen {
    signals: Signals,
    size: (usize, usize),
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn open() -> io::Result<Self> {
        let signals = Signals::catch()?;
        say(ENTER)?;
        Ok(Self { signals, size: Self::size() })
    }

    /// Its columns and rows at present.
    pub(super) fn size() -> (usize, usize) {
        match console::Term::stdout().size() {
            (0, _) | (_, 0) => (80, 24), // a terminal that was never told its size
            (height, width) => (usize::from(width), usize::from(height)),
        }
    }

    /// Shows a frame in the place of the one before.
    pub(super) fn show(&mut self, frame: &Canvas, colours: bool) -> io::Result<()> {
        let size = (frame.width(), frame.height());
        // After a resize nobody knows what is where.
        let mut text =
            if std::mem::replace(&mut self.size, size) == size { String::new() } else { "\x1b[2J".to_owned() };
        for (row, line) in (1..).zip(frame.rows(colours)) {
            let _ = write!(text, "\x1b[{row};1H{line}\x1b[K"); // a string takes everything
        }
        say(&text)
    }

    /// Waits, unless interrupted; a process that is stopped gives the terminal back meanwhile.
    pub(super) fn wait(&mut self, mut time: Duration) -> io::Result<()> {
        loop {
            if self.signals.interrupted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.signals.stopped() {
                say(LEAVE)?;
                Signals::stop()?;
                say(ENTER)?;
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
        let _ = say(LEAVE); // a terminal that is gone needs nothing
    }
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What somebody outside wants of us.
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
        Ok(Self { interrupted: crate::command::interrupts()?, stopped })
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn stopped(&self) -> bool {
        self.stopped.swap(false, Ordering::Relaxed)
    }

    /// Stops this process until somebody lets it go on.
    fn stop() -> io::Result<()> {
        signal_hook::low_level::emulate_default_handler(SIGTSTP)
    }
}

/// Elsewhere the system ends us; the terminal shows its cursor again by itself.
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
