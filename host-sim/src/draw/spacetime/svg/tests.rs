//! The elements of a drawing.

use super::*;
use crate::draw::spacetime::History;
use crate::draw::spacetime::script::{Script, bank, inconsistent, job, overtaken};
use ::svg::node::element::tag::Type;
use ::svg::parser::Event;

/// Returns the elements of a document with their classes; fails if one is not closed.
fn elements(document: &str) -> Vec<(String, String)> {
    let mut open: Vec<String> = Vec::new();
    let mut elements = Vec::new();
    for event in ::svg::read(document).unwrap() {
        match event {
            Event::Error(error) => panic!("{error}"),
            Event::Tag(name, Type::End, _) => assert_eq!(open.pop().as_deref(), Some(name)),
            Event::Tag(name, kind, attributes) => {
                let class = attributes.get("class").map_or_else(String::new, ToString::to_string);
                elements.push((name.to_owned(), class));
                if kind == Type::Start {
                    open.push(name.to_owned());
                }
            }
            Event::Text(text) => assert!(!text.contains(['<', '>']), "{text}"),
            Event::Comment(_) | Event::Declaration(_) | Event::Instruction(_) => {}
        }
    }
    assert_eq!(open, Vec::<String>::new());
    elements
}

/// Counts the arrows of each kind, and the records.
fn counts(history: &History, nodes: u32) -> [usize; 4] {
    let document = Picture::of_snapshot(history, nodes, 0).svg();
    let elements = elements(&document);
    let arrows = |class: &str| document.matches(&format!("marker-end=\"url(#head-{class})\"")).count();
    let records = elements.iter().filter(|(name, class)| name == "circle" && class.starts_with("record")).count();
    [arrows("plain"), arrows("across"), arrows("back"), records]
}

#[test]
fn every_received_message_has_an_arrow_of_its_kind_and_the_cut_passes_every_node() {
    assert_eq!(counts(&bank(), 3), [2, 1, 0, 3]);
}

#[test]
fn an_inconsistent_cut_is_highlighted() {
    assert_eq!(counts(&inconsistent(), 2), [0, 0, 1, 2]);
    let document = Picture::of_snapshot(&inconsistent(), 2, 0).svg();
    assert!(document.contains("received before it, sent after it"));
    assert!(!Picture::of_snapshot(&bank(), 3, 0).svg().contains("received before it, sent after it"));
}

#[test]
fn a_job_has_busy_spans_waves_an_end_and_the_nodes_that_know_of_it() {
    let history = job();
    let elements = elements(&Picture::of_job(&history, 2).svg());
    let of = |name: &str, class: &str| {
        elements.iter().filter(|element| **element == (name.to_owned(), class.to_owned())).count()
    };
    // One more of each kind of line is in the legend.
    assert_eq!([of("line", "busy"), of("line", "wave"), of("line", "end"), of("rect", "over")], [3, 3, 2, 2]);
}

#[test]
fn simultaneous_events_are_drawn_apart_and_in_order() {
    let history = Script::default().recorded(4, 0, 1).sends(4, 0, 1, 0, 5).receives(4, 1, 0, 0, 5).history();
    let picture = Picture::of_snapshot(&history, 2, 0);
    let columns = Drawing::new(&picture).columns;
    assert!(columns.windows(2).all(|pair| pair[0] < pair[1]), "{columns:?}");
}

#[test]
fn markup_in_a_title_is_escaped() {
    let history = bank();
    let title = "<script> & \"quotes\"".to_owned();
    let picture = Picture { title, ..Picture::of_snapshot(&history, 3, 0) };
    let document = picture.svg();
    elements(&document);
    assert!(document.contains("&lt;script&gt; &amp; "), "{document}");
}

#[test]
fn a_message_that_a_marker_overtook_is_highlighted() {
    let history = overtaken();
    let document = Picture::of_snapshot(&history, 2, 0).svg();
    assert_eq!(document.matches("marker-end=\"url(#head-missed)\"").count(), 1);
    assert!(document.contains("its marker overtook it"));
    assert!(!Picture::of_snapshot(&bank(), 3, 0).svg().contains("overtook"));
}

#[test]
fn waves_are_in_the_legend_of_a_job_that_has_some() {
    assert!(Picture::of_job(&job(), 2).svg().contains("a wave queries all nodes"));
    let history = Script::default().starts(1, 0, 9).busy(1, 0).idle(5, 0).terminated(8, 0).history();
    assert!(!Picture::of_job(&history, 1).svg().contains("wave queries"));
}

#[test]
fn the_amounts_of_messages_between_two_nodes_at_nearly_one_time_do_not_cover_each_other() {
    let script =
        (0..6).fold(Script::default(), |script, number| script.sends(1, number % 2, 1 - number % 2, number, 100));
    let script = (0..6).fold(script, |script, number| script.receives(2, 1 - number % 2, number % 2, number, 100));
    let history = script.recorded(3, 0, 1).recorded(3, 1, 1).history();
    let picture = Picture::of_snapshot(&history, 2, 0);
    let drawing = Drawing::new(&picture);
    drawing.document();
    let taken = drawing.labels.0.into_inner();
    assert_eq!(taken.len(), 7, "the amounts in the picture, and two states");
    for (index, a) in taken.iter().enumerate() {
        let covered = |b: &[f64; 4]| a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3];
        assert!(!taken[index + 1..].iter().any(covered), "{taken:?}");
    }
}
