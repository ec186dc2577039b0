//! `conclave demo`: plays the wireless election on a small simulated radio network.
//!
//! The run is simulated first, in milliseconds, and recorded as a [`playback`]: scenes and lines. The playback is then
//! shown on a terminal ([`screen`], [`frame`], [`panel`]) or printed into a pipe ([`plain`]).

mod flood;
mod frame;
mod keys;
mod log;
mod panel;
mod plain;
mod playback;
mod screen;

use clap::Args;
use keys::Key;
use playback::Playback;
use screen::Screen;
use std::io::IsTerminal;
use std::process::ExitCode;

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
        match screen.wait(pause)? {
            Some(Key::Quit) => break,
            Some(Key::Next) => skipped = Some(scene.phase),
            Some(Key::Pause) | None => {} // the pause is over
        }
    }
    Ok(())
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
