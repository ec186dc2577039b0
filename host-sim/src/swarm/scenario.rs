//! The built-in scenarios of a swarm, and the check of others.

use super::SwarmError;
use crate::base::Micros;
use crate::boards::App;
use crate::scenario::{Scenario, needs_group};
use crate::sim::fault_plan::{FaultAction, FaultStep, StoredRecords};
use protocol::Timing;
use protocol::base::quorum::Mode;

/// The most nodes of a swarm: a board has room for this many neighbours, itself included.
pub(crate) const NODES_MAX: u32 = 32;

/// The fewest boards for a partition: of fewer, at most one per side would be left after the leader's crash.
const CUT_NODES_MIN: u32 = 4;

/// The fewest boards for a crash: of fewer, no quorum is left.
const MAJORITY_NODES_MIN: u32 = 3;

/// Returns the default scenario: boards boot and elect the best, it crashes, the network is partitioned and merges.
pub(crate) fn default_scenario(nodes: u32) -> Scenario {
    let cut = r#"{ at = "16s", do = "partition", cut = "left-right", for = "9s" }"#;
    let (duration, cut) = if nodes < CUT_NODES_MIN { ("16s", "") } else { ("34s", cut) };
    let text = format!(
        r#"
            name = "swarm"
            about = "Boards boot and elect the best; it crashes; the network is partitioned and merges."
            nodes = {nodes}
            duration = "{duration}"
            settle_time = "6s"
            hops = 4
            topology = {{ shape = "grid" }}
            faults = [{{ at = "8s", do = "crash", node = "leader" }}, {cut}]
        "#
    );
    Scenario::parse("swarm", &text, &[]).expect("the text is a scenario")
}

/// Returns the scenario of boards that contend for a lock: they elect a leader and contend, and one of them loses power
/// meanwhile. A board contends for so many rounds and then rests, so that every increment is confirmed at the end.
///
/// # Panics
/// Never: the text below is a scenario.
#[must_use]
pub fn lock_scenario(nodes: u32) -> Scenario {
    let last = nodes.saturating_sub(1);
    // The first board keeps the counter.
    let reset = if nodes < 2 {
        String::new()
    } else {
        format!("{{ at = \"14s\", do = \"crash\", node = {last}, for = \"1s\" }}")
    };
    let about = "Boards contend for a lock and increment a counter; one of them loses power and restarts.";
    group_scenario("swarm-locks", about, nodes, 40, "", &reset)
}

/// Returns the scenario of boards that run an application: they elect a leader, and if there are enough boards it
/// loses power for good: a bank loses its tokens, and the next leader must continue the clock. A job would lose work,
/// and its end could not be detected, so there it does not.
///
/// # Panics
/// Never: the text below is a scenario.
#[must_use]
pub fn app_scenario(app: App, nodes: u32) -> Scenario {
    if app == App::Uplink {
        return uplink_scenario(nodes);
    }
    // With slow frames a snapshot finds tokens in flight.
    let (duration, delay, crash) = match app {
        App::Tokens => (30, 40, Some(17)),
        App::Clock => (40, 10, Some(24)),
        App::None | App::Counter | App::Diffusing | App::Uplink => (26, 10, None),
    };
    let fault = crash
        .filter(|_| nodes >= MAJORITY_NODES_MIN)
        .map_or_else(String::new, |at| format!("{{ at = \"{at}s\", do = \"crash\", node = \"leader\" }}"));
    let (name, about) = (format!("swarm-{}", app.name()), format!("Boards run an application: {}.", app.name()));
    group_scenario(&name, &about, nodes, duration, &format!(", delay = [\"1ms\", \"{delay}ms\"]"), &fault)
}

/// Returns the scenario of sensors with an elected gateway: it is killed, and comes back; the next one is paused and wakes up late;
/// the network is partitioned, with the broker on both sides, and heals.
fn uplink_scenario(nodes: u32) -> Scenario {
    let faults = r#"
        { at = "10s", do = "crash", node = "leader", for = "8s" },
        { at = "20s", do = "pause", node = "leader", for = "4s" },
        { at = "29s", do = "partition", cut = "left-right", for = "6s" },
    "#;
    let faults = if nodes < MAJORITY_NODES_MIN { "" } else { faults };
    let text = format!(
        r#"
            name = "swarm-uplink"
            about = "Sensors report through an elected gateway, which is killed, paused and cut off."
            nodes = {nodes}
            duration = "50s"
            settle_time = "10s"
            mode = "quorum"
            topology = {{ shape = "complete" }}
            medium = {{ kind = "lan" }}
            faults = [{faults}]
        "#
    );
    Scenario::parse("swarm-uplink", &text, &[]).expect("the text is a scenario")
}

/// Returns the scenario of boards with an image of one's own: they elect a leader and run, without a fault.
///
/// # Panics
/// Never: the text below is a scenario.
#[must_use]
pub fn own_scenario(nodes: u32) -> Scenario {
    group_scenario("swarm-own", "Boards run an image of one's own.", nodes, 15, "", "")
}

/// Returns a scenario of a group on a LAN, with more keys of its medium and a fault, which may both be empty.
fn group_scenario(name: &str, about: &str, nodes: u32, seconds: u32, medium: &str, fault: &str) -> Scenario {
    let text = format!(
        r#"
            name = "{name}"
            about = "{about}"
            nodes = {nodes}
            duration = "{seconds}s"
            settle_time = "10s"
            election = "bully"
            mode = "quorum"
            topology = {{ shape = "complete" }}
            medium = {{ kind = "lan"{medium} }}
            faults = [{fault}]
        "#
    );
    Scenario::parse(name, &text, &[]).expect("the text is a scenario")
}

/// Checks that boards can run a scenario; if not, the error is one sentence with what they cannot do.
pub(crate) fn check(scenario: &Scenario, app: App) -> Result<(), SwarmError> {
    let world = &scenario.world;
    let too_many = format!("{} boards are too many: a swarm has at most {NODES_MAX}", world.nodes);
    let cannot = [
        (world.nodes > NODES_MAX, too_many.as_str()),
        (
            world.mode == Mode::Quorum && !needs_group(&scenario.election) && app == App::None,
            "boards with a wireless election have no group, and so no quorum",
        ),
        (
            ![Timing::RADIO, Timing::LAN].contains(&scenario.timing),
            "boards know the timings \"radio\" and \"lan\" as they are, without changes",
        ),
        (world.capacity.noise > 0.0, "a board's capacity is given by its config page and has no noise"),
        (world.locks.is_some(), "boards contend for a lock if they are built with one: leave [locks] out"),
        (scenario.members.is_some(), "the list of members of boards does not change: leave \"members\" out"),
        (world.app.is_some(), "boards run an application if they are built with one: leave [app] out"),
        (world.requests.is_some(), "boards make no requests: leave [service] out"),
        (world.drift_ppm > 0, "the clocks of emulated boards do not drift"),
    ];
    let reasons = cannot.into_iter().filter_map(|(refused, reason)| refused.then_some(reason));
    let reason = reasons.chain(world.faults.iter().filter_map(|step| cannot_do(&step.action))).next();
    reason.map_or(Ok(()), |reason| Err(SwarmError::Refused(format!("{}: {reason}.", scenario.file))))
}

/// Reads an act of a user: the keys of a table `[[faults]]` but for its moment, which is given with its number.
///
/// # Errors
/// A sentence where it is no fault, or none that boards can do.
pub(crate) fn act(scenario: &Scenario, fault: &str, at: Micros, number: u32) -> Result<FaultStep, String> {
    let (nodes, duration) = (scenario.world.nodes, scenario.world.duration);
    let text = format!(
        "name = \"act\"\nnodes = {nodes}\nduration = \"{duration}us\"\n[topology]\nshape = \"complete\"\n\
         [[faults]]\nat = \"{at}us\"\n{fault}\n"
    );
    let steps = Scenario::parse("act", &text, &[]).map_err(|error| error.to_string())?.world.faults;
    let [step] = &steps[..] else { return Err("an act is one fault, and lasts until another ends it.".to_owned()) };
    match cannot_do(&step.action) {
        Some(reason) => Err(format!("{reason}.")),
        None => Ok(FaultStep { number, draw: number, ..step.clone() }),
    }
}

/// Returns why boards cannot do this, if they cannot.
fn cannot_do(action: &FaultAction) -> Option<&'static str> {
    match action {
        FaultAction::Capacity { .. } => Some("a board's capacity is given by its config page and does not change"),
        FaultAction::Appoint(_) | FaultAction::Release(_) => Some("a board is appointed by its own host"),
        FaultAction::Yield(_) | FaultAction::Call(_) => Some("a board takes no commands to elect or to yield"),
        FaultAction::ChangeList { .. } => Some("the list of members of boards does not change"),
        FaultAction::Request { .. } => {
            Some("boards begin snapshots and jobs by themselves, if they have an application")
        }
        FaultAction::Restart { records: StoredRecords::Torn, .. } => {
            Some("the flash of an emulated board is not torn: its store is tested on flash that is")
        }
        FaultAction::Crash(_)
        | FaultAction::Restart { .. }
        | FaultAction::Pause { .. }
        | FaultAction::Resume(_)
        | FaultAction::Partition(_)
        | FaultAction::Heal
        | FaultAction::Move { .. }
        | FaultAction::Link(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(more: &str) -> String {
        let text = format!("name = \"x\"\nnodes = 5\nduration = \"10s\"\n{more}\n[topology]\nshape = \"complete\"\n");
        let scenario = Scenario::parse("x.toml", &text, &[]).unwrap();
        check(&scenario, App::None).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn the_built_in_scenarios_run_with_any_number_of_boards() {
        for nodes in 1..=NODES_MAX {
            assert!(check(&lock_scenario(nodes), App::Counter).is_ok());
            for app in [App::Tokens, App::Diffusing, App::Clock, App::Uplink] {
                assert!(check(&app_scenario(app, nodes), app).is_ok());
            }
            let scenario = default_scenario(nodes);
            assert!(check(&scenario, App::None).is_ok());
            let outcome = crate::metrics::run::run::<crate::ProtocolNode>(&scenario, 1, &mut ());
            assert_eq!(outcome.findings, [], "{nodes} simulated nodes");
        }
    }

    #[test]
    fn an_act_is_one_fault_that_boards_can_do() {
        let act = |fault: &str| act(&default_scenario(5), fault, 7, 3);
        let step = act("do = \"crash\"\nnode = 4").unwrap();
        assert_eq!((step.at, step.number), (7, 3));
        assert!(matches!(step.action, FaultAction::Crash(_)));
        for (fault, sentence) in [
            ("do = \"crash\"\nnode = 5", "5"),
            ("do = \"capacity\"\nnode = 1\ncapacity = 5", "does not change"),
            ("do = \"crash\"\nnode = 4\nfor = \"1s\"", "one fault"),
            ("do = \"heal\"\n[[faults]]\nat = \"1s\"\ndo = \"heal\"", "one fault"),
            ("nonsense", "act:"),
        ] {
            let refusal = act(fault).unwrap_err();
            assert!(refusal.contains(sentence), "{fault}: {refusal}");
        }
    }

    #[test]
    fn a_scenario_that_boards_cannot_run_is_refused_in_one_sentence() {
        assert_eq!(refusal(""), "fine");
        assert_eq!(refusal("election = \"bully\"\nmode = \"quorum\""), "fine");
        assert_eq!(
            refusal("mode = \"quorum\""),
            "x.toml: boards with a wireless election have no group, and so no quorum."
        );
        assert_eq!(refusal("drift_ppm = 20"), "x.toml: the clocks of emulated boards do not drift.");
        assert!(refusal("[locks]").contains("leave [locks] out"));
        assert!(refusal("capacity = { noise = \"5%\" }").contains("no noise"));
        assert!(refusal("timing = { boot_wait = \"700ms\" }").contains("without changes"));
        assert!(refusal("faults = [{ at = \"1s\", do = \"yield\", node = \"leader\" }]").contains("to yield"));
    }
}
