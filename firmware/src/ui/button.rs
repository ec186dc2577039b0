//! The button of a board. A short press asks the leader to yield, a long one requests or releases the lock.

use core::future::Future;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Timer};

/// The shortest long press.
const LONG_PRESS: Duration = Duration::from_secs(1);
/// How long contacts bounce.
const BOUNCE: Duration = Duration::from_millis(20);
const QUEUE: usize = 2;

/// A press of the button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Press {
    /// Asks the leader to yield.
    Short,
    /// Requests or releases the lock.
    Long,
}

/// Carries presses from the button to the node.
pub type PressQueue = Channel<CriticalSectionRawMutex, Press, QUEUE>;

/// A button.
pub trait Button {
    /// Waits until it is down; returns at once if it is.
    fn wait_down(&mut self) -> impl Future<Output = ()>;
    /// Waits until it is up; returns at once if it is.
    fn wait_up(&mut self) -> impl Future<Output = ()>;
}

/// Queues every press; drops presses while the queue is full.
pub async fn run(mut button: impl Button, presses: &PressQueue) -> ! {
    loop {
        let press = next_press(&mut button).await;
        let _ = presses.try_send(press);
    }
}

/// Waits for a press. A long one counts while the button is still down, so that its effect is seen.
async fn next_press(button: &mut impl Button) -> Press {
    button.wait_up().await;
    Timer::after(BOUNCE).await;
    button.wait_down().await;
    Timer::after(BOUNCE).await;
    match select(button.wait_up(), Timer::after(LONG_PRESS)).await {
        Either::First(()) => Press::Short,
        Either::Second(()) => Press::Long,
    }
}

#[cfg(test)]
mod tests {
    use super::{Button, Press, PressQueue, run};
    use crate::tests::{reset_clock, run_for};
    use core::future::poll_fn;
    use core::pin::pin;
    use core::task::Poll;
    use embassy_time::Duration;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::vec::Vec;

    struct TestButton(Rc<Cell<bool>>);

    impl Button for TestButton {
        async fn wait_down(&mut self) {
            poll_fn(|_| if self.0.get() { Poll::Ready(()) } else { Poll::Pending }).await;
        }

        async fn wait_up(&mut self) {
            poll_fn(|_| if self.0.get() { Poll::Pending } else { Poll::Ready(()) }).await;
        }
    }

    /// Holds a button up and down for these numbers of milliseconds, alternating; returns the presses.
    fn presses(millis: &[u64]) -> Vec<Press> {
        reset_clock();
        let (down, queue) = (Rc::new(Cell::new(false)), PressQueue::new());
        let mut running = pin!(run(TestButton(down.clone()), &queue));
        let mut presses = Vec::new();
        for (index, &millis) in millis.iter().enumerate() {
            down.set(index % 2 == 1);
            run_for(running.as_mut(), millis / 5, Duration::from_millis(5));
            presses.extend(core::iter::from_fn(|| queue.try_receive().ok()));
        }
        presses
    }

    #[test]
    fn a_press_is_long_from_a_second_on() {
        assert_eq!(presses(&[100, 200, 100, 1_500, 100, 200, 100]), [Press::Short, Press::Long, Press::Short]);
    }

    #[test]
    fn contacts_that_bounce_make_one_press() {
        assert_eq!(presses(&[100, 5, 5, 5, 5, 200, 5, 5, 5, 5, 100]), [Press::Short]);
    }
}
