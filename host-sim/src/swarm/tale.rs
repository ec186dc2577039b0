//! The scenarios a swarm can run: any that boards can, and one of its own.

use super::SwarmError;
use crate::boards::App;
use crate::peer;
use crate::scenario::{Action, CapacityPlan, Scenario};
use protocol::Timing;
use protocol::mandate::Mode;

/// The most boards a swarm can have: each has room for as many neighbours, less itself.
pub const NODES_MAX: u32 = 32;

/// Fewer boards than these are not worth cutting in two: with the leader gone, at most one would be left on each side.
const CUT_NODES_MIN: u32 = 4;

/// Of fewer boards no majority is left when one loses its power.
const MAJORITY_NODES_MIN: u32 = 3;

/// The story told where no other is asked for: boards start and elect the best, it fails and the next takes over, the
/// network is cut in two and joined again.
///
/// # Panics
/// Never: the text below is a scenario.
#[must_use]
pub fn default_scenario(nodes: u32) -> Scenario {
    let cut = r#"
            [[faults]]
            at = "16s"
            do = "partition"
            cut = "left-right"
            for = "9s"
    "#;
    let (duration, cut) = if nodes < CUT_NODES_MIN { ("16s", "") } else { ("34s", cut) };
    let text = format!(
        r#"
            name = "swarm"
            about = "Boards start and elect the best; it fails; the network is cut in two and joined again."
            nodes = {nodes}
            duration = "{duration}"
            calm = "6s"
            hops = 4

            [topology]
            shape = "grid"

            [[faults]]
            at = "8s"
            do = "crash"
            node = "leader"
            {cut}
        "#
    );
    Scenario::parse("swarm", &text).expect("the story is a scenario")
}

/// The story told where boards contend for a lock: they elect a leader, contend, and one of them loses its power while they
/// do. A board contends for so many rounds and then rests, so that every count has been made when the story ends.
///
/// # Panics
/// Never: the text below is a scenario.
#[must_use]
pub fn lock_scenario(nodes: u32) -> Scenario {
    let last = nodes.saturating_sub(1);
    // The first one keeps the counter.
    let reset = if nodes < 2 {
        String::new()
    } else {
        format!("[[faults]]\nat = \"14s\"\ndo = \"crash\"\nnode = {last}\nfor = \"1s\"")
    };
    let text = format!(
        r#"
            name = "swarm-locks"
            about = "Boards contend for a lock and count under it; one of them loses its power and comes back."
            nodes = {nodes}
            duration = "40s"
            calm = "10s"
            election = "bully"
            mode = "quorum"

            [topology]
            shape = "complete"

            [medium]
            kind = "lan"

            {reset}
        "#
    );
    Scenario::parse("swarm-locks", &text).expect("the story is a scenario")
}

/// The story told where boards run an application: they elect a leader and go on. Then, if there are enough boards, it loses
/// its power, for good: a bank loses its tokens, and a clock must be carried on by the next leader. A job would lose work, and
/// nobody could tell whether it is over, so there it does not.
///
/// # Panics
/// Never: the text below is a scenario.
#[must_use]
pub fn app_scenario(app: App, nodes: u32) -> Scenario {
    // Where frames take their time, a snapshot finds tokens on their way.
    let (duration, delay, crash) = match app {
        App::Tokens => (30, 40, Some(17)),
        App::Clock => (40, 10, Some(24)),
        App::None | App::Counter | App::Diffusing => (26, 10, None),
    };
    let fault = crash
        .filter(|_| nodes >= MAJORITY_NODES_MIN)
        .map_or_else(String::new, |at| format!("[[faults]]\nat = \"{at}s\"\ndo = \"crash\"\nnode = \"leader\""));
    let name = app.name();
    let text = format!(
        r#"
            name = "swarm-{name}"
            about = "Boards run an application: {name}."
            nodes = {nodes}
            duration = "{duration}s"
            calm = "10s"
            election = "bully"
            mode = "quorum"

            [topology]
            shape = "complete"

            [medium]
            kind = "lan"
            delay = ["1ms", "{delay}ms"]

            {fault}
        "#
    );
    Scenario::parse("swarm-app", &text).expect("the story is a scenario")
}

/// Refuses a scenario that boards cannot run, in one sentence.
///
/// # Errors
/// What the boards cannot do.
pub fn check(scenario: &Scenario) -> Result<(), SwarmError> {
    let refuse = |text: &str| Err(SwarmError::Scenario(format!("{}: {text}.", scenario.file)));
    if scenario.nodes > NODES_MAX {
        return refuse(&format!("{} boards are too many: a swarm has at most {NODES_MAX}", scenario.nodes));
    }
    if scenario.mode == Mode::Quorum && !peer::needs_group(&scenario.election) {
        return refuse("boards with a wireless election have no group, and so no majority");
    }
    if ![Timing::RADIO, Timing::LAN].contains(&scenario.timing) {
        return refuse("boards know the timings \"radio\" and \"lan\" as they are, without changes");
    }
    let CapacityPlan { noise, .. } = scenario.capacity;
    if noise > 0.0 {
        return refuse("a board's capacity is given by its config page and has no noise");
    }
    if scenario.locks.is_some() {
        return refuse("boards contend for a lock by themselves, where they are given one: leave [locks] out");
    }
    if scenario.app.is_some() {
        return refuse("boards run an application where they are built with one: leave [app] out");
    }
    if scenario.drift_ppm > 0 {
        return refuse("the clocks of emulated boards do not drift");
    }
    for step in &scenario.faults {
        match step.action {
            Action::Capacity { .. } => {
                return refuse("a board's capacity is given by its config page and does not change");
            }
            Action::Yield(_) | Action::Call(_) => {
                return refuse("nobody can ask a board for an election or a hand-over");
            }
            Action::Request { .. } => {
                return refuse(
                    "boards are asked for a snapshot or a job by themselves, where they have an application",
                );
            }
            Action::Crash(_)
            | Action::Restart { .. }
            | Action::Pause { .. }
            | Action::Resume(_)
            | Action::Partition(_)
            | Action::Heal
            | Action::Loss(_)
            | Action::Burst(_)
            | Action::Duplicate(_)
            | Action::Reorder(..)
            | Action::Delay(..)
            | Action::Corrupt(_)
            | Action::OneWay { .. }
            | Action::BothWays => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(more: &str) -> String {
        let text = format!("name = \"x\"\nnodes = 5\nduration = \"10s\"\n{more}\n[topology]\nshape = \"complete\"\n");
        let scenario = Scenario::parse("x.toml", &text).unwrap();
        check(&scenario).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn the_story_can_be_told_with_any_number_of_boards() {
        for nodes in 1..=NODES_MAX {
            assert!(check(&lock_scenario(nodes)).is_ok());
            for app in [App::Tokens, App::Diffusing, App::Clock] {
                assert!(check(&app_scenario(app, nodes)).is_ok());
            }
            let scenario = default_scenario(nodes);
            assert!(check(&scenario).is_ok());
            let outcome = crate::run::run::<crate::Peer>(&scenario, 1, &mut ());
            assert_eq!(outcome.findings, [], "{nodes} simulated nodes");
        }
    }

    #[test]
    fn what_boards_cannot_do_is_refused_in_one_sentence() {
        assert_eq!(refusal(""), "fine");
        assert_eq!(refusal("election = \"bully\"\nmode = \"quorum\""), "fine");
        assert_eq!(
            refusal("mode = \"quorum\""),
            "x.toml: boards with a wireless election have no group, and so no majority."
        );
        assert_eq!(refusal("drift_ppm = 20"), "x.toml: the clocks of emulated boards do not drift.");
        assert!(refusal("[locks]").contains("leave [locks] out"));
        assert!(refusal("capacity = { noise = \"5%\" }").contains("no noise"));
        assert!(refusal("timing = { settle = \"700ms\" }").contains("without changes"));
        assert!(refusal("faults = [{ at = \"1s\", do = \"yield\", node = \"leader\" }]").contains("hand-over"));
    }
}
