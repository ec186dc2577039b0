//! The algorithms and the application of an image.

use super::Board;
use crate::base::algorithm_words::check_words;
use crate::base::nearest::unknown;
use protocol::election::Wireless;
use protocol::registry::{AnyElection, AnyMutex};

/// The application of a board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum App {
    /// Nothing.
    #[default]
    None,
    /// A counter that boards increment under a lock.
    Counter,
    /// A bank of tokens.
    Tokens,
    /// Diffusing jobs.
    Diffusing,
    /// A shared clock.
    Clock,
    /// Readings to an MQTT broker, published by the leader.
    Uplink,
}

impl App {
    /// The applications that can be chosen by name. The counter comes with a lock.
    const CHOICE: [Self; 4] = [Self::Tokens, Self::Diffusing, Self::Clock, Self::Uplink];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Counter => "counter",
            Self::Tokens => "tokens",
            Self::Diffusing => "diffusing",
            Self::Clock => "clock",
            Self::Uplink => "uplink",
        }
    }

    /// Returns the feature of a board's package that this application needs.
    pub(super) const fn feature(self) -> Option<&'static str> {
        match self {
            Self::Uplink => Some("mqtt"),
            Self::None | Self::Counter | Self::Tokens | Self::Diffusing | Self::Clock => None,
        }
    }

    /// Returns the application of this name.
    ///
    /// # Errors
    /// A sentence with the nearest name.
    pub fn by_name(name: &str) -> Result<Self, String> {
        let found = Self::CHOICE.into_iter().find(|app| app.name() == name);
        found.ok_or_else(|| unknown("application", name, Self::CHOICE.map(Self::name).into_iter()))
    }
}

/// The election, the lock and the application of an image, which links no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The election's name.
    pub election: String,
    /// The lock's name; [`Parts::NO_MUTEX`] for none.
    pub mutex: String,
    /// The application.
    pub app: App,
}

impl Parts {
    /// The name for no lock.
    pub const NO_MUTEX: &'static str = "none";

    /// Returns the chosen parts, with the default for a part that is not chosen.
    ///
    /// # Errors
    /// A sentence with the nearest name, if a name is unknown.
    pub fn choose(election: Option<&str>, mutex: Option<&str>) -> Result<Self, String> {
        let mut parts = Self::default();
        if let Some(words) = election {
            check_words("election", words, AnyElection::OPTIONS)?;
            words.clone_into(&mut parts.election);
        }
        if let Some(words) = mutex {
            check_words("mutex", words, AnyMutex::OPTIONS)?;
            words.clone_into(&mut parts.mutex);
        }
        Ok(parts)
    }

    /// Returns whether these are the default parts: an election and nothing else. Only they are held to the limits of a
    /// board.
    #[must_use]
    pub fn are_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the environment variables that the boards' build scripts read.
    pub(super) fn environment(&self) -> [(&'static str, &str); 3] {
        [("CONCLAVE_ELECTION", &self.election), ("CONCLAVE_MUTEX", &self.mutex), ("CONCLAVE_APP", self.app.name())]
    }

    /// Returns the file name of the image of `board` with these parts.
    pub(super) fn file_name(&self, board: &Board) -> String {
        let chosen = [self.election.as_str(), &self.mutex, self.app.name()];
        let name = chosen
            .into_iter()
            .filter(|&part| part != "none")
            .fold(board.name.to_owned(), |name, part| name + "-" + part);
        name.replace([':', '=', ','], "_")
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self { election: Wireless::NAME.to_owned(), mutex: Self::NO_MUTEX.to_owned(), app: App::None }
    }
}

#[cfg(test)]
mod tests {
    use super::{App, Parts};
    use crate::boards::EMULATED;

    #[test]
    fn every_choice_has_its_own_image() {
        let names = [(None, None), (Some("bully"), None), (Some("bully"), Some("central")), (None, Some("central"))]
            .map(|(election, mutex)| Parts::choose(election, mutex).unwrap().file_name(&EMULATED));
        assert_eq!(
            names,
            ["mps2-an385-wireless", "mps2-an385-bully", "mps2-an385-bully-central", "mps2-an385-wireless-central"]
        );
    }

    #[test]
    fn an_application_has_its_own_image_and_a_name() {
        let parts = Parts { app: App::Tokens, ..Parts::default() };
        assert_eq!(parts.file_name(&EMULATED), "mps2-an385-wireless-tokens");
        assert_eq!(App::by_name("clock"), Ok(App::Clock));
        let text = App::by_name("token").unwrap_err();
        assert_eq!(text, "there is no application \"token\" here; the nearest is \"tokens\"");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let text = Parts::choose(Some("buly"), None).unwrap_err();
        assert_eq!(text, "there is no election \"buly\" here; the nearest is \"bully\"");
        let text = Parts::choose(None, Some("centre")).unwrap_err();
        assert_eq!(text, "there is no mutex \"centre\" here; the nearest is \"central\"");
    }
}
