//! Requests: each ends once, is handled at most once, and finds its way over several hops.

use crate::support::prelude::*;
use protocol::election::{Clusters, Election, Wireless};
use protocol::node::Input;
use protocol::service::requests::{Bytes, Command, Notice, Refusal, RequestId, Requests, long_commands};
use std::collections::BTreeMap;

type Asking<E> = Net<E, NoMutex, Requests<LONG>>;

/// How many long requests a node of these tests has room for.
const LONG: usize = 2;

fn asking<E: Election + 'static>(
    count: usize,
    medium: (Medium, u64),
    linked: fn(usize, usize) -> bool,
    election: impl Fn() -> E + 'static,
) -> Asking<E> {
    let make = move |index| {
        let election = election();
        let service = Requests::buffered().within(election.horizon().unwrap_or(8));
        (config(index), election, service)
    };
    let net = Net::ungrouped(count, medium, linked, make);
    // The last node is the best, by far.
    net.with_capacities(move |index| if index + 1 == count { 9_000 } else { 1_000 })
}

fn bytes(text: &str) -> Bytes {
    Bytes::from_slice(text.as_bytes()).unwrap()
}

fn request<E: Election>(net: &mut Asking<E>, index: usize, repeatable: bool) {
    net.put(index, Input::Service(Command::Request { bytes: bytes("how are you"), repeatable }));
}

/// Runs for some time; what a node is or was asked, it answers.
fn run_and_answer<E: Election>(net: &mut Asking<E>, seconds: u32) {
    let mut answered = 0;
    for _ in 0..seconds * 50 {
        net.run(Duration::from_millis(20));
        while let Some((_, index, notice)) = net.service_notices.get(answered).cloned() {
            answered += 1;
            if let Notice::Request { id, .. } | Notice::LongRequest { id, .. } = notice
                && net.is_up(index)
            {
                net.put(index, Input::Service(Command::Answer { id, bytes: bytes("fine") }));
            }
        }
    }
}

/// How often each request was handled, and how it ended.
fn ends<E: Election>(net: &Asking<E>) -> BTreeMap<RequestId, (usize, Vec<Notice>)> {
    let mut ends: BTreeMap<RequestId, (usize, Vec<Notice>)> = BTreeMap::new();
    for (_, _, notice) in &net.service_notices {
        match notice {
            Notice::Requested { id } => _ = ends.entry(*id).or_default(),
            Notice::Request { id, .. } | Notice::LongRequest { id, .. } => ends.entry(*id).or_default().0 += 1,
            Notice::Answered { id, .. } | Notice::Refused { id, .. } | Notice::TimedOut { id } => {
                ends.entry(*id).or_default().1.push(notice.clone());
            }
            Notice::Full
            | Notice::Sending { .. }
            | Notice::Delivered { .. }
            | Notice::Undelivered { .. }
            | Notice::Message { .. } => {}
        }
    }
    ends
}

#[test]
fn a_request_reaches_the_super_peer_over_relays_and_the_answer_comes_back() {
    let mut net = asking(4, (RELIABLE, 1), line, || Clusters::new(3));
    net.run_secs(10);
    request(&mut net, 0, false);
    run_and_answer(&mut net, 1);
    let asked = net.service_notices.iter().find_map(|(_, index, notice)| match notice {
        Notice::Request { bytes, .. } => Some((*index, bytes.clone())),
        _ => None,
    });
    assert_eq!(asked, Some((3, bytes("how are you"))));
    let id = RequestId { origin: config(0).me, boot: 1, number: 1 };
    assert_eq!(ends(&net)[&id], (1, vec![Notice::Answered { id, bytes: bytes("fine") }]));
}

#[test]
fn with_one_leader_far_away_it_does_too() {
    let mut net = asking(5, (RELIABLE, 1), line, Wireless::new);
    net.run_secs(20);
    request(&mut net, 0, false);
    run_and_answer(&mut net, 2);
    assert!(matches!(net.service_notices.last(), Some((_, 0, Notice::Answered { .. }))), "{:?}", net.service_notices);
}

#[test]
fn the_super_peer_asks_itself() {
    let mut net = asking(2, (RELIABLE, 1), line, || Clusters::new(2));
    net.run_secs(10);
    request(&mut net, 1, false);
    run_and_answer(&mut net, 1);
    assert!(matches!(net.service_notices.last(), Some((_, 1, Notice::Answered { .. }))), "{:?}", net.service_notices);
}

#[test]
fn on_a_bad_network_every_request_ends_once_and_is_handled_at_most_once() {
    for seed in 0..4 {
        let mut net = asking(4, (UNRELIABLE, seed), line, || Clusters::new(3));
        net.run_secs(10);
        for round in 0..10 {
            request(&mut net, round % 3, false);
            run_and_answer(&mut net, 2);
        }
        run_and_answer(&mut net, 15);
        let ends = ends(&net);
        assert_eq!(ends.len(), 10, "seed {seed}");
        for (id, (handled, end)) in &ends {
            assert!(*handled <= 1 && end.len() == 1, "seed {seed}: {id:?} was handled {handled} times, ended {end:?}");
        }
        let answered = ends.values().filter(|(_, end)| matches!(end[..], [Notice::Answered { .. }])).count();
        assert!(answered >= 8, "seed {seed}: {answered} of 10 were answered");
    }
}

#[test]
fn relays_and_leaders_that_reboot_at_any_moment_make_no_request_be_handled_twice() {
    for step in 0..60 {
        let mut net = asking(3, (UNRELIABLE, u64::from(step)), line, || Clusters::new(2));
        net.run_secs(10);
        request(&mut net, 0, false);
        net.run(Duration::from_millis(step));
        for index in [1, 2] {
            if (step / 4) % 3 != 2 - u32::try_from(index).unwrap() {
                net.crash(index).run(Duration::from_millis(5)).boot(index);
            }
        }
        run_and_answer(&mut net, 20);
        for (id, (handled, end)) in ends(&net) {
            assert!(handled <= 1 && end.len() == 1, "{step} ms: {id:?} was handled {handled} times, ended {end:?}");
        }
    }
}

#[test]
fn without_an_answer_a_request_times_out_and_a_late_answer_changes_nothing() {
    let mut net = asking(2, (RELIABLE, 1), line, || Clusters::new(2));
    net.run_secs(10);
    request(&mut net, 0, false);
    net.run_secs(12);
    let id = RequestId { origin: config(0).me, boot: 1, number: 1 };
    assert_eq!(ends(&net)[&id], (1, vec![Notice::TimedOut { id }]));
    net.put(1, Input::Service(Command::Answer { id, bytes: bytes("fine") })).run_secs(1);
    assert_eq!(ends(&net)[&id].1.len(), 1);
}

#[test]
fn a_repeatable_request_goes_to_the_next_super_peer_and_another_does_not() {
    for repeatable in [false, true] {
        let mut net = asking(3, (RELIABLE, 1), complete, || Clusters::new(2));
        net.run_secs(10);
        request(&mut net, 0, repeatable);
        net.run(Duration::from_millis(20)).crash(2); // it was asked, and does not answer
        run_and_answer(&mut net, 12);
        let id = RequestId { origin: config(0).me, boot: 1, number: 1 };
        let (_, end) = &ends(&net)[&id];
        assert_eq!(end.len(), 1);
        assert_eq!(matches!(end[..], [Notice::Answered { .. }]), repeatable, "{end:?}");
    }
}

#[test]
fn a_super_peer_with_too_much_to_do_refuses_with_a_hint() {
    let mut net = asking(8, (RELIABLE, 1), complete, || Clusters::new(2));
    net.run_secs(10);
    for index in 0..7 {
        for _ in 0..4 {
            request(&mut net, index, false);
        }
    }
    request(&mut net, 0, false);
    assert!(matches!(net.service_notices.last(), Some((_, 0, Notice::Full))), "a fifth of one node has no room");
    net.run_secs(3);
    let busy = net
        .service_notices
        .iter()
        .filter(|(_, _, notice)| matches!(notice, Notice::Refused { reason: Refusal::Busy { after_ms: 1.. }, .. }));
    assert_eq!(busy.count(), 4, "it keeps 24 of 28");
}

#[test]
fn more_requests_than_answers_fit_are_answered_and_no_copy_of_a_forgotten_one_is_handled_again() {
    for (medium, answered_min) in [((RELIABLE, 1), 84), ((UNRELIABLE, 2), 60)] {
        let mut net = asking(8, medium, complete, || Clusters::new(2));
        net.run_secs(10);
        for _ in 0..4 {
            for index in 0..7 {
                (0..3).for_each(|_| request(&mut net, index, false));
            }
            run_and_answer(&mut net, 2);
        }
        run_and_answer(&mut net, 15);
        let ends: Vec<_> = ends(&net).into_values().collect();
        assert_eq!(ends.iter().filter(|(handled, ends)| *handled > 1 || ends.len() != 1).count(), 0);
        let answered = ends.iter().filter(|(_, ends)| matches!(ends[..], [Notice::Answered { .. }])).count();
        assert!(answered >= answered_min, "{answered} of {}", ends.len());
    }
}

#[test]
fn a_request_waits_for_a_leader() {
    let mut net = asking(2, (RELIABLE, 1), line, || Clusters::new(2));
    request(&mut net, 0, false);
    run_and_answer(&mut net, 5);
    assert!(matches!(net.service_notices.last(), Some((_, 0, Notice::Answered { .. }))), "{:?}", net.service_notices);
}

#[test]
fn a_request_that_only_one_leader_may_handle_waits_until_that_has_led_for_a_heartbeat() {
    for repeatable in [false, true] {
        let mut net = asking(2, (RELIABLE, 1), line, || Clusters::new(2));
        request(&mut net, 0, repeatable);
        while net.node(0).leader().is_none() {
            net.run(Duration::from_millis(10));
        }
        let handled = |net: &Asking<Clusters>| count(net, |notice| matches!(notice, Notice::Request { .. }));
        net.run(Duration::from_millis(900));
        assert_eq!(handled(&net), usize::from(repeatable));
        net.run(Duration::from_millis(600));
        assert_eq!(handled(&net), 1);
    }
}

/// Who was delivered what, in the order of time.
fn delivered<E: Election>(net: &Asking<E>) -> Vec<(usize, Bytes)> {
    let message = |(_, index, notice): &(_, usize, Notice)| match notice {
        Notice::Message { bytes, .. } => Some((*index, bytes.clone())),
        _ => None,
    };
    net.service_notices.iter().filter_map(message).collect()
}

fn send<E: Election>(net: &mut Asking<E>, from: usize, to: Option<usize>, text: &str) {
    let to = to.map(|index| config(index).me);
    net.put(from, Input::Service(Command::Send { to, bytes: bytes(text) }));
}

fn count<E: Election>(net: &Asking<E>, which: fn(&Notice) -> bool) -> usize {
    net.service_notices.iter().filter(|(_, _, notice)| which(notice)).count()
}

#[test]
fn the_super_peer_sends_to_one_client_the_way_its_request_came() {
    let mut net = asking(4, (RELIABLE, 1), line, || Clusters::new(3));
    net.run_secs(10);
    request(&mut net, 0, false);
    run_and_answer(&mut net, 1);
    send(&mut net, 3, Some(0), "wake up");
    net.run_secs(1);
    assert_eq!(delivered(&net), [(0, bytes("wake up"))]);
    assert_eq!(count(&net, |notice| matches!(notice, Notice::Delivered { .. })), 1);
}

#[test]
fn a_client_that_never_asked_is_found_within_the_reach_and_one_that_is_away_is_not() {
    let mut net = asking(3, (RELIABLE, 1), line, || Clusters::new(2));
    net.run_secs(10);
    send(&mut net, 2, Some(0), "wake up");
    net.run_secs(1);
    assert_eq!(delivered(&net), [(0, bytes("wake up"))]);
    net.crash(0);
    send(&mut net, 2, Some(0), "and again");
    net.run_secs(12);
    assert_eq!(delivered(&net).len(), 1);
    let ends = [
        count(&net, |notice| matches!(notice, Notice::Delivered { .. })),
        count(&net, |notice| matches!(notice, Notice::Undelivered { .. })),
    ];
    assert_eq!(ends, [1, 1]);
}

#[test]
fn a_super_peer_that_sends_to_itself_receives_it_once() {
    let mut net = asking(2, (RELIABLE, 1), line, || Clusters::new(2));
    net.run_secs(10);
    send(&mut net, 1, Some(1), "wake up");
    net.run_secs(12);
    assert_eq!(delivered(&net), [(1, bytes("wake up"))]);
    assert_eq!(count(&net, |notice| matches!(notice, Notice::Delivered { .. })), 1);
}

#[test]
fn who_does_not_lead_sends_nothing() {
    let mut net = asking(3, (RELIABLE, 1), line, || Clusters::new(2));
    net.run_secs(10);
    send(&mut net, 0, Some(1), "obey");
    net.run_secs(12);
    assert_eq!((delivered(&net), count(&net, |notice| matches!(notice, Notice::Undelivered { .. }))), (vec![], 1));
}

#[test]
fn on_a_bad_network_nothing_is_delivered_twice_and_most_is_delivered() {
    let (mut to_one, mut to_all) = (0, 0);
    for seed in 0..4 {
        let mut net = asking(5, (UNRELIABLE, seed), line, || Clusters::new(4));
        net.run_secs(10);
        for round in 0..10 {
            send(&mut net, 4, (round % 2 == 0).then_some(round % 4), &format!("message {round}"));
            net.run_secs(3);
        }
        net.run_secs(12);
        let delivered = delivered(&net);
        let mut each = delivered.clone();
        each.sort();
        each.dedup();
        assert_eq!(each.len(), delivered.len(), "seed {seed}: {delivered:?}");
        to_one += count(&net, |notice| matches!(notice, Notice::Delivered { .. }));
        to_all += delivered.len();
    }
    assert!(to_one >= 16, "{to_one} of 20 to one client were acknowledged");
    assert!(to_all >= 80, "{to_all} of 100 were delivered");
}

fn long(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

fn request_long<E: Election>(net: &mut Asking<E>, index: usize, length: usize, repeatable: bool) {
    for command in long_commands(&long(length), repeatable) {
        net.put(index, Input::Service(command));
    }
}

#[test]
fn a_long_request_arrives_whole_and_is_answered() {
    for length in [1, 24, 25, 1_000, 1_024] {
        let mut net = asking(3, (RELIABLE, 1), line, || Clusters::new(2));
        net.run_secs(10);
        request_long(&mut net, 0, length, false);
        let mut whole = None;
        for _ in 0..200 {
            net.run(Duration::from_millis(50));
            let asked = net.service_notices.iter().find_map(|(_, index, notice)| match notice {
                Notice::LongRequest { id, .. } => Some((*index, *id)),
                _ => None,
            });
            if let Some((index, id)) = asked {
                whole = net.node(index).service().long(id).map(<[u8]>::to_vec);
                break;
            }
        }
        assert_eq!(whole, Some(long(length)), "{length} bytes");
        run_and_answer(&mut net, 2);
        assert!(matches!(net.service_notices.last(), Some((_, 0, Notice::Answered { .. }))), "{length} bytes");
    }
}

#[test]
fn on_a_bad_network_lost_parts_are_sent_again_and_a_long_request_is_handled_at_most_once() {
    let mut answered = 0;
    for seed in 0..4 {
        let mut net = asking(4, (UNRELIABLE, seed), line, || Clusters::new(3));
        net.run_secs(10);
        for round in 0..5 {
            request_long(&mut net, round % 4, 700, round % 2 == 0);
            run_and_answer(&mut net, 8);
        }
        run_and_answer(&mut net, 25);
        let ends = ends(&net);
        assert_eq!(ends.len(), 5, "seed {seed}");
        for (id, (handled, end)) in &ends {
            let twice = *handled > 1 && id.number % 2 == 0; // the others are repeatable
            assert!(!twice && end.len() == 1, "seed {seed}: {id:?} was handled {handled} times, ended {end:?}");
        }
        answered += ends.values().filter(|(_, end)| matches!(end[..], [Notice::Answered { .. }])).count();
    }
    assert!(answered >= 18, "{answered} of 20 were answered");
}

#[test]
fn relays_and_leaders_that_reboot_make_no_long_request_be_handled_twice() {
    for step in 0..40 {
        let mut net = asking(3, (UNRELIABLE, u64::from(step)), line, || Clusters::new(2));
        net.run_secs(10);
        request_long(&mut net, 0, 300, false);
        net.run(Duration::from_millis(step * 10));
        for index in [1, 2] {
            if (step / 4) % 3 != 2 - u32::try_from(index).unwrap() {
                net.crash(index).run(Duration::from_millis(5)).boot(index);
            }
        }
        run_and_answer(&mut net, 30);
        for (id, (handled, end)) in ends(&net) {
            assert!(handled <= 1 && end.len() == 1, "{step}: {id:?} was handled {handled} times, ended {end:?}");
        }
    }
}

#[test]
fn a_long_request_without_a_buffer_is_refused_at_once() {
    let make = move |index| (config(index), Clusters::new(2), Requests::new());
    let mut net: Net<Clusters, NoMutex, Requests> = Net::ungrouped(2, (RELIABLE, 1), line, make).started();
    net.run_secs(10).put(0, Input::Service(Command::Append { bytes: bytes("to whom it may concern") }));
    assert!(matches!(net.service_notices[..], [(_, 0, Notice::Full)]), "{:?}", net.service_notices);
    let mut net = asking(4, (RELIABLE, 1), complete, || Clusters::new(2));
    net.run_secs(10);
    for index in 0..3 {
        request_long(&mut net, index, 500, false);
    }
    net.run_secs(5);
    let busy = count(&net, |notice| matches!(notice, Notice::Refused { reason: Refusal::Busy { .. }, .. }));
    assert_eq!(busy, 1, "it has room for {LONG}");
}
