//! Boards that work on jobs: whether the end of each was told to all, and not before all work was done, by what they said.
//!
//! A board says how many units it has done when it hears that a job is over. If somebody still worked, or work was on its
//! way, the units that all boards have done by then would be fewer than were begun.

use super::report::NodeReport;
use crate::checker::Finding;
use crate::queue::Micros;
use firmware::report::JobReport;
use firmware::turns::UNITS;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What came of the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Jobs {
    /// Who began one, and when.
    pub begun: Vec<(u32, Micros)>,
    /// Those whose end was told, by number.
    pub ended: BTreeMap<u32, Job>,
}

/// A job that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Who found out.
    pub by: u32,
    /// By how many waves.
    pub waves: u32,
    /// When the first heard of it.
    pub at: Micros,
    /// How many units each node that heard of it had done by then, of this job and those before.
    pub done: BTreeMap<u32, u32>,
}

impl Job {
    fn units(&self) -> u32 {
        self.done.values().sum()
    }
}

/// Gathers the jobs, and says what does not hold. What a board had to do is lost when it loses its power: from then on
/// nothing is judged.
pub(super) fn judge(nodes: &[NodeReport], first_crash: Micros, now: Micros, findings: &mut Vec<Finding>) -> Jobs {
    let mut find = |at, checker, text| findings.push(Finding { at, checker, text });
    let mut jobs = Jobs::default();
    for node in nodes {
        for entry in node.diary.iter().filter(|entry| entry.at < first_crash) {
            match JobReport::parse(&entry.text) {
                Some(JobReport::Begun { .. }) => jobs.begun.push((node.node, entry.at)),
                Some(JobReport::Terminated { job, by, waves, done }) => {
                    let first = || Job { by: by.0, waves, at: entry.at, done: BTreeMap::new() };
                    let job = jobs.ended.entry(job).or_insert_with(first);
                    job.at = job.at.min(entry.at);
                    job.done.insert(node.node, done);
                }
                Some(JobReport::Unknowable) => {
                    let text = format!("node {} cannot find out whether the job is over", node.node);
                    find(entry.at, "every-end-is-told", text);
                }
                None => {} // something else
            }
        }
    }
    jobs.begun.sort_by_key(|&(_, at)| at);
    for (number, job) in &jobs.ended {
        let deaf: Vec<String> =
            nodes.iter().filter(|node| !job.done.contains_key(&node.node)).map(|node| node.node.to_string()).collect();
        if !deaf.is_empty() {
            find(
                job.at,
                "every-end-is-told",
                format!("node {} never heard that job {number} is over", deaf.join(", ")),
            );
        } else if !job.units().is_multiple_of(UNITS) {
            let text = format!(
                "job {number} was said to be over when {} units were done, which is not the work of whole jobs of {UNITS}",
                job.units()
            );
            find(job.at, "no-early-end", text);
        }
    }
    let (begun, done) = (jobs.units(), jobs.ended.values().last().map_or(0, Job::units));
    if jobs.ended.is_empty() {
        find(now, "every-end-is-told", format!("{} jobs were begun, and the end of none was told", jobs.begun.len()));
    } else if done != begun && first_crash == Micros::MAX {
        find(now, "no-work-is-lost", format!("{begun} units of work were begun, and {done} were done"));
    }
    jobs
}

impl Jobs {
    /// How many units of work were begun.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.begun.len() as u32 * UNITS
    }
}

impl fmt::Display for Jobs {
    /// The tale of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &(node, at) in &self.begun {
            writeln!(f, "{:>8.3} s  node {node} begins a job of {UNITS} units", at as f64 / 1e6)?;
        }
        let mut before: BTreeMap<u32, u32> = BTreeMap::new();
        for (number, job) in &self.ended {
            let Job { by, waves, at, done } = job;
            let plural = if *waves == 1 { "" } else { "s" };
            let seconds = *at as f64 / 1e6;
            writeln!(f, "\n{seconds:>8.3} s  job {number} is over: node {by} found out by {waves} wave{plural}")?;
            let shares: Vec<String> = done
                .iter()
                .map(|(node, done)| format!("node {node} did {}", done.saturating_sub(*before.get(node).unwrap_or(&0))))
                .collect();
            writeln!(f, "            {}", shares.join(", "))?;
            before.clone_from(done);
        }
        let done = self.ended.values().last().map_or(0, Job::units);
        write!(f, "\n{} units of work were begun, and {done} were done when the last end was told", self.units())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;

    fn over(job: u32, done: u32) -> String {
        JobReport::Terminated { job, by: NodeId(0), waves: 2, done }.to_string()
    }

    /// What is made of what two boards said, the first of which begins all jobs; a line every second.
    fn judged(begun: usize, said: [&[String]; 2], first_crash: Micros) -> (Jobs, Vec<&'static str>) {
        let mut lines = vec![JobReport::Begun { units: UNITS }.to_string(); begun];
        lines.extend_from_slice(said[0]);
        let at = || (0..).step_by(1_000_000);
        let nodes = [NodeReport::saying(0, lines.iter().zip(at())), NodeReport::saying(1, said[1].iter().zip(at()))];
        let mut findings = Vec::new();
        let jobs = judge(&nodes, first_crash, 9_000_000, &mut findings);
        (jobs, findings.iter().map(|finding| finding.checker).collect())
    }

    #[test]
    fn jobs_whose_end_is_told_to_all_when_all_is_done_are_fine() {
        let (jobs, found) = judged(2, [&[over(1, 20), over(2, 30)], &[over(1, 40), over(2, 90)]], Micros::MAX);
        assert_eq!((jobs.units(), found), (120, vec![]));
        let tale = jobs.to_string();
        assert!(
            tale.contains("job 2 is over: node 0 found out by 2 waves\n            node 0 did 10, node 1 did 50"),
            "{tale}"
        );
        assert!(tale.ends_with("120 units of work were begun, and 120 were done when the last end was told"), "{tale}");
    }

    #[test]
    fn an_end_that_is_told_too_early_or_not_to_all_or_never_is_found() {
        assert_eq!(judged(1, [&[over(1, 20)], &[over(1, 39)]], Micros::MAX).1, ["no-early-end", "no-work-is-lost"]);
        assert_eq!(judged(1, [&[over(1, 60)], &[]], Micros::MAX).1, ["every-end-is-told"]);
        assert_eq!(judged(1, [&[], &[]], Micros::MAX).1, ["every-end-is-told"]);
        assert_eq!(judged(2, [&[over(1, 20)], &[over(1, 40)]], Micros::MAX).1, ["no-work-is-lost"]);
        assert_eq!(judged(0, [&[JobReport::Unknowable.to_string()], &[]], Micros::MAX).1[0], "every-end-is-told");
    }

    #[test]
    fn what_is_said_after_a_board_lost_its_power_is_not_judged() {
        let (jobs, found) = judged(1, [&[over(1, 20), over(2, 20)], &[over(1, 40), over(2, 99)]], 1_500_000);
        assert_eq!(
            (jobs.ended.len(), found),
            (1, vec!["every-end-is-told"]),
            "it saw the end of no job of both boards"
        );
    }
}
