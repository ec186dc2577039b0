//! What an image is built with.

use super::Board;
use crate::peer;
use protocol::wire::Kind;

/// The election, the lock and the application of an image: it links them and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The word for the election.
    pub election: String,
    /// The word for the lock; [`Parts::NO_MUTEX`] where it has none.
    pub mutex: String,
    /// The word for what stands on top; [`Parts::NO_APP`] where nothing does.
    pub app: &'static str,
}

impl Parts {
    /// The word for no lock.
    pub const NO_MUTEX: &'static str = "none";

    /// The word for nothing on top.
    pub const NO_APP: &'static str = "none";
    /// The word for the counter that boards contend for.
    pub const COUNTER: &'static str = "counter";

    /// What was chosen; what was not, is as usual.
    ///
    /// # Errors
    /// A sentence with the names there are, where one is none of them.
    pub fn choose(election: Option<&str>, mutex: Option<&str>) -> Result<Self, String> {
        let usual = Self::default();
        let one_of = |what, name: &str, known: &[&str]| {
            if known.contains(&name) { Ok(name.to_owned()) } else { Err(unknown(what, name, known)) }
        };
        Ok(Self {
            election: election.map_or(Ok(usual.election.clone()), |name| one_of("election", name, peer::ELECTIONS))?,
            mutex: mutex.map_or(Ok(usual.mutex.clone()), |name| one_of("mutex", name, peer::MUTEXES))?,
            ..usual
        })
    }

    /// Whether it is what boards run unless something else is asked for: they elect, and that is all. The limits of a board
    /// are for this; anything else has the whole chip.
    #[must_use]
    pub fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// What the build scripts of the boards look at.
    pub(super) fn environment(&self) -> [(&'static str, &str); 3] {
        [("CONCLAVE_ELECTION", &self.election), ("CONCLAVE_MUTEX", &self.mutex), ("CONCLAVE_APP", self.app)]
    }

    /// What the image of `board` is called that has them.
    pub(super) fn file_name(&self, board: &Board) -> String {
        let chosen = [self.election.as_str(), &self.mutex, self.app];
        chosen.into_iter().filter(|&part| part != "none").fold(board.name.to_owned(), |name, part| name + "-" + part)
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self { election: Kind::Wireless.name().to_owned(), mutex: Self::NO_MUTEX.to_owned(), app: Self::NO_APP }
    }
}

/// The sentence about a name that nothing has; the nearest come first.
pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let mut names = known.to_vec();
    names.sort_by_key(|known| strsim::damerau_levenshtein(name, known));
    format!("there is no {what} \"{name}\"; there are {}.", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::Parts;
    use crate::boards::EMULATED;

    #[test]
    fn every_choice_has_an_image_of_its_own() {
        let names = [(None, None), (Some("bully"), None), (Some("bully"), Some("central")), (None, Some("central"))]
            .map(|(election, mutex)| Parts::choose(election, mutex).unwrap().file_name(&EMULATED));
        assert_eq!(
            names,
            ["mps2-an385-wireless", "mps2-an385-bully", "mps2-an385-bully-central", "mps2-an385-wireless-central"]
        );
    }

    #[test]
    fn a_name_that_nothing_has_is_answered_with_the_nearest() {
        let text = Parts::choose(Some("buly"), None).unwrap_err();
        assert!(text.starts_with("there is no election \"buly\"; there are bully, "), "{text}");
        assert!(
            Parts::choose(None, Some("centre"))
                .unwrap_err()
                .starts_with("there is no mutex \"centre\"; there are central")
        );
    }
}
