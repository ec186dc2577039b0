//! Which part of a node a frame belongs to.

use protocol::members::Members;
use protocol::registry;
use protocol::wire::{FRAME_MAX, Key, Kind, Stage, open};

/// Returns the part of a node that sent a frame; nothing of one that none of these keys opens.
pub(super) fn part_of<'a>(keys: impl IntoIterator<Item = &'a Key>, frame: &[u8]) -> &'static str {
    if Members::<Key>::is_frame(frame) {
        return "members";
    }
    let kind = keys.into_iter().find_map(|key| open(key, frame, &mut [0; FRAME_MAX]).ok().map(|packet| packet.kind));
    kind.map_or("", part_of_kind)
}

/// Returns the stage that understands a kind, or the service by its own word.
fn part_of_kind(kind: Kind) -> &'static str {
    match kind.stage() {
        Some(Stage::Peers | Stage::Detector) => "peers",
        Some(Stage::Link) => "link",
        Some(Stage::Election) => "election",
        Some(Stage::Lease) => "lease",
        Some(Stage::Mutex) => "lock",
        Some(Stage::Service) => {
            registry::kinds().find(|(known, _)| *known == kind).map_or("application", |(_, word)| word)
        }
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_an_election_a_clock_and_a_service_are_of_three_parts() {
        let kind = |word| registry::kinds().find(|(_, known)| *known == word).unwrap().0;
        let part = |word| part_of_kind(kind(word));
        assert_eq!(["wireless-flat", "clock-sync", "requests"].map(part), ["election", "clock-sync", "requests"]);
        assert_eq!(["hello", "ack", "heartbeat"].map(part), ["peers", "link", "peers"]);
        assert_eq!(["lease", "central", "tokens"].map(part), ["lease", "lock", "tokens"]);
        assert_eq!([130, 3].map(|byte| part_of_kind(Kind::new(byte))), ["application", ""]);
        assert_eq!(part_of(&[Key::from_name("another")], &[1, 2, 3]), "");
    }
}
