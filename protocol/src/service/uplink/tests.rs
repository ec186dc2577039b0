//! Client, gateway, guard and a broker as a model: one log of what was published, in one order.

use super::*;
use crate::base::ids::NodeId;
use crate::base::rng::Rng;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant};
use crate::service::requests::{Bytes, Command, Notice, Refusal, RequestId};
use std::collections::BTreeMap;
use std::vec::Vec as List;
use std::{format, vec};

fn term(number: u32) -> Term {
    Term { number, by: NodeId(9) }
}

fn fence(number: u32) -> Fence {
    Fence { term: term(number), scope: None }
}

fn payload(text: &str) -> Payload {
    Payload::from_slice(text.as_bytes()).unwrap()
}

fn request(origin: u32, number: u16) -> RequestId {
    RequestId { origin: NodeId(origin), boot: 1, number }
}

fn submission(number: u32, text: &str) -> Bytes {
    Submission { number, received: NO_DOWNLINK, payload: payload(text) }.to_bytes()
}

fn upload(number: u32, sequence: u32, id: (u32, u8, u32)) -> Upload {
    let (origin, boot, count) = id;
    let id = UploadId { origin: NodeId(origin), boot, number: count };
    Upload { fence: fence(number), sequence, id, payload: payload("x") }
}

/// Returns a gateway that has claimed the uplink in this term.
fn serving(number: u32) -> Gateway {
    let mut gateway = Gateway::new(None);
    gateway.on_connected();
    gateway.on_acting(Some(term(number)));
    assert_eq!(gateway.poll_publication(), Some(Publication::Claim(fence(number))));
    gateway.on_published();
    assert_eq!(gateway.state(), GatewayState::Serving(fence(number)));
    gateway
}

fn commands(gateway: &mut Gateway) -> List<Command> {
    core::iter::from_fn(|| gateway.poll_command()).collect()
}

fn busy(id: RequestId) -> Command {
    Command::Refuse { id, after_ms: 500 }
}

#[test]
fn what_is_published_is_read_as_it_was_written() {
    let scoped = Fence { term: Term { number: u32::MAX, by: NodeId(u32::MAX) }, scope: Some(NodeId(u32::MAX)) };
    let id = UploadId { origin: NodeId(4), boot: 255, number: u32::MAX };
    let longest = Upload { fence: scoped, sequence: u32::MAX, id, payload: payload(&"p".repeat(PAYLOAD_MAX)) };
    let empty = Upload { payload: Payload::new(), ..upload(1, 2, (4, 0, 3)) };
    for upload in [upload(7, 13, (4, 1, 42)), longest, empty] {
        assert_eq!(Upload::from_text(NodeId(4), &upload.to_text()), Some(upload.clone()));
        assert_eq!(Fence::from_text(&upload.fence.to_text()), Some(upload.fence));
    }
    assert_eq!(&upload(7, 13, (4, 1, 42)).to_text()[..], b"7.9 13 1.42 x");
    let wrong: [&[u8]; 9] = [
        b"",
        b"7",
        b"7.9",
        b"7.9 1",
        b"7.9 1 2.3",
        b"7.x 1 2.3 p",
        b"07.9 1 2.3 p",
        b"4294967296.1 1 2.3 p",
        b"7.9 1 256.3 p",
    ];
    for text in wrong {
        assert_eq!(Upload::from_text(NodeId(4), text), None, "{text:?}");
    }
    assert_eq!(Fence::from_text(b"1.2.3.4"), None);
}

#[test]
fn a_client_is_told_stored_only_after_the_brokers_acknowledgement() {
    let mut gateway = serving(1);
    gateway.on_request(request(4, 1), &submission(1, "21.5"));
    let Some(Publication::Message(published)) = gateway.poll_publication() else { panic!("a message") };
    assert_eq!(&published.to_text()[..], b"1.9 1 1.1 21.5");
    assert_eq!((gateway.poll_publication(), commands(&mut gateway)), (None, vec![]));
    gateway.on_published();
    assert_eq!(commands(&mut gateway), [Command::Answer { id: request(4, 1), bytes: Bytes::new() }]);
    assert_eq!(gateway.counters().stored, 1);
}

#[test]
fn only_an_acting_leader_with_a_broker_publishes() {
    let mut gateway = Gateway::new(None);
    gateway.on_request(request(4, 1), &submission(1, "x"));
    assert_eq!(commands(&mut gateway), [busy(request(4, 1))], "it does not lead");
    gateway.on_acting(Some(term(1)));
    gateway.on_request(request(4, 2), &submission(1, "x"));
    assert_eq!((gateway.poll_publication(), commands(&mut gateway)), (None, vec![]), "it waits for the broker");
    gateway.on_connected();
    assert_eq!(gateway.poll_publication(), Some(Publication::Claim(fence(1))));
    assert_eq!(gateway.poll_publication(), None, "nothing before the claim is acknowledged");
    gateway.on_published();
    assert!(matches!(gateway.poll_publication(), Some(Publication::Message(_))));
    gateway.on_acting(None);
    gateway.on_request(request(5, 1), &submission(1, "x"));
    gateway.on_published();
    let answered = Command::Answer { id: request(4, 2), bytes: Bytes::new() };
    assert_eq!(commands(&mut gateway), [busy(request(5, 1)), answered], "the broker had it before any other claim");
    assert_eq!(gateway.poll_publication(), None);
}

#[test]
fn a_gateway_that_wakes_late_tells_nobody_stored() {
    for leads_still in [true, false] {
        let mut gateway = serving(1);
        gateway.on_request(request(4, 1), &submission(1, "x"));
        gateway.on_request(request(5, 1), &submission(1, "y"));
        assert!(gateway.poll_publication().is_some());
        // It is paused here; another gateway claims; it wakes up, and its message reaches the broker.
        if !leads_still {
            gateway.on_acting(None);
        }
        gateway.on_claim(fence(2));
        gateway.on_published();
        let mut refused = commands(&mut gateway);
        refused.sort_by_key(|command| format!("{command:?}"));
        assert_eq!(refused, [busy(request(4, 1)), busy(request(5, 1))], "leads still: {leads_still}");
        assert_eq!((gateway.poll_publication(), gateway.counters().stored, gateway.counters().too_late), (None, 0, 1));
        gateway.on_acting(Some(term(3)));
        assert_eq!(gateway.poll_publication(), Some(Publication::Claim(fence(3))));
    }
}

#[test]
fn a_leader_below_the_highest_claim_serves_nobody_and_an_older_claim_is_replaced() {
    let mut gateway = Gateway::new(None);
    gateway.on_connected();
    gateway.on_claim(fence(5));
    gateway.on_acting(Some(term(4)));
    assert_eq!((gateway.state(), gateway.poll_publication()), (GatewayState::Superseded(fence(4)), None));
    gateway.on_acting(Some(term(6)));
    assert_eq!(gateway.poll_publication(), Some(Publication::Claim(fence(6))));
    gateway.on_published();
    gateway.on_claim(fence(4));
    assert_eq!(gateway.poll_publication(), Some(Publication::Claim(fence(6))), "the broker retains the last claim");
    gateway.on_claim(Fence { term: term(9), scope: Some(NodeId(3)) });
    assert_eq!(gateway.state(), GatewayState::Claiming(fence(6)), "a claim of another scope");
}

#[test]
fn what_the_broker_has_not_acknowledged_is_published_again_and_a_full_queue_is_busy() {
    let mut gateway = serving(1);
    for number in 0..=16 {
        gateway.on_request(request(number, 1), &submission(1, "x"));
    }
    assert_eq!(commands(&mut gateway), [busy(request(16, 1))]);
    let first = gateway.poll_publication();
    gateway.on_disconnected();
    assert_eq!(gateway.poll_publication(), None);
    gateway.on_connected();
    assert_eq!(gateway.poll_publication(), Some(Publication::Claim(fence(1))));
    gateway.on_published();
    let (Some(Publication::Message(first)), Some(Publication::Message(again))) = (first, gateway.poll_publication())
    else {
        panic!("two messages")
    };
    assert_eq!((first.id, first.sequence + 1), (again.id, again.sequence));
    assert_eq!(commands(&mut gateway), []);
}

#[test]
fn a_submission_that_is_repeated_is_published_once_and_its_last_request_answered() {
    let mut gateway = serving(1);
    gateway.on_request(request(4, 1), &submission(1, "x"));
    gateway.on_request(request(4, 2), &submission(1, "x"));
    assert!(gateway.poll_publication().is_some());
    gateway.on_published();
    assert_eq!(commands(&mut gateway), [Command::Answer { id: request(4, 2), bytes: Bytes::new() }]);
    assert_eq!(gateway.poll_publication(), None);
    gateway.on_request(request(4, 3), b"short");
    assert_eq!(commands(&mut gateway), [busy(request(4, 3))], "no submission");
}

#[test]
fn a_guard_accepts_each_message_once_and_none_under_an_older_fence() {
    let mut guard = Guard::<2>::new();
    let accepted = Verdict::Accepted { missing: 0 };
    let stale = Verdict::StaleFence { current: term(2) };
    guard.on_claim(fence(1));
    for (upload, verdict) in [
        (upload(1, 1, (4, 1, 1)), accepted),
        (upload(1, 1, (4, 1, 1)), Verdict::Duplicate),
        (upload(1, 2, (4, 1, 1)), Verdict::Duplicate),
        (upload(1, 3, (4, 1, 4)), Verdict::Accepted { missing: 2 }),
        (upload(2, 1, (4, 1, 4)), Verdict::Duplicate),
        (upload(1, 4, (4, 1, 5)), stale),
        (upload(2, 2, (4, 1, 5)), accepted),
        (upload(2, 3, (4, 2, 1)), accepted),
        (upload(2, 4, (4, 1, 6)), Verdict::Duplicate),
        (upload(2, 5, (5, 255, 8)), accepted),
        (upload(2, 6, (5, 0, 1)), accepted),
        (upload(2, 7, (6, 1, 1)), Verdict::NoRoom),
    ] {
        assert_eq!(guard.on_upload(&upload), verdict, "{upload:?}");
    }
    guard.on_claim(fence(3));
    assert_eq!(guard.on_upload(&upload(2, 8, (4, 2, 2))), Verdict::StaleFence { current: term(3) });
}

#[test]
fn super_peers_have_fences_of_their_own() {
    let mut guard = Guard::<4>::new();
    let of = |scope: u32, number| {
        let fence = Fence { term: term(number), scope: Some(NodeId(scope)) };
        Upload { fence, ..upload(number, 1, (scope, 1, 1)) }
    };
    assert_eq!(guard.on_upload(&of(1, 9)), Verdict::Accepted { missing: 0 });
    assert_eq!(guard.on_upload(&of(2, 3)), Verdict::Accepted { missing: 0 });
}

#[test]
fn a_client_keeps_a_message_until_it_is_stored_and_drops_the_oldest_where_there_is_no_room() {
    let (mut client, now) = (Client::new(), Instant::ZERO);
    for number in 1..=8 {
        assert_eq!(client.submit(payload("x")), number);
    }
    let Some(Command::Request { repeatable: true, .. }) = client.poll_command(now) else { panic!("a request") };
    assert_eq!(client.poll_command(now), None, "one at a time");
    client.on_notice(now, &Notice::Requested { id: request(4, 1) });
    client.submit(payload("x"));
    assert_eq!(client.poll_notice(), Some(ClientNotice::Dropped { number: 2 }), "the first is on its way");
    client.on_notice(now, &Notice::Refused { id: request(4, 1), reason: Refusal::Busy { after_ms: 500 } });
    assert_eq!((client.poll_command(now), client.deadline()), (None, Some(now.after(Duration::from_millis(500)))));
    let later = now.after(Duration::from_millis(500));
    assert!(client.poll_command(later).is_some());
    client.on_notice(later, &Notice::Requested { id: request(4, 2) });
    client.on_notice(later, &Notice::Answered { id: request(4, 1), bytes: Bytes::new() });
    assert_eq!(client.poll_notice(), None, "another request's answer");
    client.on_notice(later, &Notice::TimedOut { id: request(4, 2) });
    assert!(client.poll_command(later).is_some());
    client.on_notice(later, &Notice::Requested { id: request(4, 3) });
    client.on_notice(later, &Notice::Answered { id: request(4, 3), bytes: Bytes::new() });
    assert_eq!(client.poll_notice(), Some(ClientNotice::Stored { number: 1 }));
    assert_eq!((client.waiting(), client.dropped()), (7, 1));
}

#[test]
fn a_downlink_comes_with_the_answer_once_even_where_the_answer_is_lost() {
    let (mut gateway, mut client, now) = (serving(1), Client::new(), Instant::ZERO);
    gateway.on_downlink(NodeId(4), b"open");
    gateway.on_downlink(NodeId(5), b"not for 4");
    gateway.on_downlink(NodeId(4), &[0; PAYLOAD_MAX + 1]);
    let mut downlinks = 0;
    for (number, lost) in (1..).zip([true, false, false]) {
        if client.waiting() == 0 {
            client.submit(payload("x"));
        }
        let Some(Command::Request { bytes, .. }) = client.poll_command(now) else { panic!("a request") };
        let id = request(4, number);
        client.on_notice(now, &Notice::Requested { id });
        gateway.on_request(id, &bytes);
        assert!(gateway.poll_publication().is_some());
        gateway.on_published();
        let Some(Command::Answer { bytes, .. }) = gateway.poll_command() else { panic!("an answer") };
        client.on_notice(now, &if lost { Notice::TimedOut { id } } else { Notice::Answered { id, bytes } });
        while let Some(notice) = client.poll_notice() {
            if let ClientNotice::Downlink { payload } = notice {
                assert_eq!(&payload[..], b"open");
                downlinks += 1;
            }
        }
    }
    assert_eq!((downlinks, gateway.counters().downlinks_dropped), (1, 1));
}

/// A broker that takes one thing after the other, and hands out claims before later acknowledgements.
#[derive(Default)]
struct World {
    guard: Guard<8>,
    accepted: BTreeMap<u32, List<u32>>,
    stored: BTreeMap<u32, List<u32>>,
}

/// What a gateway has sent to the broker, and what the broker has sent to it.
#[derive(Default)]
struct Connection {
    up: List<Publication>,
    down: List<Option<Fence>>,
}

/// The ids of the clients.
const NAMES: [u32; 3] = [0, 1, 2];

/// Three gateways under terms that grow, of which some are paused at any moment, and three clients that ask any of them.
fn chaos(seed: u64, steps: u32) -> World {
    let mut rng = Rng::new(seed);
    let mut world = World::default();
    let mut gateways: List<(Gateway, Connection)> =
        (0..3).map(|_| (Gateway::new(None), Connection::default())).collect();
    let mut clients: List<(Client, u16)> = (0..3).map(|_| (Client::new(), 0)).collect();
    let (mut leader, mut top, mut now) = (0, 0, Instant::ZERO);
    for (gateway, _) in &mut gateways {
        gateway.on_connected();
    }
    for _ in 0..steps {
        now = now.after(Duration::from_millis(50));
        let (draw, at) = (rng.next_u32() % 16, (rng.next_u32() % 3) as usize);
        let (gateway, connection) = &mut gateways[at];
        match draw {
            0 if rng.next_u32().is_multiple_of(8) => {
                top += 1; // elected; others learn of it whenever they do
                leader = at;
                gateway.on_acting(Some(term(top)));
            }
            1 if at != leader => gateway.on_acting(None),
            2 if rng.next_u32().is_multiple_of(4) => {
                // What is on its way to the broker is lost, and so are its acknowledgements of the rest.
                gateway.on_disconnected();
                *connection = Connection::default();
                gateway.on_connected();
            }
            3..=6 => {
                let has = gateway.has_publication();
                let publication = gateway.poll_publication();
                assert_eq!(has, publication.is_some());
                connection.up.extend(publication);
            }
            7..=9 if !connection.up.is_empty() => {
                let publication = connection.up.remove(0);
                connection.down.push(None);
                match publication {
                    Publication::Claim(fence) => {
                        world.guard.on_claim(fence);
                        gateways.iter_mut().enumerate().for_each(|(to, (_, connection))| {
                            // To its own publisher the claim comes before the acknowledgement, or after it.
                            let end = connection.down.len() - usize::from(to == at);
                            connection.down.insert(end, Some(fence));
                        });
                    }
                    Publication::Message(upload) => {
                        if let Verdict::Accepted { .. } = world.guard.on_upload(&upload) {
                            world.accepted.entry(upload.id.origin.0).or_default().push(upload.id.number);
                        }
                    }
                }
            }
            10..=12 if !connection.down.is_empty() => match connection.down.remove(0) {
                Some(claim) => gateway.on_claim(claim),
                None => gateway.on_published(),
            },
            _ => {
                let (client, requests) = &mut clients[at];
                if client.waiting() < 3 {
                    client.submit(payload("x"));
                }
                if let Some(Command::Request { bytes, .. }) = client.poll_command(now) {
                    *requests += 1;
                    let (id, to) =
                        (request(NAMES[at], *requests), if rng.next_u32().is_multiple_of(4) { at } else { leader });
                    client.on_notice(now, &Notice::Requested { id });
                    gateways[to].0.on_request(id, &bytes);
                } else if rng.next_u32().is_multiple_of(4) {
                    client.on_notice(now, &Notice::TimedOut { id: request(NAMES[at], *requests) });
                }
            }
        }
        for (gateway, _) in &mut gateways {
            while let Some(command) = gateway.poll_command() {
                let (id, notice) = if let Command::Answer { id, bytes } = command {
                    (id, Notice::Answered { id, bytes })
                } else if let Command::Refuse { id, after_ms } = command {
                    (id, Notice::Refused { id, reason: Refusal::Busy { after_ms } })
                } else {
                    panic!("a gateway commands {command:?}")
                };
                clients[id.origin.0 as usize].0.on_notice(now, &notice);
            }
        }
        for (origin, (client, _)) in (0..).zip(&mut clients) {
            while let Some(ClientNotice::Stored { number }) = client.poll_notice() {
                world.stored.entry(origin).or_default().push(number);
            }
        }
    }
    world
}

#[test]
fn whatever_is_paused_or_lost_what_a_client_was_told_is_stored_is_accepted_once_and_in_order() {
    let mut stored = 0;
    for seed in 0..200 {
        let world = chaos(seed, 3_000);
        for (origin, numbers) in &world.stored {
            let accepted = world.accepted.get(origin).cloned().unwrap_or_default();
            assert!(accepted.is_sorted_by(|a, b| a < b), "seed {seed}: {accepted:?}");
            let lost: List<_> = numbers.iter().filter(|number| !accepted.contains(number)).collect();
            assert_eq!(lost, List::<&u32>::new(), "seed {seed}: told stored, and not accepted");
            stored += numbers.len();
        }
    }
    assert!(stored > 2_000, "{stored} were stored");
}
