//! The connection to an access point: joining it, and joining again after a disconnect.

use core::future::Future;
use embassy_time::{Duration, Timer};

/// The delay after the first failed attempt; it doubles with each further one.
const RETRY_DELAY_MIN: Duration = Duration::from_millis(500);
/// The longest delay between two attempts.
const RETRY_DELAY_MAX: Duration = Duration::from_secs(16);

/// A Wi-Fi interface that joins one access point.
pub trait Wifi {
    /// Tries to join once; returns whether it joined.
    fn join(&mut self) -> impl Future<Output = bool>;

    /// Waits until the interface is disconnected; returns at once if it is.
    fn wait_disconnected(&mut self) -> impl Future<Output = ()>;
}

/// A change of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Event {
    /// Joined.
    Joined,
    /// An attempt failed; the next one follows after this many milliseconds.
    JoinFailed(u64),
    /// Disconnected.
    Disconnected,
}

/// Joins, and joins again after every disconnect. While disconnected, the transport drops and counts frames.
pub async fn keep_joined(mut wifi: impl Wifi, mut notify: impl FnMut(Event)) -> ! {
    loop {
        let mut delay = RETRY_DELAY_MIN;
        while !wifi.join().await {
            notify(Event::JoinFailed(delay.as_millis()));
            Timer::after(delay).await;
            delay = delay.checked_mul(2).unwrap_or(RETRY_DELAY_MAX).min(RETRY_DELAY_MAX);
        }
        notify(Event::Joined);
        wifi.wait_disconnected().await;
        notify(Event::Disconnected);
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, RETRY_DELAY_MAX, Wifi, keep_joined};
    use crate::tests::{reset_clock, run_for};
    use core::future::poll_fn;
    use core::pin::pin;
    use core::task::Poll;
    use embassy_time::Duration;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;
    use std::vec::Vec;

    struct TestWifi(Rc<Cell<bool>>);

    impl Wifi for TestWifi {
        async fn join(&mut self) -> bool {
            self.0.get()
        }

        async fn wait_disconnected(&mut self) {
            poll_fn(|_| if self.0.get() { Poll::Pending } else { Poll::Ready(()) }).await;
        }
    }

    /// Switches the access point on and off for these numbers of seconds, alternating; returns the events.
    fn events(secs: &[u64]) -> Vec<Event> {
        reset_clock();
        let (on, events) = (Rc::new(Cell::new(false)), RefCell::new(Vec::new()));
        let mut joined = pin!(keep_joined(TestWifi(on.clone()), |event| events.borrow_mut().push(event)));
        for (index, &secs) in secs.iter().enumerate() {
            on.set(index % 2 == 0);
            run_for(joined.as_mut(), secs * 10, Duration::from_millis(100));
        }
        events.take()
    }

    #[test]
    fn an_access_point_that_comes_back_is_joined_again() {
        let events = events(&[5, 2, 5]);
        assert_eq!(events[..2], [Event::Joined, Event::Disconnected]);
        assert_eq!(events.last(), Some(&Event::Joined));
    }

    #[test]
    fn the_delay_between_attempts_doubles_up_to_a_maximum() {
        let events = events(&[0, 120]);
        let longest = Event::JoinFailed(RETRY_DELAY_MAX.as_millis());
        assert_eq!(events[..2], [Event::JoinFailed(500), Event::JoinFailed(1_000)]);
        assert!(events.len() < 15 && events.last() == Some(&longest), "{events:?}");
    }
}
