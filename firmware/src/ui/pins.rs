//! LED and button at pins of the chip.

use super::button::Button;
use super::led::Led;
use embedded_hal::digital::OutputPin;
use embedded_hal_async::digital::Wait;

/// A pin that is active at the high level.
pub const HIGH: bool = true;
/// A pin that is active at the low level.
pub const LOW: bool = false;

/// An LED that is on while its pin is [`HIGH`] or [`LOW`].
pub struct PinLed<P, const ON: bool>(pub P);

impl<P: OutputPin, const ON: bool> Led for PinLed<P, ON> {
    async fn set(&mut self, on: bool) {
        let _ = self.0.set_state((on == ON).into()); // pins of a chip do not fail
    }
}

/// A button that is down while its pin is [`HIGH`] or [`LOW`].
pub struct PinButton<P, const DOWN: bool>(pub P);

impl<P: Wait, const DOWN: bool> Button for PinButton<P, DOWN> {
    async fn wait_down(&mut self) {
        let _ = if DOWN { self.0.wait_for_high().await } else { self.0.wait_for_low().await };
    }

    async fn wait_up(&mut self) {
        let _ = if DOWN { self.0.wait_for_low().await } else { self.0.wait_for_high().await };
    }
}
