//! What both locks that ask every member for permission have in common, on whole nodes and message by message.

use crate::support::prelude::*;
use protocol::base::config::lease_at_grantor;
use protocol::base::rng::Rng;
use protocol::mutex::{Command, Lamport, Notice, RicartAgrawala};

/// A group of so many.
type Group<M> = fn(usize) -> LockNet<M>;

pub(crate) fn lamports(count: usize) -> LockNet<Lamport> {
    LockNet::new(count, Lamport::KIND, Lamport::default())
}

pub(crate) fn ricart_agrawalas(count: usize) -> LockNet<RicartAgrawala> {
    LockNet::new(count, RicartAgrawala::KIND, RicartAgrawala::default())
}

/// Instantiates cases for both locks: of whole nodes, given a group; message by message, given the name of a reply.
macro_rules! of_both {
    (on nodes: $($on_nodes:ident)+; by message: $($by_message:ident)+;) => {
        mod lamport {
            $(#[test] fn $on_nodes() { super::$on_nodes(super::lamports); })+
            $(#[test] fn $by_message() { super::$by_message::<super::Lamport>("request-ack"); })+
        }
        mod ricart_agrawala {
            $(#[test] fn $on_nodes() { super::$on_nodes(super::ricart_agrawalas); })+
            $(#[test] fn $by_message() { super::$by_message::<super::RicartAgrawala>("reply"); })+
        }
    };
}

of_both! {
    on nodes:
    a_crashed_holder_is_waited_out_by_its_lease_and_the_change_of_the_view
    the_crash_of_a_waiting_node_or_a_bystander_costs_the_change_of_the_view
    a_restarted_holder_lets_the_next_in_at_the_end_of_its_lease
    where_frames_are_lost_every_node_enters_and_fences_grow
    a_minority_cannot_enter_and_a_majority_can_without_it
    a_waiting_node_whose_permissions_expired_asks_all_again_under_the_same_time
    a_cancelled_request_is_passed_over
    whatever_goes_wrong_no_two_hold_it_and_all_enter_afterwards;
    by message:
    a_request_of_another_view_is_not_answered_before_the_views_agree
    the_lease_of_a_member_outside_the_view_is_waited_out_by_members_that_granted_it
    a_member_that_comes_back_with_an_old_request_has_to_make_a_new_one
    a_restarted_member_is_asked_again_and_abstains_until_its_forgotten_permissions_have_expired
    a_granted_lease_stays_recorded_when_its_renewal_is_outdated
    so_many_permissions_are_renewed_before_entry_that_every_majority_has_one
    a_change_of_the_view_voids_permissions_of_before
    a_member_waits_out_its_own_permission_too
    a_holder_that_does_not_renew_makes_room_by_itself
    four_locks_that_end_at_once_are_not_too_much_for_a_step;
}

/// How long it takes at most until a crashed member is out of the view: its heartbeats, which over several hops may take
/// one interval longer, and the leader's next round.
const VIEW_CHANGE: Duration = Duration::from_millis(4_500);

/// A frame there and one back, and the time a message waits for another.
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// The messages of one entry and exit by a node that does not lead.
fn uncontended<M: TestMutex>(mut locks: LockNet<M>) -> usize {
    locks.acquire(1).run_ms(100);
    assert_eq!(locks.holder(), Some(1));
    locks.release(1).run_secs(1);
    locks.messages()
}

/// The messages of an entry and exit by every node, all at once. They enter in the order of their Lamport times.
fn contended<M: TestMutex>(mut locks: LockNet<M>) -> usize {
    let count = locks.net.nodes.len();
    locks.acquire_all(0..count);
    let mut entered = Vec::new();
    while entered.len() < count {
        locks.run_ms(1);
        let Some(holder) = locks.holder() else { continue };
        entered.push((locks.fence().unwrap(), holder));
        locks.run_ms(20).release(holder);
    }
    assert!(entered.is_sorted());
    entered.sort_by_key(|&(_, holder)| holder);
    assert!(entered.iter().map(|&(_, holder)| holder).eq(0..count), "{entered:?}");
    locks.run_secs(1);
    locks.messages()
}

#[test]
fn ml4_mr5_x7_an_entry_and_its_exit_cost_3_or_2_messages_for_each_other_member_contended_or_not() {
    for count in [3, 5, 9] {
        let others = count - 1;
        assert_eq!(uncontended(lamports(count)), 3 * others, "{count} members");
        assert_eq!(contended(lamports(count)), count * 3 * others, "{count} members");
        assert_eq!(uncontended(ricart_agrawalas(count)), 2 * others, "{count} members");
        assert_eq!(contended(ricart_agrawalas(count)), count * 2 * others, "{count} members");
    }
}

/// Just after the grant, or when the lease is almost over.
fn a_crashed_holder_is_waited_out_by_its_lease_and_the_change_of_the_view<M: TestMutex>(group: Group<M>) {
    for count in [3, 5] {
        for held in [Duration::from_millis(10), Duration::from_millis(2_500)] {
            let mut locks = group(count);
            let waited = locks.enter(1).run(held).acquire(0).run(ROUND_TRIP).crash(1).await_holder(0);
            let bound = lease_at_grantor(LEASE).minus(held).max(VIEW_CHANGE).plus(ROUND_TRIP);
            println!("{count} members, holder crashed after {held:?}: {waited:?} of {bound:?}");
            assert!(waited <= bound, "{waited:?} of {bound:?}");
            assert!(waited >= LEASE.minus(held).minus(ROUND_TRIP), "its lease was not over");
        }
    }
}

/// The lock is held by node 0 and wanted by nodes 1 and 2.
fn the_crash_of_a_waiting_node_or_a_bystander_costs_the_change_of_the_view<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    for index in 0..3 {
        locks.acquire(index).run(ROUND_TRIP);
    }
    locks.crash(1); // it waits before node 2
    let waited = locks.run(ROUND_TRIP).release(0).await_holder(2);
    println!("a waiting node crashed: {waited:?}");
    assert!(waited <= lease_at_grantor(LEASE).max(VIEW_CHANGE).plus(ROUND_TRIP), "{waited:?}: it may have been let in");
    locks.release(2).run(ROUND_TRIP).crash(3); // it never asked for anything
    let waited = locks.acquire(0).await_holder(0);
    println!("a bystander crashed: {waited:?}");
    assert!(waited <= VIEW_CHANGE.plus(ROUND_TRIP), "{waited:?}");
    assert!(waited > Duration::from_secs(2), "no node enters on mere suspicion");
}

fn a_restarted_holder_lets_the_next_in_at_the_end_of_its_lease<M: TestMutex>(group: Group<M>) {
    let mut locks = group(3);
    locks.enter(1);
    let before = locks.fence().unwrap();
    locks.acquire(0).run(ROUND_TRIP).boot(1);
    let booted = locks.net.now;
    locks.run_secs(1).acquire(1); // it wants it again
    locks.await_holder(0);
    let waited = locks.net.now.since(booted);
    println!("holder rebooted: {waited:?}");
    assert!(waited >= LEASE.minus(ROUND_TRIP), "{waited:?}");
    assert!(waited <= lease_at_grantor(Timing::RADIO.lock_lease).plus(ROUND_TRIP), "{waited:?}");
    assert!(locks.fence().unwrap() > before);
    locks.release(0).await_holder(1);
}

/// Up to 30 % of all frames are lost, and retransmissions arrive twice; every node enters twice.
fn where_frames_are_lost_every_node_enters_and_fences_grow<M: TestMutex>(group: Group<M>) {
    for (seed, percent) in [(1, 10), (2, 20), (3, 30)] {
        let mut locks = group(5);
        locks.net.set_filter(lossy(percent, seed));
        for _ in 0..2 {
            locks.acquire_all(0..5);
            drain(&mut locks, "door", &[0, 1, 2, 3, 4], &format!("{percent} % lost"));
        }
    }
}

fn a_minority_cannot_enter_and_a_majority_can_without_it<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    locks.enter(3); // in the minority, with the leader
    locks.net.relink(|a, b| (a < 3) == (b < 3));
    let waited = locks.acquire(0).acquire(4).await_holder(0);
    println!("cut off from the holder: {waited:?}");
    assert!(waited >= LEASE.minus(ROUND_TRIP));
    locks.release(0).run_secs(20);
    assert_eq!(locks.holder(), None, "the minority waits");
    locks.enter(1);
    let fence = locks.fence().unwrap();
    locks.net.relink(complete);
    locks.release(1).await_holder(4);
    assert!(locks.fence().unwrap() > fence, "though it asked before");
}

/// Lets every node that waits for a lock enter and leave.
fn drain<M: TestMutex>(locks: &mut LockNet<M>, name: &str, waiting: &[usize], run: &str) {
    let mut waiting = waiting.to_vec();
    let end = locks.net.now.after(Duration::from_secs(120));
    let mut again = locks.net.now.after(Duration::from_secs(1));
    while !waiting.is_empty() {
        if again <= locks.net.now {
            again = locks.net.now.after(Duration::from_secs(1));
            for &index in &waiting {
                locks.acquire_lock(index, name); // where it was refused, for want of room
            }
        }
        assert!(locks.net.now < end, "{run}: {waiting:?} wait for {name} for ever");
        locks.run_ms(1);
        if let Some(holder) = locks.holder_of(name) {
            locks.run_ms(20);
            if locks.holder_of(name) == Some(holder) {
                locks.release_lock(holder, name);
            }
            waiting.retain(|&index| index != holder);
        }
    }
}

/// Half a minute or so in which members crash, restart, are cut off and want locks, while up to 30 % of all frames are
/// lost. Then nothing is, and every node that waits is granted its lock.
fn storm<M: TestMutex>(seed: u64, group: Group<M>) {
    let mut rng = Rng::new(seed);
    let mut draw = move |sides: u32| (rng.next_u32() % sides) as usize;
    let count = 3 + draw(3);
    let names = &["door", "gate", "hatch", "window"][..=draw(4)];
    let percent = draw(31) as u64;
    let mut locks = group(count);
    locks.net.set_filter(lossy(percent, seed));
    let mut faults = Vec::new();
    for _ in 0..30 {
        locks.run(Duration::from_millis(u32::try_from(draw(50) * draw(50)).unwrap()));
        let (index, fault) = (draw(u32::try_from(count).unwrap()), draw(16));
        faults.push((locks.net.now.as_micros() / 1_000, fault, index));
        let up = locks.net.is_up(index);
        let first = draw(4);
        for name in &names[first.min(names.len() - 1)..] {
            match fault {
                6 if up => locks.cancel_lock(index, name),
                7 if up => locks.try_lock(index, name),
                8 if up => locks.renew_lock(index, name),
                9 | 10 if up => locks.release_lock(index, name),
                11.. if up => locks.acquire_lock(index, name),
                _ => &mut locks,
            };
        }
        match fault {
            0 => _ = locks.crash(index),
            2 => _ = locks.net.relink(move |a, b| (a < index) == (b < index)),
            3 => _ = locks.net.relink(|a, b| (a != 0) == (b != 0)),
            4 | 5 => _ = locks.net.relink(complete),
            1 => _ = locks.boot(index),
            _ if !up => _ = locks.boot(index),
            _ => {}
        }
    }
    locks.net.relink(complete);
    for index in 0..count {
        if !locks.net.is_up(index) {
            locks.boot(index);
        }
    }
    locks.net.set_filter(|_, _| true);
    locks.run_secs(10);
    let run = format!("seed {seed}: {count} members, {percent} % lost, {names:?}, {faults:?}");
    let all: Vec<usize> = (0..count).collect();
    for name in names {
        for &index in &all {
            locks.acquire_lock(index, name); // refused, where it waits already
        }
        drain(&mut locks, name, &all, &run);
    }
}

fn a_waiting_node_whose_permissions_expired_asks_all_again_under_the_same_time<M: TestMutex>(group: Group<M>) {
    let mut locks = group(3);
    locks.enter(0).acquire(1).run_ms(2_700).acquire(2).renew(0).run_secs(1);
    assert_eq!(locks.holder(), Some(0), "a renewal comes before waiting nodes");
    locks.release(0).run_ms(100);
    assert_eq!(locks.holder(), Some(1), "it has kept its rank");
    let Some(Notice::Acquired { until, .. }) = locks.notices(1).pop() else { panic!("{:?}", locks.notices(1)) };
    assert!(until.since(locks.net.now) > LEASE.mul_ratio(3, 4), "and holds it for a whole lease");
    locks.release(1).run_ms(100);
    assert_eq!(locks.holder(), Some(2));
}

fn a_cancelled_request_is_passed_over<M: TestMutex>(group: Group<M>) {
    let mut locks = group(3);
    locks.enter(0).acquire(1).acquire(2).run_ms(100).cancel(1).run_ms(100).release(0).run_ms(100);
    assert_eq!(locks.holder(), Some(2));
}

fn whatever_goes_wrong_no_two_hold_it_and_all_enter_afterwards<M: TestMutex>(group: Group<M>) {
    (0..40).for_each(|seed| storm(seed, group));
}

fn a_request_of_another_view_is_not_answered_before_the_views_agree<M: Mutex + Default>(reply: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    lab.set_view(1, &[1, 2]).acquire(1).deliver_all();
    assert_eq!((lab.sent_named("request"), lab.sent_named(reply)), (1, 0));
    lab.set_view(2, &[1, 2]).deliver_all();
    assert_eq!(lab.holders(), [1]);
}

fn the_lease_of_a_member_outside_the_view_is_waited_out_by_members_that_granted_it<M: Mutex + Default>(_: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    lab.acquire(3).deliver_all();
    for name in [1, 2] {
        lab.set_view(name, &[1, 2]);
    }
    lab.acquire(1).deliver_all();
    assert_eq!(lab.holders(), [3]);
    lab.pass(lease_at_grantor(LEASE).minus(Duration::from_millis(60))).deliver_all();
    assert_eq!(lab.holders(), []);
    lab.pass(Duration::from_millis(60)).deliver_all();
    assert_eq!(lab.holders(), [1]);
}

fn a_member_that_comes_back_with_an_old_request_has_to_make_a_new_one<M: Mutex + Default>(_: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    lab.acquire(3).lose_all(); // no other knows of it
    for name in [1, 2] {
        lab.set_view(name, &[1, 2]);
    }
    lab.acquire(1).deliver_all();
    let first = lab.fence(1);
    lab.release(1);
    for name in [1, 2] {
        lab.set_view(name, &[1, 2, 3]);
    }
    lab.fact(3, Fact::PeerUp, &[1, 2]).deliver_all();
    assert_eq!(lab.holders(), [3]);
    assert!(lab.fence(3) > first);
    assert!(lab.sent_named("outdated") > 0);
}

fn a_restarted_member_is_asked_again_and_abstains_until_its_forgotten_permissions_have_expired<M: Mutex + Default>(
    _: &str,
) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    lab.acquire(1).deliver_all().acquire(2).deliver_all(); // 3 has permitted
    lab.reboot(3);
    lab.release(1).deliver_all();
    assert_eq!(lab.holders(), [], "its permission is forgotten, and so void");
    lab.pass(lease_at_grantor(Timing::RADIO.lock_lease)).deliver_all();
    assert_eq!(lab.holders(), [2]);
}

fn a_granted_lease_stays_recorded_when_its_renewal_is_outdated<M: Mutex + Default>(_: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    lab.acquire(3).deliver_all().acquire(1).deliver_all().set_view(1, &[1, 2]).set_view(1, &[1, 2, 3]).deliver_all();
    lab.command(3, Command::Renew { lock: DOOR, lease: LEASE }).deliver_all();
    assert_eq!((lab.sent_named("outdated"), lab.holders()), (1, vec![3]));
}

fn so_many_permissions_are_renewed_before_entry_that_every_majority_has_one<M: Mutex + Default>(reply: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3, 4, 5, 6, 7]);
    lab.acquire(1).deliver_all().acquire(2).deliver_all().pass(LEASE.mul_ratio(9, 10)).deliver_all();
    lab.pass(Duration::from_millis(100)).deliver_all(); // nothing keeps a message back any more
    let requests = lab.sent_named("request");
    lab.release(1);
    let renewed = [3, 4, 5, 6, 7].map(|from| (from, lab.take(reply, from, 2)));
    assert_eq!(lab.sent_named("request") - requests, 5, "two more than are needed");
    let mut holders = Vec::new();
    for (from, message) in renewed.into_iter().take(3) {
        lab.hand(from, 2, message);
        holders.push(lab.holders());
    }
    assert_eq!(holders, [vec![], vec![], vec![2]]);
    for name in [1, 3, 6, 7] {
        lab.set_view(name, &[1, 3, 6, 7]);
    }
    lab.acquire(1).deliver_all();
    assert_eq!(lab.holders(), [2], "3 knows of its hold, and any majority has 3, 4 or 5");
}

fn a_change_of_the_view_voids_permissions_of_before<M: Mutex + Default>(reply: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    lab.acquire(1);
    lab.take(reply, 3, 1);
    lab.deliver_all().set_view(1, &[1, 2]).deliver_all();
    assert_eq!(lab.holders(), [], "2 permitted in a view in which 3 may have entered too");
    lab.set_view(2, &[1, 2]).deliver_all();
    assert_eq!(lab.holders(), [1]);
}

fn a_member_waits_out_its_own_permission_too<M: Mutex + Default>(_: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    for name in [1, 3] {
        lab.set_view(name, &[1, 3]);
    }
    lab.acquire(3).deliver_all(); // 2 knows nothing of it
    for name in [1, 2] {
        lab.set_view(name, &[1, 2]);
    }
    lab.acquire(1).deliver_all();
    assert_eq!(lab.holders(), [3]);
    lab.pass(lease_at_grantor(LEASE)).deliver_all();
    assert_eq!(lab.holders(), [1]);
}

fn a_holder_that_does_not_renew_makes_room_by_itself<M: Mutex + Default>(_: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    lab.acquire(1).deliver_all().acquire(2).deliver_all().pass(LEASE).deliver_all();
    assert_eq!(lab.notices_of(1).last(), Some(&Notice::Lost { lock: DOOR }));
    assert_eq!(lab.holders(), [2]);
}

fn four_locks_that_end_at_once_are_not_too_much_for_a_step<M: Mutex + Default>(_: &str) {
    let mut lab = Lab::<M>::by_hand(&[1, 2, 3]);
    let names = ["a", "b", "c", "d"].map(LockId::from_name);
    for name in [1, 2, 3] {
        for lock in names {
            lab.command(name, Command::Acquire { lock, lease: LEASE });
        }
        lab.deliver_all();
    }
    let mut held = Vec::new();
    while held.len() < 12 {
        for name in [1, 2, 3] {
            held.extend(names.iter().filter(|&&lock| lab.holds(name, lock)).map(|_| name));
        }
        lab.set_view(2, &[1, 2]).set_view(2, &[1, 2, 3]).pass(LEASE).deliver_all();
        assert!(held.len() <= 12 && lab.elapsed() < Duration::from_secs(60), "{held:?}");
    }
    held.sort_unstable();
    assert_eq!(held, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
}
