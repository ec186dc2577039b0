//! What a board says about the shared clock. Other boards link none of it.

use super::numbers;
use core::fmt;
use protocol::Instant;
use protocol::clock_sync::Notice;

/// Something a node says about the shared clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockReport {
    /// It was set for the first time.
    Set,
    /// It is being corrected.
    Corrected {
        /// By how many microseconds.
        by: i32,
    },
    /// A second of it has begun.
    Flash {
        /// What it shows.
        time: Instant,
    },
}

const SET: &str = "set: the shared clock is known";

impl ClockReport {
    /// What is said of a notice.
    #[must_use]
    pub const fn of(notice: Notice) -> Self {
        match notice {
            Notice::Set => Self::Set,
            Notice::Adjusted { by } => Self::Corrected { by },
        }
    }

    /// Writes the line to the log.
    #[cfg(feature = "defmt")]
    pub fn log(&self) {
        match *self {
            Self::Set => defmt::info!("{=str}", SET),
            Self::Corrected { by } => {
                defmt::info!("corrected: {=str} by {=u32} us", direction(by), by.unsigned_abs());
            }
            Self::Flash { time } => defmt::info!("flash: the shared clock shows {=u64} us", time.as_micros()),
        }
    }

    /// Reads a line; `None` where it is none of these.
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
            "flash" => {
                let [micros] = numbers(rest)?;
                Some(Self::Flash { time: Instant::from_micros(micros) })
            }
            _ => None, // any other line of a log
        }
    }
}

const BACK: &str = "back";

const fn direction(by: i32) -> &'static str {
    if by < 0 { BACK } else { "forward" }
}

impl fmt::Display for ClockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Set => f.write_str(SET),
            Self::Corrected { by } => write!(f, "corrected: {} by {} us", direction(by), by.unsigned_abs()),
            Self::Flash { time } => write!(f, "flash: the shared clock shows {} us", time.as_micros()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_line_about_the_clock_reads_back_as_what_was_said() {
        let corrected = [0, 1, -1, i32::MAX, i32::MIN].map(|by| ClockReport::Corrected { by });
        let flash = ClockReport::Flash { time: Instant::from_micros(u64::MAX) };
        for report in corrected.into_iter().chain([ClockReport::Set, flash]) {
            assert_eq!(ClockReport::parse(&report.to_string()), Some(report), "{report}");
        }
        assert_eq!(ClockReport::Corrected { by: -12 }.to_string(), "corrected: back by 12 us");
    }

    #[test]
    fn other_lines_say_nothing_about_the_clock() {
        for line in ["", "flash", "flash: soon", "corrected: back", "corrected: back by 2147483649 us"] {
            assert_eq!(ClockReport::parse(line), None, "{line}");
        }
    }
}
