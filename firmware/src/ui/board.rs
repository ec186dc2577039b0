//! A board with an LED, a button and a log.

use crate::report::Report;
use crate::runner::{Board, DriverCounters, HostCommand};
use crate::storage::config_page::{ConfigPage, options};
use crate::ui::button::{Press, PressQueue};
use crate::ui::led::{LedSignal, LedState, LedUpdate};
use crate::ui::lock_button::LockButton;
use crate::vitals::{CapacityInputs, Vitals};
use core::future::Future;
use core::marker::PhantomData;
use protocol::base::capacity::Capacity;
use protocol::election;
use protocol::mutex::{Mutex, Notice};
use protocol::service::Service;

/// The parts of a board that differ from chip to chip.
pub trait Hardware {
    /// Feeds the watchdog.
    fn feed_watchdog(&mut self);

    /// Measures supply, memory and uplink.
    fn read_vitals(&mut self) -> impl Future<Output = Vitals>;
}

/// A board with an LED and a button; its node has the lock `M`.
pub struct UiBoard<'a, H, M> {
    hardware: H,
    measured: bool,
    /// Shown unless the lock is held.
    led_state: LedState,
    lock_button: LockButton,
    led: &'a LedSignal,
    presses: &'a PressQueue,
    mutex: PhantomData<M>,
}

impl<'a, H: Hardware, M: Mutex> UiBoard<'a, H, M> {
    /// Joins the hardware, the LED's signal and the button's queue.
    pub const fn new(hardware: H, page: &ConfigPage, led: &'a LedSignal, presses: &'a PressQueue) -> Self {
        let (led_state, lock_button) = (LedState::Candidate, LockButton::Idle);
        Self {
            hardware,
            measured: page.has(options::MEASURED),
            led_state,
            lock_button,
            led,
            presses,
            mutex: PhantomData,
        }
    }

    fn holds_lock(&self) -> bool {
        M::PRESENT && self.lock_button.is_held()
    }
}

impl<H: Hardware, M: Mutex, U: Service> Board<U> for UiBoard<'_, H, M> {
    fn feed_watchdog(&mut self) {
        self.hardware.feed_watchdog();
    }

    fn on_healthy(&mut self) {}

    fn driver_counters(&self) -> DriverCounters {
        DriverCounters::default()
    }

    fn on_report(&mut self, report: &Report<'_>) {
        #[cfg(feature = "defmt")]
        report.log();
        if let Some(state) = LedState::from_report(report) {
            if state != self.led_state {
                self.led_state = state;
                if !self.holds_lock() || state == LedState::Halted {
                    self.led.signal(state.into());
                }
            }
            log_state(state, report);
        }
    }

    fn on_lock_notice(&mut self, notice: &Notice) {
        #[cfg(feature = "defmt")]
        crate::report::LockReport::from_notice(notice).log();
        let held = self.lock_button.is_held();
        self.lock_button.on_notice(notice);
        match (held, self.lock_button.is_held()) {
            (false, true) => {
                self.led.signal(LedState::Critical.into());
                #[cfg(feature = "defmt")]
                defmt::info!("this board holds the lock; its LED {=str}", LedState::Critical.description());
            }
            (true, false) => {
                self.led.signal(self.led_state.into());
                #[cfg(feature = "defmt")]
                defmt::info!("this board no longer holds the lock; its LED {=str}", self.led_state.description());
            }
            (false, false) | (true, true) => {} // the LED stays
        }
    }

    fn on_second(&mut self, _: protocol::Instant) {
        let state = if self.holds_lock() { LedState::Critical } else { self.led_state };
        match state {
            LedState::Follower | LedState::Leader | LedState::Critical => {
                self.led.signal(LedUpdate { state, second_began: true });
            }
            LedState::Candidate | LedState::Halted => {} // takes precedence
        }
    }

    async fn measure(&mut self, inputs: &CapacityInputs) -> Option<Capacity> {
        if !self.measured {
            return Some(inputs.configured);
        }
        let vitals = self.hardware.read_vitals().await;
        let capacity = vitals.capacity(inputs);
        #[cfg(feature = "defmt")]
        defmt::debug!("measured: {}, capacity {}", vitals, capacity);
        capacity
    }

    async fn next_command(&mut self) -> HostCommand<U::Command> {
        loop {
            if M::PRESENT
                && let Some(command) = self.lock_button.poll_command()
            {
                return HostCommand::Mutex(command);
            }
            match self.presses.receive().await {
                Press::Short => {
                    #[cfg(feature = "defmt")]
                    defmt::info!("button: yield the leadership");
                    return HostCommand::Election(election::Command::Yield);
                }
                Press::Long if M::PRESENT => {
                    #[cfg(feature = "defmt")]
                    defmt::info!("button: request or release the lock");
                    return HostCommand::Mutex(self.lock_button.press());
                }
                Press::Long => {
                    #[cfg(feature = "defmt")]
                    defmt::warn!("button: this image has no lock");
                }
            }
        }
    }
}

/// Logs a change of state for a person beside the board.
#[cfg(feature = "defmt")]
fn log_state(state: LedState, report: &Report<'_>) {
    let led = state.description();
    match *report {
        Report::Starting { .. } => defmt::info!("this board looks for peers and a leader; its LED {=str}", led),
        Report::Leaderless => defmt::info!("no node leads: an election begins; its LED {=str}", led),
        Report::Following { leader, .. } => {
            defmt::info!("node {=u32} leads, this board follows; its LED {=str}", leader.0, led);
        }
        Report::Leading { .. } => defmt::info!("this board leads; its LED {=str}", led),
        Report::Stopped(_) => defmt::error!("this board has stopped and will reset; its LED {=str}", led),
        Report::Degraded => defmt::warn!("no quorum is reachable, no node leads; its LED {=str}", led),
        Report::Losing | Report::SameId | Report::Stored(_) | Report::Status(_) => {} // no change of state
    }
}

#[cfg(not(feature = "defmt"))]
const fn log_state(_: LedState, _: &Report<'_>) {}

#[cfg(test)]
mod tests {
    use super::{Hardware, HostCommand, UiBoard};
    use crate::report::Report;
    use crate::runner::Board;
    use crate::storage::config_page::{ConfigPage, options};
    use crate::ui::button::{Press, PressQueue};
    use crate::ui::led::{LedSignal, LedState, LedUpdate};
    use crate::ui::lock_button::BUTTON_LOCK;
    use crate::vitals::{CapacityInputs, Vitals};
    use embassy_futures::{block_on, poll_once};
    use embassy_time::Instant;
    use protocol::NodeId;
    use protocol::base::capacity::{Capacity, Percent};
    use protocol::base::term::Term;
    use protocol::election;
    use protocol::mutex::{self, Central, Fence, NoMutex, Notice};

    struct TestHardware;

    impl Hardware for TestHardware {
        fn feed_watchdog(&mut self) {}

        async fn read_vitals(&mut self) -> Vitals {
            Vitals { supply: Percent::new(100), memory: Percent::new(0), uplink: false }
        }
    }

    struct Ui(LedSignal, PressQueue);

    impl Ui {
        fn new() -> Self {
            Self(LedSignal::new(), PressQueue::new())
        }

        /// A board without a service, with the lock `M`.
        fn board<M: mutex::Mutex>(&self, page: ConfigPage) -> impl Board {
            UiBoard::<_, M>::new(TestHardware, &page, &self.0, &self.1)
        }

        fn press(&self, press: Press) {
            self.1.try_send(press).unwrap();
        }

        fn led(&self) -> Option<LedState> {
            self.0.try_take().map(|update| update.state)
        }
    }

    fn page() -> ConfigPage {
        ConfigPage::unprovisioned(&[1], 0)
    }

    const TERM: Term = Term { number: 3, by: NodeId(7) };
    const LEADING: Report<'_> = Report::Leading { term: TERM };
    const FOLLOWING: Report<'_> = Report::Following { leader: NodeId(1), term: TERM };
    const UNTIL: protocol::Instant = protocol::Instant::ZERO;
    const GRANT: Notice = Notice::Acquired { lock: BUTTON_LOCK, fence: Fence::ZERO, until: UNTIL };

    #[test]
    fn the_led_shows_the_state_of_the_node() {
        let ui = Ui::new();
        let mut board = ui.board::<NoMutex>(page());
        let reports = [
            (LEADING, Some(LedState::Leader)),
            (LEADING, None), // shown already
            (FOLLOWING, Some(LedState::Follower)),
            (Report::Leaderless, Some(LedState::Candidate)),
            (Report::Stopped("reason"), Some(LedState::Halted)),
        ];
        for (report, state) in reports {
            board.on_report(&report);
            assert_eq!(ui.led(), state, "{report}");
        }
    }

    #[test]
    fn the_capacity_is_measured_where_the_page_has_the_option() {
        crate::tests::reset_clock();
        let inputs = CapacityInputs {
            configured: Capacity::new(77),
            link_quality: 0,
            started_at: Instant::MIN,
            uplink_required: false,
        };
        let fixed = ConfigPage { options: options::FACTORY, ..page() };
        for (page, capacity) in [(page(), 3_500), (fixed, 77)] {
            let measured = block_on(Ui::new().board::<NoMutex>(page).measure(&inputs));
            assert_eq!(measured, Some(Capacity::new(capacity)));
        }
    }

    #[test]
    fn a_short_press_asks_the_leader_to_yield() {
        let ui = Ui::new();
        let mut board = ui.board::<NoMutex>(page());
        ui.press(Press::Long);
        assert!(poll_once(board.next_command()).is_pending(), "there is no lock");
        ui.press(Press::Short);
        assert_eq!(block_on(board.next_command()), HostCommand::Election(election::Command::Yield));
    }

    #[test]
    fn a_long_press_requests_the_lock_and_the_led_shows_the_holder() {
        let ui = Ui::new();
        let mut board = ui.board::<Central>(page());
        board.on_report(&LEADING);
        assert_eq!(ui.led(), Some(LedState::Leader));
        ui.press(Press::Long);
        let command = block_on(board.next_command());
        assert!(matches!(command, HostCommand::Mutex(mutex::Command::Acquire { lock: BUTTON_LOCK, .. })));
        board.on_lock_notice(&GRANT);
        assert_eq!(ui.led(), Some(LedState::Critical));
        board.on_report(&FOLLOWING);
        assert_eq!(ui.led(), None, "holding the lock takes precedence");
        board.on_lock_notice(&Notice::Expiring { lock: BUTTON_LOCK, until: UNTIL });
        let command = block_on(board.next_command());
        assert!(matches!(command, HostCommand::Mutex(mutex::Command::Renew { lock: BUTTON_LOCK, .. })));
        ui.press(Press::Long);
        assert_eq!(block_on(board.next_command()), HostCommand::Mutex(mutex::Command::Release { lock: BUTTON_LOCK }));
        board.on_lock_notice(&Notice::Released { lock: BUTTON_LOCK });
        assert_eq!(ui.led(), Some(LedState::Follower));
    }

    #[test]
    fn the_led_ticks_when_a_second_begins_unless_another_state_takes_precedence() {
        let ui = Ui::new();
        let mut board = ui.board::<Central>(page());
        board.on_second(UNTIL);
        assert_eq!(ui.led(), None, "no leader is known");
        for (report, state) in [(LEADING, LedState::Leader), (FOLLOWING, LedState::Follower)] {
            board.on_report(&report);
            board.on_second(UNTIL);
            assert_eq!(ui.0.try_take(), Some(LedUpdate { state, second_began: true }));
        }
        ui.press(Press::Long);
        assert!(poll_once(board.next_command()).is_ready());
        board.on_lock_notice(&GRANT);
        board.on_second(UNTIL);
        assert_eq!(ui.0.try_take(), Some(LedUpdate { state: LedState::Critical, second_began: true }));
    }
}
