//! The lock behind the button: one press requests it, the next releases it; in between its lease is renewed.

use protocol::Timing;
use protocol::mutex::{Command, LockId, Notice};

pub(super) const BUTTON_LOCK: LockId = LockId::from_name("button");

/// State of the button's lock on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockButton {
    Idle,
    Requested,
    Held { expiring: bool }, // whether the lease ends unless it is renewed
}

impl LockButton {
    /// Returns the command of a press: acquire, cancel or release.
    pub(super) const fn press(&mut self) -> Command {
        match *self {
            Self::Idle => {
                *self = Self::Requested;
                Command::Acquire { lock: BUTTON_LOCK, lease: Timing::RADIO.lock_lease }
            }
            Self::Requested => Command::Cancel { lock: BUTTON_LOCK },
            Self::Held { .. } => Command::Release { lock: BUTTON_LOCK },
        }
    }

    /// Returns the renewal that is due, if any.
    pub(super) const fn poll_command(&mut self) -> Option<Command> {
        match self {
            Self::Held { expiring: flag @ true } => {
                *flag = false;
                Some(Command::Renew { lock: BUTTON_LOCK, lease: Timing::RADIO.lock_lease })
            }
            Self::Idle | Self::Requested | Self::Held { expiring: false } => None,
        }
    }

    /// Handles a notice of the lock.
    pub(super) const fn on_notice(&mut self, notice: &Notice) {
        *self = match *notice {
            Notice::Acquired { .. } => Self::Held { expiring: false },
            Notice::Waiting { .. } => Self::Requested,
            Notice::Expiring { .. } => Self::Held { expiring: true },
            // A holder is refused a renewal: the next `Expiring` requests it again.
            Notice::Refused { .. } if self.is_held() => *self,
            Notice::Refused { .. } | Notice::Lost { .. } | Notice::Released { .. } => Self::Idle,
        };
    }

    pub(super) const fn is_held(self) -> bool {
        matches!(self, Self::Held { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Instant;
    use protocol::mutex::{Fence, Refusal};

    const GRANT: Notice = Notice::Acquired { lock: BUTTON_LOCK, fence: Fence::ZERO, until: Instant::ZERO };

    #[test]
    fn a_press_requests_the_lock_and_the_next_releases_it() {
        let mut button = LockButton::Idle;
        assert!(matches!(button.press(), Command::Acquire { lock: BUTTON_LOCK, .. }) && !button.is_held());
        button.on_notice(&Notice::Waiting { lock: BUTTON_LOCK, ahead: 1 });
        assert!(!button.is_held() && button.poll_command().is_none());
        button.on_notice(&GRANT);
        assert!(button.is_held() && button.poll_command().is_none());
        assert_eq!(button.press(), Command::Release { lock: BUTTON_LOCK });
        button.on_notice(&Notice::Released { lock: BUTTON_LOCK });
        assert_eq!(button, LockButton::Idle);
    }

    #[test]
    fn a_press_while_waiting_cancels_the_request() {
        let mut button = LockButton::Idle;
        button.press();
        assert_eq!(button.press(), Command::Cancel { lock: BUTTON_LOCK });
        button.on_notice(&Notice::Refused { lock: BUTTON_LOCK, reason: Refusal::Cancelled });
        assert_eq!(button, LockButton::Idle);
    }

    #[test]
    fn a_held_lock_is_renewed_once_per_warning() {
        let mut button = LockButton::Held { expiring: false };
        button.on_notice(&Notice::Expiring { lock: BUTTON_LOCK, until: Instant::ZERO });
        assert!(matches!(button.poll_command(), Some(Command::Renew { .. })));
        assert_eq!(button.poll_command(), None);
        button.on_notice(&Notice::Refused { lock: BUTTON_LOCK, reason: Refusal::Full });
        assert!(button.is_held(), "a refused renewal does not end the lease");
        button.on_notice(&Notice::Lost { lock: BUTTON_LOCK });
        assert_eq!(button, LockButton::Idle);
    }
}
