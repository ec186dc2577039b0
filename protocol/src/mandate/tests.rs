//! The mandate of one member, step by step.

use super::*;
use crate::clock::Stamp;
use crate::config::Timing;
use crate::group::Roster;
use crate::time::Span;

/// What member 1 of three is told by `input`.
fn told(mandate: &mut Mandate, input: Input<Message, Infallible>) -> Option<Notice> {
    let mut roster = Roster::<3>::new();
    let [_, one, two] = [0, 1, 2].map(|id| roster.insert(NodeId(id)).unwrap());
    let others = NodeSet::first(3).without(NodeSet::slot(one));
    assert_eq!(two, 2);
    let cx = Context {
        now: Instant::ZERO.after(Span::from_secs(60)),
        uptime: Span::from_secs(60),
        me: NodeId(1),
        standing: None,
        roster: roster.view(),
        peers: others,
        up: others,
        near: others,
        better: NodeSet::EMPTY,
        rival: None,
        view: NodeSet::first(3),
        stamp: Stamp(1),
        random: 0,
        timing: &Timing::RADIO,
    };
    let mut out = Outbox::new();
    mandate.handle(&cx, input, &mut out);
    out.into_iter().find_map(|output| match output {
        crate::algorithm::Output::Notify(notice) => Some(notice),
        crate::algorithm::Output::Send { .. } => None,
    })
}

#[test]
fn what_a_leader_asked_under_an_earlier_term_tells_nothing_about_this_one() {
    let [old, new] = [1, 4].map(|number| Term { number, by: NodeId(2) });
    let ask = |term| {
        let message = Message::Ask { term, number: 1, view: NodeSet::first(3), edition: 1 };
        Input::Message { from: NodeId(2), stamp: Stamp(1), message }
    };
    let mut mandate = Mandate::in_group(Mode::Quorum, NodeSet::first(3));
    told(&mut mandate, Input::Fact(Fact::Leader { leader: NodeId(2), term: new }));
    assert_eq!(told(&mut mandate, ask(old)), None);
    assert_eq!(told(&mut mandate, ask(new)), Some(Notice::LeaderChanged { leader: NodeId(2), term: new }));
}
