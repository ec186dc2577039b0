//! The dissector reads captures of every message, in tshark.

use super::*;
use crate::pcap::{LinkType, Writer};
use heapless::Vec as Bounded;
use protocol::base::ids::{NodeId, NodeSet};
use protocol::base::lamport::LamportTime;
use protocol::wire::{Attempt, Boots, Destination, FRAME_MAX, Key, Origin, Packet, Recipients, Relays};
use protocol::wire::{Cipher as _, ReliableHeader, seal};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const KEY: Key = Key::new([7; 16]);

/// Sample frames of every message.
struct Samples {
    frames: Vec<(Kind, Vec<u8>)>,
    numbers: std::ops::RangeFrom<u32>,
}

impl Samples {
    /// A destination of another form each time.
    fn destination(&mut self) -> Destination {
        let attempt = Attempt { seq: 300, number: 1, hop_limit: 4, sent_at: LamportTime::MAX };
        let node = Origin { id: NodeId(9), incarnation: 300 };
        let boots = |boots: &[u32]| Boots::from_slice(boots).unwrap();
        let set = NodeSet::slot(0).with(NodeSet::slot(40));
        let members = |origin, boots, relays, ack| {
            let recipients = Recipients::Members { set, boots, relays };
            Destination::Reliable(ReliableHeader { origin, attempt, recipients, ack })
        };
        let to_node = ReliableHeader { origin: None, attempt, recipients: Recipients::Node(node), ack: None };
        match self.numbers.next().unwrap_or(0) % 6 {
            0 => Destination::Broadcast,
            1 => Destination::Neighbours(Bounded::from_array([NodeId(1), NodeId(u32::MAX)])),
            2 => Destination::Reliable(to_node),
            3 => members(None, boots(&[1, 300]), Relays::One(40), None),
            4 => members(None, boots(&[]), Relays::Nobody, Some(300)),
            _ => members(Some(node), boots(&[1, 300]), Relays::Two(1, 40), Some(7)),
        }
    }

    fn push(&mut self, kind: Kind, body: &[u8]) {
        let destination = self.destination();
        let packet = Packet { kind, sender: NodeId(300), incarnation: 2, seq: 7, destination, body };
        let mut buffer = [0; FRAME_MAX];
        let len = seal(&KEY, &packet, &mut buffer).expect("a sample fits a frame");
        self.frames.push((kind, buffer[..len].to_vec()));
    }
}

impl Visit for Samples {
    fn visit<T: Serialize + DeserializeOwned>(&mut self, kind: Kind) {
        let _ = trace::<T>(|sample| {
            let mut body = [0; FRAME_MAX];
            let body = postcard::to_slice(sample, &mut body).expect("a sample fits a frame");
            self.push(kind, body);
        });
    }
}

fn samples() -> Vec<(Kind, Vec<u8>)> {
    let mut samples = Samples { frames: Vec::new(), numbers: 0.. };
    each_message(&mut samples);
    samples.push(Kind::application::<3>(), &[1, 2, 3]);
    samples.frames
}

/// Writes a capture and the script; returns what tshark prints with these arguments, `None` where there is no tshark.
fn tshark(name: &str, link_type: LinkType, frames: &[Vec<u8>], arguments: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let (capture, script) = (folder.path().join(format!("{name}.pcapng")), folder.path().join("conclave.lua"));
    let mut writer = Writer::new(std::fs::File::create(&capture).unwrap(), link_type).unwrap();
    for (at, frame) in (0..).zip(frames) {
        writer.frame(at * 1_000, 300, frame, Some(-90.5)).unwrap();
    }
    writer.finish().unwrap();
    std::fs::write(&script, dissector(&[KEY], &[KEY])).unwrap();
    run_tshark(&capture, &script, arguments)
}

fn run_tshark(capture: &Path, script: &Path, arguments: &[&str]) -> Option<String> {
    let script = format!("lua_script:{}", script.display());
    let mut command = Command::new("tshark");
    // A home of its own: preferences and other plugins of this machine do not matter.
    let home = capture.parent().unwrap_or(capture);
    command.env("HOME", home).env("XDG_CONFIG_HOME", home).args(["-X", &script, "-r"]).arg(capture).args(arguments);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("TSHARK IS MISSING ({error}): NO CAPTURE WAS READ BACK. Install it with `apt install tshark`.");
            return None;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("Lua"), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_kind_has_a_shape() {
    struct Kinds(BTreeSet<u8>);

    impl Visit for Kinds {
        fn visit<T: Serialize + DeserializeOwned>(&mut self, kind: Kind) {
            self.0.insert(kind.byte());
        }
    }

    let mut kinds = Kinds(BTreeSet::new());
    each_message(&mut kinds);
    assert_eq!(kinds.0, registry::kinds().map(|(kind, _)| kind.byte()).collect());
    assert!(!dissector(&[], &[]).contains("--[["), "every place of the script is filled in");
}

#[test]
fn a_shape_has_every_field_and_variant_by_name() {
    let shape = Lua(&trace::<election::bully::Message>(|_| {})).to_string();
    let candidate = "struct { { \"capacity\", UNSIGNED }, { \"id\", named(\"NodeId\", UNSIGNED) }, }";
    assert!(
        shape.starts_with("enum { { \"election\", struct { { \"term\", struct { { \"number\", UNSIGNED }, "),
        "{shape}"
    );
    assert!(shape.contains(&format!("{{ \"caller\", maybe({candidate}) }}")), "{shape}");
    assert!(shape.contains("{ \"ask\", UNIT }"), "{shape}");
    assert!(shape.contains("{ \"leadership\", enum { { \"elected\", "), "{shape}");
}

#[test]
fn tshark_reads_every_message_with_no_malformed_field() {
    let samples = samples();
    let frames: Vec<_> = samples.iter().map(|(_, frame)| frame.clone()).collect();
    for link_type in [LinkType::Radio, LinkType::Ethernet] {
        let columns =
            ["conclave.kind", "conclave.tag", "_ws.expert.message", "_ws.malformed", "wpan-tap.rss", "_ws.col.Info"];
        let arguments: Vec<_> =
            ["-T", "fields"].into_iter().chain(columns.iter().flat_map(|name| ["-e", *name])).collect();
        let Some(printed) = tshark("samples", link_type, &frames, &arguments) else { return };
        let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(lines.len(), samples.len(), "{link_type:?}");
        for (line, (kind, frame)) in lines.iter().zip(&samples) {
            let tag = format!("{:016x}", u64::from_be_bytes(*frame.last_chunk().unwrap()));
            assert_eq!(line[..4], [&*kind.byte().to_string(), &tag, "", ""], "{line:?}");
            assert_eq!(line[4].starts_with("-90.5"), link_type == LinkType::Radio, "{line:?}");
            assert!(line[5].starts_with("300 to "), "{line:?}");
        }
        let information: BTreeSet<_> =
            lines.iter().filter_map(|line| line[5].split_once(": ")).map(|at| at.1).collect();
        for message in
            ["wireless raise-term", "bully heartbeat", "raymond lease", "snapshot marker", "hello", "application 3"]
        {
            assert!(information.contains(message), "{message}: {information:?}");
        }
    }
}

/// Seals a frame about the list of members of a group with the key [`KEY`].
fn about_lists(message: &members::Message, seq: u32) -> Vec<u8> {
    let (mut body, mut buffer) = ([0; FRAME_MAX], [0; FRAME_MAX]);
    let body = &*postcard::to_slice(message, &mut body).unwrap();
    let (kind, destination) = (members::Message::KIND, Destination::Broadcast);
    let packet = Packet { kind, sender: NodeId(300), incarnation: 2, seq, destination, body };
    let len = seal(&KEY.for_group(&[NodeId(u32::MAX)]), &packet, &mut buffer).unwrap();
    buffer[0] ^= 0x80;
    buffer[..len].to_vec()
}

#[test]
fn tshark_reads_frames_about_lists_and_learns_the_key_of_each_list() {
    let mut frames = Vec::new();
    let _ = trace::<members::Message>(|sample| frames.push(about_lists(sample, 7)));
    let samples = frames.len();
    let [mut body, mut buffer] = [[0; FRAME_MAX]; 2];
    let body = &*postcard::to_slice(&election::bully::Message::Ask, &mut body).unwrap();
    let ids = [1, 200, 70_000].map(NodeId);
    let (kind, destination) = (Kind::new(18), Destination::Broadcast);
    let packet = Packet { kind, sender: NodeId(200), incarnation: 2, seq: 7, destination, body };
    let len = seal(&KEY.for_group(&ids), &packet, &mut buffer).unwrap();
    let list = about_lists(&members::Message::List(members::List::first(&ids).unwrap()), 8);
    frames.extend([buffer[..len].to_vec(), list, buffer[..len].to_vec()]);
    let columns = ["_ws.expert.message", "conclave.members.list.members.item", "_ws.col.Info"];
    let arguments: Vec<_> = ["-T", "fields"].into_iter().chain(columns.iter().flat_map(|name| ["-e", *name])).collect();
    for link_type in [LinkType::Radio, LinkType::Ethernet] {
        let Some(printed) = tshark("lists", link_type, &frames, &arguments) else { return };
        let lines: Vec<_> = printed.lines().collect();
        let about = |line: &&str| line.starts_with('\t') && line.contains("\t300 to all: members ");
        assert!(samples > 3 && lines[..samples].iter().all(about), "{lines:?}");
        let expected = [
            "\t\t200: sealed with another key",
            "\t1,200,70000\t300 to all: members list",
            "\t\t200 to all: bully ask",
        ];
        assert_eq!(lines[samples..], expected);
    }
}

#[test]
fn tshark_finds_fields_by_their_names_and_values() {
    let message = election::bully::Message::Leadership(election::leadership::LeaderMessage::RaiseTerm {
        term: protocol::base::term::Term { number: 70_000, by: NodeId(u32::MAX) },
    });
    let sums = wave::Sums { covered: NodeSet::first(64), sent: u64::MAX, received: 128, job: 4 };
    let id = wave::Id { initiator: NodeId(3), incarnation: 2, number: 7 };
    let entries = Bounded::from_slice(&[(3, i64::MIN), (4, -1), (5, 64)]).unwrap();
    let term = protocol::base::term::Term { number: 1, by: NodeId(2) };
    let mut samples = Samples { frames: Vec::new(), numbers: 0.. };
    let mut body = [0; FRAME_MAX];
    samples.push(Kind::new(18), postcard::to_slice(&message, &mut body).unwrap());
    samples.push(Kind::new(56), postcard::to_slice(&wave::Message::Done { id, sums }, &mut body).unwrap());
    let adjust = clock_sync::Message::Adjust { term, round: 7, reliable: true, entries };
    samples.push(Kind::new(60), postcard::to_slice(&adjust, &mut body).unwrap());
    let frames: Vec<_> = samples.frames.into_iter().map(|(_, frame)| frame).collect();
    let fields = [
        "conclave.bully.leadership.raise_term.term.by",
        "conclave.wave.done.sums.sent",
        "conclave.wave.done.sums.covered",
        "conclave.clock_sync.adjust.entries.item.2",
        "conclave.destination.node",
    ];
    let arguments: Vec<_> = ["-T", "fields"].into_iter().chain(fields.iter().flat_map(|name| ["-e", *name])).collect();
    let Some(printed) = tshark("fields", LinkType::Radio, &frames, &arguments) else { return };
    let expected = "4294967295\t\t\t\t\n\t18446744073709551615\t0xffffffffffffffff\t\t1,4294967295\n\
                    \t\t\t-9223372036854775808,-1,64\t9\n";
    assert_eq!(printed, expected);
}

#[test]
fn tshark_reports_a_body_that_is_cut_or_too_long_and_leaves_alone_what_no_key_opens() {
    let mut samples = Samples { frames: Vec::new(), numbers: 0.. };
    let mut body = [0; FRAME_MAX];
    let raise = election::leadership::LeaderMessage::RaiseTerm {
        term: protocol::base::term::Term { number: 70_000, by: NodeId(3) },
    };
    let body = postcard::to_slice(&election::bully::Message::Leadership(raise), &mut body).unwrap();
    samples.push(Kind::new(18), &body[..body.len() - 1]);
    samples.push(Kind::new(18), &[&*body, &[0]].concat());
    samples.push(Kind::new(18), body);
    let mut frames: Vec<_> = samples.frames.into_iter().map(|(_, frame)| frame).collect();
    for bit in [0, 8, 60, 80] {
        let mut changed = frames[2].clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        frames.push(changed);
    }
    let arguments = ["-T", "fields", "-e", "_ws.expert.message", "-e", "_ws.col.Info"];
    let Some(printed) = tshark("broken", LinkType::Ethernet, &frames, &arguments) else { return };
    let mut lines = printed.lines();
    assert_eq!([lines.next(), lines.next()], [Some("malformed\tmalformed"); 2]);
    assert_eq!(lines.next(), Some("\t300 to 9: bully raise-term"));
    let sealed: Vec<_> = lines.collect();
    assert!(sealed.len() == 4 && sealed.iter().all(|line| line.ends_with(": sealed with another key")), "{sealed:?}");
}
