//! The step that all locks with a token share.

use super::super::client::LockRequest;
use super::super::{Command, LockId, Notice, Refusal};
use super::{TokenManager, TokenMessage};
use crate::algorithm::{Context, Fact, Input, Outbox};
use crate::base::ids::NodeId;

/// The part of a lock with a token that is its own.
pub(in super::super) trait TokenLock {
    type Message: From<TokenMessage>;

    fn manager(&mut self) -> &mut TokenManager;

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Self::Message, out: &mut Out<Self>);

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out<Self>);

    /// Makes room for `lock`; returns whether there is.
    fn admit(&mut self, cx: &Context<'_>, lock: LockId) -> bool;

    /// Repeats the request for `lock`, which has waited for long.
    fn repeat_request(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<Self>);

    /// Enters, passes on or requests the token of `lock`.
    fn update(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<Self>);
}

type Out<L> = Outbox<<L as TokenLock>::Message, Notice>;

pub(in super::super) fn step<L: TokenLock>(
    this: &mut L,
    cx: &Context<'_>,
    input: Input<L::Message, Command>,
    out: &mut Out<L>,
) {
    let manager = this.manager();
    // One a step, as its acknowledgement needs room. The next is due at once.
    if let Some(ended) = manager.client.expire(cx.now, out) {
        manager.ack_recall(cx, ended.lock, false, out);
    }
    match manager.client.input(cx, input) {
        Input::Message { from, message, .. } => this.on_message(cx, from, message, out),
        Input::Command(command) => {
            let request = manager.command(cx, command, out);
            if let Some(LockRequest { lock, number, .. }) = request.filter(|request| !this.admit(cx, request.lock)) {
                this.manager().client.refuse(lock, number, Refusal::Full, out);
            }
        }
        Input::Fact(fact) => this.on_fact(cx, fact, out),
        Input::Timeout => {} // due work is done below
    }
    if let Some(lock) = this.manager().run_due(cx, out) {
        this.repeat_request(cx, lock, out);
    }
    for &lock in &this.manager().locks() {
        this.update(cx, lock, out);
        if this.manager().expire_try(cx, lock, out) {
            this.update(cx, lock, out); // it does not want the token any more
        }
    }
}

/// Implements [`Mutex`](crate::mutex::Mutex) for a lock with a token.
macro_rules! impl_mutex {
    ($lock:ident $(, $($more:tt)+)?) => {
        impl $crate::Algorithm for $lock {
            type Message = Message;
            type Command = $crate::mutex::Command;
            type Notice = Notice;

            fn scope(&self) -> $crate::algorithm::Scope {
                $crate::algorithm::Scope::Group
            }

            fn handle(
                &mut self,
                cx: &Context<'_>,
                input: $crate::algorithm::Input<Message, $crate::mutex::Command>,
                out: &mut Out,
            ) {
                $crate::mutex::token::step(self, cx, input, out);
            }

            fn deadline(&self) -> Option<Instant> {
                self.manager.deadline()
            }
        }

        impl $crate::mutex::Mutex for $lock {
            fn holds(&self, lock: LockId, now: Instant) -> Option<$crate::mutex::Fence> {
                self.manager.client.holds(lock, now)
            }

            $($($more)+)?
        }
    };
}

pub(in super::super) use impl_mutex;
