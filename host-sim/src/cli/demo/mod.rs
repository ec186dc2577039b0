//! `conclave demo`: plays the wireless election on a small simulated radio network.
//!
//! The run is simulated first, in milliseconds, and recorded as a [`playback`]: scenes and lines. The playback is then
//! shown on a terminal ([`frame`], [`panel`]) or printed into a pipe ([`plain`]).

mod flood;
mod frame;
mod log;
mod panel;
mod plain;
mod playback;

use super::screen::{Key, Screen};
use clap::Args;
use playback::Playback;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
pub(super) struct DemoArgs {
    /// The seed of capacities and losses.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The speed: 2 is twice as fast.
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Print plain text at once, as into a pipe.
    #[arg(long)]
    plain: bool,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| (0.1..=100.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.1 to 100".to_owned())
}

/// Plays; returns 0 unless it was interrupted.
pub(super) fn run(args: &DemoArgs) -> ExitCode {
    let playback = Playback::of(args.seed);
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    if args.plain || dumb || !std::io::stdout().is_terminal() {
        return print(&(plain::text(&playback) + &plain::summary(&playback, false)));
    }
    let colours = console::colors_enabled();
    let mut screen = match Screen::open() {
        Ok(screen) => screen,
        Err(error) => {
            eprintln!("the terminal cannot be drawn on: {error}");
            return ExitCode::FAILURE;
        }
    };
    let played = play(&playback, args.speed, colours, &mut screen);
    drop(screen);
    match played {
        // The last map stays when the playback's screen is gone.
        Ok(()) => print(&(last_map(&playback, colours) + &plain::summary(&playback, colours))),
        Err(_) => ExitCode::from(super::EXIT_INTERRUPTED), // by a signal, or because the terminal is gone
    }
}

/// Shows one scene after the other. A key may end a phase, or all of them.
fn play(playback: &Playback, speed: f64, colours: bool, screen: &mut Screen) -> std::io::Result<()> {
    let mut skipped = None;
    for (scene, pause) in playback.scenes.iter().zip(playback.pauses(speed)) {
        if skipped == Some(scene.phase) {
            continue;
        }
        screen.show(&frame::draw(playback, scene, Screen::size(), super::charset()), colours)?;
        match wait(screen, pause)? {
            Some(Asked::Quit) => break,
            Some(Asked::Next) => skipped = Some(scene.phase),
            Some(Asked::Pause) | None => {} // the pause is over
        }
    }
    Ok(())
}

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The space bar: to stop, and to go on.
    Pause,
    /// To the next phase.
    Next,
    /// To the summary.
    Quit,
}

impl Asked {
    fn by(key: Key) -> Option<Self> {
        match key {
            Key::Character(b' ') => Some(Self::Pause),
            Key::Character(b'n') | Key::Right => Some(Self::Next),
            Key::Character(b'q') | Key::Escape => Some(Self::Quit),
            Key::Character(_) => None,
        }
    }
}

/// Waits; the space bar holds the time, another key that asks for something ends the wait.
fn wait(screen: &mut Screen, mut time: Duration) -> std::io::Result<Option<Asked>> {
    let mut held = false;
    loop {
        let Some((key, left)) = screen.wait(if held { Duration::MAX } else { time })? else { return Ok(None) };
        if !held {
            time = left;
        }
        match Asked::by(key) {
            Some(Asked::Pause) => held = !held,
            Some(asked) => return Ok(Some(asked)),
            None => {} // no key of this
        }
    }
}

fn last_map(playback: &Playback, colours: bool) -> String {
    let Some(scene) = playback.scenes.last() else { return String::new() };
    let (width, height) = Screen::size();
    let map = scene.map.draw(width.min(100), height.saturating_sub(4).clamp(8, 17), super::charset());
    map.rows(colours).map(|row| row + "\n").collect()
}

fn print(text: &str) -> ExitCode {
    super::print_text(text);
    ExitCode::SUCCESS
}
