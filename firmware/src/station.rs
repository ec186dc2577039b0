//! Staying with an access point: joining it, and joining it again whenever it is lost.

use core::future::Future;
use embassy_time::{Duration, Timer};

/// The pause after the first attempt that failed; it doubles with each that follows.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(16);

/// A Wi-Fi that can join one access point.
pub trait Wifi {
    /// Tries to join once; whether that worked.
    fn join(&mut self) -> impl Future<Output = bool>;

    /// Waits until the access point is lost; at once, if it is.
    fn lost(&mut self) -> impl Future<Output = ()>;
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Event {
    /// Joined.
    Joined,
    /// An attempt failed: the next one comes after this many milliseconds.
    Refused(u64),
    /// The access point is gone.
    Lost,
}

/// Joins, and joins again, for ever. Meanwhile frames find no link and are counted as such; the node goes on.
pub async fn stay(mut wifi: impl Wifi, mut tell: impl FnMut(Event)) -> ! {
    loop {
        let mut pause = PAUSE_MIN;
        while !wifi.join().await {
            tell(Event::Refused(pause.as_millis()));
            Timer::after(pause).await;
            pause = pause.checked_mul(2).unwrap_or(PAUSE_MAX).min(PAUSE_MAX);
        }
        tell(Event::Joined);
        wifi.lost().await;
        tell(Event::Lost);
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, PAUSE_MAX, Wifi, stay};
    use core::future::{Future, poll_fn};
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use embassy_time::{Duration, MockDriver};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;
    use std::vec::Vec;

    struct Antenna(Rc<Cell<bool>>);

    impl Wifi for Antenna {
        async fn join(&mut self) -> bool {
            self.0.get()
        }

        async fn lost(&mut self) {
            poll_fn(|_| if self.0.get() { Poll::Pending } else { Poll::Ready(()) }).await;
        }
    }

    /// What is told while the access point is on and off for so many seconds in turn.
    fn told(spans: &[u64]) -> Vec<Event> {
        let _turn = crate::tests::turn();
        let (on, events) = (Rc::new(Cell::new(false)), RefCell::new(Vec::new()));
        let mut staying = pin!(stay(Antenna(on.clone()), |event| events.borrow_mut().push(event)));
        let mut context = Context::from_waker(Waker::noop());
        for (index, &span) in spans.iter().enumerate() {
            on.set(index % 2 == 0);
            for _ in 0..span * 10 {
                for _ in 0..3 {
                    assert!(staying.as_mut().poll(&mut context).is_pending());
                }
                MockDriver::get().advance(Duration::from_millis(100));
            }
        }
        events.take()
    }

    #[test]
    fn an_access_point_that_comes_back_is_joined_again() {
        let events = told(&[5, 2, 5]);
        assert_eq!(events[..2], [Event::Joined, Event::Lost]);
        assert_eq!(events.last(), Some(&Event::Joined));
    }

    #[test]
    fn attempts_come_less_and_less_often_while_there_is_none() {
        let events = told(&[0, 120]);
        let most = Event::Refused(PAUSE_MAX.as_millis());
        assert_eq!(events[..2], [Event::Refused(500), Event::Refused(1_000)]);
        assert!(events.len() < 15 && events.last() == Some(&most), "{events:?}");
    }
}
