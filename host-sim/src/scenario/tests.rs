use super::*;
use crate::base::rng::Probability;
use crate::check::OF_LOCKS;
use crate::sim::fault_plan::{FaultAction, FaultTarget, StoredRecords};
use crate::sim::medium::{Capture, MediumPlan};
use crate::sim::topology::Reach;
use raw::keys;
use std::fs;
use std::path::PathBuf;

const MINIMAL: &str = "name = \"test\"\nnodes = 4\nduration = \"10s\"\n";
const COMPLETE: &str = "[topology]\nshape = \"complete\"\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse("test.toml", text, OF_LOCKS).map_err(|error| error.to_string())
}

/// Reads a valid scenario with `fragment`.
fn with(fragment: &str) -> Result<Scenario, String> {
    let topology = if fragment.contains("[topology]") { "" } else { COMPLETE };
    parse(&format!("{MINIMAL}{topology}{fragment}"))
}

/// Asserts which line of each fragment has which error. A fragment begins at line 6, or at line 4 if it has a topology
/// of its own.
fn refuses(cases: &[(&str, u32, &str)]) {
    for (fragment, line, text) in cases {
        let error = with(fragment).expect_err("this scenario is invalid");
        assert_eq!(error, format!("test.toml:{line}: {text}."));
    }
}

#[test]
fn a_minimal_scenario_has_sensible_defaults() {
    let scenario = with("").unwrap();
    assert_eq!((scenario.world.nodes, scenario.world.duration, scenario.seeds), (4, 10_000_000, 0..1));
    assert_eq!((scenario.election.as_str(), scenario.timing), ("wireless", Timing::RADIO));
    let MediumPlan::Radio(radio) = scenario.world.medium else { panic!("a radio is the default") };
    assert_eq!(radio.reach, Reach { range: 15.0, range_max: 18.75, interference: 30.0 });
    assert_eq!((radio.bit_rate, radio.csma, radio.collisions, radio.loss), (250_000, true, true, Probability::NEVER));
    assert_eq!(radio.capture, Capture::ThreeDb);
}

#[test]
fn without_capture_nothing_interferes_beyond_hearing() {
    let MediumPlan::Radio(radio) = with("[medium]\ncapture = \"none\"\n").unwrap().world.medium else {
        panic!("a radio is the default")
    };
    assert_eq!((radio.capture, radio.reach.interference), (Capture::None, 0.0));
}

#[test]
fn clusters_are_refused_in_mode_quorum_in_a_file_and_by_a_flag() {
    let reason =
        "clusters have a super-peer each, and mode quorum allows one leader: take another election, or mode available";
    let clusters = parse(&format!("mode = \"quorum\"\nelection = \"clusters\"\n{MINIMAL}{COMPLETE}"));
    assert_eq!(clusters.unwrap_err(), format!("test.toml:1: {reason}."));
    let bully = parse(&format!("mode = \"quorum\"\nelection = \"bully\"\n{MINIMAL}{COMPLETE}")).unwrap();
    assert_eq!(bully.with_election("clusters:horizon=3").unwrap_err(), reason);
}

#[test]
fn an_unknown_name_gives_file_line_and_the_nearest_one() {
    refuses(&[
        ("[medum]\n", 6, "there is no key \"medum\" here; the nearest is \"medium\""),
        ("[medium]\nlos = \"1%\"\n", 7, "there is no key \"los\" here; the nearest is \"loss\""),
        ("[timing]\nheartbeet = \"1s\"\n", 7, "there is no key \"heartbeet\" here; the nearest is \"heartbeat\""),
        ("[medium]\ncapture = \"3db\"\n", 7, "there is no capture \"3db\" here; the nearest is \"3dB\""),
        ("[medium]\nkind = \"rado\"\n", 7, "there is no medium \"rado\" here; the nearest is \"radio\""),
        ("[[faults]]\nat = \"1s\"\ndo = \"crush\"\n", 8, "there is no fault \"crush\" here; the nearest is \"crash\""),
        ("[expect]\nfailover = \"5s\"\n", 7, "invalid type: string \"5s\", expected a table such as { p99 = \"5s\" }"),
        ("[expect]\nfailover = { p9 = \"1s\" }\n", 7, "there is no key \"p9\" here; the nearest is \"p99\""),
        ("[expect]\nfailover = { zzzzzz = 1 }\n", 7, "there is no key \"zzzzzz\" here, only p50, p99, p999, max"),
    ]);
}

#[test]
fn a_renamed_key_gives_file_line_and_its_new_name() {
    let renamed = |table: &str, old: &str, new: &str| {
        refuses(&[(&format!("[{table}]\n{old} = 1\n"), 7, &format!("the key \"{old}\" is now called \"{new}\""))]);
    };
    renamed("medium", "grey", "range_max");
    renamed("capacity", "never", "ineligible");
    renamed("timing", "beats_missed", "heartbeats_missed_max");
    renamed("timing", "settle", "boot_wait");
    renamed("timing", "repeat", "reflood_interval");
    renamed("timing", "repeats", "reflood_count");
    renamed("timing", "hold", "takeover_delay");
    renamed("timing", "grace", "takeover_delay_unsettled");
    renamed("app", "overtaking", "reordering");
    renamed("[faults]", "share", "probability");
    renamed("expect", "change", "capacity_change");
    renamed("expect", "ends", "terminations");
    renamed("expect", "end_known", "detection_delay");
    renamed("expect", "clocks_apart", "clock_skew");
    assert_eq!(parse("calm = \"1s\"\n").unwrap_err(), "test.toml:1: the key \"calm\" is now called \"settle_time\".");
    assert!(with("[locks]\nhold = \"1s\"\n").is_ok(), "a holder's time is still called so");
    let watch = "[[faults]]\nat = \"1s\"\ndo = \"watch\"\nnode = 1\n";
    refuses(&[(watch, 8, "the fault \"watch\" is now called \"detect-termination\"")]);
}

#[test]
fn a_number_out_of_range_gives_file_line_and_the_range() {
    refuses(&[
        ("[medium]\nqueue = 0\n", 7, "0 is out of range: it must be from 1 to 1000"),
        ("[medium]\nrange = -1\n", 7, "-1 is out of range: it must be above 0 and at most 10000000"),
        ("[medium]\nloss = \"101%\"\n", 7, "\"101%\" is not a share from \"0%\" to \"100%\""),
        (
            "[timing]\nheartbeat = \"1 s\"\n",
            7,
            "\"1 s\" is not a time such as \"250ms\", \"3s\" or \"1h\" (at most 30 days)",
        ),
        ("[timing]\ntakeover_delay = \"2h\"\n", 7, "a protocol's time is at most 71 minutes"),
        ("[[faults]]\nat = \"1s\"\ndo = \"crash\"\nnode = 4\n", 9, "there is no node 4: they are numbered 0 to 3"),
        ("[[faults]]\nat = \"10s\"\ndo = \"heal\"\n", 7, "the fault comes after the end of the run (\"duration\")"),
        (
            "[medium]\nrange = 10\nrange_max = 9\n",
            8,
            "reception ends at \"range_max\": it must not be below \"range\" (10)",
        ),
        (
            "[[faults]]\nat = \"1s\"\ndo = \"delay\"\ndelay = [\"2s\", \"1s\"]\n",
            9,
            "the first of two values must not be above the second",
        ),
    ]);
}

#[test]
fn a_missing_or_misplaced_key_is_named() {
    refuses(&[
        ("[[faults]]\ndo = \"heal\"\n", 6, "the key \"at\" is missing"),
        ("[[faults]]\nat = \"1s\"\ndo = \"crash\"\n", 6, "the fault \"crash\" needs the key \"node\""),
        (
            "[[faults]]\nat = \"1s\"\ndo = \"heal\"\nprobability = \"1%\"\n",
            9,
            "the fault \"heal\" has no key \"probability\"",
        ),
        ("[medium]\nkind = \"lan\"\ncapture = \"3dB\"\n", 8, "the key \"capture\" goes with the medium \"radio\""),
        ("[medium]\ndelay = \"1ms\"\n", 7, "the key \"delay\" goes with the medium \"lan\""),
        ("[topology]\nshape = \"line\"\ncolumns = 2\n", 6, "the key \"columns\" goes with the shape \"grid\""),
        ("[topology]\nshape = \"positions\"\npositions = [[0, 0]]\n", 6, "there are 1 positions for 4 nodes"),
    ]);
    let lease = with("[timing]\nquarantine = \"1s\"\n").unwrap_err();
    assert!(lease.starts_with("test.toml:6: quarantine must outlast"), "{lease}");
    assert_eq!(parse("nodes = 1\n").unwrap_err(), "test.toml:1: the key \"name\" is missing.");
}

#[test]
fn errors_in_locks_are_named() {
    refuses(&[
        ("[locks]\nmutex = \"centrl\"\n", 7, "there is no mutex \"centrl\" here; the nearest is \"central\""),
        ("[locks]\nnames = []\n", 7, "there are 1 to 4 locks, each with a name of its own"),
        ("[locks]\nnames = [\"a\", \"a\"]\n", 7, "there are 1 to 4 locks, each with a name of its own"),
        ("[locks]\nlease = \"6s\"\n", 7, "a lease is above zero, and not above \"lock_lease\" of [timing]"),
        ("[locks]\ncontenders = [4]\n", 7, "there is no node 4: they are numbered 0 to 3"),
        (
            "[expect]\nlocks = [\"one-holders\"]\n",
            7,
            "there is no checker \"one-holders\" here; the nearest is \"one-holder\"",
        ),
    ]);
    let too_many =
        parse("name = \"test\"\nnodes = 17\nduration = \"10s\"\n[topology]\nshape = \"complete\"\n[locks]\n");
    assert_eq!(too_many.unwrap_err(), "test.toml:2: locks work in a group, which has at most 16 members.");
}

#[test]
fn errors_in_an_application_are_named() {
    refuses(&[
        ("[app]\nkind = \"token\"\n", 7, "there is no application \"token\" here; the nearest is \"tokens\""),
        ("[app]\nkind = \"clock\"\ntokens = 5\n", 8, "the key \"tokens\" goes with the application \"tokens\""),
        ("[app]\nkind = \"tokens\"\npause = \"0s\"\n", 8, "a \"pause\" is from \"1ms\" to \"60s\""),
        (
            "[app]\nkind = \"diffusing\"\ndetection = \"waves\"\n",
            8,
            "there is no detection \"waves\" here; the nearest is \"wave\"",
        ),
        ("[locks]\n[app]\nkind = \"tokens\"\n", 7, "a run has locks or an application, not both"),
    ]);
    for (app, request, line, text) in [
        ("[app]\nkind = \"clock\"\n", "snapshot", 10, "this needs the application \"tokens\" or \"diffusing\""),
        ("[app]\nkind = \"tokens\"\n", "detect-termination", 10, "this needs the application \"diffusing\""),
        ("[app]\nkind = \"diffusing\"\n", "start", 8, "the fault \"start\" needs the key \"units\""),
        ("", "snapshot", 8, "this needs an application: the table [app] is missing"),
    ] {
        refuses(&[(&format!("{app}[[faults]]\nat = \"1s\"\ndo = \"{request}\"\nnode = 1\n"), line, text)]);
    }
}

#[test]
fn another_detection_can_be_chosen_for_a_scenario_with_a_job() {
    let job = with("[app]\nkind = \"diffusing\"\n").unwrap().with_detection("dijkstra-scholten").unwrap();
    assert_eq!(job.overrides, " --detection dijkstra-scholten");
    let unknown = with("[app]\nkind = \"diffusing\"\n").unwrap().with_detection("waves").unwrap_err();
    assert_eq!(unknown, "there is no detection \"waves\" here; the nearest is \"wave\"");
    let none = with("[app]\nkind = \"tokens\"\n").unwrap().with_detection("wave").unwrap_err();
    assert_eq!(none, "test.toml: there is no job that terminates: [app] is not \"diffusing\".");
}

#[test]
fn another_mutex_can_be_chosen_for_a_scenario_with_locks() {
    let scenario = with("[locks]\n").unwrap();
    assert_eq!(scenario.world.locks.as_ref().map(|locks| locks.contenders.len()), Some(4));
    let other = scenario.with_election("ring").unwrap().with_mutex("central").unwrap();
    assert_eq!((other.overrides.as_str(), other.is_group()), (" --election ring --mutex central", true));
    let none = with("").unwrap().with_mutex("central").unwrap_err();
    assert_eq!(none, "test.toml: there are no locks: the table [locks] is missing.");
    let words = "maekawa:sets=plane";
    let sentence = "the mutex \"maekawa:sets=plane\" does not work in a group of 4; it does in one of 3, 7, 13";
    assert_eq!(with("[locks]\n").unwrap().with_mutex(words).unwrap_err(), sentence);
    assert_eq!(with(&format!("[locks]\nmutex = \"{words}\"\n")).unwrap_err(), format!("test.toml:2: {sentence}."));
}

#[test]
fn a_missing_file_or_invalid_toml_is_one_sentence_too() {
    let missing = Scenario::load(std::path::Path::new("no/such.toml"), OF_LOCKS).unwrap_err();
    assert_eq!(missing.to_string(), "no/such.toml: there is no such file.");
    let broken = parse("name = \nnodes = 3\n").unwrap_err();
    assert!(broken.starts_with("test.toml:1: ") && broken.lines().count() == 1, "{broken}");
}

#[test]
fn a_fault_with_a_duration_ends_and_one_with_a_period_recurs() {
    let scenario = with(
        "[[faults]]\nat = \"2s\"\ndo = \"crash\"\nnode = \"leader\"\nfor = \"500ms\"\nevery = \"3s\"\n\
         [[faults]]\nat = \"1s\"\ndo = \"loss\"\nprobability = \"50%\"\n",
    );
    let steps = scenario.unwrap().world.faults;
    let times: Vec<Micros> = steps.iter().map(|step| (step.at + step.lasts.0) / 100_000).collect();
    assert_eq!(times, [10, 20, 25, 50, 55, 80, 85]);
    assert_eq!(steps[1].action, FaultAction::Crash(FaultTarget::Leader));
    assert_eq!(
        steps[2].action,
        FaultAction::Restart { target: FaultTarget::HitBy(steps[1].number), records: StoredRecords::Kept }
    );
    assert_eq!(
        steps[4].action,
        FaultAction::Restart { target: FaultTarget::HitBy(steps[3].number), records: StoredRecords::Kept }
    );
}

#[test]
fn a_crash_may_last_any_time_of_a_range_and_lose_the_records() {
    let crash = "[[faults]]\nat = \"2s\"\ndo = \"crash\"\nnode = 1\n";
    let steps = with(&format!("{crash}for = [\"5ms\", \"5s\"]\nrecords = \"lost\"\n")).unwrap().world.faults;
    assert_eq!((steps[0].lasts, steps[1].lasts), ((0, 0), (5_000, 5_000_000)));
    assert_eq!(
        steps[1].action,
        FaultAction::Restart { target: FaultTarget::HitBy(steps[0].number), records: StoredRecords::Lost }
    );
    let endless = with(&format!("{crash}records = \"lost\"\n")).unwrap_err();
    assert_eq!(endless, "test.toml:10: \"records\" needs \"for\": the nodes do not restart.");
    let unknown = with(&format!("{crash}for = \"1s\"\nrecords = \"gone\"\n")).unwrap_err();
    assert!(unknown.starts_with("test.toml:11: there is no state of the records \"gone\""), "{unknown}");
    let reversed = with(&format!("{crash}for = [\"5s\", \"5ms\"]\n")).unwrap_err();
    assert_eq!(reversed, "test.toml:10: the first of two values must not be above the second.");
}

#[test]
fn every_key_is_documented() {
    let text = fs::read_to_string(root().join("SCENARIOS.md")).unwrap();
    for (table, keys) in keys() {
        for key in keys {
            assert!(text.contains(&format!("`{key}`")), "SCENARIOS.md does not mention \"{key}\" of [{table}]");
        }
    }
}

#[test]
fn every_algorithm_and_every_option_is_documented() {
    let text = fs::read_to_string(root().join("SCENARIOS.md")).unwrap();
    for (name, options) in AnyElection::OPTIONS.iter().chain(AnyMutex::OPTIONS) {
        assert!(text.contains(&format!("`\"{name}\"`")), "SCENARIOS.md does not mention \"{name}\"");
        for (key, choices) in *options {
            let described = text.lines().find(|line| line.contains(&format!("`{key}={}`", choices[0])));
            let line = described.unwrap_or_else(|| panic!("SCENARIOS.md does not mention \"{key}\" of {name}"));
            let known = choices.iter().skip(1).filter(|choice| !["3", "..."].contains(choice));
            assert!(known.clone().all(|choice| line.contains(&format!("`{choice}`"))), "{line}");
        }
    }
}

#[test]
fn every_example_in_the_documentation_is_valid() {
    let text = fs::read_to_string(root().join("SCENARIOS.md")).unwrap();
    let examples: Vec<&str> =
        text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("toml\n")).collect();
    assert!(examples.len() > 8);
    for example in examples {
        let read = if example.starts_with("name") { parse(example) } else { with(example) };
        assert!(read.is_ok(), "{}\nin\n{example}", read.unwrap_err());
    }
}

#[test]
fn every_scenario_is_valid_and_named_after_its_file() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let scenario = Scenario::load(&path, OF_LOCKS).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(scenario.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        assert!(!scenario.about.is_empty(), "{} says what it shows", scenario.name);
        count += 1;
    }
    assert!(count >= 15);
}
