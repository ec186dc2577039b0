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

/// How the node tells the light.
pub type Lights = Signal<CriticalSectionRawMutex, Light>;

/// Something that can be lit.
pub trait Lamp {
    /// Switches it.
    fn set(&mut self, on: bool) -> impl Future<Output = ()>;
}

/// Shows what it is told, for ever.
pub async fn show(mut lamp: impl Lamp, lights: &Lights) -> ! {
    let mut light = Light::Candidate;
    loop {
        light = play(&mut lamp, light, lights).await.unwrap_or(light);
    }
}

/// Plays a pattern once; what it is to be instead, if that comes first.
async fn play(lamp: &mut impl Lamp, light: Light, lights: &Lights) -> Option<Light> {
    let mut on = true;
    for &millis in light.pattern() {
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
    use super::{Lamp, Light, Lights, show};
    use core::future::Future;
    use core::pin::pin;
    use core::task::{Context, Waker};
    use embassy_time::{Duration, MockDriver};
    use std::cell::Cell;
    use std::collections::BTreeSet;
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
        let lit = Rc::new(Cell::new(false));
        let lights = Lights::new();
        let mut shown = pin!(show(Bulb(lit.clone()), &lights));
        let mut context = Context::from_waker(Waker::noop());
        lights.signal(light);
        (0..160)
            .map(|_| {
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
    fn a_leader_is_lit_and_a_follower_hardly_ever() {
        let _turn = crate::tests::turn();
        assert_eq!(film(Light::Leader), "#".repeat(160));
        let lit = film(Light::Follower).matches('#').count();
        assert!((2..=6).contains(&lit), "{lit}");
    }
}
