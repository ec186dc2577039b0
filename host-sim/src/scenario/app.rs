//! The tables `[app]` and `[service]`.

use super::raw::{RawApp, RawService};
use super::read::Spanned;
use super::validate::{Reader, choose, spans};
use super::values::{Time, Whole};
use super::{DETECTIONS, ScenarioError};
use crate::base::rng::Probability;
use crate::trace::AppRequest;
use crate::workload::apps::AppPlan;
use crate::workload::requests::{Audience, RequestPlan};
use std::ops::Range;

pub(super) fn app(reader: &Reader<'_>, raw: Option<Spanned<RawApp>>) -> Result<Option<AppPlan>, ScenarioError> {
    let Some(raw) = raw else { return Ok(None) };
    let raw = raw.into_inner();
    let kind = AppPlan::KINDS[choose(reader, "application", &raw.kind, AppPlan::KINDS.into_iter())?];
    reader.only_with(spans!(raw; tokens, reordering), kind == AppPlan::TOKENS, "the application \"tokens\"")?;
    reader.only_with(spans!(raw; pause), kind != AppPlan::CLOCK, "an application, not the clock alone")?;
    reader.only_with(spans!(raw; detection), kind == AppPlan::DIFFUSING, "the application \"diffusing\"")?;
    if let Some(pause) = raw.pause.as_ref().filter(|pause| !(1_000..=60_000_000).contains(&pause.get_ref().0)) {
        return Err(reader.error(pause.span(), "a \"pause\" is from \"1ms\" to \"60s\""));
    }
    Ok(Some(AppPlan {
        kind: kind.to_owned(),
        tokens: raw.tokens.map_or(100, |tokens| tokens.into_inner().0 as u32),
        pause: raw.pause.map_or(50_000, |pause| pause.into_inner().0),
        detection: reader.name("detection", raw.detection, DETECTIONS)?,
        reordering: raw.reordering.map_or(Probability::NEVER, |share| Probability::new(share.into_inner().0)),
    }))
}

/// The words for those that a super-peer sends to.
const AUDIENCES: [&str; 2] = ["all", "one"];

/// Reads the table `[service]`.
pub(super) fn requests(
    reader: &Reader<'_>,
    raw: Option<Spanned<RawService>>,
) -> Result<Option<RequestPlan>, ScenarioError> {
    let Some(raw) = raw.map(Spanned::into_inner) else { return Ok(None) };
    let time = |time: &Spanned<Time>, least: u64| {
        let micros = time.get_ref().0;
        let in_range = (least..=3_600_000_000).contains(&micros);
        if in_range {
            Ok(micros)
        } else {
            Err(reader.error(
                time.span(),
                "\"every\" and \"message_every\" are from \"100ms\", \"answer\" from \"0s\", to \"1h\"",
            ))
        }
    };
    reader.only_with(spans!(raw; message_to), raw.message_every.is_some(), "\"message_every\"")?;
    let audience = raw.message_to.as_ref().map_or(Ok(0), |to| choose(reader, "audience", to, AUDIENCES.into_iter()))?;
    let messages = raw.message_every.as_ref().map(|every| time(every, 100_000)).transpose()?;
    let messages = messages.map(|every| (every, [Audience::All, Audience::One][audience]));
    Ok(Some(RequestPlan {
        every: time(&raw.every, 100_000)?,
        size: raw.size.map_or(32, |Whole(size)| size as u16),
        answer: raw.answer.as_ref().map_or(Ok(0), |answer| time(answer, 0))?,
        repeatable: raw.repeatable.unwrap_or(false),
        messages,
        reach: None,
    }))
}

/// Refuses a request that the application does not know.
pub(super) fn check_request(
    reader: &Reader<'_>,
    span: Range<usize>,
    app: Option<&AppPlan>,
    request: AppRequest,
) -> Result<(), ScenarioError> {
    let Some(app) = app else {
        return Err(reader.error(span, "this needs an application: the table [app] is missing"));
    };
    let needs = match request {
        AppRequest::Snapshot if app.is_clock() || app.is_ordered() || app.is_commit() => "\"tokens\" or \"diffusing\"",
        AppRequest::DetectTermination | AppRequest::Start { .. } if !app.terminates() => "\"diffusing\"",
        AppRequest::Snapshot | AppRequest::DetectTermination | AppRequest::Start { .. } => return Ok(()),
    };
    Err(reader.error(span, format!("this needs the application {needs}")))
}
