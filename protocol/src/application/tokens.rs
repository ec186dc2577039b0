//! A bank of tokens: every node has some, and gives some away to others now and then. Their sum never changes.
//!
//! A message names how many tokens it brings and how many its sender has given to this receiver in all, so that tokens
//! whose message was given up, because a member seemed to be down, are made good by the next: after [`Fact::PeerUp`] the
//! sender says so at once. Until it has, its state cannot be recorded. What a node had when it crashed is lost with it; what
//! others gave it before is not given again.

use super::{Application, Item, Record};
use crate::algorithm::{Context, Fact, Input};
use crate::dice::within;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span};
use crate::wire::{self, Delivery, Kind};
use core::convert::Infallible;
use serde::{Deserialize, Serialize};

/// Tokens on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Give {
    /// How many.
    pub amount: u32,
    /// How many the sender has given to the receiver so far, these included.
    pub total: u32,
}

impl wire::Message for Give {
    fn kind(&self) -> Kind {
        Kind::Tokens
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        "give"
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Tokens { wire::decode(body) } else { None }
    }
}

/// How many tokens there are in a state or a message as a snapshot has recorded it; `None` where it is of something else.
#[must_use]
pub fn amount(recorded: &[u8]) -> Option<u32> {
    wire::decode(recorded)
}

/// When the next gift is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Next {
    At(Instant),
    /// As soon as there are tokens, a member to give them to, and room.
    Due,
}

/// How it stands with one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Account {
    /// Given to it, ever.
    given: u32,
    /// Got from it, ever; `None` before its first message.
    got: Option<u32>,
}

/// The tokens of one node, of a group of at most `N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tokens<const N: usize> {
    balance: u32,
    pause: Span,
    next: Next,
    accounts: [Account; N],
    /// Members that must be told again what they were given.
    unsure: NodeSet,
}

impl<const N: usize> Tokens<N> {
    /// A node that starts with `balance` tokens and gives some away about every `pause`.
    #[must_use]
    pub fn new(balance: u32, pause: Span) -> Self {
        let accounts = [Account::default(); N];
        Self { balance, pause, next: Next::At(Instant::ZERO), accounts, unsure: NodeSet::EMPTY }
    }

    /// How many tokens this node has.
    #[must_use]
    pub const fn balance(&self) -> u32 {
        self.balance
    }

    /// What a message is worth to this node.
    fn worth(&self, slot: Option<usize>, give: Give) -> u32 {
        let got = slot.and_then(|slot| self.accounts.get(slot)?.got);
        // From a member not heard before, in this boot or its: what it gave before is lost.
        got.map_or(give.amount, |got| give.total.saturating_sub(got))
    }

    fn hear(&mut self, slot: Option<usize>, give: Give) {
        let worth = self.worth(slot, give);
        if let Some(account) = slot.and_then(|slot| self.accounts.get_mut(slot)) {
            account.got = Some(give.total);
            self.balance = self.balance.saturating_add(worth);
        }
    }
}

impl<const N: usize> Application for Tokens<N> {
    type Message = Give;
    type Command = Infallible;

    fn handle(&mut self, cx: &Context<'_>, input: Input<Give, Infallible>) {
        match input {
            Input::Message { from, message, .. } => self.hear(cx.roster.slot_of(from), message),
            Input::Fact(Fact::PeerDown(set)) => self.unsure = self.unsure.with(set),
            Input::Fact(Fact::PeerReset(set)) => {
                for slot in set.slots() {
                    if let Some(account) = self.accounts.get_mut(slot) {
                        account.got = None;
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
            // Whoever is up again is told when there is room; who leads and who counts is all the same to a bank.
            Input::Fact(Fact::PeerUp(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) => {}
            Input::Command(never) => match never {},
        }
    }

    fn speak(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Give)> {
        if let Some(slot) = self.unsure.and(cx.up).slots().next() {
            self.unsure = self.unsure.without(NodeSet::slot(slot));
            let total = self.accounts.get(slot)?.given;
            return Some((NodeSet::slot(slot), Give { amount: 0, total }));
        }
        if self.next != Next::Due || self.balance == 0 {
            return None;
        }
        let choice = usize::try_from(cx.random.checked_rem(cx.up.len())?).ok()?;
        let slot = cx.up.slots().nth(choice)?;
        let account = self.accounts.get_mut(slot)?;
        // A third at most: few tokens stay few messages, many do not all leave at once.
        let most = self.balance.div_ceil(3);
        let amount = (cx.random >> 8).checked_rem(most)?.saturating_add(1);
        account.given = account.given.saturating_add(amount);
        self.balance = self.balance.saturating_sub(amount);
        self.next = Next::At(cx.now.after(self.pause.share(1, 2)).after(within(self.pause, cx.random)));
        Some((NodeSet::slot(slot), Give { amount, total: account.given }))
    }

    fn is_busy(&self) -> bool {
        self.balance > 0 // a bank with tokens never closes
    }

    fn record(&self, cx: &Context<'_>) -> Option<Record> {
        let mut bytes = [0; 8];
        let len = wire::encode(&self.balance, &mut bytes)?;
        (!self.unsure.meets(cx.view)).then(|| Record::from_slice(bytes.get(..len)?).ok())?
    }

    fn item(&self, cx: &Context<'_>, from: NodeId, message: &Give) -> Item {
        let mut bytes = [0; 8];
        let len = wire::encode(&self.worth(cx.roster.slot_of(from), *message), &mut bytes);
        len.and_then(|len| Item::from_slice(bytes.get(..len)?).ok()).unwrap_or_default()
    }

    fn deadline(&self) -> Option<Instant> {
        match self.next {
            Next::At(at) => Some(at),
            Next::Due => None,
        }
    }
}
