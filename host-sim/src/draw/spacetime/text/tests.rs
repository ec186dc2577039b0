//! Whole pictures as text.

use super::*;
use crate::draw::spacetime::History;
use crate::draw::spacetime::script::{Script, bank, inconsistent, job, overtaken};

fn drawn(history: &History, nodes: u32, charset: Charset) -> String {
    Picture::of_snapshot(history, nodes, 0).text(charset, false).unwrap()
}

#[test]
fn lines_change_at_the_cut_and_messages_that_cross_it_are_thick() {
    let expected = "
  seconds     node 0        node 1        node 2
   0.0010        ├─5──────────>│             │
   0.0030        │ ┏━━━━━━━━━━━┼━━━━━━━━━━12━┤
   0.0040        │ ┇           ◆             │       has 105
   0.0050        │ ┇           ╟─7─────────╮ │
   0.0060        ◆ ┇           ║           ┆ │       has 95
   0.0070        ║<┛           ║           ┆ │
   0.0080        ║             ║           ┆ ◆       has 88
   0.0090        ║             ║           ╰>║
   0.0100        ╟─30──────────╫───────────╮ ║

│ before the cut   ◆ the cut   ║ after it   ━ in flight across it
";
    assert_eq!(format!("\n{}", drawn(&bank(), 3, Charset::Unicode)), expected);
}

#[test]
fn the_same_can_be_drawn_in_ascii() {
    let expected = "
  seconds     node 0        node 1        node 2
   0.0010        |-5---------->|             |
   0.0030        | .===========+==========12=|
   0.0040        | !           O             |       has 105
   0.0050        | !           H-7---------. |
   0.0060        O !           H           : |       has 95
   0.0070        H<'           H           : |
   0.0080        H             H           : O       has 88
   0.0090        H             H           '>H
   0.0100        H-30----------#-----------. H

| before the cut   O the cut   H after it   = in flight across it
";
    assert_eq!(format!("\n{}", drawn(&bank(), 3, Charset::Ascii)), expected);
}

#[test]
fn an_inconsistent_cut_is_highlighted() {
    let expected = "
  seconds     node 0        node 1
   0.0010        ◆             │       has 100
   0.0020        ╟x40xxxxxxxxx>│
   0.0040        ║             ◆       has 140

│ before the cut   ◆ the cut   ║ after it   ━ in flight across it
x sent after the cut and received before it: the cut is inconsistent
";
    assert_eq!(format!("\n{}", drawn(&inconsistent(), 2, Charset::Unicode)), expected);
}

#[test]
fn a_job_is_drawn_with_busy_nodes_and_nodes_that_know_of_its_end() {
    let expected = "
  seconds     node 0        node 1
   0.0010        █             │       starts 9
   0.0020        ?┈┈┈┈┈┈┈┈┈┈┈┈┈│       wave 1
   0.0030        █─4──────────>█
   0.0050        │             █
   0.0060        │             │
                 │┈┈┈┈┈┈┈┈┈┈┈┈┈│       the true end
   0.0070        ?┈┈┈┈┈┈┈┈┈┈┈┈┈│       wave 2
   0.0080        ■             │       TERMINATE
   0.0090        │             ■

█ busy   │ idle   ■ knows that the job is over
";
    let history = job();
    let drawn = Picture::of_job(&history, 2).text(Charset::Unicode, false).unwrap();
    assert_eq!(format!("\n{drawn}"), expected);
}

#[test]
fn messages_that_begin_before_the_picture_or_end_after_it_are_open_there() {
    let filler = |script: Script, from: u32| {
        (from..from + 40).fold(script, |script, number| script.sends(2, 0, 1, number, 1).receives(2, 1, 0, number, 1))
    };
    let script = filler(Script::default().sends(1, 2, 0, 0, 12), 1);
    let script = script.recorded(3, 1, 7).receives(4, 0, 2, 0, 12).sends(5, 2, 1, 90, 9).recorded(6, 0, 8);
    let script = filler(script.recorded(7, 2, 8), 100).receives(9, 1, 2, 90, 9);
    let history = script.history();
    let picture = Picture::of_snapshot(&history, 3, 0);
    let text = picture.text(Charset::Unicode, false).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[1].contains("├─┼1"), "it comes from above: {text}");
    assert!(text.contains("12 from 2"), "{text}");
    let last = text.lines().rfind(|row| row.starts_with("   0.")).unwrap();
    assert!(last.contains('┇'), "it goes on below: {text}");
    assert!(text.contains("Not shown: "), "{text}");
}

#[test]
fn of_several_cuts_each_has_its_number() {
    let other = protocol::service::snapshot::Id { initiator: protocol::NodeId(1), incarnation: 1, number: 1 };
    let record = |amount| crate::trace::AppEvent::Recorded { snapshot: other, amount };
    let script = Script::default().recorded(1, 0, 10).app(2, 1, record(11)).recorded(3, 1, 11);
    let expected = "
  seconds     node 0        node 1
   0.0010        1             │       cut 1: 10
   0.0020        ║             2       cut 2: 11
   0.0030        ║             1       cut 1: 11
   0.0040        2             ║       cut 2: 10

│ before the cut   1 the cut   ║ after it   ━ in flight across it
2 the other cut
";
    let history = script.app(4, 0, record(10)).history();
    assert_eq!(format!("\n{}", drawn(&history, 2, Charset::Unicode)), expected);
}

#[test]
fn eight_nodes_fit_and_nine_are_refused_with_advice() {
    let script = (0..8).fold(Script::default(), |script, node| {
        script.sends(1, node, (node + 3) % 8, node, 1_000_000).recorded(2, node, 1_000_000)
    });
    let history = script.history();
    for charset in [Charset::Unicode, Charset::Ascii] {
        let text = drawn(&history, 8, charset);
        assert!(text.lines().all(|line| line.chars().count() < 80 && !line.ends_with(' ')), "{text}");
    }
    let refused = Picture::of_snapshot(&history, 9, 0).text(Charset::Unicode, false).unwrap_err();
    assert_eq!(refused, "A text picture has room for 8 nodes, not for 9: draw it with --svg FILE.");
}

#[test]
fn an_amount_without_room_on_its_line_is_noted_at_the_right() {
    let history = Script::default().recorded(1, 0, 1).sends(2, 0, 1, 0, 123_456).history();
    let picture = Picture { nodes: 8, ..Picture::of_snapshot(&history, 8, 0) };
    let text = picture.text(Charset::Ascii, false).unwrap();
    assert!(text.contains("123456 to 1"), "{text}");
}

#[test]
fn colours_are_written_only_on_request() {
    let history = bank();
    let picture = Picture::of_snapshot(&history, 3, 0);
    assert!(picture.text(Charset::Unicode, true).unwrap().contains("\u{1b}[33m"));
    assert!(!picture.text(Charset::Unicode, false).unwrap().contains('\u{1b}'));
}

#[test]
fn simultaneous_messages_run_side_by_side() {
    let mut tracks = Tracks::default();
    assert_eq!(tracks.take(20, true, 7, 1..5), 18);
    assert_eq!(tracks.take(20, true, 7, 3..4), 17);
    assert_eq!(tracks.take(20, false, 7, 3..4), 22);
    assert_eq!(tracks.take(20, true, 7, 6..7), 18, "it is free again");
}

#[test]
fn without_room_two_messages_share_a_column() {
    let mut tracks = Tracks::default();
    let columns: Vec<usize> = (0..5).map(|_| tracks.take(20, true, 7, 1..5)).collect();
    assert_eq!(columns, [18, 17, 16, 15, 18]);
}

#[test]
fn a_message_that_a_marker_overtook_is_highlighted() {
    let picture = drawn(&overtaken(), 2, Charset::Unicode);
    assert!(picture.contains("═40═") && picture.contains("═ in flight and not in the snapshot"), "{picture}");
    assert!(drawn(&overtaken(), 2, Charset::Ascii).contains("~ in flight and not in the snapshot"));
    assert!(!drawn(&bank(), 3, Charset::Unicode).contains("not in the snapshot"));
}
