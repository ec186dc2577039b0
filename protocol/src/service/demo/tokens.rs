//! A bank of tokens: every node has a balance and transfers tokens to random members. The sum of all balances and
//! transfers in flight never changes.
//!
//! A transfer carries its amount and the total of all transfers between this boot of its sender and this boot of its
//! recipient; the recipient adds what the total has grown by. So a transfer that the link abandoned, because the
//! recipient was suspected, is compensated by the next, even if it was the first: after [`Fact::PeerUp`] the sender
//! repeats the total at once. Until it has, its state cannot be recorded. The balance of a node that crashes is lost;
//! transfers to it from before are not repeated, as both totals begin at zero again ([`Fact::PeerReset`]).

use super::{after_about, random_peer};
use crate::algorithm::{Context, Fact, Input, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::{Duration, Instant};
use crate::service::application::{Application, ChannelMessage, LocalState, Recordable, Terminating, encode};
use crate::wire::{self, Delivery};
use core::convert::Infallible;
use serde::{Deserialize, Serialize};

/// A transfer of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Give {
    /// Amount of this transfer.
    pub amount: u32,
    /// Amount of all transfers from this boot of the sender to this boot of the recipient, this one included.
    pub total: u32,
}

impl wire::Message for Give {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        "give"
    }
}

/// Returns the amount of tokens in a recorded state or message; `None` where the bytes are not of this application.
#[must_use]
pub fn amount(recorded: &[u8]) -> Option<u32> {
    wire::decode(recorded)
}

/// When the next transfer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Next {
    At(Instant),
    /// As soon as the node has tokens, a member is up, and the link has room.
    Due,
}

/// Totals of the transfers to and from one boot of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Account {
    given: u32,
    received: u32,
}

/// The bank at one node, of a group of at most `N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tokens<const N: usize> {
    balance: u32,
    interval: Duration,
    next: Next,
    accounts: [Account; N],
    /// Members to which a transfer may have been lost.
    uncompensated: NodeSet,
}

impl<const N: usize> Tokens<N> {
    /// Creates a bank that starts with `balance` tokens and makes a transfer about every `interval`.
    #[must_use]
    pub fn new(balance: u32, interval: Duration) -> Self {
        let accounts = [Account::default(); N];
        Self { balance, interval, next: Next::At(Instant::ZERO), accounts, uncompensated: NodeSet::EMPTY }
    }

    /// Returns the tokens of this node.
    #[must_use]
    pub const fn balance(&self) -> u32 {
        self.balance
    }

    /// Returns by how much a transfer raises the balance.
    fn credit(&self, slot: Option<usize>, give: Give) -> u32 {
        let account = slot.and_then(|slot| self.accounts.get(slot));
        account.map_or(0, |account| give.total.saturating_sub(account.received))
    }

    fn on_give(&mut self, slot: Option<usize>, give: Give) {
        let credit = self.credit(slot, give);
        if let Some(account) = slot.and_then(|slot| self.accounts.get_mut(slot)) {
            account.received = give.total;
            self.balance = self.balance.saturating_add(credit);
        }
    }
}

impl<const N: usize> Application for Tokens<N> {
    type Message = Give;
    type Command = Infallible;
    type Notice = Infallible;

    fn handle(&mut self, cx: &Context<'_>, input: Input<Give, Infallible>, _: &mut Outbox<Give, Infallible>) {
        match input {
            Input::Message { from, message, .. } => self.on_give(cx.roster.slot_of(from), message),
            Input::Fact(Fact::PeerDown(set)) => self.uncompensated = self.uncompensated.with(set),
            Input::Fact(Fact::PeerReset(set)) => {
                self.uncompensated = self.uncompensated.without(set);
                for slot in set.slots() {
                    if let Some(account) = self.accounts.get_mut(slot) {
                        *account = Account::default();
                    }
                }
            }
            Input::Timeout => {
                if let Next::At(at) = self.next
                    && at <= cx.now
                {
                    self.next = Next::Due;
                }
            }
            // `poll_send` compensates members that are up again; leader and view are irrelevant.
            Input::Fact(Fact::PeerUp(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) => {}
            Input::Command(never) => match never {},
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Give)> {
        if let Some(slot) = self.uncompensated.and(cx.up).slots().next() {
            self.uncompensated = self.uncompensated.without(NodeSet::slot(slot));
            let total = self.accounts.get(slot)?.given;
            return Some((NodeSet::slot(slot), Give { amount: 0, total }));
        }
        if self.next != Next::Due || self.balance == 0 {
            return None;
        }
        let slot = random_peer(cx)?;
        let account = self.accounts.get_mut(slot)?;
        // At most a third: few tokens stay few messages, and many tokens do not all leave at once.
        let most = self.balance.div_ceil(3);
        let amount = (cx.random >> 8).checked_rem(most)?.saturating_add(1);
        account.given = account.given.saturating_add(amount);
        self.balance = self.balance.saturating_sub(amount);
        self.next = Next::At(after_about(self.interval, cx));
        Some((NodeSet::slot(slot), Give { amount, total: account.given }))
    }

    fn deadline(&self) -> Option<Instant> {
        match self.next {
            Next::At(at) => Some(at),
            Next::Due => None,
        }
    }
}

impl<const N: usize> Recordable for Tokens<N> {
    fn local_state(&self, cx: &Context<'_>) -> Option<LocalState> {
        if self.uncompensated.meets(cx.view) { None } else { encode(&self.balance) }
    }

    fn channel_message(&self, cx: &Context<'_>, from: NodeId, message: &Give) -> ChannelMessage {
        encode(&self.credit(cx.roster.slot_of(from), *message)).unwrap_or_default()
    }
}

impl<const N: usize> Terminating for Tokens<N> {
    fn is_busy(&self) -> bool {
        self.balance > 0 // it keeps making transfers
    }
}
