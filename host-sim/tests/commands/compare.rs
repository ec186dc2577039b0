//! `conclave compare` with either subject.

use crate::support::{json, refused, succeeds};
use protocol::registry::{AnyElection, AnyMutex};

/// The elections that are compared: those of one leader.
fn elections() -> Vec<&'static str> {
    AnyElection::of_one_leader().collect()
}

#[test]
fn json_is_one_object_with_a_row_for_each_algorithm_and_case() {
    let subjects: [(&str, _, _, &[&str]); 2] = [
        (
            "elections",
            elections(),
            ["best", "average", "worst", "loss", "leader-crash"],
            &["messages", "formula", "bytes", "acks", "heartbeats", "retransmits", "hellos", "time_us"],
        ),
        (
            "mutexes",
            AnyMutex::NAMES.to_vec(),
            ["uncontended", "contended", "holder-crash", "coordinator-crash", "bystander-crash"],
            &["messages", "delay_hops", "acks", "extra", "max_wait"],
        ),
    ];
    for (subject, algorithms, cases, numbers) in subjects {
        let object = json(&["compare", subject, "--nodes", "4", "--json"]);
        let rows = object["rows"].as_array().unwrap();
        assert_eq!((object.as_object().unwrap().len(), rows.len()), (1, algorithms.len() * cases.len()));
        for row in rows {
            assert!(numbers.iter().all(|key| row[key].is_number()) && row["nodes"] == 4, "{row}");
            assert!(algorithms.contains(&row["algorithm"].as_str().unwrap()), "{row}");
            assert!(cases.iter().any(|case| row["case"] == *case), "{row}");
        }
    }
}

#[test]
fn comma_separated_values_have_the_rows_of_the_table() {
    for (subject, first) in
        [("elections", "algorithm,nodes,case,messages,formula,bytes,time,"), ("mutexes", "algorithm,nodes,")]
    {
        let csv = succeeds(&["compare", subject, "--nodes", "4", "--csv"]);
        let table = succeeds(&["compare", subject, "--nodes", "4"]);
        let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).count();
        assert!(csv.starts_with(first), "{csv}");
        assert_eq!(lines(&csv), lines(&table));
        let columns = |line: &str| line.matches(',').count();
        assert!(csv.lines().all(|line| columns(line) == columns(csv.lines().next().unwrap())), "{csv}");
    }
}

#[test]
fn json_has_whole_numbers_and_null_where_there_is_no_formula() {
    let row = |subject: &str, algorithm: &str, case: &str| {
        let object = json(&["compare", subject, "--nodes", "4", "--json"]);
        let mut rows = object["rows"].as_array().unwrap().iter();
        rows.find(|row| row["algorithm"] == algorithm && row["case"] == case).unwrap().clone()
    };
    let bully = row("elections", "bully", "worst");
    assert_eq!((bully["messages"].as_u64(), bully["formula"].as_u64()), (Some(11), Some(11)));
    assert!(bully["elected_best"] == true);
    let central = row("mutexes", "central", "contended");
    assert_eq!((central["messages"].as_u64(), central["formula"].as_u64()), (Some(3), Some(3)));
    assert!(central["violations"] == 0 && central.as_object().unwrap().contains_key("sync_delay_hops"));
    assert!(row("mutexes", "token-ring", "contended")["formula"].is_null());
}

#[test]
fn the_table_in_a_pipe_has_no_colours_and_no_progress() {
    let table = succeeds(&["compare", "elections", "--nodes", "3"]);
    assert!(table.starts_with("algorithm") && !table.contains('\u{1b}'), "{table}");
    assert!(elections().iter().all(|name| table.contains(name)), "{table}");
}

#[test]
fn an_impossible_number_of_nodes_is_one_sentence_and_exit_code_2() {
    for (subject, most, numbers) in
        [("elections", 64, &["0", "1", "65", "5000000000"][..]), ("mutexes", 16, &["1", "17", "5000000000"])]
    {
        for nodes in numbers {
            let expected = format!("--nodes must be from 2 to {most}, which {nodes} is not.\n");
            assert_eq!(refused(&["compare", subject, "--nodes", nodes]), expected);
        }
    }
}
