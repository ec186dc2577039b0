//! What stands on top of the nodes.

use super::ScenarioError;
use super::check::{Reader, choose};
use super::raw::RawApp;
use crate::app::ACTORS_MAX;
use crate::machine::Request;
use crate::peer;
use crate::queue::Micros;
use crate::random::Chance;
use protocol::application::AnyApplication;
use std::ops::Range;
use toml::Spanned;

/// The word for the shared clock with no application beside it.
const CLOCK: &str = "clock";
const TOKENS: &str = AnyApplication::<ACTORS_MAX>::NAMES[0];
const DIFFUSING: &str = AnyApplication::<ACTORS_MAX>::NAMES[1];

/// The application of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AppPlan {
    /// The word for it.
    pub kind: String,
    /// How many tokens each node of a bank begins with.
    pub tokens: u32,
    /// About how long it takes from one gift to the next, or how long a unit of work takes.
    pub pause: Micros,
    /// The word for what detects that all is done.
    pub detection: String,
    /// How often the marker of a snapshot overtakes a message that was said before it, as on a link without order.
    pub overtaking: Chance,
}

impl AppPlan {
    /// Whether it is a job that ends.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.kind == DIFFUSING
    }

    /// Whether this is about the shared clock.
    #[must_use]
    pub fn has_clock(&self) -> bool {
        self.kind == CLOCK
    }

    /// What all tokens come to, on so many nodes; `None` if it is no bank.
    #[must_use]
    pub fn sum(&self, nodes: u32) -> Option<u64> {
        (self.kind == TOKENS).then(|| u64::from(nodes) * u64::from(self.tokens))
    }
}

pub(super) fn app(reader: &Reader<'_>, raw: Option<Spanned<RawApp>>) -> Result<Option<AppPlan>, ScenarioError> {
    let Some(raw) = raw else { return Ok(None) };
    let raw = raw.into_inner();
    choose(reader, "application", &raw.kind, [TOKENS, DIFFUSING, CLOCK].into_iter())?;
    let kind = raw.kind.into_inner();
    reader.only_with("tokens", raw.tokens.as_ref(), kind == TOKENS, "the application \"tokens\"")?;
    reader.only_with("overtaking", raw.overtaking.as_ref(), kind == TOKENS, "the application \"tokens\"")?;
    reader.only_with("pause", raw.pause.as_ref(), kind != CLOCK, "an application, not the clock alone")?;
    reader.only_with("detection", raw.detection.as_ref(), kind == DIFFUSING, "the application \"diffusing\"")?;
    if let Some(pause) = raw.pause.as_ref().filter(|pause| !(1_000..=60_000_000).contains(&pause.get_ref().0)) {
        return Err(reader.error(pause.span(), "a \"pause\" is from \"1ms\" to \"60s\"".to_owned()));
    }
    let detection = match raw.detection {
        None => peer::DETECTIONS[0].to_owned(),
        Some(word) => {
            choose(reader, "detection", &word, peer::DETECTIONS.iter().copied())?;
            word.into_inner()
        }
    };
    Ok(Some(AppPlan {
        kind,
        tokens: raw.tokens.map_or(100, |tokens| tokens.into_inner().0 as u32),
        pause: raw.pause.map_or(50_000, |pause| pause.into_inner().0),
        detection,
        overtaking: raw.overtaking.map_or(Chance::NEVER, |share| Chance::new(share.into_inner().0)),
    }))
}

/// Refuses a request that no node of the run understands.
pub(super) fn can_be_asked(
    reader: &Reader<'_>,
    span: Range<usize>,
    app: Option<&AppPlan>,
    request: Request,
) -> Result<(), ScenarioError> {
    let Some(app) = app else {
        return Err(reader.error(span, "nobody can be asked for this: the table [app] is missing".to_owned()));
    };
    let needs = match request {
        Request::Snapshot if app.has_clock() => "\"tokens\" or \"diffusing\"",
        Request::Watch | Request::Start { .. } if !app.has_end() => "\"diffusing\"",
        Request::Snapshot | Request::Watch | Request::Start { .. } => return Ok(()),
    };
    Err(reader.error(span, format!("this needs the application {needs}")))
}
