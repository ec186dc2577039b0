//! A board with a light, a button and a log: what every real board is to the loop.

use crate::button::{Ask, Asks};
use crate::drive::{Board, Driver};
use crate::gauge::{About, Gauge};
use crate::page::{Page, options};
use crate::panel::{Light, Lights};
use crate::report::Report;
use core::future::Future;
use protocol::capacity::Capacity;
use protocol::election::Command;

/// What differs from board to board.
pub trait Hardware {
    /// Feeds the watchdog.
    fn feed(&mut self);

    /// Measures supply, memory and uplink.
    fn gauge(&mut self) -> impl Future<Output = Gauge>;
}

/// A board with a light and a button.
pub struct Desk<'a, H> {
    hardware: H,
    measured: bool,
    light: Light,
    lights: &'a Lights,
    asks: &'a Asks,
}

impl<'a, H: Hardware> Desk<'a, H> {
    /// Joins the parts.
    pub const fn new(hardware: H, page: &Page, lights: &'a Lights, asks: &'a Asks) -> Self {
        Self { hardware, measured: page.has(options::MEASURED), light: Light::Candidate, lights, asks }
    }

    /// Says what the node has become, to the light and in words that need no other.
    fn turn_into(&mut self, light: Light, report: &Report<'_>) {
        if light != self.light {
            self.light = light;
            self.lights.signal(light);
        }
        say(light, report);
    }
}

impl<H: Hardware> Board for Desk<'_, H> {
    fn feed(&mut self) {
        self.hardware.feed();
    }

    fn well(&mut self) {}

    fn driver(&self) -> Driver {
        Driver::default()
    }

    fn tell(&mut self, report: &Report<'_>) {
        #[cfg(feature = "defmt")]
        report.log();
        if let Some(light) = Light::after(report) {
            self.turn_into(light, report);
        }
    }

    async fn measure(&mut self, about: &About) -> Option<Capacity> {
        if !self.measured {
            return Some(about.configured);
        }
        let gauge = self.hardware.gauge().await;
        let capacity = gauge.capacity(about);
        #[cfg(feature = "defmt")]
        defmt::debug!("measured: {}, worth {}", gauge, capacity);
        capacity
    }

    async fn asked(&mut self) -> Command {
        loop {
            match self.asks.receive().await {
                Ask::Yield => {
                    #[cfg(feature = "defmt")]
                    defmt::info!("the button asks this board to let another lead");
                    return Command::Yield;
                }
                Ask::Lock => {
                    #[cfg(feature = "defmt")]
                    defmt::warn!("the button asks for the lock, but this image only elects");
                }
            }
        }
    }
}

/// A line for whoever sees a board for the first time.
#[cfg(feature = "defmt")]
fn say(light: Light, report: &Report<'_>) {
    match *report {
        Report::Starting { .. } => {
            defmt::info!("this board looks for others and for a leader; {=str}", light.looks());
        }
        Report::Leaderless => defmt::info!("nobody leads: an election begins; {=str}", light.looks()),
        Report::Following { leader, .. } => {
            defmt::info!("node {=u32} leads, and this board follows; {=str}", leader.0, light.looks());
        }
        Report::Leading { .. } => defmt::info!("this board leads now; {=str}", light.looks()),
        Report::Stopped(_) => defmt::error!("this board has stopped and will start over; {=str}", light.looks()),
        Report::Degraded => defmt::warn!("most of the group is out of reach, so nobody leads; {=str}", light.looks()),
        Report::Losing | Report::Stored(_) | Report::Status(_) => {} // nothing to see
    }
}

#[cfg(not(feature = "defmt"))]
const fn say(_: Light, _: &Report<'_>) {}

#[cfg(test)]
mod tests {
    use super::{Desk, Hardware};
    use crate::button::{Ask, Asks};
    use crate::drive::Board;
    use crate::gauge::{About, Gauge};
    use crate::page::{Page, options};
    use crate::panel::{Light, Lights};
    use crate::report::Report;
    use embassy_futures::{block_on, poll_once};
    use embassy_time::Instant;
    use protocol::NodeId;
    use protocol::capacity::{Capacity, Percent};
    use protocol::clock::Term;
    use protocol::election::Command;

    struct Bench;

    impl Hardware for Bench {
        fn feed(&mut self) {}

        async fn gauge(&mut self) -> Gauge {
            Gauge { supply: Percent::new(100), memory: Percent::new(0), uplink: false }
        }
    }

    const TERM: Term = Term { number: 3, by: NodeId(7) };

    #[test]
    fn the_light_follows_what_the_node_becomes() {
        let (lights, asks) = (Lights::new(), Asks::new());
        let mut desk = Desk::new(Bench, &Page::unprovisioned(&[1], 0), &lights, &asks);
        let mut after = |report: Report<'_>| {
            desk.tell(&report);
            lights.try_take()
        };
        assert_eq!(after(Report::Leading { term: TERM }), Some(Light::Leader));
        assert_eq!(after(Report::Leading { term: TERM }), None, "it is lit already");
        assert_eq!(after(Report::Following { leader: NodeId(1), term: TERM }), Some(Light::Follower));
        assert_eq!(after(Report::Leaderless), Some(Light::Candidate));
        assert_eq!(after(Report::Stopped("so")), Some(Light::Halted));
    }

    #[test]
    fn the_capacity_is_measured_where_the_page_says_so() {
        let _turn = crate::tests::turn();
        let (lights, asks) = (Lights::new(), Asks::new());
        let about = About { configured: Capacity::new(77), link_quality: 0, born: Instant::MIN };
        let page = Page::unprovisioned(&[1], 0);
        let measured = block_on(Desk::new(Bench, &page, &lights, &asks).measure(&about));
        assert_eq!(measured, Some(Capacity::new(3_500)), "the supply is all it has");
        let page = Page { options: options::FACTORY, ..page };
        assert_eq!(block_on(Desk::new(Bench, &page, &lights, &asks).measure(&about)), Some(Capacity::new(77)));
    }

    #[test]
    fn a_press_asks_the_leader_to_yield() {
        let (lights, asks) = (Lights::new(), Asks::new());
        let mut desk = Desk::new(Bench, &Page::unprovisioned(&[1], 0), &lights, &asks);
        assert!(
            asks.try_send(Ask::Lock).is_ok() && poll_once(desk.asked()).is_pending(),
            "there is no lock to ask for"
        );
        assert!(asks.try_send(Ask::Yield).is_ok());
        assert_eq!(block_on(desk.asked()), Command::Yield);
    }
}
