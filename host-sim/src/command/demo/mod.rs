//! `conclave demo`: the wireless election on a small radio network, told on the terminal as it happens.
//!
//! The run is simulated first, which takes no time worth mentioning, and made into a [`tale`]: scenes and sentences.
//! Then the tale is played on a terminal ([`screen`], [`frame`], [`panel`]) or printed into a pipe ([`plain`]).

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "nodes, columns and rows are counted in hundreds at most"
)]

mod flood;
mod frame;
mod log;
mod panel;
mod plain;
mod screen;
mod summary;
mod tale;

use clap::Args;
use screen::Screen;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tale::Tale;

/// What a shell calls a program that was interrupted.
const EXIT_INTERRUPTED: u8 = 130;

/// What `conclave demo` is given.
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// The seed of capacities, losses and chance.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How fast to play: 2 is twice as fast.
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

/// Tells; 0 unless it was interrupted.
pub(crate) fn run(args: &DemoArgs) -> ExitCode {
    let tale = Tale::of(args.seed);
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    if args.plain || dumb || !std::io::stdout().is_terminal() {
        return print(&(plain::text(&tale) + &summary::text(&tale, false)));
    }
    let colours = console::colors_enabled();
    let mut screen = match Screen::open() {
        Ok(screen) => screen,
        Err(error) => {
            eprintln!("the terminal cannot be drawn on: {error}");
            return ExitCode::FAILURE;
        }
    };
    let played = tale.scenes.iter().zip(tale.pauses(args.speed)).try_for_each(|(scene, pause)| {
        let (width, height) = Screen::size();
        screen.show(&frame::draw(&tale, scene, (width, height), super::ink()), colours)?;
        screen.wait(pause)
    });
    drop(screen);
    match played {
        Ok(()) => print(&summary::text(&tale, colours)),
        Err(_) => ExitCode::from(EXIT_INTERRUPTED), // by a signal, or because the terminal is gone
    }
}

/// Whoever closed the pipe does not want to read on; that is no failure.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    ExitCode::SUCCESS
}
