//! What a drawing must have.

use super::*;
use crate::spacetime::History;
use crate::spacetime::script::{Script, bank, inconsistent, job};
use ::svg::node::element::tag::Type;
use ::svg::parser::Event;

/// The elements of a document with their classes; fails unless every one that begins also ends.
fn elements(document: &str) -> Vec<(String, String)> {
    let mut open: Vec<String> = Vec::new();
    let mut elements = Vec::new();
    for event in ::svg::read(document).unwrap() {
        match event {
            Event::Error(error) => panic!("{error}"),
            Event::Tag(name, Type::End, _) => assert_eq!(open.pop().as_deref(), Some(name)),
            Event::Tag(name, kind, attributes) => {
                let class = attributes.get("class").map_or(String::new(), |class| class.to_string());
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

/// How many lines with arrows of each kind there are, and how many records.
fn counts(history: &History, nodes: u32) -> [usize; 4] {
    let document = Picture::of_snapshot(history, nodes, 0).svg();
    let elements = elements(&document);
    let arrows = |class: &str| document.matches(&format!("marker-end=\"url(#head-{class})\"")).count();
    let records = elements.iter().filter(|(name, class)| name == "circle" && class.starts_with("record")).count();
    [arrows("plain"), arrows("across"), arrows("back"), records]
}

#[test]
fn every_message_that_is_heard_has_an_arrow_of_its_kind_and_the_cut_passes_every_node() {
    assert_eq!(counts(&bank(), 3), [2, 1, 0, 3]);
}

#[test]
fn a_cut_that_is_not_consistent_shows() {
    assert_eq!(counts(&inconsistent(), 2), [0, 0, 1, 2]);
    let document = Picture::of_snapshot(&inconsistent(), 2, 0).svg();
    assert!(document.contains("heard before it, said after it"));
    assert!(!Picture::of_snapshot(&bank(), 3, 0).svg().contains("heard before it, said after it"));
}

#[test]
fn a_job_has_spells_waves_an_end_and_those_who_know_of_it() {
    let history = job();
    let elements = elements(&Picture::of_job(&history, 2).svg());
    let of = |name: &str, class: &str| {
        elements.iter().filter(|element| **element == (name.to_owned(), class.to_owned())).count()
    };
    // One more of each kind of line is in the legend.
    assert_eq!([of("line", "busy"), of("line", "wave"), of("line", "end"), of("rect", "over")], [3, 3, 2, 2]);
}

#[test]
fn what_happens_at_one_time_is_drawn_apart_and_in_order() {
    let history = Script::default().recorded(4, 0, 1).says(4, 0, 1, 0, 5).hears(4, 1, 0, 0, 5).history();
    let picture = Picture::of_snapshot(&history, 2, 0);
    let places = Drawing::new(&picture).places;
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
}

#[test]
fn words_from_elsewhere_cannot_break_the_document() {
    let history = bank();
    let title = "<script> & \"quotes\"".to_owned();
    let picture = Picture { title, ..Picture::of_snapshot(&history, 3, 0) };
    let document = picture.svg();
    elements(&document);
    assert!(document.contains("&lt;script&gt; &amp; "), "{document}");
}
