//! A leader appointed by hand, in any election and any mode.
//!
//! Elections lead the best candidate, so an appointment is a capacity: [`Capacity::APPOINTED`] is above every measured
//! one, an incumbent's too. A host that is told to appoint its node measures that from then on and calls an election
//! ([`Command::Call`](super::Command::Call)); the node wins it under a new term, which fences whoever led before, and in mode
//! *quorum* it acts when a majority has granted it a lease, as anybody does. Released, it measures its own capacity again,
//! and the usual rules decide. A reboot releases it, and so does a measurement that makes it unfit.
//!
//! Of two appointed nodes the one with the higher id leads. An election that lets the lowest win
//! ([`Winner::Lowest`](super::Winner::Lowest)) has no appointments: there an appointed node leads last of all.

use crate::base::capacity::Capacity;

/// Whether a host's node is appointed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appointment {
    appointed: bool,
}

impl Appointment {
    /// Appoints the node, or releases it.
    pub const fn set(&mut self, appointed: bool) {
        self.appointed = appointed;
    }

    /// Returns the capacity to hand to the node that measured this one; `None` stays unfit.
    #[must_use]
    pub fn capacity(self, measured: Option<Capacity>) -> Option<Capacity> {
        measured.map(|measured| if self.appointed { Capacity::APPOINTED } else { measured })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e11_an_appointed_node_outranks_every_incumbent_and_an_unfit_one_is_none() {
        let mut appointment = Appointment::default();
        let measured = Some(Capacity::new(7));
        assert_eq!(appointment.capacity(measured), measured);
        appointment.set(true);
        assert!(appointment.capacity(measured) > Some(Capacity::MAX.as_incumbent()));
        assert_eq!(appointment.capacity(None), None);
        assert_eq!(
            Capacity::try_from(Capacity::APPOINTED.as_incumbent().get()),
            Ok(Capacity::APPOINTED.as_incumbent())
        );
    }
}
