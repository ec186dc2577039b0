//! What an image is built with.

use super::Board;
use crate::peer;
use protocol::wire::Kind;

/// What stands on top of a board's node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum App {
    /// Nothing.
    #[default]
    None,
    /// The counter that boards contend for.
    Counter,
    /// A bank of tokens.
    Tokens,
    /// A job that spreads over the boards.
    Diffusing,
    /// The shared clock.
    Clock,
}

impl App {
    /// Those that can be asked for by name. The counter comes with a lock.
    const CHOICE: [Self; 3] = [Self::Tokens, Self::Diffusing, Self::Clock];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Counter => "counter",
            Self::Tokens => "tokens",
            Self::Diffusing => "diffusing",
            Self::Clock => "clock",
        }
    }

    /// The application of this name.
    ///
    /// # Errors
    /// A sentence with the names there are, the nearest first.
    pub fn by_name(name: &str) -> Result<Self, String> {
        let found = Self::CHOICE.into_iter().find(|app| app.name() == name);
        found.ok_or_else(|| unknown("application", name, &Self::CHOICE.map(Self::name)))
    }
}

/// The election, the lock and the application of an image: it links them and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The word for the election.
    pub election: String,
    /// The word for the lock; [`Parts::NO_MUTEX`] where it has none.
    pub mutex: String,
    /// What stands on top.
    pub app: App,
}

impl Parts {
    /// The word for no lock.
    pub const NO_MUTEX: &'static str = "none";

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
        [("CONCLAVE_ELECTION", &self.election), ("CONCLAVE_MUTEX", &self.mutex), ("CONCLAVE_APP", self.app.name())]
    }

    /// What the image of `board` is called that has them.
    pub(super) fn file_name(&self, board: &Board) -> String {
        let chosen = [self.election.as_str(), &self.mutex, self.app.name()];
        chosen.into_iter().filter(|&part| part != "none").fold(board.name.to_owned(), |name, part| name + "-" + part)
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self { election: Kind::Wireless.name().to_owned(), mutex: Self::NO_MUTEX.to_owned(), app: App::None }
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
    use super::{App, Parts};
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
    fn an_application_has_an_image_of_its_own_and_a_name() {
        let parts = Parts { app: App::Tokens, ..Parts::default() };
        assert_eq!(parts.file_name(&EMULATED), "mps2-an385-wireless-tokens");
        assert_eq!(App::by_name("clock"), Ok(App::Clock));
        let text = App::by_name("token").unwrap_err();
        assert_eq!(text, "there is no application \"token\"; there are tokens, clock, diffusing.");
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
