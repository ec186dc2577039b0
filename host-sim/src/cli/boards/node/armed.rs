//! When to set the timeout of the socket again.

use protocol::Instant;

/// How late a deadline may be met because the timeout was not set again.
const ARMED_MAX_US: u64 = 200;

/// When the timeout of the socket was set last, and for which deadline: a flood of frames should not set it for each.
#[derive(Default)]
pub(super) struct Armed {
    at: u64,
    deadline: Option<Instant>,
}

impl Armed {
    /// Returns whether to set the timeout at `now`, and that it was.
    pub(super) fn is_due(&mut self, now: u64, deadline: Option<Instant>) -> bool {
        let due = deadline != self.deadline || now.saturating_sub(self.at) >= ARMED_MAX_US || self.at == 0;
        if due {
            *self = Self { at: now.max(1), deadline };
        }
        due
    }
}
