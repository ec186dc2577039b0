//! What a person sees: one light, and what it does for each thing a node can be.

use crate::report::Report;
use core::future::Future;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Timer};

/// What the light says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Light {
    /// No leader is known: the node looks for one, or may become one.
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

impl Light {
    /// For how many milliseconds it is on, off, on and so on, over and over.
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

    /// What it looks like, for whoever reads the log beside the board.
    #[must_use]
    pub const fn looks(self) -> &'static str {
        match self {
            Self::Candidate => "its light blinks fast",
            Self::Follower => "its light flashes every two seconds",
            Self::Leader => "its light stays on",
            Self::Critical => "its light stays on and winks every second",
            Self::Halted => "its light flashes three times and pauses",
        }
    }

    /// What a report makes the light say, if it changes it.
    #[must_use]
    pub const fn after(report: &Report<'_>) -> Option<Self> {
        match report {
            Report::Starting { .. } | Report::Leaderless | Report::Degraded => Some(Self::Candidate),
            Report::Following { .. } => Some(Self::Follower),
            Report::Leading { .. } => Some(Self::Leader),
            Report::Stopped(_) => Some(Self::Halted),
            Report::Losing | Report::Stored(_) | Report::Status(_) => None,
        }
    }
}

/// What the light is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cue {
    /// What it says.
    pub light: Light,
    /// Whether a second of the shared clock begins: all lights flash, and those that are on wink.
    pub beat: bool,
}

impl Cue {
    /// For how many milliseconds it is on, off, on and so on, over and over.
    #[must_use]
    pub const fn pattern(self) -> &'static [u16] {
        match (self.beat, self.light) {
            (true, Light::Leader) => &[0, 100, 10_000, 0],
            (true, Light::Critical) => &[0, 100, 100, 100, 10_000, 0],
            // Whoever looks for a leader or has stopped says so first; a follower begins to flash anew.
            (true, Light::Follower | Light::Candidate | Light::Halted) | (false, _) => self.light.pattern(),
        }
    }
}

impl From<Light> for Cue {
    fn from(light: Light) -> Self {
        Self { light, beat: false }
    }
}

/// How the node tells the light.
pub type Lights = Signal<CriticalSectionRawMutex, Cue>;

/// Something that can be lit.
pub trait Lamp {
    /// Switches it.
    fn set(&mut self, on: bool) -> impl Future<Output = ()>;
}

/// Shows what it is told, for ever.
pub async fn show(mut lamp: impl Lamp, lights: &Lights) -> ! {
    let mut cue = Light::Candidate.into();
    loop {
        cue = play(&mut lamp, cue, lights).await.unwrap_or(cue);
    }
}

/// Plays a pattern once; what it is to be instead, if that comes first.
async fn play(lamp: &mut impl Lamp, cue: Cue, lights: &Lights) -> Option<Cue> {
    let mut on = true;
    for &millis in cue.pattern() {
        if millis > 0 {
            lamp.set(on).await;
            let span = Timer::after(Duration::from_millis(millis.into()));
            if let Either::First(other) = select(lights.wait(), span).await {
                return Some(other);
            }
        }
        on = !on;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Cue, Lamp, Light, Lights, show};
    use core::future::Future;
    use core::pin::pin;
    use core::task::{Context, Waker};
    use embassy_time::{Duration, MockDriver};
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::format;
    use std::rc::Rc;
    use std::string::String;

    struct Bulb(Rc<Cell<bool>>);

    impl Lamp for Bulb {
        async fn set(&mut self, on: bool) {
            self.0.set(on);
        }
    }

    /// What the lamp does in four seconds, a letter every 25 ms.
    fn film(light: Light) -> String {
        film_with(light, |_| false)
    }

    /// The same, with a beat before some letters.
    fn film_with(light: Light, beat: impl Fn(u32) -> bool) -> String {
        let lit = Rc::new(Cell::new(false));
        let lights = Lights::new();
        let mut shown = pin!(show(Bulb(lit.clone()), &lights));
        let mut context = Context::from_waker(Waker::noop());
        lights.signal(light.into());
        (0..160)
            .map(|letter| {
                if beat(letter) {
                    lights.signal(Cue { light, beat: true });
                }
                for _ in 0..3 {
                    assert!(shown.as_mut().poll(&mut context).is_pending());
                }
                MockDriver::get().advance(Duration::from_millis(25));
                if lit.get() { '#' } else { '.' }
            })
            .collect()
    }

    #[test]
    fn every_light_can_be_told_from_the_others() {
        let _turn = crate::tests::turn();
        let all = [Light::Candidate, Light::Follower, Light::Leader, Light::Critical, Light::Halted];
        let films: BTreeSet<String> = all.into_iter().map(film).collect();
        assert_eq!(films.len(), all.len());
    }

    #[test]
    fn with_a_shared_clock_all_lights_change_when_a_second_begins_and_can_still_be_told_apart() {
        let _turn = crate::tests::turn();
        let seconds = |light| film_with(light, |letter| letter % 40 == 10);
        let (follower, leader, critical) = (seconds(Light::Follower), seconds(Light::Leader), seconds(Light::Critical));
        assert_eq!(follower[50..90], *format!("##{}", ".".repeat(38)));
        assert_eq!(leader[50..90], *format!("....{}", "#".repeat(36)));
        assert_eq!(critical[50..90], *format!("....####....{}", "#".repeat(28)));
        for light in [Light::Candidate, Light::Halted] {
            assert_eq!(Cue { light, beat: true }.pattern(), light.pattern());
        }
    }

    #[test]
    fn a_leader_is_lit_and_a_follower_hardly_ever() {
        let _turn = crate::tests::turn();
        assert_eq!(film(Light::Leader), "#".repeat(160));
        let lit = film(Light::Follower).matches('#').count();
        assert!((2..=6).contains(&lit), "{lit}");
    }
}
