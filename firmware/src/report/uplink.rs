//! Log lines about an elected uplink.

use super::{log_lines, numbers, term, to_u32};
use protocol::base::term::Term;
use protocol::service::uplink::{ClientNotice, GatewayState};

/// A report about messages to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UplinkReport {
    /// A message of this node is stored at the broker.
    Stored {
        /// Its number in this boot.
        number: u32,
    },
    /// A message of this node made room for a later one.
    Dropped {
        /// Its number in this boot.
        number: u32,
    },
    /// The broker had something for this node.
    Downlink {
        /// Its length in bytes.
        bytes: u32,
    },
    /// This node publishes for all.
    Serving {
        /// Under this fence.
        term: Term,
    },
    /// This node leads, but another gateway has a higher fence.
    Superseded {
        /// Its own fence.
        term: Term,
    },
}

log_lines! { UplinkReport {
    Self::Stored { number } => info "uplink-stored: number {=u32}", number;
    Self::Dropped { number } => warn "uplink-dropped: number {=u32}", number;
    Self::Downlink { bytes } => info "downlink: bytes {=u32}", bytes;
    Self::Serving { term } => info "serving: term {=u32} by node {=u32}", term.number, term.by.0;
    Self::Superseded { term } => warn "superseded: term {=u32} by node {=u32}", term.number, term.by.0;
} }

impl UplinkReport {
    /// Returns the report on what became of a message.
    #[must_use]
    pub fn from_notice(notice: &ClientNotice) -> Self {
        match *notice {
            ClientNotice::Stored { number } => Self::Stored { number },
            ClientNotice::Dropped { number } => Self::Dropped { number },
            ClientNotice::Downlink { ref payload } => {
                Self::Downlink { bytes: u32::try_from(payload.len()).unwrap_or(u32::MAX) }
            }
        }
    }

    /// Returns the report on a gateway that came to this state, if there is one.
    #[must_use]
    pub const fn from_state(state: GatewayState) -> Option<Self> {
        match state {
            GatewayState::Serving(fence) => Some(Self::Serving { term: fence.term }),
            GatewayState::Superseded(fence) => Some(Self::Superseded { term: fence.term }),
            GatewayState::Idle | GatewayState::Claiming(_) => None,
        }
    }

    /// Parses a line; `None` where it is no report about an uplink.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": ")?;
        let one = || numbers(rest).and_then(|[number]| to_u32(number));
        let fence = || numbers(rest).and_then(|[number, by]| term(number, by));
        match word {
            "uplink-stored" => one().map(|number| Self::Stored { number }),
            "uplink-dropped" => one().map(|number| Self::Dropped { number }),
            "downlink" => one().map(|bytes| Self::Downlink { bytes }),
            "serving" => fence().map(|term| Self::Serving { term }),
            "superseded" => fence().map(|term| Self::Superseded { term }),
            _ => None, // another line of a log
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use std::string::ToString;

    #[test]
    fn formatting_and_parsing_are_inverse() {
        let term = Term { number: 7, by: NodeId(2) };
        for report in [
            UplinkReport::Stored { number: 1 },
            UplinkReport::Dropped { number: u32::MAX },
            UplinkReport::Downlink { bytes: 24 },
            UplinkReport::Serving { term },
            UplinkReport::Superseded { term },
        ] {
            assert_eq!(UplinkReport::parse(&report.to_string()), Some(report), "{report}");
        }
        assert_eq!(UplinkReport::Serving { term }.to_string(), "serving: term 7 by node 2");
        for line in ["uplink-stored", "uplink-stored: soon", "serving: term 7", "stored: 1"] {
            assert_eq!(UplinkReport::parse(line), None, "{line}");
        }
    }
}
