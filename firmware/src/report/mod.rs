//! Log lines of a board, for people and for programs.
//!
//! A line is a word, a colon, and numbers in a fixed order between fixed words. Boards log it with defmt, a desktop
//! node prints it, and a watcher of either parses it: all three share one format string.

mod clock;
mod job;
mod lock;
mod snapshot;
mod uplink;

pub use clock::ClockReport;
pub use job::JobReport;
pub use lock::LockReport;
pub use snapshot::SnapshotReport;
pub use uplink::UplinkReport;

use core::fmt;
use protocol::NodeId;
use protocol::base::lamport::LamportTime;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::lease;
use protocol::node;

/// Implements `Display` and `log` of a report, an arm per variant: `PATTERN => LEVEL "FORMAT", ARGUMENT..;`.
///
/// The format is defmt's, each `{=TYPE}` with one argument; `Display` writes the same text.
macro_rules! log_lines {
    ($report:ty { $($pattern:pat => $level:ident $format:literal $(, $argument:expr)*;)+ }) => {
        impl core::fmt::Display for $report {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match *self {
                    $($pattern => $crate::report::write_line(f, $format, &[$(&$argument),*]),)+
                }
            }
        }

        #[cfg(feature = "defmt")]
        impl $report {
            /// Writes the line to the log.
            pub fn log(&self) {
                match *self {
                    $($pattern => defmt::$level!($format $(, $argument)*),)+
                }
            }
        }
    };
}
use log_lines;

/// Why a node stops that restarts because another one used its id: no failure of its own.
pub const SUPERSEDED: &str = "another node used this id in a later boot";

/// A report of a node about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report<'a> {
    /// The node has started.
    Starting {
        /// Its id.
        node: NodeId,
        /// Its configured capacity.
        capacity: u16,
        /// Its records.
        records: RecordsAtBoot,
    },
    /// The node has stored records.
    Stored(Records),
    /// The node leads.
    Leading {
        /// Under this term.
        term: Term,
    },
    /// The node follows another.
    Following {
        /// The leader.
        leader: NodeId,
        /// Its term.
        term: Term,
    },
    /// The node leads, but its lease ends soon unless a quorum renews it.
    Losing,
    /// The node knows no leader.
    Leaderless,
    /// The node reaches no quorum of its group.
    Degraded,
    /// A frame came under the node's own id.
    SameId,
    /// Counters, at regular intervals.
    Status(Status),
    /// The node has stopped, for this reason.
    Stopped(&'a str),
}

/// The records a node finds when it boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordsAtBoot {
    /// The records of its last boot.
    Kept,
    /// None: the node has never run.
    New,
    /// None, though it has run: the node is quarantined first.
    Lost,
}

impl RecordsAtBoot {
    const ALL: [Self; 3] = [Self::Kept, Self::New, Self::Lost];

    /// The word in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::New => "new",
            Self::Lost => "lost",
        }
    }
}

/// Counters of a node since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Neighbours with a bidirectional link.
    pub neighbours: u32,
    /// Frames sent.
    pub sent: u32,
    /// Frames the transport delivered.
    pub received: u32,
    /// Frames the transport failed to send.
    pub send_failed: u32,
    /// Datagrams the transport rejected: empty, too long, or foreign.
    pub rejected: u32,
    /// Frames of the driver that the network stack did not deliver: damaged, unicast to another board, or no room.
    pub undelivered: u32,
    /// Frames the driver lost in either direction.
    pub driver_lost: u32,
    /// Frames the node dropped, by reason.
    pub dropped: node::Counters,
    /// Records stored since the node started.
    pub writes: u32,
    /// Whether the key is no secret.
    pub insecure: bool,
}

/// What a status line ends with where the key is no secret.
const INSECURE: &str = ", INSECURE: the key is public";

impl Status {
    /// The counters in the order of the line.
    fn counters_mut(&mut self) -> [&mut u32; 20] {
        let dropped = &mut self.dropped;
        [
            &mut self.neighbours,
            &mut self.sent,
            &mut self.received,
            &mut self.send_failed,
            &mut self.rejected,
            &mut self.undelivered,
            &mut self.driver_lost,
            &mut dropped.oversized,
            &mut dropped.version,
            &mut dropped.tag,
            &mut dropped.malformed,
            &mut dropped.duplicate,
            &mut dropped.one_way,
            &mut dropped.crowded,
            &mut dropped.outdated,
            &mut dropped.not_for_me,
            &mut dropped.same_id,
            &mut dropped.no_stage,
            &mut dropped.unsent,
            &mut self.writes,
        ]
    }
}

log_lines! { Report<'_> {
    Self::Starting { node, capacity, records } =>
        info "starting: node {=u32}, capacity {=u16}, records {=str}", node.0, capacity, records.name();
    Self::Stored(Records { incarnation, term, lamport, flaps, .. }) =>
        info "stored: incarnation {=u32}, term {=u32}, lamport {=u64}, flaps {=u8}", incarnation, term, lamport.0, flaps;
    Self::Leading { term: Term { number, by } } => info "leading: term {=u32} by node {=u32}", number, by.0;
    Self::Following { leader, term: Term { number, by } } =>
        info "following: node {=u32}, term {=u32} by node {=u32}", leader.0, number, by.0;
    Self::Losing => warn "losing: no quorum has renewed the lease lately";
    Self::Leaderless => info "leaderless: no leader is known";
    Self::Degraded => warn "degraded: no quorum of the group is reachable";
    Self::SameId => warn "same-id: another node has this id, or somebody plays what this one sent before";
    Self::Status(Status { neighbours, sent, received, send_failed, rejected, undelivered, driver_lost, dropped, writes, insecure }) =>
        info "status: neighbours {=u32}, sent {=u32}, received {=u32}, send-failed {=u32}, rejected {=u32}, \
              undelivered {=u32}, driver-lost {=u32}, oversized {=u32}, version {=u32}, tag {=u32}, malformed {=u32}, \
              duplicate {=u32}, not-bidirectional {=u32}, no-room {=u32}, earlier-boot {=u32}, not-for-me {=u32}, \
              same-id {=u32}, unknown-kind {=u32}, unsent {=u32}, writes {=u32}{=str}",
        neighbours, sent, received, send_failed, rejected, undelivered, driver_lost, dropped.oversized,
        dropped.version, dropped.tag, dropped.malformed, dropped.duplicate, dropped.one_way, dropped.crowded,
        dropped.outdated, dropped.not_for_me, dropped.same_id, dropped.no_stage, dropped.unsent, writes, if insecure { INSECURE } else { "" };
    Self::Stopped(reason) => error "stopped: {=str}", reason;
} }

/// Writes a defmt format string, each `{=TYPE}` replaced by an argument.
fn write_line(f: &mut fmt::Formatter<'_>, format: &str, arguments: &[&dyn fmt::Display]) -> fmt::Result {
    let mut pieces = format.split("{=");
    f.write_str(pieces.next().unwrap_or_default())?;
    for (piece, argument) in pieces.zip(arguments) {
        let (_, text) = piece.split_once('}').unwrap_or_default();
        write!(f, "{argument}{text}")?;
    }
    Ok(())
}

impl<'a> Report<'a> {
    /// The report of a notice; `None` where the next notice supersedes it.
    #[must_use]
    pub const fn from_notice(notice: lease::Notice) -> Option<Self> {
        match notice {
            lease::Notice::Gained { term } => Some(Self::Leading { term }),
            lease::Notice::LeaderChanged { leader, term } => Some(Self::Following { leader, term }),
            lease::Notice::Losing { .. } => Some(Self::Losing),
            lease::Notice::Leaderless => Some(Self::Leaderless),
            lease::Notice::Degraded => Some(Self::Degraded),
            lease::Notice::Lost => None,
        }
    }

    /// Parses a line; `None` where it is no report.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let (word, rest) = line.split_once(": ")?;
        match word {
            "starting" => {
                let [id, capacity] = numbers(rest)?;
                let (_, name) = rest.rsplit_once(' ')?;
                let records = RecordsAtBoot::ALL.into_iter().find(|records| records.name() == name)?;
                Some(Self::Starting { node: node(id)?, capacity: u16::try_from(capacity).ok()?, records })
            }
            "stored" => {
                let [incarnation, term, lamport, flaps] = numbers(rest)?;
                let (incarnation, term, lamport) = (to_u32(incarnation)?, to_u32(term)?, LamportTime(lamport));
                let flaps = u8::try_from(flaps).ok()?;
                Some(Self::Stored(Records { incarnation, term, lamport, flaps, ..Records::FACTORY }))
            }
            "leading" => {
                let [number, by] = numbers(rest)?;
                Some(Self::Leading { term: term(number, by)? })
            }
            "following" => {
                let [leader, number, by] = numbers(rest)?;
                Some(Self::Following { leader: node(leader)?, term: term(number, by)? })
            }
            "losing" => Some(Self::Losing),
            "leaderless" => Some(Self::Leaderless),
            "degraded" => Some(Self::Degraded),
            "same-id" => Some(Self::SameId),
            "status" => {
                let mut status = Status::default();
                for (counter, number) in status.counters_mut().into_iter().zip(numbers::<20>(rest)?) {
                    *counter = to_u32(number)?;
                }
                status.insecure = rest.ends_with(INSECURE);
                Some(Self::Status(status))
            }
            "stopped" => Some(Self::Stopped(rest)),
            _ => None, // another line of a log
        }
    }
}

fn to_u32(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

fn node(number: u64) -> Option<NodeId> {
    to_u32(number).map(NodeId)
}

fn term(number: u64, by: u64) -> Option<Term> {
    Some(Term { number: to_u32(number)?, by: node(by)? })
}

/// The numbers in a text, if there are exactly `COUNT`.
fn numbers<const COUNT: usize>(text: &str) -> Option<[u64; COUNT]> {
    let mut found = text.split(|character: char| !character.is_ascii_digit()).filter(|digits| !digits.is_empty());
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
    fn formatting_and_parsing_are_inverse() {
        let mut status = Status::default();
        for (counter, number) in status.counters_mut().into_iter().zip(100..) {
            *counter = number;
        }
        let reports = [
            Report::Starting { node: NodeId(9), capacity: 812, records: RecordsAtBoot::Kept },
            Report::Starting { node: NodeId(0), capacity: 10_000, records: RecordsAtBoot::New },
            Report::Starting { node: NodeId(u32::MAX), capacity: 0, records: RecordsAtBoot::Lost },
            Report::Stored(Records { incarnation: 2, term: 17, lamport: LamportTime(u64::MAX), flaps: 2, key: 0 }),
            Report::Leading { term: TERM },
            Report::Following { leader: NodeId(4), term: TERM },
            Report::Losing,
            Report::Leaderless,
            Report::Degraded,
            Report::SameId,
            Report::Status(status),
            Report::Status(Status { insecure: true, ..status }),
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
        let report = Report::Starting { node: NodeId(9), capacity: 812, records: RecordsAtBoot::Kept };
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
            "stored: incarnation 4294967296, term 1, lamport 1, flaps 0",
        ] {
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }
}
