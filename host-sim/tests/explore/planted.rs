//! Planted bugs: each is found by the property that it breaks.
//!
//! Every row wraps an unchanged state machine, or the network and the clock around it. The crate that runs on boards has no
//! hook for any of them.

use crate::planted_election as election;
use crate::planted_lock::{Bug, Planted};
use host_sim::explore::apps::{BANK, explore_bank};
use host_sim::explore::election_model::{self, Explored};
use host_sim::explore::elections::{GROUP, explore_election};
use host_sim::explore::lease_model::{self, Belief, LONGER_LEASES, NAMED, Skew};
use host_sim::explore::lock_model::{Bounds, TWO};
use host_sim::explore::locks::{ALL, AMNESIAC, CRASHING, DUPLICATING, ONCE, RENEWING, SUSPECTING, explore_lock, slow};
use host_sim::explore::members_model::{self, CHANGED, Fault as ListFault};
use host_sim::explore::schedule::Course;
use host_sim::explore::search::{Limits, Violation};
use host_sim::explore::textbook::{Fault, Textbook};
use host_sim::explore::{self, ExploredLock, Outcome};
use protocol::election::{Bully, ChangRoberts};
use protocol::mutex::{Central, Lamport, Maekawa, Raymond, RicartAgrawala, SuzukiKasami, TokenRing, Voting};
use std::collections::BTreeSet;

/// A planted bug: its name, the property that reports it, and the search that finds it.
struct Row {
    name: &'static str,
    property: &'static str,
    search: Box<dyn Fn(Course<'_>) -> Outcome>,
}

impl Row {
    fn run(&self) -> Outcome {
        (self.search)(Limits::NONE.into())
    }
}

const TWO_HOLD: &str = "two hold the lock";
const STARVES: &str = "a node waits for ever";
const NO_GRANT: &str = "no node ever holds the lock";
const FENCE: &str = "a fence does not grow";
const NOTICES: &str = "the application's notices and the lock differ";
const UNASKED: &str = "granted unasked";
const REFUSED: &str = "refused without a reason";
const TWO_LEAD: &str = "a node follows one leader of a term, a message names another";
const NO_WINNER: &str = "the best node never wins";
const TWO_ACT: &str = "two nodes act at once";
const TWO_LISTS: &str = "two lists of one epoch";

fn row(name: &'static str, property: &'static str, search: impl Fn(Course<'_>) -> Outcome + 'static) -> Row {
    Row { name, property, search: Box::new(search) }
}

fn lock<L: ExploredLock + Default + 'static>(
    name: &'static str,
    bug: Bug,
    bounds: Bounds,
    property: &'static str,
) -> Row {
    row(name, property, move |course| explore_lock(bounds, course, |_| Planted { lock: L::default(), bug }))
}

fn elect<E: Explored>(name: &'static str, bounds: election_model::Bounds, property: &'static str) -> Row {
    row(name, property, move |course| explore_election::<E>(&[], bounds, course))
}

fn textbook(name: &'static str, fault: Fault, bounds: Bounds, property: &'static str) -> Row {
    row(name, property, move |course| explore_lock(bounds, course, |_| Textbook::new(fault)))
}

fn members(name: &'static str, bounds: members_model::Bounds, fault: ListFault, property: &'static str) -> Row {
    let bounds = members_model::Bounds { fault, ..bounds };
    row(name, property, move |course| members_model::judge(bounds, course))
}

fn lease(name: &'static str, bounds: lease_model::Bounds) -> Row {
    row(name, TWO_ACT, move |course| lease_model::judge(bounds, course))
}

#[rustfmt::skip]
fn central_locks() -> Vec<Row> {
    vec![
        lock::<Central>("a request is not sent to the server", Bug::NotSent("request"), ONCE, STARVES),
        lock::<Central>("the server ignores requests", Bug::Ignored("request"), ONCE, STARVES),
        lock::<Central>("the server sends no grant", Bug::NotSent("grant"), ONCE, STARVES),
        lock::<Central>("a grant goes to every member", Bug::SentToAll("grant"), ONCE, TWO_HOLD),
        lock::<Central>("a client ignores its grant", Bug::Ignored("grant"), ONCE, STARVES),
        lock::<Central>("a holder does not tell the server that it released", Bug::NotSent("release"), ONCE, STARVES),
        lock::<Central>("the server ignores a release", Bug::Ignored("release"), ONCE, STARVES),
        lock::<Central>("a cancelled request stays in the queue", Bug::NotSent("cancel"), RENEWING, STARVES),
        lock::<Central>("requests do not count up: an old grant answers a new one", Bug::ClockStopped, CRASHING, TWO_HOLD),
        lock::<Central>("a lease ends at its grantor first", Bug::GrantorAhead, CRASHING, REFUSED),
        lock::<Central>("a lease is counted from the wrong end at its holder", Bug::HolderBehind, CRASHING, REFUSED),
        lock::<Central>("every grant has the same fence", Bug::FenceConstant, ONCE, FENCE),
        lock::<Central>("a grant is not notified", Bug::GrantNotNotified, ONCE, NOTICES),
        lock::<Central>("a grant is notified twice", Bug::GrantNotifiedTwice, ONCE, UNASKED),
        lock::<Central>("the end of a lease is not notified", Bug::LossNotNotified, CRASHING, NOTICES),
        lock::<Central>("a grant is taken for a refusal", Bug::GrantRefused, ONCE, REFUSED),
        lock::<Central>("what a suspicion lost is not sent again", Bug::ReturnIgnored, Bounds { hours: 0, ..SUSPECTING }, STARVES),
    ]
}

#[rustfmt::skip]
fn token_locks() -> Vec<Row> {
    vec![
        lock::<TokenRing>("a token is sent to all members", Bug::SentToAll("token"), slow(ONCE), TWO_HOLD),
        lock::<TokenRing>("a token is not passed on", Bug::NotSent("token"), slow(ONCE), NO_GRANT),
        lock::<TokenRing>("a token is lost where it arrives", Bug::Ignored("token"), slow(ONCE), NO_GRANT),
        lock::<TokenRing>("a ring of one", Bug::ViewOfOne, slow(ONCE), NO_GRANT),
        lock::<TokenRing>("a token has a constant fence", Bug::FenceConstant, slow(ONCE), FENCE),
        lock::<TokenRing>("a token's lease is counted from the wrong end", Bug::HolderBehind, slow(ONCE), REFUSED),
        lock::<Raymond>("a request does not go up the tree", Bug::NotSent("request"), ONCE, STARVES),
        lock::<Raymond>("a parent ignores requests", Bug::Ignored("request"), ONCE, STARVES),
        lock::<Raymond>("the privilege stays", Bug::NotSent("privilege"), ONCE, STARVES),
        lock::<Raymond>("the privilege goes to all branches", Bug::SentToAll("privilege"), ONCE, TWO_HOLD),
        lock::<SuzukiKasami>("a token is broadcast", Bug::SentToAll("token"), ONCE, TWO_HOLD),
        lock::<SuzukiKasami>("the token is kept", Bug::NotSent("token"), ONCE, STARVES),
        lock::<SuzukiKasami>("nobody hears of a request", Bug::NotSent("request"), ONCE, STARVES),
    ]
}

#[rustfmt::skip]
fn permission_locks() -> Vec<Row> {
    vec![
        textbook("a reply names no request", Fault::Textbook, DUPLICATING, TWO_HOLD),
        textbook("one of two deferred replies is sent", Fault::Forgetful, Bounds { rounds: 1, ..ALL }, STARVES),
        textbook("a deferred reply is sent with the next request", Fault::Lazy, TWO, STARVES),
        textbook("a reply that a reboot lost is not sent again", Fault::None, Bounds { crashes: 1, victims: &[2], ..ONCE }, STARVES),
        textbook("a reply that a suspicion lost is not sent again", Fault::None, Bounds { suspicions: 1, ..ONCE }, STARVES),
        lock::<RicartAgrawala>("all requests have one time, and the tie is not broken", Bug::ClockStopped, ONCE, TWO_HOLD),
        lock::<RicartAgrawala>("a requester asks nobody", Bug::ViewOfOne, ONCE, STARVES),
        lock::<RicartAgrawala>("a reply is not sent", Bug::NotSent("reply"), ONCE, STARVES),
        lock::<RicartAgrawala>("a reply is ignored", Bug::Ignored("reply"), ONCE, STARVES),
        lock::<RicartAgrawala>("the permission of an earlier boot counts", Bug::ResetIgnored, AMNESIAC, FENCE),
        lock::<Lamport>("the Lamport time of a message is lost", Bug::TimeLost, ONCE, STARVES),
        lock::<Lamport>("the Lamport clock stands still", Bug::ClockStopped, ONCE, TWO_HOLD),
        lock::<Lamport>("a queue is asked nobody about", Bug::ViewOfOne, ONCE, STARVES),
        lock::<Lamport>("a release is not sent", Bug::NotSent("release"), ONCE, STARVES),
        lock::<Lamport>("what a member acknowledged in an earlier boot counts", Bug::ResetIgnored, AMNESIAC, FENCE),
        lock::<Maekawa>("voters agree on the same fence again", Bug::ClockStopped, slow(TWO), FENCE),
        lock::<Maekawa>("a vote is not sent", Bug::NotSent("grant"), slow(ONCE), NO_GRANT),
        lock::<Voting>("a voter that rebooted votes again at once", Bug::NoQuarantine, slow(Bounds { victims: &[2], ..CRASHING }), TWO_HOLD),
        lock::<Voting>("a voter's numbers are not stored, and no heartbeat tells it the time", Bug::None, slow(AMNESIAC), FENCE),
        lock::<Maekawa>("a vote's lease is counted from the wrong end", Bug::HolderBehind, slow(ONCE), REFUSED),
    ]
}

#[rustfmt::skip]
fn elections_and_services() -> Vec<Row> {
    use election::{LEADS_EVERY_TERM, NEVER_STANDS, NO_QUARANTINE, NO_TIE_BREAK, SENDS_TOO_MUCH, TERM_FALLS, TERM_NOT_STORED, TIMEOUT_IGNORED};
    let terms = election_model::Bounds { number_max: 2, ..GROUP };
    let reboot = election_model::Bounds { reboots: 1, victims: &[0, 1, 2], ..terms };
    let amnesia = election_model::Bounds { amnesia: true, ..reboot };
    let again = "a node leads again under a term of its earlier boot";
    let falls = "a node's term falls";
    let unordered = host_sim::explore::app_model::Bounds { in_order: false, eager: true, sends: 1, ..BANK };
    vec![
        elect::<election::Planted<Bully, TERM_NOT_STORED>>("bully: the term is not stored", reboot, again),
        elect::<election::Planted<ChangRoberts, TERM_NOT_STORED>>("chang-roberts: the term is not stored", reboot, again),
        elect::<election::Planted<Bully, NO_QUARANTINE>>("bully: no quarantine without records", amnesia, "a node leads in its quarantine"),
        elect::<election::Planted<Bully, NO_TIE_BREAK>>("bully: a term is a number alone", terms, TWO_LEAD),
        elect::<election::Planted<Bully, LEADS_EVERY_TERM>>("bully: a node takes itself for the leader of any term", terms, TWO_LEAD),
        elect::<election::Planted<ChangRoberts, LEADS_EVERY_TERM>>("chang-roberts: a node takes itself for the leader of any term", terms, TWO_LEAD),
        elect::<election::Planted<Bully, SENDS_TOO_MUCH>>("bully: a step sends without bound", terms, "a step asks for more than it may"),
        elect::<election::Planted<Bully, TERM_FALLS>>("bully: a stale coordinator is followed", terms, falls),
        elect::<election::Planted<ChangRoberts, TERM_FALLS>>("chang-roberts: a stale announcement is followed", terms, falls),
        elect::<election::Planted<Bully, TIMEOUT_IGNORED>>("bully: no election starts", terms, NO_WINNER),
        elect::<election::Planted<ChangRoberts, NEVER_STANDS>>("chang-roberts: nobody stands", terms, NO_WINNER),
        lease("a leader acts as long as no other is named", lease_model::Bounds { belief: Belief::Stale, ..NAMED }),
        lease("a leader's lease is counted from the wrong end", lease_model::Bounds { skew: Skew::Late, ..NAMED }),
        lease("a grantor forgets that a promise was a long one", lease_model::Bounds { skew: Skew::Short, ..LONGER_LEASES }),
        lease("a grantor that rebooted grants at once", lease_model::Bounds { end: 3, crashes: true, skew: Skew::Hasty, ..NAMED }),
        row("a marker overtakes a message", "the sum is not conserved", move |course| explore_bank(unordered, course)),
    ]
}

#[rustfmt::skip]
fn lists_of_members() -> Vec<Row> {
    let reboot = members_model::Bounds { victims: &[0], reboots_max: 1, ..CHANGED };
    let loss = members_model::Bounds { reboots_max: 0, losses_max: 1, ..reboot };
    let once = members_model::Bounds { terms_max: 1, told_max: 1, ..CHANGED };
    vec![
        members("a vote on a list is sent before it is stored, and lost", reboot, ListFault::VotesNotStored, TWO_LISTS),
        members("a member that lost its log votes as one that has never run", loss, ListFault::LostIsNew, TWO_LISTS),
        members("a leader does not hear which change an earlier one may have decided", CHANGED, ListFault::BestIgnored, TWO_LISTS),
        members("the vote of the leader alone decides", CHANGED, ListFault::LoneVote, TWO_LISTS),
        members("a node forgets its promise of a lease with the list", CHANGED, ListFault::PromiseForgotten, TWO_ACT),
        members("members do not say that they have stored a change", once, ListFault::VotesNotSent, STARVES),
    ]
}

fn rows() -> Vec<Row> {
    [central_locks(), token_locks(), permission_locks(), elections_and_services(), lists_of_members()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_planted_bug_is_found_by_the_property_that_it_breaks_and_replays_from_its_schedule() {
    let missed = |row: &Row| {
        let outcome = row.run();
        let found = outcome.why();
        if found != Some(row.property) {
            return Some(format!("{}: found {found:?}, not {:?}", row.name, row.property));
        }
        let Violation { steps, .. } = outcome.violation.filter(|found| !found.steps.is_empty())?;
        let moves: Vec<String> = steps.iter().map(|step| step.detail.clone()).collect();
        let again = (row.search)(Course::Along(&moves, Limits::NONE)).violation;
        let details = again.iter().flat_map(|again| &again.steps).map(|step| &step.detail);
        let same = again.as_ref().map(|again| again.why) == Some(row.property) && details.eq(&moves);
        (!same).then(|| format!("{}: replayed as {again:#?}", row.name))
    };
    let missed: Vec<String> = rows().iter().filter_map(missed).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn without_a_bug_what_carries_the_bugs_breaks_nothing() {
    let locks = [
        lock::<Central>("central", Bug::None, CRASHING, ""),
        lock::<TokenRing>("token-ring", Bug::None, slow(ONCE), ""),
        lock::<RicartAgrawala>("ricart-agrawala", Bug::None, ONCE, ""),
        lock::<Lamport>("lamport", Bug::None, ONCE, ""),
        lock::<Maekawa>("maekawa", Bug::None, slow(ONCE), ""),
        lock::<Raymond>("raymond", Bug::None, ONCE, ""),
        lock::<SuzukiKasami>("suzuki-kasami", Bug::None, ONCE, ""),
        elect::<election::Planted<ChangRoberts, { election::NO_BUG }>>("chang-roberts", GROUP, ""),
    ];
    for row in locks {
        let outcome = row.run();
        assert_eq!((outcome.why(), outcome.complete), (None, true), "{}", row.name);
    }
}

#[test]
fn the_table_has_as_many_bugs_as_the_documents_say() {
    let names: BTreeSet<&str> = rows().iter().map(|row| row.name).collect();
    assert_eq!((names.len(), rows().len()), (explore::PLANTED, explore::PLANTED));
}
