//! A board with a light, a button and a log: what every real board is to the loop.

use crate::button::{Ask, Asks};
use crate::drive::{Asked, Board, Driver};
use crate::gauge::{About, Gauge};
use crate::latch::Latch;
use crate::page::{Page, options};
use crate::panel::{Cue, Light, Lights};
use crate::report::Report;
use core::future::Future;
use protocol::capacity::Capacity;
use protocol::election;
use protocol::mutex::Notice;
use protocol::upper::Upper;

/// What differs from board to board.
pub trait Hardware {
    /// Feeds the watchdog.
    fn feed(&mut self);

    /// Measures supply, memory and uplink.
    fn gauge(&mut self) -> impl Future<Output = Gauge>;
}

/// A board with a light and a button, and with `LOCKS` or without.
pub struct Desk<'a, H, const LOCKS: bool> {
    hardware: H,
    measured: bool,
    /// What the light says of who leads; while the lock is held it says that instead.
    light: Light,
    latch: Latch,
    lights: &'a Lights,
    asks: &'a Asks,
}

impl<'a, H: Hardware, const LOCKS: bool> Desk<'a, H, LOCKS> {
    /// Joins the parts.
    pub const fn new(hardware: H, page: &Page, lights: &'a Lights, asks: &'a Asks) -> Self {
        let measured = page.has(options::MEASURED);
        Self { hardware, measured, light: Light::Candidate, latch: Latch::Open, lights, asks }
    }

    /// Says what the node has become, to the light and in words that need no other.
    fn turn_into(&mut self, light: Light, report: &Report<'_>) {
        if light != self.light {
            self.light = light;
            if !(LOCKS && self.latch.is_held()) || light == Light::Halted {
                self.lights.signal(light.into());
            }
        }
        say(light, report);
    }
}

impl<H: Hardware, U: Upper, const LOCKS: bool> Board<U> for Desk<'_, H, LOCKS> {
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

    fn tell_lock(&mut self, notice: &Notice) {
        #[cfg(feature = "defmt")]
        crate::report::LockReport::of(notice).log();
        let held = self.latch.is_held();
        self.latch.hear(notice);
        match (held, self.latch.is_held()) {
            (false, true) => {
                self.lights.signal(Light::Critical.into());
                #[cfg(feature = "defmt")]
                defmt::info!("this board holds the lock now; {=str}", Light::Critical.looks());
            }
            (true, false) => {
                self.lights.signal(self.light.into());
                #[cfg(feature = "defmt")]
                defmt::info!("this board holds the lock no more; {=str}", self.light.looks());
            }
            (false, false) | (true, true) => {} // nothing to see
        }
    }

    fn beat(&mut self, _: protocol::Instant) {
        let light = if LOCKS && self.latch.is_held() { Light::Critical } else { self.light };
        match light {
            Light::Follower | Light::Leader | Light::Critical => self.lights.signal(Cue { light, beat: true }),
            Light::Candidate | Light::Halted => {} // it says so first
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

    async fn asked(&mut self) -> Asked<U::Command> {
        loop {
            if LOCKS && let Some(command) = self.latch.due() {
                return Asked::Mutex(command);
            }
            match self.asks.receive().await {
                Ask::Yield => {
                    #[cfg(feature = "defmt")]
                    defmt::info!("the button asks this board to let another lead");
                    return Asked::Election(election::Command::Yield);
                }
                Ask::Lock if LOCKS => {
                    #[cfg(feature = "defmt")]
                    defmt::info!("the button asks for the lock, or to be rid of it");
                    return Asked::Mutex(self.latch.press());
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
    use super::{Asked, Desk, Hardware};
    use crate::button::{Ask, Asks};
    use crate::drive::Board;
    use crate::gauge::{About, Gauge};
    use crate::latch::LATCH;
    use crate::page::{Page, options};
    use crate::panel::{Cue, Light, Lights};
    use crate::report::Report;
    use embassy_futures::{block_on, poll_once};
    use embassy_time::Instant;
    use protocol::NodeId;
    use protocol::capacity::{Capacity, Percent};
    use protocol::clock::Term;
    use protocol::election;
    use protocol::mutex::{self, Fence, Notice};

    struct Bench;

    impl Hardware for Bench {
        fn feed(&mut self) {}

        async fn gauge(&mut self) -> Gauge {
            Gauge { supply: Percent::new(100), memory: Percent::new(0), uplink: false }
        }
    }

    /// A board with nothing on top of its node, and with `LOCKS` or without.
    fn desk<'a, const LOCKS: bool>(page: &Page, lights: &'a Lights, asks: &'a Asks) -> impl Board + use<'a, LOCKS> {
        Desk::<_, LOCKS>::new(Bench, page, lights, asks)
    }

    const TERM: Term = Term { number: 3, by: NodeId(7) };

    #[test]
    fn the_light_follows_what_the_node_becomes() {
        let (lights, asks) = (Lights::new(), Asks::new());
        let mut board = desk::<false>(&Page::unprovisioned(&[1], 0), &lights, &asks);
        let mut after = |report: Report<'_>| {
            board.tell(&report);
            lights.try_take().map(|cue| cue.light)
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
        let measured = block_on(desk::<false>(&page, &lights, &asks).measure(&about));
        assert_eq!(measured, Some(Capacity::new(3_500)), "the supply is all it has");
        let page = Page { options: options::FACTORY, ..page };
        assert_eq!(block_on(desk::<false>(&page, &lights, &asks).measure(&about)), Some(Capacity::new(77)));
    }

    #[test]
    fn a_press_asks_the_leader_to_yield() {
        let (lights, asks) = (Lights::new(), Asks::new());
        let mut board = desk::<false>(&Page::unprovisioned(&[1], 0), &lights, &asks);
        assert!(
            asks.try_send(Ask::Lock).is_ok() && poll_once(board.asked()).is_pending(),
            "there is no lock to ask for"
        );
        assert!(asks.try_send(Ask::Yield).is_ok());
        assert_eq!(block_on(board.asked()), Asked::Election(election::Command::Yield));
    }

    #[test]
    fn a_long_press_asks_for_the_lock_and_the_light_shows_who_has_it() {
        let (lights, asks) = (Lights::new(), Asks::new());
        let mut board = desk::<true>(&Page::unprovisioned(&[1], 0), &lights, &asks);
        board.tell(&Report::Leading { term: TERM });
        assert_eq!(lights.try_take().map(|cue| cue.light), Some(Light::Leader));
        assert!(asks.try_send(Ask::Lock).is_ok());
        assert!(matches!(block_on(board.asked()), Asked::Mutex(mutex::Command::Acquire { lock: LATCH, .. })));
        let until = protocol::Instant::ZERO;
        board.tell_lock(&Notice::Acquired { lock: LATCH, fence: Fence::ZERO, until });
        assert_eq!(lights.try_take().map(|cue| cue.light), Some(Light::Critical));
        board.tell(&Report::Following { leader: NodeId(1), term: TERM });
        assert_eq!(lights.try_take().map(|cue| cue.light), None, "whoever holds the lock shows that first");
        board.tell_lock(&Notice::Expiring { lock: LATCH, until });
        assert!(matches!(block_on(board.asked()), Asked::Mutex(mutex::Command::Renew { lock: LATCH, .. })));
        assert!(asks.try_send(Ask::Lock).is_ok());
        assert_eq!(block_on(board.asked()), Asked::Mutex(mutex::Command::Release { lock: LATCH }));
        board.tell_lock(&Notice::Released { lock: LATCH });
        assert_eq!(lights.try_take().map(|cue| cue.light), Some(Light::Follower));
    }

    #[test]
    fn when_a_second_begins_the_light_flashes_unless_it_has_more_to_say() {
        let (lights, asks) = (Lights::new(), Asks::new());
        let mut board = desk::<true>(&Page::unprovisioned(&[1], 0), &lights, &asks);
        let until = protocol::Instant::ZERO;
        board.beat(until);
        assert_eq!(lights.try_take(), None, "it looks for a leader");
        board.tell(&Report::Leading { term: TERM });
        board.beat(until);
        assert_eq!(lights.try_take(), Some(Cue { light: Light::Leader, beat: true }));
        board.tell(&Report::Following { leader: NodeId(1), term: TERM });
        board.beat(until);
        assert_eq!(lights.try_take(), Some(Cue { light: Light::Follower, beat: true }));
        assert!(asks.try_send(Ask::Lock).is_ok() && poll_once(board.asked()).is_ready());
        board.tell_lock(&Notice::Acquired { lock: LATCH, fence: Fence::ZERO, until });
        board.beat(until);
        assert_eq!(lights.try_take(), Some(Cue { light: Light::Critical, beat: true }));
    }
}
