//! A message of one of the later stages, on its way to or from the link.

use crate::lease;
use crate::wire::{Payload, one_of_payloads};

/// A message of the election, the lease, the lock or the service.
#[derive(Clone, Copy, Debug)]
pub(super) enum StageMessage<E, M, S> {
    Election(E),
    Lease(lease::Message),
    Mutex(M),
    Service(S),
}

one_of_payloads!(
    [E: Payload, M: Payload, S: Payload] StageMessage<E, M, S>,
    Election(E),
    Lease(lease::Message),
    Mutex(M),
    Service(S),
);
