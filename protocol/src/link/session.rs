//! Sessions: a reliable message passes from one boot of its origin to one boot of its reader.
//!
//! A message that a reader took in, and whose acknowledgement was lost, is sent again. If the reader has rebooted
//! meanwhile, it has forgotten that it took the message in, and a second delivery would hand it a second token. So a
//! message is for one boot of its reader. The first message to a reader names that boot: it opens the session. Later ones
//! need not, as sequence numbers grow and a session takes nothing from before the message that opened it. A reader
//! without a session refuses a message that does not name its present boot, and its refusal names that boot.
//!
//! Whoever learns of another boot abandons what it had for the earlier one, and its stages decide what to send again.
//! So exactly once means: once per pair of boots, and never to another pair.
//!
//! # Paper
//! D. Belsnes: Single-Message Communication, IEEE Transactions on Communications 24(2), 1976, shows that names for both
//! ends' boots are needed once ends forget.

use super::Precedence;
use crate::base::ids::NodeSet;
use crate::base::membership::Membership;
use crate::wire::Kind;

/// A message waits for those before it of its own stream only: an election must not wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Elections and leases.
    Leadership,
    /// Locks and applications.
    Others,
}

impl Stream {
    /// The streams of a node: without a group it has neither locks nor applications.
    pub(super) const fn all<G: Membership>() -> &'static [Self] {
        if G::GROUPED { &[Self::Leadership, Self::Others] } else { &[Self::Leadership] }
    }

    /// The stream of messages of a kind.
    pub(crate) fn of<G: Membership>(kind: Kind) -> Self {
        match Precedence::of::<G>(kind) {
            Precedence::Leadership => Self::Leadership,
            Precedence::Locks | Precedence::Applications => Self::Others,
        }
    }
}

/// The sessions of both streams.
#[derive(Clone, Debug)]
pub(super) struct Streams<const N: usize> {
    leadership: Sessions<N>,
    others: Sessions<N>,
}

impl<const N: usize> Streams<N> {
    pub(super) const fn new() -> Self {
        Self { leadership: Sessions::new(), others: Sessions::new() }
    }

    /// The sessions of a stream.
    pub(super) const fn of(&mut self, stream: Stream) -> &mut Sessions<N> {
        match stream {
            Stream::Leadership => &mut self.leadership,
            Stream::Others => &mut self.others,
        }
    }

    /// Ends the sessions with these peers: they are in another boot now.
    pub(super) fn end(&mut self, set: NodeSet) {
        self.leadership.end(set);
        self.others.end(set);
    }
}

/// The sessions between this boot and the present boots of `N` peers.
#[derive(Clone, Debug)]
pub(super) struct Sessions<const N: usize> {
    /// The highest sequence number delivered from each peer.
    delivered: [u32; N],
    /// The peers with an open session to this node.
    incoming: NodeSet,
    /// The peers to which this node has an open session.
    outgoing: NodeSet,
    /// The peers whose last message is to be acknowledged.
    owed: NodeSet,
    /// The peers whose last message was acknowledged a short while ago, in a frame that may be lost.
    paid: NodeSet,
}

impl<const N: usize> Sessions<N> {
    pub(super) const fn new() -> Self {
        let none = NodeSet::EMPTY;
        Self { delivered: [0; N], incoming: none, outgoing: none, owed: none, paid: none }
    }

    /// Ends the sessions with these peers: they are in another boot now.
    pub(super) fn end(&mut self, set: NodeSet) {
        self.incoming = self.incoming.without(set);
        self.outgoing = self.outgoing.without(set);
        self.owed = self.owed.without(set);
        self.paid = self.paid.without(set);
    }

    /// Returns whether message `seq` of a peer is new, or `None` where it is for no session; `names_me`: whether it names
    /// the present boot of this node.
    pub(super) fn is_new(&self, slot: usize, seq: u32, names_me: bool) -> Option<bool> {
        if self.incoming.meets(NodeSet::slot(slot)) {
            return Some(self.delivered.get(slot).is_some_and(|&delivered| seq > delivered));
        }
        names_me.then_some(true)
    }

    /// Records the delivery of message `seq`, which opens the session where it is the first.
    pub(super) fn deliver(&mut self, slot: usize, seq: u32) {
        self.incoming = self.incoming.with(NodeSet::slot(slot));
        if let Some(delivered) = self.delivered.get_mut(slot) {
            *delivered = seq;
        }
    }

    /// The last message of a peer is to be acknowledged, now or again.
    pub(super) fn owe(&mut self, slot: usize) {
        self.owed = self.owed.with(NodeSet::slot(slot).and(self.incoming));
    }

    /// The peers whose last message is to be acknowledged.
    pub(super) const fn owed(&self) -> NodeSet {
        self.owed
    }

    /// The message to acknowledge to a peer; it is no longer owed.
    pub(super) fn pay(&mut self, slot: usize) -> u32 {
        self.owed = self.owed.without(NodeSet::slot(slot));
        self.paid = self.paid.with(NodeSet::slot(slot));
        self.delivered.get(slot).copied().unwrap_or(0)
    }

    /// The peers whose last message is to be acknowledged once more, should there be a frame for it.
    pub(super) const fn paid_once(&self) -> NodeSet {
        self.paid.without(self.owed)
    }

    /// The message to acknowledge to a peer once more.
    pub(super) fn pay_again(&mut self, slot: usize) -> u32 {
        self.paid = self.paid.without(NodeSet::slot(slot));
        self.delivered.get(slot).copied().unwrap_or(0)
    }

    /// The peers to which this node has an open session.
    pub(super) const fn outgoing(&self) -> NodeSet {
        self.outgoing
    }

    /// These peers have accepted a message of this boot in their present one, or refused one.
    pub(super) const fn set_outgoing(&mut self, set: NodeSet, open: bool) {
        self.outgoing = if open { self.outgoing.with(set) } else { self.outgoing.without(set) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_opened_by_a_message_that_names_the_boot_and_takes_nothing_from_before_it() {
        let mut sessions = Sessions::<2>::new();
        assert_eq!(sessions.is_new(1, 5, false), None);
        assert_eq!(sessions.is_new(1, 5, true), Some(true));
        sessions.deliver(1, 5);
        assert_eq!([4, 5, 6].map(|seq| sessions.is_new(1, seq, false)), [Some(false), Some(false), Some(true)]);
        assert_eq!(sessions.is_new(1, 4, true), Some(false));
        assert_eq!(sessions.is_new(0, 6, false), None);
        sessions.end(NodeSet::slot(1));
        assert_eq!(sessions.is_new(1, 9, false), None);
    }
}
