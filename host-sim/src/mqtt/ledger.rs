//! What a consumer has accepted and refused, by origin.

use protocol::NodeId;
use protocol::service::uplink::{Fence, Guard, Upload, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The most nodes and gateways that are remembered.
const ORIGINS_MAX: usize = 256;

/// What became of the messages of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Messages accepted, each once.
    pub(crate) accepted: u32,
    /// Messages refused because they were accepted before.
    pub(crate) duplicates: u32,
    /// Messages refused because a gateway with a higher fence had claimed the uplink.
    pub(crate) stale: u32,
    /// Gaps: how many messages are missing before which number.
    pub(crate) gaps: Vec<(u32, u32)>,
}

/// All that a consumer was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    guard: Guard<ORIGINS_MAX>,
    pub(crate) nodes: BTreeMap<u32, Tally>,
    /// Texts that are no messages.
    pub(crate) malformed: u32,
}

/// A message, and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) upload: Upload,
    pub(crate) verdict: Verdict,
}

impl Ledger {
    /// Takes in what was published at a topic, whose prefix and its slash are gone; returns a message with its verdict.
    pub(crate) fn receive(&mut self, topic: &str, payload: &[u8]) -> Option<Judged> {
        match topic.split_once('/') {
            None if topic == "gateway" => self.on_claim(payload),
            Some(("gateway", _)) => self.on_claim(payload),
            Some(("up", origin)) => {
                let upload = origin.parse().ok().and_then(|id| Upload::from_text(NodeId(id), payload));
                if upload.is_none() {
                    self.malformed += 1;
                }
                return upload.map(|upload| self.judge(upload));
            }
            None | Some(_) => {} // not a consumer's
        }
        None
    }

    fn on_claim(&mut self, payload: &[u8]) {
        match Fence::from_text(payload) {
            Some(claim) => self.guard.on_claim(claim),
            None => self.malformed += 1,
        }
    }

    fn judge(&mut self, upload: Upload) -> Judged {
        let verdict = self.guard.on_upload(&upload);
        let tally = self.nodes.entry(upload.id.origin.0).or_default();
        match verdict {
            Verdict::Accepted { missing } => {
                tally.accepted += 1;
                if missing > 0 {
                    tally.gaps.push((missing, upload.id.number));
                }
            }
            Verdict::Duplicate => tally.duplicates += 1,
            Verdict::StaleFence { .. } => tally.stale += 1,
            Verdict::NoRoom => self.malformed += 1,
        }
        Judged { upload, verdict }
    }
}

impl fmt::Display for Ledger {
    /// A table: what arrived once, what was refused, and the gaps by their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10} {:>9} {:>11} {:>12}  missing", "node", "accepted", "duplicates", "older fence")?;
        for (node, Tally { accepted, duplicates, stale, gaps }) in &self.nodes {
            let gaps: Vec<String> = gaps.iter().map(|(missing, before)| format!("{missing} before {before}")).collect();
            let gaps = if gaps.is_empty() { "none".to_owned() } else { gaps.join(", ") };
            write!(f, "\n{node:>10} {accepted:>9} {duplicates:>11} {stale:>12}  {gaps}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_what_becomes_of_them_and_gaps_are_named() {
        let mut ledger = Ledger::default();
        for (topic, payload) in [
            ("gateway", "1.2"),
            ("up/4", "1.2 1 1.1 a"),
            ("up/4", "1.2 1 1.1 a"),
            ("gateway", "2.3"),
            ("up/4", "1.2 2 1.2 b"),
            ("up/4", "2.3 1 1.4 d"),
            ("up/four", "2.3 2 1.5 e"),
            ("status/4", "online"),
        ] {
            ledger.receive(topic, payload.as_bytes());
        }
        let tally = Tally { accepted: 2, duplicates: 1, stale: 1, gaps: vec![(2, 4)] };
        assert_eq!((ledger.nodes.get(&4), ledger.malformed), (Some(&tally), 1));
        assert!(ledger.to_string().ends_with("4         2           1            1  2 before 4"), "{ledger}");
    }
}
