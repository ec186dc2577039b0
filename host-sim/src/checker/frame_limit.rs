//! Always: no frame is longer than a radio can carry.

use crate::trace::{TraceEvent, What};
use protocol::wire::FRAME_MAX;

pub(super) const NAME: &str = "frame-limit";

pub(super) fn see(event: &TraceEvent) -> Option<String> {
    match (event.what, event.node) {
        (What::Sent { kind, bytes }, Some(node)) if usize::from(bytes) > FRAME_MAX => {
            Some(format!("node {node} sent a frame \"{kind}\" of {bytes} bytes, over the limit of {FRAME_MAX}"))
        }
        _ => None, // every other event is about no frame of a wrong length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_over_the_limit_is_reported() {
        let sent = |bytes| TraceEvent { at: 0, node: Some(3), what: What::Sent { kind: "hello", bytes } };
        assert_eq!(see(&sent(FRAME_MAX as u16)), None);
        let found = see(&sent(FRAME_MAX as u16 + 1));
        assert_eq!(found.as_deref(), Some("node 3 sent a frame \"hello\" of 117 bytes, over the limit of 116"));
    }
}
