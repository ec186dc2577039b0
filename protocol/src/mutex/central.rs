//! A central lock server: the leader grants the locks of the group, each to one member at a time, in the order in which
//! the requests arrive.
//!
//! A member sends its request to the leader. The leader grants a free lock at once; otherwise it queues the request and
//! says so: silence means failure, never a long queue. When the holder releases the lock, or its lease ends, the next
//! in the queue gets it. A queued request has a ticket. After a failover every member reports its holds to the new leader
//! and requests again, with its tickets: the queue of the new leader has the order of the old one.
//!
//! # Paper
//! None is the origin; every textbook describes it. Leases: C. Gray, D. Cheriton, SOSP 1989. A sequencer with every
//! grant, and a delay after a holder failed: M. Burrows: The Chubby Lock Service, OSDI 2006.
//!
//! # Assumes
//! A leader in [`Mode::Quorum`](crate::base::quorum::Mode::Quorum): no two grant at the same instant. In
//! [`Mode::Available`](crate::base::quorum::Mode::Available) each side of a partition has a server, and both may grant
//! the same lock; only the terms in the fences then order the holders. Clocks that differ in rate by no more than
//! [`lease_at_grantor`](crate::base::config::lease_at_grantor) allows for.
//!
//! # Messages
//! [`Message::Request`], [`Message::Grant`], [`Message::Release`]. [`Message::Waiting`] to a queued member,
//! [`Message::Refused`] to a refused one. [`Message::Cancel`] from a queued member; [`Message::Renew`] and
//! [`Message::Renewed`] for a longer hold. [`Message::Requeue`] for each request that waits, then [`Message::Follows`],
//! from every member to a new leader.
//!
//! # Cost
//! Three messages an entry and exit, four if the lock was taken; none where the leader itself requests. A failover: n-1
//! Follows, and one Request of each waiting member.
//!
//! # Departures
//! - A grant is a lease. The holder counts it short, from before it was granted; the leader counts it long. The margin
//!   between the two, 3 % either way, is all the delay before the next grant: it covers clocks, and fences cover a
//!   holder that slept ([`super::Fence`]: the leader's term, and a count).
//! - The queue is not stored. A new leader grants nothing before the whole group has reported its holds, or the longest
//!   lease has passed; by then the requests that wait were made again, and are queued in the order of their tickets. A
//!   request whose [`Message::Waiting`] was lost has no ticket: it comes after those that have one.
//! - With [`Options::lock_delay`] a lock that was not released stays taken for that much longer than its lease: for
//!   resources that cannot check fences, and holders that sleep or write late. Burrows calls it lock-delay.
//! - The lease of a holder that restarted has to pass; the restarted member queues for the same lock like any other.
//! - The order is that of arrival, not of Lamport time. A member that was suspected to be down gets its position back.
//! - No message is sure to arrive: a waiting member that gets no reply for a while requests again, and keeps its
//!   position. A renewal without a reply is not repeated: the application is warned in time, and may repeat it.

use super::client::{ClientAction, Granted, LockClient, LockRequest, Renewal};
use super::{Command, Fence, LOCKS_MAX, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::NodeId;
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use heapless::Vec;
use server::{Grant, LockServer, QueueStatus, Request, knows_own_holds};

mod message;
mod server;

pub use message::{Message, Ticket};

/// Grants sent in one step; the next step goes on.
const GRANTS_MAX: usize = 3;

/// The role of this member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Role {
    /// No leader is known.
    #[default]
    Leaderless,
    /// Another member is the server.
    Client {
        server: NodeId,
        term: Term,
        /// When to repeat the requests that wait: the server removes those of a member it suspects.
        retry_at: Instant,
    },
    /// This member is the server.
    Server,
}

/// Options of the central lock; the same at all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// How much longer than its lease a lock stays taken that was not released.
    pub lock_delay: Duration,
}

/// The central lock, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Central {
    client: LockClient,
    role: Role,
    /// The grants. A leader that loses its lease and regains it under the same term continues: no other has granted
    /// anything meanwhile.
    server: LockServer,
    /// The tickets of the requests that wait.
    tickets: Vec<(LockId, Ticket), LOCKS_MAX>,
}

type Out = Outbox<Message, Notice>;

impl Central {
    /// Makes a member of a group with these options.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { server: LockServer::new(options.lock_delay), ..Self::default() }
    }

    fn ticket(&self, lock: LockId) -> Option<Ticket> {
        self.tickets.iter().find(|(known, _)| *known == lock).map(|&(_, ticket)| ticket)
    }

    /// Keeps the ticket of an own request, and only those of requests that wait.
    fn keep_ticket(&mut self, lock: LockId, ticket: Ticket) {
        self.tickets.retain(|(known, _)| *known != lock);
        let _ = self.tickets.push((lock, ticket)); // there is room: the tables have one size
        self.drop_tickets();
    }

    fn drop_tickets(&mut self) {
        let Self { client, tickets, .. } = self;
        tickets.retain(|&(lock, _)| client.get(lock).is_some_and(LockRequest::is_waiting));
    }

    fn run(&mut self, cx: &Context<'_>, action: ClientAction, out: &mut Out) {
        match action {
            ClientAction::Acquire(request) => self.request(cx, request, out),
            ClientAction::Renew(request, renewal) => self.renew(cx, request, renewal, out),
            ClientAction::Release(LockRequest { lock, number, .. }) => {
                self.end(cx, Message::Release { lock, request: number }, out);
            }
            ClientAction::Cancel(LockRequest { lock, number, .. }) => {
                self.end(cx, Message::Cancel { lock, request: number }, out);
            }
        }
    }

    /// Sends a request to the server, or serves it here.
    fn request(&mut self, cx: &Context<'_>, request: LockRequest, out: &mut Out) {
        let (LockRequest { lock, number, lease, .. }, trying) = (request, request.is_trying());
        let ticket = self.ticket(lock);
        match &mut self.role {
            Role::Leaderless if trying => self.client.refuse(lock, number, Refusal::Busy, out),
            Role::Leaderless => {} // it goes to the next leader
            Role::Client { server, retry_at, .. } => {
                if !self.client.iter().any(|other| other.lock != lock && other.is_waiting()) {
                    *retry_at = cx.now.after(cx.timing.lease());
                }
                let message = match ticket {
                    Some(ticket) => Message::Requeue { lock, request: number, lease, ticket },
                    None => Message::Request { lock, request: number, lease, trying },
                };
                out.send(cx.roster.set_of(*server), message);
            }
            Role::Server => self.serve(cx, Request { node: cx.me, lock, number, lease }, (trying, ticket), out),
        }
    }

    fn renew(&mut self, cx: &Context<'_>, request: LockRequest, renewal: Renewal, out: &mut Out) {
        let LockRequest { lock, number: request, .. } = request;
        let Renewal { number, lease, .. } = renewal;
        match &mut self.role {
            Role::Leaderless => {} // no server can grant it
            Role::Client { server, .. } => {
                out.send(cx.roster.set_of(*server), Message::Renew { lock, request, number, lease });
            }
            Role::Server => {
                if self.server.renew(cx.now, Request { node: cx.me, lock, number: request, lease }) {
                    self.client.extend(lock, number, renewal.until(), out);
                } else {
                    self.client.lose(lock, out);
                }
            }
        }
    }

    /// Sends the end of a request to the server, or ends it here.
    fn end(&mut self, cx: &Context<'_>, message: Message, out: &mut Out) {
        match self.role {
            Role::Client { server, .. } => out.send(cx.roster.set_of(server), message),
            Role::Leaderless | Role::Server => self.on_message(cx, cx.me, message, out),
        }
    }

    fn on_leader(&mut self, cx: &Context<'_>, leader: NodeId, term: Term, out: &mut Out) {
        if leader != cx.me {
            self.role = Role::Client { server: leader, term, retry_at: cx.now };
            self.report(cx, out);
            return;
        }
        if core::mem::replace(&mut self.role, Role::Server) == Role::Server {
            self.server.set_term(term);
            return;
        }
        if self.server.term() != term {
            self.server.take_over(cx, term, &self.held());
        }
        self.repeat_requests(cx, out);
    }

    /// Requests again, and reports this member's holds to the leader. The leader may grant locks once all have reported:
    /// by then it has their requests.
    fn report(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Role::Client { server, term, .. } = self.role else { return };
        self.repeat_requests(cx, out);
        let (held, complete, since) = (self.held(), knows_own_holds(cx), cx.lamport);
        out.send(cx.roster.set_of(server), Message::Follows { term, held, complete, since });
    }

    /// Restarts all waiting requests: a grant of an earlier one does not count any more. The position in the queue is
    /// kept, and less of the time since the request is lost to the margin between clocks.
    fn repeat_requests(&mut self, cx: &Context<'_>, out: &mut Out) {
        if let Role::Client { retry_at, .. } = &mut self.role {
            *retry_at = cx.now.after(cx.timing.lease());
        }
        for lock in self.locks(LockRequest::is_waiting).into_iter().flatten() {
            if let Some(request) = self.client.restart(cx, lock) {
                self.request(cx, request, out);
            }
        }
    }

    fn held(&self) -> [Option<LockId>; LOCKS_MAX] {
        self.locks(|request| !request.is_waiting())
    }

    fn locks(&self, which: impl Fn(&LockRequest) -> bool) -> [Option<LockId>; LOCKS_MAX] {
        let mut locks = [None; LOCKS_MAX];
        for (lock, request) in locks.iter_mut().zip(self.client.iter().filter(|request| which(request))) {
            *lock = Some(request.lock);
        }
        locks
    }

    /// Takes a request as server: queues or refuses it. A grant follows at the end of this step, or in the next.
    fn serve(&mut self, cx: &Context<'_>, request: Request, (trying, ticket): (bool, Option<Ticket>), out: &mut Out) {
        if self.role != Role::Server {
            return; // the member will request again
        }
        let Request { node, lock, number, .. } = request;
        let status = self.server.request(cx.now, request, ticket);
        let queued = self.server.ticket(node, lock);
        match status {
            QueueStatus::Behind(0) if self.server.is_open() => {}
            QueueStatus::Held | QueueStatus::Stale => {}
            QueueStatus::Full => self.refuse(cx, request, Refusal::Full, out),
            QueueStatus::Behind(_) if trying => {
                self.server.end(node, lock, number);
                self.refuse(cx, request, Refusal::Busy, out);
            }
            QueueStatus::Behind(ahead) => {
                let Some(ticket) = queued else { return };
                if node == cx.me {
                    self.client.notify_waiting(lock, number, ahead, out);
                    self.keep_ticket(lock, ticket);
                } else {
                    out.send(cx.roster.set_of(node), Message::Waiting { lock, request: number, ahead, ticket });
                }
            }
        }
    }

    fn refuse(&mut self, cx: &Context<'_>, request: Request, reason: Refusal, out: &mut Out) {
        let Request { node, lock, number, .. } = request;
        if node == cx.me {
            self.client.refuse(lock, number, reason, out);
        } else {
            out.send(cx.roster.set_of(node), Message::Refused { lock, request: number, reason });
        }
    }

    /// Ends leases that are over, and sends grants of free locks.
    fn send_grants(&mut self, cx: &Context<'_>, out: &mut Out) {
        if self.role != Role::Server {
            return;
        }
        self.server.expire(cx);
        for _ in 0..GRANTS_MAX {
            let Some(Grant { node, lock, number, fence, waited }) = self.server.next_grant(cx.now) else { return };
            if node != cx.me {
                out.send(cx.roster.set_of(node), Message::Grant { lock, request: number, fence, waited });
            } else if let Some(request) = self.client.waiting(lock, number) {
                let until = cx.now.after(request.lease); // this clock counts for the others too
                self.client.grant(cx, Granted { lock, request: number, fence, until }, out);
            }
        }
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Request { lock, request, lease, trying } => {
                self.serve(cx, Request { node: from, lock, number: request, lease }, (trying, None), out);
            }
            Message::Requeue { lock, request, lease, ticket } => {
                self.serve(cx, Request { node: from, lock, number: request, lease }, (false, Some(ticket)), out);
            }
            Message::Release { lock, request } | Message::Cancel { lock, request } => {
                self.server.end(from, lock, request);
            }
            Message::Renew { lock, request, number, lease } => {
                let renewal = Request { node: from, lock, number: request, lease };
                if self.role != Role::Server {
                    return; // it can grant nothing
                }
                if self.server.renew(cx.now, renewal) {
                    out.send(cx.roster.set_of(from), Message::Renewed { lock, number });
                } else {
                    self.refuse(cx, renewal, Refusal::NotHeld, out);
                }
            }
            Message::Follows { term, held, complete, since } => {
                // A member that names another term will learn of the right one.
                if self.role == Role::Server && self.server.term() == term {
                    self.server.on_report(cx, from, &held, (complete, since));
                }
            }
            Message::Grant { lock, request, fence, waited } => {
                self.on_grant(cx, from, Grant { node: cx.me, lock, number: request, fence, waited }, out);
            }
            Message::Waiting { lock, request, ahead, ticket } => {
                if self.client.waiting(lock, request).is_some() {
                    self.client.notify_waiting(lock, request, ahead, out);
                    self.keep_ticket(lock, ticket);
                }
            }
            Message::Renewed { lock, number } => {
                if let Some(renewal) = self.client.get(lock).and_then(LockRequest::renewal) {
                    self.client.extend(lock, number, renewal.until(), out);
                }
            }
            Message::Refused { lock, request, reason } => {
                if reason == Refusal::NotHeld && self.client.get(lock).is_some_and(|own| own.number == request) {
                    self.client.lose(lock, out);
                }
                self.client.refuse(lock, request, reason, out);
            }
        }
    }

    fn on_grant(&mut self, cx: &Context<'_>, from: NodeId, grant: Grant, out: &mut Out) {
        let Grant { lock, number, fence, waited, .. } = grant;
        // Otherwise a duplicate of one that is held, or of one that was given back already.
        let Some(request) = self.client.waiting(lock, number) else { return };
        let until = request.until(waited);
        if self.client.grant(cx, Granted { lock, request: number, fence, until }, out) {
            return;
        }
        if waited > Duration::ZERO {
            // The margin between clocks has used up the lease: a new request for the same lock is granted at once.
            if let Some(request) = self.client.restart(cx, lock) {
                self.request(cx, request, out);
            }
        } else {
            // The grant was too long on its way, and the next may be: others first, until the request is repeated.
            out.send(cx.roster.set_of(from), Message::Release { lock, request: number });
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out) {
        match (fact, self.role) {
            (Fact::Leader { leader, term }, _) => self.on_leader(cx, leader, term, out),
            (Fact::NoLeader, _) => {
                self.role = Role::Leaderless;
                for lock in self.locks(LockRequest::is_trying).into_iter().flatten() {
                    if let Some(&LockRequest { number, .. }) = self.client.get(lock) {
                        self.client.refuse(lock, number, Refusal::Busy, out);
                    }
                }
            }
            (Fact::PeerUp(set), Role::Client { server, .. }) if cx.roster.set_of(server).meets(set) => {
                self.report(cx, out);
            }
            (Fact::PeerUp(set), _) => self.server.notify_again(cx, set),
            (Fact::PeerDown(set), _) => self.server.remove_waiters(cx, set),
            (Fact::PeerReset(set), _) => self.server.on_peer_reset(cx, set),
            (Fact::View | Fact::Parent(_), _) => {} // the server serves the whole group, in or out of the view
        }
    }
}

impl Algorithm for Central {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        while let Some(LockRequest { lock, number, .. }) = self.client.expire(cx.now, out) {
            if !self.server.delays() {
                self.server.end(cx.me, lock, number); // another server counts the lease by itself
            }
        }
        match self.client.input(cx, input) {
            Input::Message { from, message, .. } => {
                // Of several waiting requests the server may have lost another.
                let waiting = self.client.iter().filter(|request| request.is_waiting()).count();
                if let Role::Client { server, retry_at, .. } = &mut self.role
                    && *server == from
                    && waiting <= 1
                {
                    *retry_at = cx.now.after(cx.timing.lease());
                }
                self.on_message(cx, from, message, out);
            }
            Input::Command(command) => {
                if let Some(action) = self.client.command(cx, command, out) {
                    self.run(cx, action, out);
                }
            }
            Input::Fact(fact) => self.on_fact(cx, fact, out),
            Input::Timeout => {} // due work is done after every step
        }
        if matches!(self.role, Role::Client { retry_at, .. } if retry_at <= cx.now) {
            self.repeat_requests(cx, out);
        }
        self.send_grants(cx, out);
        self.drop_tickets();
    }

    fn deadline(&self) -> Option<Instant> {
        let role = match self.role {
            Role::Leaderless => None,
            Role::Client { retry_at, .. } => self.client.iter().any(LockRequest::is_waiting).then_some(retry_at),
            Role::Server => self.server.deadline(),
        };
        earliest(self.client.deadline(), role)
    }
}

impl Mutex for Central {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.client.holds(lock, now)
    }
}

impl Configurable for Central {
    const OPTIONS: OptionKeys = &[("lock-delay", &["0", "..."])];

    fn from_options(words: &str) -> Option<Self> {
        let mut options = Options::default();
        set_all(words, |key, value| {
            let seconds: u8 = value.parse().ok().filter(|_| key == "lock-delay")?;
            options.lock_delay = Duration::from_secs(u32::from(seconds));
            Some(())
        })?;
        Some(Self::new(options))
    }
}

#[cfg(test)]
mod tests;
