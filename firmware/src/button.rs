//! What a person touches: one button. A short press asks the leader to yield, a long one asks for the lock.

use core::future::Future;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Timer};

/// From here on a press is a long one.
pub const LONG: Duration = Duration::from_secs(1);
/// How long contacts bounce.
const BOUNCE: Duration = Duration::from_millis(20);
/// Presses that wait.
const QUEUE: usize = 2;

/// What a press asks of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Ask {
    /// Let another lead.
    Yield,
    /// Take the lock, or give it back.
    Lock,
}

/// How the button tells the node.
pub type Asks = Channel<CriticalSectionRawMutex, Ask, QUEUE>;

/// A button.
pub trait Button {
    /// Waits until it is down; at once, if it is.
    fn down(&mut self) -> impl Future<Output = ()>;
    /// Waits until it is up; at once, if it is.
    fn up(&mut self) -> impl Future<Output = ()>;
}

/// Tells every press, for ever. Presses that nobody takes are forgotten.
pub async fn watch(mut button: impl Button, asks: &Asks) -> ! {
    loop {
        let ask = press(&mut button).await;
        let _ = asks.try_send(ask);
    }
}

/// Waits for a press. A long one counts while the button is still down: whoever holds it sees the answer.
async fn press(button: &mut impl Button) -> Ask {
    button.up().await;
    Timer::after(BOUNCE).await;
    button.down().await;
    Timer::after(BOUNCE).await;
    match select(button.up(), Timer::after(LONG)).await {
        Either::First(()) => Ask::Yield,
        Either::Second(()) => Ask::Lock,
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, Asks, Button, watch};
    use core::future::{Future, poll_fn};
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use embassy_time::{Duration, MockDriver};
    use std::cell::Cell;
    use std::rc::Rc;
    use std::vec::Vec;

    struct Finger(Rc<Cell<bool>>);

    impl Button for Finger {
        async fn down(&mut self) {
            poll_fn(|_| if self.0.get() { Poll::Ready(()) } else { Poll::Pending }).await;
        }

        async fn up(&mut self) {
            poll_fn(|_| if self.0.get() { Poll::Pending } else { Poll::Ready(()) }).await;
        }
    }

    /// What is asked by a finger that is up and down for so many milliseconds in turn.
    fn asked(spans: &[u64]) -> Vec<Ask> {
        let _turn = crate::tests::turn();
        let (finger, asks) = (Rc::new(Cell::new(false)), Asks::new());
        let mut watched = pin!(watch(Finger(finger.clone()), &asks));
        let mut context = Context::from_waker(Waker::noop());
        let mut heard = Vec::new();
        for (index, &span) in spans.iter().enumerate() {
            finger.set(index % 2 == 1);
            for _ in 0..span / 5 {
                for _ in 0..3 {
                    assert!(watched.as_mut().poll(&mut context).is_pending());
                }
                MockDriver::get().advance(Duration::from_millis(5));
            }
            heard.extend(core::iter::from_fn(|| asks.try_receive().ok()));
        }
        heard
    }

    #[test]
    fn a_short_press_yields_and_a_long_one_asks_for_the_lock() {
        assert_eq!(asked(&[100, 200, 100, 1_500, 100, 200, 100]), [Ask::Yield, Ask::Lock, Ask::Yield]);
    }

    #[test]
    fn contacts_that_bounce_make_one_press() {
        assert_eq!(asked(&[100, 5, 5, 5, 5, 200, 5, 5, 5, 5, 100]), [Ask::Yield]);
    }
}
