//! `conclave run --watch`: a scenario on the terminal's map, with keys to break it.

use super::screen::{Key, Screen};
use crate::Scenario;
use crate::draw::map::{Canvas, Map, Mark};
use crate::nodes::{AnyNode, world};
use crate::sim::fault_plan::{FaultAction, FaultStep, FaultTarget, PartitionCut, StoredRecords};
use crate::sim::world::World;
use crate::trace::TraceEvent;
use crate::trace::narrator::{Narrator, time};
use anstyle::Style;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

/// What the keys do, in rows as wide as the terminal.
const KEYS: [&str; 8] =
    ["space pause", ". step", "+ - speed", "k kill leader", "r restart", "c cut", "h heal", "q quit"];
/// What stands for a node, where there is room for a row more.
const LEGEND: [Mark; 4] = [Mark::Leads, Mark::Follows, Mark::Leaderless, Mark::Down];
/// From so many rows on there is a legend.
const LEGEND_FROM: usize = 24;
/// The time between two pictures.
const FRAME: Duration = Duration::from_millis(40);
/// How many sentences are shown.
const LINES: usize = 6;

/// Plays one seed of a scenario; prints the faults of the user and the hash of the trace in the end.
pub(super) fn run(scenario: &Scenario, seed: u64) -> super::Ended {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err("--watch needs a terminal".to_owned());
    }
    let failed = |error: io::Error| format!("the terminal cannot be drawn on: {error}");
    let mut screen = Screen::open().map_err(failed)?;
    let mut watched = Watched::new(scenario, seed);
    let ended = play(&mut screen, &mut watched);
    drop(screen);
    super::print_text(&watched.summary());
    Ok(ended.map_or(ExitCode::from(super::EXIT_INTERRUPTED), |()| ExitCode::SUCCESS))
}

/// Shows one picture after the other until a key ends it.
fn play(screen: &mut Screen, watched: &mut Watched<'_>) -> io::Result<()> {
    loop {
        watched.advance();
        let (width, height) = Screen::size();
        screen.show(&watched.draw(width, height), console::colors_enabled())?;
        let mut left = FRAME;
        while let Some((key, rest)) = screen.wait(left)? {
            if watched.on_key(key) {
                return Ok(());
            }
            left = rest;
        }
    }
}

struct Watched<'a> {
    scenario: &'a Scenario,
    seed: u64,
    world: World<AnyNode>,
    narrator: Narrator,
    lines: VecDeque<String>,
    speed: f64,
    paused: bool,
    /// Faults of the user, as tables of a scenario.
    faults: String,
}

impl<'a> Watched<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let (world, narrator) = (world(scenario, seed), Narrator::new(scenario.world.nodes));
        let (lines, faults) = (VecDeque::new(), String::new());
        Self { scenario, seed, world, narrator, lines, speed: 1.0, paused: false, faults }
    }

    /// Runs for as long as a picture is shown.
    fn advance(&mut self) {
        if !self.paused {
            let until = self.world.now() + (FRAME.as_micros() as f64 * self.speed) as u64;
            while self.world.next_at().is_some_and(|at| at <= until) {
                self.step();
            }
            self.world.run_until(until, &mut ());
        }
    }

    fn step(&mut self) {
        let Self { world, narrator, lines, .. } = self;
        world.step(&mut |event: &TraceEvent| {
            lines.extend(narrator.line(event));
            if lines.len() > LINES {
                lines.pop_front();
            }
        });
    }

    /// Handles a key; returns whether it ends the watch.
    fn on_key(&mut self, key: Key) -> bool {
        let Key::Character(key) = key else { return key == Key::Escape };
        match key {
            b' ' => self.paused = !self.paused,
            b'.' => {
                self.paused = true;
                let before = self.lines.back().cloned();
                while self.lines.back() == before.as_ref() && self.world.next_at().is_some() {
                    self.step();
                }
            }
            b'+' | b'=' => self.speed = (self.speed * 2.0).min(128.0),
            b'-' => self.speed = (self.speed / 2.0).max(1.0 / 64.0),
            b'k' if self.world.leader().is_none() => self.say("nobody leads: there is no leader to kill"),
            b'k' => self.inject(FaultAction::Crash(FaultTarget::Leader), "do = \"crash\"\nnode = \"leader\""),
            b'r' => {
                let restart = FaultAction::Restart { target: FaultTarget::Last, records: StoredRecords::Kept };
                self.inject(restart, "do = \"restart\"\nnode = \"last\"");
            }
            b'c' => {
                self.inject(
                    FaultAction::Partition(PartitionCut::LeftRight),
                    "do = \"partition\"\ncut = \"left-right\"",
                );
            }
            b'h' => self.inject(FaultAction::Heal, "do = \"heal\""),
            b'q' => return true,
            _ => {} // no key of this
        }
        false
    }

    /// Shows a line about what a key did not do.
    fn say(&mut self, words: &str) {
        self.lines.push_back(format!("{}{words}", time(self.world.now())));
        if self.lines.len() > LINES {
            self.lines.pop_front();
        }
    }

    fn inject(&mut self, action: FaultAction, table: &str) {
        let Some(at) = self.world.free_moment() else { return };
        let number = self.world.plan().faults.iter().map(|step| step.number + 1).max().unwrap_or(0);
        self.world.add_fault(FaultStep { at, spread: 0, lasts: (0, 0), draw: number, action, number });
        let _ = write!(self.faults, "\n[[faults]]\nat = \"{at}us\"\n{table}\n");
        // It is seen at once, also where nothing else moves.
        while self.world.next_at().is_some_and(|next| next <= at) {
            self.step();
        }
    }

    fn draw(&self, width: usize, height: usize) -> Canvas {
        let mut canvas = Canvas::new(width, height, super::charset());
        let clock = format!(
            "{:.3} s  x{}{}",
            self.world.now() as f64 / 1e6,
            self.speed,
            if self.paused { "  PAUSED" } else { "" }
        );
        let title = format!("{}, {} nodes, seed {}", self.scenario.name, self.scenario.world.nodes, self.seed);
        let end = canvas.append(1, 0, &title, Style::new().bold());
        canvas.text(end + 3, 0, &clock, Style::new());
        let mut map = Map::of(&self.world);
        // Each leader has a colour; letters would not fit.
        let leaders: Vec<u32> =
            (0..).zip(&map.nodes).filter(|(_, node)| node.mark == Mark::Leads).map(|(id, _)| id).collect();
        for node in &mut map.nodes {
            node.colour = leaders.iter().position(|leader| Some(*leader) == node.leader).unwrap_or(0);
        }
        let keys = key_rows(width);
        let legend = usize::from(height >= LEGEND_FROM);
        let rows = height.saturating_sub(2 + legend + keys.len() + LINES).max(4);
        canvas.paste(0, 1, &map.draw(width, rows, super::charset()));
        let mut row = rows as i64 + 1;
        if legend > 0 {
            let mut column = 1;
            let outside = self.scenario.members.map(|_| Mark::Outside);
            for mark in LEGEND.into_iter().chain(outside) {
                column = canvas.append(column, row, &mark.glyph(canvas.charset).to_string(), mark.style(0));
                column = canvas.append(column, row, &format!(" {}", mark.word()), Style::new().dimmed()) + 2;
            }
            row += 1;
        }
        for keys in &keys {
            canvas.text(1, row, keys, Style::new().dimmed());
            row += 1;
        }
        for (row, line) in (row..).zip(&self.lines) {
            canvas.text(1, row, line, Style::new());
        }
        canvas
    }

    /// What was done, for a scenario that replays it, and the hash of all events up to the end of the watch.
    fn summary(&self) -> String {
        let (seconds, hash) = (self.world.now() as f64 / 1e6, self.world.trace_hash());
        let done = if self.faults.is_empty() { String::new() } else { format!("your faults:\n{}\n", self.faults) };
        format!(
            "{done}watched {seconds:.3} s of {} with seed {}, trace hash {hash:016x}\n",
            self.scenario.name, self.seed
        )
    }
}

/// The keys in rows of at most `width`.
fn key_rows(width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for key in KEYS {
        let last = rows.last_mut().expect("there is a first row");
        if last.is_empty() {
            last.push_str(key);
        } else if last.len() + 2 + key.len() < width {
            *last += "  ";
            *last += key;
        } else {
            rows.push(key.to_owned());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn keys_break_a_run_and_its_faults_replay_to_the_same_hash() {
        let scenario = Scenario::find(Path::new("grid64-cold-start"), crate::check::OF_LOCKS).unwrap();
        let mut watched = Watched::new(&scenario, 1);
        let advance = |watched: &mut Watched<'_>, pictures: u32| (0..pictures).for_each(|_| watched.advance());
        assert!(!watched.on_key(Key::Character(b'+')));
        for key in [b'k', b'c', b'h', b'r'] {
            advance(&mut watched, 50);
            watched.on_key(Key::Character(key));
        }
        watched.on_key(Key::Character(b' '));
        let paused = watched.world.now();
        advance(&mut watched, 5);
        assert_eq!(watched.world.now(), paused);
        watched.on_key(Key::Character(b'.'));
        assert!(watched.world.now() > paused);
        watched.on_key(Key::Character(b' '));
        advance(&mut watched, 500);
        assert!(watched.draw(100, 40).rows(false).any(|row| row.contains("grid64-cold-start, 64 nodes, seed 1")));
        let text = crate::scenario::shipped::text("grid64-cold-start").unwrap();
        let replayed = Scenario::parse("replay", &format!("{text}{}", watched.faults), crate::check::OF_LOCKS).unwrap();
        let hash = crate::metrics::run::run_of(&replayed, 1, &mut ()).hash;
        assert!(watched.summary().ends_with(&format!("trace hash {hash:016x}\n")), "{}", watched.summary());
        assert!(watched.on_key(Key::Character(b'q')));
    }

    #[test]
    fn a_key_without_an_effect_is_no_fault_and_a_node_outside_of_the_group_is_not_down() {
        let scenario = Scenario::find(Path::new("group-change"), crate::check::OF_LOCKS).unwrap();
        let mut watched = Watched::new(&scenario, 1);
        watched.advance();
        watched.on_key(Key::Character(b'k'));
        assert_eq!(watched.faults, "");
        assert!(watched.lines.back().is_some_and(|line| line.ends_with("nobody leads: there is no leader to kill")));
        let rows: Vec<String> = watched.draw(80, 30).rows(false).collect();
        assert!(rows.iter().any(|row| row.contains("-4 1667")), "{rows:?}");
        assert!(rows.iter().any(|row| row.contains("- no member")), "{rows:?}");
    }

    #[test]
    fn every_key_is_shown_however_narrow_the_terminal_and_an_act_is_seen_while_it_is_paused() {
        let scenario = Scenario::find(Path::new("demo"), crate::check::OF_LOCKS).unwrap();
        let mut watched = Watched::new(&scenario, 0);
        (0..75).for_each(|_| watched.advance());
        for (width, height) in [(80, 24), (60, 20), (40, 30)] {
            let rows: Vec<String> = watched.draw(width, height).rows(false).collect();
            assert!(KEYS.iter().all(|key| rows.iter().any(|row| row.contains(key))), "{width}: {rows:?}");
            let legend = rows.iter().any(|row| row.contains("follows  "));
            let last = rows.iter().rfind(|row| !row.trim().is_empty());
            assert_eq!(legend, height >= LEGEND_FROM, "{rows:?}");
            assert!(last.is_some_and(|row| row.contains(" s  node")), "the latest line is shown: {rows:?}");
        }
        watched.on_key(Key::Character(b' '));
        watched.on_key(Key::Character(b'k'));
        assert!(watched.lines.back().is_some_and(|line| line.contains("the leader, fails")), "{:?}", watched.lines);
    }
}
