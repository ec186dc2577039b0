//! Link quality: the share of a peer's frames that arrive, with hysteresis so that a link at the edge does not flap.

use super::window::WINDOW;

/// Quality, of 255, from which a link is good.
pub(super) const QUALITY_UP: u8 = 170;
/// Quality below which a good link is no longer good.
pub(super) const QUALITY_DOWN: u8 = 64;
/// Highest initial quality: good enough to start with.
const QUALITY_FIRST: u8 = 180;

/// The quality of the link from one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LinkQuality {
    /// Share of its frames that arrive, of 255.
    pub(crate) value: u8,
    /// Whether most frames arrive.
    pub(super) good: bool,
}

impl LinkQuality {
    /// The quality of a link over which nothing was received.
    pub(super) const NONE: Self = Self { value: 0, good: false };

    /// Creates the quality of a link from its first frame.
    pub(crate) fn first(frame: u8) -> Self {
        Self { value: QUALITY_FIRST.min(frame), good: false }
    }

    /// Records a frame received with quality `frame` after `missing` lost ones; returns whether the link became good.
    pub(crate) fn record(&mut self, missing: u32, frame: u8) -> bool {
        for _ in 0..missing.min(WINDOW) {
            self.value = average(self.value, 0);
        }
        self.value = average(self.value, frame);
        let good = self.value >= if self.good { QUALITY_DOWN } else { QUALITY_UP };
        let became_good = good && !self.good;
        self.good = good;
        became_good
    }
}

/// Returns an exponential average over about eight values.
fn average(value: u8, next: u8) -> u8 {
    let sum = u16::from(value).saturating_mul(7).saturating_add(u16::from(next)).saturating_add(4);
    u8::try_from(sum >> 3).unwrap_or(u8::MAX)
}
