//! What a board says about itself, in lines that a newcomer understands and a program reads.
//!
//! A line is a word, a colon, and numbers in a fixed order among fixed words. The board writes it to its log, a desktop
//! node prints it, and whoever watches either reads it back with [`Report::parse`]: all three are in this file, so that
//! they stay the same line.

mod clock;
mod job;
mod lock;
mod snapshot;

pub use clock::ClockReport;
pub use job::JobReport;
pub use lock::LockReport;
pub use snapshot::SnapshotReport;

use core::fmt;
use protocol::NodeId;
use protocol::clock::{Stamp, Term};
use protocol::mandate;
use protocol::node;
use protocol::records::Records;

/// Something a node says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report<'a> {
    /// It has started.
    Starting {
        /// Which node it is.
        node: NodeId,
        /// What it is worth.
        capacity: u16,
        /// What became of its records.
        records: Past,
    },
    /// It has stored what a reboot must not forget.
    Stored(Records),
    /// It leads.
    Leading {
        /// Under which term.
        term: Term,
    },
    /// It follows another.
    Following {
        /// Whom.
        leader: NodeId,
        /// Under which term.
        term: Term,
    },
    /// It leads, but will not for long unless a majority is heard from.
    Losing,
    /// It knows no leader.
    Leaderless,
    /// It hears no majority of its group.
    Degraded,
    /// What it counted, once in a while.
    Status(Status),
    /// It cannot go on, for this reason.
    Stopped(&'a str),
}

const LOSING: &str = "losing: no majority was heard from lately";
const DEGRADED: &str = "degraded: no majority of the group is heard";

/// What a node knows of its earlier boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// It has its records.
    Kept,
    /// It has never run.
    New,
    /// It had records and they are gone: it keeps out of every decision for a while.
    Lost,
}

impl Past {
    const ALL: [Self; 3] = [Self::Kept, Self::New, Self::Lost];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::New => "new",
            Self::Lost => "lost",
        }
    }
}

/// What a node counted since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// How many others hear it as it hears them.
    pub neighbours: u32,
    /// Frames it sent.
    pub sent: u32,
    /// Frames its network handed it.
    pub received: u32,
    /// Frames its network did not send, for whatever reason.
    pub unsendable: u32,
    /// Datagrams its network refused to take for frames: empty, or longer than any.
    pub refused: u32,
    /// What came in and its network kept to itself: broken, for somebody else, or more than there was room for.
    pub unclaimed: u32,
    /// Frames its driver lost, coming or going.
    pub driver: u32,
    /// Frames the node dropped, by reason.
    pub dropped: node::Counters,
}

/// The numbers of a status, in the order of its line.
macro_rules! numbers_of_status {
    ($($($field:ident).+,)+) => {
        /// How many numbers a status has.
        const STATUS_NUMBERS: usize = [$(stringify!($($field).+)),+].len();

        impl Status {
            const fn numbers(&self) -> [u32; STATUS_NUMBERS] {
                [$(self.$($field).+),+]
            }

            fn from_numbers(numbers: [u32; STATUS_NUMBERS]) -> Self {
                let mut status = Self::default();
                for (place, number) in [$(&mut status.$($field).+),+].into_iter().zip(numbers) {
                    *place = number;
                }
                status
            }
        }
    };
}

numbers_of_status! {
    neighbours,
    sent,
    received,
    unsendable,
    refused,
    unclaimed,
    driver,
    dropped.oversized,
    dropped.version,
    dropped.tag,
    dropped.malformed,
    dropped.duplicate,
    dropped.one_way,
    dropped.crowded,
    dropped.outdated,
    dropped.not_for_me,
    dropped.no_stage,
    dropped.unsent,
}

/// The line of a status but for its numbers, for both who write it.
macro_rules! status_line {
    ($numbers:expr => $($write:ident)::+ $(, $out:expr)?) => {{
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = $numbers;
        $($write)::+!(
            $($out,)?
            "status: neighbours {}, sent {}, received {}, unsendable {}, refused {}, unclaimed {}, driver {}, \
             oversized {}, version {}, tag {}, malformed {}, duplicate {}, one-way {}, crowded {}, outdated {}, not-for-me {}, \
             no-stage {}, unsent {}",
            a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r
        )
    }};
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Starting { node, capacity, records } => {
                write!(f, "starting: node {}, capacity {capacity}, records {}", node.0, records.word())
            }
            Self::Stored(Records { incarnation, term, stamp }) => {
                write!(f, "stored: incarnation {incarnation}, term {term}, stamp {}", stamp.0)
            }
            Self::Leading { term: Term { number, by } } => write!(f, "leading: term {number} by node {}", by.0),
            Self::Following { leader, term: Term { number, by } } => {
                write!(f, "following: node {}, term {number} by node {}", leader.0, by.0)
            }
            Self::Losing => f.write_str(LOSING),
            Self::Leaderless => f.write_str("leaderless: no leader is known"),
            Self::Degraded => f.write_str(DEGRADED),
            Self::Status(ref status) => status_line!(status.numbers() => write, f),
            Self::Stopped(reason) => write!(f, "stopped: {reason}"),
        }
    }
}

impl<'a> Report<'a> {
    /// What a node says about who leads; `None` where the next notice says more.
    #[must_use]
    pub const fn of(notice: mandate::Notice) -> Option<Self> {
        match notice {
            mandate::Notice::Gained { term } => Some(Self::Leading { term }),
            mandate::Notice::LeaderChanged { leader, term } => Some(Self::Following { leader, term }),
            mandate::Notice::Losing { .. } => Some(Self::Losing),
            mandate::Notice::Leaderless => Some(Self::Leaderless),
            mandate::Notice::Degraded => Some(Self::Degraded),
            mandate::Notice::Lost => None,
        }
    }

    /// Writes the line to the log.
    #[cfg(feature = "defmt")]
    pub fn log(&self) {
        match *self {
            Self::Starting { node, capacity, records } => {
                defmt::info!(
                    "starting: node {=u32}, capacity {=u16}, records {=str}",
                    node.0,
                    capacity,
                    records.word()
                );
            }
            Self::Stored(Records { incarnation, term, stamp }) => {
                defmt::info!("stored: incarnation {=u32}, term {=u32}, stamp {=u64}", incarnation, term, stamp.0);
            }
            Self::Leading { term: Term { number, by } } => {
                defmt::info!("leading: term {=u32} by node {=u32}", number, by.0);
            }
            Self::Following { leader, term: Term { number, by } } => {
                defmt::info!("following: node {=u32}, term {=u32} by node {=u32}", leader.0, number, by.0);
            }
            Self::Losing => defmt::warn!("{=str}", LOSING),
            Self::Leaderless => defmt::info!("leaderless: no leader is known"),
            Self::Degraded => defmt::warn!("{=str}", DEGRADED),
            Self::Status(ref status) => status_line!(status.numbers() => defmt::info),
            Self::Stopped(reason) => defmt::error!("stopped: {=str}", reason),
        }
    }

    /// Reads a line; `None` where it is none of these.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let (word, rest) = line.split_once(": ")?;
        match word {
            "starting" => {
                let [node, capacity] = numbers(rest)?;
                let (_, past) = rest.rsplit_once(' ')?;
                let records = Past::ALL.into_iter().find(|known| known.word() == past)?;
                Some(Self::Starting { node: NodeId(small(node)?), capacity: u16::try_from(capacity).ok()?, records })
            }
            "stored" => {
                let [incarnation, term, stamp] = numbers(rest)?;
                let (incarnation, term) = (small(incarnation)?, small(term)?);
                Some(Self::Stored(Records { incarnation, term, stamp: Stamp(stamp) }))
            }
            "leading" => {
                let [number, by] = numbers(rest)?;
                Some(Self::Leading { term: term(number, by)? })
            }
            "following" => {
                let [leader, number, by] = numbers(rest)?;
                Some(Self::Following { leader: NodeId(small(leader)?), term: term(number, by)? })
            }
            "losing" => Some(Self::Losing),
            "leaderless" => Some(Self::Leaderless),
            "degraded" => Some(Self::Degraded),
            "status" => {
                let mut counted = [0; STATUS_NUMBERS];
                for (place, number) in counted.iter_mut().zip(numbers::<STATUS_NUMBERS>(rest)?) {
                    *place = small(number)?;
                }
                Some(Self::Status(Status::from_numbers(counted)))
            }
            "stopped" => Some(Self::Stopped(rest)),
            _ => None, // any other line of a log
        }
    }
}

fn small(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

fn term(number: u64, by: u64) -> Option<Term> {
    Some(Term { number: small(number)?, by: NodeId(small(by)?) })
}

/// The numbers in a text, if there are exactly as many.
fn numbers<const COUNT: usize>(text: &str) -> Option<[u64; COUNT]> {
    let mut found = text.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let mut numbers = [0; COUNT];
    for number in &mut numbers {
        *number = found.next()?.parse().ok()?;
    }
    found.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    const TERM: Term = Term { number: 3, by: NodeId(7) };

    #[test]
    fn every_line_reads_back_as_what_was_said() {
        let counted = core::array::from_fn(|index| u32::try_from(index).unwrap() + 100);
        let reports = [
            Report::Starting { node: NodeId(9), capacity: 812, records: Past::Kept },
            Report::Starting { node: NodeId(0), capacity: 10_000, records: Past::New },
            Report::Starting { node: NodeId(u32::MAX), capacity: 0, records: Past::Lost },
            Report::Stored(Records { incarnation: 2, term: 17, stamp: Stamp(u64::MAX) }),
            Report::Leading { term: TERM },
            Report::Following { leader: NodeId(4), term: TERM },
            Report::Losing,
            Report::Leaderless,
            Report::Degraded,
            Report::Status(Status::from_numbers(counted)),
            Report::Stopped("the outbox was full"),
        ];
        for report in reports {
            assert_eq!(Report::parse(&report.to_string()), Some(report), "{report}");
        }
    }

    #[test]
    fn the_lines_are_pinned() {
        let report = Report::Following { leader: NodeId(4), term: TERM };
        assert_eq!(report.to_string(), "following: node 4, term 3 by node 7");
        let report = Report::Starting { node: NodeId(9), capacity: 812, records: Past::Kept };
        assert_eq!(report.to_string(), "starting: node 9, capacity 812, records kept");
    }

    #[test]
    fn other_lines_are_no_reports() {
        for line in [
            "",
            "leading",
            "leading: soon",
            "leading: term 3",
            "following: 1 2 3 4",
            "hello: world",
            "starting: node 1, capacity 2, records burnt",
        ] {
            assert_eq!(Report::parse(line), None, "{line}");
        }
        assert_eq!(Report::parse("stored: incarnation 4294967296, term 1, stamp 1"), None);
    }
}
