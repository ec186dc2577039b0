//! Log lines about the shared clock.

use super::{log_lines, numbers};
use protocol::Instant;
use protocol::service::clock_sync::Notice;

/// A report about the shared clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockReport {
    /// The clock was set for the first time.
    Set,
    /// The clock is being corrected.
    Corrected {
        /// By this many microseconds.
        by: i32,
    },
    /// A second has begun.
    Second {
        /// The time of the clock.
        time: Instant,
    },
}

const BACK: &str = "back";

log_lines! { ClockReport {
    Self::Set => info "set: the shared clock is known";
    Self::Corrected { by } =>
        info "corrected: {=str} by {=u32} us", if by < 0 { BACK } else { "forward" }, by.unsigned_abs();
    Self::Second { time } => info "second: the shared clock shows {=u64} us", time.as_micros();
} }

impl ClockReport {
    /// The report of a notice.
    #[must_use]
    pub const fn from_notice(notice: Notice) -> Self {
        match notice {
            Notice::Set => Self::Set,
            Notice::Adjusted { by } => Self::Corrected { by },
        }
    }

    /// Parses a line; `None` where it is no report about the clock.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": ")?;
        match word {
            "set" => Some(Self::Set),
            "corrected" => {
                let [amount] = numbers(rest)?;
                let amount = i64::try_from(amount).ok()?;
                let by = if rest.starts_with(BACK) { amount.checked_neg()? } else { amount };
                Some(Self::Corrected { by: i32::try_from(by).ok()? })
            }
            "second" => {
                let [micros] = numbers(rest)?;
                Some(Self::Second { time: Instant::from_micros(micros) })
            }
            _ => None, // another line of a log
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn formatting_and_parsing_are_inverse() {
        let corrected = [0, 1, -1, i32::MAX, i32::MIN].map(|by| ClockReport::Corrected { by });
        let second = ClockReport::Second { time: Instant::from_micros(u64::MAX) };
        for report in corrected.into_iter().chain([ClockReport::Set, second]) {
            assert_eq!(ClockReport::parse(&report.to_string()), Some(report), "{report}");
        }
        assert_eq!(ClockReport::Corrected { by: -12 }.to_string(), "corrected: back by 12 us");
    }

    #[test]
    fn other_lines_are_no_reports() {
        for line in ["", "second", "second: soon", "corrected: back", "corrected: back by 2147483649 us"] {
            assert_eq!(ClockReport::parse(line), None, "{line}");
        }
    }
}
