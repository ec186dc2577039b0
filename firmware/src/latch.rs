//! The lock that a person asks for with the button: pressed once it is asked for, and kept until it is pressed again.

use protocol::Timing;
use protocol::mutex::{Command, LockId, Notice};

/// Which lock that is.
pub const LATCH: LockId = LockId::from_name("button");

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latch {
    /// Nobody here asked for it.
    #[default]
    Open,
    /// It was asked for.
    Asked,
    /// It is held.
    Held {
        /// Whether it will be lost unless it is renewed.
        ends: bool,
    },
}

impl Latch {
    /// What a press asks for: the lock, or to be rid of it.
    pub const fn press(&mut self) -> Command {
        match *self {
            Self::Open => {
                *self = Self::Asked;
                Command::Acquire { lock: LATCH, lease: Timing::RADIO.lock_lease }
            }
            Self::Asked => Command::Cancel { lock: LATCH },
            Self::Held { .. } => Command::Release { lock: LATCH },
        }
    }

    /// What has to be asked for without a press: a person has no wish to renew anything.
    pub const fn due(&mut self) -> Option<Command> {
        match self {
            Self::Held { ends: ends @ true } => {
                *ends = false;
                Some(Command::Renew { lock: LATCH, lease: Timing::RADIO.lock_lease })
            }
            Self::Open | Self::Asked | Self::Held { ends: false } => None,
        }
    }

    /// The lock said something.
    pub const fn hear(&mut self, notice: &Notice) {
        *self = match *notice {
            Notice::Acquired { .. } => Self::Held { ends: false },
            Notice::Waiting { .. } => Self::Asked,
            Notice::Expiring { .. } => Self::Held { ends: true },
            // What is refused to a holder is a renewal: the next warning asks again.
            Notice::Refused { .. } if self.is_held() => *self,
            Notice::Refused { .. } | Notice::Lost { .. } | Notice::Released { .. } => Self::Open,
        };
    }

    /// Whether this node may touch what the lock protects.
    #[must_use]
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Held { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Instant;
    use protocol::mutex::{Fence, Refusal};

    const GRANT: Notice = Notice::Acquired { lock: LATCH, fence: Fence::ZERO, until: Instant::ZERO };

    #[test]
    fn a_press_asks_for_the_lock_and_the_next_gives_it_back() {
        let mut latch = Latch::default();
        assert!(matches!(latch.press(), Command::Acquire { lock: LATCH, .. }) && !latch.is_held());
        latch.hear(&Notice::Waiting { lock: LATCH, ahead: 1 });
        assert!(!latch.is_held() && latch.due().is_none());
        latch.hear(&GRANT);
        assert!(latch.is_held() && latch.due().is_none());
        assert_eq!(latch.press(), Command::Release { lock: LATCH });
        latch.hear(&Notice::Released { lock: LATCH });
        assert_eq!(latch, Latch::Open);
    }

    #[test]
    fn a_press_while_others_come_first_gives_up() {
        let mut latch = Latch::default();
        latch.press();
        assert_eq!(latch.press(), Command::Cancel { lock: LATCH });
        latch.hear(&Notice::Refused { lock: LATCH, why: Refusal::Cancelled });
        assert_eq!(latch, Latch::Open);
    }

    #[test]
    fn a_lock_that_is_kept_is_renewed_once_for_every_warning() {
        let mut latch = Latch::Held { ends: false };
        latch.hear(&Notice::Expiring { lock: LATCH, until: Instant::ZERO });
        assert!(matches!(latch.due(), Some(Command::Renew { .. })));
        assert_eq!(latch.due(), None);
        latch.hear(&Notice::Refused { lock: LATCH, why: Refusal::Full });
        assert!(latch.is_held(), "a renewal that could not be asked for ends nothing yet");
        latch.hear(&Notice::Lost { lock: LATCH });
        assert_eq!(latch, Latch::Open);
    }
}
