//! A node's reports as JSON, one object per line.

use firmware::report::{Report, Status};
use protocol::base::records::Records;
use serde_json::{Value, json};

/// Returns what `report` says, with its time in microseconds.
pub(super) fn line(at: u64, report: &Report<'_>) -> Value {
    let mut object = match *report {
        Report::Starting { node, capacity, records } => {
            json!({ "event": "starting", "node": node.0, "capacity": capacity, "records": records.name() })
        }
        Report::Stored(Records { incarnation, term, lamport, flaps, .. }) => {
            json!({ "event": "stored", "incarnation": incarnation, "term": term, "lamport": lamport.0, "flaps": flaps })
        }
        Report::Leading { term } => json!({ "event": "leading", "term": term.number, "by": term.by.0 }),
        Report::Following { leader, term } => {
            json!({ "event": "following", "leader": leader.0, "term": term.number, "by": term.by.0 })
        }
        Report::Losing => json!({ "event": "losing" }),
        Report::Leaderless => json!({ "event": "leaderless" }),
        Report::Degraded => json!({ "event": "degraded" }),
        Report::SameId => json!({ "event": "same-id" }),
        Report::Status(Status { neighbours, sent, received, send_failed, dropped, writes, insecure, .. }) => {
            json!({
                "event": "status", "neighbours": neighbours, "sent": sent, "received": received,
                "send_failed": send_failed, "same_id": dropped.same_id, "writes": writes, "insecure": insecure
            })
        }
        Report::Stopped(reason) => json!({ "event": "stopped", "reason": reason }),
    };
    object["at_us"] = at.into();
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::base::term::Term;

    #[test]
    fn a_json_line_has_its_time_and_its_fields() {
        let report = Report::Following { leader: NodeId(4), term: Term { number: 3, by: NodeId(7) } };
        let expected = r#"{"at_us":5,"by":7,"event":"following","leader":4,"term":3}"#;
        assert_eq!(line(5, &report).to_string(), expected);
    }
}
