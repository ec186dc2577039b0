//! The LED of a board: one pattern per state of its node.

use crate::report::Report;
use core::future::Future;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Timer};

/// The state of the node that the LED shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LedState {
    /// No leader is known.
    Candidate,
    /// Another node leads.
    Follower,
    /// This node leads.
    Leader,
    /// This node holds the lock.
    Critical,
    /// The node has stopped.
    Halted,
}

impl LedState {
    /// Milliseconds on, off, on and so on, repeated.
    #[must_use]
    pub const fn pattern(self) -> &'static [u16] {
        match self {
            Self::Candidate => &[125, 125],
            Self::Follower => &[50, 1_950],
            Self::Leader => &[10_000, 0],
            Self::Critical => &[900, 100],
            Self::Halted => &[100, 100, 100, 100, 100, 1_500],
        }
    }

    /// The pattern in words, for the log.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Candidate => "blinks fast",
            Self::Follower => "flashes every two seconds",
            Self::Leader => "stays on",
            Self::Critical => "is on, and off briefly every second",
            Self::Halted => "flashes three times and pauses",
        }
    }

    /// The state after a report; `None` where the report does not change it.
    #[must_use]
    pub const fn from_report(report: &Report<'_>) -> Option<Self> {
        match report {
            Report::Starting { .. } | Report::Leaderless | Report::Degraded => Some(Self::Candidate),
            Report::Following { .. } => Some(Self::Follower),
            Report::Leading { .. } => Some(Self::Leader),
            Report::Stopped(_) => Some(Self::Halted),
            Report::Losing | Report::SameId | Report::Stored(_) | Report::Status(_) => None,
        }
    }
}

/// A new state, or the same at the beginning of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedUpdate {
    /// The state to show.
    pub state: LedState,
    /// Whether a second of the shared clock begins: an LED that is off flashes, one that is on goes off briefly.
    pub second_began: bool,
}

impl LedUpdate {
    /// Milliseconds on, off, on and so on, repeated.
    #[must_use]
    pub const fn pattern(self) -> &'static [u16] {
        match (self.second_began, self.state) {
            (true, LedState::Leader) => &[0, 100, 10_000, 0],
            (true, LedState::Critical) => &[0, 100, 100, 100, 10_000, 0],
            // Candidate and halted take precedence over the tick; the pattern of a follower restarts.
            (true, LedState::Follower | LedState::Candidate | LedState::Halted) | (false, _) => self.state.pattern(),
        }
    }
}

impl From<LedState> for LedUpdate {
    fn from(state: LedState) -> Self {
        Self { state, second_began: false }
    }
}

/// Carries updates from the node to the LED.
pub type LedSignal = Signal<CriticalSectionRawMutex, LedUpdate>;

/// An LED.
pub trait Led {
    /// Switches it on or off.
    fn set(&mut self, on: bool) -> impl Future<Output = ()>;
}

/// Shows the updates of `signal`.
pub async fn run(mut led: impl Led, signal: &LedSignal) -> ! {
    let mut update = LedState::Candidate.into();
    loop {
        update = play_pattern(&mut led, update, signal).await.unwrap_or(update);
    }
}

/// Plays a pattern once; returns the next update, if that comes first.
async fn play_pattern(led: &mut impl Led, update: LedUpdate, signal: &LedSignal) -> Option<LedUpdate> {
    let mut on = true;
    for &millis in update.pattern() {
        if millis > 0 {
            led.set(on).await;
            let timer = Timer::after(Duration::from_millis(millis.into()));
            if let Either::First(next) = select(signal.wait(), timer).await {
                return Some(next);
            }
        }
        on = !on;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Led, LedSignal, LedState, LedUpdate, run};
    use crate::tests::{reset_clock, run_for};
    use core::pin::pin;
    use embassy_time::Duration;
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::format;
    use std::rc::Rc;
    use std::string::String;

    struct TestLed(Rc<Cell<bool>>);

    impl Led for TestLed {
        async fn set(&mut self, on: bool) {
            self.0.set(on);
        }
    }

    /// Four seconds of the LED, a character per 25 ms, with a tick before some of them.
    fn recorded(state: LedState, is_tick: impl Fn(u32) -> bool) -> String {
        let lit = Rc::new(Cell::new(false));
        let signal = LedSignal::new();
        let mut running = pin!(run(TestLed(lit.clone()), &signal));
        signal.signal(state.into());
        (0..160)
            .map(|index| {
                if is_tick(index) {
                    signal.signal(LedUpdate { state, second_began: true });
                }
                run_for(running.as_mut(), 1, Duration::from_millis(25));
                if lit.get() { '#' } else { '.' }
            })
            .collect()
    }

    #[test]
    fn every_state_has_its_own_pattern() {
        reset_clock();
        let all = [LedState::Candidate, LedState::Follower, LedState::Leader, LedState::Critical, LedState::Halted];
        let patterns: BTreeSet<String> = all.into_iter().map(|state| recorded(state, |_| false)).collect();
        assert_eq!(patterns.len(), all.len());
    }

    #[test]
    fn every_led_changes_when_a_second_begins_and_the_states_stay_distinct() {
        reset_clock();
        let with_ticks = |state| recorded(state, |index| index % 40 == 10);
        assert_eq!(with_ticks(LedState::Follower)[50..90], *format!("##{}", ".".repeat(38)));
        assert_eq!(with_ticks(LedState::Leader)[50..90], *format!("....{}", "#".repeat(36)));
        assert_eq!(with_ticks(LedState::Critical)[50..90], *format!("....####....{}", "#".repeat(28)));
        for state in [LedState::Candidate, LedState::Halted] {
            assert_eq!(LedUpdate { state, second_began: true }.pattern(), state.pattern());
        }
    }

    #[test]
    fn a_leader_is_lit_and_a_follower_hardly_ever() {
        reset_clock();
        assert_eq!(recorded(LedState::Leader, |_| false), "#".repeat(160));
        let lit = recorded(LedState::Follower, |_| false).matches('#').count();
        assert!((2..=6).contains(&lit), "{lit}");
    }
}
