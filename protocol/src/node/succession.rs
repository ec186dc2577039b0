//! A node that goes on with another list of members: a boot that forgets less than a reboot.
//!
//! Stages, sessions and the peer table belong to one list and end with it, as at a reboot. The promise of a leader's lease is
//! kept: without it the members would grant nobody a lease for as long as after a reboot, six seconds, and with it no majority
//! of the next list grants one while the leader of this one may act.

use super::Node;
use crate::base::cipher::Cipher;
use crate::base::membership::Membership;
use crate::base::records::Records;
use crate::base::stability::Stability;
use crate::base::time::Instant;
use crate::election::Election;
use crate::lease::Promised;
use crate::mutex::Mutex;
use crate::service::Service;

/// What a node hands on to the one that follows it with another list of members.
#[derive(Clone, Copy, Debug)]
pub struct Succession {
    records: Records,
    stability: Stability,
    promised: Option<Promised>,
}

impl Succession {
    /// Returns the records to boot with.
    #[must_use]
    pub const fn records(&self) -> Records {
        self.records
    }
}

impl<E: Election, M: Mutex, const N: usize, S: Service, G: Membership, K: Cipher> Node<E, M, N, S, G, K> {
    /// Returns what this node hands on to the one that follows it with another list of members. It must take no step after
    /// that: it may act no more. `None` where it waits for its quarantine to end: then a reboot without records follows.
    #[must_use]
    pub fn succession(&self, now: Instant) -> Option<Succession> {
        let shared = &self.shared;
        if shared.quarantined {
            return None;
        }
        let uptime = now.since(shared.booted_at);
        Some(Succession {
            records: shared.records,
            stability: shared.stability,
            promised: self.lease.promised(shared.config.me, uptime, &shared.config.timing),
        })
    }

    /// Stands by what the node before this one has promised, in the list before; it was booted with the records of the same
    /// [`Succession`], just now.
    pub fn succeed(&mut self, succession: Succession) {
        self.shared.stability = succession.stability; // this was no flap
        self.shared.store_flaps();
        if let Some(promised) = succession.promised {
            self.lease.stand_by(promised);
        }
    }
}
