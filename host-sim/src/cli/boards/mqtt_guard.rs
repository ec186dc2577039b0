//! `conclave mqtt-guard`: reads what gateways publish at a broker, and accepts each message once.

use crate::mqtt::{Judged, Ledger, Reply, TcpDial, consume, drive};
use clap::Args;
use protocol::base::term::Term;
use protocol::service::uplink::{Upload, Verdict};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

#[derive(Args)]
pub(crate) struct MqttGuardArgs {
    /// The broker; without a port, it is 1883.
    #[arg(long, value_name = "HOST[:PORT]", default_value = "127.0.0.1", value_parser = TcpDial::parse)]
    mqtt: TcpDial,
    /// What the topics of the group begin with.
    #[arg(long, value_name = "TOPIC", default_value = "conclave")]
    topic: String,
    /// The name of this consumer at the broker, which keeps messages for it while it is not connected.
    #[arg(long, value_name = "NAME", default_value = "conclave-guard")]
    name: String,
    /// Publish the payload of each accepted message at TOPIC/accepted/ID, for consumers that check nothing.
    #[arg(long)]
    publish: bool,
    /// End after so many accepted messages.
    #[arg(long, value_name = "COUNT")]
    count: Option<u32>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave mqtt-guard                                   what the nodes of this machine's broker submitted
  conclave mqtt-guard --mqtt 10.0.0.9 --topic barn --publish
  conclave mqtt-guard --json --count 100
At the end, by --count or an interrupt, a table shows what arrived, once and in order, and names the gaps.";

/// Runs until interrupted, or until enough was accepted.
pub(super) fn run(args: &MqttGuardArgs) -> super::Ended {
    let interrupted = super::interrupts().map_err(|error| error.to_string())?;
    let (ledger, accepted, closed) = (RefCell::new(Ledger::default()), Cell::new(0), Cell::new(false));
    let print = |line: &Value| {
        // A closed pipe ends the guard.
        if say(args.json, line).is_err() {
            closed.set(true);
        }
    };
    let on_connected = |connected| print(&json!({ "event": "broker", "connected": connected }));
    let receive = |topic: &str, payload: &[u8]| -> Option<Reply> {
        let judged = ledger.borrow_mut().receive(topic, payload)?;
        if enough(args, accepted.get()) {
            return None;
        }
        print(&line(&judged));
        if !matches!(judged.verdict, Verdict::Accepted { .. }) {
            return None;
        }
        accepted.set(accepted.get() + 1);
        let Upload { id, payload, .. } = judged.upload;
        args.publish.then(|| (format!("accepted/{}", id.origin.0), payload.to_vec()))
    };
    let may_go_on = || !interrupted.load(Ordering::Relaxed) && !closed.get() && !enough(args, accepted.get());
    drive(consume(&args.mqtt, &args.topic, &args.name, on_connected, receive), may_go_on).unwrap_or(Ok(()))?;
    let ledger = ledger.into_inner();
    if args.json {
        print(&json!({ "event": "summary", "nodes": ledger.nodes, "malformed": ledger.malformed }));
    } else if !closed.get() {
        super::print_line(format_args!("\n{ledger}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn enough(args: &MqttGuardArgs, accepted: u32) -> bool {
    args.count.is_some_and(|count| accepted >= count)
}

fn line(Judged { upload, verdict }: &Judged) -> Value {
    let Upload { sequence, id, payload, .. } = upload;
    let fence = |Term { number, by }: Term| json!([number, by.0]);
    let mut line = json!({
        "event": "accepted", "node": id.origin.0, "boot": id.boot, "number": id.number, "fence": fence(upload.fence.term),
        "sequence": sequence, "text": String::from_utf8_lossy(payload)
    });
    if let Some(scope) = upload.fence.scope {
        line["gateway"] = scope.0.into();
    }
    let refused = match *verdict {
        Verdict::Accepted { missing } => {
            if missing > 0 {
                line["missing"] = missing.into();
            }
            return line;
        }
        Verdict::StaleFence { current } => {
            line["current"] = fence(current);
            "older fence"
        }
        Verdict::Duplicate => "duplicate",
        Verdict::NoRoom => "no room",
    };
    line["event"] = "refused".into();
    line["reason"] = refused.into();
    line
}

fn say(as_json: bool, line: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if as_json {
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "{}", super::node::as_text(line))?;
    }
    out.flush()
}
