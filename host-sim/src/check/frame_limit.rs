//! Always: no frame is longer than a radio can carry.

use super::Always;
use crate::trace::{EventKind, TraceEvent};
use protocol::wire::FRAME_MAX;

#[derive(Default)]
pub(super) struct Checker;

impl Always for Checker {
    const NAME: &'static str = "frame-limit";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match (event.kind, event.node) {
            (EventKind::Sent { kind, bytes }, Some(node)) if usize::from(bytes) > FRAME_MAX => {
                Some(format!("node {node} sent a frame \"{kind}\" of {bytes} bytes, over the limit of {FRAME_MAX}"))
            }
            _ => None, // no frame over the limit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{event, findings};
    use super::*;

    #[test]
    fn a_frame_over_the_limit_is_reported() {
        let sent = |bytes| event(3, EventKind::Sent { kind: "hello", bytes });
        let found = findings::<Checker>(&[sent(FRAME_MAX as u16), sent(FRAME_MAX as u16 + 1)]);
        assert_eq!(found, ["node 3 sent a frame \"hello\" of 117 bytes, over the limit of 116"]);
    }
}
